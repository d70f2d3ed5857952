# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster at one moment: the objects a diagnosis reads, typed and indexed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from .claims import Claim, ClaimTemplate, DeviceClass, DeviceRequests
from .drivers import Drivers
from .events import Event, EventIndex
from .holdings import holdings
from .inventory import Inventory
from .nodes import Node
from .pods import Pod, PodIndex
from .slices import ResourceSlice
from .workloads import ClaimIndex, Name


@dataclass(frozen=True)
class Cluster:
    """What is known at ``now``.

    :param templates: None where templates are not known; nothing is said about their absence then.
    :param missing: kinds of object that were not given and without which answers are incomplete.
    :param compute_classes: raw objects by name.
    :param queued: Kueue's Workload objects, raw.
    :param template_requests: what each claim template asks for.
    :param drivers: None where DaemonSets are not known.
    """

    now: datetime
    pods: PodIndex
    claims: ClaimIndex
    templates: frozenset[Name] | None
    inventory: Inventory
    nodes: tuple[Node, ...]
    events: EventIndex
    missing: tuple[str, ...] = ()
    compute_classes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    queued: tuple[Mapping[str, Any], ...] = ()
    template_requests: Mapping[Name, DeviceRequests] = field(default_factory=dict)
    drivers: Drivers | None = None

    @cached_property
    def _architectures(self) -> Mapping[str, str]:
        return {node.name: node.labels.get("kubernetes.io/arch", "") for node in self.nodes}

    def architecture(self, node: str) -> str:
        """Return the processor architecture of a node, empty where it is not known."""
        return self._architectures.get(node, "")

    @classmethod
    def from_objects(
        cls,
        objects: Mapping[str, Iterable[Mapping[str, Any]]],
        now: datetime,
        daemon_sets: Mapping[str, Name] | None = None,
    ) -> Cluster:
        """Return the cluster of a dump as ``objects.split`` gives it.

        :param daemon_sets: the DaemonSets of drivers by the driver's name, where that is known.
        :raises MalformedObjects: where an object cannot be read.
        """
        claims = [Claim.from_api(each) for each in objects.get("ResourceClaim", ())]
        templates = [ClaimTemplate.from_api(each) for each in objects.get("ResourceClaimTemplate", ())]
        pods = PodIndex(Pod.from_api(each) for each in objects.get("Pod", ()))
        return cls(
            now=now,
            pods=pods,
            claims=ClaimIndex(claims),
            templates=frozenset((each.meta.namespace, each.meta.name) for each in templates)
            if "ResourceClaimTemplate" in objects
            else None,
            inventory=Inventory.of(
                [ResourceSlice.from_api(each) for each in objects.get("ResourceSlice", ())],
                [DeviceClass.from_api(each) for each in objects.get("DeviceClass", ())],
                holdings(claims),
            ),
            nodes=tuple(Node.from_api(each) for each in objects.get("Node", ())),
            events=EventIndex(Event.from_api(each) for each in objects.get("Event", ())),
            missing=tuple(
                kind for kind in ("Node", "ResourceSlice", "DeviceClass", "Event") if kind not in objects
            ),
            compute_classes={each["metadata"]["name"]: each for each in objects.get("ComputeClass", ())},
            queued=tuple(objects.get("Workload", ())),
            template_requests={(each.meta.namespace, each.meta.name): each.devices for each in templates},
            drivers=Drivers.of(objects["DaemonSet"], pods, daemon_sets) if "DaemonSet" in objects else None,
        )
