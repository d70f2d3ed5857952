# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a claim went through while somebody watched it.

A scheduler that gives an allocation up starts a new one: another wait, perhaps for the same device.
And a True condition may vanish again when somebody replaces the status list; once all were True for
an allocation, the scheduler goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from .claim_report import ClaimReport
from .slices import DeviceId
from .verdict import Verdict

_LOOP = 3  # allocations of one and the same device are a loop, twice may be chance


@dataclass(frozen=True, slots=True)
class ClaimHistory:
    """The allocations of one claim seen so far.

    :param uid: of the claim; another UID is another claim, and the history starts anew.
    :param allocations: what each allocation gave, in order.
    :param allocated_at: timestamp of the newest allocation.
    :param was_ready: whether the newest allocation has been seen ready.
    """

    uid: str = ""
    allocations: tuple[frozenset[DeviceId], ...] = ()
    allocated_at: datetime | None = None
    is_allocated: bool = False
    was_ready: bool = False

    def observe(self, report: ClaimReport) -> ClaimHistory:
        """Return the history with one more look at the claim."""
        if report.uid != self.uid:
            return ClaimHistory(uid=report.uid).observe(report)
        if not report.devices:
            return replace(self, is_allocated=False, was_ready=False)
        devices = frozenset(each.device.id for each in report.devices)
        is_ready = report.state == "ready"
        if self.is_allocated and (devices, report.allocated_at) == (self.allocations[-1], self.allocated_at):
            return replace(self, was_ready=self.was_ready or is_ready)
        return replace(
            self,
            allocations=(*self.allocations, devices),
            allocated_at=report.allocated_at,
            is_allocated=True,
            was_ready=is_ready,
        )

    @property
    def allocations_seen(self) -> int:
        return len(self.allocations)

    def verdicts(self, subject: str) -> Iterator[Verdict]:
        """Yield a warning where the scheduler keeps choosing the same devices."""
        same = 0
        for devices in reversed(self.allocations):
            if devices != self.allocations[-1]:
                break
            same += 1
        if same >= _LOOP:
            yield Verdict(
                "warning",
                "AllocationLoop",
                subject,
                observed=f"allocated {same} times in a row on "
                + ", ".join(sorted(str(each) for each in self.allocations[-1])),
                expected="another device after a failed preparation",
                advice="taint the device or let its driver withdraw it; nothing else keeps it out",
            )
