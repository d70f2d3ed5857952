# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans are carried out side by side, with one deadline, waiting for exactly what is in the way."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.change import Plan, Step
from ansible_collections.inference.dra.plugins.module_utils._core.operations import Operation
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, ManualClock
from ansible_collections.inference.dra.plugins.module_utils._ports.google import GoogleError
from ansible_collections.inference.dra.plugins.module_utils._ports.google_run import carry_out, wait_for

MINUTE = 60.0


def refused(kind="invalid", message="no", *, retryable=False) -> GoogleError:
    return GoogleError("change", message, kind, retryable=retryable)


BUSY = "Cluster is running incompatible operation operation-other."


class FakeApi:
    """Operations that end after a time; ``refusals`` answer the first calls of a step."""

    def __init__(self, clock: ManualClock, *, takes: float = MINUTE) -> None:
        self.clock = clock
        self.takes = takes
        self.refusals: dict[str, list[GoogleError]] = {}
        self.failing: dict[str, Operation] = {}
        self.ends: dict[str, float] = {}
        self.started: list[tuple[str, float]] = []
        self.looks = 0
        self.look_refusals: list[GoogleError] = []
        self.already_running: Operation | None = None

    def start(self, step: Step) -> Operation:
        self.started.append((step.name, self.clock.monotonic()))
        if self.refusals.get(step.name):
            raise self.refusals[step.name].pop(0)
        name = f"operation-{step.name}-{len(self.started)}"
        self.ends[name] = self.clock.monotonic() + self.takes
        return Operation(name)

    def look(self, operation: str) -> Operation:
        self.looks += 1
        if self.look_refusals:
            raise self.look_refusals.pop(0)
        if operation not in self.ends:
            raise refused("not_found")
        done = self.clock.monotonic() >= self.ends[operation]
        if done and operation in self.failing:
            return self.failing[operation]
        return Operation(operation, done=done)

    def running(self, step: Step) -> Operation | None:
        return self.already_running


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 8, 1, tzinfo=timezone.utc))


@pytest.fixture
def api(clock) -> FakeApi:
    return FakeApi(clock)


def plan(name: str, *actions: str) -> Plan:
    subject = f"NodePool demo/{name}"
    return Plan(subject, tuple(Step(action, subject, f"{action}_node_pool") for action in actions))


def run(api: FakeApi, *plans: Plan, seconds: float = 3600.0, say: Callable[[str], None] = lambda _: None):
    return carry_out(api, plans, Deadline(api.clock, seconds), say)


def test_steps_of_one_plan_follow_each_other_and_plans_run_side_by_side(api):
    runs = run(api, plan("a", "update", "update"), plan("b", "create"))
    assert [len(each.done) for each in runs] == [2, 1]
    assert [name for name, _time in api.started] == ["a", "b", "a"]
    second = api.started[2][1]
    assert MINUTE <= second <= MINUTE * 1.2
    assert api.clock.monotonic() <= 2 * MINUTE * 1.2


def test_polls_slow_down_with_the_age_of_the_operation(api):
    api.takes = 1800.0
    run(api, plan("a", "create"))
    assert api.looks < 1800 / 5 + 60
    assert api.clock.monotonic() < 1800 + 6


def test_C41_the_named_operation_is_waited_for(api):  # noqa: N802 - field case
    api.ends["operation-other"] = 100.0
    api.refusals["a"] = [refused("conflict", BUSY, retryable=True)]
    [done] = run(api, plan("a", "create"))
    assert done.failure is None
    assert len(api.started) == 2
    assert 100.0 <= api.started[1][1] <= 110.0


def test_C41_an_operation_that_is_gone_is_no_longer_in_the_way(api):  # noqa: N802 - field case
    api.refusals["a"] = [refused("conflict", BUSY, retryable=True)]
    [done] = run(api, plan("a", "create"))
    assert done.failure is None
    assert len(api.started) == 2


def test_C41_an_unnamed_conflict_backs_off_until_the_deadline(api):  # noqa: N802 - field case
    api.refusals["a"] = [refused("conflict", "Too many operations", retryable=True)] * 1000
    [done] = run(api, plan("a", "create"), seconds=300.0)
    assert done.failure.kind == "timeout"
    assert "could not be started" in done.failure.message
    assert len(api.started) < 20
    assert api.clock.monotonic() <= 301


def test_C41_a_failing_service_is_given_a_few_tries(api):  # noqa: N802 - field case
    api.refusals["a"] = [refused("unavailable", "503", retryable=True)] * 1000
    [done] = run(api, plan("a", "create"))
    assert done.failure.kind == "unavailable"
    assert len(api.started) == 8


@pytest.mark.parametrize("kind", ["invalid", "permission", "not_enabled", "quota", "version", "conflict"])
def test_C41_a_real_refusal_is_not_tried_again(api, kind):  # noqa: N802 - field case
    api.refusals["a"] = [refused(kind)]
    broken, other = run(api, plan("a", "create", "update"), plan("b", "create"))
    assert broken.failure.kind == kind
    assert other.failure is None
    assert [name for name, _time in api.started].count("a") == 1


def test_C42_done_with_an_error_is_a_failure(api):  # noqa: N802 - field case
    api.failing["operation-a-1"] = Operation(
        "operation-a-1", done=True, failed=True, message="no machines", kind="stockout"
    )
    [broken] = run(api, plan("a", "create", "update"))
    assert (broken.failure.kind, broken.failure.operation) == ("stockout", "operation-a-1")
    assert broken.done == []


def test_a_timeout_names_what_still_runs(api):
    api.takes = 10_000.0
    [late] = run(api, plan("a", "create"), seconds=100.0)
    assert late.failure.kind == "timeout"
    assert late.failure.operation == "operation-a-1"
    assert 100 <= api.clock.monotonic() <= 100.1


def test_a_running_operation_is_taken_over(api):
    api.ends["operation-old"] = 50.0
    the_plan = plan("a", "create")
    [done] = carry_out(
        api, [the_plan], Deadline(api.clock, 100.0), adopted={the_plan.subject: Operation("operation-old")}
    )
    assert (done.failure, done.operations, api.started) == (None, ["operation-old"], [])


def test_a_creation_whose_answer_was_lost_is_not_made_twice(api):
    api.ends["operation-lost"] = 50.0
    api.already_running = Operation("operation-lost")
    exists = refused("conflict", "Already exists: nodePools/a.")
    api.refusals["a"] = [refused("unavailable", "503", retryable=True), exists]
    [done] = run(api, plan("a", "create"))
    assert (done.failure, done.operations) == (None, ["operation-lost"])


def test_a_creation_that_somebody_else_made_is_a_conflict(api):
    api.refusals["a"] = [refused("conflict", "Already exists: nodePools/a.")]
    [done] = run(api, plan("a", "create"))
    assert done.failure.kind == "conflict"


def test_deleting_what_is_gone_is_done(api):
    api.refusals["a"] = [refused("not_found")]
    [done] = run(api, plan("a", "delete"))
    assert done.failure is None
    assert len(done.done) == 1


def test_failing_polls_are_ridden_out_and_a_forgotten_operation_has_ended(api):
    api.look_refusals = [refused("unavailable", "503", retryable=True)] * 5
    [done] = run(api, plan("a", "create"))
    assert done.failure is None
    api.look_refusals = [refused("not_found")]
    [forgotten] = run(api, plan("b", "create"))
    assert forgotten.failure is None


def test_progress_says_what_begins_and_ends(api):
    said = []
    run(api, plan("a", "create"), say=said.append)
    assert said == [
        "create NodePool demo/a: started operation-a-1",
        "create NodePool demo/a: done",
    ]


def test_waiting_for_operations_starts_nothing(api):
    api.ends["operation-x"] = 30.0
    [done] = wait_for(
        api, {"NodePool demo/a": Operation("operation-x")}, Deadline(api.clock, 100.0), lambda _text: None
    )
    assert (done.failure, api.started) == (None, [])


def test_without_waiting_only_a_creation_or_deletion_at_the_end_is_left_under_way(api, clock):
    api.refusals["second"] = [refused("conflict", BUSY, retryable=True)]
    api.ends["operation-other"] = clock.monotonic() + MINUTE
    plans = [
        plan("first", "delete", "create"),
        plan("second", "create"),
        plan("third", "update"),
        plan("fourth", "delete"),
    ]
    runs = carry_out(api, plans, Deadline(clock, 10 * MINUTE), wait=False)
    assert [run.failure for run in runs] == [None] * 4
    assert [run.finished for run in runs] == [False, False, True, False]
    assert [[step.action for step in run.done] for run in runs] == [["delete"], [], ["update"], []]
    assert [[step.action for step in run.begun] for run in runs] == [
        ["delete", "create"],
        ["create"],
        ["update"],
        ["delete"],
    ]


def test_an_operation_that_is_waited_for_is_called_what_it_is(api, clock):
    said = []
    operations = {f"NodePool demo/{name}": Operation(name, type=type_) for name, type_ in TYPES.items()}
    api.ends = dict.fromkeys(TYPES, clock.monotonic() + MINUTE)
    wait_for(api, operations, Deadline(clock, 10 * MINUTE), said.append)
    assert said[3:] == [
        "create NodePool demo/new: done",
        "delete NodePool demo/old: done",
        "update NodePool demo/sized: done",
    ]


TYPES = {"new": "CREATE_NODE_POOL", "old": "DELETE_NODE_POOL", "sized": "SET_NODE_POOL_SIZE"}
