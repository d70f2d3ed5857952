# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that a diagnosis looks at, read from a cluster or a dump."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.cluster import Cluster
from ansible_collections.inference.dra.plugins.module_utils._core.rollouts import Deployment, ReplicaSet
from ansible_collections.inference.dra.plugins.module_utils._core.workloads import Name
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIM_TEMPLATES,
    CLAIMS,
    COMPUTE_CLASSES,
    DAEMON_SETS,
    DEPLOYMENTS,
    DEVICE_CLASSES,
    EVENTS,
    NODES,
    PODS,
    REPLICA_SETS,
    SLICES,
    Forbidden,
    Resource,
)

from .objects import Source
from .result import ModuleFailure

KINDS: tuple[Resource, ...] = (
    PODS,
    CLAIMS,
    CLAIM_TEMPLATES,
    SLICES,
    DEVICE_CLASSES,
    NODES,
    EVENTS,
    COMPUTE_CLASSES,
    DAEMON_SETS,
)
EVERYWHERE = (PODS, CLAIMS)
"""Read in all namespaces: a device may be held by a claim of another."""
ONLY_EVERYWHERE = (DAEMON_SETS,)
"""Read in all namespaces or not at all: drivers run in another one, and few of them are not all."""


@dataclass(frozen=True)
class Seen:
    """A cluster, what could not be read of it, and its workloads."""

    cluster: Cluster
    deployments: tuple[Deployment, ...]
    replica_sets: tuple[ReplicaSet, ...]
    forbidden: tuple[str, ...] = ()

    def deployment(self, namespace: str, name: str) -> Deployment:
        """Return the Deployment of that name; fail where there is none."""
        for each in self.deployments:
            if (each.meta.namespace, each.meta.name) == (namespace, name):
                return each
        raise ModuleFailure(
            f"Looking at Deployment {namespace}/{name}: it does not exist. Correct name or namespace.",
            "DeploymentMissing",
        )


def see(
    source: Source,
    now: datetime,
    namespace: str,
    *,
    workloads: bool = False,
    daemon_sets: Mapping[str, Name] | None = None,
) -> Seen:
    """Read what a diagnosis of the namespace needs; kinds that may not be read are named, not guessed."""
    objects: dict[str, list[Mapping[str, Any]]] = {}
    forbidden = []
    for resource in (*KINDS, *((DEPLOYMENTS, REPLICA_SETS) if workloads else ())):
        everywhere = resource in (*EVERYWHERE, *ONLY_EVERYWHERE) or not resource.namespaced
        try:
            found = read(
                source,
                resource,
                "" if everywhere else namespace,
                "" if resource in ONLY_EVERYWHERE else namespace,
            )
        except Forbidden:
            forbidden.append(resource.plural)
        else:
            if found or source.is_complete:
                objects[resource.kind] = found
    return Seen(
        Cluster.from_objects(objects, now, daemon_sets),
        tuple(Deployment.from_api(each) for each in objects.get("Deployment", ())),
        tuple(ReplicaSet.from_api(each) for each in objects.get("ReplicaSet", ())),
        tuple(forbidden),
    )


def read(source: Source, resource: Resource, where: str, namespace: str) -> list[Mapping[str, Any]]:
    """Return the objects of a kind; only the namespace's own where the others may not be seen."""
    try:
        return list(source.read(resource, where))
    except Forbidden:
        if where == namespace:
            raise
        return list(source.read(resource, namespace))
