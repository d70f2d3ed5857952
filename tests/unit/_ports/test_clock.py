# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time as an argument: what a deadline leaves, and a clock that only moves when it is told to."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import (
    Deadline,
    ManualClock,
    SystemClock,
)

NOON = datetime(2026, 9, 1, 12, tzinfo=timezone.utc)


def test_manual_clock_moves_both_times_by_what_is_slept():
    clock = ManualClock(NOON)
    clock.sleep(90)
    assert (clock.now(), clock.monotonic()) == (NOON + timedelta(seconds=90), 90)


@pytest.mark.parametrize("clock", [ManualClock(NOON), SystemClock()], ids=["manual", "system"])
def test_time_never_goes_back(clock):
    before = clock.monotonic()
    clock.sleep(-60)
    assert 0 <= clock.monotonic() - before < 60


def test_system_clock_is_aware():
    assert SystemClock().now().utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("slept", "elapsed", "remaining", "expired"),
    [(0, 0, 10, False), (9.5, 9.5, 0.5, False), (10, 10, 0, True), (25, 25, 0, True)],
    ids=["at the start", "just before", "exactly over", "long over"],
)
def test_deadline(slept, elapsed, remaining, expired):
    clock = ManualClock(NOON)
    clock.sleep(7)  # a deadline starts when it is made, not with the clock
    deadline = Deadline(clock, 10)
    clock.sleep(slept)
    assert (deadline.elapsed, deadline.remaining, deadline.expired) == (elapsed, remaining, expired)


def test_deadline_of_no_time_is_over_at_once():
    assert Deadline(ManualClock(NOON), 0).expired
