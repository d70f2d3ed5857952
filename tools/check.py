# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the checks of the repository by name: one step, a few, or everything that CI runs.

``check.py ruff`` runs one step and shows what it prints. ``check.py ruff mypy`` runs both at once, two
on two cores, prints a line with the seconds of each and the whole output of those that fail. With
``--last`` the named step runs after the others and prints as it goes; it is a pytest run, so that a
person and a machine find the closing line where they expect it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import snapshot
from steps import STEPS, Step

NO_TESTS_COLLECTED = 5
SKIPPED = -1000  # no process ends with it
ENDING_LINES = 12


@dataclass(frozen=True)
class Outcome:
    """How one step went; ``output`` is everything it printed."""

    step: Step
    status: int
    seconds: float
    output: str = ""

    @property
    def word(self) -> str:
        return {0: "ok", NO_TESTS_COLLECTED: "none", SKIPPED: "skip"}.get(self.status, "FAILED")

    @property
    def failed(self) -> bool:
        return self.word == "FAILED"

    def line(self) -> str:
        note = {"none": " (no test yet)", "skip": f" ({self.output})"}.get(self.word, "")
        return f"{self.word:6} {self.step.name:13} {self.seconds:6.1f} s  {self.step.about}{note}"

    def ending(self) -> str:
        """What says why a step failed, short enough for the end of a log of which only the end is shown."""
        alarming = re.compile(r"error|fail|fatal", re.IGNORECASE)
        lines = self.output.splitlines()
        telling = [line for line in lines if alarming.search(line)] or lines
        return "\n".join([f"{self.step.name}:", *(f"  {line[:300]}" for line in telling[-ENDING_LINES:])])


def run(step: Step, *, show: bool) -> Outcome:
    """Run the commands of a step one after the other until one fails.

    What this machine cannot do is skipped with the reason. In CI it is a failure, unless not even CI has to
    have what it needs.
    """
    obstacle = step.obstacle()
    if obstacle:
        fails = step.wanted_in_ci and os.environ.get("CI") == "true"
        return Outcome(step, status=1 if fails else SKIPPED, seconds=0, output=obstacle)
    started = time.monotonic()
    printed: list[str] = []
    status = 0
    for command in step.commands():
        done = subprocess.run(
            command,
            check=False,
            cwd=step.directory(),
            env=snapshot.tool_environment() | step.environment,
            stdin=subprocess.DEVNULL,
            stdout=None if show else subprocess.PIPE,
            stderr=None if show else subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        printed.append(done.stdout or "")
        status = done.returncode
        if status:
            break
    if status == NO_TESTS_COLLECTED and not step.pytest:
        status = 1
    return Outcome(step, status, time.monotonic() - started, "".join(printed))


def run_together(steps: Sequence[Step]) -> list[Outcome]:
    """Run steps side by side, the longest first, and report each as it ends."""
    outcomes = []
    with ThreadPoolExecutor(max_workers=min(len(steps), os.cpu_count() or 2)) as workers:
        longest_first = sorted(steps, key=lambda step: -step.weight)
        waiting = [workers.submit(run, step, show=False) for step in longest_first]
        for done in as_completed(waiting):
            outcome = done.result()
            outcomes.append(outcome)
            print(outcome.line(), flush=True)
            if outcome.failed:
                print(f"{'-' * 20} {outcome.step.name}\n{outcome.output}{'-' * 20}", flush=True)
    return outcomes


def main() -> int:
    """Run what the command line names; return 0 if all of it holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*STEPS, []], metavar="STEP", help=", ".join(STEPS))
    parser.add_argument("--last", choices=STEPS, help="run this one after the others, printing as it goes")
    wanted = parser.parse_args()
    steps = [STEPS[name] for name in wanted.names if name != wanted.last]
    if len(steps) == 1 and not wanted.last:
        outcome = run(steps[0], show=True)
        print(outcome.line())
        return int(outcome.failed)
    outcomes = run_together(steps)
    if wanted.last:
        final = STEPS[wanted.last]
        print(f"run    {final.name:13}           {final.about}", flush=True)
        outcomes.append(run(final, show=True))
    failed = [outcome for outcome in outcomes if outcome.failed]
    for outcome in failed:
        if outcome.step.name != wanted.last:  # which has just printed all of it
            print(outcome.ending(), file=sys.stderr)
    if failed:
        print(f"failed: {', '.join(outcome.step.name for outcome in failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
