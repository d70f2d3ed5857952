# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims that the API takes and that do not do what they look like."""

from __future__ import annotations

from collections.abc import Iterator

from .claims import Claim
from .constraints import applies
from .inventory import Inventory
from .verdict import Verdict


def constraint_lint(claim: Claim, inventory: Inventory) -> Iterator[Verdict]:
    """Yield what is odd about a claim's constraints."""
    for constraint in claim.devices.constraints:
        name = constraint.match_attribute or constraint.distinct_attribute
        covered = [
            request
            for request in claim.devices.requests
            if any(applies(constraint, request.name, each.name) for each in request.alternatives)
        ]
        devices = sum(max(each.count for each in request.alternatives) for request in covered)
        every = any(each.allocation_mode == "All" for request in covered for each in request.alternatives)
        if devices < 2 and not every:  # noqa: PLR2004 - one device always agrees with itself
            yield Verdict(
                "warning",
                "ConstraintIneffective",
                claim.subject,
                observed=f"the constraint on {name} covers "
                + (", ".join(request.name for request in covered) or "no request"),
                expected="two devices or more",
                advice="name both requests, or leave requests out",
            )
        if inventory.pools and not _is_published(name, inventory):
            yield Verdict(
                "error",
                "AttributeUnknown",
                claim.subject,
                observed=f"no device of the cluster publishes {name}",
                expected="an attribute that the devices of every covered request have",
                advice="correct the name; the API takes any",
            )


def _is_published(name: str, inventory: Inventory) -> bool:
    return any(
        name in device.attributes
        for pool in inventory.pools.values()
        for each in pool.slices
        for device in each.devices
    )
