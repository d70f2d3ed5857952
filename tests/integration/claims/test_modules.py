# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules about claims and slices against a real scheduler, and against a dump of it."""

from __future__ import annotations

import itertools

import pytest

from ansible_collections.inference.dra.plugins.module_utils._glue.result import ModuleFailure
from ansible_collections.inference.dra.plugins.module_utils._glue.waiting import wait, wait_spec
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIM_TEMPLATES,
    CLAIMS,
    DAEMON_SETS,
    DEPLOYMENTS,
    DEVICE_CLASSES,
    EVENTS,
    NODES,
    PODS,
    REPLICA_SETS,
    SLICES,
)
from ansible_collections.inference.dra.tests.unit.modules.in_process import run_module

from .scene import CPU, FAILED, GATE, GPU, node

pytestmark = pytest.mark.lab

KINDS = (
    PODS,
    CLAIMS,
    CLAIM_TEMPLATES,
    SLICES,
    DEVICE_CLASSES,
    NODES,
    EVENTS,
    DEPLOYMENTS,
    REPLICA_SETS,
    DAEMON_SETS,
)
EXPECTED = [
    {"driver": GPU, "device_class": GPU, "node_selector": {"pool": "gpu"}, "devices_exact": 1},
    {"driver": CPU, "device_class": CPU, "node_selector": {"pool": "cpu"}, "capacity": {"dra.cpu/cpu": "12"}},
    {
        "driver": GATE,
        "device_class": GATE,
        "pool": "all-nodes",
        "all_nodes": True,
        "required_fields": ["bindingConditions", "allowMultipleAllocations"],
    },
]
numbers = itertools.count(1)


@pytest.fixture
def ask(kubeconfig, namespace):
    def run(module, **options):
        return run_module(module, kubeconfig=kubeconfig, namespace=namespace, **options)

    return run


@pytest.fixture
def verify(kubeconfig):
    def run(*expectations, **options):
        return run_module(
            "resource_slice_verify", kubeconfig=kubeconfig, expectations=[*expectations], **options
        )

    return run


def reasons(verdicts) -> list[str]:
    return [each["reason"] for each in verdicts]


def test_what_each_replica_got(service, ask):
    service.create(2)
    service.allocated(2)
    result = ask("resource_claim_info", deployment="vllm")
    assert result["alternatives"] == {"gpu": 1, "cpu": 1}
    assert result["states"] == {"allocated": 2}
    assert all(0 < each["binding_seconds_left"] <= 600 for each in result["claims"])


def test_wait_from_nothing_to_running(service, ask):
    service.create(2)
    for claim in service.allocated(2):
        service.open_gate(claim)
    result = ask("resource_claim_wait", deployment="vllm", state="running", timeout_seconds=30)
    assert (result["failed"], result["reached"], result["states"]) == (False, 2, {"ready": 2})


def test_wait_ends_at_once_with_a_condition_that_fails(service, kubeconfig):
    service.create(1)
    told = []

    def fail_when_allocated(line: str) -> None:
        told.append(line)
        if ": allocated" in line:
            service.open_gate(service.allocated(1)[0], FAILED)

    defaults = {name: option.get("default") for name, option in wait_spec().items()}
    wanted = {"kubeconfig": kubeconfig, "namespace": service.namespace, "deployment": "vllm"}
    with pytest.raises(ModuleFailure) as gave_up:
        wait(defaults | wanted, SystemClock(), fail_when_allocated, check_mode=False)
    # Seen where it is written: the scheduler itself looks every five seconds.
    assert gave_up.value.reason == "BindingConditionFailed"
    assert ": failed" in told[-1]


def test_wait_returns_what_was_last_seen_at_its_deadline(service, ask):
    service.create(1)
    service.allocated(1)
    result = ask("resource_claim_wait", deployment="vllm", timeout_seconds=1)
    assert (result["failed"], result["reason"], result["states"]) == (True, "TimedOut", {"allocated": 1})


def test_wait_in_check_mode_looks_once(service, ask):
    service.create(1)
    service.allocated(1)
    result = ask("resource_claim_wait", deployment="vllm", check_mode=True)
    assert (result["failed"], result["waited_seconds"], len(result["would_wait_for"])) == (False, 0.0, 1)


def test_why_the_second_replica_has_cpus(service, ask):
    service.create(2)
    service.allocated(2)
    chosen = [pod["chosen"][0] for pod in ask("dra_diagnosis")["pods"]]
    (cpu,) = [each for each in chosen if each["alternative"] == "accel/cpu"]
    assert reasons(cpu["reasons"]) == ["DeviceInUse"]


def test_why_a_replica_is_pending(service, ask):
    service.create(1, "missing.example.com")
    service.pods(1)
    service.until(CLAIMS, lambda claims: len(claims) == 1)
    (pod,) = ask("dra_diagnosis")["pods"]
    assert (pod["state"], pod["verdicts"][0]["reason"]) == ("pending", "DeviceClassMissing")


def test_dump_is_judged_as_the_cluster_is(service, ask, verify):
    service.create(2)
    service.open_gate(service.allocated(2)[0])
    service.until(PODS, lambda pods: any(is_ready(each) for each in pods))
    dump = {
        "objects": [each for kind in KINDS for each in service.api.list(kind)],
        "now": SystemClock().now().isoformat(),
    }
    for module, options in (("resource_claim_info", {"deployment": "vllm"}), ("dra_diagnosis", {})):
        recorded = run_module(module, namespace=service.namespace, **dump, **options)
        assert recorded == ask(module, now=dump["now"], **options)
    options = {"expectations": EXPECTED, "fail_on": "never"}
    recorded, live = (
        run_module("resource_slice_verify", **dump, **options),
        verify(*EXPECTED, fail_on="never"),
    )
    for each in (recorded, live):
        assert each.pop("waited_seconds") < 60  # nobody waits, but reading takes its time
    assert recorded == live
    plan = {"slices": EXPECTED, "device_classes": [{"name": GPU}, {"name": CPU}]}
    named = {"plan": plan, "deployment": "vllm", "now": dump["now"]}
    recorded = run_module("inference_leftovers_info", namespace=service.namespace, **dump | named)
    assert len(recorded["leftovers"]) > len(KINDS) / 2
    assert recorded["leftovers"] == ask("inference_leftovers_info", **named)["leftovers"]


def test_drivers_publish_what_is_expected(verify):
    result = verify(*EXPECTED)
    assert not result["failed"], result["msg"]
    assert reasons(result["verdicts"]) == ["DevicesPublished"] * 3


def test_held_device_is_not_free(service, verify):
    service.create(1)
    service.allocated(1)
    result = verify({**EXPECTED[0], "count": "free"})
    assert (result["failed"], result["outcomes"][0]["missing_nodes"]) == (True, ["gpu-1"])
    assert "1 are held" in result["msg"]


LINKS = {
    "label": ({"other": "label"}, "NodeSelectorMismatch"),
    "slice": ({}, "DriverSlicesMissing"),
}


@pytest.mark.parametrize(("selector", "reason"), LINKS.values(), ids=LINKS)
def test_first_broken_link_of_a_node(service, verify, selector, reason):
    api, namespace, pool = service.api, service.namespace, f"verify-{next(numbers)}"
    node(api, pool, pool=pool)
    labels = {"app": "driver"}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "containers": [{"name": "plugin", "image": "plugin"}],
            "nodeSelector": {"pool": pool, **selector},
            "tolerations": [{"operator": "Exists"}],
        },
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    api.create(DAEMON_SETS, {"metadata": {"name": "driver"}, "spec": spec}, namespace)
    if not selector:
        service.until(PODS, lambda pods: any(is_ready(each) for each in pods))
    wanted = {"driver": GPU, "node_selector": {"pool": pool}, "daemon_set": f"{namespace}/driver"}
    result = verify(wanted, fail_on="never")
    api.delete(DAEMON_SETS, "driver", namespace)
    api.delete(NODES, pool)
    (verdict,) = [each for each in result["verdicts"] if each["subject"] == f"Node {pool}"]
    assert verdict["reason"] == reason


def is_ready(pod) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
