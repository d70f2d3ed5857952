# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a slice is as it has to be, and which lost fields are noticed."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.inference.dra.controllers.image_configurator.contract import Gate
from ansible_collections.inference.dra.controllers.image_configurator.gating_slice import (
    dropped_fields,
    gating_slice,
    matches,
)


@pytest.fixture
def stored():
    """The slice as the server returns it: false booleans are left out."""
    found = copy.deepcopy(gating_slice(Gate()))
    del found["spec"]["devices"][0]["bindsToNode"]
    return found


def test_stored_slice_is_right(stored):
    assert matches(stored, gating_slice(Gate()))


@pytest.mark.parametrize(
    "field", ["bindingConditions", "bindingFailureConditions", "allowMultipleAllocations"]
)
def test_a_gate_that_is_off(stored, field):
    del stored["spec"]["devices"][0][field]
    assert dropped_fields(stored, gating_slice(Gate())) == [field]
    assert not matches(stored, gating_slice(Gate()))


@pytest.mark.parametrize(
    "alter",
    [
        pytest.param(lambda spec: spec["pool"].update(resourceSliceCount=2), id="count"),
        pytest.param(lambda spec: spec["pool"].update(name="other"), id="pool"),
        pytest.param(lambda spec: spec.pop("allNodes"), id="one-node"),
        pytest.param(lambda spec: spec["devices"].append({"name": "b"}), id="second-device"),
        pytest.param(lambda spec: spec["devices"][0].update(name="b"), id="device-name"),
        pytest.param(lambda spec: spec["devices"].clear(), id="no-device"),
    ],
)
def test_slices_that_are_replaced(stored, alter):
    alter(stored["spec"])
    assert not matches(stored, gating_slice(Gate()))
