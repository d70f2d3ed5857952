# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's one thread: timers in simulated seconds, failures that come back."""

from __future__ import annotations

import threading
from datetime import datetime, timezone

import pytest

from ansible_collections.inference.dra.lab.loop import Loop
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import (
    ManualClock,
    SystemClock,
)

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def test_a_delay_is_divided_by_the_speed():
    clock, done = ManualClock(NOW), []
    loop = Loop(clock, speed=20)
    loop.after(60, lambda: done.append("minute"))
    loop.after(20, lambda: done.append("third"))
    clock.sleep(2.9)
    loop.run_due()
    assert done == ["third"]
    clock.sleep(0.2)
    loop.run_due()
    assert done == ["third", "minute"]


def test_a_cancelled_timer_does_nothing():
    clock, done = ManualClock(NOW), []
    loop = Loop(clock)
    loop.after(1, lambda: done.append(1)).cancel()
    clock.sleep(2)
    loop.run_due()
    assert done == []


@pytest.mark.parametrize("speed", [0, -1])
def test_a_speed_that_is_none_is_refused(speed):
    with pytest.raises(ValueError, match="speed"):
        Loop(ManualClock(NOW), speed)


def test_another_thread_gets_the_answer_or_the_error():
    loop = Loop(SystemClock())
    thread = threading.Thread(target=loop.run)
    thread.start()
    try:
        assert loop.call(lambda: 42) == 42
        with pytest.raises(ZeroDivisionError):
            loop.call(lambda: 1 // 0)
        assert loop.call(lambda: "still here") == "still here"
    finally:
        loop.stop()
        thread.join(5)
