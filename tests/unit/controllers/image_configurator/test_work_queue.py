# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys are handed out once, in order, and never to two threads."""

from __future__ import annotations

import threading
from datetime import datetime, timezone

import pytest

from ansible_collections.inference.dra.controllers.image_configurator.work_queue import WorkQueue
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import ManualClock

A, B = ("ns", "a"), ("ns", "b")


@pytest.fixture
def clock():
    return ManualClock(datetime(2026, 11, 30, tzinfo=timezone.utc))


@pytest.fixture
def queue(clock):
    return WorkQueue(clock)


def test_order_and_no_doubles(queue):
    for key in (A, B, A, A):
        queue.add(key)
    assert [queue.take(), queue.take()] == [A, B]
    assert len(queue) == 2  # both are being worked on


def test_a_key_that_changes_during_work_comes_again_afterwards(queue):
    queue.add(A)
    queue.take()
    queue.add(A)
    queue.add(B)
    assert queue.take() == B
    queue.done(A)
    assert queue.take() == A


def test_a_key_that_did_not_change_does_not_come_again(queue):
    queue.add(A)
    queue.done(queue.take())
    assert len(queue) == 0


def test_later_means_when_the_time_has_passed(queue, clock):
    queue.add_after(A, 10.0)
    queue.add(B)
    assert queue.take() == B
    clock.sleep(10.0)
    assert queue.take() == A


def test_later_for_a_key_in_work(queue, clock):
    queue.add(A)
    queue.take()
    queue.add_after(A, 1.0)
    clock.sleep(1.0)
    queue.add(B)
    assert queue.take() == B
    queue.done(A)
    assert queue.take() == A


def test_closing_lets_everybody_go(queue):
    queue.add(A)
    queue.close()
    assert queue.take() is None


def test_idle_is_when_nothing_waits_and_nothing_is_in_work(queue):
    assert queue.wait_until_idle(0)
    queue.add(A)
    assert not queue.wait_until_idle(0)
    queue.take()
    assert not queue.wait_until_idle(0)
    queue.done(A)
    assert queue.wait_until_idle(0)
    queue.add_after(A, 10.0)
    assert queue.wait_until_idle(0)


def test_who_waits_for_idleness_is_woken(queue):
    queue.add(A)
    waiting = threading.Thread(target=queue.wait_until_idle, args=(60,))
    waiting.start()
    queue.done(queue.take())
    waiting.join(10)
    assert not waiting.is_alive()
