# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which claims hold which devices and how much of them, as the scheduler counts it.

Source: ``foreachAllocatedDevice`` of kube-scheduler 1.36 (plugins/dynamicresources). A device got with admin
access is not held; a share holds its consumed capacity only; everything else is held whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .claims import Claim
from .quantity import Quantity
from .slices import Device, DeviceId, qualified_name
from .verdict import Verdict

Amounts = Mapping[str, Quantity]  # by fully qualified capacity name


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a device that allows many allocations, and the claim that holds it."""

    claim: str
    share_id: str
    consumed: Amounts


@dataclass(frozen=True, slots=True)
class Holdings:
    """What is taken.

    :param whole: device → the claims (``namespace/name``) that hold all of it; more than one is a fault.
    :param shares: device → the shares of it that are held.
    """

    whole: Mapping[DeviceId, tuple[str, ...]] = field(default_factory=dict)
    shares: Mapping[DeviceId, tuple[Share, ...]] = field(default_factory=dict)

    def holders(self, device: DeviceId) -> tuple[str, ...]:
        """Return the claims that hold the device or a share of it."""
        return (*self.whole.get(device, ()), *(share.claim for share in self.shares.get(device, ())))

    def consumed(self, device: DeviceId) -> dict[str, Quantity]:
        """Return the capacity that shares of the device take together."""
        return total(share.consumed for share in self.shares.get(device, ()))

    def without(self, claim: Claim) -> Holdings:
        """Return what is taken if this claim's allocation did not exist."""
        name = claim.meta.full_name
        whole, shares = dict(self.whole), dict(self.shares)
        for given in claim.allocation.devices if claim.allocation else ():
            whole[given.id] = tuple(each for each in whole.get(given.id, ()) if each != name)
            shares[given.id] = tuple(each for each in shares.get(given.id, ()) if each.claim != name)
        return Holdings(
            {device: claims for device, claims in whole.items() if claims},
            {device: held for device, held in shares.items() if held},
        )


NOTHING_HELD = Holdings()


def total(amounts: Iterable[Amounts]) -> dict[str, Quantity]:
    """Return the sum of amounts, name by name."""
    result: dict[str, Quantity] = {}
    for each in amounts:
        for name, amount in each.items():
            result[name] = result[name] + amount if name in result else amount
    return result


def holdings(claims: Iterable[Claim]) -> Holdings:
    """Return what the allocations of the claims hold."""
    whole: defaultdict[DeviceId, list[str]] = defaultdict(list)
    shares: defaultdict[DeviceId, list[Share]] = defaultdict(list)
    for claim in claims:
        for given in claim.allocation.devices if claim.allocation else ():
            if given.admin_access:
                continue
            if given.share_id:
                consumed = {
                    qualified_name(name, given.driver): amount
                    for name, amount in given.consumed_capacity.items()
                }
                shares[given.id].append(Share(claim.meta.full_name, given.share_id, consumed))
            else:
                whole[given.id].append(claim.meta.full_name)
    return Holdings(
        {device: tuple(claims_) for device, claims_ in whole.items()},
        {device: tuple(shares_) for device, shares_ in shares.items()},
    )


def double_allocations(held: Holdings, devices: Mapping[DeviceId, Device]) -> list[Verdict]:
    """Return a verdict for each device that is given out more than it can be.

    :param devices: the published devices; one that is not published is judged by its claims alone.
    """
    verdicts = []
    for device in sorted({*held.whole, *held.shares}):
        whole, shares = held.whole.get(device, ()), held.shares.get(device, ())
        if len(whole) > 1 or (whole and shares):
            observed = f"held by {len(whole)} claims as a whole and by {len(shares)} shares"
        elif over := _overdrawn(held.consumed(device), devices.get(device)):
            observed = "; ".join(over)
        else:
            continue
        verdicts.append(
            Verdict(
                "error",
                "DoubleAllocated",
                f"Device {device}",
                observed=observed,
                expected="one claim, or shares that fit the device's capacity together",
                advice="delete all but one of the pods that use it; claims do not correct themselves",
                evidence=tuple(f"ResourceClaim {name}" for name in held.holders(device)),
            )
        )
    return verdicts


def _overdrawn(consumed: Amounts, device: Device | None) -> list[str]:
    if device is None:
        return []
    return [
        f"{amount} of {name} given, {device.capacity[name].value} published"
        for name, amount in sorted(consumed.items())
        if name in device.capacity and amount > device.capacity[name].value
    ]
