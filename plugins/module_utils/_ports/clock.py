# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time as an argument: what the rest of the collection knows about "now" comes through here."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Protocol


class Clock(Protocol):
    """Wall time for comparison with API timestamps, monotonic time for waiting."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start; never goes back."""

    def sleep(self, seconds: float) -> None:
        """Let ``seconds`` pass."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(timezone.utc)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))


class ManualClock:
    """A clock that moves only when told to (or slept on): hours of waiting in microseconds."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._elapsed = 0.0

    def now(self) -> datetime:
        return self._now + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    def sleep(self, seconds: float) -> None:
        self._elapsed += max(0.0, seconds)


@dataclass(frozen=True)
class Deadline:
    """One limit for a whole operation, however many steps it takes."""

    clock: Clock
    seconds: float
    started: float = field(default=-1.0)

    def __post_init__(self) -> None:
        if self.started < 0:
            object.__setattr__(self, "started", self.clock.monotonic())

    @property
    def elapsed(self) -> float:
        return self.clock.monotonic() - self.started

    @property
    def remaining(self) -> float:
        """Return the seconds left, never below zero."""
        return max(0.0, self.seconds - self.elapsed)

    @property
    def expired(self) -> bool:
        return self.remaining <= 0
