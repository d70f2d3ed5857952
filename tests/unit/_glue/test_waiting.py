# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A wait, look by look: when it ends, when it gives up early, what it says on the way."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.workload_report import Selection
from ansible_collections.inference.dra.plugins.module_utils._glue.result import ModuleFailure
from ansible_collections.inference.dra.plugins.module_utils._glue.waiting import follow
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, ManualClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    Forbidden,
    KubernetesError,
    Unreachable,
)
from ansible_collections.inference.dra.tests.unit._core.dra_objects import (
    FAILED,
    NOW,
    UPDATED,
    claim,
    consumer,
    gate_result,
    owned_by,
    pod,
    result,
    status_of,
    template,
)

UPDATED_AT, FAILED_AT = (each.partition("/")[2].replace("-", "_") for each in (UPDATED, FAILED))
GENERATED = [{"name": "hardware", "resourceClaimName": "claim-a"}]
OWNED = {"owner": owned_by(), "pod_claim": "hardware", "consumers": [consumer()]}
PENDING = claim()
ALLOCATED = claim(results=[result(), gate_result()], **OWNED)
READY = claim(
    results=[result(), gate_result()],
    statuses=[status_of(gate_result(), **{UPDATED_AT: "True"})],
    **OWNED,
)
BROKEN = claim(
    results=[result(), gate_result()],
    statuses=[status_of(gate_result(), **{FAILED_AT: "True"})],
    **OWNED,
)
POD = pod(generated=GENERATED)
BOUND = pod(generated=GENERATED, node="node-a")
RUNNING = pod(
    generated=GENERATED,
    node="node-a",
    phase="Running",
    status={"conditions": [{"type": "Ready", "status": "True"}]},
)


class Looks:
    """What a watch shows, one look after another; each costs a second, the last one stays."""

    def __init__(self, clock, looks, *, failures=None) -> None:
        self._clock = clock
        self._looks = list(looks)
        self.failures = failures or {}
        self.forbidden: set[str] = set()
        self.polled: set[str] = set()
        self.is_complete = True

    def wait(self, seconds) -> None:
        self._clock.sleep(min(1.0, seconds))

    def objects(self):
        look = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
        kinds = {"ResourceClaim": [], "Pod": [], "ResourceClaimTemplate": [template()]}
        for each in look:
            kinds.setdefault(each["kind"], []).append(each)
        return kinds


def wait(*looks, goal="ready", seconds=10, if_none="fail", stop_early=True, **options):
    clock = ManualClock(NOW)
    lines: list[str] = []
    watching = Looks(clock, looks, **options)
    params = {"binding_timeout_seconds": 600, "stop_early": stop_early, "if_none": if_none}
    found = follow(
        watching, params, Selection("llm"), goal, deadline=Deadline(clock, seconds), say=lines.append
    )
    return found, lines


GOALS = {
    "allocated": ("allocated", [[PENDING, POD], [ALLOCATED, POD], [READY, POD]], 2),
    "ready": ("ready", [[PENDING, POD], [ALLOCATED, POD], [READY, POD]], 3),
    "bound": ("bound", [[READY, POD], [READY, BOUND], [READY, RUNNING]], 2),
    "running": ("running", [[READY, POD], [READY, BOUND], [READY, RUNNING]], 3),
    "absent": ("absent", [[READY, RUNNING], [READY], []], 3),
}


@pytest.mark.parametrize(("goal", "looks", "seconds"), GOALS.values(), ids=GOALS)
def test_ends_at_the_first_look_that_is_enough(goal, looks, seconds):
    assert wait(*looks, goal=goal)[0]["waited_seconds"] == seconds


def test_says_each_change_once():
    _unused, lines = wait([PENDING, POD], [PENDING, POD], [ALLOCATED, POD], [READY, POD])
    assert [line.partition("] ")[2].partition(",")[0] for line in lines] == [
        "claim-a: pending",
        "claim-a: allocated",
        "claim-a: ready",
    ]
    assert lines[1].startswith("[   3.0 of 10 s] ")


def test_gives_up_early_on_what_no_time_mends():
    with pytest.raises(ModuleFailure, match="Waiting longer will not help") as failure:
        wait([ALLOCATED, POD], [BROKEN, POD])
    assert failure.value.reason == "BindingConditionFailed"
    assert failure.value.facts["waited_seconds"] == 2
    assert failure.value.facts["claims"][0]["state"] == "failed"


def test_goes_on_where_it_must_not_stop_early():
    found, _unused = wait([BROKEN, POD], [READY, POD], stop_early=False)
    assert found["reached"] == 1


@pytest.mark.parametrize("seconds", [1, 10], ids=lambda seconds: f"C45-{seconds} s")
def test_deadline_returns_what_was_last_seen(seconds):
    with pytest.raises(
        ModuleFailure, match=f"0 of 1 were after {seconds} s; claim-a is allocated"
    ) as failure:
        wait([ALLOCATED, POD], seconds=seconds)
    assert failure.value.reason == "TimedOut"
    assert failure.value.facts["states"] == {"allocated": 1}
    assert failure.value.facts["waited_seconds"] == seconds


NONE = {
    "C45-fail": ("fail", "NothingMatches", 1),
    "C45-wait": ("wait", "TimedOut", 10),
}


@pytest.mark.parametrize(("if_none", "reason", "seconds"), NONE.values(), ids=NONE)
def test_nothing_there(if_none, reason, seconds):
    with pytest.raises(ModuleFailure) as failure:
        wait([], if_none=if_none)
    assert failure.value.reason == reason
    if failure.value.facts:
        assert failure.value.facts["waited_seconds"] == seconds


def test_nothing_there_may_be_fine():
    assert wait([], if_none="ok")[0]["claims"] == []


def test_waits_for_the_first():
    assert wait([], [PENDING], [READY, POD], if_none="wait")[0]["waited_seconds"] == 3


FAILURES = {
    "C51-401": (KubernetesError("LIST", 401, "Unauthorized", ""), 1),
    "C51-403": (Forbidden("LIST", 403, "Forbidden", ""), 1),
    "C51-404": (KubernetesError("LIST", 404, "NotFound", ""), 1),
    "C51-503": (KubernetesError("LIST", 503, "Unavailable", ""), 10),
    "C51-no-answer": (Unreachable("LIST", 0, "NoAnswer", ""), 10),
}


@pytest.mark.parametrize(("error", "seconds"), FAILURES.values(), ids=FAILURES)
def test_failure_ends_the_wait_at_once_or_at_the_deadline(error, seconds):
    clock = ManualClock(NOW)
    looks = Looks(clock, [[PENDING, POD]], failures={"ResourceClaim": error})
    looks.is_complete = False
    params = {"binding_timeout_seconds": 600, "stop_early": True, "if_none": "fail"}
    with pytest.raises(type(error)):
        follow(looks, params, Selection("llm"), "ready", deadline=Deadline(clock, 10), say=lambda _line: None)
    assert clock.monotonic() == seconds


def test_same_device_again_and_again_is_a_warning():
    again = [claim(results=[result()], allocated=age, **OWNED) for age in (4, 3, 2, 1)]
    looks = [look for each in again for look in ([each, POD], [PENDING, POD])]
    with pytest.raises(ModuleFailure) as failure:
        wait(*looks[:-1], goal="running")
    reasons = [each["reason"] for each in failure.value.facts["claims"][0]["verdicts"]]
    assert "AllocationLoop" in reasons
