# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the autoscaler says about a pending pod: its events, and the status of the ComputeClass.

Source: cluster-autoscaler's pod events (TriggeredScaleUp, NotTriggerScaleUp) and the conditions of
``cloud.google.com/v1`` ComputeClass; ``priorityStatuses`` exist from GKE 1.36.4 on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .events import Event, EventIndex
from .objects import View
from .pods import Pod
from .verdict import Verdict

COMPUTE_CLASS_KEY = "cloud.google.com/compute-class"

# The autoscaler's own words in NotTriggerScaleUp, and what they mean; the first that occurs counts.
_REFUSALS = (
    ("max node group size reached", "PoolAtMaximum"),
    ("max cluster limit reached", "PoolAtMaximum"),
    ("in backoff after failed scale-up", "PoolInBackoff"),
    ("cannot allocate all claims", "ScaleUpWouldNotHelp"),
)
_SUSPENSIONS = {"OutOfResources": "StockOut", "QuotaExceeded": "QuotaExceeded"}


def scaling_verdicts(
    pod: Pod, events: EventIndex, compute_classes: Mapping[str, Mapping[str, Any]]
) -> Iterator[Verdict]:
    """Yield what the autoscaler does about the pod, and what keeps it from doing more."""
    started = events.latest(pod.meta.uid, "TriggeredScaleUp")
    refused = events.latest(pod.meta.uid, "NotTriggerScaleUp")
    if started and not _is_later(refused, started):
        yield Verdict(
            "note",
            "ScaleUpStarted",
            pod.subject,
            observed=started.message,
            expected="a node whose driver publishes devices; that is later than the node being Ready",
            evidence=(str(started),),
        )
    if refused and not _is_later(started, refused):
        yield _refusal(pod, refused)
    name = (pod.spec.get("nodeSelector") or {}).get(COMPUTE_CLASS_KEY, "")
    if name and name in compute_classes:
        yield from class_verdicts(compute_classes[name])


def class_verdicts(compute_class: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield what a ComputeClass's status complains about."""
    subject = f"ComputeClass {compute_class['metadata']['name']}"
    view = View(compute_class, subject)
    status = view.child("status")
    for condition in status.children("conditions"):
        kind, state = condition.text("type"), condition.text("status")
        healthy = state == "True" if kind == "Health" else state != "True"
        if not healthy and kind != "Health":
            yield Verdict(
                "error",
                "ComputeClassUnhealthy",
                subject,
                observed=f"{kind}, {condition.text('reason')}: {condition.text('message')}",
                expected="condition Health True and no other",
                advice="compare the pools' names, labels, taints and autoscaling with the class",
            )
    priorities = view.child("spec").items("priorities")
    for each in status.children("priorityStatuses"):
        identifier = each.text("identifier")
        for condition in each.children("conditions"):
            if condition.text("status") == "True" and condition.text("type").startswith("Provisioning"):
                yield _suspension(subject, identifier, _pools(priorities, identifier), condition)


def _suspension(subject: str, identifier: str, pools: str, condition: View) -> Verdict:
    return Verdict(
        "warning",
        _SUSPENSIONS.get(condition.text("reason"), "PoolInBackoff"),
        subject,
        observed=f"priority {identifier}{pools}: {condition.text('type')}, {condition.text('reason')}"
        + (f": {condition.text('message')}" if condition.text("message") else ""),
        expected="a priority that can grow",
        advice="the autoscaler goes on to the next priority and tries this one again after its back-off",
    )


def _pools(priorities: list[Any], identifier: str) -> str:
    if not identifier.isdecimal() or int(identifier) >= len(priorities):
        return ""
    entry = priorities[int(identifier)]
    named = entry.get("nodepools") if isinstance(entry, Mapping) else None
    return f" ({', '.join(named)})" if named else ""


def _refusal(pod: Pod, event: Event) -> Verdict:
    reason = next((reason for text, reason in _REFUSALS if text in event.message), "AutoscalerRefused")
    advice = {
        "PoolAtMaximum": "raise the pool's maximum, or let a replica go",
        "PoolInBackoff": "wait for the back-off to end; a stock-out or quota stands behind it",
        "ScaleUpWouldNotHelp": "the autoscaler foresees no device on a new node: a pool with no node needs a "
        "driver whose slices it predicts (dra.cpu is not among them); keep one node in the pool",
    }.get(reason, "")
    return Verdict(
        "warning",
        reason,
        pod.subject,
        observed=event.message,
        expected="a pool that grows for this pod",
        advice=advice,
        evidence=(str(event),),
    )


def _is_later(event: Event | None, other: Event) -> bool:
    return bool(event and event.seen and other.seen and event.seen > other.seen)
