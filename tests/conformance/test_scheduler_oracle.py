# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real scheduler is the oracle: random pools, classes and claims must be judged as it judges them.

``CONFORMANCE_SCENARIOS`` sets how many (200), ``CONFORMANCE_SEED`` where they begin (1). A disagreement is
cut down to a small scenario for ``CONFORMANCE_SHRINK_SECONDS`` (180) and printed.

Where slices of a pool state different counts, the scheduler's answer depends on the order in which it sees
them (kubernetes/kubernetes#141118): it must then be what follows from one of the counts, and is counted.
"""

from __future__ import annotations

import itertools
import json
import os

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, SystemClock
from ansible_collections.inference.dra.tests.conformance.oracle import Oracle, Tally
from ansible_collections.inference.dra.tests.conformance.scenarios import Generator, Scenario, smaller

SCENARIOS = int(os.environ.get("CONFORMANCE_SCENARIOS", "200"))
SEED = int(os.environ.get("CONFORMANCE_SEED", "1"))
BATCH = 100
TRIES = 40
SHRINK_SECONDS = float(os.environ.get("CONFORMANCE_SHRINK_SECONDS", "180"))

pytestmark = pytest.mark.lab


def test_what_if_equals_the_scheduler(api, capsys):
    oracle, generator, total = Oracle(api), Generator(SEED), Tally()
    for start in range(0, SCENARIOS, BATCH):
        numbers = range(start, min(start + BATCH, SCENARIOS))
        found = oracle.play([generator.scenario(number) for number in numbers])
        total.add(found)
        with capsys.disabled():
            problems = (problem for _unused, problem in found.disagreements)
            print(
                f"\nseed {SEED}, {numbers}: {total.line()}", *problems, *found.unsettled, sep="\n", flush=True
            )
    if total.disagreements:
        scenario, problem = shrunk(oracle, *total.disagreements[0])
        pytest.fail(f"{total.line()}\n{problem}\n{json.dumps(scenario, indent=1)}", pytrace=False)
    assert len(total.rejected) <= total.scenarios / 50, total.rejected[:5]
    assert len(total.unsettled) <= total.scenarios / 50, total.unsettled
    assert total.undecided <= total.pods / 50


def shrunk(oracle: Oracle, scenario: Scenario, problem: str) -> tuple[Scenario, str]:
    """Return the smallest scenario found that still disagrees, dropping parts while time lasts."""
    deadline, skip = Deadline(SystemClock(), SHRINK_SECONDS), 0
    while not deadline.expired:
        tries = list(itertools.islice(smaller(scenario), skip, skip + TRIES))
        if not tries:
            break
        found = oracle.play(tries).disagreements
        if found:
            scenario, problem = min(found, key=lambda each: len(json.dumps(each[0])))
        skip = 0 if found else skip + TRIES
    return scenario, problem
