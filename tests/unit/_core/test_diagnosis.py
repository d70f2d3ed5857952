# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why pods are pending and why they got what they got, on objects as a real scheduler 1.36.3 left them."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.cluster import Cluster
from ansible_collections.inference.dra.plugins.module_utils._core.diagnosis import (
    cluster_verdicts,
    diagnose,
)
from ansible_collections.inference.dra.plugins.module_utils._core.objects import split

from .dra_objects import (
    GATE,
    GPU,
    NOW,
    ago,
    claim,
    consumer,
    device,
    devices,
    gate_result,
    image_config,
    owned_by,
    pod,
    resource_slice,
    result,
    status_of,
    template,
)

CPU = "dra.cpu"
NIC = "dra.net"
ROOT = "resource.kubernetes.io/pcieRoot"
T1 = (
    "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, preemption: "
    "0/2 nodes are available: 2 Preemption is not helpful for scheduling."
)
PAIR = [
    {"name": "gpu", "exactly": {"deviceClassName": GPU}},
    {"name": "nic", "exactly": {"deviceClassName": "mrdma.google.com"}},
]
DELETION_CANDIDATE = "DeletionCandidateOfClusterAutoscaler"


def node(name="node-a", *, labels=None, taints=(), created=None, allocatable=None, **spec):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **(labels or {})},
            "creationTimestamp": created or ago(3600),
        },
        "spec": {"taints": list(taints), **spec},
        "status": {"allocatable": allocatable or {}},
    }


def device_class(name, *selectors):
    selectors = selectors or (f"device.driver == '{name}'",)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": text}} for text in selectors]},
    }


RDMA = "device.attributes['dra.net'].rdma"
CLASSES = [
    device_class(GPU),
    device_class(CPU),
    device_class(GATE),
    device_class("mrdma.google.com", f"device.driver == '{NIC}'", f"has({RDMA}) && {RDMA}"),
]


def unschedulable(message=T1, reason="Unschedulable"):
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    return {"phase": "Pending", "conditions": [condition]}


def event(reason, message, about="pod-a", seen=5):
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{about}-{reason}", "namespace": "llm"},
        "involvedObject": {"kind": "Pod", "namespace": "llm", "name": about, "uid": f"uid-{about}"},
        "reason": reason,
        "message": message,
        "lastTimestamp": ago(seen),
    }


NO_EVENT = event("Pulled", "image", about="nobody")


def waiting(*, requests=None, constraints=({"matchAttribute": ROOT},), **fields):
    """A pending pod and its claim, generated and without an allocation."""
    wanted = claim("claim-a", requests=requests or PAIR, owner=owned_by(), pod_claim="hardware")
    wanted["spec"]["devices"]["constraints"] = list(constraints)
    entry = {"name": "hardware", "resourceClaimName": "claim-a"}
    return [
        pod(generated=[entry], status=unschedulable() | {"resourceClaimStatuses": [entry]}, **fields),
        wanted,
    ]


FUNGIBLE = {
    "requests": [
        {
            "name": "device",
            "firstAvailable": [
                {"name": "gpu", "deviceClassName": GPU},
                {"name": "cpu", "deviceClassName": CPU, "capacity": {"requests": {"dra.cpu/cpu": "12"}}},
            ],
        }
    ],
    "constraints": (),
}


def gpus(node="node-a", count=2, **fields):
    published = [
        device(f"gpu-{i}", attributes={ROOT: {"string": f"root-{i}"}} | fields.get("attributes", {}))
        for i in range(count)
    ]
    return resource_slice(f"gpu-{node}", pool=node, node=node, devices=published)


def nics(node="node-a", count=2):
    published = [
        device(f"nic-{i}", attributes={ROOT: {"string": f"root-{i}"}, "rdma": {"bool": True}})
        for i in range(count)
    ]
    return resource_slice(f"nic-{node}", driver=NIC, pool=node, node=node, devices=published)


def cpus(node="node-c", size="16"):
    shared = device("cpudevnuma000", allowMultipleAllocations=True, capacity={"dra.cpu/cpu": {"value": size}})
    return resource_slice(f"cpu-{node}", driver=CPU, pool=node, node=node, devices=[shared])


def holds(name, *results, **fields):
    return claim(name, results=results, **{"consumers": [consumer(f"pod-{name}")], **fields})


def nic_result(name):
    return {**result(name, request="nic"), "driver": NIC}


GATES = resource_slice(
    "gate",
    driver=GATE,
    pool="all-nodes",
    node=None,
    allNodes=True,
    devices=[device("image-configurator", allowMultipleAllocations=True)],
)


def cluster(*objects, now=NOW):
    everything = [*CLASSES, NO_EVENT, GATES]
    for each in objects:
        everything += each if isinstance(each, list) else [each]
    return Cluster.from_objects(split(everything), now)


def only(snapshot, name="pod-a"):
    return next(each for each in diagnose(snapshot) if each.pod.meta.name == name)


def reasons(diagnosis):
    return [each.reason for each in diagnosis.verdicts]


def edited(obj, **changes):
    """Return a slice with fields of single devices changed: ``gpu_0={"attributes": {...}}``."""
    copied = copy.deepcopy(obj)
    for each in copied["spec"]["devices"]:
        each.update(changes.get(each["name"].replace("-", "_"), {}))
    return copied


def spec(obj, **fields):
    return {**obj, "spec": {**obj["spec"], **fields}}


def pool(obj, **fields):
    return spec(obj, pool={**obj["spec"]["pool"], **fields})


ROOTS = [{ROOT: {"string": f"root-{index}"}} for index in range(2)]
NIC_ROOT = {"rdma": {"bool": True}}

# One scheduler text for all of these ("cannot allocate all claims"); each has a verdict of its own.
PAIRS = [
    ("no-nic-slice", [gpus(), node()], "DriverSlicesMissing"),
    (
        "no-nic-slice-on-one-of-two",
        [
            gpus(),
            gpus("node-b"),
            nics("node-b"),
            node(),
            node("node-b"),
            holds("x", *[result(f"gpu-{i}", pool="node-b") for i in range(2)]),
            holds("y", *[{**nic_result(f"nic-{i}"), "pool": "node-b"} for i in range(2)]),
        ],
        "DriverSlicesMissing",
    ),
    ("no-gpu-slice", [nics(), node()], "DriverSlicesMissing"),
    (
        "slices-of-another-driver-name",
        [gpus(), spec(nics(), driver="mrdma.google.com"), node()],
        "DriverNameUnexpected",
    ),
    (
        "root-missing-on-the-free-gpu",
        [
            edited(gpus(), gpu_1={"attributes": {}}),
            nics(),
            node(),
            holds("x", result("gpu-0"), nic_result("nic-0")),
        ],
        "AttributeMissing",
    ),
    (
        "root-missing-on-all-gpus",
        [edited(gpus(), gpu_0={"attributes": {}}, gpu_1={"attributes": {}}), nics(), node()],
        "AttributeMissing",
    ),
    (
        "root-an-int-on-nics",
        [
            gpus(),
            edited(
                nics(),
                nic_0={"attributes": {**NIC_ROOT, ROOT: {"int": 0}}},
                nic_1={"attributes": {**NIC_ROOT, ROOT: {"int": 1}}},
            ),
            node(),
        ],
        "AttributeTypeDiffers",
    ),
    (
        "no-common-root",
        [
            gpus(),
            edited(
                nics(),
                nic_0={"attributes": {**NIC_ROOT, ROOT: {"string": "other"}}},
                nic_1={"attributes": {**NIC_ROOT, ROOT: {"string": "else"}}},
            ),
            node(),
        ],
        "NoCommonValue",
    ),
    (
        "rdma-false-on-all",
        [
            gpus(),
            edited(
                nics(),
                nic_0={"attributes": {"rdma": {"bool": False}}},
                nic_1={"attributes": {"rdma": {"bool": False}}},
            ),
            node(),
        ],
        "ClassMatchesNothing",
    ),
    (
        "C16-newer-generation-empty",
        [
            gpus(),
            nics(),
            pool(spec(nics(), devices=[]) | {"metadata": {"name": "nic-new"}}, generation=2),
            node(),
        ],
        "PoolEmpty",
    ),
    (
        "rdma-absent-and-guarded",
        [
            gpus(),
            edited(nics(), nic_0={"attributes": ROOTS[0]}, nic_1={"attributes": ROOTS[1]}),
            node(),
        ],
        "ClassMatchesNothing",
    ),
    ("C17-count-two-one-slice", [gpus(), pool(nics(), resourceSliceCount=2), node()], "PoolIncomplete"),
    (
        "C17-more-slices-than-the-count",
        [
            gpus(),
            nics(),
            {**spec(nics(), devices=devices("nic-9")), "metadata": {"name": "nic-more"}},
            node(),
        ],
        "PoolIncomplete",
    ),
    (
        "C17-device-name-twice",
        [
            gpus(),
            pool(nics(), resourceSliceCount=2),
            pool({**nics(), "metadata": {"name": "nic-again"}}, resourceSliceCount=2),
            node(),
        ],
        "PoolInvalid",
    ),
    (
        "C24-all-nics-tainted",
        [
            gpus(),
            edited(
                nics(), **{f"nic_{i}": {"taints": [{"key": "k", "effect": "NoSchedule"}]} for i in range(2)}
            ),
            node(),
        ],
        "DeviceTainted",
    ),
    (
        "C24-the-free-nic-tainted",
        [
            gpus(),
            edited(nics(), nic_1={"taints": [{"key": "k", "effect": "NoSchedule"}]}),
            node(),
            holds("x", result("gpu-0"), nic_result("nic-0")),
        ],
        "DeviceTainted",
    ),
    (
        "nic-held-by-a-nic-only-claim",
        [
            gpus(),
            nics(),
            node(),
            holds("x", result("gpu-0"), nic_result("nic-0")),
            holds("y", nic_result("nic-1")),
        ],
        "DeviceInUse",
    ),
    (
        "node-tainted",
        [gpus(), nics(), node(taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])],
        "NodeTainted",
    ),
    ("node-cordoned", [gpus(), nics(), node(unschedulable=True)], "NodeTainted"),
    (
        "everything-held",
        [
            gpus(),
            nics(),
            node(),
            holds("x", *[result(f"gpu-{i}") for i in range(2)], *[nic_result(f"nic-{i}") for i in range(2)]),
        ],
        "CapacityExhausted",
    ),
]


@pytest.mark.parametrize(
    ("objects", "reason"), [each[1:] for each in PAIRS], ids=[f"observed-2-{each[0]}" for each in PAIRS]
)
def test_one_text_of_the_scheduler_and_many_causes(objects, reason):
    found = only(cluster(waiting(), *objects))
    assert found.state == "pending"
    assert reason in reasons(found)
    decisive = [each for each in found.verdicts if each.reason not in {"DeviceInUse", "SchedulerSaid"}]
    assert (decisive or found.verdicts)[0].reason in {reason, "DevicesStranded"}
    assert found.verdicts[-1].reason == "SchedulerSaid"


def test_a_private_name_of_the_attribute_is_shown():
    private = {"attributes": {f"{GPU}/pcieRoot": {"string": "root-0"}}}
    objects = [edited(gpus(), gpu_0=private, gpu_1=private), nics(), node()]
    verdict = only(cluster(waiting(), *objects)).verdicts[0]
    assert verdict.reason == "AttributeMissing"
    assert f"published instead: {GPU}/pcieRoot" in verdict.observed


@pytest.mark.parametrize(
    ("constraints", "found"),
    [(({"matchAttribute": ROOT},), "AlignmentNotOffered"), ((), "FitsNow")],
    ids=["observed-2-template-demands-it", "observed-2-no-constraint"],
)
def test_machines_that_tell_no_pcie_root(constraints, found):
    bare = {f"gpu_{i}": {"attributes": {}} for i in range(2)}
    nameless = {f"nic_{i}": {"attributes": {"rdma": {"bool": True}}} for i in range(2)}
    objects = [edited(gpus(), **bare), edited(nics(), **nameless), node()]
    assert reasons(only(cluster(waiting(constraints=constraints), *objects)))[0] == found


def test_generations_of_different_pools_are_never_compared():
    assert reasons(only(cluster(waiting(), pool(gpus(), generation=5), nics(), node())))[0] == "FitsNow"


def test_half_a_node_is_named_although_the_driver_publishes_elsewhere():
    taken = holds("y", *[{**nic_result(f"nic-{i}"), "pool": "node-b"} for i in range(2)])
    objects = [gpus(), gpus("node-b"), nics("node-b"), node(), node("node-b"), taken]
    found = only(cluster(waiting(), *objects))
    assert found.verdicts[0].reason == "DriverSlicesMissing"
    assert found.verdicts[0].observed == "nic: node-a: no slice of dra.net reaches this node"


def test_the_same_pair_without_a_breakage_fits():
    assert reasons(only(cluster(waiting(), gpus(), nics(), node()))) == ["FitsNow", "SchedulerSaid"]


def test_a_stranded_gpu_is_named_beside_the_holder_of_its_partner():
    objects = [
        gpus(),
        nics(),
        node(),
        holds("x", result("gpu-0"), nic_result("nic-0")),
        holds("y", nic_result("nic-1")),
    ]
    found = only(cluster(waiting(), *objects))
    stranded, in_use = found.verdicts[:2]
    assert (stranded.reason, stranded.evidence) == ("DevicesStranded", ("gpu.nvidia.com/node-a/gpu-1",))
    assert "held by ResourceClaim llm/y" in in_use.observed


def test_capacity_exhausted_is_no_fault_and_has_the_numbers():
    held = holds("x", *[result(f"gpu-{i}") for i in range(2)], *[nic_result(f"nic-{i}") for i in range(2)])
    verdict = only(cluster(waiting(), gpus(), nics(), node(), held)).verdicts[0]
    assert verdict.status == "note"
    assert "gpu.nvidia.com: 1 wanted, 0 free of 2" in verdict.observed


def test_free_devices_spread_over_nodes_are_fragmented():
    four = [{"name": "gpu", "exactly": {"deviceClassName": GPU, "count": 2}}]
    objects = [
        gpus(),
        gpus("node-b"),
        node(),
        node("node-b"),
        holds("x", result("gpu-0")),
        holds("y", result("gpu-0", pool="node-b")),
    ]
    verdict = only(cluster(waiting(requests=four, constraints=()), *objects)).verdicts[0]
    assert (verdict.reason, verdict.observed) == ("Fragmented", "gpu.nvidia.com: 2 wanted, 2 free of 4")


@pytest.mark.parametrize("healthy", [pytest.param("node-b", id="C22-one-broken-node-beside-a-healthy-one")])
def test_a_selector_error_is_an_error_for_every_node(healthy):
    strict = device_class("mrdma.google.com", f"device.driver == '{NIC}'", RDMA)
    broken = edited(nics(), nic_0={"attributes": {ROOT: {"string": "root-0"}}})
    objects = [gpus(), broken, gpus(healthy), nics(healthy), node(), node(healthy), strict]
    found = only(cluster(waiting(), *objects)).verdicts[0]
    assert (found.reason, found.status) == ("SelectorError", "error")
    assert "class mrdma.google.com: selector #1: CEL runtime error: no such key: rdma" in found.observed
    assert "on no node of the cluster" in found.observed


def test_all_devices_and_an_incomplete_pool_stop_the_pod_everywhere():
    every = [{"name": "nic", "exactly": {"deviceClassName": "mrdma.google.com", "allocationMode": "All"}}]
    objects = [pool(nics(), resourceSliceCount=2), nics("node-b"), node(), node("node-b")]
    verdict = only(cluster(waiting(requests=every, constraints=()), *objects)).verdicts[0]
    assert (verdict.reason, verdict.status) == ("PoolIncomplete", "error")
    assert "is currently being updated" in verdict.observed


class TestBeforeDevices:
    @pytest.mark.parametrize("named", [pytest.param("nope", id="C07-template-gone")])
    def test_template_missing(self, named):
        lost = pod(claims=[{"name": "hardware", "resourceClaimTemplateName": named}])
        message = f'PodResourceClaim c0: resource claim template "{named}": not found'
        found = only(cluster(lost, template(), event("FailedResourceClaimCreation", message)))
        assert reasons(found) == ["TemplateMissing"]

    @pytest.mark.parametrize("named", [pytest.param("mine", id="C06-named-claim")])
    def test_claim_missing_is_the_only_trace(self, named):
        lost = pod(claims=[{"name": "hardware", "resourceClaimName": named}])
        assert reasons(only(cluster(lost))) == ["ClaimMissing"]

    def test_quota_forbids_the_claim(self):
        refused = 'failed: resourceclaims "x" is forbidden: exceeded quota: gpus, requested: 1'
        found = only(cluster(pod(), template(), event("FailedResourceClaimCreation", refused)))
        assert reasons(found) == ["QuotaExceeded", "ClaimNotGenerated"]

    def test_class_missing(self):
        nothing = [{"name": "nic", "exactly": {"deviceClassName": "absent.example.com"}}]
        found = only(cluster(waiting(requests=nothing, constraints=()), node()))
        assert found.verdicts[0].reason == "DeviceClassMissing"
        assert found.verdicts[0].observed == "request nic: device class absent.example.com does not exist"

    @pytest.mark.parametrize("gate", [pytest.param("kueue.x-k8s.io/admission", id="C36-queue-in-front")])
    def test_gated(self, gate):
        gated = pod()
        gated["spec"]["schedulingGates"] = [{"name": gate}]
        workload = {
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "kind": "Workload",
            "metadata": {"name": "w", "namespace": "llm", "ownerReferences": [{"uid": "uid-pod-a"}]},
            "status": {
                "conditions": [
                    {"type": "QuotaReserved", "status": "False", "message": "firstAvailable is not supported"}
                ]
            },
        }
        (verdict,) = only(cluster(gated, workload)).verdicts
        assert verdict.reason == "SchedulingGated"
        assert verdict.evidence == ("Workload condition QuotaReserved: firstAvailable is not supported",)

    def test_a_constraint_on_one_device_and_on_a_name_nobody_publishes(self):
        lonely = [{"matchAttribute": "example.com/nothing", "requests": ["gpu"]}]
        found = reasons(only(cluster(waiting(constraints=lonely), gpus(), nics(), node())))
        assert found[:2] == ["ConstraintIneffective", "AttributeUnknown"]

    @pytest.mark.parametrize("kind", ["Node", "ResourceSlice"])
    def test_what_was_not_given_is_named(self, kind):
        everything = split([*CLASSES, NO_EVENT, *waiting(), gpus(), nics(), node()])
        del everything[kind]
        verdict = only(Cluster.from_objects(everything, NOW)).verdicts[0]
        assert (verdict.reason, verdict.observed) == ("ObjectsMissing", f"no {kind} was given")

    def test_no_node_at_all_is_not_the_same_as_no_node_given(self):
        snapshot = Cluster.from_objects({**split([*CLASSES, NO_EVENT, gpus(), *waiting()]), "Node": []}, NOW)
        assert only(snapshot).verdicts[0].reason == "NoNode"


class TestNodes:
    def test_a_selector_that_leaves_no_node(self):
        picky = waiting()
        picky[0]["spec"]["nodeSelector"] = {"cloud.google.com/compute-class": "fungible"}
        verdict = only(cluster(picky, gpus(), nics(), node())).verdicts[0]
        assert (verdict.reason, verdict.status) == ("NodeSelectorMismatch", "error")

    @pytest.mark.parametrize("class_name", [pytest.param("fungible", id="C26-compute-class-taint")])
    def test_toleration_of_the_class_taint(self, class_name):
        taint = {"key": "cloud.google.com/compute-class", "value": class_name, "effect": "NoSchedule"}
        tolerant = waiting()
        tolerant[0]["spec"]["tolerations"] = [{"key": taint["key"], "operator": "Exists"}]
        objects = [gpus(), nics(), node(taints=[taint])]
        assert reasons(only(cluster(waiting(), *objects)))[0] == "NodeTainted"
        assert reasons(only(cluster(tolerant, *objects)))[0] == "FitsNow"

    def test_no_room_for_the_pods_requests(self):
        full = waiting()
        full[0]["status"] |= unschedulable(
            "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate"
        )
        verdict = only(cluster(full, gpus(), nics(), node())).verdicts[0]
        assert verdict.reason == "NodeResourcesInsufficient"
        assert "Insufficient cpu" in verdict.observed

    def test_the_device_plugin_is_off(self):
        plain = waiting()
        plain[0]["status"] |= unschedulable(
            "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. no new claims"
        )
        plugin = node(allocatable={"nvidia.com/gpu": "4"})
        assert only(cluster(plain, gpus(), nics(), node())).verdicts[0].reason == "DevicePluginDisabled"
        assert only(cluster(plain, gpus(), nics(), plugin)).verdicts[0].reason == "NodeResourcesInsufficient"

    @pytest.mark.parametrize("size", [pytest.param("8", id="C28-claim-larger-than-any-node")])
    def test_no_device_is_large_enough(self, size):
        found = only(cluster(waiting(**FUNGIBLE), cpus(size=size), node("node-c")))
        assert found.verdicts[0].reason == "CapacityTooSmall"

    def test_a_node_made_for_another_alternative_is_no_fault(self):
        objects = [
            gpus(),
            cpus(),
            node(),
            node("node-c"),
            holds("x", *[result(f"gpu-{i}") for i in range(2)]),
            holds(
                "y",
                {
                    **result("cpudevnuma000"),
                    "driver": CPU,
                    "pool": "node-c",
                    "shareID": "s",
                    "consumedCapacity": {"dra.cpu/cpu": "12"},
                },
            ),
        ]
        found = reasons(only(cluster(waiting(**FUNGIBLE), *objects)))
        assert found[0] == "CapacityExhausted"
        assert "DriverSlicesMissing" not in found

    def test_a_timeout_of_the_allocator_is_named(self):
        slow = waiting()
        text = 'running "DynamicResources" filter plugin: node n1: timed out trying to allocate devices'
        slow[0]["status"] |= unschedulable(text, "SchedulerError")
        assert reasons(only(cluster(slow, gpus(), nics(), node())))[-1] == "AllocatorTimeout"


REFUSALS = [
    ("2 max node group size reached", "PoolAtMaximum"),
    ("1 in backoff after failed scale-up, 1 max cluster limit reached", "PoolAtMaximum"),
    ("1 in backoff after failed scale-up", "PoolInBackoff"),
    pytest.param("1 cannot allocate all claims", "ScaleUpWouldNotHelp", id="C33-empty-pool-not-foreseen"),
    ("1 node(s) had untolerated taint", "AutoscalerRefused"),
]


class TestAutoscaler:
    @pytest.mark.parametrize(("text", "reason"), REFUSALS)
    def test_refused(self, text, reason):
        refused = event("NotTriggerScaleUp", f"pod didn't trigger scale-up: {text}")
        assert reason in reasons(only(cluster(waiting(), gpus(), node(), refused)))

    def test_the_later_of_two_events_counts(self):
        started = event("TriggeredScaleUp", "pod triggered scale-up: [{gpu-pool 1->2 (max: 2)}]", seen=1)
        refused = event("NotTriggerScaleUp", "max node group size reached", seen=60)
        found = reasons(only(cluster(waiting(), gpus(), node(), started, refused)))
        assert "ScaleUpStarted" in found
        assert "PoolAtMaximum" not in found

    @pytest.mark.parametrize(
        ("why", "reason"),
        [
            pytest.param("OutOfResources", "StockOut", id="C42-stock-out"),
            pytest.param("QuotaExceeded", "QuotaExceeded", id="C42-quota"),
            pytest.param("InternalError", "PoolInBackoff", id="C42-other"),
        ],
    )
    def test_a_suspended_priority(self, why, reason):
        condition = {"type": "ProvisioningSuspended", "status": "True", "reason": why, "message": "no g2"}
        status = {"priorityStatuses": [{"identifier": "0", "conditions": [condition]}]}
        verdict = next(each for each in self.of_class(status) if each.reason == reason)
        assert "priority 0 (gpu-pool)" in verdict.observed

    @pytest.mark.parametrize("kind", [pytest.param("CrdMisconfigured", id="C35-pool-does-not-exist")])
    def test_an_unhealthy_class(self, kind):
        conditions = [
            {"type": "Health", "status": "False", "reason": "Health"},
            {"type": kind, "status": "True", "reason": "NodePoolNotExist", "message": "gpu-pool"},
        ]
        verdict = next(
            e for e in self.of_class({"conditions": conditions}) if e.reason == "ComputeClassUnhealthy"
        )
        assert verdict.observed == "CrdMisconfigured, NodePoolNotExist: gpu-pool"

    def test_a_healthy_class_is_not_mentioned(self):
        conditions = [{"type": "Health", "status": "True"}, {"type": "CrdMisconfigured", "status": "False"}]
        assert "ComputeClassUnhealthy" not in [e.reason for e in self.of_class({"conditions": conditions})]

    @staticmethod
    def of_class(status):
        of_class = waiting()
        of_class[0]["spec"]["nodeSelector"] = {"cloud.google.com/compute-class": "fungible"}
        compute_class = {
            "apiVersion": "cloud.google.com/v1",
            "kind": "ComputeClass",
            "metadata": {"name": "fungible"},
            "spec": {"priorities": [{"nodepools": ["gpu-pool"]}, {"nodepools": ["cpu-pool"]}]},
            "status": status,
        }
        labels = {"cloud.google.com/compute-class": "fungible"}
        return only(cluster(of_class, gpus(), node(labels=labels), compute_class)).verdicts


def allocated(*results, statuses=(), seconds=1, **fields):
    entry = {"name": "hardware", "resourceClaimName": "claim-a"}
    owned = claim(
        "claim-a",
        results=results,
        statuses=statuses,
        consumers=[consumer()],
        owner=owned_by(),
        pod_claim="hardware",
        allocated=seconds,
    )
    return [pod(generated=[entry], **fields), owned]


class TestWaiting:
    def test_a_condition_that_is_not_there_yet(self):
        found = only(cluster(allocated(result(), gate_result(), seconds=200), gpus(), node()))
        assert found.state == "waiting"
        verdict = next(each for each in found.verdicts if each.reason == "BindingConditionMissing")
        assert "400" in verdict.observed

    def test_what_is_waited_for_comes_before_what_follows_from_it(self):
        owner, owned = allocated(result(), gate_result())
        owned["status"]["allocation"]["devices"]["config"] = [image_config("img")]
        owner["spec"]["containers"] = [{"name": "vllm", "image": "placeholder"}]
        found = only(cluster([owner, owned], gpus(), node()))
        assert reasons(found)[:2] == ["BindingConditionMissing", "ImageNotSwitched"]

    @pytest.mark.parametrize("seconds", [pytest.param(10, id="C04-failure-condition")])
    def test_a_condition_that_failed(self, seconds):
        statuses = [status_of(gate_result(), image_update_failed="True")]
        found = only(cluster(allocated(gate_result(), statuses=statuses, seconds=seconds), gpus(), node()))
        assert found.verdicts[0].reason == "BindingConditionFailed"

    @pytest.mark.parametrize("seconds", [pytest.param(601, id="C02-timeout")])
    def test_the_time_is_over(self, seconds):
        found = only(cluster(allocated(gate_result(), seconds=seconds), gpus(), node()))
        assert "BindingTimeout" in reasons(found)


class TestBound:
    @pytest.mark.parametrize("name", [pytest.param("gone", id="C10-device-no-longer-published")])
    def test_what_is_wrong_with_its_claims(self, name):
        found = only(cluster(allocated(result(name), node="node-a", phase="Running"), gpus(), node()))
        assert reasons(found) == ["AllocatedDeviceGone"]

    @pytest.mark.parametrize("phase", [pytest.param("Failed", id="C24-tainted-while-in-use")])
    def test_evicted_by_a_device_taint(self, phase):
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByDeviceTaintManager"}
        gone = pod(node="node-a", status={"phase": phase, "conditions": [condition]})
        assert reasons(only(cluster(gone, node()))) == ["EvictedByDeviceTaint"]

    @pytest.mark.parametrize(("rail", "found"), [(5, []), (4, ["RailCrossed"])], ids=["same", "crossed"])
    def test_rails(self, rail, found):
        root = {ROOT: {"string": "root-0"}}
        nic = device("nic", attributes={**root, "ifName": {"string": f"gpu{rail}rdma0"}})
        slices = [
            resource_slice("g", devices=[device("gpu-5", attributes=root)]),
            resource_slice("n", driver=NIC, devices=[nic]),
        ]
        objects = allocated(result("gpu-5"), nic_result("nic"), node="node-a", phase="Running")
        objects[1]["spec"]["devices"]["constraints"] = [{"matchAttribute": ROOT}]
        assert reasons(only(cluster(objects, *slices, node()))) == found

    @pytest.mark.parametrize(
        ("message", "reason"),
        [
            pytest.param(
                "DRA driver dra.cpu is not registered", "DriverNotRegistered", id="C11-not-registered"
            ),
            pytest.param("prepare devices: not enough CPUs", "PreparationFailed", id="C11-fails"),
        ],
    )
    def test_preparation(self, message, reason):
        objects = allocated(result(), node="node-a")
        found = only(cluster(objects, event("FailedPrepareDynamicResources", message), gpus(), node()))
        assert found.state == "starting"
        assert reasons(found) == [reason]

    def test_an_old_event_of_a_running_pod_is_over(self):
        objects = allocated(result(), node="node-a", phase="Running")
        found = only(cluster(objects, event("FailedPrepareDynamicResources", "once"), gpus(), node()))
        assert (found.state, found.verdicts) == ("running", ())

    @pytest.mark.parametrize("condition", ["not-ready", "unreachable"])
    def test_nobody_looks_after_a_pod_on_a_node_that_is_not_ready(self, condition):
        taint = {"key": f"node.kubernetes.io/{condition}", "effect": "NoExecute"}
        objects = allocated(result(), node="node-a", phase="Running")
        assert reasons(only(cluster(objects, gpus(), node(taints=[taint])))) == ["NodeNotReady"]
        assert reasons(only(cluster(objects, gpus(), node(), node("node-b", taints=[taint])))) == []

    @pytest.mark.parametrize("phase", [pytest.param("Failed", id="C37-spot-left-over")])
    def test_an_ended_pod_is_not_judged(self, phase):
        found = only(cluster(allocated(result(), node="node-a", phase=phase), gpus(), node()))
        assert (found.state, found.verdicts) == ("ended", ())


def fell_back(*, seconds=60, **fields):
    """A running pod whose claim got CPUs although GPUs come first."""
    share = {
        "request": "device/cpu",
        "driver": CPU,
        "pool": "node-c",
        "device": "cpudevnuma000",
        "shareID": "share-1",
        "consumedCapacity": {"dra.cpu/cpu": "12"},
    }
    return allocated(share, seconds=seconds, node="node-c", phase="Running", **fields)


class TestWhyNotTheEarlierAlternative:
    """Each row was seen on a real scheduler; "free now" rows differ in what the snapshot can show."""

    def why(self, *objects):
        (chosen,) = only(cluster(*objects)).chosen
        assert (chosen.alternative, chosen.position, chosen.of) == ("device/cpu", 1, 2)
        return chosen.reasons

    @pytest.mark.parametrize("seconds", [pytest.param(600, id="C31-all-gpus-held")])
    def test_in_use(self, seconds):
        held = [holds(f"h{i}", result(f"gpu-{i}"), allocated=seconds) for i in range(2)]
        (verdict,) = self.why(fell_back(), gpus(), cpus(), node(), node("node-c"), *held)
        assert verdict.reason == "DeviceInUse"
        assert "ResourceClaim llm/h0 holds gpu.nvidia.com/node-a/gpu-0" in verdict.evidence

    def test_held_only_later(self):
        held = [holds(f"h{i}", result(f"gpu-{i}"), allocated=10) for i in range(2)]
        (verdict,) = self.why(fell_back(seconds=60), gpus(), cpus(), node(), node("node-c"), *held)
        assert verdict.reason == "FreeAtTheTime"

    def test_held_by_a_pod_that_is_being_replaced(self):
        old = pod("pod-h0", metadata={"deletionTimestamp": ago(1)}, node="node-a", phase="Running", claims=())
        held = holds("h0", result("gpu-0"), allocated=600)
        (verdict,) = self.why(fell_back(), gpus(count=1), cpus(), node(), node("node-c"), held, old)
        assert verdict.reason == "HeldByEndingPod"
        assert "Recreate" in verdict.advice

    @pytest.mark.parametrize(
        ("tolerations", "reason"),
        [
            pytest.param([], "OutvotedByTaint", id="C34-soft-taint"),
            pytest.param([{"key": DELETION_CANDIDATE, "operator": "Exists"}], "FreeNow", id="C34-tolerated"),
        ],
    )
    def test_soft_taint(self, tolerations, reason):
        taint = {"key": DELETION_CANDIDATE, "value": "1", "effect": "PreferNoSchedule"}
        objects = fell_back()
        objects[0]["spec"]["tolerations"] = tolerations
        (verdict,) = self.why(objects, gpus(), cpus(), node(taints=[taint]), node("node-c"))
        assert verdict.reason == reason

    @pytest.mark.parametrize("created", [pytest.param(30, id="C32-node-came-later")])
    def test_node_came_later(self, created):
        (verdict,) = self.why(fell_back(), gpus(), cpus(), node(created=ago(created)), node("node-c"))
        assert verdict.reason == "NodeTooLate"

    @pytest.mark.parametrize("created", [pytest.param(30, id="C32-devices-came-later")])
    def test_devices_came_later(self, created):
        late = gpus()
        late["metadata"]["creationTimestamp"] = ago(created)
        (verdict,) = self.why(fell_back(), late, cpus(), node(), node("node-c"))
        assert verdict.reason == "NodeTooLate"

    @pytest.mark.parametrize(
        ("own", "reason"),
        [(False, "OutvotedBySpreading"), (True, "FreeNow")],
        ids=["default", "own-constraint"],
    )
    def test_spreading(self, own, reason):
        owner = owned_by("rs", kind="ReplicaSet")
        objects = fell_back(owner=owner)
        if own:
            objects[0]["spec"]["topologySpreadConstraints"] = [{"maxSkew": 1}]
        sibling = pod("pod-b", owner=owner, node="node-a", phase="Running", claims=())
        (verdict,) = self.why(objects, sibling, gpus(), cpus(), node(), node("node-c"))
        assert verdict.reason == reason

    def test_no_node_of_the_kind(self):
        (verdict,) = self.why(fell_back(), cpus(), node("node-c"))
        assert verdict.reason == "DriverSlicesMissing"

    def test_incomplete_pool(self):
        half = pool(gpus(), resourceSliceCount=2)
        (verdict,) = self.why(fell_back(), half, cpus(), node(), node("node-c"))
        assert verdict.reason == "PoolIncomplete"

    def test_not_known(self):
        (verdict,) = self.why(fell_back(), gpus(), cpus())
        assert (verdict.reason, verdict.observed) == ("CannotTell", "device/gpu: no Node was given")

    def test_its_own_partner_device_is_not_in_its_way(self):
        """The claim holds the only NIC itself; that is no reason against the GPU."""
        paired = fell_back()
        paired[1]["spec"]["devices"]["requests"][1] = {"name": "nic", "exactly": {"deviceClassName": NIC}}
        nic = {**nic_result("nic-0"), "pool": "all"}
        paired[1]["status"]["allocation"]["devices"]["results"].append(nic)
        everywhere = resource_slice(
            "nic", driver=NIC, pool="all", node=None, allNodes=True, devices=devices("nic-0")
        )
        objects = [device_class(NIC), everywhere, gpus(), cpus(), node(), node("node-c")]
        (verdict,) = self.why(paired, *objects)
        assert verdict.reason == "FreeNow"

    def test_another_request_is_in_its_way(self):
        paired = fell_back()
        paired[1]["spec"]["devices"]["requests"][1] = {"name": "nic", "exactly": {"deviceClassName": NIC}}
        (verdict,) = self.why(paired, device_class(NIC), gpus(), cpus(), node(), node("node-c"))
        assert verdict.observed.startswith("device/gpu is free, but another request is not: node-a: nic:")

    def test_the_first_alternative_needs_no_reason(self):
        (chosen,) = only(cluster(allocated(result()), gpus(), node())).chosen
        assert (chosen.alternative, chosen.position, chosen.reasons) == ("device/gpu", 0, ())

    def test_a_middle_alternative_is_explained_against_every_earlier_one(self):
        three = copy.deepcopy(fell_back())
        alternatives = three[1]["spec"]["devices"]["requests"][0]["firstAvailable"]
        alternatives.insert(1, {"name": "l4", "deviceClassName": "l4.example.com"})
        l4 = device_class("l4.example.com", f"device.driver == '{GPU}' && false")
        (chosen,) = only(cluster(three, l4, gpus(), cpus(), node(), node("node-c"))).chosen
        assert chosen.position == 2
        assert [each.observed.partition(" ")[0].rstrip(":") for each in chosen.reasons] == [
            "device/gpu",
            "device/l4",
        ]


class TestClusterVerdicts:
    @pytest.mark.parametrize(
        ("allocatable", "found"),
        [
            pytest.param("8", ["DoubleOffered"], id="C29-plugin-and-driver"),
            pytest.param("0", [], id="C29-zero-counts-as-absent"),
            pytest.param(None, [], id="C29-driver-alone"),
        ],
    )
    def test_offered_twice(self, allocatable, found):
        published = node(allocatable={"nvidia.com/gpu": allocatable} if allocatable else {})
        assert [each.reason for each in cluster_verdicts(cluster(gpus(), published))] == found

    def test_allocated_twice(self):
        twice = [holds("a", result("gpu-0")), holds("b", result("gpu-0"))]
        assert [e.reason for e in cluster_verdicts(cluster(gpus(), node(), *twice))] == ["DoubleAllocated"]


def test_results_are_plain_values():
    found = only(cluster(fell_back(), gpus(), cpus(), node(), node("node-c"))).as_dict()
    assert (found["pod"], found["node"], found["state"]) == ("llm/pod-a", "node-c", "running")
    assert found["chosen"][0]["reasons"][0]["reason"] == "FreeNow"
