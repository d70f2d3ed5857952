# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every fault in ``dra-lab fault list``: switched on by the command, seen over HTTP, switched off, gone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ansible_collections.inference.dra.lab.processes import Processes
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    NODES,
    PODS,
)
from ansible_collections.inference.dra.tests.watched import seen

from .fault_scene import Scene, is_bound, of_pool, pool
from .labs import answered, running_lab

pytestmark = pytest.mark.lab
SMT = "dra.cpu/smtEnabled"
PREPARED, FAILED = "lab.inference.dra/prepared", "lab.inference.dra/preparation-failed"
CASES = {}


def case(kind):
    """Make a function the case of a kind of fault."""

    def add(function):
        CASES[kind] = function
        return function

    return add


@pytest.fixture(scope="module")
def scene(lab_binaries):
    with running_lab("faults", "--speed", "200") as lab:
        yield Scene(lab)


@case("stockout")
def stockout(scene):
    for on in ("create", "scale-up"):
        with scene.fault("stockout", "pool=short", f"on={on}", "after=1"):
            if on == "create":
                operation = scene.begun("POST", "/clusters/demo/nodePools", pool("short"))
            else:
                path = "/clusters/demo/nodePools/short:setSize"
                operation = scene.begun("POST", path, {"nodeCount": 2})
            error = scene.ended(operation)
            assert error["code"] == 8
            assert "[GCE_STOCKOUT]" in error["message"]
            status = scene.google("GET", "/clusters/demo/nodePools/short")[1]["status"]
            assert status == ("ERROR" if on == "create" else "RUNNING_WITH_ERROR")
        answered(
            lambda: scene.google("GET", "/clusters/demo/nodePools/short")[1]["status"],
            lambda status: status == "RUNNING",
        )
    assert len(of_pool(scene.api.list(NODES), "short")) == 2


@case("quota")
def quota(scene):
    with scene.fault("quota", "metric=N2_CPUS", "limit=0"):
        code, answer = scene.google("POST", "/clusters/demo/nodePools", pool("dear"))
        assert code == 403
        assert 'Insufficient regional quota to satisfy request: resource "N2_CPUS"' in str(answer)
    scene.done("POST", "/clusters/demo/nodePools", pool("dear"))


@case("operation-fails")
def operation_fails(scene):
    with scene.fault("operation-fails", "type=SET_LABELS", "message=Broken on order."):
        assert scene.ended(scene.begun(*scene.relabel()))["message"] == "Broken on order."
    scene.done(*scene.relabel())


@case("operation-stuck")
def operation_stuck(scene):
    with scene.fault("operation-stuck", "type=SET_LABELS"):
        operation = scene.begun(*scene.relabel())
        SystemClock().sleep(0.5)  # twenty times as long as such an operation takes here
        assert scene.google("GET", operation)[1]["status"] == "RUNNING"
        assert scene.google(*scene.relabel())[1]["error"]["status"] == "FAILED_PRECONDITION"
    assert scene.ended(operation) == {}


@case("operation-lost")
def operation_lost(scene):
    operation = scene.begun(*scene.relabel())
    with scene.fault("operation-lost", "type=SET_LABELS"):
        assert scene.google("GET", operation)[0] == 404
    assert scene.ended(operation) == {}


@case("maintenance")
def maintenance(scene):
    with scene.fault("maintenance", "cluster=demo", "seconds=400"):
        code, answer = scene.google(*scene.relabel())
        assert code == 400
        assert answer["error"]["details"][0]["reason"] == "CLUSTER_ALREADY_HAS_OPERATION"
        operations = scene.google("GET", "/operations")[1]["operations"]
        assert [o["operationType"] for o in operations if o["status"] != "DONE"] == ["UPGRADE_MASTER"]
    answered(lambda: scene.google(*scene.relabel())[0], lambda code: code == 200)


@case("http-error")
def http_error(scene):
    method = "container.projects.locations.clusters.list"
    with scene.fault("http-error", "code=503", "remaining=2", f"method={method}"):
        assert [scene.google("GET", "/clusters")[0] for _unused in range(3)] == [503, 503, 200]
    assert scene.google("GET", "/clusters")[0] == 200


@case("http-slow")
def http_slow(scene):
    def seconds():
        began = time.monotonic()
        assert scene.google("GET", "/clusters")[0] == 200
        return time.monotonic() - began

    with scene.fault("http-slow", "seconds=1.5", "method=container.projects.locations.clusters.list"):
        assert seconds() >= 1.5
    assert seconds() < 1.5


@case("permission-denied")
def permission_denied(scene):
    with scene.fault("permission-denied", "permission=container.clusters.list"):
        code, answer = scene.google("GET", "/clusters")
        assert (code, answer["error"]["details"][0]["reason"]) == (403, "IAM_PERMISSION_DENIED")
    assert scene.google("GET", "/clusters")[0] == 200


@case("service-disabled")
def service_disabled(scene):
    with scene.fault("service-disabled", "service=container.googleapis.com"):
        code, answer = scene.google("GET", "/clusters")
        assert (code, answer["error"]["details"][0]["reason"]) == (403, "SERVICE_DISABLED")
    assert scene.google("GET", "/clusters")[0] == 200


@case("preemption")
def preemption(scene):
    node, pod = scene.node(), scene.pod()
    scene.pod_until(pod, is_bound, "a pod on the spot node")
    with scene.fault("preemption", "pool=cpu"):
        scene.pod_until(pod, lambda p: p["status"].get("reason") == "Terminated", "its pod ended")

        def replaced(nodes):
            return len(of_pool(nodes, "cpu")) == 1 and of_pool(nodes, "cpu") != [node]

        seen(scene.api, NODES, replaced, "another node of the pool")
    scene.device_until(lambda found: [each["nodeName"] for each in found] == [scene.node()], "its slices")


@case("driver-crash")
def driver_crash(scene):
    def crashing(pods):
        return "CrashLoopBackOff" in str([pod["status"] for pod in pods])

    with scene.fault("driver-crash", "driver=dra.cpu"):
        scene.device_until(lambda found: not found, "no slice")
        seen(scene.api, PODS, crashing, "the driver's pod in a crash loop", namespace="kube-system")
    scene.device_until(bool, "the slice again")
    seen(
        scene.api, PODS, lambda pods: not crashing(pods), "the driver's pod running", namespace="kube-system"
    )


@case("half-generation")
def half_generation(scene):
    def pools(found):
        return [(each["pool"]["generation"], each["pool"]["resourceSliceCount"]) for each in found]

    with scene.fault("half-generation", "driver=dra.cpu"):
        scene.device_until(lambda found: pools(found) == [(2, 2)], "one of two slices of generation 2")
    scene.device_until(lambda found: pools(found) == [(1, 1)], "the whole pool")


@case("attribute-missing")
def attribute_missing(scene):
    def has(found):
        return [SMT in each["devices"][0]["attributes"] for each in found]

    with scene.fault("attribute-missing", "driver=dra.cpu", f"attribute={SMT}"):
        scene.device_until(lambda found: has(found) == [False], "a device without it")
    scene.device_until(lambda found: has(found) == [True], "a device with it")


def gated(found):
    return [each["devices"][0].get("bindingConditions") == [PREPARED] for each in found]


@case("condition-never")
def condition_never(scene):
    with scene.fault("condition-never", "driver=dra.cpu"):
        scene.device_until(lambda found: gated(found) == [True], "a gated device")
        waiting = scene.pod()
        seen(
            scene.api,
            CLAIMS,
            lambda claims: any(waiting in str(c["metadata"]) and "allocation" in c["status"] for c in claims),
            "an allocation that waits",
            namespace="default",
        )
        assert not is_bound(scene.api.get(PODS, waiting, "default"))
    scene.device_until(lambda found: gated(found) == [False], "a device without a gate")
    scene.api.delete(PODS, waiting, "default")
    scene.pod_until(scene.pod(), is_bound, "a pod that need not wait")


@case("condition-fails")
def condition_fails(scene):
    with scene.fault("condition-fails", "driver=dra.cpu"):
        scene.device_until(lambda found: gated(found) == [True], "a gated device")
        pod = scene.pod()

        def failed(claims):
            return any(FAILED in str(c.get("status", {}).get("devices")) for c in claims)

        seen(scene.api, CLAIMS, failed, "a claim whose device failed", namespace="default")
        assert not is_bound(scene.api.get(PODS, pod, "default"))
    scene.device_until(lambda found: gated(found) == [False], "a device without a gate")
    scene.pod_until(pod, is_bound, "the same pod, its claim allocated anew")


@case("api-server-restart")
def api_server_restart(scene):
    processes = Processes(scene.lab.directory)
    before = processes.pid("kube-apiserver")
    with scene.fault("api-server-restart", "seconds=1"):
        answered(scene.serves, lambda up: not up)
        answered(scene.serves, lambda up: up)
    assert processes.pid("kube-apiserver") not in (None, before)
    scene.pod_until(scene.pod(), is_bound, "a pod, bound by the scheduler of before")


@case("controller-paused")
def controller_paused(scene):
    stat = Path(f"/proc/{Processes(scene.lab.directory).pid('kube-scheduler')}/stat")
    with scene.fault("controller-paused", "process=kube-scheduler"):
        assert stat.read_text().rpartition(")")[2].split()[0] == "T"
        pod = scene.pod()
        # The claim's controller goes on, so the claim shows that there was time to schedule.
        seen(scene.api, CLAIMS, lambda claims: pod in str(claims), "its claim", namespace="default")
        assert scene.api.get(PODS, pod, "default")["status"].get("conditions", []) == []
    scene.pod_until(pod, is_bound, "the pod, bound")


@pytest.mark.parametrize("kind", CASES)
def test_fault(scene, kind):
    CASES[kind](scene)


def test_every_kind_has_a_case(scene):
    lines = scene.command("list").splitlines()
    assert {line.split()[0] for line in lines} == set(CASES)
