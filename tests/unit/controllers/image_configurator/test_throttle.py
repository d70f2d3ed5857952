# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How repeated refusals are put off."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.controllers.image_configurator.throttle import Throttle, delay_seconds


@pytest.mark.parametrize(
    ("times", "seconds"), [(1, 0), (2, 10), (3, 20), (4, 40), (6, 160), (7, 300), (500, 300)]
)
def test_delays(times, seconds):
    assert delay_seconds(times) == seconds


def test_the_same_words_for_a_new_allocation_wait_longer():
    throttle = Throttle()
    assert throttle.refuse("uid", "first", "bad", now=100.0).due == 100.0
    assert throttle.refuse("uid", "second", "bad", now=107.0).due == 117.0
    assert throttle.refuse("uid", "third", "bad", now=125.0).due == 145.0


def test_one_allocation_counts_once():
    throttle = Throttle()
    throttle.refuse("uid", "first", "bad", now=0.0)
    again = throttle.refuse("uid", "second", "bad", now=7.0)
    assert throttle.refuse("uid", "second", "bad", now=16.0) == again
    assert again.times == 2


@pytest.mark.parametrize(
    "start_anew",
    [
        pytest.param(lambda throttle: throttle.forget("uid"), id="served-or-deleted"),
        pytest.param(lambda throttle: throttle.refuse("uid", "b", "worse", now=1.0), id="other-reason"),
    ],
)
def test_starting_anew(start_anew):
    throttle = Throttle()
    throttle.refuse("uid", "a", "bad", now=0.0)
    start_anew(throttle)
    assert throttle.refuse("uid", "c", "bad", now=8.0).due == 8.0


def test_claims_do_not_slow_one_another_down():
    throttle = Throttle()
    throttle.refuse("uid", "a", "bad", now=0.0)
    assert throttle.refuse("other", "b", "bad", now=1.0).due == 1.0
