# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a benchmark hands in its number: ``measured(name, value, unit, budget=…, baseline=…)``.

The numbers of a run go to ``build/bench.json``. A run of some benchmarks replaces their entries and
keeps the others.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RESULTS = Path(__file__).resolve().parents[2] / "build" / "bench.json"
ENTRIES = pytest.StashKey[list]()


def entry(name, value, unit, *, budget=None, baseline="", baseline_value=None):
    """Return one entry of the file.

    :param value: what was measured; less is better, as in every budget.
    :param budget: the most it may be, in ``unit``; None where there is no promise.
    :param baseline: what a user would do instead, and ``baseline_value`` what that measured here and now.
    """
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "budget": budget,
        "within_budget": None if budget is None else value <= budget,
        "baseline": baseline,
        "baseline_value": baseline_value,
        "ratio": round(value / baseline_value, 4) if baseline_value else None,
    }


@pytest.fixture
def measured(request):
    """Return the function that keeps a number; a number over its budget fails the benchmark."""

    def keep(name, value, unit, **comparison):
        kept = entry(name, value, unit, **comparison)
        request.config.stash.setdefault(ENTRIES, []).append(kept)
        assert kept["within_budget"] is not False, (
            f"{name}: {value:g} {unit}, the budget is {kept['budget']:g}"
        )

    return keep


def pytest_sessionfinish(session):
    new = session.config.stash.get(ENTRIES, [])
    if new:
        old = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
        by_name = {kept["name"]: kept for kept in [*old, *new]}
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(list(by_name.values()), indent=2) + "\n")
