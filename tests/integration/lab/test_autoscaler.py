# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The autoscaler on a real scheduler: priorities, limits, back-off, blind spots, scale-down."""

from __future__ import annotations

import re

import pytest

from ansible_collections.inference.dra.lab.autoscaler.autoscaler import Settings
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import COMPUTE_CLASSES, NODES

from .conftest import CLASS, GPU_LABELS, L4, numbers

pytestmark = pytest.mark.lab
GPU = {"name": "gpu", "deviceClassName": "gpu.nvidia.com"}
CPU = {"name": "cpu", "deviceClassName": "dra.cpu", "capacity": {"requests": {"dra.cpu/cpu": "12"}}}
CPU_LABELS = {"cloud.google.com/gke-cpu-dra-driver": "true"}


@pytest.fixture(scope="module")
def drivers(machines):
    """All drivers of the guide, on every node they fit."""
    gpus = {"nvidia.com/gpu.present": "true"}
    names = [
        machines.installer(gpus),
        machines.driver("gpu.nvidia.com", gpus),
        machines.driver("dra.cpu", CPU_LABELS),
    ]
    yield
    for name in names:
        machines.remove_daemon_set(name)


def pool_of(machines, node):
    found = machines.ask(lambda: machines.store.get(NODES, node))
    return found["metadata"]["labels"]["cloud.google.com/gke-nodepool"]


class Rungs:
    """A class of two pools, GPUs first."""

    def __init__(self, machines, gpu=(0, 2), cpu=(1, 2), **spec):
        self.name = f"class-{next(numbers)}"
        self.gpu = machines.class_pool(
            self.name,
            machine="g2-standard-8",
            accelerators=[L4],
            labels=GPU_LABELS,
            size=gpu[0],
            most=gpu[1],
        )
        self.cpu = machines.class_pool(self.name, labels=CPU_LABELS, size=cpu[0], least=cpu[0], most=cpu[1])
        machines.compute_class([self.gpu], [self.cpu], name=self.name, **spec)
        self.template = machines.template(GPU, CPU)

    def pods(self, machines, count):
        return [machines.pod(self.template, select={CLASS: self.name}) for _unused in range(count)]


def test_priorities_are_filled_in_order_up_to_their_maximum(machines, drivers):
    rungs = Rungs(machines, cpu=(0, 2))
    # The CPU pool has had a node once, so the autoscaler can imagine another (it remembers).
    machines.cloud.resize("lab", rungs.cpu, "us-central1-a", 1, "user")
    (node,) = machines.wait_nodes(rungs.cpu, 1)
    machines.wait_slices(node["metadata"]["name"], "dra.cpu")
    pods = rungs.pods(machines, 4)
    nodes = machines.wait_bound(*pods)
    assert sorted(pool_of(machines, node) for node in nodes) == sorted([rungs.gpu] * 2 + [rungs.cpu] * 2)
    fifth = rungs.pods(machines, 1)[0]
    assert "max node group size reached" in machines.wait_event(fifth, "NotTriggerScaleUp")


def test_gpu_pool_grows_from_zero_by_prediction_and_says_so(machines, drivers):
    rungs = Rungs(machines, cpu=(0, 2))
    pod = rungs.pods(machines, 1)[0]
    assert re.fullmatch(
        r"pod triggered scale-up: \[\{https://www\.googleapis\.com/compute/v1/projects/\S+/zones/"
        r"us-central1-a/instanceGroups/gke-lab-\S+-grp 0->1 \(max: 2\)\}\]",
        machines.wait_event(pod, "TriggeredScaleUp"),
    )
    assert [pool_of(machines, node) for node in machines.wait_bound(pod)] == [rungs.gpu]


@pytest.mark.parametrize("driver", [pytest.param("dra.cpu", id="C33-nothing-predicts-dra.cpu")])
def test_empty_cpu_pool_never_grows_for_a_cpu_claim(machines, drivers, driver):
    rungs = Rungs(machines, gpu=(0, 0), cpu=(0, 2))
    pod = rungs.pods(machines, 1)[0]
    text = machines.wait_event(pod, "NotTriggerScaleUp")
    assert "cannot allocate all claims" in text
    assert machines.ask(lambda: machines.nodes(rungs.cpu)) == []
    machines.daemon.autoscaler.settings = Settings(optimistic=True, least_idle=0)
    try:
        rungs.pods(machines, 1)
        machines.wait_bound(pod)
    finally:
        machines.daemon.autoscaler.settings = Settings(least_idle=0)


def test_stock_out_leads_to_back_off_and_the_next_priority(machines, drivers):
    rungs = Rungs(machines)
    (node,) = machines.wait_nodes(rungs.cpu, 1)
    machines.wait_slices(node["metadata"]["name"], "dra.cpu")
    name = machines.admin("POST", "/faults", {"kind": "stockout", "pool": rungs.gpu})["id"]
    # The first takes the node that is there: only the second asks for a GPU that cannot be had.
    (first,) = rungs.pods(machines, 1)
    machines.wait_bound(first)
    (second,) = rungs.pods(machines, 1)
    text = machines.wait_event(second, "FailedScaleUp")
    assert "GCE out of resources" in text
    nodes = machines.wait_bound(first, second)
    assert {pool_of(machines, node) for node in nodes} == {rungs.cpu}
    machines.until(lambda: suspended(machines, rungs.name) == "OutOfResources", "the class's status")
    assert machines.admin("DELETE", f"/faults/{name}") == {"cleared": 1}
    machines.until(lambda: suspended(machines, rungs.name) == "", "the end of the back-off", 60)


def suspended(machines, name):
    found = machines.store.get(COMPUTE_CLASSES, name) or {}
    first = (found.get("status", {}).get("priorityStatuses") or [{}])[0]
    return next((each["reason"] for each in first.get("conditions", [])), "")


def test_idle_node_is_tainted_softly_then_taken(machines, drivers):
    pool = machines.class_pool("idle-class", size=2, least=1, most=3)
    machines.wait_nodes(pool, 2)

    def marked():
        return [
            taint["effect"]
            for node in machines.nodes(pool)
            for taint in node["spec"].get("taints", [])
            if taint["key"] == "DeletionCandidateOfClusterAutoscaler"
        ]

    machines.until(lambda: marked() == ["PreferNoSchedule"], "one candidate")
    machines.wait_nodes(pool, 1)
    assert marked() == []


def condition(machines, name, type_):
    found = machines.store.get(COMPUTE_CLASSES, name) or {}
    for each in found.get("status", {}).get("conditions", []):
        if each["type"] == type_:
            return each["status"], each["reason"]
    return None


@pytest.mark.parametrize("absent", [pytest.param("absent", id="C35-missing-and-foreign-pools")])
def test_class_reports_pools_that_cannot_serve_it(machines, absent):
    pool = machines.pool(most=1)
    name = machines.compute_class([pool, absent])
    machines.until(lambda: condition(machines, name, "Health") == ("False", "Health"), "an unhealthy class")
    assert condition(machines, name, "CrdMisconfigured") == ("True", "NodePoolNotExist")
    assert condition(machines, name, "NodepoolMisconfigured") == ("True", "CrdLabelNotMatching")


def test_class_whose_pools_fit_is_healthy(machines):
    pool = machines.class_pool("healthy", most=1)
    machines.compute_class([pool], name="healthy")
    machines.until(lambda: condition(machines, "healthy", "Health") == ("True", "Health"), "a healthy class")
