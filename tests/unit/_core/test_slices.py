# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slices and pools, judged as the scheduler's allocator does; field cases by number."""

from __future__ import annotations

import copy
import itertools
import json
import random
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core import quantity
from ansible_collections.inference.dra.plugins.module_utils._core.attributes import AttributeWish, lacks
from ansible_collections.inference.dra.plugins.module_utils._core.nodes import (
    Node,
    NodeSelection,
    node_selector_matches,
    pinned_node,
)
from ansible_collections.inference.dra.plugins.module_utils._core.objects import MalformedObjects
from ansible_collections.inference.dra.plugins.module_utils._core.resource_pool_verdicts import (
    malformed,
    orphans,
    pool_verdicts,
)
from ansible_collections.inference.dra.plugins.module_utils._core.resource_pools import PoolIndex, pools
from ansible_collections.inference.dra.plugins.module_utils._core.slice_summary import outline, summarise
from ansible_collections.inference.dra.plugins.module_utils._core.slices import (
    Attribute,
    DeviceTaint,
    PoolId,
    ResourceSlice,
)

from .dra_objects import GPU, device, devices, resource_slice

NODE_A = PoolId(GPU, "node-a")


def full(*objects):
    return pools(ResourceSlice.from_api(each) for each in objects)


def lean(*objects):
    return pools(outline(each) for each in objects)


def the_pool(*objects):
    """Return the only pool, after making sure that both ways of reading it agree."""
    found, outlined = full(*objects), lean(*objects)
    assert list(found) == list(outlined)
    (pool,), (other,) = found.values(), outlined.values()
    assert (pool.state, pool.faults, pool.device_names) == (other.state, other.faults, other.device_names)
    assert pool.count() == other.count()
    return pool


def reasons(verdicts):
    return [each.reason for each in verdicts]


# Reading


def test_reads_typed_attributes_with_the_drivers_domain():
    attributes = {
        "type": {"string": "gpu"},
        "index": {"int": 3},
        "rdma": {"bool": False},
        "cudaComputeCapability": {"version": "8.9.0"},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"},
        "numa": {"ints": [0, 1]},
    }
    read = ResourceSlice.from_api(resource_slice(devices=[device(attributes=attributes)]))
    assert read.devices[0].attributes == {
        "gpu.nvidia.com/type": Attribute("string", "gpu"),
        "gpu.nvidia.com/index": Attribute("int", 3),
        "gpu.nvidia.com/rdma": Attribute("bool", False),
        "gpu.nvidia.com/cudaComputeCapability": Attribute("version", "8.9.0"),
        "resource.kubernetes.io/pcieRoot": Attribute("string", "pci0000:00"),
        "gpu.nvidia.com/numa": Attribute("ints", (0, 1)),
    }


@pytest.mark.parametrize("order", [1, -1], ids=["short-first", "full-first"])
def test_a_name_written_in_full_wins_over_its_short_form(order):
    both = [("type", {"string": "short"}), ("gpu.nvidia.com/type", {"string": "full"})][::order]
    read = ResourceSlice.from_api(resource_slice(devices=[device(attributes=dict(both))]))
    assert read.devices[0].attributes == {"gpu.nvidia.com/type": Attribute("string", "full")}


def test_fields_and_attribute_types_of_a_newer_api_survive():
    published = resource_slice(
        devices=[device(attributes={"when": {"duration": "5s"}}, powerDomain={"watts": 300})],
        topologyHints=["rack-1"],
    )
    read = ResourceSlice.from_api(published)
    assert read.unknown == {"topologyHints": ["rack-1"]}
    assert read.devices[0].unknown == {"powerDomain": {"watts": 300}}
    assert read.devices[0].attributes["gpu.nvidia.com/when"] == Attribute("duration", "5s")


def test_reads_capacity_policy_taints_counters_and_conditions():
    published = resource_slice(
        devices=[
            device(
                capacity={
                    "memory": {
                        "value": "80Gi",
                        "requestPolicy": {
                            "default": "1Gi",
                            "validRange": {"min": "1Gi", "max": "40Gi", "step": "512Mi"},
                        },
                    },
                    "slots": {"value": "4", "requestPolicy": {"default": "1", "validValues": ["1", "2"]}},
                },
                taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}],
                consumesCounters=[{"counterSet": "set", "counters": {"memory": {"value": "10Gi"}}}],
                bindingConditions=["d/c"],
                bindingFailureConditions=["d/f"],
                bindsToNode=True,
                allowMultipleAllocations=True,
            )
        ]
    )
    (read,) = ResourceSlice.from_api(published).devices
    memory, slots = read.capacity[f"{GPU}/memory"], read.capacity[f"{GPU}/slots"]
    assert memory.policy is not None
    assert slots.policy is not None
    assert [str(each) for each in (memory.value, memory.policy.default, memory.policy.step)] == [
        "80Gi",
        "1Gi",
        "512Mi",
    ]
    assert (memory.policy.minimum, memory.policy.maximum) == (quantity.parse("1Gi"), quantity.parse("40Gi"))
    assert [str(each) for each in slots.policy.valid_values] == ["1", "2"]
    assert read.taints == (DeviceTaint("k", "v", "NoSchedule"),)
    assert read.consumes_counters[0].counters == {"memory": quantity.parse("10Gi")}
    assert (read.binding_conditions, read.binding_failure_conditions) == (("d/c",), ("d/f",))
    assert read.binds_to_node
    assert read.allow_multiple_allocations


def test_values_are_frozen():
    read = ResourceSlice.from_api(resource_slice(devices=devices("gpu-0")))
    with pytest.raises(FrozenInstanceError):
        read.driver = "other"
    with pytest.raises(FrozenInstanceError):
        read.devices[0].name = "other"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"driver": None}, "spec.driver"),
        ({"driver": 5}, "spec.driver"),
        ({"pool": "node-a"}, "spec.pool"),
        ({"pool": {"generation": 1, "resourceSliceCount": 1}}, "spec.pool.name"),
        ({"pool": {"name": "p", "generation": "1", "resourceSliceCount": 1}}, "spec.pool.generation"),
        ({"pool": {"name": "p", "generation": 1, "resourceSliceCount": True}}, "resourceSliceCount"),
        ({"devices": {"name": "gpu-0"}}, "spec.devices"),
        ({"devices": ["gpu-0"]}, "spec.devices[0]"),
        ({"devices": [{}]}, "spec.devices[0].name"),
        ({"devices": [{"name": "a", "attributes": {"x": {"int": "1"}}}]}, "attributes.x.int"),
        ({"devices": [{"name": "a", "attributes": {"x": {"int": True}}}]}, "attributes.x.int"),
        ({"devices": [{"name": "a", "attributes": {"x": {"bool": 1}}}]}, "attributes.x.bool"),
        ({"devices": [{"name": "a", "attributes": {"x": {}}}]}, "attributes.x"),
        ({"devices": [{"name": "a", "attributes": {"x": "gpu"}}]}, "attributes.x"),
        ({"devices": [{"name": "a", "attributes": {"x": {"int": 1, "string": "1"}}}]}, "attributes.x"),
        ({"devices": [{"name": "a", "capacity": {"m": {"value": "lots"}}}]}, "capacity.m.value"),
        ({"devices": [{"name": "a", "capacity": {"m": {}}}]}, "capacity.m.value"),
        ({"devices": [{"name": "a", "taints": "NoSchedule"}]}, "taints"),
        ({"allNodes": "true", "nodeName": None}, "spec.allNodes"),
        ({"sharedCounters": [{"counters": {}}]}, "sharedCounters[0].name"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_malformed_slices_are_named_with_the_field(change, named):
    published = resource_slice("slice-7")
    published["spec"].update(change)
    with pytest.raises(MalformedObjects, match="ResourceSlice slice-7") as error:
        ResourceSlice.from_api(published)
    assert named in str(error.value)


@pytest.mark.parametrize("junk", [None, 5, "slice", [], {"kind": "Pod", "metadata": {"name": "a"}}, {}])
def test_no_junk_gets_further_than_one_clear_error(junk):
    with pytest.raises(MalformedObjects, match="ResourceSlice"):
        ResourceSlice.from_api(junk)
    with pytest.raises(MalformedObjects, match="ResourceSlice"):
        outline(junk)


# Completeness


@pytest.mark.parametrize(
    ("generations", "state", "devices_counted"),
    [
        # (generation, count, device) per slice
        ([(1, 1, "a"), (2, 2, "b")], "incomplete", 0),
        ([(1, 2, "a"), (1, 2, "b"), (2, 2, "c")], "incomplete", 0),
        ([(1, 1, "a"), (2, 2, "b"), (2, 2, "c")], "complete", 2),
        ([(1, 8, "a"), (7, 1, "b")], "complete", 1),
        ([(3, 1, "a")], "complete", 1),
        ([(1, 1, "a"), (2, 1, "b"), (3, 2, "c")], "incomplete", 0),
    ],
    ids=[
        "C16-new-generation-half-there",
        "C16-no-way-back-to-the-complete-old-one",
        "C16-new-generation-complete",
        "C16-old-generation-with-another-count",
        "C16-only-one-generation",
        "C16-three-generations-the-newest-counts",
    ],
)
def test_only_the_newest_generation_counts(generations, state, devices_counted):
    published = [
        resource_slice(f"s{i}", generation=generation, count=count, devices=devices(name))
        for i, (generation, count, name) in enumerate(generations)
    ]
    for order in itertools.permutations(published):
        pool = the_pool(*order)
        assert (pool.state, pool.count().free) == (state, devices_counted)


def test_c16_leftovers_beside_a_complete_generation_are_only_a_note():
    pool = the_pool(
        resource_slice("old", generation=1, devices=devices(*"abcdefgh")),
        resource_slice("new", generation=2, devices=devices("a")),
    )
    (verdict,) = pool_verdicts(pool)
    assert (verdict.status, verdict.reason) == ("note", "StaleSlice")
    assert "generation 1" in verdict.observed
    assert verdict.evidence == ("ResourceSlice old",)


NICS = [f"nic-{i}" for i in range(8)]


@pytest.mark.parametrize(
    ("published", "free", "found"),
    [
        ([{"generation": 1, "devices": NICS}, {"generation": 2, "devices": NICS[:1]}], 1, ["StaleSlice"]),
        (
            [{"generation": 1, "devices": NICS}, {"generation": 2, "devices": []}],
            0,
            ["PoolEmpty", "StaleSlice"],
        ),
        ([{"count": 2, "devices": NICS}], 0, ["PoolIncomplete"]),
        (
            [{"generation": 1, "devices": NICS}, {"generation": 2, "count": 2, "devices": NICS}],
            0,
            ["PoolIncomplete", "StaleSlice"],
        ),
        ([{"devices": NICS[:4]}, {"devices": NICS[4:]}], 0, ["PoolIncomplete"]),
        ([{"count": 2, "devices": NICS}, {"count": 2, "devices": NICS[:1]}], 0, ["PoolInvalid"]),
        ([{"devices": NICS, "taint": "NoSchedule", "tainted": 1}], 7, ["DeviceTainted"]),
        ([{"devices": NICS, "taint": "NoSchedule", "tainted": 8}], 0, ["DeviceTainted"]),
        ([{"devices": NICS, "taint": "None", "tainted": 8}], 8, []),
    ],
    ids=[
        "observed-2-generation-1-has-8-generation-2-has-1",
        "observed-2-generation-2-has-none",
        "observed-2-count-2-one-slice",
        "observed-2-newer-generation-incomplete",
        "observed-2-more-slices-than-the-count",
        "observed-2-device-name-in-two-slices",
        "observed-2-one-nic-tainted",
        "observed-2-all-nics-tainted",
        "observed-2-effect-none-changes-nothing",
    ],
)
def test_what_was_observed_of_broken_slices(published, free, found):
    pool = the_pool(
        *(
            resource_slice(
                f"s{i}",
                driver="dra.net",
                generation=each.get("generation", 1),
                count=each.get("count", 1),
                devices=[
                    device(name, taints=[{"key": "k", "effect": each["taint"]}])
                    if n < each.get("tainted", 0)
                    else device(name)
                    for n, name in enumerate(each["devices"])
                ],
            )
            for i, each in enumerate(published)
        )
    )
    assert (pool.count().free, sorted(reasons(pool_verdicts(pool)))) == (free, found)


def test_c16_generations_of_different_pools_are_never_compared():
    found = full(
        resource_slice("gpu", generation=5, devices=devices("gpu-0")),
        resource_slice("nic", driver="dra.net", generation=1, devices=devices("nic-0")),
    )
    assert [pool.state for pool in found.values()] == ["complete", "complete"]


@pytest.mark.parametrize(
    ("counts", "names", "kind", "reason"),
    [
        ([0], "a", "count_zero", "PoolCountZero"),
        ([-1], "a", "count_zero", "PoolCountZero"),
        ([1, 2], "ab", "count_disagrees", "PoolInvalid"),
        ([2, 1], "ab", "count_disagrees", "PoolInvalid"),
        ([2], "a", "too_few", "PoolIncomplete"),
        ([3, 3], "ab", "too_few", "PoolIncomplete"),
        ([1, 1], "ab", "too_many", "PoolIncomplete"),
        ([2, 2], "aa", "duplicate_device", "PoolInvalid"),
    ],
    ids=[
        "C17-count-zero",
        "C17-count-negative",
        "C17-slices-disagree",
        "C17-slices-disagree-other-order",
        "C17-one-missing",
        "C17-two-of-three",
        "C17-one-too-many",
        "C17-device-name-twice",
    ],
)
def test_what_is_wrong_with_a_pool_has_a_finding_of_its_own(counts, names, kind, reason):
    published = [
        resource_slice(f"s{i}", count=count, devices=devices(name), node=None, allNodes=True)
        for i, (count, name) in enumerate(zip(counts, names, strict=True))
    ]
    for order in itertools.permutations(published):
        pool = the_pool(*order)
        assert [fault.kind for fault in pool.faults] == [kind]
        (verdict,) = pool_verdicts(pool)
        assert (verdict.status, verdict.reason) == ("error", reason)
        assert verdict.subject == "ResourcePool gpu.nvidia.com/node-a"
        on_node = PoolIndex(full(*order)).on_node("node-a", {})[0]
        assert [fault.kind for fault in on_node.faults] == [kind]
        assert pool.count().free == on_node.count({}).free == 0
        assert pool.count().published == len(set(names))


@pytest.mark.parametrize(
    ("published", "state"),
    [
        ([{"devices": ["a"], "twice": False}], "complete"),
        ([{"devices": ["a", "b", "a"]}], "invalid"),
    ],
    ids=["C17-unique-in-one-slice", "C17-twice-in-one-slice"],
)
def test_device_names_within_one_slice(published, state):
    pool = the_pool(*(resource_slice(devices=devices(*each["devices"])) for each in published))
    assert pool.state == state


@pytest.mark.parametrize(
    ("counts", "names", "state"),
    [([3, 3], "aa", "incomplete"), ([1, 1], "aa", "incomplete"), ([1, 2], "aa", "invalid")],
    ids=["C17-too-few-and-a-name-twice", "C17-too-many-and-a-name-twice", "C17-disagree-and-a-name-twice"],
)
def test_an_incomplete_pool_is_not_looked_at_any_further(counts, names, state):
    published = [
        resource_slice(f"s{i}", count=count, devices=devices(name), node=None, allNodes=True)
        for i, (count, name) in enumerate(zip(counts, names, strict=True))
    ]
    pool = the_pool(*published)
    assert (pool.state, len(pool.faults)) == (state, 2)
    assert PoolIndex(full(*published)).on_node("node-a", {})[0].state == state


@pytest.mark.parametrize(
    ("consumed", "offered", "state"),
    [
        ({"set": ["memory"]}, {"set": ["memory"]}, "complete"),
        ({"set": ["memory"]}, {"set": ["memory", "slices"], "other": ["x"]}, "complete"),
        ({"set": ["memory"]}, {"set": ["slices"]}, "invalid"),
        ({"set": ["memory"]}, {"other": ["memory"]}, "invalid"),
    ],
    ids=["there", "more-than-needed", "counter-missing", "set-missing"],
)
def test_counters_that_devices_draw_from_must_exist(consumed, offered, state):
    draws = [
        {"counterSet": name, "counters": {each: {"value": "1"} for each in counters}}
        for name, counters in consumed.items()
    ]
    offers = [
        {"name": name, "counters": {each: {"value": "8"} for each in counters}}
        for name, counters in offered.items()
    ]
    pool = the_pool(
        resource_slice("devices", count=2, devices=[device("mig-0", consumesCounters=draws)]),
        resource_slice("counters", count=2, sharedCounters=offers),
    )
    assert pool.state == state
    assert [each.state for each in PoolIndex(full(*_two(draws, offers))).on_node("node-a", {})] == [state]


def _two(draws, offers):
    return (
        resource_slice("devices", count=2, devices=[device("mig-0", consumesCounters=draws)]),
        resource_slice("counters", count=2, sharedCounters=offers),
    )


# Completeness and reach


def selector(**labels):
    return {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": k, "operator": "In", "values": [v]} for k, v in labels.items()]}
        ]
    }


def test_c18_completeness_is_judged_before_devices_are_filtered_by_node():
    published = [
        resource_slice(
            "a", pool="fabric", count=2, devices=devices("d1"), node=None, nodeSelector=selector(zone="a")
        ),
        resource_slice(
            "b", pool="fabric", count=2, devices=devices("d2"), node=None, nodeSelector=selector(zone="b")
        ),
    ]
    for found in (full(*published), lean(*published)):
        (pool,) = PoolIndex(found).on_node("node-a", {"zone": "a"})
        assert (pool.state, pool.device_names({"zone": "a"})) == ("complete", ("d1",))
        assert PoolIndex(found).on_node("node-c", {"zone": "c"}) == []


def test_c18_a_slice_missing_elsewhere_makes_the_pool_incomplete_here():
    published = [
        resource_slice(
            "a", pool="fabric", count=3, devices=devices("d1"), node=None, nodeSelector=selector(zone="a")
        ),
        resource_slice(
            "b", pool="fabric", count=3, devices=devices("d2"), node=None, nodeSelector=selector(zone="b")
        ),
    ]
    (pool,) = PoolIndex(full(*published)).on_node("node-a", {"zone": "a"})
    assert pool.state == "incomplete"


def test_c18_a_newer_generation_for_other_nodes_hides_the_old_one_here():
    old = [
        resource_slice(
            n, pool="fabric", count=2, devices=devices(n), node=None, nodeSelector=selector(zone=n)
        )
        for n in "ab"
    ]
    new = resource_slice(
        "b2",
        pool="fabric",
        generation=2,
        count=2,
        devices=devices("b"),
        node=None,
        nodeSelector=selector(zone="b"),
    )
    assert PoolIndex(full(*old, new)).on_node("node-a", {"zone": "a"}) == []
    (pool,) = PoolIndex(full(*old, new)).on_node("node-b", {"zone": "b"})
    assert pool.state == "incomplete"


@pytest.mark.parametrize("nodes", [2, 3, 5], ids=lambda n: f"C19-{n}-nodes-one-pool")
def test_two_nodes_that_publish_one_pool_are_a_finding_and_count_once(nodes):
    published = [
        resource_slice(f"s{i}", driver="d", pool="shared", node=f"node-{i}", devices=devices("dev"))
        for i in range(nodes)
    ]
    pool = the_pool(*published)
    assert reasons(pool_verdicts(pool)) == ["PoolPublishedByNodes"]
    assert (pool.count().published, pool.count().free, pool.count({"dev"}).free) == (1, 1, 0)
    for i in range(nodes):
        (on_node,) = PoolIndex(full(*published)).on_node(f"node-{i}", {})
        assert on_node.state == "complete"


@pytest.mark.parametrize("order", [1, -1], ids=["C19-older-first", "C19-newer-first"])
def test_nodes_that_publish_one_pool_with_different_generations(order):
    published = [
        resource_slice("s1", pool="shared", node="node-1", generation=1, devices=devices("dev")),
        resource_slice("s2", pool="shared", node="node-2", generation=4, devices=devices("dev")),
    ][::order]
    assert "PoolPublishedByNodes" in reasons(pool_verdicts(the_pool(*published)))
    for node in ("node-1", "node-2"):
        (on_node,) = PoolIndex(full(*published)).on_node(node, {})
        assert on_node.state == "complete"


def test_c19_a_pool_that_really_spans_nodes_is_no_finding():
    published = [
        resource_slice(f"s{i}", pool="span", count=3, node=f"node-{i}", devices=devices(f"dev-{i}"))
        for i in range(3)
    ]
    pool = the_pool(*published)
    assert (list(pool_verdicts(pool)), pool.count().free) == ([], 3)
    (on_node,) = PoolIndex(full(*published)).on_node("node-1", {})
    assert (on_node.state, on_node.device_names({})) == ("complete", ("dev-1",))


def test_c19_equal_names_under_different_drivers_are_no_clash():
    found = full(
        resource_slice("s1", driver="one.example", devices=devices("dev")),
        resource_slice("s2", driver="two.example", devices=devices("dev")),
    )
    assert list(found) == [PoolId("one.example", "node-a"), PoolId("two.example", "node-a")]
    assert [list(pool_verdicts(pool)) for pool in found.values()] == [[], []]
    assert sum(pool.count().free for pool in found.values()) == 2


@pytest.mark.parametrize(
    ("published", "held", "free", "status"),
    [
        ([], set(), 0, "warning"),
        ([], {"nic-0"}, 0, "note"),
        (["nic-1"], {"nic-0"}, 1, None),
        (["nic-0", "nic-1"], {"nic-0"}, 1, None),
    ],
    ids=[
        "C20-a-slice-without-devices",
        "C23-all-devices-withdrawn-while-in-use",
        "C23-one-withdrawn-one-free",
        "C23-published-although-in-use",
    ],
)
def test_an_empty_slice_is_no_capacity_but_perhaps_all_in_use(published, held, free, status):
    pool = the_pool(resource_slice(driver="dra.net", devices=devices(*published)))
    counts = pool.count(held)
    assert (counts.published, counts.allocated, counts.free) == (len(published), len(held), free)
    assert counts.total == len(set(published) | held)
    verdicts = list(pool_verdicts(pool, held))
    assert [(v.status, v.reason) for v in verdicts] == ([(status, "PoolEmpty")] if status else [])


def test_c20_another_drivers_slice_is_no_capacity():
    found = full(resource_slice("cd", driver="compute-domain.nvidia.com", devices=devices("channel-0")))
    assert PoolId(GPU, "node-a") not in found


@pytest.mark.parametrize("missing", [0, 1, 20], ids=lambda n: f"C21-{n}-of-60-nodes-missing")
def test_every_node_is_looked_at_not_a_total(missing):
    nodes = [f"node-{i}" for i in range(60)]
    published = [resource_slice(f"s-{n}", pool=n, node=n, devices=devices("gpu-0")) for n in nodes[missing:]]
    index = PoolIndex(lean(*published))
    assert [n for n in nodes if not index.on_node(n, {})] == nodes[:missing]


def test_c21_slices_of_a_node_that_is_gone_are_named():
    found = lean(
        resource_slice("s1", node="node-a", devices=devices("g")),
        resource_slice("s2", pool="node-x", node="node-x", devices=devices("g")),
        resource_slice("s3", pool="fabric", node=None, allNodes=True, devices=devices("g")),
    )
    (verdict,) = orphans(found, {"node-a", "node-b"})
    assert (verdict.reason, verdict.subject) == ("SliceOrphaned", f"ResourcePool {GPU}/node-x")
    assert verdict.evidence == ("ResourceSlice s2",)


@pytest.mark.parametrize(
    ("published", "wish", "reason"),
    [
        ({"type": {"string": "gpu"}}, AttributeWish(f"{GPU}/type"), None),
        ({"type": {"string": "gpu"}}, AttributeWish(f"{GPU}/type", "string", "gpu"), None),
        ({}, AttributeWish(f"{GPU}/type"), "AttributeMissing"),
        ({"x/type": {"string": "gpu"}}, AttributeWish(f"{GPU}/type"), "AttributeMissing"),
        ({"type": {"int": 1}}, AttributeWish(f"{GPU}/type", "string"), "AttributeTypeDiffers"),
        ({"n": {"int": 1}}, AttributeWish(f"{GPU}/n", "int", 2), "AttributeValueDiffers"),
        (
            {"rdma": {"bool": False}},
            AttributeWish(f"{GPU}/rdma", "bool", value=True),
            "AttributeValueDiffers",
        ),
    ],
    ids=[
        "C22-there",
        "C22-as-wished",
        "C22-missing",
        "C22-under-another-domain",
        "C22-other-type",
        "C22-other-value",
        "C22-false-is-a-value",
    ],
)
def test_attributes_that_somebody_relies_on(published, wish, reason):
    read = ResourceSlice.from_api(resource_slice(devices=[device(attributes=published)]))
    assert [lack.reason for lack in lacks([wish], read.devices[0])] == ([reason] if reason else [])


def test_c22_the_name_that_was_probably_meant_is_shown():
    read = ResourceSlice.from_api(
        resource_slice(devices=[device(attributes={"pcieRoot": {"string": "pci0000:00"}})])
    )
    (lack,) = lacks([AttributeWish("resource.kubernetes.io/pcieRoot", "string")], read.devices[0])
    assert lack.observed == "no resource.kubernetes.io/pcieRoot (but gpu.nvidia.com/pcieRoot)"


def test_c22_a_summary_keeps_what_was_asked_of_each_device():
    wish = AttributeWish(f"{GPU}/type", "string")
    found = summarise(
        [resource_slice(devices=[device("ok", attributes={"type": {"string": "gpu"}}), device("bare")])],
        lambda _unused, each: lacks([wish], each) or None,
    )
    assert {k: v[0].reason for k, v in found.pools[NODE_A].slices[0].remarks.items()} == {
        "bare": "AttributeMissing"
    }


@pytest.mark.parametrize(
    ("effect", "free", "verdict"),
    [
        ("NoSchedule", 1, ["DeviceTainted"]),
        ("NoExecute", 1, ["DeviceTainted"]),
        ("None", 2, []),
        ("SomethingNewer", 2, []),
    ],
    ids=["C24-no-schedule", "C24-no-execute", "C24-effect-none", "C24-unknown-effect"],
)
def test_tainted_devices_are_published_but_not_free(effect, free, verdict):
    taints = [{"key": "example.com/unhealthy", "effect": effect}]
    pool = the_pool(resource_slice(devices=[device("gpu-0", taints=taints), device("gpu-1")]))
    assert (pool.count().published, pool.count().free) == (2, free)
    found = list(pool_verdicts(pool))
    assert reasons(found) == verdict
    for each in found:
        assert f"1 of 2 devices carry example.com/unhealthy:{effect}: gpu-0" in each.observed


def test_c24_a_tolerated_taint_keeps_nobody_away():
    taints = [{"key": "example.com/drill", "effect": "NoSchedule"}]
    pool = the_pool(resource_slice(devices=[device("gpu-0", taints=taints)]))
    assert pool.count(untolerated=lambda taint: taint.key != "example.com/drill").free == 1


def test_a_device_both_tainted_and_held_is_taken_off_once():
    taints = [{"key": "k", "effect": "NoSchedule"}]
    pool = the_pool(resource_slice(devices=[device("gpu-0", taints=taints), device("gpu-1")]))
    counts = pool.count({"gpu-0"})
    assert counts.as_dict() == {
        "published": 2, "allocated": 1, "tainted": 1, "shared": 0, "free": 1, "total": 2,
    }  # fmt: skip


NODES = {"node-a": {"zone": "a", "cpus": "16"}, "node-b": {"zone": "b", "cpus": "8"}}


@pytest.mark.parametrize(
    ("spec", "reached"),
    [
        ({"node": "node-a"}, ["node-a"]),
        ({"node": None, "allNodes": True}, ["node-a", "node-b"]),
        ({"node": None, "nodeSelector": selector(zone="b")}, ["node-b"]),
        ({"node": None, "perDeviceNodeSelection": True}, ["node-b"]),
        ({"node": None, "rackName": "r1"}, []),
        ({"node": "node-x"}, []),
    ],
    ids=[
        "C25-node-name",
        "C25-all-nodes",
        "C25-node-selector",
        "C25-per-device",
        "C25-a-way-this-version-does-not-know",
        "C25-a-node-that-is-not-there",
    ],
)
def test_all_ways_to_select_nodes(spec, reached):
    published = resource_slice(pool="p", devices=[device("d", nodeName="node-b")], **spec)
    for found in (full(published), lean(published)):
        index = PoolIndex(found)
        hit = {n: index.on_node(n, labels) for n, labels in NODES.items()}
        assert [n for n, on_node in hit.items() if on_node] == reached
        assert [on_node[0].device_names(NODES[n]) for n, on_node in hit.items() if on_node] == [("d",)] * len(
            reached
        )
    unknown = "rackName" in spec
    assert reasons(pool_verdicts(the_pool(published))) == (["NodeSelectionUnknown"] if unknown else [])


def test_c25_devices_that_select_their_own_nodes():
    published = resource_slice(
        pool="p",
        node=None,
        perDeviceNodeSelection=True,
        devices=[
            device("one", nodeName="node-a"),
            device("all", allNodes=True),
            device("zone-b", nodeSelector=selector(zone="b")),
            device("nowhere"),
        ],
    )
    for found in (full(published), lean(published)):
        reach = {
            n: PoolIndex(found).on_node(n, labels)[0].device_names(labels) for n, labels in NODES.items()
        }
        assert reach == {"node-a": ("one", "all"), "node-b": ("all", "zone-b")}


def test_c25_a_cluster_wide_device_counts_once():
    published = resource_slice(
        driver="image-configurator.x-k8s.io",
        pool="all-nodes",
        node=None,
        allNodes=True,
        devices=[device("gate", allowMultipleAllocations=True)],
    )
    pool = the_pool(published)
    counts = pool.count({"gate"})
    assert (counts.published, counts.shared, counts.allocated, counts.free) == (1, 1, 0, 1)
    index = PoolIndex(full(published))
    assert index.node_names() == frozenset()
    assert all(len(index.on_node(n, labels)) == 1 for n, labels in NODES.items())


def test_pools_with_binding_conditions_are_tried_last():
    found = full(
        resource_slice("gate", driver="a.gate", devices=[device("gate", bindingConditions=["a/b"])]),
        resource_slice("net", driver="dra.net", devices=devices("nic")),
        resource_slice("gpu", devices=devices("gpu-0")),
    )
    order = [str(pool.id) for pool in PoolIndex(found).on_node("node-a", {})]
    assert order == ["dra.net/node-a", "gpu.nvidia.com/node-a", "a.gate/node-a"]


def test_devices_come_in_the_allocators_order_slices_by_name():
    pool = the_pool(
        resource_slice("s-2", count=2, devices=devices("d9", "d1")),
        resource_slice("s-1", count=2, devices=devices("d5")),
    )
    assert pool.device_names == ("d5", "d9", "d1")


# What the allocator itself answered

ORACLE_NODES = {
    "n1": {"zone": "a", "cpus": "16"},
    "n2": {"zone": "b", "cpus": "8", "rack": "r"},
    "n3": {},
}


def recorded_answers():
    """Random slices with the answer of GatherPools, k8s.io/dynamic-resource-allocation 0.36.3."""
    path = Path(__file__).parents[1] / "fixtures" / "gather_pools.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("read", [full, lean], ids=["full", "lean"])
def test_pools_are_what_the_allocator_makes_of_the_same_slices(read):
    answers = recorded_answers()
    assert len(answers) == 150
    for answer in answers:
        index = PoolIndex(read(*answer["slices"]))
        found = {
            node: [
                [
                    str(each.id),
                    each.state,
                    list(each.device_names(labels)) if each.state == "complete" else [],
                ]
                for each in index.on_node(node, labels)
            ]
            for node, labels in ORACLE_NODES.items()
        }
        assert found == answer["pools"], answer["slices"]


# Node selectors


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ({"key": "zone", "operator": "In", "values": ["a", "b"]}, True),
        ({"key": "zone", "operator": "In", "values": ["b"]}, False),
        ({"key": "rack", "operator": "In", "values": ["a"]}, False),
        ({"key": "zone", "operator": "NotIn", "values": ["b"]}, True),
        ({"key": "zone", "operator": "NotIn", "values": ["a"]}, False),
        ({"key": "rack", "operator": "NotIn", "values": ["a"]}, True),
        ({"key": "zone", "operator": "Exists"}, True),
        ({"key": "rack", "operator": "Exists"}, False),
        ({"key": "rack", "operator": "DoesNotExist"}, True),
        ({"key": "zone", "operator": "DoesNotExist"}, False),
        ({"key": "cpus", "operator": "Gt", "values": ["12"]}, True),
        ({"key": "cpus", "operator": "Gt", "values": ["16"]}, False),
        ({"key": "cpus", "operator": "Lt", "values": ["17"]}, True),
        ({"key": "cpus", "operator": "Lt", "values": ["9"]}, False),
        ({"key": "zone", "operator": "Gt", "values": ["1"]}, False),
        ({"key": "rack", "operator": "Lt", "values": ["1"]}, False),
        ({"key": "cpus", "operator": "Gt", "values": ["1", "2"]}, False),
        ({"key": "zone", "operator": "Near", "values": ["a"]}, False),
    ],
    ids=lambda value: (
        f"{value['key']}-{value['operator']}-{value.get('values')}" if isinstance(value, dict) else ""
    ),
)
def test_match_expressions(expression, matches):
    term = {"matchExpressions": [expression]}
    assert node_selector_matches({"nodeSelectorTerms": [term]}, "node-a", NODES["node-a"]) is matches


@pytest.mark.parametrize(
    ("fields", "matches"),
    [
        ([{"key": "metadata.name", "operator": "In", "values": ["node-a"]}], True),
        ([{"key": "metadata.name", "operator": "In", "values": ["node-b"]}], False),
        ([{"key": "metadata.name", "operator": "NotIn", "values": ["node-b"]}], True),
        ([{"key": "metadata.name", "operator": "NotIn", "values": ["node-a"]}], False),
        ([{"key": "metadata.name", "operator": "In", "values": ["node-a", "node-b"]}], False),
        ([{"key": "metadata.name", "operator": "Exists"}], False),
        ([{"key": "metadata.uid", "operator": "In", "values": ["node-a"]}], False),
    ],
)
def test_match_fields(fields, matches):
    assert node_selector_matches({"nodeSelectorTerms": [{"matchFields": fields}]}, "node-a", {}) is matches


def test_terms_are_alternatives_their_expressions_are_not_and_an_empty_term_selects_nothing():
    here = {"key": "zone", "operator": "In", "values": ["a"]}
    there = {"key": "zone", "operator": "In", "values": ["z"]}
    labels = NODES["node-a"]

    def matches(*terms):
        return node_selector_matches({"nodeSelectorTerms": list(terms)}, "node-a", labels)

    assert matches({"matchExpressions": [there]}, {"matchExpressions": [here]})
    assert not matches({"matchExpressions": [here, there]})
    assert not matches(
        {
            "matchExpressions": [here],
            "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["x"]}],
        }
    )
    assert not matches({}, {"matchExpressions": [], "matchFields": []})
    assert not matches()
    assert not node_selector_matches({}, "node-a", labels)


def test_the_node_that_an_allocation_is_pinned_to():
    one = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
    assert pinned_node({"nodeSelectorTerms": [one]}) == "n"
    assert pinned_node({"nodeSelectorTerms": [one, one]}) == ""
    assert pinned_node(selector(zone="a")) == ""
    assert pinned_node(None) == ""


def test_reads_a_node():
    node = Node.from_api(
        {
            "kind": "Node",
            "metadata": {"name": "n", "labels": {"zone": "a"}},
            "spec": {"unschedulable": True, "taints": [{"key": "k", "effect": "PreferNoSchedule"}]},
            "status": {
                "allocatable": {"nvidia.com/gpu": "4", "cpu": 8},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
    )
    assert (node.name, node.unschedulable, node.ready) == ("n", True, True)
    assert (node.taints[0].effect, node.allocatable["nvidia.com/gpu"]) == ("PreferNoSchedule", "4")
    assert NodeSelection("selector", node_selector=selector(zone="a")).reaches(node.name, node.labels)


# Summary


def test_a_summary_judges_like_the_full_model_whatever_comes():
    dice = random.Random(7)
    for _unused in range(300):
        published = [
            resource_slice(
                f"s{i}",
                pool=dice.choice(["p", "q"]),
                generation=dice.choice([1, 1, 2]),
                count=dice.choice([1, 2, 2, 3]),
                devices=devices(*dice.sample("abcde", dice.randint(0, 2))),
                node=dice.choice(["node-a", "node-b", None]),
                allNodes=dice.choice([True, False]),
                perDeviceNodeSelection=dice.choice([True, False]),
            )
            for i in range(dice.randint(1, 5))
        ]
        found, seen = full(*published), summarise(iter(published))
        assert seen.slices == len(published)
        assert {k: (p.state, p.faults, p.count({"a"})) for k, p in found.items()} == {
            k: (p.state, p.faults, p.count({"a"})) for k, p in seen.pools.items()
        }
        for node, labels in NODES.items():
            assert [
                (p.id, p.faults, p.device_names(labels)) for p in PoolIndex(found).on_node(node, labels)
            ] == [
                (p.id, p.faults, p.device_names(labels)) for p in PoolIndex(seen.pools).on_node(node, labels)
            ]


def test_one_slice_that_cannot_be_read_does_not_hide_the_others():
    broken = resource_slice("broken")
    broken["spec"]["pool"]["generation"] = "two"
    found = summarise([resource_slice("good", devices=devices("gpu-0")), broken])
    assert (found.slices, [str(each) for each in found.pools]) == (2, ["gpu.nvidia.com/node-a"])
    (verdict,) = malformed(found.problems)
    assert (verdict.reason, verdict.subject) == ("SliceMalformed", "ResourceSlice broken")
    assert "spec.pool.generation is 'two', expected an integer" in verdict.observed


def test_judging_changes_nothing():
    published = [
        resource_slice("a", devices=devices("d")),
        resource_slice("b", generation=2, devices=devices("e")),
    ]
    before = copy.deepcopy(published)
    the_pool(*published)
    list(pool_verdicts(the_pool(*published)))
    assert published == before


# In a process of its own: what earlier tests made of the interpreter's caches is no part of the answer.
MEMORY = """
import tracemalloc
from ansible_collections.inference.dra.plugins.module_utils._core.slice_summary import summarise
from ansible_collections.inference.dra.tests.unit._core.dra_objects import devices, resource_slice

def stream(count):
    eight = [f"gpu-{number}" for number in range(8)]
    for i in range(count):
        yield resource_slice(f"s{i}", pool=f"node-{i}", node=f"node-{i}", devices=devices(*eight))

summarise(stream(10))
tracemalloc.start()
found = summarise(stream(1000))
print(len(found.pools), *tracemalloc.get_traced_memory())
"""


def test_a_summary_of_a_stream_keeps_little_memory_per_slice():
    done = subprocess.run([sys.executable, "-c", MEMORY], check=True, stdout=subprocess.PIPE, text=True)
    count, kept, peak = map(int, done.stdout.split())
    assert count == 1000
    assert kept / count < 3_000  # bytes; 10,000 slices stay far below the budget of 100 MB
    assert peak < 2 * kept
