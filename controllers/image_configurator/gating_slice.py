# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ResourceSlice that offers the gating device on every node, to any number of claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    SLICES,
    Conflict,
    Kubernetes,
    NotFound,
)

from .contract import RESOURCE_API, Gate


class FieldsDropped(Exception):
    """The API server threw away fields of the slice: a feature gate is off."""


def gating_slice(gate: Gate) -> dict[str, Any]:
    """Return the slice as it has to be."""
    return {
        "apiVersion": RESOURCE_API,
        "kind": "ResourceSlice",
        "metadata": {"name": gate.driver},
        "spec": {
            "driver": gate.driver,
            "pool": {"name": gate.pool, "generation": 1, "resourceSliceCount": 1},
            "allNodes": True,
            "devices": [
                {
                    "name": gate.device,
                    "allowMultipleAllocations": True,
                    "bindsToNode": False,
                    "bindingConditions": [gate.updated],
                    "bindingFailureConditions": [gate.failed],
                }
            ],
        },
    }


def publish(api: Kubernetes, gate: Gate) -> bool:
    """Make the slice exist as it has to be, and alone; return whether anything was changed.

    Another slice of the driver (left by a controller that was removed) would make the pool
    incomplete, since the pool says that it has one.

    :raises FieldsDropped: where the server would not keep the binding conditions. Nothing is
        published then: without conditions every pod would start with its placeholder image.
    """
    wanted, right, changed = gating_slice(gate), False, False
    for found in list(_all(api, gate)):
        if found["metadata"]["name"] == gate.driver and matches(found, wanted):
            right = True
        else:
            _delete(api, found)
            changed = True
    if right:
        return changed
    try:
        lost = dropped_fields(api.create(SLICES, wanted, dry_run=True), wanted)
        if not lost:
            api.create(SLICES, wanted)
    except Conflict:  # somebody else was faster; the watch will show what they wrote
        return True
    if lost:
        raise FieldsDropped(
            f"publishing ResourceSlice {gate.driver}: the API server would drop {', '.join(lost)}; turn "
            "on DRADeviceBindingConditions, DRAConsumableCapacity and DRAResourceClaimDeviceStatus "
            "for API server, scheduler and controller manager (on by default from 1.36)"
        )
    return True


def unpublish(api: Kubernetes, gate: Gate) -> int:
    """Delete every slice of the driver; return how many there were."""
    found = list(_all(api, gate))
    for entry in found:
        _delete(api, entry)
    return len(found)


def dropped_fields(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Return the device fields that were sent but not kept."""
    kept = found["spec"]["devices"][0]
    # The server omits booleans that are false.
    return [f for f, value in wanted["spec"]["devices"][0].items() if value and kept.get(f) != value]


def matches(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether a slice offers exactly what it has to."""
    spec, want = found["spec"], wanted["spec"]
    same = all(spec.get(field) == want[field] for field in ("driver", "pool", "allNodes"))
    return same and len(spec.get("devices") or ()) == 1 and not dropped_fields(found, wanted)


def _all(api: Kubernetes, gate: Gate) -> Any:
    return api.list(SLICES, field_selector=f"spec.driver={gate.driver}")


def _delete(api: Kubernetes, found: Mapping[str, Any]) -> None:
    try:
        api.delete(SLICES, found["metadata"]["name"], uid=found["metadata"]["uid"])
    except NotFound:
        return
