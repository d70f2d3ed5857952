# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every fault of machines and control plane, ordered over HTTP, seen, and taken back."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import CLAIMS, NODES, PODS

from .conftest import GPU_LABELS, L4

pytestmark = pytest.mark.lab
NODE_POOL = "cloud.google.com/gke-nodepool"
CPU = {"name": "cpu", "deviceClassName": "dra.cpu", "capacity": {"requests": {"dra.cpu/cpu": "1"}}}


@pytest.fixture
def cpu(machines):
    """The name of a CPU node that publishes its devices, and how to select it."""
    pool = machines.pool(spot=True)
    (node,) = machines.wait_nodes(pool, 1)
    machines.driver("dra.cpu", {NODE_POOL: pool})
    machines.wait_slices(node["metadata"]["name"], "dra.cpu")
    return node["metadata"]["name"], {NODE_POOL: pool}


class On:
    """A fault for as long as a test wants it."""

    def __init__(self, machines, kind, **parameters):
        self._machines = machines
        self._wanted = {"kind": kind, **parameters}

    def __enter__(self):
        self.id = self._machines.admin("POST", "/faults", self._wanted)["id"]
        assert self.id in [each["id"] for each in self._machines.admin("GET", "/faults")["faults"]]

    def __exit__(self, *_unused):
        assert self._machines.admin("DELETE", f"/faults/{self.id}") == {"cleared": 1}


def test_driver_crash_takes_its_slices_and_gives_them_back(machines, cpu):
    node, _unused = cpu
    with On(machines, "driver-crash", driver="dra.cpu", node=node):
        machines.wait_slices(node, "dra.cpu", 0)
        machines.until(lambda: crashed(machines, node), "the driver's pod in CrashLoopBackOff")
    machines.wait_slices(node, "dra.cpu", 1)
    machines.until(lambda: not crashed(machines, node), "the driver's pod running")


def crashed(machines, node):
    return [
        pod
        for pod in machines.store.all(PODS)
        if pod["spec"].get("nodeName") == node and "CrashLoopBackOff" in str(pod["status"])
    ]


def test_half_a_generation_makes_the_pool_incomplete(machines, cpu):
    node, select = cpu
    template = machines.template(CPU)
    with On(machines, "half-generation", node=node):
        machines.until(lambda: generation(machines, node) == (2, 2), "half of generation 2")
        pod = machines.pod(template, select=select)
        machines.until(lambda: unschedulable(machines, pod), "a pod that finds no device")
    machines.wait_bound(pod)


def generation(machines, node):
    found = machines.slices(node, "dra.cpu")
    return (found[0]["pool"]["generation"], found[0]["pool"]["resourceSliceCount"]) if found else None


def unschedulable(machines, pod):
    conditions = machines.seen_pod(pod)["status"].get("conditions", [])
    return any(each.get("reason") == "Unschedulable" for each in conditions)


def test_attribute_goes_missing_and_returns(machines):
    pool = machines.pool("g2-standard-8", accelerators=[L4], labels=GPU_LABELS)
    (node,) = machines.wait_nodes(pool, 1)
    name, select = node["metadata"]["name"], {NODE_POOL: pool}
    machines.installer(select)
    machines.driver("gpu.nvidia.com", select)
    machines.wait_slices(name, "gpu.nvidia.com")

    def roots():
        return ["pcieRoot" in str(each) for each in machines.slices(name, "gpu.nvidia.com")]

    with On(machines, "attribute-missing", node=name):
        machines.until(lambda: roots() == [False], "a GPU without pcieRoot")
    machines.until(lambda: roots() == [True], "the attribute back")


@pytest.mark.parametrize(("kind", "fails"), [("condition-never", False), ("condition-fails", True)])
def test_binding_condition_that_never_comes_or_fails(machines, cpu, kind, fails):
    node, select = cpu
    template = machines.template(CPU)
    with On(machines, kind, node=node):
        machines.until(
            lambda: any(
                "bindingConditions" in each["devices"][0] for each in machines.slices(node, "dra.cpu")
            ),
            "a device with a binding condition",
        )
        pod = machines.pod(template, select=select)
        machines.until(lambda: allocated(machines, pod), "an allocation that waits")
        machines.until(lambda: failed(machines, pod) == fails, "the condition")
        assert not machines.ask(lambda: machines.seen_pod(pod))["spec"].get("nodeName")
    machines.kube.delete(PODS, pod, "default")


def claim_of(machines, pod):
    for claim in machines.store.all(CLAIMS):
        if claim["metadata"].get("annotations", {}).get("resource.kubernetes.io/pod-claim-name") and any(
            owner["name"] == pod for owner in claim["metadata"].get("ownerReferences", [])
        ):
            return claim
    return {}


def allocated(machines, pod):
    return "allocation" in claim_of(machines, pod).get("status", {})


def failed(machines, pod):
    return "preparation-failed" in str(claim_of(machines, pod).get("status", {}).get("devices"))


@pytest.mark.parametrize("reason", [pytest.param("Terminated", id="C37-failed-pods-stay-behind")])
def test_preemption_fails_the_pods_and_replaces_the_machine(machines, cpu, reason):
    node, select = cpu
    pod = machines.pod(select=select)
    machines.wait_bound(pod)
    machines.until(lambda: machines.seen_pod(pod)["status"].get("phase") == "Running", "a running pod")
    with On(machines, "preemption", node=node):
        machines.until(lambda: machines.seen_pod(pod)["status"].get("phase") == "Failed", "a failed pod")
        assert machines.ask(lambda: machines.seen_pod(pod))["status"]["reason"] == reason
        machines.until(lambda: machines.store.get(NODES, node) is None, "no such node")
        machines.wait_nodes(select[NODE_POOL], 1)


def test_api_server_restart_is_survived(machines, cpu):
    node, _unused = cpu
    before = machines.plane.processes.pid("kube-apiserver")
    with On(machines, "api-server-restart", seconds=1):
        pool = machines.pool()
        machines.wait_nodes(pool, 1, seconds=90)
    assert machines.plane.processes.pid("kube-apiserver") != before
    assert len(machines.wait_slices(node, "dra.cpu")) == 1


def test_paused_controller_does_nothing_until_it_goes_on(machines, cpu):
    _unused, select = cpu
    with On(machines, "controller-paused", process="kube-scheduler"):
        pod = machines.pod(select=select)
        machines.until(lambda: machines.seen_pod(pod)["spec"], "the pod")
        assert not machines.ask(lambda: machines.seen_pod(pod))["spec"].get("nodeName")
    machines.wait_bound(pod)


def test_status_says_what_the_lab_holds(machines):
    found = machines.admin("GET", "/status")
    assert found["speed"] == 100
    assert found["nodes"]["all"] >= 3
    assert found["autoscaler"]["optimistic"] is False


@pytest.mark.parametrize(
    ("method", "path", "body", "message"),
    [
        ("POST", "/faults", {"kind": "meteor"}, "choose one of api-server-restart"),
        ("POST", "/faults", {"kind": "stockout", "moon": "full"}, "moon"),
        ("POST", "/faults", {"kind": "preemption", "node": "none"}, "no spot node"),
        ("POST", "/faults", ["stockout"], "must be an object"),
        ("DELETE", "/faults/stockout-99", None, "no fault of this id"),
    ],
    ids=["kind", "parameter", "no-target", "shape", "not-on"],
)
def test_what_cannot_be_ordered_is_refused_in_a_sentence(machines, method, path, body, message):
    answer = machines.admin(method, path, body)
    assert answer["status"] == 400
    assert message in answer["error"]
    assert machines.admin("GET", "/faults")["faults"] == []
