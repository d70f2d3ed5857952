# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters that the devices of a pool draw from together (KEP-4815, partitionable devices).

Source: ``checkAvailableCounters`` of k8s.io/dynamic-resource-allocation 0.36. Like there, the books are kept
by the pool's name alone, so that two drivers' pools of one name share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .quantity import ZERO, Quantity
from .slices import CounterName, Device, ResourceSlice


class CounterBooks:
    """What is left of each pool's counters while devices are tried."""

    def __init__(self) -> None:
        self._available: dict[str, dict[CounterName, Quantity]] = {}
        self._reserved: dict[str, dict[CounterName, Quantity]] = {}

    def reserve(
        self,
        pool: str,
        device: Device,
        slices: Callable[[], Iterable[ResourceSlice]],
        is_allocated: Callable[[ResourceSlice, Device], bool],
    ) -> bool:
        """Take the device's counters if all counters of the pool stay covered; return whether they were.

        :param slices: all slices of the pool, asked for once per pool.
        :param is_allocated: whether a claim holds a device (or a share of it) already.
        """
        if pool not in self._available:
            self._available[pool] = _left(list(slices()), is_allocated)
        reserved = self._reserved.setdefault(pool, {})
        _draw(reserved, device, 1)
        for name, left in self._available[pool].items():
            if left < reserved.get(name, ZERO):
                _draw(reserved, device, -1)
                return False
        return True

    def release(self, pool: str, device: Device) -> None:
        """Undo a successful ``reserve``."""
        _draw(self._reserved[pool], device, -1)


def _draw(books: dict[CounterName, Quantity], device: Device, sign: int) -> None:
    for name, amount in _draws(device):
        before = books.get(name, ZERO)
        books[name] = before + amount if sign > 0 else before - amount


def _draws(device: Device) -> Iterable[tuple[CounterName, Quantity]]:
    for consumption in device.consumes_counters:
        for counter, amount in consumption.counters.items():
            yield CounterName(consumption.counter_set, counter), amount


def _left(
    slices: Iterable[ResourceSlice], is_allocated: Callable[[ResourceSlice, Device], bool]
) -> dict[CounterName, Quantity]:
    left: dict[CounterName, Quantity] = {}
    slices = list(slices)
    for each in slices:
        for counter_set, counters in each.shared_counters.items():
            for counter, amount in counters.items():
                left[CounterName(counter_set, counter)] = amount
    for each in slices:
        for device in each.devices:
            if device.consumes_counters and is_allocated(each, device):
                for name, amount in _draws(device):
                    if name in left:
                        left[name] = left[name] - amount
    return left
