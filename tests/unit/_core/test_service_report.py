# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the replicas of a service run on, read off a recorded cluster that is changed case by case."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.cluster import Cluster
from ansible_collections.inference.dra.plugins.module_utils._core.nodes import Node
from ansible_collections.inference.dra.plugins.module_utils._core.objects import split
from ansible_collections.inference.dra.plugins.module_utils._core.rollouts import Deployment, ReplicaSet
from ansible_collections.inference.dra.plugins.module_utils._core.service_report import (
    by_alternative,
    node_pools,
    replicas,
)

RECORDED = Path(__file__).parents[1] / "fixtures" / "gpu_or_cpu_two_replicas.json"
NOW = datetime(2026, 11, 30, 16, tzinfo=timezone.utc)
ON_GPU, ON_CPU = "vllm-56997f7467-4mvh8", "vllm-56997f7467-h4tjw"


@pytest.fixture
def objects():
    return split([json.loads(RECORDED.read_text())])


def report(objects):
    deployment = Deployment.from_api(objects["Deployment"][0])
    sets = [ReplicaSet.from_api(each) for each in objects["ReplicaSet"]]
    return replicas(Cluster.from_objects(objects, NOW), deployment, sets)


def named(objects, kind, name):
    return next(each for each in objects[kind] if each["metadata"]["name"] == name)


def test_replicas_the_oldest_first(objects):
    named(objects, "Pod", ON_GPU)["metadata"]["creationTimestamp"] = "2026-11-30T15:59:00Z"
    assert [each.pod.meta.name for each in report(objects)] == [ON_CPU, ON_GPU]


def test_gating_device_is_no_hardware(objects):
    assert [each.devices for each in report(objects)] == [
        ("gpu.nvidia.com/gpu-pool-1/gpu-0",),
        ("dra.cpu/cpu-pool-1/cpudevnuma000",),
    ]


def test_phases_come_in_their_order(objects):
    phases = report(objects)[0].phases
    assert list(phases) == ["created", "allocated", "image_switched", "bound", "ready"]
    reached = [moment for moment in phases.values() if moment]
    assert reached == sorted(reached)


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_phase_counts_only_while_its_condition_is_true(objects, status):
    for condition in named(objects, "Pod", ON_GPU)["status"]["conditions"]:
        condition["status"] = status
    assert (report(objects)[0].phases["bound"], report(objects)[0].phases["ready"]) == (None, None)


LEFT_OUT = {
    "being deleted": lambda pod: pod["metadata"].update(deletionTimestamp="2026-11-30T15:59:00Z"),
    "failed": lambda pod: pod["status"].update(phase="Failed"),
    "of an older ReplicaSet": lambda pod: pod["metadata"]["ownerReferences"][0].update(uid="other"),
    "of another namespace": lambda pod: pod["metadata"].update(namespace="other"),
}


@pytest.mark.parametrize("change", LEFT_OUT.values(), ids=LEFT_OUT)
def test_only_live_replicas_of_the_present_specification(objects, change):
    change(named(objects, "Pod", ON_CPU))
    assert [each.pod.meta.name for each in report(objects)] == [ON_GPU]


def test_replica_without_devices_is_counted_under_no_name(objects):
    claim = next(each for each in objects["ResourceClaim"] if ON_CPU in each["metadata"]["name"])
    claim["status"] = {}
    assert by_alternative(report(objects)) == {"gpu": 1, "": 1}


def test_hardware_is_read_off_the_node(objects):
    named(objects, "Node", "gpu-pool-1")["metadata"]["labels"] |= {
        "cloud.google.com/gke-nodepool": "gpu-pool",
        "node.kubernetes.io/instance-type": "g2-standard-8",
        "topology.kubernetes.io/zone": "us-central1-a",
        "cloud.google.com/gke-spot": "true",
    }
    found = report(objects)[0].as_dict()
    keys = ("node_pool", "machine_type", "zone", "spot")
    assert [found[key] for key in keys] == ["gpu-pool", "g2-standard-8", "us-central1-a", True]


def test_node_that_is_gone_leaves_its_fields_empty(objects):
    objects["Node"] = [each for each in objects["Node"] if each["metadata"]["name"] != "gpu-pool-1"]
    found = report(objects)[0].as_dict()
    assert (found["node"], found["node_pool"], found["spot"]) == ("gpu-pool-1", "", False)


@pytest.mark.parametrize(
    ("pools", "ready", "counts"),
    [
        (["a", "a", "b"], [True, True, True], {"a": 2, "b": 1}),
        (["a", "a"], [True, False], {"a": 1}),
        (["", "a"], [True, True], {"a": 1}),
        ([], [], {}),
    ],
    ids=["two pools", "one not ready", "node without pool", "no node"],
)
def test_node_pools(pools, ready, counts):
    nodes = [
        Node.from_api(
            {
                "metadata": {
                    "name": f"n{number}",
                    "labels": {"cloud.google.com/gke-nodepool": pool} if pool else {},
                },
                "status": {"conditions": [{"type": "Ready", "status": str(is_ready)}]},
            }
        )
        for number, (pool, is_ready) in enumerate(zip(pools, ready, strict=True))
    ]
    assert node_pools(nodes) == counts
