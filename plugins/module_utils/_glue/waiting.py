# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for a selection of claims: the same work for the module and for the action with live lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from ansible_collections.inference.dra.plugins.module_utils._core.claim_history import ClaimHistory
from ansible_collections.inference.dra.plugins.module_utils._core.waiting import (
    Goal,
    Progress,
    changes,
    progress,
)
from ansible_collections.inference.dra.plugins.module_utils._core.workload_report import (
    Selection,
    Snapshot,
    WorkloadReport,
    judge,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, Deadline
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    Kubernetes,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.watching import Watching

from .claims import judged, read, selection_from, summary, wanted
from .objects import source_from
from .result import ModuleFailure
from .spec import dump_spec, kubernetes_spec, selection_spec

Say = Callable[[str], None]
LOOK_SECONDS = 1.0
"""How often time alone is looked at: the binding timeout and verdicts that depend on it."""


def wait_spec() -> dict[str, Any]:
    """Return the options of resource_claim_wait, which its module and its action share."""
    return (
        kubernetes_spec()
        | selection_spec()
        | dump_spec()
        | {
            "state": {
                "type": "str",
                "choices": ["allocated", "ready", "bound", "running", "absent"],
                "default": "ready",
            },
            "timeout_seconds": {"type": "int", "default": 900},
            "stop_early": {"type": "bool", "default": True},
            "binding_timeout_seconds": {"type": "int", "default": 600},
        }
    )


def wait(
    params: Mapping[str, Any],
    clock: Clock,
    say: Say,
    *,
    check_mode: bool,
) -> dict[str, Any]:
    """Return when the selection has reached its state; fail at the deadline, or when it never will."""
    selection = selection_from(params)
    goal = cast("Goal", params["state"])
    if check_mode or params["objects"] is not None:
        return look_once(params, selection, goal, clock)
    deadline = Deadline(clock, params["timeout_seconds"])
    api = Kubernetes.connect(params, clock).within(deadline)
    watching = Watching(api, (CLAIMS, *wanted(selection)), selection.namespace)
    return follow(watching, params, selection, goal, deadline=deadline, say=say)


def follow(
    watching: Watching,
    params: Mapping[str, Any],
    selection: Selection,
    goal: Goal,
    *,
    deadline: Deadline,
    say: Say,
) -> dict[str, Any]:
    """Return the result once the goal is reached, saying each change on the way."""
    before: WorkloadReport | None = None
    histories: dict[str, ClaimHistory] = {}
    while True:
        watching.wait(min(LOOK_SECONDS, deadline.remaining))
        failure = watching.failures.get(CLAIMS.kind)
        if failure and (deadline.expired or failure.status in (401, 403, 404)):
            raise failure
        if not watching.is_complete and not deadline.expired:
            continue
        snapshot = Snapshot.from_objects(watching.objects())
        now = deadline.clock.now()
        report = judge(snapshot, selection, now=now, binding_timeout=params["binding_timeout_seconds"])
        report = remembered(report, histories)
        for line in changes(before, report):
            say(f"[{deadline.elapsed:6.1f} of {deadline.seconds:g} s] {line}")
        before = report
        seen = progress(report, snapshot, selection, goal)
        if not report.claims and goal != "absent" and not selection.deployment:
            fail_for_none(params["if_none"], selection)
        if seen.is_over or (not report.claims and params["if_none"] == "ok"):
            return result(report, seen, deadline, watching)
        if seen.hopeless and params["stop_early"]:
            sentences = ". ".join(verdict.sentence() for verdict in seen.hopeless)
            raise ModuleFailure(
                f"Waiting for claims to be {goal}: {sentences}. Waiting longer will not help.",
                seen.hopeless[0].reason,
                **result(report, seen, deadline, watching),
            )
        if deadline.expired:
            raise ModuleFailure(
                f"Waiting for claims to be {goal}: {seen.reached} of {seen.total} were after "
                f"{deadline.seconds:g} s; {'; '.join(seen.missing[:5])}. The verdicts say why.",
                "TimedOut",
                **result(report, seen, deadline, watching),
            )


def fail_for_none(if_none: str, selection: Selection) -> None:
    if if_none == "fail":
        raise ModuleFailure(
            f"Waiting for claims in {selection.namespace or 'all namespaces'}: nothing matches. "
            "Correct the selection, or set if_none to wait for the first.",
            "NothingMatches",
        )


def remembered(report: WorkloadReport, histories: dict[str, ClaimHistory]) -> WorkloadReport:
    """Return the report with what the claims' histories add, and let the histories see it."""
    claims = []
    for claim in report.claims:
        history = histories.get(claim.name, ClaimHistory()).observe(claim)
        histories[claim.name] = history
        claims.append(replace(claim, verdicts=(*claim.verdicts, *history.verdicts(claim.subject))))
    return replace(report, claims=tuple(claims))


def result(report: WorkloadReport, seen: Progress, deadline: Deadline, watching: Watching) -> dict[str, Any]:
    return {
        **summary(report),
        "reached": seen.reached,
        "waited_seconds": round(deadline.elapsed, 3),
        "forbidden": sorted(watching.forbidden),
        "polled": sorted(watching.polled),
    }


def look_once(
    params: Mapping[str, Any],
    selection: Selection,
    goal: Goal,
    clock: Clock,
) -> dict[str, Any]:
    """Return how it is now: what check mode and a dump can say."""
    source, now = source_from(params, clock)
    reading = read(source, selection)
    if_none = "ok" if params["if_none"] == "wait" or goal == "absent" else params["if_none"]
    report = judged(reading, selection, now, params["binding_timeout_seconds"], if_none)
    seen = progress(report, reading.snapshot, selection, goal)
    return {
        **summary(report),
        "reached": seen.reached,
        "waited_seconds": 0.0,
        "would_wait_for": list(seen.missing),
        "forbidden": list(reading.forbidden),
        "polled": [],
    }
