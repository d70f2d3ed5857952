# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which replicas of a Deployment to replace one by one, in what order, and what each successor must get.

A ReplicaSet leaves the pods it has alone when its template changes, and makes new ones from the new
template. So a paused Deployment's ReplicaSet is given the new template, pods are evicted one by one, and a
scheduling gate (KEP-3521) holds each successor back until the devices of its predecessor are free again:
without it the scheduler gives the successor a later alternative while the earlier one is still held.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .choice import Question
from .claims import Claim, DeviceRequests, Request
from .cluster import Cluster
from .fits import Refusal
from .fitting import Fitting
from .foresight import alternative_names, outlook
from .pods import Pod
from .rollouts import POD_TEMPLATE_HASH, Deployment, ReplicaSet
from .verdict import Verdict
from .waiting import is_ready
from .workloads import pod_claims

Which = Literal["outdated", "later_alternatives"]

GATE = "inference.dra/ordered-replacement"
TEMPLATE_LABEL = "inference.dra/template"
"""On the pods that a replacement made: the fingerprint of the template they were made from."""


@dataclass(frozen=True, slots=True)
class Member:
    """A live replica.

    :param alternative: name inside the request, empty while it has none.
    :param position: index of the alternative, -1 while it has none.
    :param is_held: whether the gate keeps the scheduler from it.
    """

    pod: Pod
    claims: tuple[Claim, ...]
    alternative: str
    position: int
    is_outdated: bool

    @property
    def is_held(self) -> bool:
        return any(each.get("name") == GATE for each in self.pod.spec.get("schedulingGates") or ())

    @property
    def serves(self) -> bool:
        return is_ready(self.pod)


@dataclass(frozen=True, slots=True)
class Service:
    """A Deployment, the one ReplicaSet that has its replicas, and these.

    :param differs: whether the ReplicaSet makes pods of another template than the Deployment states.
    :param leaving: claims of replicas that end or have ended, whose devices are not free yet.
    """

    deployment: Deployment
    replica_set: ReplicaSet | None
    members: tuple[Member, ...] = ()
    leaving: tuple[Claim, ...] = ()
    differs: bool = False

    @property
    def held(self) -> tuple[Member, ...]:
        return tuple(each for each in self.members if each.is_held)

    @property
    def outdated(self) -> tuple[Member, ...]:
        return tuple(each for each in self.members if each.is_outdated)

    def by_alternative(self) -> dict[str, int]:
        """Return how many replicas have each alternative; those without one under an empty name."""
        counts: dict[str, int] = {}
        for member in self.members:
            counts[member.alternative] = counts.get(member.alternative, 0) + 1
        return counts


@dataclass(frozen=True, slots=True)
class Step:
    """One replacement.

    :param accepted: the alternatives that the successor may have; empty for any.
    :param foreseen: the one it is expected to get, empty where that is not known.
    """

    pod: Pod
    alternative: str
    accepted: tuple[str, ...]
    foreseen: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "pod": self.pod.meta.name,
            "alternative": self.alternative,
            "accepted": list(self.accepted),
            "foreseen": self.foreseen,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """The replacements in their order, and why there are none or no more."""

    steps: tuple[Step, ...] = ()
    because: str = ""


def fingerprint(template: Mapping[str, Any]) -> str:
    """Return a short name for a pod template, fit for a label."""
    text = json.dumps(template, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def made_template(service: Service, *, gated: bool) -> dict[str, Any]:
    """Return the pod template for the ReplicaSet: the Deployment's, with the label that its selector has.

    :param gated: with the gate and the fingerprint, for as long as outdated replicas remain. Without them
        the Deployment controller knows the ReplicaSet as that of its template, and makes no other.
    """
    if service.replica_set is None:
        raise ValueError("there is no ReplicaSet to give a template to")
    template = dict(service.deployment.template)
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {})}
    labels[POD_TEMPLATE_HASH] = service.replica_set.meta.labels.get(POD_TEMPLATE_HASH, "")
    spec = template["spec"]
    if gated:
        labels[TEMPLATE_LABEL] = fingerprint(service.deployment.template)
        spec = {**spec, "schedulingGates": [*(spec.get("schedulingGates") or ()), {"name": GATE}]}
    return {**template, "metadata": {**metadata, "labels": labels}, "spec": spec}


def is_prepared(service: Service) -> bool:
    """Return whether the ReplicaSet makes gated pods of the Deployment's present template already."""
    if service.replica_set is None:
        return False
    labels = (service.replica_set.template.get("metadata") or {}).get("labels") or {}
    return labels.get(TEMPLATE_LABEL) == fingerprint(service.deployment.template)


def find_service(
    cluster: Cluster,
    deployment: Deployment,
    replica_sets: Iterable[ReplicaSet],
    *,
    template_changes: bool = False,
) -> Service:
    """Return the Deployment with its replicas; those of one ReplicaSet, which ``obstacle`` makes sure of.

    :param template_changes: whether the Deployment's template is yet to change, which outdates them all.
    """
    active = _active(deployment, replica_sets)
    if not active:
        return Service(deployment, None)
    replica_set = active[0]
    differs = replica_set.template != deployment.template
    present = fingerprint(deployment.template)
    members = []
    for pod in cluster.pods:
        if pod.meta.owner[2] == replica_set.meta.uid and pod.is_live:
            links = pod_claims(pod, cluster.claims, cluster.templates)
            claims = tuple(link.claim for link in links if link.claim)
            is_outdated = template_changes or (differs and pod.meta.labels.get(TEMPLATE_LABEL) != present)
            members.append(Member(pod, claims, *_alternative(claims), is_outdated))
    members.sort(key=lambda each: (str(each.pod.meta.created), each.pod.meta.name))
    leaving = tuple(_leaving(replica_set, cluster))
    return Service(deployment, replica_set, tuple(members), leaving, differs)


def obstacle(deployment: Deployment, replica_sets: Iterable[ReplicaSet], which: Which) -> Verdict | None:
    """Return what forbids an ordered replacement, None where nothing does."""
    active = _active(deployment, replica_sets)
    if len(active) > 1:
        return Verdict(
            "error",
            "RolloutUnderWay",
            deployment.subject,
            observed=f"replicas in {len(active)} ReplicaSets: {', '.join(each.meta.name for each in active)}",
            expected="all replicas in one ReplicaSet",
            advice="let the rollout that is under way end (kubectl rollout status) or undo it; run again",
        )
    if not active or active[0].template == deployment.template:
        return None
    if not deployment.paused:
        return Verdict(
            "error",
            "NotPaused",
            deployment.subject,
            observed="its template has changed and it is not paused, so its own strategy replaces replicas",
            expected="spec.paused true before the template changes",
            advice="the role vllm does that with vllm_strategy Ordered, and the playbook rollout for you",
        )
    if which == "later_alternatives":
        return Verdict(
            "error",
            "RolloutUnderWay",
            deployment.subject,
            observed="it is paused with a new template: a rollout is not finished",
            expected="all replicas of one template",
            advice="run the playbook rollout to its end first",
        )
    return None


def plan_replacements(service: Service, cluster: Cluster, which: Which, most: int = 0) -> Plan:
    """Return what to replace now.

    :param most: the largest number of replacements; 0 for no limit.
    """
    plan = _outdated(service, cluster) if which == "outdated" else _returns(service, cluster)
    if most and len(plan.steps) > most:
        text = f"{len(plan.steps) - most} more would follow, and {most} is the maximum"
        return Plan(plan.steps[:most], text)
    return plan


def wanted_requests(service: Service, cluster: Cluster) -> tuple[DeviceRequests, ...]:
    """Return what a replica of the Deployment's present template asks for, as far as it is known."""
    pod = template_pod(service.deployment)
    found = [
        cluster.template_requests.get((pod.meta.namespace, each.template_name))
        for each in pod.claims
        if each.template_name
    ]
    return tuple(each for each in found if each is not None)


def template_pod(deployment: Deployment) -> Pod:
    """Return a pod as the Deployment's template describes it."""
    metadata = deployment.template.get("metadata") or {}
    named = {**metadata, "name": deployment.meta.name, "namespace": deployment.meta.namespace}
    return Pod.from_api({**deployment.template, "apiVersion": "v1", "kind": "Pod", "metadata": named})


def accepted_alternatives(names: list[str], alternative: str) -> tuple[str, ...]:
    """Return an alternative and all before it; any will do where it is none of the names."""
    return tuple(names[: names.index(alternative) + 1]) if alternative in names else ()


def accepted_of_held(service: Service, cluster: Cluster, held: Member) -> tuple[str, ...]:
    """Return what a successor whose predecessor is not known must get: the best that is free, or earlier."""
    requests = wanted_requests(service, cluster)
    found = outlook(cluster, held.pod, requests, cluster.inventory.held).found
    return accepted_alternatives(alternative_names(requests), found.alternative) if found else ()


def _active(deployment: Deployment, replica_sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    return [each for each in replica_sets if each.meta.owner[2] == deployment.meta.uid and each.replicas > 0]


def _leaving(replica_set: ReplicaSet, cluster: Cluster) -> Iterator[Claim]:
    """Yield the allocated claims that were made for pods of the ReplicaSet which are not live."""
    for claim in cluster.claims:
        kind, name, uid = claim.meta.owner
        made_here = kind == "Pod" and name.startswith(f"{replica_set.meta.name}-")
        if claim.allocation and made_here and claim.meta.namespace == replica_set.meta.namespace:
            pod = cluster.pods.get(uid)
            if pod is None or not pod.is_live:
                yield claim


def _choices(claims: Iterable[Claim]) -> Iterator[tuple[Claim, Request]]:
    """Yield the first request that has alternatives, and its claim."""
    for claim in claims:
        for request in claim.devices.requests:
            if request.first_available:
                yield claim, request
                return


def _alternative(claims: Iterable[Claim]) -> tuple[str, int]:
    """Return the alternative of the first request that has some, and its index."""
    for claim, request in _choices(claims):
        for given in claim.allocation.devices if claim.allocation else ():
            if given.request.partition("/")[0] == request.name:
                return given.request.rpartition("/")[2], request.position(given.request)
    return "", -1


def _outdated(service: Service, cluster: Cluster) -> Plan:
    """Plan what does not serve first, then the last alternative first: the cheapest shows what is wrong."""
    names = alternative_names(wanted_requests(service, cluster))
    ordered = sorted(
        (each for each in service.outdated if not each.is_held),
        key=lambda each: (each.serves, -each.position, str(each.pod.meta.created), each.pod.meta.name),
    )
    if not ordered:
        return Plan(because="every replica is of the present template")
    return Plan(
        tuple(
            Step(each.pod, each.alternative, accepted_alternatives(names, each.alternative), each.alternative)
            for each in ordered
        )
    )


def _returns(service: Service, cluster: Cluster) -> Plan:
    """Plan the replicas of the last alternative first, each while an earlier one is free for it."""
    movable = sorted(
        (each for each in service.members if each.position > 0),
        key=lambda each: (-each.position, str(each.pod.meta.created), each.pod.meta.name),
    )
    if not movable:
        some = any(each.position == 0 for each in service.members)
        text = "no replica has devices yet" if not some else "no replica runs on a later alternative"
        return Plan(because=text)
    held, steps = cluster.inventory.held, list[Step]()
    for member in movable:
        requests = [claim.devices for claim in member.claims]
        seen = outlook(cluster, member.pod, requests, held)
        if seen.unknown:
            return Plan(tuple(steps), f"whether something is free cannot be told: {seen.unknown}")
        if seen.found is None or seen.found.position >= member.position:
            continue
        names = alternative_names(requests)
        accepted = tuple(names[: member.position])
        steps.append(Step(member.pod, member.alternative, accepted, seen.found.alternative))
        held = seen.found.held
        for claim in member.claims:
            held = held.without(claim)
    if steps:
        return Plan(tuple(steps))
    return Plan(because=f"no earlier alternative is free: {_why(movable[0], cluster)}")


def _why(member: Member, cluster: Cluster) -> str:
    """Return for each earlier alternative what keeps a replica from it, and on which nodes."""
    fitting = Fitting(cluster)
    where = fitting.reachable(member.pod)
    texts = []
    for claim, request in _choices(member.claims):
        for index in range(member.position):
            question = Question(member.pod, claim, request, index)
            nodes: dict[str, list[str]] = {}
            for name, answer in fitting.answers([question.narrowed()], where).items():
                if isinstance(answer, Refusal) and answer.reason != "DriverSlicesMissing":
                    nodes.setdefault(answer.reason, []).append(name)
            found = [f"{reason} on {', '.join(names)}" for reason, names in nodes.items()]
            alternative = question.name.rpartition("/")[2]
            texts.append(f"{alternative}: {' and '.join(found) or 'no node it may go to has its devices'}")
    return "; ".join(texts)
