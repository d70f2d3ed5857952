# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a pod is pending, check by check in the order in which the scheduler meets them.

Gates and queue, claims and templates, device classes, binding conditions, the nodes themselves, devices on
each node, the autoscaler. The scheduler gives one text for more than twenty different causes ("cannot
allocate all claims"); slices and claims tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from .allocation import missing_class
from .autoscaling import scaling_verdicts
from .claim_state import DEFAULT_BINDING_TIMEOUT, judge_claim
from .claims import Claim
from .cluster import Cluster
from .fits import Fit
from .fitting import Fitting
from .images import image_verdicts
from .lint import constraint_lint
from .nodes import Node
from .pods import Pod
from .shortages import advised, shortage_verdicts
from .verdict import Status, Verdict
from .workloads import pod_claims

_NAMED = 8  # a verdict names this many nodes and leaves the rest to the count


def pending_verdicts(
    pod: Pod, cluster: Cluster, fitting: Fitting, binding_timeout: int = DEFAULT_BINDING_TIMEOUT
) -> list[Verdict]:
    """Return why the pod has no node, the decisive verdict first."""
    gates = [each.get("name", "") for each in pod.spec.get("schedulingGates") or ()]
    if gates:
        return [_gated(pod, gates, cluster)]
    links = pod_claims(pod, cluster.claims, cluster.templates)
    if absent := [link.verdict for link in links if link.verdict]:
        return [*_creation_failures(pod, cluster), *absent]
    claims = [link.claim for link in links if link.claim]
    reports = [
        judge_claim(
            claim,
            now=cluster.now,
            binding_timeout=binding_timeout,
            pods=cluster.pods,
            pools=cluster.inventory.pools or None,
            wanted_by=pod,
        )
        for claim in claims
    ]
    of_images = list(image_verdicts(pod, claims))
    of_claims = [each for report in reports for each in report.verdicts if each.reason != "ClaimPending"]
    # A mistake about an image explains a failed condition; that it is not there yet only follows from one.
    errors = [each for each in (*of_images, *of_claims) if each.status == "error"]
    others = [each for each in (*of_claims, *of_images) if each.status != "error"]
    open_claims = [claim for claim in claims if claim.allocation is None]
    if not open_claims:
        return [*errors, *others, *_scheduler_words(pod, cluster)]
    return [
        *errors,
        *_devices(pod, cluster, fitting, claims, open_claims),
        *others,
        *scaling_verdicts(pod, cluster.events, cluster.compute_classes),
        *_scheduler_words(pod, cluster),
    ]


def _gated(pod: Pod, gates: Sequence[str], cluster: Cluster) -> Verdict:
    """Return the verdict on a pod that the scheduler must not look at; Kueue says why in its Workload."""
    observed = f"scheduling gates {', '.join(gates)}"
    evidence = []
    for workload in cluster.queued:
        owners = (workload.get("metadata") or {}).get("ownerReferences") or ()
        if any(owner.get("uid") in {pod.meta.uid, pod.meta.owner[2]} for owner in owners):
            evidence += [
                f"Workload condition {condition.get('type')}: {condition.get('message')}"
                for condition in (workload.get("status") or {}).get("conditions") or ()
                if condition.get("status") == "False"
            ]
    return Verdict(
        "note",
        "SchedulingGated",
        pod.subject,
        observed=observed,
        expected="no gate",
        advice="ask whoever set the gate: for Kueue the Workload's conditions; it admits claims with "
        "alternatives only where its feature for them is on",
        evidence=tuple(evidence),
    )


def _creation_failures(pod: Pod, cluster: Cluster) -> Iterator[Verdict]:
    event = cluster.events.latest(pod.meta.uid, "FailedResourceClaimCreation")
    if event is None or "not found" in event.message:  # the template's absence has a verdict of its own
        return
    quota = "exceeded quota" in event.message
    yield Verdict(
        "error",
        "QuotaExceeded" if quota else "ClaimCreationFailed",
        pod.subject,
        observed=event.message,
        expected="a claim made from the pod's template",
        advice="a ResourceQuota counts every alternative of a request; raise it for each class named"
        if quota
        else "",
        evidence=(str(event),),
    )


def _devices(
    pod: Pod, cluster: Cluster, fitting: Fitting, claims: Sequence[Claim], open_claims: Sequence[Claim]
) -> Iterator[Verdict]:
    """Yield why the open claims are allocated nowhere."""
    wanted = [claim.devices for claim in open_claims]
    if "DeviceClass" not in cluster.missing and (refusal := missing_class(wanted, cluster.inventory.classes)):
        yield _verdict(pod, refusal.reason, refusal.text, "an existing class for every alternative", "error")
        return
    for claim in open_claims:
        yield from constraint_lint(claim, cluster.inventory)
    if lacking := [kind for kind in ("Node", "ResourceSlice", "DeviceClass") if kind in cluster.missing]:
        yield _verdict(
            pod,
            "ObjectsMissing",
            f"no {' and no '.join(lacking)} was given",
            "these objects in the dump",
            "note",
        )
        return
    where = fitting.reachable(pod, claims)
    if not where.nodes:
        yield from _no_node(pod, cluster, where.kept_away)
        return
    shortages = fitting.once("shortage", wanted, where, lambda: shortage_verdicts(wanted, where, fitting))
    if shortages:
        yield from (replace(each, subject=pod.subject) for each in shortages)
        yield from _kept_away(pod, where.kept_away)
    else:
        answers = fitting.answers(wanted, where)
        yield _fits(pod, [name for name, answer in answers.items() if isinstance(answer, Fit)], where.nodes)


def _no_node(pod: Pod, cluster: Cluster, kept_away: Mapping[str, list[str]]) -> Iterator[Verdict]:
    if not cluster.nodes:
        yield _verdict(pod, "NoNode", "the cluster has no node", "a node", "error")
    yield from _kept_away(pod, kept_away, "error")


def _kept_away(
    pod: Pod, kept_away: Mapping[str, list[str]], tainted: Status = "warning"
) -> Iterator[Verdict]:
    for reason, nodes in sorted(kept_away.items(), key=lambda item: item[0] != "NodeTainted"):
        # That a selector passes over nodes is what it is there for, as long as it leaves some.
        status: Status = tainted if reason == "NodeTainted" or tainted == "error" else "note"
        if status == "note" and reason == "NodeSelectorMismatch":
            continue
        text = f"{len(nodes)} nodes: {'; '.join(nodes[:_NAMED])}"
        yield _verdict(pod, reason, text, "a node that the pod may go to", status)


def _fits(pod: Pod, fits: Sequence[str], nodes: Iterable[Node]) -> Verdict:
    """Return the verdict on a pod whose devices are there: something else, or only time, is missing."""
    scheduled = pod.condition("PodScheduled")
    message = scheduled.message if scheduled else ""
    insufficient = [part.strip() for part in message.split(",") if "Insufficient" in part]
    if any("nvidia.com/gpu" in part for part in insufficient) and not any(
        node.allocatable.get("nvidia.com/gpu", "0") not in {"", "0"} for node in nodes
    ):
        text = f"{'; '.join(insufficient)}; no node that the pod may go to offers nvidia.com/gpu at all"
        return _verdict(pod, "DevicePluginDisabled", text, "the device plugin, or claims for GPUs", "error")
    if insufficient:
        return _verdict(
            pod, "NodeResourcesInsufficient", "; ".join(insufficient), "room for the pod's requests", "error"
        )
    waited = (
        "" if scheduled and scheduled.reason == "Unschedulable" else "; the scheduler tries again by itself"
    )
    names = ", ".join(fits[:_NAMED])
    return _verdict(pod, "FitsNow", f"its claims fit on {names} now{waited}", "to be placed soon", "note")


def _scheduler_words(pod: Pod, cluster: Cluster) -> Iterator[Verdict]:
    """Yield what the scheduler itself last said, for the record."""
    scheduled = pod.condition("PodScheduled")
    event = cluster.events.latest(pod.meta.uid, "FailedScheduling")
    if scheduled is not None and scheduled.status == "False":
        kind = (
            "AllocatorTimeout"
            if "timed out trying to allocate devices" in scheduled.message
            else "SchedulerSaid"
        )
        status: Status = "warning" if kind == "AllocatorTimeout" else "note"
        yield _verdict(pod, kind, f"{scheduled.reason}: {scheduled.message}", "", status)
    elif event is not None:
        yield _verdict(pod, "SchedulerSaid", event.message, "", "note")
    elif scheduled is None:
        yield _verdict(pod, "SchedulerSilent", "the scheduler has not looked at the pod yet", "", "note")


def _verdict(pod: Pod, reason: str, observed: str, expected: str, status: Status) -> Verdict:
    return replace(advised(reason, observed, expected, status), subject=pod.subject)
