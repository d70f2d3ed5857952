# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a claim got this alternative and not an earlier one.

Within a node the order of ``firstAvailable`` is strict; between nodes it is a score that others can outvote.
Observed on Kubernetes 1.36.3: alternatives differ by 26 points or less, an untolerated soft taint costs 300,
default spreading 160 and image locality enough to turn the choice. What was true at allocation time is
judged from what is there now: a device whose holder got it later, or a node that came later, was free or
absent then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from .claims import Claim, DeviceRequests, Request
from .cluster import Cluster
from .fits import Fit, Refusal
from .fitting import Fitting
from .nodes import Node
from .placement import soft_taints
from .pods import Pod
from .refusals import Look
from .verdict import Verdict

_NAMED = 8


@dataclass(frozen=True, slots=True)
class Question:
    """Why did this pod's claim not get the alternative at ``index`` of a request?"""

    pod: Pod
    claim: Claim
    request: Request
    index: int

    @property
    def name(self) -> str:
        return self.request.alternatives[self.index].name

    def narrowed(self) -> DeviceRequests:
        """Return the claim as if the request had only this alternative."""
        only = replace(self.request, alternatives=(self.request.alternatives[self.index],))
        requests = tuple(
            only if each.name == self.request.name else each for each in self.claim.devices.requests
        )
        return replace(self.claim.devices, requests=requests)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The alternative of one request, and why each earlier one was not taken."""

    claim: str
    request: str
    alternative: str
    position: int
    of: int
    reasons: tuple[Verdict, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "claim": self.claim,
            "request": self.request,
            "alternative": self.alternative,
            "position": self.position,
            "of": self.of,
            "reasons": [each.as_dict() for each in self.reasons],
        }


def chosen_alternatives(pod: Pod, claim: Claim, cluster: Cluster, fitting: Fitting) -> tuple[Chosen, ...]:
    """Return the choice for each request with alternatives; earlier ones are explained in their order."""
    if claim.allocation is None:
        return ()
    found = []
    given = dict.fromkeys(each.request for each in claim.allocation.devices)
    for name in given:
        request = claim.devices.request(name)
        if request is None or not request.first_available:
            continue
        position = request.position(name)
        reasons = [
            verdict
            for index in range(max(position, 0))
            for verdict in _why_not(Question(pod, claim, request, index), cluster, fitting)
        ]
        count = len(request.alternatives)
        found.append(Chosen(claim.meta.full_name, request.name, name, position, count, tuple(reasons)))
    return tuple(found)


def _why_not(question: Question, cluster: Cluster, fitting: Fitting) -> Iterator[Verdict]:
    """Yield why one earlier alternative was not taken."""
    alternative, subject = question.request.alternatives[question.index], question.claim.subject
    lacking = [kind for kind in ("Node", "ResourceSlice", "DeviceClass") if kind in cluster.missing]
    if lacking:
        yield _verdict(
            subject,
            "CannotTell",
            f"{alternative.name}: no {' and no '.join(lacking)} was given",
            "these objects, as they were when the claim was allocated",
        )
        return
    if alternative.device_class not in cluster.inventory.classes:
        # The scheduler places nothing while a class is missing, so it went after the allocation.
        text = f"{alternative.name}: device class {alternative.device_class} does not exist any more"
        yield _verdict(subject, "DeviceClassMissing", text, "the class")
        return
    where = fitting.reachable(question.pod)
    answers = fitting.without(question.claim).answers([question.narrowed()], where)
    fits = [node for node in where.nodes if isinstance(answers[node.name], Fit)]
    looks = fitting.looks(alternative, where)
    if fits:
        yield _free_now(question, fits, looks, cluster)
        return
    holders = fitting.once("holders", alternative, where, lambda: _holders(looks, cluster))
    yield from _taken(question, [each for each in holders if each.claim != question.claim.meta.full_name])
    others = fitting.once(
        "others", question.narrowed(), where, lambda: _other_reasons(alternative.name, answers, looks)
    )
    yield from (replace(each, subject=subject) for each in others)


class Holder(NamedTuple):
    """A claim that holds a device of an alternative."""

    claim: str
    device: str
    since: datetime | None
    is_ending: bool


def _holders(looks: Mapping[str, Look], cluster: Cluster) -> list[Holder]:
    """Return who holds an alternative's devices, those who have had them longest first."""
    found: dict[str, Holder] = {}
    for seen in looks.values():
        for candidate, _text in seen.failed.get("DeviceInUse", ()):
            for name in cluster.inventory.held.holders(candidate.id):
                claim = cluster.claims.named(*name.split("/", 1)) if "/" in name else None
                since = claim.allocation.timestamp if claim and claim.allocation else None
                consumers = [cluster.pods.get(each.uid) for each in claim.reserved_for] if claim else []
                ending = bool(consumers) and all(pod and pod.meta.deleted is not None for pod in consumers)
                found[name] = Holder(name, str(candidate.id), since, ending)
    return sorted(found.values(), key=lambda each: each.since.timestamp() if each.since else 0.0)


def _taken(question: Question, holders: Sequence[Holder]) -> Iterator[Verdict]:
    """Yield the verdict on devices that others hold, by when they got them."""
    if not holders:
        return
    alternative, subject = question.name, question.claim.subject
    mine = question.claim.allocation.timestamp if question.claim.allocation else None
    oldest = holders[0].since
    names = ", ".join(each.claim for each in holders[:_NAMED])
    if mine and oldest and oldest > mine:
        yield _verdict(
            subject,
            "FreeAtTheTime",
            f"{alternative}: {names} got its devices only after this claim was allocated",
            "an earlier alternative while its devices were free",
            advice="something outvoted it or its devices were not published yet; look at node taints, "
            "spreading, images and the age of nodes at that time",
        )
        return
    if ending := [each.claim for each in holders if each.is_ending]:
        yield _verdict(
            subject,
            "HeldByEndingPod",
            f"{alternative}: held by {', '.join(ending[:_NAMED])}, whose pods are being replaced",
            "the predecessor's device",
            advice="a rolling update starts the successor while the device is held, maxSurge 0 included; "
            "use Recreate, or replace replicas one by one",
        )
        return
    yield Verdict(
        "note",
        "DeviceInUse",
        subject,
        observed=f"{alternative}: {len(holders)} claims hold its devices",
        expected="a free device at allocation time",
        evidence=tuple(f"ResourceClaim {each.claim} holds {each.device}" for each in holders[:_NAMED]),
    )


def _other_reasons(
    alternative: str, answers: Mapping[str, Fit | Refusal], looks: Mapping[str, Look]
) -> Iterator[Verdict]:
    """Yield faults of nodes that have the alternative's driver; where no node has, that is the reason."""
    by_reason: dict[str, list[str]] = {}
    absent, partners = False, []
    for name, answer in answers.items():
        if not isinstance(answer, Refusal):
            continue
        of_another_request = answer.request != alternative and looks[name].is_possible
        text = f"{name}: {answer.text}"
        if answer.reason == "DriverSlicesMissing" and of_another_request:
            partners.append(text)
        elif answer.reason == "DriverSlicesMissing":
            absent = True
        elif answer.reason != "DeviceInUse" or of_another_request:
            by_reason.setdefault(answer.reason, []).append(text)
    if partners:
        text = f"{alternative} is free, but another request is not: {'; '.join(partners[:_NAMED])}"
        yield _verdict("", "DriverSlicesMissing", text, "devices for every request on one node")
    for reason, texts in by_reason.items():
        yield _verdict("", reason, f"{alternative}: {'; '.join(texts[:_NAMED])}", "a usable device")
    if absent and not by_reason and not partners and not any(seen.pools for seen in looks.values()):
        text = f"{alternative}: no node that the pod may go to has a slice of its driver"
        yield _verdict("", "DriverSlicesMissing", text, "a node of the earlier alternative")


def _free_now(
    question: Question, fits: Sequence[Node], looks: Mapping[str, Look], cluster: Cluster
) -> Verdict:
    """Return why an alternative that would fit now was not taken then."""
    pod, claim, alternative = question.pod, question.claim, question.name
    allocated = claim.allocation.timestamp if claim.allocation else None
    tainted = [(node, taint) for node in fits for taint in soft_taints(pod, node)]
    if len({node.name for node, _taint in tainted}) == len(fits):
        text = "; ".join(f"{node.name}: {taint.key}:{taint.effect}" for node, taint in tainted[:_NAMED])
        return _verdict(
            claim.subject,
            "OutvotedByTaint",
            f"{alternative} would fit, but its nodes carry a soft taint: {text}",
            "a toleration with operator Exists and no effect",
            advice="tolerate the key; no node affinity makes up for the 300 points of the taint",
        )
    untainted = [node for node in fits if not soft_taints(pod, node)]
    if allocated and all(_is_younger(node, allocated, looks) for node in untainted):
        names = ", ".join(node.name for node in untainted[:_NAMED])
        return _verdict(
            claim.subject,
            "NodeTooLate",
            f"{alternative} fits on {names}, which came or published after the claim was allocated",
            "a node that is there first",
            advice="claims are decided once; replace the pod to return to the earlier alternative",
        )
    if spread := _siblings(pod, untainted, cluster):
        return _verdict(
            claim.subject,
            "OutvotedBySpreading",
            f"{alternative} fits on {', '.join(node.name for node in untainted[:_NAMED])}, where "
            f"{spread} pods of the same owner run and the default spreading counts against it",
            "an own soft topology spread constraint, or preferred node affinity",
            advice="an own constraint switches the default one off",
        )
    names = ", ".join(node.name for node in untainted[:_NAMED])
    return _verdict(
        claim.subject,
        "FreeNow",
        f"{alternative} fits on {names} now; whether it did when the claim was allocated cannot be told from "
        "what is left",
        "claims and events of that time",
        advice="its devices may have been released since; replace the pod to return to it",
    )


def _is_younger(node: Node, moment: datetime, looks: Mapping[str, Look]) -> bool:
    """Return whether the node, or every slice that makes the alternative possible there, came later."""
    if node.meta.created and node.meta.created > moment:
        return True
    births = [each.slice.meta.created for each in looks[node.name].free]
    return bool(births) and all(born is not None and born > moment for born in births)


def _siblings(pod: Pod, nodes: Sequence[Node], cluster: Cluster) -> int:
    """Return how many other pods of the same owner run on the nodes, where default spreading applies."""
    if pod.spec.get("topologySpreadConstraints") or not pod.meta.owner[2]:
        return 0
    names = {node.name for node in nodes}
    return sum(
        1
        for other in cluster.pods
        if other.meta.owner[2] == pod.meta.owner[2]
        and other.meta.uid != pod.meta.uid
        and other.node_name in names
        and other.is_live
    )


def _verdict(subject: str, reason: str, observed: str, expected: str, advice: str = "") -> Verdict:
    return Verdict("warning", reason, subject, observed, expected, advice)
