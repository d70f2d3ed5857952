# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes are given back."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.lab.hardware.nodes import group_of, surplus


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
