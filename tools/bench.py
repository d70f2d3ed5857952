# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the budgets (``tests/bench``) and refresh the table in ``docs/performance.md`` from the numbers.

Arguments are handed to pytest: ``bench.py -k slices`` measures again only what is about slices.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import snapshot

PAGE = snapshot.ROOT / "docs" / "performance.md"
RESULTS = snapshot.ROOT / "build" / "bench.json"
TABLE = re.compile(r"(<!-- bench: table -->\n).*?(<!-- bench: end -->)", re.DOTALL)
NO_TESTS_COLLECTED = 5


def amount(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:,g} {unit}".strip()


def row(entry: Mapping[str, Any]) -> str:
    """Return one line of the table; a number over its budget is marked."""
    value = amount(entry["value"], entry["unit"])
    if entry["within_budget"] is False:
        value = f"**{value}** (over)"
    baseline = entry["baseline"]
    if entry["baseline_value"] is not None:
        baseline += f": {amount(entry['baseline_value'], entry['unit'])}"
    ratio = "" if entry["ratio"] is None else f"{entry['ratio']:.2g}"
    return f"| {entry['name']} | {value} | {amount(entry['budget'], entry['unit'])} | {baseline} | {ratio} |"


def refreshed(page: str, entries: Iterable[Mapping[str, Any]]) -> str:
    """Return the page with the table between its markers made anew."""
    head = "| what | measured | budget | instead of | ratio |\n| --- | --- | --- | --- | --- |"
    lines = "\n".join([head, *(row(entry) for entry in entries)])
    return TABLE.sub(lambda found: f"{found[1]}{lines}\n{found[2]}", page)


def main() -> int:
    """Return pytest's status; 0 also where no benchmark exists yet, which is said."""
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "tests/bench", *sys.argv[1:]]
    status = subprocess.run(
        command, check=False, cwd=snapshot.ROOT, env=snapshot.tool_environment()
    ).returncode
    if status == NO_TESTS_COLLECTED:
        print("no benchmark was selected")
        return 0
    if RESULTS.exists():
        PAGE.write_text(refreshed(PAGE.read_text(), json.loads(RESULTS.read_text())))
        print(f"numbers: {RESULTS.relative_to(snapshot.ROOT)}, table: {PAGE.relative_to(snapshot.ROOT)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
