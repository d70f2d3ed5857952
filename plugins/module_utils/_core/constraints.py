# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Constraints over the devices of a claim, with the allocator's own way of adding and removing devices.

Source: ``constraint.go`` and ``matchAttributeConstraint`` of k8s.io/dynamic-resource-allocation 0.36,
including what follows from its bookkeeping: ``distinctAttribute`` remembers one value per request, so the
devices of one request with a count above two are not all compared with each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from .claims import Constraint
from .slices import Attribute, Device

_COMPARABLE = ("string", "int", "bool", "version")


class Tracker(Protocol):
    """A constraint while devices are tried."""

    constraint: Constraint

    def add(self, request: str, alternative: str, device: Device) -> bool:
        """Return whether the device may join, and count it if so."""

    def remove(self, request: str, alternative: str) -> None:
        """Undo the last successful ``add`` with the same arguments."""


def trackers(constraints: Iterable[Constraint]) -> list[Tracker]:
    """Return a tracker for each constraint.

    Errors: ``ValueError`` for a kind of constraint that is not known.
    """
    result: list[Tracker] = []
    for index, constraint in enumerate(constraints):
        if constraint.match_attribute:
            result.append(MatchAttribute(constraint))
        elif constraint.distinct_attribute:
            result.append(DistinctAttribute(constraint))
        else:
            raise ValueError(f"constraint #{index}: empty constraint (unsupported constraint type?)")
    return result


def applies(constraint: Constraint, request: str, alternative: str) -> bool:
    """Return whether a constraint covers a request's alternative (``main`` or ``main/sub``)."""
    return not constraint.requests or request in constraint.requests or alternative in constraint.requests


class MatchAttribute:
    """All devices have the attribute, with one value and type."""

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint
        self._value: Attribute | None = None
        self._devices = 0

    def add(self, request: str, alternative: str, device: Device) -> bool:
        if not applies(self.constraint, request, alternative):
            return True
        value = device.attributes.get(self.constraint.match_attribute)
        if value is None:
            return False
        if self._devices == 0:
            self._value = value
        elif value.type not in _COMPARABLE or value != self._value:
            return False
        self._devices += 1
        return True

    def remove(self, request: str, alternative: str) -> None:
        if applies(self.constraint, request, alternative):
            self._devices -= 1


class DistinctAttribute:
    """Devices of different requests have the attribute with different values."""

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint
        self._values: dict[str, Attribute] = {}
        self._devices = 0

    def add(self, request: str, alternative: str, device: Device) -> bool:
        if not applies(self.constraint, request, alternative):
            return True
        value = device.attributes.get(self.constraint.distinct_attribute)
        if value is None:
            return False
        if self._devices and not self._is_new(value):
            return False
        self._values[request] = value
        self._devices += 1
        return True

    def remove(self, request: str, alternative: str) -> None:
        if applies(self.constraint, request, alternative):
            self._values.pop(request, None)
            self._devices -= 1

    def _is_new(self, value: Attribute) -> bool:
        if not self._values:
            return True
        return value.type in _COMPARABLE and value not in self._values.values()
