# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of a device's capacity a request takes (KEP-5075, consumable capacity).

Source: ``consumable_capacity.go`` of k8s.io/dynamic-resource-allocation 0.36.
"""

from __future__ import annotations

from collections.abc import Mapping

from .quantity import Quantity, parse
from .slices import Capacity, Device, RequestPolicy, qualified_name

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


def requested_amounts(requests: Amounts, driver: str) -> dict[str, Quantity]:
    """Return a request's amounts under fully qualified names."""
    return {qualified_name(name, driver): amount for name, amount in requests.items()}


def shortage(requested: Amounts, device: Device, used: Amounts) -> str:
    """Return why the request does not fit beside what is used, empty where it fits.

    :param requested: by fully qualified name.
    :param used: what shares of the device take already.
    """
    missing = sorted(name for name in requested if name not in device.capacity)
    if missing:
        return f"publishes no capacity {', '.join(missing)}"
    for name, capacity in device.capacity.items():
        amount = taken(requested.get(name), capacity)
        if violates(amount, capacity.policy):
            return f"{name}: {amount} is not allowed by the request policy"
        after = used[name] + amount if name in used else amount
        if after > capacity.value:
            left = capacity.value - used[name] if name in used else capacity.value
            return f"{name}: {amount} wanted, {left} of {capacity.value} left"
    return ""


def consumption(requested: Amounts, device: Device) -> dict[str, Quantity]:
    """Return what a share of the device takes, for every capacity it publishes."""
    return {name: taken(requested.get(name), capacity) for name, capacity in device.capacity.items()}


def _in_range(requested: Quantity, minimum: Quantity, step: Quantity | None) -> Quantity:
    if requested < minimum:
        return minimum
    if step is None:
        return requested
    steps = -(-(requested.whole - minimum.whole) // step.whole)
    return parse(minimum.whole + step.whole * steps)
