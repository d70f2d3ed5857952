# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is published and what is taken, arranged for questions about single nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .claims import Alternative, DeviceClass, Toleration
from .holdings import NOTHING_HELD, Holdings
from .resource_pools import NodePool, Pool, PoolIndex, pools
from .selectors import MATCH, Judgement, Selectors
from .slices import Device, DeviceId, DeviceTaint, PoolId, ResourceSlice


class Place(NamedTuple):
    """A node as far as devices are concerned; it need not exist."""

    name: str
    labels: Mapping[str, str]


class Candidate(NamedTuple):
    """A published device within reach of a node's allocator."""

    id: DeviceId
    device: Device
    slice: ResourceSlice
    pool: NodePool[ResourceSlice]

    def reaches(self, place: Place) -> bool:
        """Return whether the node may use the device, where the slice leaves that to its devices."""
        if self.slice.node_selection.kind != "per_device":
            return True
        return self.device.node_selection.reaches(place.name, place.labels)


def device_slices(pool: NodePool[ResourceSlice]) -> Sequence[ResourceSlice]:
    """Return the slices that carry devices, in the allocator's order; counters have slices of their own."""
    return [each for each in pool.slices if not each.shared_counters]


def candidates(pool: NodePool[ResourceSlice]) -> Iterable[Candidate]:
    """Yield the devices of a pool in the allocator's order."""
    for each in device_slices(pool):
        for device in each.devices:
            yield Candidate(each.device_id(device), device, each, pool)


@dataclass(frozen=True)
class Inventory:
    """Everything published and everything taken, indexed once for many questions."""

    pools: Mapping[PoolId, Pool[ResourceSlice]]
    index: PoolIndex[ResourceSlice]
    classes: Mapping[str, DeviceClass]
    held: Holdings = NOTHING_HELD
    selectors: Selectors = field(default_factory=Selectors)
    _seen: dict[tuple[str, frozenset[tuple[str, str]]], list[NodePool[ResourceSlice]]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @classmethod
    def of(
        cls,
        slices: Iterable[ResourceSlice],
        classes: Iterable[DeviceClass],
        held: Holdings = NOTHING_HELD,
        selectors: Selectors | None = None,
    ) -> Inventory:
        """Return the inventory of these slices and classes."""
        found = pools(slices)
        by_name = {each.name: each for each in classes}
        return cls(found, PoolIndex(found), by_name, held, selectors or Selectors())

    def on_node(self, place: Place) -> list[NodePool[ResourceSlice]]:
        """Return the node's pools in the allocator's order."""
        key = (place.name, frozenset(place.labels.items()))
        if key not in self._seen:
            self._seen[key] = self.index.on_node(place.name, place.labels)
        return self._seen[key]

    def device(self, identity: DeviceId) -> Device | None:
        """Return a published device of the newest generation, None where nobody publishes it."""
        pool = self.pools.get(identity.pool_id)
        for each in pool.slices if pool else ():
            for device in each.devices:
                if device.name == identity.device:
                    return device
        return None

    def whole_pool(self, pool: NodePool[ResourceSlice]) -> Sequence[ResourceSlice]:
        """Return all slices of the node's generation of a pool, including those that do not reach the node.

        Where the node's slices are as many as the pool states, the allocator looks at no others.
        """
        generation = pool.slices[0].generation
        if len(pool.slices) == pool.slices[0].resource_slice_count:
            return pool.slices
        whole = self.pools[pool.id]
        return [each for each in (*whole.slices, *whole.obsolete) if each.generation == generation]

    def judge(self, alternative: Alternative, candidate: Candidate) -> Judgement:
        """Return what the class, then the request say about a device; errors in the scheduler's words."""
        device_class = self.classes[alternative.device_class]
        judgement = self.judge_class(device_class, candidate)
        if judgement.outcome != "match":
            return judgement
        return self._first_other(f"request {alternative.name}", alternative.selectors, candidate)

    def judge_class(self, device_class: DeviceClass, candidate: Candidate) -> Judgement:
        """Return what the selectors of a class say about a device."""
        return self._first_other(f"class {device_class.name}", device_class.selectors, candidate)

    def _first_other(self, source: str, selectors: Iterable[str], candidate: Candidate) -> Judgement:
        """Return the first judgement other than a match."""
        for index, expression in enumerate(selectors):
            judgement = self.selectors.judge(expression, candidate.id.driver, candidate.device)
            if judgement.outcome == "error":
                text = f"{source}: selector #{index}: CEL runtime error: {judgement.text}"
                return Judgement("error", f"{text} (device {candidate.id})")
            if judgement.outcome == "cannot judge":
                return Judgement("cannot judge", f"{source}: selector #{index}: {judgement.text}")
            if judgement.outcome != "match":
                return judgement
        return MATCH


def keeping_taint(device: Device, tolerations: Iterable[Toleration]) -> DeviceTaint | None:
    """Return the taint that keeps a request away from the device, None where none does."""
    tolerations = tuple(tolerations)
    for taint in device.taints:
        if taint.effect in {"NoSchedule", "NoExecute"} and not any(t.tolerates(taint) for t in tolerations):
            return taint
    return None
