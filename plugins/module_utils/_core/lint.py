# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims that the API takes and that do not do what they look like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .claims import Claim
from .constraints import applies
from .inventory import Inventory
from .verdict import Verdict

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
_GPU = re.compile(r"gpu-(\d+)")
_RAIL = re.compile(r"gpu(\d+)rdma")


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
            is_root = name == PCIE_ROOT
            yield Verdict(
                "error",
                "AlignmentNotOffered" if is_root else "AttributeUnknown",
                claim.subject,
                observed=f"no device of the cluster publishes {name}",
                expected="an attribute that the devices of every covered request have",
                advice="drop the constraint: these machines (as GB300) tell no roots; pair GPUs and NICs by "
                "firstAvailable over the NICs' names"
                if is_root
                else "correct the name; the API takes any",
            )


def rail_lint(claim: Claim, inventory: Inventory) -> Iterator[Verdict]:
    """Yield a warning for a GPU and a NIC that share a PCIe root and belong to different rails.

    Two GPUs and two NICs sit below each root of an A3 Ultra; equal roots pair any of them, in the order of
    the slice (observed on Kubernetes 1.36.3). The rail is in the names: ``gpu-5`` and ``gpu5rdma0``.
    """
    if not any(each.match_attribute == PCIE_ROOT for each in claim.devices.constraints):
        return
    rails: dict[str, str] = {}
    for given in claim.allocation.devices if claim.allocation else ():
        device = inventory.device(given.id)
        name = device.attributes.get(f"{given.driver}/ifName") if device else None
        match = _RAIL.match(str(name.value)) if name else _GPU.fullmatch(given.device)
        if match:
            rails[str(given.id)] = match[1]
    if len(set(rails.values())) > 1 and len(rails) == 2:  # noqa: PLR2004 - a pair
        yield Verdict(
            "warning",
            "RailCrossed",
            claim.subject,
            observed=" and ".join(f"{device} is of rail {rail}" for device, rail in rails.items()),
            expected="GPU and NIC of one rail",
            advice="the constraint compares roots, not rails; select the NIC by its ifName in each claim",
        )


def _is_published(name: str, inventory: Inventory) -> bool:
    return any(
        name in device.attributes
        for pool in inventory.pools.values()
        for each in pool.slices
        for device in each.devices
    )
