# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judgement of one claim: its facts, its one state, and the verdicts that belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from . import claim_verdicts
from .claim_report import Choice, ClaimReport, ClaimState, ConsumerFact, ConsumerState
from .claims import AllocatedDevice, Claim, Consumer
from .conditions import DeviceReadiness, SchedulerView, readiness, scheduler_view
from .pods import Pod, PodIndex
from .resource_pools import Pool
from .slices import PoolId

DEFAULT_BINDING_TIMEOUT = 600  # seconds; DynamicResourcesArgs.bindingTimeout of the scheduler

_SECOND = timedelta(seconds=1)


def judge_claim(
    claim: Claim,
    *,
    now: datetime,
    binding_timeout: int = DEFAULT_BINDING_TIMEOUT,
    pods: PodIndex | None = None,
    pools: Mapping[PoolId, Pool[Any]] | None = None,
    wanted_by: Pod | None = None,
) -> ClaimReport:
    """Return the state of a claim with everything worth saying about it.

    :param now: aware; compared with the allocation's timestamp.
    :param binding_timeout: the scheduler's own limit in seconds, not a module's.
    :param pods: all pods of the claim's namespace; None where they are not known, and nothing
        is said about consumers then.
    :param pools: all pools of the cluster; None where slices are not known.
    :param wanted_by: the pod through which the claim was reached; its UID must be the owner's.
    """
    consumers = _consumers(claim, pods)
    devices = readiness(claim)
    view = scheduler_view(claim)
    bound = [pod for pod in _users(claim, pods) if pod.node_name]
    allocation = claim.allocation
    seconds_left = None
    if allocation and allocation.timestamp and view.outcome == "waiting" and not bound:
        deadline = allocation.timestamp + timedelta(seconds=binding_timeout)
        seconds_left = max(0, -((now - deadline) // _SECOND))
    report = ClaimReport(
        name=claim.meta.name,
        namespace=claim.meta.namespace,
        state="pending",
        uid=claim.meta.uid,
        pod_claim_name=claim.pod_claim_name,
        node=allocation.node if allocation else "",
        choices=_choices(claim),
        devices=devices,
        scheduler=view,
        consumers=consumers,
        allocated_at=allocation.timestamp if allocation else None,
        seconds_left=seconds_left,
    )
    hindrances = [
        *claim_verdicts.ownership(claim, wanted_by),
        *claim_verdicts.reservations(claim, consumers, wanted_by),
        *claim_verdicts.vanished(claim, pools, bound),
    ]
    state = _state(claim, devices, view, is_usable=not any(v.status == "error" for v in hindrances))
    return replace(
        report,
        state=state,
        verdicts=(
            *claim_verdicts.lifecycle(claim, state, consumers),
            *claim_verdicts.progress(report, state, binding_timeout, bound),
            *hindrances,
            *claim_verdicts.sharing(claim, report),
        ),
    )


def _state(
    claim: Claim, devices: tuple[DeviceReadiness, ...], view: SchedulerView, *, is_usable: bool
) -> ClaimState:
    if claim.meta.deleted is not None:
        return "deleting"
    if claim.allocation is None:
        return "pending"
    if view.outcome == "failed" or any(each.failed for each in devices):
        return "failed"
    if not is_usable:
        return "unusable"
    if view.outcome == "ready" and all(each.is_ready for each in devices):
        return "ready"
    return "allocated"


def _allocated(claim: Claim) -> tuple[AllocatedDevice, ...]:
    return claim.allocation.devices if claim.allocation else ()


def _choices(claim: Claim) -> tuple[Choice, ...]:
    chosen = dict.fromkeys(each.request for each in _allocated(claim))
    found = []
    for alternative in chosen:
        request = claim.devices.request(alternative)
        position = request.position(alternative) if request else -1
        of = len(request.alternatives) if request else 0
        found.append(Choice(alternative.partition("/")[0], alternative, position, of))
    return tuple(found)


def _consumers(claim: Claim, pods: PodIndex | None) -> tuple[ConsumerFact, ...]:
    return tuple(
        ConsumerFact(each, _consumer_state(each, claim.meta.namespace, pods)) for each in claim.reserved_for
    )


def _consumer_state(consumer: Consumer, namespace: str, pods: PodIndex | None) -> ConsumerState:
    if pods is None or consumer.resource != "pods" or consumer.api_group:
        return "unknown"
    pod = pods.get(consumer.uid)
    if pod is None:
        return "gone" if pods.named(namespace, consumer.name) is None else "replaced"
    return "ended" if pod.has_ended else "live"


def _users(claim: Claim, pods: PodIndex | None) -> list[Pod]:
    """Return the pods that the claim is reserved for and that have not ended."""
    found = [pods.get(each.uid) for each in claim.reserved_for] if pods else []
    return [pod for pod in found if pod is not None and not pod.has_ended]
