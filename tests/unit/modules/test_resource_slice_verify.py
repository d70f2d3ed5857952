# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""resource_slice_verify: expectations, the chain to a device, audits; field cases by number."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.inference.dra.tests.unit._core.dra_objects import (
    GATE,
    GPU,
    claim,
    device,
    devices,
    resource_slice,
    result,
)

from .in_process import run_module

LABEL = {"pool": "gpu"}
DAEMON_SET = "kube-system/driver"


def node(name="node-a", *, labels=None, taints=(), allocatable=None, ready=True):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": LABEL if labels is None else labels},
        "spec": {"taints": list(taints)},
        "status": {
            "allocatable": allocatable or {},
            "conditions": [{"type": "Ready", "status": str(ready)}],
        },
    }


def daemon_set(*, desired=1, current=1, ready=1, spec=None):
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "driver", "namespace": "kube-system", "uid": "ds", "generation": 1},
        "spec": {"template": {"spec": spec or {}}},
        "status": {
            "observedGeneration": 1,
            "desiredNumberScheduled": desired,
            "currentNumberScheduled": current,
            "updatedNumberScheduled": current,
            "numberReady": ready,
        },
    }


def driver_pod(node_name="node-a", *, ready=True, bound=True, **status):
    where = {"nodeName": node_name}
    if not bound:
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        where = {"affinity": {"nodeAffinity": required}}
    conditions = [{"type": "Ready", "status": str(ready)}, *status.pop("conditions", ())]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"driver-{node_name}",
            "namespace": "kube-system",
            "uid": f"driver-{node_name}",
            "ownerReferences": [{"kind": "DaemonSet", "name": "driver", "uid": "ds", "controller": True}],
        },
        "spec": {"containers": [{"name": "plugin"}], **where},
        "status": {"phase": "Running" if ready else "Pending", "conditions": conditions, **status},
    }


def init_container(**state):
    return {"initContainerStatuses": [{"name": "init", "ready": False, "state": state}]}


GPU_SLICE = resource_slice(devices=devices("gpu-0"))
DRIVER = [daemon_set(), driver_pod()]
GPU_CLASS = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": GPU}}


def verify(objects, *expect, fail_on="never", **options):
    wanted = [{"driver": GPU, "node_selector": LABEL, **each} for each in (expect or ({},))]
    return run_module(
        "resource_slice_verify", objects=[*objects], expectations=wanted, fail_on=fail_on, **options
    )


def found(result, *, status="error"):
    assert "verdicts" in result, result
    return [(each["reason"], each["subject"]) for each in result["verdicts"] if each["status"] == status]


def observed(result, reason):
    (verdict,) = [each for each in result["verdicts"] if each["reason"] == reason]
    return verdict["observed"]


# Counting

TWO = resource_slice(devices=devices("gpu-0", "gpu-1"))
TAINT = {"key": "broken", "effect": "NoSchedule"}
PART = resource_slice(devices=devices("gpu-0"), count=2)
OLD_AND_NEW = [
    resource_slice("old", devices=devices("gpu-0", "gpu-1"), generation=1),
    resource_slice("new", devices=devices("gpu-0"), generation=2),
]
COUNTS = {
    "as expected": ([TWO], {"devices_min": 2}, 2),
    "one too few": ([TWO], {"devices_min": 3}, None),
    "more than the least": ([TWO], {"devices_min": 1}, 2),
    "exactly": ([TWO], {"devices_exact": 2}, 2),
    "more than exactly": ([TWO], {"devices_exact": 1}, None),
    "none may be expected": ([], {"devices_exact": 0}, 0),
    "two pools": ([TWO, resource_slice("b", pool="b", devices=devices("x"))], {"devices_exact": 3}, 3),
    "pool by name": (
        [TWO, resource_slice("b", pool="b", devices=devices("x"))],
        {"pool": "b", "devices_exact": 1},
        1,
    ),
    "other driver": ([resource_slice(driver="dra.cpu", devices=devices("a"))], {}, None),
    "C20-slice-without-devices": ([resource_slice()], {}, None),
    "C20-incomplete-pool": ([PART], {}, None),
    "C24-tainted-is-published": ([resource_slice(devices=[device(taints=[TAINT])])], {}, 1),
    "C24-tainted-is-not-free": ([resource_slice(devices=[device(taints=[TAINT])])], {"count": "free"}, None),
    "held-is-published": ([GPU_SLICE, claim(results=[result()])], {}, 1),
    "held-is-not-free": ([GPU_SLICE, claim(results=[result()])], {"count": "free"}, None),
    "C23-held-and-withdrawn": ([resource_slice(), claim(results=[result()])], {}, 1),
    "C23-withdrawn-is-not-free": ([resource_slice(), claim(results=[result()])], {"count": "free"}, None),
    "shared-is-free": (
        [
            resource_slice(devices=[device(allowMultipleAllocations=True)]),
            claim(results=[result(shareID="a")]),
        ],
        {"count": "free"},
        1,
    ),
    "newest generation": (OLD_AND_NEW, {"devices_exact": 1}, 1),
    "C25-node-selector": (
        [
            resource_slice(
                node=None,
                devices=devices("gpu-0"),
                nodeSelector={
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["gpu"]}]}
                    ]
                },
            )
        ],
        {},
        1,
    ),
    "C25-per-device": (
        [
            resource_slice(
                node=None,
                perDeviceNodeSelection=True,
                devices=[device("a", nodeName="node-a"), device("b", nodeName="node-b")],
            )
        ],
        {"devices_exact": 1},
        1,
    ),
    "C25-all-nodes": ([resource_slice(node=None, allNodes=True, devices=devices("gpu-0"))], {}, 1),
}


@pytest.mark.parametrize(("objects", "wanted", "devices"), COUNTS.values(), ids=COUNTS)
def test_devices_of_a_node(objects, wanted, devices):
    outcome = verify([node(), *objects], wanted)["outcomes"][0]
    if devices is None:
        assert outcome["missing_nodes"] == ["node-a"]
    else:
        assert (outcome["devices"], outcome["missing_nodes"]) == (devices, [])


def test_cluster_wide_device_counts_once():
    gate = resource_slice(driver=GATE, pool="all-nodes", node=None, allNodes=True, devices=devices("gate"))
    nodes = [node(f"node-{number}") for number in range(3)]
    wanted = {"driver": GATE, "all_nodes": True, "node_selector": None, "devices_exact": 1}
    result = verify([*nodes, gate], wanted)
    assert result["outcomes"][0] == {
        "alternative": "",
        "driver": GATE,
        "nodes": 0,
        "devices": 1,
        "missing_nodes": [],
    }


def test_cluster_wide_pool_that_is_not_there():
    wanted = {"driver": GATE, "all_nodes": True, "node_selector": None, "pool": "all-nodes"}
    assert found(verify([node()], wanted)) == [("DriverSlicesMissing", f"Driver {GATE}")]


# What a device must have

TYPED = {"model": {"string": "L4"}, "cores": {"int": 8}, "fast": {"bool": True}, "v": {"version": "1.2.3"}}
OFFERS = device(attributes=TYPED, capacity={"memory": {"value": "24Gi"}})
REQUIRED = {
    "present": ({"attributes": [{"name": "model"}]}, None),
    "full name": ({"attributes": [{"name": f"{GPU}/model"}]}, None),
    "value": ({"attributes": [{"name": "model", "value": "L4"}]}, None),
    "type": ({"attributes": [{"name": "cores", "type": "int"}]}, None),
    "C47-number as text": ({"attributes": [{"name": "cores", "type": "int", "value": "8"}]}, None),
    "C47-truth as text": ({"attributes": [{"name": "fast", "type": "bool", "value": "True"}]}, None),
    "version": ({"attributes": [{"name": "v", "type": "version", "value": "1.2.3"}]}, None),
    "version by value": ({"attributes": [{"name": "v", "value": "1.2.3"}]}, None),
    "C22-missing": ({"attributes": [{"name": "type"}]}, "AttributeMissing"),
    "other domain": ({"attributes": [{"name": "example.com/model"}]}, "AttributeMissing"),
    "other type": ({"attributes": [{"name": "cores", "type": "string"}]}, "AttributeTypeDiffers"),
    "C47-text is no number": ({"attributes": [{"name": "cores", "value": "8"}]}, "AttributeTypeDiffers"),
    "string is no version": ({"attributes": [{"name": "v", "type": "string"}]}, "AttributeTypeDiffers"),
    "other value": ({"attributes": [{"name": "model", "value": "A100"}]}, "AttributeValueDiffers"),
    "true is not one": (
        {"attributes": [{"name": "fast", "type": "int", "value": 1}]},
        "AttributeTypeDiffers",
    ),
    "capacity": ({"capacity": {"memory": "24Gi"}}, None),
    "capacity in other words": ({"capacity": {f"{GPU}/memory": 25769803776}}, None),
    "capacity too small": ({"capacity": {"memory": "25Gi"}}, "CapacityTooSmall"),
    "no such capacity": ({"capacity": {"cpu": "1"}}, "CapacityTooSmall"),
    "CEL": ({"selectors": [f"device.attributes['{GPU}'].model == 'L4'"]}, None),
    "CEL does not hold": ({"selectors": [f"device.attributes['{GPU}'].cores > 8"]}, "SelectorNotMet"),
    "C22-CEL error": ({"selectors": [f"device.attributes['{GPU}'].type == 'gpu'"]}, "SelectorError"),
    "field dropped": ({"required_fields": ["allowMultipleAllocations"]}, "FieldDropped"),
    "binding conditions dropped": ({"required_fields": ["bindingConditions"]}, "FieldDropped"),
}


@pytest.mark.parametrize(("wanted", "reason"), REQUIRED.values(), ids=REQUIRED)
def test_required_of_a_device(wanted, reason):
    result = verify([node(), resource_slice(devices=[OFFERS])], wanted)
    if reason:
        assert found(result) == [(reason, f"ResourcePool {GPU}/node-a"), ("DevicesMissing", "Node node-a")]
    else:
        assert found(result) == []


def test_fields_that_are_set_are_not_dropped():
    whole = device(bindingConditions=["a"], bindingFailureConditions=["b"], allowMultipleAllocations=True)
    wanted = {"required_fields": ["bindingConditions", "allowMultipleAllocations"]}
    assert found(verify([node(), resource_slice(devices=[whole])], wanted)) == []


def test_dropped_field_names_its_feature_gate():
    result = verify([node(), GPU_SLICE], {"required_fields": ["bindingConditions"]})
    advice = [each["advice"] for each in result["verdicts"] if each["reason"] == "FieldDropped"]
    assert advice == [
        "the API server drops the field where its feature gate DRADeviceBindingConditions is off"
    ]


def test_what_cannot_be_judged_counts_with_a_warning():
    listed = device(attributes={"ids": {"ints": [1, 2]}})
    result = verify(
        [node(), resource_slice(devices=[listed])], {"selectors": ["device.attributes['x'].y == 1"]}
    )
    assert found(result, status="warning") == [("CannotJudge", f"ResourcePool {GPU}/node-a")]
    assert result["outcomes"][0]["missing_nodes"] == []


def test_requirements_are_those_of_their_own_entry():
    wanted = [{"attributes": [{"name": "none"}], "alternative": "a"}, {"alternative": "b"}]
    outcomes = verify([node(), GPU_SLICE], *wanted)["outcomes"]
    assert [each["devices"] for each in outcomes] == [0, 1]


# The chain

GKE_TAINT = {"key": "cloud.google.com/compute-class", "value": "fungible", "effect": "NoSchedule"}
CRASH = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
NO_NVML = {"reason": "Error", "exitCode": 1, "message": "no NVML"}
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}
CHAIN = {
    "C26-no-daemon-set": ([node()], "DriverMissing", "kube-system/driver does not exist"),
    "C26-node-selector": (
        [node(), daemon_set(spec={"nodeSelector": {"nvidia.com/gpu.present": "true"}})],
        "NodeSelectorMismatch",
        "label nvidia.com/gpu.present is None, not 'true'",
    ),
    "C26-taint-not-tolerated": (
        [node(taints=[GKE_TAINT]), daemon_set(desired=0, current=0, ready=0)],
        "NodeTainted",
        "cloud.google.com/compute-class=fungible:NoSchedule",
    ),
    "C26-desired-0": (
        [node(), daemon_set(desired=0, current=0, ready=0)],
        "DriverPodMissing",
        "it wants 0 and has 0 (no node is selected)",
    ),
    "C26-desired-1-current-0": (
        [node(), daemon_set(current=0, ready=0)],
        "DriverPodMissing",
        "it wants 1 and has 0 (0 of 1 pods are created)",
    ),
    "pod of another node": (
        [node(), node("node-b", labels={}), daemon_set(), driver_pod("node-b")],
        "DriverPodMissing",
        "has no pod for the node",
    ),
    "pod without a node": (
        [node(), daemon_set(), driver_pod(ready=False, bound=False, conditions=[UNSCHEDULABLE])],
        "DriverPodNotReady",
        "it has no node: 0/1 nodes are available",
    ),
    "init container waits": (
        [node(), daemon_set(), driver_pod(ready=False, **init_container(**CRASH))],
        "DriverPodNotReady",
        "init container init waits (CrashLoopBackOff: back-off)",
    ),
    "container crashes": (
        [
            node(),
            daemon_set(),
            driver_pod(
                ready=False,
                containerStatuses=[
                    {
                        "name": "plugin",
                        "state": CRASH,
                        "restartCount": 2,
                        "lastState": {"terminated": NO_NVML},
                    }
                ],
            ),
        ],
        "DriverPodNotReady",
        "(CrashLoopBackOff: back-off, 2 restarts); it ended before (Error, exit code 1: no NVML)",
    ),
    "init container runs": (
        [node(), daemon_set(), driver_pod(ready=False, **init_container(running={}))],
        "DriverPodNotReady",
        "init container init is still running",
    ),
    "init container failed": (
        [
            node(),
            daemon_set(),
            driver_pod(ready=False, **init_container(terminated={"reason": "Error", "exitCode": 1})),
        ],
        "DriverPodNotReady",
        "init container init ended (Error, exit code 1)",
    ),
    "container not ready": (
        [
            node(),
            daemon_set(),
            driver_pod(
                ready=False,
                initContainerStatuses=[{"name": "init", "state": {"terminated": {"exitCode": 0}}}],
                containerStatuses=[{"name": "plugin", "ready": False, "state": {"running": {}}}],
            ),
        ],
        "DriverPodNotReady",
        "container plugin runs and is not ready",
    ),
    "pod failed": ([node(), daemon_set(), driver_pod(phase="Failed")], "DriverPodNotReady", "it is Failed"),
    "C21-no-slice": ([node(), *DRIVER], "DriverSlicesMissing", f"no slice of {GPU}"),
    "node not ready": ([node(ready=False), *DRIVER], "DriverSlicesMissing", "the node is not ready"),
    "C20-no-device": (
        [node(), *DRIVER, resource_slice()],
        "DevicesMissing",
        "0 of 0 published devices count",
    ),
    "pool incomplete": ([node(), *DRIVER, PART], "DevicesMissing", "is incomplete (1 of 2 slices published)"),
}


@pytest.mark.parametrize(("objects", "reason", "sentence"), CHAIN.values(), ids=CHAIN)
def test_first_broken_link(objects, reason, sentence):
    if not any(each["kind"] == "DaemonSet" for each in objects):
        other = copy.deepcopy(daemon_set())
        other["metadata"]["name"] = "other"
        objects = [*objects, other, driver_pod("node-x")]
    elif not any(each["kind"] == "Pod" for each in objects):
        stranger = driver_pod("node-a")
        stranger["metadata"]["ownerReferences"] = []
        objects = [*objects, stranger]
    (verdict,) = [
        each
        for each in verify(objects, {"daemon_set": DAEMON_SET})["verdicts"]
        if each["subject"] == "Node node-a"
    ]
    assert verdict["reason"] == reason
    assert sentence in verdict["observed"]


def test_link_is_not_looked_at_where_devices_are_there():
    broken = [daemon_set(ready=0), driver_pod(ready=False)]
    assert found(verify([node(), GPU_SLICE, *broken], {"daemon_set": DAEMON_SET})) == []


def test_C21_each_missing_node_is_named():  # noqa: N802 - the number of the field case
    nodes = [node(f"node-{number:03}") for number in range(200)]
    slices = [
        resource_slice(
            f"s-{number}", pool=f"node-{number:03}", node=f"node-{number:03}", devices=devices("gpu-0")
        )
        for number in range(200)
        if number % 40
    ]
    result = verify([*nodes, *slices])
    missing = [f"node-{number:03}" for number in range(0, 200, 40)]
    assert result["outcomes"][0]["missing_nodes"] == missing
    assert [subject for _reason, subject in found(result)] == [f"Node {name}" for name in missing]


def test_very_many_missing_nodes_are_named_together():
    result = verify([node(f"node-{number:03}") for number in range(80)])
    assert len(result["outcomes"][0]["missing_nodes"]) == 80
    assert len(found(result)) == 51
    assert "30 more nodes" in observed(result, "DevicesMissing")


@pytest.mark.parametrize(
    ("fine", "status"), [(True, "note"), (False, "error")], ids=["C46-fine", "C46-wrong"]
)
def test_no_target_nodes(fine, status):
    result = verify([node(labels={})], {"allow_no_nodes": fine})
    assert found(result, status=status) == [("NoTargetNodes", f"Driver {GPU}")]


def test_every_node_is_meant_without_a_selector():
    wanted = {"node_selector": None}
    assert verify([node(labels={}), GPU_SLICE], wanted)["outcomes"][0]["nodes"] == 1


# Class and controller


@pytest.mark.parametrize(
    ("objects", "reasons"),
    [([GPU_CLASS], []), ([], ["DeviceClassMissing"])],
    ids=["C20-there", "C20-missing"],
)
def test_device_class(objects, reasons):
    other = copy.deepcopy(GPU_CLASS)
    other["metadata"]["name"] = "other"
    result = verify([node(), GPU_SLICE, other, *objects], {"device_class": GPU})
    assert [reason for reason, _unused in found(result)] == reasons


def deployment(**status):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "gate", "namespace": "system", "generation": 1},
        "spec": {"replicas": 1},
        "status": {"observedGeneration": 1, **status},
    }


CONTROLLERS = {
    "available": (deployment(availableReplicas=1, readyReplicas=1), []),
    "not available": (deployment(), ["GateWithoutController"]),
    "another": (
        {**deployment(), "metadata": {"name": "x", "namespace": "system"}},
        ["GateWithoutController"],
    ),
}


def test_a_rollout_has_to_be_complete_only_where_that_is_asked():
    gate = resource_slice(driver=GATE, pool="all-nodes", node=None, allNodes=True, devices=devices("gate"))
    wanted = {"driver": GATE, "all_nodes": True, "node_selector": None, "deployment": "system/gate"}
    under_way = [node(), gate, deployment(availableReplicas=1, readyReplicas=1, replicas=1)]
    done = [node(), gate, deployment(availableReplicas=1, readyReplicas=1, replicas=1, updatedReplicas=1)]
    assert [*found(verify(under_way, wanted))] == []
    assert [reason for reason, _unused in found(verify(under_way, {**wanted, "rolled_out": True}))] == [
        "ControllerRollsOut"
    ]
    assert [*found(verify(done, {**wanted, "rolled_out": True}))] == []


@pytest.mark.parametrize(("controller", "reasons"), CONTROLLERS.values(), ids=CONTROLLERS)
def test_gate_needs_its_controller(controller, reasons):
    gate = resource_slice(driver=GATE, pool="all-nodes", node=None, allNodes=True, devices=devices("gate"))
    wanted = {"driver": GATE, "all_nodes": True, "node_selector": None, "deployment": "system/gate"}
    assert [reason for reason, _unused in found(verify([node(), gate, controller], wanted))] == reasons


# Audits


def from_node(name, pool):
    return resource_slice(name, pool=pool, node=name, devices=devices("gpu-0"))


AUDITS = {
    "nothing": ([node(), GPU_SLICE], None, None),
    "C29-device-plugin": ([node(allocatable={"nvidia.com/gpu": "1"}), GPU_SLICE], "error", "DoubleOffered"),
    "C29-plugin-without-devices": ([node(allocatable={"nvidia.com/gpu": "0"}), GPU_SLICE], None, None),
    "C29-other-node": (
        [node(), node("b", labels={}, allocatable={"nvidia.com/gpu": "1"}), GPU_SLICE],
        None,
        None,
    ),
    "orphan": ([node(), GPU_SLICE, from_node("gone", "gone")], "warning", "SliceOrphaned"),
    "C19-two-publishers": (
        [node(), node("node-b"), from_node("node-a", "same"), from_node("node-b", "same")],
        "error",
        "PoolPublishedByNodes",
    ),
    "incomplete": ([node("node-b", labels={}), PART], "error", "PoolIncomplete"),
    "malformed": (
        [node(), GPU_SLICE, {**GPU_SLICE, "metadata": {"name": "x"}, "spec": 1}],
        "error",
        "SliceMalformed",
    ),
    "C24-taint": ([node(), resource_slice(devices=[device(taints=[TAINT])])], "warning", "DeviceTainted"),
}


@pytest.mark.parametrize(("objects", "status", "reason"), AUDITS.values(), ids=AUDITS)
def test_audit(objects, status, reason):
    result = run_module("resource_slice_verify", objects=objects, fail_on="never")
    reasons = [(each["status"], each["reason"]) for each in result["verdicts"]]
    if reason is None:
        assert reasons == []
    else:
        assert (status, reason) in reasons


def test_audit_is_of_the_expected_drivers():
    other = resource_slice("o", driver="other.example.com", pool="o", node="gone", devices=devices("a"))
    assert found(verify([node(), GPU_SLICE, other]), status="warning") == []


# The module


@pytest.mark.parametrize(
    ("fail_on", "failed"), [("never", False), ("error", False), ("warning", True), ("note", True)]
)
def test_fails_at_the_chosen_severity_with_all_verdicts(fail_on, failed):
    objects = [node(), resource_slice(devices=[device(taints=[TAINT])])]
    result = verify(objects, fail_on=fail_on)
    assert result["failed"] is failed
    assert [each["reason"] for each in result["verdicts"]] == ["DevicesPublished", "DeviceTainted"]
    if failed:
        assert result["reason"] == "SlicesNotAsExpected"
        assert "1 of 1 devices carry broken:NoSchedule" in result["msg"]


CONTRADICTIONS = {
    "least above exact": ({"devices_min": 2, "devices_exact": 1}, "devices_exact is 1; give one of them"),
    "negative": ({"devices_min": -1}, "a number of devices is not negative"),
    "everywhere and somewhere": ({"all_nodes": True}, "with all_nodes devices belong to no node"),
    "no quantity": ({"capacity": {"memory": "much"}}, "expectations[0].capacity.memory"),
    "value of another type": (
        {"attributes": [{"name": "a", "type": "int", "value": "x"}]},
        "type int is needed",
    ),
    "no namespace": ({"daemon_set": "driver"}, "namespace/name is needed"),
}


@pytest.mark.parametrize(("wanted", "sentence"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_contradiction_is_refused_before_anything_is_read(wanted, sentence):
    result = verify([node()], wanted)
    assert (result["failed"], result["reason"]) == (True, "InvalidInput")
    assert sentence in result["msg"]


def test_every_contradiction_is_named_at_once():
    result = verify([node()], {"devices_min": -1}, {"daemon_set": "driver"})
    assert "expectations[0].devices_min" in result["msg"]
    assert "expectations[1].daemon_set" in result["msg"]


def test_dump_without_nodes_says_so():
    assert found(verify([GPU_SLICE]), status="warning") == [("ObjectsMissing", f"Driver {GPU}")]


@pytest.mark.parametrize("check_mode", [True, False], ids=["C49-check mode", "C49-run"])
def test_never_changed(check_mode):
    result = verify([node(), GPU_SLICE], check_mode=check_mode, fail_on="error")
    assert (result["failed"], result["changed"]) == (False, False)
