# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every option, alone and with every word of it, makes requests that Google's own schemas know.

Two of them: the messages of the official client (proto-plus), and the discovery documents.
"""

from __future__ import annotations

import pytest
from google.cloud import artifactregistry_v1, container_v1
from google.protobuf import json_format

from ansible_collections.inference.dra.lab.google.schema import Schemas, documents
from ansible_collections.inference.dra.plugins.module_utils._core import (
    clusters,
    node_pools,
    repositories,
    workload_policies,
)
from ansible_collections.inference.dra.plugins.module_utils._core.fields import put
from ansible_collections.inference.dra.plugins.module_utils._ports.google import CLUSTER_CALLS

from .gke_model import created_pool

if documents() is None:
    pytest.skip("google-api-python-client is not installed", allow_module_level=True)

SCHEMAS = Schemas(documents())
POOLS = "container.projects.locations.clusters.nodePools"
METHODS = {
    "create_cluster": "container.projects.locations.clusters.create",
    "update_cluster": "container.projects.locations.clusters.update",
    "set_labels": "container.projects.locations.clusters.setResourceLabels",
    "create_node_pool": f"{POOLS}.create",
    "update_node_pool": f"{POOLS}.update",
    "set_node_pool_autoscaling": f"{POOLS}.setAutoscaling",
    "set_node_pool_management": f"{POOLS}.setManagement",
    "set_node_pool_size": f"{POOLS}.setSize",
}
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}
SPECIAL = {
    "version": ["1.37.0-gke.100"],
    "monitoring.components": [["SYSTEM_COMPONENTS", "DCGM"]],
    "network.node_networks": [[{"network": "n", "subnetwork": "s"}]],
    "network.pod_networks": [[{"subnetwork": "s", "pod_range": "r", "max_pods_per_node": 8}]],
    "autoscaling.resource_limits": [[{"resource_type": "cpu", "minimum": 1, "maximum": 2}]],
}
VALUES = {
    "text": ["text"],
    "resource": ["name"],
    "number": [3],
    "seconds": [60],
    "switch": [True, False],
    "map": [{"k": "v"}],
    "set": [["a"]],
    "taints": [[{**TAINT, "effect": effect}] for effect in ("NoSchedule", "PreferNoSchedule", "NoExecute")],
}


def samples(fields):
    """Return (field, value) for every option, and for every word of those that have words."""
    for each in fields:
        words = each.words if each.kind == "enum" else VALUES.get(each.kind, ())
        for value in SPECIAL.get(each.option) or words:
            yield each, value


def stating(each, value) -> dict:
    options: dict = {"name": "x"}
    put(options, each.option, value)
    return options


def check(step) -> None:
    """Refuse a request that either schema does not know."""
    SCHEMAS.check("container.v1", METHODS[step.call], {}, dict(step.request))
    kind = getattr(container_v1, CLUSTER_CALLS[step.call][0])
    json_format.ParseDict(step.request, kind.pb(kind()))


def named(sample) -> str:
    return getattr(sample, "option", str(sample))


@pytest.mark.parametrize(("each", "value"), [*samples(node_pools.FIELDS)], ids=named)
def test_node_pool(each, value):
    """Creation with the option, and a change to it where there is one in place."""
    for live in (None, created_pool(node_pools.message({"name": "x"}))):
        for step in node_pools.plan("demo", stating(each, value), live).steps:
            check(step)


@pytest.mark.parametrize(("each", "value"), [*samples(clusters.FIELDS)], ids=named)
def test_cluster(each, value):
    live = {"name": "x", "currentMasterVersion": "1.36.0-gke.100", "labelFingerprint": "f"}
    options = stating(each, value)
    for before in (None, live):
        for step in clusters.plan("p", options, before).steps:
            check(step)


@pytest.mark.parametrize(("each", "value"), [*samples(repositories.FIELDS)], ids=named)
def test_repository(each, value):
    message = repositories.message(stating(each, value))
    method = "artifactregistry.projects.locations.repositories.create"
    SCHEMAS.check("artifactregistry.v1", method, {}, message)
    json_format.ParseDict(message, artifactregistry_v1.Repository.pb(artifactregistry_v1.Repository()))


@pytest.mark.parametrize(("each", "value"), [*samples(workload_policies.FIELDS)], ids=named)
def test_workload_policy(each, value):
    message = workload_policies.message(stating(each, value))
    SCHEMAS.check("compute.v1", "compute.resourcePolicies.insert", {}, message)
