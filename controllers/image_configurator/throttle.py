# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slows down a claim that is refused again and again for the same reason.

The scheduler answers a failure condition with a new allocation of the same claim, which would be
refused again a few seconds later, for ever: about one round every 7 s (observed on Kubernetes
1.36.3). Only the time at which the failure is written can slow this down, so the first refusal is
written at once and each repetition later than the one before.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

FIRST_DELAY_SECONDS = 10.0
LONGEST_DELAY_SECONDS = 300.0  # half of the scheduler's default binding timeout


@dataclass(frozen=True, slots=True)
class Refusal:
    """How often a claim has been refused in the same words, and when the last one is due."""

    text: str
    allocation: str
    times: int
    due: float


class Throttle:
    """The refusals of claims that still exist, by claim uid."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: dict[str, Refusal] = {}

    def refuse(self, uid: str, allocation: str, text: str, now: float) -> Refusal:
        """Count a refusal and return when it is due.

        :param allocation: identifies the allocation; the same one is counted once.
        :param now: monotonic seconds.
        """
        with self._lock:
            last = self._last.get(uid)
            if last and last.text == text and last.allocation == allocation:
                return last
            times = last.times + 1 if last and last.text == text else 1
            refusal = Refusal(text, allocation, times, now + delay_seconds(times))
            self._last[uid] = refusal
            return refusal

    def forget(self, uid: str) -> None:
        """Start anew with a claim that was served or deleted."""
        with self._lock:
            self._last.pop(uid, None)


def delay_seconds(times: int) -> float:
    """Return how long the ``times``-th refusal in the same words is held back."""
    if times <= 1:
        return 0.0
    return min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** (times - 2))
