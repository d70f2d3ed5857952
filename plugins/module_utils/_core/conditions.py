# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Binding conditions of a claim: which are required, met, failed, missing (KEP-5007).

What is required was copied from the slice into each allocation result at allocation time; the slice
may have changed since. Results that require nothing never block, whatever else they list.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .claims import AllocatedDevice, Claim, Condition, DeviceStatus


@dataclass(frozen=True, slots=True)
class DeviceReadiness:
    """How far the preparation of one allocated device, or share of one, has come.

    :param is_reported: whether ``status.devices`` has an entry for it at all.
    :param missing: required, and absent or anything but ``True``.
    :param failed: failure conditions that are ``True``; they win over everything met.
    """

    device: AllocatedDevice
    is_reported: bool
    met: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    failed: tuple[Condition, ...] = ()

    @property
    def required(self) -> tuple[str, ...]:
        return self.device.binding_conditions

    @property
    def is_ready(self) -> bool:
        return not self.missing and not self.failed


class SchedulerView(NamedTuple):
    """What the scheduler makes of a claim at its next look.

    ``device`` ended the look, for ``waiting`` and ``failed``; ``condition`` failed it.
    """

    outcome: Literal["ready", "waiting", "failed"]
    device: AllocatedDevice | None = None
    condition: Condition | None = None


NOT_ALLOCATED = SchedulerView("waiting")


def readiness(claim: Claim) -> tuple[DeviceReadiness, ...]:
    """Return the readiness of each allocated device, in the order of the results.

    Every share of a device stands for itself: its status entry is the one with its ``shareID``.
    """
    if claim.allocation is None:
        return ()
    devices = claim.allocation.devices
    shares = Counter(each.id for each in devices)
    return tuple(
        _readiness(each, _own_status(claim, each, is_only_share=shares[each.id] == 1)) for each in devices
    )


def scheduler_view(claim: Claim) -> SchedulerView:
    """Return what ``isClaimReadyForBinding`` of the scheduler (Kubernetes 1.36.3) answers.

    Devices are read in the order of the results and the first that is not ready ends the look, so a
    failure behind it stays unseen. An entry is found by driver, pool and device alone: the first
    share's entry speaks for all shares.
    """
    if claim.allocation is None:
        return NOT_ALLOCATED
    for device in claim.allocation.devices:
        found = next((each for each in claim.device_statuses if each.id == device.id), None)
        state = _readiness(device, found)
        if state.failed:
            return SchedulerView("failed", device, state.failed[0])
        if state.missing:
            return SchedulerView("waiting", device)
    return SchedulerView("ready")


def _own_status(claim: Claim, device: AllocatedDevice, *, is_only_share: bool) -> DeviceStatus | None:
    entries = [each for each in claim.device_statuses if each.id == device.id]
    exact = [each for each in entries if each.share_id == device.share_id]
    if exact or not is_only_share:
        return exact[0] if exact else None
    # An entry without a share ID cannot mean another share than the only one.
    return next((each for each in entries if not each.share_id), None)


def _readiness(device: AllocatedDevice, status: DeviceStatus | None) -> DeviceReadiness:
    if not device.binding_conditions:
        return DeviceReadiness(device, status is not None)
    true = {each.type: each for each in status.conditions if each.status == "True"} if status else {}
    return DeviceReadiness(
        device=device,
        is_reported=status is not None,
        met=tuple(kind for kind in device.binding_conditions if kind in true),
        missing=tuple(kind for kind in device.binding_conditions if kind not in true),
        failed=tuple(true[kind] for kind in device.binding_failure_conditions if kind in true),
    )
