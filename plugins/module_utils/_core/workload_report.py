# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the replicas of a workload got: a selection of claims and pods, judged from one snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .claim_report import ClaimReport, missing_claim
from .claim_state import DEFAULT_BINDING_TIMEOUT, judge_claim
from .claims import Claim, ClaimTemplate
from .images import ImageFact, image_facts, image_verdicts
from .label_selectors import LabelSelector
from .pods import Pod, PodIndex
from .resource_pools import Pool, pools
from .rollouts import Deployment, ReplicaSet, workload_pods
from .slices import PoolId, ResourceSlice
from .verdict import Verdict
from .workloads import ClaimIndex, ClaimLink, Name, claim_missing, pod_claims


class SelectionError(ValueError):
    """A selection that contradicts itself."""


@dataclass(frozen=True)
class Snapshot:
    """The objects that claims and workloads are judged from; None where a kind is not known."""

    claims: ClaimIndex
    pods: PodIndex | None = None
    templates: frozenset[Name] | None = None
    deployments: Mapping[Name, Deployment] | None = None
    replica_sets: tuple[ReplicaSet, ...] = ()
    pools: Mapping[PoolId, Pool[Any]] | None = None

    @classmethod
    def from_objects(cls, objects: Mapping[str, Iterable[Mapping[str, Any]]]) -> Snapshot:
        """Return the snapshot of a dump as ``objects.split`` gives it.

        A kind that does not occur in the dump is not known: nothing is said about its absence.

        :raises MalformedObjects: where an object cannot be read.
        """
        templates = [ClaimTemplate.from_api(each) for each in objects.get("ResourceClaimTemplate", ())]
        deployments = [Deployment.from_api(each) for each in objects.get("Deployment", ())]
        slices = [ResourceSlice.from_api(each) for each in objects.get("ResourceSlice", ())]
        return cls(
            claims=ClaimIndex(Claim.from_api(each) for each in objects.get("ResourceClaim", ())),
            pods=PodIndex(Pod.from_api(each) for each in objects["Pod"]) if "Pod" in objects else None,
            templates=frozenset((each.meta.namespace, each.meta.name) for each in templates) or None,
            deployments={(each.meta.namespace, each.meta.name): each for each in deployments} or None,
            replica_sets=tuple(ReplicaSet.from_api(each) for each in objects.get("ReplicaSet", ())),
            pools=pools(slices) if slices else None,
        )


@dataclass(frozen=True, slots=True)
class Selection:
    """Which claims to judge: by name, by label, by whose devices they hold, or through pods or a Deployment.

    :param namespace: empty for all namespaces, but not with the names of claims, pods or a Deployment.
    :param label_selector: over the labels of claims.
    :param drivers: of which a claim holds a device at least; one that only asks for some is not meant.
    :raises SelectionError: where two ways are given, or a name without a namespace.
    """

    namespace: str = ""
    names: tuple[str, ...] = ()
    label_selector: LabelSelector | None = None
    drivers: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    deployment: str = ""

    def __post_init__(self) -> None:
        ways = {
            "names": bool(self.names),
            "label_selector": self.label_selector is not None,
            "drivers": bool(self.drivers),
            "pods": bool(self.pods),
            "deployment": bool(self.deployment),
        }
        given = [way for way, is_given in ways.items() if is_given]
        if len(given) > 1:
            raise SelectionError(f"claims are selected by {' and '.join(given)}; give one of them")
        if given and given[0] not in ("label_selector", "drivers") and not self.namespace:
            raise SelectionError(f"claims are selected by {given[0]}, which needs a namespace")


@dataclass(frozen=True, slots=True)
class PodReport:
    """What a pod got: its claims by name, the facts about its images, and verdicts of its own."""

    pod: Pod
    claims: tuple[str, ...]
    images: tuple[ImageFact, ...] = ()
    verdicts: tuple[Verdict, ...] = ()

    def summary(self) -> dict[str, Any]:
        """Return the mapping for module results."""
        return {
            "name": self.pod.meta.name,
            "namespace": self.pod.meta.namespace,
            "uid": self.pod.meta.uid,
            "phase": self.pod.phase,
            "node": self.pod.node_name,
            "claims": list(self.claims),
            "images": [
                {
                    "container": each.container,
                    "expected": each.expected,
                    "actual": each.actual,
                    "switched": each.is_switched,
                }
                for each in self.images
            ],
            "verdicts": [each.as_dict() for each in self.verdicts],
        }


@dataclass(frozen=True, slots=True)
class WorkloadReport:
    """The judgement of a selection: its claims, each once, its pods, and what concerns the whole."""

    claims: tuple[ClaimReport, ...]
    pods: tuple[PodReport, ...] = ()
    verdicts: tuple[Verdict, ...] = ()


def judge(
    snapshot: Snapshot,
    selection: Selection,
    *,
    now: datetime,
    binding_timeout: int = DEFAULT_BINDING_TIMEOUT,
) -> WorkloadReport:
    """Return the report of all claims that a selection means.

    Pods and Deployments lead to the claims of their live pods, generated or not. A namespace alone
    means its claims and those that its live pods still lack.

    :param now: aware; the moment at which the snapshot is judged.
    :param binding_timeout: the scheduler's limit in seconds.
    """
    chosen, verdicts = _chosen_pods(snapshot, selection)
    links = {pod.meta.uid: pod_claims(pod, snapshot.claims, snapshot.templates) for pod in chosen}
    users = _users(link for each in links.values() for link in each)
    claims = _chosen_claims(snapshot, selection, users)
    reports = [
        judge_claim(
            claim,
            now=now,
            binding_timeout=binding_timeout,
            pods=snapshot.pods,
            pools=snapshot.pools,
            wanted_by=users.get(_name(claim)),
        )
        for claim in claims
    ]
    found = {_name(claim) for claim in claims}
    reports += [
        missing_claim(selection.namespace, name, claim_missing(selection.namespace, name, "the selection"))
        for name in selection.names
        if (selection.namespace, name) not in found
    ]
    reports += [
        missing_claim(link.pod.meta.namespace, link.claim_name or link.name, link.verdict)
        for each in links.values()
        for link in each
        if link.verdict is not None
    ]
    return WorkloadReport(
        tuple(reports), tuple(_pod_report(pod, links[pod.meta.uid]) for pod in chosen), verdicts
    )


def _chosen_pods(snapshot: Snapshot, selection: Selection) -> tuple[Sequence[Pod], tuple[Verdict, ...]]:
    """Return the pods that the selection leads through, and what is wrong with the selection."""
    if selection.deployment:
        return _deployment_pods(snapshot, selection)
    known = snapshot.pods or PodIndex(())
    if selection.pods:
        named = {name: known.named(selection.namespace, name) for name in selection.pods}
        absent = [
            _absent("Pod", "PodMissing", selection.namespace, name)
            for name, pod in named.items()
            if pod is None
        ]
        return [pod for pod in named.values() if pod is not None], tuple(absent)
    if selection.names or selection.drivers or selection.label_selector is not None:
        return (), ()
    inside = (pod for pod in known if selection.namespace in ("", pod.meta.namespace))
    return [pod for pod in inside if pod.is_live and (pod.claims or pod.extended_resource_claim)], ()


def _deployment_pods(snapshot: Snapshot, selection: Selection) -> tuple[Sequence[Pod], tuple[Verdict, ...]]:
    name = (selection.namespace, selection.deployment)
    deployment = (snapshot.deployments or {}).get(name)
    if deployment is None:
        return (), (_absent("Deployment", "DeploymentMissing", *name),)
    found = workload_pods(deployment, snapshot.replica_sets, snapshot.pods or ())
    verdicts = []
    if found.left_over:
        verdicts.append(
            Verdict(
                "note",
                "PodLeftOver",
                deployment.subject,
                observed=f"{len(found.left_over)} pods with its labels are not live pods of the current "
                "ReplicaSet and are not judged",
                expected="",
                advice="delete pods that have ended, or wait for the rollout",
                evidence=tuple(f"{pod.subject}: {pod.phase}" for pod in found.left_over[:16]),
            )
        )
    rollout = deployment.rollout()
    if rollout.state != "complete":
        verdicts.append(
            Verdict(
                "error" if rollout.state == "failed" else "note",
                "RolloutIncomplete",
                deployment.subject,
                observed=rollout.observed,
                expected=f"{deployment.replicas} replicas of the present specification, all ready",
            )
        )
    return found.current, tuple(verdicts)


def _chosen_claims(snapshot: Snapshot, selection: Selection, users: Mapping[Name, Pod]) -> list[Claim]:
    """Return each selected claim once."""
    if selection.names:
        names: Iterable[Name] = [(selection.namespace, each) for each in dict.fromkeys(selection.names)]
    elif selection.pods or selection.deployment:
        names = users
    else:
        wanted = selection.label_selector or LabelSelector()
        return [
            claim
            for claim in snapshot.claims
            if selection.namespace in ("", claim.meta.namespace)
            and wanted.matches(claim.meta.labels)
            and (not selection.drivers or _holds_devices_of(claim, selection.drivers))
        ]
    return [claim for name in names if (claim := snapshot.claims.named(*name)) is not None]


def _holds_devices_of(claim: Claim, drivers: Sequence[str]) -> bool:
    devices = claim.allocation.devices if claim.allocation else ()
    return any(device.driver in drivers for device in devices)


def _users(links: Iterable[ClaimLink]) -> dict[Name, Pod]:
    """Return a pod for each claim that is found; one that the claim was not made for goes first."""
    users: dict[Name, Pod] = {}
    for link in links:
        if link.claim is not None:
            is_owner = link.claim.meta.owner[2] == link.pod.meta.uid
            if _name(link.claim) not in users or not is_owner:
                users[_name(link.claim)] = link.pod
    return users


def _pod_report(pod: Pod, links: Iterable[ClaimLink]) -> PodReport:
    claims = [link.claim for link in links if link.claim is not None]
    return PodReport(
        pod,
        tuple(claim.meta.name for claim in claims),
        image_facts(pod, claims),
        (*image_verdicts(pod, claims), *_gate_apart(pod, claims)),
    )


def _gate_apart(pod: Pod, claims: Sequence[Claim]) -> Iterator[Verdict]:
    """Yield a warning where devices and what they wait for are in different claims.

    After a failed preparation the scheduler gives up one claim that it takes at random (observed on
    Kubernetes 1.36.3: the healthy one in 6 of 8 runs), and the pod stays tied to the node of the rest.
    """
    allocated = {claim.meta.name: claim.allocation.devices for claim in claims if claim.allocation}
    gated = [name for name, all_of in allocated.items() if any(each.binding_conditions for each in all_of)]
    plain = [name for name in allocated if name not in gated]
    if gated and plain:
        yield Verdict(
            "warning",
            "GateInOtherClaim",
            pod.subject,
            observed=f"claim {', '.join(gated)} has binding conditions, claim {', '.join(plain)} has none",
            expected="devices and the device that gates them in one claim",
            advice="put both requests into one claim template, or a failure never leads to another node",
        )


def _absent(kind: str, reason: str, namespace: str, name: str) -> Verdict:
    return Verdict(
        "error",
        reason,
        f"{kind} {namespace}/{name}",
        observed="does not exist",
        expected=f"the {kind} that the selection names",
        advice="correct the name or the namespace",
    )


def _name(claim: Claim) -> Name:
    return claim.meta.namespace, claim.meta.name
