# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why claims do not fit on a node: the first check that leaves too few devices, per alternative.

The order of the checks: the class's driver publishes on the node, its pool is complete and valid, the
class matches, the request's selectors match, the device offers the capacity, no taint, not in use; then
what only the combination shows: constraints, counters, requests that compete.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .abridged import NAMED, abridged
from .capacity import shortage
from .claims import Alternative, Constraint, DeviceRequests
from .constraints import applies
from .fits import Refusal, Shortfall
from .inventory import Candidate, Inventory, Place, candidates, keeping_taint
from .slices import Attribute

# From the check that rules out most to the one that is nearest to a fit.
CHECKS = (
    "DriverSlicesMissing",
    "PoolIncomplete",
    "PoolInvalid",
    "PoolEmpty",
    "ClassMatchesNothing",
    "SelectorMatchesNothing",
    "CapacityTooSmall",
    "DeviceTainted",
    "DeviceInUse",
)
WORDS = {
    "ClassMatchesNothing": "outside the class",
    "SelectorMatchesNothing": "not selected",
    "CapacityTooSmall": "too small",
    "DeviceTainted": "tainted",
    "DeviceInUse": "in use",
}
_DRIVER = re.compile(r"""device\.driver\s*==\s*["']([^"']+)["']""")


@dataclass(slots=True)
class Look:
    """The devices of one node from one alternative's point of view, sorted by the first check they fail."""

    alternative: Alternative
    drivers: frozenset[str]
    unusable_pools: dict[str, list[str]] = field(default_factory=dict)
    pools: int = 0
    failed: dict[str, list[tuple[Candidate, str]]] = field(default_factory=dict)
    free: list[Candidate] = field(default_factory=list)

    @property
    def is_possible(self) -> bool:
        """Return whether there are enough devices for this alternative if nothing else were asked for."""
        if self.alternative.allocation_mode == "All":
            blocked = self.failed.get("DeviceTainted") or self.failed.get("DeviceInUse")
            return bool(self.free) and not blocked
        return len(self.free) >= self.alternative.count

    def _decisive(self) -> list[str]:
        """Return the failed checks, the one to name first.

        An untolerated taint that alone makes the difference, devices in use, then from the narrowest check
        to the widest, because a class that passes over some devices is no fault.
        """
        narrowest_first = [reason for reason in reversed(CHECKS) if self.failed.get(reason)]
        tainted = self.failed.get("DeviceTainted", ())
        if tainted and len(self.free) + len(tainted) >= self.alternative.count:
            narrowest_first.remove("DeviceTainted")
            narrowest_first.insert(0, "DeviceTainted")
        return narrowest_first

    def _tally(self) -> str:
        parts = [f"{len(self.free)} free"]
        parts += [f"{len(failed)} {WORDS[reason]}" for reason, failed in self.failed.items()]
        return ", ".join(parts)

    def shortfall(self) -> Shortfall:
        """Return the check nearest to a fit that leaves too few devices."""
        name, wanted = self.alternative.name, self.alternative.count
        for reason in self._decisive():
            failed = self.failed[reason]
            texts = [f"{each.id}: {text}" if text else str(each.id) for each, text in failed]
            details = abridged(texts, separator="; ")
            return Shortfall(name, reason, f"{wanted} wanted; {self._tally()}: {details}")
        for reason in ("PoolInvalid", "PoolIncomplete"):
            if found := self.unusable_pools.get(reason):
                return Shortfall(name, reason, "; ".join(found))
        drivers = ", ".join(sorted(self.drivers)) or f"the class {self.alternative.device_class}"
        if self.free:
            return Shortfall(name, "CapacityExhausted", f"{wanted} wanted, {len(self.free)} published")
        if self.pools:
            return Shortfall(name, "PoolEmpty", f"the pools of {drivers} have no device here")
        return Shortfall(name, "DriverSlicesMissing", f"no slice of {drivers} reaches this node")


def unfit(claims: Sequence[DeviceRequests], place: Place, inventory: Inventory) -> Refusal:
    """Return why an exhausted search found nothing."""
    looks: dict[tuple[int, str], list[Look]] = {}
    for index, claim in enumerate(claims):
        for request in claim.requests:
            found = [look(alternative, place, inventory) for alternative in request.alternatives]
            looks[index, request.name] = found
            if not any(each.is_possible for each in found):
                shortfalls = tuple(each.shortfall() for each in found)
                nearest = max(shortfalls, key=lambda each: _nearness(each.reason))
                text = "; ".join(f"{each.alternative}: {each.text}" for each in shortfalls)
                return Refusal(nearest.reason, text, index, request.name, "node", shortfalls)
    for index, claim in enumerate(claims):
        for constraint in claim.constraints:
            covered = list(_covered(index, constraint, claim, looks))
            if refusal := _constraint_refusal(index, constraint, covered):
                return refusal
    if any(each.device.consumes_counters for found in looks.values() for one in found for each in one.free):
        text = "the devices draw on counters of their pool that do not suffice for all of them"
        return Refusal("CountersExhausted", text)
    return Refusal("DevicesCompete", "each request alone has devices, together they have not")


def look(alternative: Alternative, place: Place, inventory: Inventory) -> Look:
    """Return every device of the node with the first check that it fails for the alternative."""
    found = Look(alternative, class_drivers(alternative, inventory))
    for pool in inventory.on_node(place):
        if found.drivers and pool.id.driver not in found.drivers:
            continue
        if pool.state != "complete":
            incomplete = any(fault.state == "incomplete" for fault in pool.faults)
            details = ", ".join(fault.detail for fault in pool.faults)
            reason = "PoolIncomplete" if incomplete else "PoolInvalid"
            found.unusable_pools.setdefault(reason, []).append(f"pool {pool.id}: {details}")
            continue
        found.pools += 1
        for candidate in candidates(pool):
            if not candidate.reaches(place):
                continue
            reason, text = first_failure(alternative, candidate, inventory)
            if reason:
                found.failed.setdefault(reason, []).append((candidate, text))
            else:
                found.free.append(candidate)
    return found


def first_failure(alternative: Alternative, candidate: Candidate, inventory: Inventory) -> tuple[str, str]:
    """Return the first check a device fails and a detail, two empty texts where it passes all."""
    return next(_failures(alternative, candidate, inventory), ("", ""))


def _failures(
    alternative: Alternative, candidate: Candidate, inventory: Inventory
) -> Iterator[tuple[str, str]]:
    device_class = inventory.classes[alternative.device_class]
    if inventory.judge_class(device_class, candidate).outcome != "match":
        yield "ClassMatchesNothing", ""
    if inventory.judge(alternative, candidate).outcome != "match":
        yield "SelectorMatchesNothing", ""
    if text := shortage(alternative.capacity, candidate.device, {}):
        yield "CapacityTooSmall", text
    if taint := keeping_taint(candidate.device, alternative.tolerations):
        yield "DeviceTainted", f"{taint.key}={taint.value}:{taint.effect}"
    if alternative.admin_access:
        return
    holders = ", ".join(f"ResourceClaim {name}" for name in inventory.held.holders(candidate.id))
    if candidate.id in inventory.held.whole:
        yield "DeviceInUse", f"held by {holders}"
    if text := shortage(alternative.capacity, candidate.device, inventory.held.consumed(candidate.id)):
        yield "DeviceInUse", f"{text}; shares held by {holders}"


def class_drivers(alternative: Alternative, inventory: Inventory) -> frozenset[str]:
    """Return the drivers that the class or the request names; empty where they name none."""
    device_class = inventory.classes[alternative.device_class]
    for selectors in (device_class.selectors, alternative.selectors):
        if named := {name for text in selectors for name in _DRIVER.findall(text)}:
            return frozenset(named)
    return frozenset()


def _nearness(reason: str) -> int:
    return CHECKS.index(reason) if reason in CHECKS else len(CHECKS)


def _covered(
    index: int, constraint: Constraint, claim: DeviceRequests, looks: Mapping[tuple[int, str], list[Look]]
) -> Iterator[tuple[str, list[Candidate]]]:
    """Yield the free devices of each request (of its first possible alternative) that a constraint covers."""
    for request in claim.requests:
        for found in looks[index, request.name]:
            if found.is_possible and applies(constraint, request.name, found.alternative.name):
                yield found.alternative.name, found.free
                break


def _constraint_refusal(
    index: int, constraint: Constraint, covered: Sequence[tuple[str, list[Candidate]]]
) -> Refusal | None:
    name = constraint.match_attribute or constraint.distinct_attribute
    values: dict[str, set[Attribute]] = {}
    for request, free in covered:
        values[request] = {each.device.attributes[name] for each in free if name in each.device.attributes}
        if not values[request]:
            lacking = ", ".join(str(each.id) for each in free[:NAMED])
            text = f"{request}: no {name} on {lacking}{_near_misses(name, free)}"
            return Refusal("AttributeMissing", text, index, request)
    if not constraint.match_attribute or not values:
        return None
    if set.intersection(*values.values()):
        text = f"{name}: devices with one value are too few; {_listed(values)}"
        return Refusal("NoCommonValue", text, index)
    types = {request: {value.type for value in found} for request, found in values.items()}
    if not set.intersection(*types.values()):
        shown = "; ".join(f"{request}: {', '.join(sorted(found))}" for request, found in types.items())
        return Refusal("AttributeTypeDiffers", f"{name}: {shown}", index)
    return Refusal("NoCommonValue", f"{name}: {_listed(values)}", index)


def _near_misses(name: str, candidates: Iterable[Candidate]) -> str:
    """Return what the devices publish under the same last name, for whoever looks for the right one."""
    last = name.rpartition("/")[2].lower()
    found = sorted(
        {
            each
            for one in candidates
            for each in one.device.attributes
            if each.rpartition("/")[2].lower() == last
        }
    )
    return f" (published instead: {', '.join(found)})" if found else ""


def unselected_drivers(inventory: Inventory) -> frozenset[str]:
    """Return the drivers that publish devices and that the selectors of no class name."""
    named = {
        name
        for device_class in inventory.classes.values()
        for text in device_class.selectors
        for name in _DRIVER.findall(text)
    }
    return frozenset(pool.driver for pool in inventory.pools) - named


def _listed(values: Mapping[str, Iterable[Attribute]]) -> str:
    return "; ".join(
        f"{request} has {', '.join(sorted(str(value.value) for value in found))}"
        for request, found in values.items()
    )
