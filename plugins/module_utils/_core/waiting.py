# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a wait for claims is over, and what to say while it is not; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from .claim_report import ClaimReport
from .pods import Pod, PodIndex
from .verdict import Verdict
from .workload_report import Selection, Snapshot, WorkloadReport

Goal = Literal["allocated", "ready", "bound", "running", "absent"]

ENOUGH: Mapping[Goal, frozenset[str]] = {
    "allocated": frozenset({"allocated", "ready"}),
    "ready": frozenset({"ready"}),
    "bound": frozenset({"ready"}),
    "running": frozenset({"ready"}),
}
HOPELESS = frozenset(
    {
        "TemplateMissing",
        "ClaimOfOtherPod",
        "BindingConditionFailed",
        "ImageConfigInvalid",
        "ImageConfigConflict",
        "ImageConfigContainerMissing",
    }
)
"""Errors that time alone does not mend."""


@dataclass(frozen=True)
class Progress:
    """How far a selection is on its way to a goal.

    :param reached: claims that are there; ``total`` is how many must be.
    :param missing: why it is not over yet, one clause each; empty when it is.
    :param hopeless: verdicts that no waiting will change.
    """

    reached: int
    total: int
    missing: tuple[str, ...] = ()
    hopeless: tuple[Verdict, ...] = ()

    @property
    def is_over(self) -> bool:
        return not self.missing


def progress(report: WorkloadReport, snapshot: Snapshot, selection: Selection, goal: Goal) -> Progress:
    """Return how far the selected claims are.

    A Deployment counts as one whole: as many pods as it wants replicas must be there, so that a wait
    right after scaling does not end with the replicas of before.
    """
    if goal == "absent":
        left = [claim for claim in report.claims if claim.state != "not_generated"]
        return Progress(
            0, 0, tuple(f"{claim.name} is {claim.state}{_held(claim, snapshot)}" for claim in left)
        )
    reached = [claim for claim in report.claims if is_there(claim, snapshot.pods, goal)]
    missing = [
        f"{claim.name} is {claim.state}{f' and its pod not {goal}' if claim.state == 'ready' else ''}"
        for claim in report.claims
        if claim not in reached
    ]
    wanted = replicas(snapshot, selection)
    if wanted is not None and len(report.pods) != wanted:
        missing.append(f"{len(report.pods)} of {wanted} pods are there")
    if not report.claims and wanted != 0:
        missing.append("no claim matches yet")
    return Progress(len(reached), max(len(report.claims), wanted or 0), tuple(missing), hopeless(report))


def _held(claim: ClaimReport, snapshot: Snapshot) -> str:
    """Return which pods keep a claim, where they are, and that they were told to go."""
    users = [snapshot.pods.get(each.consumer.uid) for each in claim.consumers] if snapshot.pods else []
    named = [
        f"{pod.meta.name}{f' on {pod.node_name}' if pod.node_name else ''}"
        f"{', which is being deleted' if pod.meta.deleted else ''}"
        for pod in users
        if pod is not None
    ]
    return f", held by {'; '.join(named)}" if named else ""


def replicas(snapshot: Snapshot, selection: Selection) -> int | None:
    """Return how many pods the selected Deployment wants, None where none is selected or known."""
    if not selection.deployment:
        return None
    deployment = (snapshot.deployments or {}).get((selection.namespace, selection.deployment))
    return deployment.replicas if deployment else None


def is_there(claim: ClaimReport, pods: PodIndex | None, goal: Goal) -> bool:
    """Return whether one claim has reached the goal.

    ``bound`` is when its pods have their node, ``running`` when they are ready to serve.
    """
    if claim.state not in ENOUGH[goal]:
        return False
    if goal in ("allocated", "ready"):
        return True
    users = [pods.get(each.consumer.uid) for each in claim.consumers] if pods else []
    live = [pod for pod in users if pod is not None and pod.is_live]
    return bool(live) and all(pod.node_name and (goal == "bound" or is_ready(pod)) for pod in live)


def is_ready(pod: Pod) -> bool:
    condition = pod.condition("Ready")
    return condition is not None and condition.status == "True"


def hopeless(report: WorkloadReport) -> tuple[Verdict, ...]:
    """Return the errors that make waiting pointless."""
    found = [*report.verdicts, *(verdict for claim in report.claims for verdict in claim.verdicts)]
    found += [verdict for pod in report.pods for verdict in pod.verdicts]
    return tuple(each for each in found if each.status == "error" and each.reason in HOPELESS)


def changes(before: WorkloadReport | None, after: WorkloadReport) -> Iterator[str]:
    """Yield one line for each claim that is new, gone or in another state than before."""
    old = {claim.name: claim for claim in before.claims} if before else {}
    new = {claim.name: claim for claim in after.claims}
    for name, claim in new.items():
        if name not in old or old[name].state != claim.state:
            yield line(claim)
    for name in old:
        if name not in new:
            yield f"{name}: gone"


def line(claim: ClaimReport) -> str:
    """Return a claim in one line: state, alternative, node and how long binding may still take."""
    chosen = ", ".join(each.name for each in claim.choices if each.name)
    text = f"{claim.name}: {claim.state}"
    if chosen:
        text += f", {chosen}"
    if claim.node:
        text += f" on {claim.node}"
    if claim.seconds_left is not None:
        text += f", {claim.seconds_left} s left to bind"
    return text
