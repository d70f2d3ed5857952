# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a selection is on its way to a goal, what makes waiting pointless, and one line for each change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.claim_report import Choice, ClaimReport
from ansible_collections.inference.dra.plugins.module_utils._core.objects import split
from ansible_collections.inference.dra.plugins.module_utils._core.verdict import Verdict
from ansible_collections.inference.dra.plugins.module_utils._core.waiting import (
    HOPELESS,
    changes,
    hopeless,
    line,
    progress,
)
from ansible_collections.inference.dra.plugins.module_utils._core.workload_report import (
    Selection,
    Snapshot,
    WorkloadReport,
    judge,
)
from ansible_collections.inference.dra.plugins.module_utils._core.workloads import ClaimIndex

from .dra_objects import NOW, ago, claim, consumer, gate_result, image_config, owned_by, pod

NOTHING = Snapshot(ClaimIndex(()))
STATES = ("not_generated", "pending", "allocated", "ready", "failed", "deleting", "unusable")


def report(*states: str) -> WorkloadReport:
    claims = tuple(ClaimReport(f"c{number}", "llm", state) for number, state in enumerate(states))
    return WorkloadReport(claims=claims, pods=(), verdicts=())


def goes(goal: str, *states: str):
    return progress(report(*states), NOTHING, Selection("llm"), goal)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("goal", "enough"),
    [("allocated", {"allocated", "ready"}), ("ready", {"ready"})],
    ids=["allocated", "ready"],
)
def test_states_that_are_enough(goal, enough, state):
    assert goes(goal, state).is_over is (state in enough)


@pytest.mark.parametrize("state", STATES)
def test_absent_is_when_no_claim_is_left(state):
    assert goes("absent", state).is_over is (state == "not_generated")


@pytest.mark.parametrize("goal", ["bound", "running"])
def test_pods_that_are_not_known_have_not_arrived(goal):
    found = goes(goal, "ready")
    assert found.missing == (f"c0 is ready and its pod not {goal}",)


def test_all_claims_of_a_selection_count():
    found = goes("ready", "ready", "allocated", "pending")
    assert (found.reached, found.total) == (1, 3)
    assert found.missing == ("c1 is allocated", "c2 is pending")


@pytest.mark.parametrize("goal", ["allocated", "ready", "bound", "running"])
def test_no_claim_yet_is_not_enough(goal):
    assert goes(goal).missing == ("no claim matches yet",)


@pytest.mark.parametrize("where", ["selection", "claim"])
@pytest.mark.parametrize("reason", ["BindingConditionFailed", "TemplateMissing", "BindingTimeout"])
@pytest.mark.parametrize("status", ["warning", "error"])
def test_pointless_is_only_what_time_does_not_mend(where, reason, status):
    verdict = Verdict(status, reason, "ResourceClaim llm/c0")
    found = report("allocated")
    if where == "claim":
        found = replace(found, claims=(replace(found.claims[0], verdicts=(verdict,)),))
    else:
        found = replace(found, verdicts=(verdict,))
    assert hopeless(found) == ((verdict,) if reason in HOPELESS and status == "error" else ())


CHANGES = {
    "all are new at first": ([], ["pending", "ready"], ["c0: pending", "c1: ready"]),
    "one goes on": (["pending", "ready"], ["allocated", "ready"], ["c0: allocated"]),
    "one is gone": (["ready", "ready"], ["ready"], ["c1: gone"]),
    "nothing": (["ready"], ["ready"], []),
}


@pytest.mark.parametrize(("before", "after", "lines"), CHANGES.values(), ids=CHANGES)
def test_changes(before, after, lines):
    assert list(changes(report(*before) if before else None, report(*after))) == lines


def test_line_says_what_was_chosen_where_and_how_long_it_may_take():
    claim = ClaimReport(
        "c0",
        "llm",
        "allocated",
        node="node-a",
        choices=(Choice("accel", "accel/gpu", 0, 2), Choice("image", "image", 0, 1)),
        seconds_left=42,
    )
    assert line(claim) == "c0: allocated, gpu on node-a, 42 s left to bind"


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (image_config("img", container="server"), "ImageConfigContainerMissing"),
        (image_config("a b"), "ImageConfigInvalid"),
        (image_config("img"), ""),
    ],
    ids=["unknown-container", "bad-image", "right"],
)
def test_a_wrong_image_config_ends_the_wait_before_any_condition_fails(config, reason):
    """The configurator tells its refusal again only at ever longer intervals."""
    entry = {"name": "hardware", "resourceClaimName": "claim-a"}
    waits = claim(
        results=[gate_result()],
        configs=[config],
        consumers=[consumer()],
        owner=owned_by(),
        pod_claim="hardware",
    )
    snapshot = Snapshot.from_objects(split([pod(generated=[entry]), waits]))
    selection = Selection("llm", pods=("pod-a",))
    seen = progress(judge(snapshot, selection, now=NOW), snapshot, selection, "ready")
    assert [each.reason for each in seen.hopeless] == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        pytest.param(
            {"deletionTimestamp": ago(75)},
            ", held by pod-a on node-a, which is being deleted",
            id="C15-ending",
        ),
        pytest.param({}, ", held by pod-a on node-a", id="C15-live"),
    ],
)
def test_whoever_keeps_a_claim_from_going_is_named(metadata, text):
    held = claim(results=[gate_result()], consumers=[consumer()])
    snapshot = Snapshot.from_objects(split([pod(node="node-a", metadata=metadata), held]))
    selection = Selection("llm", names=("claim-a",))
    seen = progress(judge(snapshot, selection, now=NOW), snapshot, selection, "absent")
    assert seen.missing == (f"claim-a is allocated{text}",)
