# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Carry plans out: start steps, wait for operations, wait for what is in the way, all with one deadline.

Plans of different objects run side by side, as far as the API lets them: a step that is refused because
another operation is under way waits for exactly that operation and is tried again. Nothing is started
twice: an operation that already runs is taken over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from .._core.change import Action, Plan, Step
from .._core.operations import ErrorKind, Operation
from .clock import Clock, Deadline
from .google import GoogleError

Progress = Callable[[str], None]

# Polls begin quickly and slow down with the age of the operation, to gcloud's five seconds.
SHORTEST_WAIT = 0.2
LONGEST_WAIT = 5.0
SHARE_OF_AGE = 0.06
# A busy cluster that names no operation, too many requests, a failing server.
FIRST_BACK_OFF = 1.0
LONGEST_BACK_OFF = 30.0
TRIES_AT_A_FAILING_SERVICE = 8


class Api(Protocol):
    """What carrying out needs: to start a step, and to look at operations."""

    def start(self, step: Step) -> Operation:
        """Make the step's call."""

    def look(self, operation: str) -> Operation:
        """Return the operation as it is now."""

    def running(self, step: Step) -> Operation | None:
        """Return the operation that already does the step, if there is one."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a plan ended early.

    :param operation: the operation that failed or still runs; empty for a refused request.
    """

    kind: ErrorKind
    message: str
    step: str
    operation: str = ""


class Run:
    """One plan on its way.

    ``done`` are the steps that took effect, ``operations`` the names of all operations it started or
    took over, ``failure`` why it ended early.
    """

    def __init__(self, plan: Plan, api: Api, clock: Clock, progress: Progress) -> None:
        self.plan = plan
        self.done: list[Step] = []
        self.operations: list[str] = []
        self.failure: Failure | None = None
        self.due = clock.monotonic()
        self._api = api
        self._clock = clock
        self._progress = progress
        self._pending = list(plan.steps)
        self._current: Operation | None = None
        self._blocker = ""
        self._since = 0.0
        self._tries = 0

    @property
    def finished(self) -> bool:
        return self.failure is not None or not self._pending

    @property
    def under_way(self) -> bool:
        """Return whether Google is at work on it."""
        return self.failure is None and self._current is not None

    @property
    def begun(self) -> list[Step]:
        """Return the steps that took effect, and the one that Google is at work on."""
        return self.done + self._pending[: int(self.under_way)]

    def needs_us(self, *, wait: bool) -> bool:
        """Return whether there is more to do: until it ends, or until Google is at work on the last step.

        Only a creation or a deletion is left alone: whoever comes next sees it in the object's status. An
        update may already read back as done, or not yet as begun.
        """
        ends_by_itself = self.under_way and len(self._pending) == 1 and self._pending[0].action != "update"
        return not self.finished and (wait or not ends_by_itself)

    def take_over(self, operation: Operation) -> None:
        """Wait for an operation that already does the first step, instead of starting it."""
        self._progress(f"{self.plan.subject}: taking over {operation.name}")
        self._wait_for(operation)

    def advance(self) -> None:
        """Do what is due: start the next step, or look at the operation it waits for."""
        try:
            if self._blocker:
                self._look_at_blocker()
            elif self._current:
                self._look(self._current)
            else:
                self._start(self._pending[0])
        except GoogleError as problem:
            self._consider(problem, self._pending[0])

    def out_of_time(self, seconds: float) -> None:
        """End the run because the deadline has passed; what runs at Google goes on running."""
        running = self._current.name if self._current else self._blocker
        state = f"{running} still runs" if running else "it could not be started"
        message = f"not finished within {seconds:.0f} s: {state}"
        self.failure = Failure("timeout", message, self._pending[0].sentence(), running)

    def _start(self, step: Step) -> None:
        operation = self._api.start(step)
        self._progress(f"{step.sentence()}: started" + f" {operation.name}" * bool(operation.name))
        self._tries = 0
        self._wait_for(operation)
        if operation.done:
            self._end(operation)

    def _look(self, current: Operation) -> None:
        operation = self._api.look(current.name)
        self._tries = 0
        if operation.done:
            self._end(operation)
            return
        if operation.progress and operation.progress != current.progress:
            self._progress(f"{self.plan.subject}: {operation.progress}")
        self._current = operation
        self._poll_later()

    def _look_at_blocker(self) -> None:
        if self._api.look(self._blocker).done:
            self._blocker = ""
        else:
            self._poll_later()

    def _end(self, operation: Operation) -> None:
        step = self._pending[0]
        self._current = None
        self.due = self._clock.monotonic()
        if operation.failed:
            self.failure = Failure(operation.kind, operation.message, step.sentence(), operation.name)
            self._progress(f"{step.sentence()}: failed ({operation.kind}): {operation.message}")
            return
        self._pending.pop(0)
        self.done.append(step)
        self._progress(f"{step.sentence()}: done")

    def _wait_for(self, operation: Operation) -> None:
        self._current = operation
        self._since = self._clock.monotonic()
        if operation.name:
            self.operations.append(operation.name)
        self._poll_later()

    def _poll_later(self) -> None:
        now = self._clock.monotonic()
        wait = min(LONGEST_WAIT, max(SHORTEST_WAIT, SHARE_OF_AGE * (now - self._since)))
        self.due = now + wait

    def _consider(self, problem: GoogleError, step: Step) -> None:
        """Decide what a refused request means: it is settled, wait, try again, or end."""
        if problem.kind == "not_found" and self._is_gone(step):
            return
        if self._was_created_by_a_lost_request(problem, step):
            return
        if not problem.retryable:
            self._fail(problem, step)
        elif problem.blocker:
            self._progress(f"{step.sentence()}: waits for {problem.blocker}")
            self._blocker, self._since = problem.blocker, self._clock.monotonic()
            self._poll_later()
        else:
            self._try_again(problem, step)

    def _is_gone(self, step: Step) -> bool:
        if self._blocker:
            self._blocker = ""  # what was in the way is gone
            return True
        if self._current:
            # Operations are forgotten some time after they end: the object itself tells how it went.
            self._end(Operation(self._current.name, done=True))
            return True
        if step.action == "delete":
            self._end(Operation("", done=True))
            return True
        return False

    def _was_created_by_a_lost_request(self, problem: GoogleError, step: Step) -> bool:
        """Say whether an earlier try, whose answer never came, is what made the object exist."""
        if self._current or not self._tries or step.action != "create":
            return False
        if "already exists" not in problem.message.lower():
            return False
        running = self._api.running(step)
        if running:
            self.take_over(running)
        else:
            self._end(Operation("", done=True))
        return True

    def _try_again(self, problem: GoogleError, step: Step) -> None:
        self._tries += 1
        if problem.kind == "unavailable" and self._tries >= TRIES_AT_A_FAILING_SERVICE:
            self._fail(problem, step)
            return
        pause = min(LONGEST_BACK_OFF, FIRST_BACK_OFF * 2 ** (self._tries - 1))
        self._progress(f"{step.sentence()}: {problem.message}; next try in {pause:.0f} s")
        self.due = self._clock.monotonic() + pause

    def _fail(self, problem: GoogleError, step: Step) -> None:
        running = self._current.name if self._current else ""
        self.failure = Failure(problem.kind, problem.message, step.sentence(), running)


def carry_out(
    api: Api,
    plans: Iterable[Plan],
    deadline: Deadline,
    progress: Progress = lambda _text: None,
    adopted: Mapping[str, Operation] | None = None,
    *,
    wait: bool = True,
) -> list[Run]:
    """Return one finished run per plan, each with its failure if it has one.

    :param deadline: one limit for all of them; what still runs then is reported with its name.
    :param progress: called with a sentence whenever something begins or ends.
    :param adopted: per subject, a running operation that already does the plan's first step.
    :param wait: whether to see them through. Else a plan that ends with a creation or a deletion returns
        with that one under way.
    """
    runs = [Run(plan, api, deadline.clock, progress) for plan in plans]
    for run in runs:
        taken = (adopted or {}).get(run.plan.subject)
        if taken and not run.finished:
            run.take_over(taken)
    while unfinished := [run for run in runs if run.needs_us(wait=wait)]:
        if deadline.expired:
            for run in unfinished:
                run.out_of_time(deadline.seconds)
            break
        for run in unfinished:
            if deadline.clock.monotonic() >= run.due:
                run.advance()
        _sleep_until_due([run for run in runs if run.needs_us(wait=wait)], deadline)
    return runs


def wait_for(
    api: Api, operations: Mapping[str, Operation], deadline: Deadline, progress: Progress
) -> list[Run]:
    """Return one run per operation, one operation per subject, when all have ended."""
    plans = [
        Plan(subject, (Step(_action(operation), subject, ""),)) for subject, operation in operations.items()
    ]
    return carry_out(api, plans, deadline, progress, operations)


def _action(operation: Operation) -> Action:
    """Return what an operation of GKE does, by its type (``CREATE_NODE_POOL``)."""
    actions: dict[str, Action] = {"CREATE": "create", "DELETE": "delete"}
    return actions.get(operation.type.partition("_")[0], "update")


def _sleep_until_due(runs: Iterable[Run], deadline: Deadline) -> None:
    due = [run.due for run in runs]
    if due:
        pause = min(due) - deadline.clock.monotonic()
        deadline.clock.sleep(max(0.0, min(pause, deadline.remaining)))
