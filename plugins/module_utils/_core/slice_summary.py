# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A summary of all slices of a cluster, read as they stream by: ten thousand in little memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import Any

from .nodes import NodeSelection
from .objects import NOTHING, MalformedObjects, View, open_object
from .resource_pools import Pool, pools
from .slices import CounterName, Device, DeviceId, DeviceTaint, PoolId


@dataclass(frozen=True, slots=True)
class SliceOutline:
    """What is kept of a slice that streams by; fields as in ``ResourceSlice``.

    :param device_selections: only where the slice selects nodes per device.
    :param remarks: what ``examine`` said about its devices, by device name.
    """

    name: str
    pool_id: PoolId
    generation: int
    resource_slice_count: int
    node_selection: NodeSelection
    device_names: tuple[str, ...]
    counters: frozenset[CounterName] = frozenset()
    consumed_counters: frozenset[CounterName] = frozenset()
    has_binding_conditions: bool = False
    taints: Mapping[str, tuple[DeviceTaint, ...]] = field(default_factory=lambda: NOTHING)
    shared_devices: frozenset[str] = frozenset()
    device_selections: tuple[NodeSelection, ...] = ()
    remarks: Mapping[str, Any] = field(default_factory=lambda: NOTHING)

    def reaches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether any device of this slice can be used on the node."""
        if self.counters or self.node_selection.kind != "per_device":
            return bool(self.counters) or self.node_selection.reaches(name, labels)
        return any(each.reaches(name, labels) for each in self.device_selections)

    def device_names_on(self, name: str, labels: Mapping[str, str]) -> tuple[str, ...]:
        """Return the devices that can be used on the node."""
        if self.node_selection.kind == "per_device":
            return tuple(
                device
                for device, where in zip(self.device_names, self.device_selections, strict=True)
                if where.reaches(name, labels)
            )
        return self.device_names if self.node_selection.reaches(name, labels) else ()


Examine = Callable[[DeviceId, Device], Any]


@dataclass(frozen=True)
class SliceSummary:
    """All slices of a cluster in little memory.

    :param slices: how many were read.
    :param problems: slices that could not be read, one sentence each; they are in no pool.
    """

    pools: Mapping[PoolId, Pool[SliceOutline]]
    slices: int
    problems: tuple[str, ...] = ()

    def drivers(self) -> dict[str, int]:
        """Return the number of pools of each driver."""
        return dict(Counter(identity.driver for identity in self.pools))


def summarise(objects: Iterable[Any], examine: Examine | None = None) -> SliceSummary:
    """Return the summary of ResourceSlice mappings, each read once and let go.

    :param examine: asked about every device, with its full typed value; an answer that is not None
        is kept under ``remarks`` of its slice. Without it attributes and capacities are not read.
    """
    seen = 0
    problems: list[str] = []

    def outlines() -> Iterator[SliceOutline]:
        nonlocal seen
        for obj in objects:
            seen += 1
            try:
                yield outline(obj, examine)
            except MalformedObjects as error:
                problems.extend(error.problems)

    return SliceSummary(pools(outlines()), seen, tuple(problems))


def outline(obj: Any, examine: Examine | None = None) -> SliceOutline:
    """Return the outline of one ResourceSlice mapping.

    :raises MalformedObjects: where a field that is read is missing or of the wrong type.
    """
    view, meta = open_object(obj, "ResourceSlice")
    spec = view.child("spec")
    pool = spec.child("pool")
    identity = PoolId(intern(spec.required_text("driver")), intern(pool.required_text("name")))
    selection = NodeSelection.from_view(spec)
    names, taints, shared, selections, remarks = [], {}, [], [], {}
    consumed: set[CounterName] = set()
    binding = False
    for each in spec.children("devices"):
        name = intern(each.required_text("name"))
        names.append(name)
        if "taints" in each:
            taints[name] = tuple(DeviceTaint.from_view(taint) for taint in each.children("taints"))
        if each.boolean("allowMultipleAllocations"):
            shared.append(name)
        if selection.kind == "per_device":
            selections.append(NodeSelection.from_view(each))
        if "consumesCounters" in each:
            consumed.update(_consumed(each))
        binding = binding or "bindingConditions" in each
        if examine is not None:
            remark = examine(DeviceId(*identity, name), Device.from_view(each, identity.driver))
            if remark is not None:
                remarks[name] = remark
    return SliceOutline(
        name=meta.name,
        pool_id=identity,
        generation=pool.integer("generation"),
        resource_slice_count=pool.integer("resourceSliceCount"),
        node_selection=selection,
        device_names=tuple(names),
        counters=frozenset(_offered(spec)) if "sharedCounters" in spec else frozenset(),
        consumed_counters=frozenset(consumed),
        has_binding_conditions=binding,
        taints=taints or NOTHING,
        shared_devices=frozenset(shared),
        device_selections=tuple(selections),
        remarks=remarks or NOTHING,
    )


def _consumed(device: View) -> Iterator[CounterName]:
    for each in device.children("consumesCounters"):
        counter_set = each.text("counterSet")
        for counter in each.child("counters").value:
            yield CounterName(counter_set, counter)


def _offered(spec: View) -> Iterator[CounterName]:
    for each in spec.children("sharedCounters"):
        counter_set = each.text("name")
        for counter in each.child("counters").value:
            yield CounterName(counter_set, counter)
