# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes are given back."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.lab.hardware.nodes import group_of, plan_of, surplus


def node(name, created="2026-01-01T00:00:00Z", ready=True):
    return {
        "metadata": {"name": name, "creationTimestamp": created},
        "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }


OLD, YOUNG = node("old"), node("young", "2026-01-02T00:00:00Z")
BROKEN = node("broken", "2025-01-01T00:00:00Z", ready=False)


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        pytest.param(3, [], id="none-too-many"),
        pytest.param(2, ["broken"], id="not-ready-goes-first"),
        pytest.param(1, ["broken", "young"], id="then-the-youngest"),
        pytest.param(0, ["broken", "young", "old"], id="all"),
    ],
)
def test_surplus(size, wanted):
    found = surplus([OLD, YOUNG, BROKEN], size)
    assert [each["metadata"]["name"] for each in found] == wanted


def test_a_node_that_no_pool_made_belongs_to_no_group():
    assert group_of(node("worker")) is None


def made(name, revision, ready=True):
    found = node(name, ready=ready)
    found["metadata"]["annotations"] = {"lab.inference.dra/revision": str(revision)}
    return found


@pytest.mark.parametrize(
    ("nodes", "coming", "size", "wanted"),
    [
        pytest.param([], 0, 2, (2, 0, [], 0), id="order-what-is-missing"),
        pytest.param([], 2, 2, (0, 0, [], 0), id="what-is-coming-counts"),
        pytest.param([], 2, 1, (0, 1, [], 0), id="cancel-what-is-too-many"),
        pytest.param([made("a", 2), made("b", 2)], 0, 1, (0, 0, ["b"], 2), id="give-one-back"),
        pytest.param([made("a", 1), made("b", 1)], 0, 2, (1, 0, [], 0), id="new-template-surges-by-one"),
        pytest.param([made("a", 1), made("b", 1)], 1, 2, (0, 0, [], 0), id="and-waits-for-it"),
        pytest.param(
            [made("a", 1), made("b", 1), made("c", 2, ready=False)],
            0,
            2,
            (0, 0, [], 0),
            id="until-it-is-ready",
        ),
        pytest.param(
            [made("a", 1), made("b", 1), made("c", 2)], 0, 2, (0, 0, ["b"], 1), id="then-an-old-one-goes"
        ),
        pytest.param([made("a", 1)], 0, 0, (0, 0, ["a"], 0), id="a-pool-of-nothing"),
    ],
)
def test_plan(nodes, coming, size, wanted):
    found = plan_of(nodes, coming, size, revision=2)
    retire = [each["metadata"]["name"] for each in found.retire]
    assert (found.order, found.cancel, retire, found.ready) == wanted
