# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Per pod: why it is pending, or why it got this alternative and not an earlier one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from .choice import Chosen, chosen_alternatives
from .claim_state import DEFAULT_BINDING_TIMEOUT, judge_claim
from .claims import Claim
from .cluster import Cluster
from .containers import container_verdicts
from .cpu_ledgers import cpu_verdicts, exhausted_cpus
from .fitting import Fitting
from .holdings import double_allocations
from .images import image_verdicts
from .lint import rail_lint
from .pending import pending_verdicts
from .pods import Pod
from .slice_audit import double_offered
from .verdict import Verdict
from .workloads import pod_claims

NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
DELETION_SECONDS = 30
"""How long after its grace period a kubelet may take to end a pod before that is worth a word."""

PodState = Literal["pending", "waiting", "starting", "running", "ended"]


@dataclass(frozen=True, slots=True)
class PodDiagnosis:
    """What is known about one pod.

    :param state: ``pending`` (no devices yet), ``waiting`` (devices allocated, binding conditions open),
        ``starting`` (bound to a node), ``running`` or ``ended``.
    :param verdicts: the decisive one first.
    :param chosen: the alternative of each request that has some, with the reasons against earlier ones.
    """

    pod: Pod
    state: PodState
    verdicts: tuple[Verdict, ...]
    chosen: tuple[Chosen, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the mapping for module results."""
        return {
            "pod": self.pod.meta.full_name,
            "uid": self.pod.meta.uid,
            "node": self.pod.node_name,
            "state": self.state,
            "verdicts": [each.as_dict() for each in self.verdicts],
            "chosen": [each.as_dict() for each in self.chosen],
        }


def diagnose(
    cluster: Cluster, pods: Iterable[Pod] | None = None, *, binding_timeout: int = DEFAULT_BINDING_TIMEOUT
) -> list[PodDiagnosis]:
    """Return the diagnosis of each pod; of all pods with claims where none are named.

    :param binding_timeout: the scheduler's limit for binding conditions, in seconds.
    """
    fitting = Fitting(cluster)
    if pods is None:
        pods = [pod for pod in cluster.pods if pod.claims or pod.extended_resource_claim]
    return [_diagnose(pod, cluster, fitting, binding_timeout) for pod in pods]


def cluster_verdicts(cluster: Cluster) -> list[Verdict]:
    """Return what is wrong with the cluster's devices whichever pod one looks at."""
    devices = {
        each.device_id(device): device
        for pool in cluster.inventory.pools.values()
        for each in pool.slices
        for device in each.devices
    }
    nodes = {node.name: node for node in cluster.nodes}
    return [
        *double_allocations(cluster.inventory.held, devices),
        *double_offered(cluster.inventory.pools, nodes),
        *exhausted_cpus(cluster.inventory.held, cluster.inventory),
    ]


def _diagnose(pod: Pod, cluster: Cluster, fitting: Fitting, binding_timeout: int) -> PodDiagnosis:
    claims = [link.claim for link in pod_claims(pod, cluster.claims, cluster.templates) if link.claim]
    chosen = tuple(each for claim in claims for each in chosen_alternatives(pod, claim, cluster, fitting))
    evicted = tuple(_eviction(pod))
    if pod.has_ended:
        return PodDiagnosis(pod, "ended", evicted, chosen)
    if not pod.node_name:
        is_waiting = bool(claims) and all(claim.allocation for claim in claims)
        verdicts = pending_verdicts(pod, cluster, fitting, binding_timeout)
        verdicts += cpu_verdicts(pod, claims, cluster.nodes, cluster.inventory)
        return PodDiagnosis(pod, "waiting" if is_waiting else "pending", (*evicted, *verdicts), chosen)
    verdicts = [
        *evicted,
        *_overdue(pod, cluster),
        *_node(pod, cluster),
        *_preparation(pod, cluster),
        *image_verdicts(pod, claims),
        *container_verdicts(pod, cluster.events, cluster.architecture(pod.node_name)),
        *_of_claims(pod, claims, cluster, binding_timeout),
        *cpu_verdicts(pod, claims, cluster.nodes, cluster.inventory),
    ]
    return PodDiagnosis(pod, "running" if pod.phase == "Running" else "starting", tuple(verdicts), chosen)


def _eviction(pod: Pod) -> Iterator[Verdict]:
    """Yield the verdict on a pod that has to go because a device of its claims was tainted."""
    target = pod.condition("DisruptionTarget")
    if target is not None and target.reason == "DeletionByDeviceTaintManager":
        yield Verdict(
            "error",
            "EvictedByDeviceTaint",
            pod.subject,
            observed=target.message or "a device got a taint with effect NoExecute",
            expected="devices without a NoExecute taint, or a toleration of the request that names it",
            advice="look at the device's taint in its slice; the driver or an administrator set it",
        )


def _node(pod: Pod, cluster: Cluster) -> Iterator[Verdict]:
    """Yield that nobody looks after the pod: the node controller taints a node that is not ready."""
    node = next((each for each in cluster.nodes if each.name == pod.node_name), None)
    taints = [taint.key for taint in node.taints if taint.key in NOT_READY] if node else []
    if taints:
        yield Verdict(
            "error",
            "NodeNotReady",
            pod.subject,
            observed=f"node {pod.node_name} has the taint {', '.join(dict.fromkeys(taints))}",
            expected="a node whose kubelet reports and can run pods",
            advice="look at the node's conditions and its kubelet; devices of its pods stay taken until the "
            "node is back, or is deleted with them",
            evidence=(f"Node {pod.node_name}",),
        )


def _overdue(pod: Pod, cluster: Cluster) -> Iterator[Verdict]:
    """Yield the verdict on a pod that its kubelet does not end, though its grace period is over."""
    if pod.meta.deleted is None:
        return
    seconds = int(
        (cluster.now - pod.meta.deleted).total_seconds()
    )  # the timestamp has the grace period in it
    if seconds < DELETION_SECONDS:
        return
    event = cluster.events.latest(pod.meta.uid, "FailedPrepareDynamicResources", "FailedKillPod")
    yield Verdict(
        "warning",
        "PodDeletionOverdue",
        pod.subject,
        observed=f"its grace period ended {seconds} s ago and {pod.node_name} still has it",
        expected="a pod that is gone with its grace period",
        advice="look at the kubelet of the node: it can wait without end for a claim that was never prepared "
        "(kubernetes/kubernetes#139772); delete by force only what no longer runs",
        evidence=(*((str(event),) if event else ()), f"Node {pod.node_name}"),
    )


def _of_claims(
    pod: Pod, claims: Iterable[Claim], cluster: Cluster, binding_timeout: int
) -> Iterator[Verdict]:
    """Yield what is wrong with the claims of a pod that has its node."""
    for claim in claims:
        report = judge_claim(
            claim,
            now=cluster.now,
            binding_timeout=binding_timeout,
            pods=cluster.pods,
            pools=cluster.inventory.pools or None,
            wanted_by=pod,
        )
        yield from (each for each in report.verdicts if each.at_least("warning"))
        yield from rail_lint(claim, cluster.inventory)


def _preparation(pod: Pod, cluster: Cluster) -> Iterator[Verdict]:
    """Yield what the kubelet says about preparing the devices of a pod that does not start."""
    event = cluster.events.latest(pod.meta.uid, "FailedPrepareDynamicResources")
    if event is None or pod.phase != "Pending":
        return
    unregistered = "not registered" in event.message or "not found in the list of registered" in event.message
    yield Verdict(
        "error",
        "DriverNotRegistered" if unregistered else "PreparationFailed",
        pod.subject,
        observed=event.message,
        expected=f"the claim's devices prepared on {pod.node_name}",
        advice="look at the driver's pod on that node; every driver of the claim needs a plugin there, the "
        "gating device's included"
        if unregistered
        else "look at the driver's log on that node",
        evidence=(str(event), f"Node {pod.node_name}"),
    )
