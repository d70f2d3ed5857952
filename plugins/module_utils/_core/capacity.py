# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of a device's capacity a request takes (KEP-5075, consumable capacity).

Source: ``consumable_capacity.go`` of k8s.io/dynamic-resource-allocation 0.36.
"""

from __future__ import annotations

from collections.abc import Mapping

from .quantity import Quantity, parse
from .slices import Capacity, Device, RequestPolicy

Amounts = Mapping[str, Quantity]


def taken(requested: Quantity | None, capacity: Capacity) -> Quantity:
    """Return what a request takes: rounded up as the policy says, all of it where no amount is named."""
    policy = capacity.policy
    if requested is None:
        return policy.default if policy and policy.default is not None else capacity.value
    if policy is None:
        return requested
    if policy.minimum is not None:
        return _in_range(requested, policy.minimum, policy.step)
    return next((value for value in policy.valid_values if requested <= value), requested)


def violates(amount: Quantity, policy: RequestPolicy | None) -> bool:
    """Return whether the policy forbids the amount."""
    if policy is None or amount == policy.default:
        return False
    if policy.minimum is not None:
        above = policy.maximum is not None and amount > policy.maximum
        return above or (
            policy.step is not None and (amount.whole - policy.minimum.whole) % policy.step.whole != 0
        )
    return bool(policy.valid_values) and amount not in policy.valid_values


def shortage(requests: Amounts, device: Device, used: Amounts) -> str:
    """Return why a request does not fit beside what is used, empty where it fits.

    :param requests: by name as the request has it; the allocator finds only names written as published.
    :param used: what shares of the device take already, by fully qualified name.
    """
    published = {capacity.name for capacity in device.capacity.values()}
    missing = sorted(name for name in requests if name not in published)
    if missing:
        names = ", ".join(sorted(published)) or "none"
        return f"publishes no capacity {', '.join(missing)} (names published: {names})"
    for name, capacity in device.capacity.items():
        amount = taken(requests.get(capacity.name), capacity)
        if violates(amount, capacity.policy):
            return f"{name}: {amount} is not allowed by the request policy"
        after = used[name] + amount if name in used else amount
        if after > capacity.value:
            left = capacity.value - used[name] if name in used else capacity.value
            return f"{name}: {amount} wanted, {left} of {capacity.value} left"
    return ""


def consumption(requests: Amounts, device: Device) -> dict[str, Quantity]:
    """Return what a share of the device takes, for every capacity it publishes, by fully qualified name."""
    return {name: taken(requests.get(capacity.name), capacity) for name, capacity in device.capacity.items()}


def _in_range(requested: Quantity, minimum: Quantity, step: Quantity | None) -> Quantity:
    if requested < minimum:
        return minimum
    if step is None:
        return requested
    steps = -(-(requested.whole - minimum.whole) // step.whole)
    return parse(minimum.whole + step.whole * steps)
