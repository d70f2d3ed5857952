# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes nobody needs."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.lab.autoscaler import scale_down
from ansible_collections.inference.dra.lab.hardware.machines import CLUSTER, NODE_POOL, ZONE
from ansible_collections.inference.dra.lab.hardware.nodes import Group

HERE = Group("c", "p", "z")


def node(name, zone="z", ready=True, **annotations):
    return {
        "metadata": {
            "name": name,
            "labels": {CLUSTER: "c", NODE_POOL: "p", ZONE: zone},
            "annotations": annotations,
        },
        "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }


def pod(on, owner="ReplicaSet", phase="Running"):
    return {
        "metadata": {"name": "p", "ownerReferences": [{"kind": owner, "controller": True}]},
        "spec": {"nodeName": on},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("pods", "claims", "busy"),
    [
        pytest.param([pod("a")], [], {"a"}, id="a-pod"),
        pytest.param([pod("a", "DaemonSet")], [], set(), id="daemons-do-not-count"),
        pytest.param([pod("a", phase="Failed")], [], set(), id="C37-ended-pods-do-not-count"),
        pytest.param(
            [],
            [{"status": {"allocation": {"devices": {"results": [{"pool": "a"}]}}}}],
            {"a"},
            id="a-claim-that-holds-a-device",
        ),
    ],
)
def test_occupied(pods, claims, busy):
    assert scale_down.occupied(pods, claims) == busy


@pytest.mark.parametrize(
    ("nodes", "busy", "minimums", "wanted"),
    [
        pytest.param([node("a"), node("b")], {"a"}, {HERE: 0}, ["b"], id="the-empty-one"),
        pytest.param([node("a"), node("b")], (), {HERE: 1}, ["a"], id="not-below-the-minimum"),
        pytest.param([node("a")], (), {}, [], id="a-pool-that-is-not-scaled"),
        pytest.param([node("a", ready=False)], (), {HERE: 0}, [], id="not-ready-is-not-idle"),
        pytest.param(
            [node("a", **{scale_down.SCALE_DOWN_DISABLED: "true"})],
            (),
            {HERE: 0},
            [],
            id="kept-by-annotation",
        ),
    ],
)
def test_unneeded(nodes, busy, minimums, wanted):
    assert scale_down.unneeded(nodes, busy, minimums) == wanted


def test_a_minimum_of_the_whole_pool_counts_over_its_zones():
    nodes = [node("a"), node("b", "y")]
    minimums = {HERE: 1, Group("c", "p", "y"): 1}
    assert scale_down.unneeded(nodes, (), minimums) == []
    assert len(scale_down.unneeded(nodes, (), minimums, {("c", "p")})) == 1


def test_taints_of_others_stay():
    marked = {"spec": {"taints": [{"key": "own", "effect": "NoSchedule"}]}}
    taints = scale_down.with_taint(marked, scale_down.SOFT_TAINT, "PreferNoSchedule", 5)
    assert [taint["key"] for taint in taints] == ["own", scale_down.SOFT_TAINT]
    assert scale_down.without_taint({"spec": {"taints": taints}}, scale_down.SOFT_TAINT) == taints[:1]
