# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is worth saying about one claim, one rule per function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .claim_report import ClaimReport, ClaimState, ConsumerFact
from .claims import Claim
from .conditions import DeviceReadiness
from .pods import Pod
from .resource_pools import Pool, blocks_new_claims
from .slices import PoolId
from .verdict import Verdict


def lifecycle(claim: Claim, state: ClaimState, consumers: Sequence[ConsumerFact]) -> Iterator[Verdict]:
    if state == "deleting":
        holders = tuple(_name(each) for each in consumers)
        yield Verdict(
            "warning",
            "ClaimDeleting",
            claim.subject,
            observed=f"is being deleted, held by {', '.join(claim.meta.finalizers) or 'nothing'}; "
            f"reserved for {len(holders)} consumers",
            expected="no deletion timestamp",
            advice="delete the pods it is reserved for; the finalizer goes when they are gone"
            if holders
            else "wait for the owner of the finalizer",
            evidence=holders,
        )
    elif state == "pending":
        yield Verdict(
            "note",
            "ClaimPending",
            claim.subject,
            observed="nothing is allocated",
            expected="an allocation for every request",
        )


def progress(
    report: ClaimReport, state: ClaimState, binding_timeout: int, bound: Sequence[Pod]
) -> Iterator[Verdict]:
    if state in ("deleting", "pending"):
        return
    for each in report.devices:
        for condition in each.failed:
            yield Verdict(
                "error",
                "BindingConditionFailed",
                report.subject,
                observed=f"{each.device}: {condition.type} is True, {condition.reason}: {condition.message}",
                expected=", ".join(each.required) + " True",
                advice="the scheduler allocates anew, perhaps the same device; repair its cause",
            )
    blocker = report.scheduler.device
    if state == "failed" and report.scheduler.outcome == "waiting" and blocker is not None:
        yield Verdict(
            "warning",
            "BindingFailureMasked",
            report.subject,
            observed=f"the scheduler stops its look at {blocker}, which is not ready, and does not "
            f"see the failure; {_left(report.seconds_left)}",
            expected="the failure to be the first device that is not ready",
            advice="delete the pod to be faster than the timeout",
        )
    if state in ("allocated", "unusable"):
        yield from _missing(report, binding_timeout, bound)


def _missing(report: ClaimReport, binding_timeout: int, bound: Sequence[Pod]) -> Iterator[Verdict]:
    waiting = [each for each in report.devices if each.missing]
    if not waiting:
        return
    listed = "; ".join(f"{each.device}: {', '.join(each.missing)}" for each in waiting)
    if bound:
        names = ", ".join(f"{pod.meta.name} on {pod.node_name}" for pod in bound)
        yield Verdict(
            "note",
            "BindingConditionMissing",
            report.subject,
            observed=f"missing now: {listed}; but already bound: {names}",
            expected="conditions that stay True once they were",
            advice="a writer of status.devices replaces the list instead of its own entry",
        )
        return
    is_over = report.seconds_left == 0
    yield Verdict(
        "error" if is_over else "note",
        "BindingTimeout" if is_over else "BindingConditionMissing",
        report.subject,
        observed=f"missing now: {listed}; {_left(report.seconds_left)}",
        expected=f"True within {binding_timeout} s of the allocation",
        advice=_advice(waiting, is_over=is_over),
    )


def _advice(waiting: list[DeviceReadiness], *, is_over: bool) -> str:
    if not is_over:
        return ""
    drivers = ", ".join(sorted({each.device.driver for each in waiting}))
    if not any(each.is_reported for each in waiting):
        return (
            f"nobody wrote any status for {drivers}: does its controller run, and may it update "
            "resourceclaims/status and, from 1.36, resourceclaims/driver for this driver name"
        )
    return f"look at the controller of {drivers}; the scheduler allocates anew"


def _left(seconds: int | None) -> str:
    if seconds is None:
        return "the scheduler waits for it no longer"
    return f"{seconds} s left" if seconds else "the time is over"


def ownership(claim: Claim, wanted_by: Pod | None) -> Iterator[Verdict]:
    """A generated claim belongs to the pod with its owner's UID, whatever the names are."""
    kind, name, uid = claim.meta.owner
    if wanted_by is None or kind != "Pod" or uid == wanted_by.meta.uid:
        return
    if not claim.pod_claim_name and not claim.serves_extended_resource:
        return
    yield Verdict(
        "error",
        "ClaimOfOtherPod",
        claim.subject,
        observed=f"made for pod {name} with UID {uid}",
        expected=f"made for {wanted_by.subject} with UID {wanted_by.meta.uid}",
        advice="wait until the claim of the former pod is deleted, or delete it",
    )


def reservations(claim: Claim, consumers: Sequence[ConsumerFact], wanted_by: Pod | None) -> Iterator[Verdict]:
    """Yield who holds the claim without using it; a pod is known by its UID, never by its name."""
    if claim.allocation is None:
        return
    if wanted_by is not None and wanted_by.node_name and not _is_reserved(claim, wanted_by):
        yield Verdict(
            "error",
            "ClaimNotReserved",
            claim.subject,
            observed=f"{wanted_by.subject} is bound to {wanted_by.node_name}, and the claim is not "
            f"reserved for its UID {wanted_by.meta.uid}",
            expected="status.reservedFor names the pod's UID",
            advice="the kubelet refuses the pod; delete it so that it is scheduled again",
            evidence=tuple(_name(each) for each in consumers),
        )
    lost = [each for each in consumers if each.state in ("gone", "replaced")]
    ended = [each for each in consumers if each.state == "ended"]
    users = len(consumers) - len(lost) - len(ended)
    if lost:
        yield Verdict(
            "warning" if users else "error",
            "ClaimReservedForGonePods",
            claim.subject,
            observed=f"reserved for {len(lost)} pods that no longer exist, {users} that do",
            expected="reserved for live pods only, by UID",
            advice="delete the claim if nobody uses it; never edit reservedFor by hand",
            evidence=tuple(_name(each) for each in lost),
        )
    elif ended and not users:
        yield Verdict(
            "note",
            "ClaimHeldByEndedPods",
            claim.subject,
            observed=f"reserved only for {len(ended)} pods that have ended",
            expected="devices go back when their pods have ended",
            advice="delete the ended pods",
            evidence=tuple(_name(each) for each in ended),
        )


def _is_reserved(claim: Claim, pod: Pod) -> bool:
    return any(
        each.uid == pod.meta.uid
        or (each.resource == "podgroups" and bool(pod.pod_group) and each.name == pod.pod_group)
        for each in claim.reserved_for
    )


def vanished(
    claim: Claim, pools: Mapping[PoolId, Pool[Any]] | None, bound: Sequence[Pod]
) -> Iterator[Verdict]:
    if pools is None:
        return
    runs = any(pod.phase == "Running" for pod in bound)
    for device in claim.allocation.devices if claim.allocation else ():
        pool = pools.get(device.id.pool_id)
        if pool is None or device.device not in pool.device_names:
            yield Verdict(
                "error" if pool is None and not runs else "warning",
                "AllocatedDeviceGone",
                claim.subject,
                observed=f"{device} is published by no slice"
                + (", nor is anything else of its pool" if pool is None else ""),
                expected="an allocated device stays published",
                advice="look at the driver's pod on the node; pods already running keep the device",
            )
            continue
        taints = [
            taint
            for each in pool.slices
            for taint in each.taints.get(device.device, ())
            if blocks_new_claims(taint) and not any(t.endures(taint) for t in device.tolerations)
        ]
        for taint in taints:
            yield Verdict(
                "warning",
                "AllocatedDeviceTainted",
                claim.subject,
                observed=f"{device} carries {taint.key}:{taint.effect}, which is not tolerated",
                expected="no taint on a device in use",
                advice="with NoExecute its pods are evicted; a toleration must name that effect"
                if taint.effect == "NoExecute"
                else "new claims avoid the device; this one keeps it",
            )


def sharing(claim: Claim, report: ClaimReport) -> Iterator[Verdict]:
    """Yield what goes wrong when pods share a gated claim, or requests share a gated device."""
    gated = [each for each in report.devices if each.required]
    if not gated:
        return
    users = [each for each in report.consumers if each.state in ("live", "unknown")]
    if len(users) > 1:
        yield Verdict(
            "warning",
            "GatedClaimShared",
            claim.subject,
            observed=f"{len(users)} consumers share a claim with binding conditions",
            expected="one claim per pod for a device that prepares something for the pod",
            advice="use resourceClaimTemplateName; nobody prepares anything for the second pod",
            evidence=tuple(_name(each) for each in users),
        )
    is_ready = all(each.is_ready for each in gated)
    outcome = report.scheduler.outcome
    if outcome == "ready" and not is_ready:
        yield _merged(claim, "ready, though a share's own conditions are missing")
    elif outcome != "ready" and is_ready:
        yield _merged(claim, f"{outcome}, though every share's own conditions are True")


def _merged(claim: Claim, seen: str) -> Verdict:
    return Verdict(
        "warning",
        "ShareStatusMerged",
        claim.subject,
        observed=f"the scheduler reads the first status entry of a device for all its shares: {seen}",
        expected="one status entry per share, told apart by shareID",
        advice="write the conditions of all shares of a device together",
    )


def _name(fact: ConsumerFact) -> str:
    return f"{fact.consumer.resource} {fact.consumer.name} ({fact.consumer.uid}): {fact.state}"
