# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which groups grow for waiting pods, and what is said where none does."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest

from ansible_collections.inference.dra.lab.autoscaler.decide import (
    ClassRules,
    GroupState,
    decide,
    sentence,
)
from ansible_collections.inference.dra.lab.autoscaler.placing import Simulation, Wish
from ansible_collections.inference.dra.lab.autoscaler.templates import imagined
from ansible_collections.inference.dra.lab.hardware.machines import machine
from ansible_collections.inference.dra.lab.hardware.nodes import Group
from ansible_collections.inference.dra.plugins.module_utils._core.claims import ClaimTemplate, DeviceClass
from ansible_collections.inference.dra.plugins.module_utils._core.holdings import NOTHING_HELD
from ansible_collections.inference.dra.plugins.module_utils._core.pods import Pod

ZONE, OTHER_ZONE = "us-central1-a", "us-central1-b"
CLASS = "cloud.google.com/compute-class"
GPU = {"name": "gpu", "deviceClassName": "gpu.nvidia.com"}
CPU = {"name": "cpu", "deviceClassName": "dra.cpu", "capacity": {"requests": {"dra.cpu/cpu": "12"}}}
L4 = [{"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}]
GPU_DRA = {"cloud.google.com/gke-nvidia-gpu-dra-driver": "true"}
CPU_DRA = {"cloud.google.com/gke-cpu-dra-driver": "true"}


@dataclass
class Pool:
    name: str
    message: dict
    cluster: str = "c"
    revision: int = 1
    sizes: dict = field(default_factory=dict)


def pool(name, machine_type, labels, **config):
    labels = {CLASS: "c", **labels}
    taints = [{"key": CLASS, "value": "c", "effect": "NO_SCHEDULE"}]
    return Pool(name, {"config": {"machineType": machine_type, "labels": labels, "taints": taints, **config}})


GPU_POOL = pool("gpu", "g2-standard-8", GPU_DRA, accelerators=L4)
BARE_GPU_POOL = pool("gpu", "g2-standard-8", {}, accelerators=L4)
CPU_POOL = pool("cpu", "n2-standard-16", CPU_DRA)


def group(of, size=0, most=2, zone=ZONE, *, backoff=False, optimistic=False, balanced=True):
    return GroupState(
        Group("c", of.name, zone),
        size,
        most,
        lambda name: imagined(machine(of, zone, name), optimistic=optimistic),
        backoff,
        balanced,
    )


def classes(*names):
    expression = "device.driver == '{}'"
    return [
        DeviceClass.from_api(
            {
                "metadata": {"name": name},
                "spec": {"selectors": [{"cel": {"expression": expression.format(name)}}]},
            }
        )
        for name in names
    ]


def wish(name, *alternatives, **spec):
    body = {
        "metadata": {"name": name, "namespace": "d"},
        "spec": {
            "nodeSelector": {CLASS: "c"},
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "m", "image": "i"}],
            **spec,
        },
    }
    claims = ()
    if alternatives:
        request = {"name": "d", "firstAvailable": list(alternatives)}
        template = {
            "metadata": {"name": "t", "namespace": "d"},
            "spec": {"spec": {"devices": {"requests": [request]}}},
        }
        claims = (ClaimTemplate.from_api(template).devices,)
    return Wish(Pod.from_api(body), claims)


def run(wishes, groups, *, rungs=(("gpu",), ("cpu",)), anyway=False, sites=()):
    simulation = Simulation.of([], classes("gpu.nvidia.com", "dra.cpu"), NOTHING_HELD)
    for site in sites:
        simulation.add(site)
    rules = {"c": ClassRules("c", tuple(rungs), anyway)}
    decision = decide(wishes, groups, rules, simulation)
    grown = {
        f"{each.group.pool}@{each.group.zone[-1]}": (each.before, each.after, each.rule)
        for each in decision.scale_ups
    }
    return grown, {name: dict(reasons) for name, reasons in decision.refused.items()}


def fungible(count):
    return [wish(f"p{index}", GPU, CPU) for index in range(count)]


@pytest.mark.parametrize(
    ("wishes", "groups", "grown", "refused"),
    [
        pytest.param(
            fungible(1),
            [group(GPU_POOL), group(CPU_POOL)],
            {"gpu@a": (0, 1, 0)},
            0,
            id="first-priority-first",
        ),
        pytest.param(
            fungible(2),
            [group(GPU_POOL), group(CPU_POOL)],
            {"gpu@a": (0, 2, 0)},
            0,
            id="one-node-for-each-gpu",
        ),
        pytest.param(
            fungible(4),
            [group(GPU_POOL), group(CPU_POOL, optimistic=True)],
            {"gpu@a": (0, 2, 0), "cpu@a": (0, 2, 1)},
            0,
            id="next-priority-when-the-first-is-full",
        ),
        pytest.param(
            fungible(1),
            [group(GPU_POOL, backoff=True), group(CPU_POOL, optimistic=True)],
            {"cpu@a": (0, 1, 1)},
            0,
            id="next-priority-when-the-first-is-in-back-off",
        ),
        pytest.param(
            fungible(1),
            [group(GPU_POOL, size=2), group(CPU_POOL)],
            {},
            1,
            id="C33-dra.cpu-is-never-predicted",
        ),
        pytest.param(fungible(1), [group(BARE_GPU_POOL)], {}, 1, id="gpu-without-the-label-is-not-predicted"),
        pytest.param(
            [wish("a"), wish("b")],
            [group(CPU_POOL)],
            {"cpu@a": (0, 1, 1)},
            0,
            id="two-small-pods-share-one-new-node",
        ),
        pytest.param(
            fungible(2),
            [group(GPU_POOL, most=1), group(GPU_POOL, most=1, zone=OTHER_ZONE)],
            {"gpu@a": (0, 1, 0), "gpu@b": (0, 1, 0)},
            0,
            id="zones-are-balanced",
        ),
        pytest.param(
            [wish("big", containers=[{"name": "m", "resources": {"requests": {"cpu": "20"}}}])],
            [group(CPU_POOL)],
            {},
            1,
            id="too-big-for-any-machine",
        ),
        pytest.param(
            [wish("picky", tolerations=[])], [group(CPU_POOL)], {}, 1, id="class-taint-not-tolerated"
        ),
    ],
)
def test_decide(wishes, groups, grown, refused):
    found, refusals = run(wishes, groups)
    assert found == grown
    assert len(refusals) == refused


@pytest.mark.parametrize(
    ("wanted", "groups", "reason"),
    [
        pytest.param(wish("p", GPU), [group(GPU_POOL, size=2)], "max node group size reached", id="full"),
        pytest.param(
            wish("p", GPU), [group(GPU_POOL, backoff=True)], "in backoff after failed scale-up", id="back-off"
        ),
        pytest.param(wish("p", CPU), [group(CPU_POOL)], "cannot allocate all claims", id="C33-no-devices"),
        pytest.param(
            wish("p", tolerations=[]),
            [group(CPU_POOL)],
            "node(s) had untolerated taint {cloud.google.com/compute-class: c}",
            id="taint",
        ),
        pytest.param(
            wish("p", nodeSelector={CLASS: "c", "disk": "fast"}),
            [group(CPU_POOL)],
            "node(s) didn't match Pod's node affinity/selector",
            id="labels",
        ),
    ],
)
def test_refusals_have_the_autoscalers_words(wanted, groups, reason):
    _unused, refused = run([wanted], groups)
    assert refused == {"d/p": {reason: 1}}


def test_a_node_that_is_coming_serves_a_waiting_pod():
    coming = imagined(machine(GPU_POOL, ZONE, "coming"))
    grown, refused = run(fungible(2), [group(GPU_POOL, size=1)], sites=[coming])
    assert (grown, refused) == ({"gpu@a": (1, 2, 0)}, {})


def test_do_not_scale_up_leaves_other_pools_alone_and_anyway_does_not():
    stranger = pool("stranger", "n2-standard-16", {})
    _unused, refused = run([wish("p")], [group(stranger)], rungs=(("gpu",),))
    assert refused["d/p"] == {"node group does not match the compute class of the pod": 1}
    grown, _unused = run([wish("p")], [group(stranger)], rungs=(("gpu",),), anyway=True)
    assert grown == {"stranger@a": (0, 1, -1)}


def test_predicted_memory_is_too_small_for_a_selector():
    site = imagined(machine(GPU_POOL, ZONE, "n"))
    (device,) = site.slices[0].devices
    assert str(device.capacity["gpu.nvidia.com/memory"].value) == "46"
    assert "gpu.nvidia.com/cudaComputeCapability" not in device.attributes


def test_sentence_counts_and_sorts():
    assert sentence(Counter({"b": 2, "a": 1})) == "pod didn't trigger scale-up: 1 a, 2 b"


def spread(name):
    constraint = {
        "maxSkew": 1,
        "minDomains": 2,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
    }
    return wish(name, topologySpreadConstraints=[constraint])


def test_zones_grow_evenly_where_pods_must_be_spread():
    """The one node has room for both pods; the constraint is why the other zone gets one."""
    zones = [group(CPU_POOL, zone=ZONE, balanced=False), group(CPU_POOL, zone=OTHER_ZONE, balanced=False)]
    ready = imagined(machine(CPU_POOL, OTHER_ZONE, "ready"), optimistic=False)
    grown, refused = run([spread("p0"), spread("p1")], zones, rungs=[("cpu",)], sites=[ready])
    assert (grown, refused) == ({"cpu@a": (0, 1, 0)}, {})
