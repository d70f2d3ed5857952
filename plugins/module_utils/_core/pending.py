# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a pod is pending, check by check in the order in which the scheduler meets them.

Gates and queue, claims and templates, device classes, binding conditions, the nodes themselves, devices on
each node, the autoscaler. The scheduler gives one text for more than twenty different causes ("cannot
allocate all claims"); slices and claims tell them apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .allocation import missing_class, what_if
from .autoscaling import scaling_verdicts
from .claim_state import DEFAULT_BINDING_TIMEOUT, judge_claim
from .claims import Claim, DeviceRequests
from .cluster import Cluster
from .fits import Fit, Refusal
from .inventory import Place
from .lint import constraint_lint
from .nodes import Node, node_selector_matches
from .placement import misfit
from .pods import Pod
from .refusals import look
from .verdict import Status, Verdict
from .workloads import pod_claims

_NAMED = 8  # a verdict names this many nodes and leaves the rest to the count
# What is no fault: the devices exist and others have them.
_EXHAUSTED = frozenset({"DeviceInUse", "CapacityExhausted", "DevicesCompete", "CountersExhausted"})
_ADVICE = {
    "DriverSlicesMissing": "follow the chain: node label, DaemonSet desired and ready, slice; a driver pod "
    "in Init waits for the kernel driver",
    "DeviceClassMissing": "install the class (the driver's chart brings it), or correct the name",
    "PoolIncomplete": "look at the driver's pod on that node; nothing of the pool is allocated before it is "
    "complete",
    "PoolInvalid": "the driver must publish each device name once",
    "ClassMatchesNothing": "compare the class's selectors with the attributes in the slices",
    "SelectorMatchesNothing": "compare the request's selectors with the attributes in the slices",
    "SelectorError": "guard the attribute with has(); until then one such node stops all pods of the class",
    "CapacityTooSmall": "one request is served by one device: ask for less, for several, or for larger ones",
    "DeviceTainted": "remove the taint, or tolerate it in the request",
    "NoCommonValue": "the constraint needs devices that share the value",
    "AttributeMissing": "the driver must publish the attribute on every device, or the constraint must go",
    "AttributeTypeDiffers": "values of different types never match; the drivers must agree on the type",
    "CannotJudge": "install what is missing here, or ask the scheduler: its event names the node",
    "SearchTooLong": "drop matchAttribute from pods that take whole nodes, or taint the node",
}


@dataclass
class Fitting:
    """Answers of ``what_if`` for all nodes, remembered for pods that ask for the same."""

    cluster: Cluster
    known: dict[tuple[str, str], Fit | Refusal] = field(default_factory=dict)

    def on(self, wanted: Sequence[DeviceRequests], node: Node) -> Fit | Refusal:
        """Return what the claims would get on the node."""
        return self.on_all(wanted, [node])[node.name]

    def on_all(self, wanted: Sequence[DeviceRequests], nodes: Iterable[Node]) -> dict[str, Fit | Refusal]:
        """Return what the claims would get on each node, by the node's name."""
        asked = repr(wanted)
        answers = {}
        for node in nodes:
            key = (asked, node.name)
            if key not in self.known:
                place = Place(node.name, node.labels)
                self.known[key] = what_if(wanted, place, self.cluster.inventory)
            answers[node.name] = self.known[key]
        return answers

    def without(self, claim: Claim) -> Fitting:
        """Return the answers as if the claim held nothing; the same where that makes no difference."""
        given = claim.allocation.devices if claim.allocation else ()
        first = given[0].request.partition("/")[0] if given else ""
        if all(
            each.request.partition("/")[0] == first or (each.share_id and not each.consumed_capacity)
            for each in given
        ):
            return self
        inventory = replace(self.cluster.inventory, held=self.cluster.inventory.held.without(claim))
        return Fitting(replace(self.cluster, inventory=inventory))


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
    of_claims = [each for report in reports for each in report.verdicts if each.reason != "ClaimPending"]
    open_claims = [claim for claim in claims if claim.allocation is None]
    if not open_claims:
        return [*of_claims, *_scheduler_words(pod, cluster)]
    return [
        *[each for each in of_claims if each.status == "error"],
        *_devices(pod, cluster, fitting, claims, open_claims),
        *[each for each in of_claims if each.status != "error"],
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
    nodes, kept_away = _candidates(pod, cluster, claims)
    if not nodes:
        yield from _no_node(pod, cluster, kept_away)
        return
    answers = fitting.on_all(wanted, nodes)
    fits = [name for name, answer in answers.items() if isinstance(answer, Fit)]
    refusals = {name: answer for name, answer in answers.items() if isinstance(answer, Refusal)}
    stops = {name: each for name, each in refusals.items() if each.scope == "pod"}
    if stops:
        yield from _by_reason(pod, stops, "error", "on no node of the cluster")
    elif fits:
        yield _fits(pod, fits)
    else:
        yield from _refused(pod, cluster, wanted, nodes, refusals)
    if kept_away and not fits:
        yield from _kept_away(pod, kept_away)


def _candidates(
    pod: Pod, cluster: Cluster, claims: Iterable[Claim]
) -> tuple[list[Node], dict[str, list[str]]]:
    """Return the nodes that the pod may go to, and the others by what keeps the pod away from them."""
    selectors = [
        claim.allocation.node_selector
        for claim in claims
        if claim.allocation and claim.allocation.node_selector is not None
    ]
    found, kept_away = [], dict[str, list[str]]()
    for node in cluster.nodes:
        unfit = misfit(pod, node)
        if unfit:
            kept_away.setdefault(unfit.reason, []).append(f"{node.name}: {unfit.text}")
        elif not all(node_selector_matches(each, node.name, node.labels) for each in selectors):
            kept_away.setdefault("ClaimElsewhere", []).append(
                f"{node.name}: another claim is allocated elsewhere"
            )
        else:
            found.append(node)
    return found, kept_away


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


def _fits(pod: Pod, fits: Sequence[str]) -> Verdict:
    """Return the verdict on a pod whose devices are there: something else, or only time, is missing."""
    scheduled = pod.condition("PodScheduled")
    message = scheduled.message if scheduled else ""
    insufficient = [part.strip() for part in message.split(",") if "Insufficient" in part]
    if insufficient:
        return _verdict(
            pod, "NodeResourcesInsufficient", "; ".join(insufficient), "room for the pod's requests", "error"
        )
    waited = (
        "" if scheduled and scheduled.reason == "Unschedulable" else "; the scheduler tries again by itself"
    )
    names = ", ".join(fits[:_NAMED])
    return _verdict(pod, "FitsNow", f"its claims fit on {names} now{waited}", "to be placed soon", "note")


def _refused(
    pod: Pod,
    cluster: Cluster,
    wanted: Sequence[DeviceRequests],
    nodes: Sequence[Node],
    refusals: Mapping[str, Refusal],
) -> Iterator[Verdict]:
    """Yield one verdict per reason, faults before exhaustion, each with its nodes."""
    by_name = {node.name: node for node in nodes}
    found: dict[tuple[str, str], dict[str, str]] = {}
    for name, refusal in refusals.items():
        parts = [(each.alternative, each.reason, each.text) for each in refusal.shortfalls] or [
            (refusal.request, refusal.reason, refusal.text)
        ]
        for alternative, reason, text in parts:
            found.setdefault((alternative, reason), {})[name] = text
    ordinary = _nodes_of_other_kinds(found, wanted, by_name, cluster)
    verdicts = []
    for (alternative, reason), texts in found.items():
        kept = {name: text for name, text in texts.items() if (alternative, name) not in ordinary}
        if not kept:
            continue
        shown = "; ".join(f"{name}: {text}" for name, text in list(kept.items())[:_NAMED])
        more = f" and {len(kept) - _NAMED} more nodes" if len(kept) > _NAMED else ""
        status: Status = "note" if reason in _EXHAUSTED else "error"
        if reason in {"CannotJudge", "SearchTooLong"}:
            status = "warning"
        label = f"{alternative}: " if alternative else ""
        expected = f"devices for {alternative or 'all requests'} on one node"
        verdicts.append(_verdict(pod, reason, f"{label}{shown}{more}", expected, status))
    if verdicts and all(each.reason in _EXHAUSTED for each in verdicts):
        yield _exhausted(pod, cluster, wanted, nodes)
    yield from sorted(verdicts, key=lambda each: ("error", "warning", "note").index(each.status))


def _nodes_of_other_kinds(
    found: Mapping[tuple[str, str], Mapping[str, str]],
    wanted: Sequence[DeviceRequests],
    nodes: Mapping[str, Node],
    cluster: Cluster,
) -> set[tuple[str, str]]:
    """Return (alternative, node) where the driver is absent because the node is made for something else.

    A node without the driver of one alternative is ordinary where the driver publishes elsewhere, unless
    the node has devices of another request of the same claim: then it is half a node.
    """
    reasons: dict[str, set[str]] = {}
    for alternative, reason in found:
        reasons.setdefault(alternative, set()).add(reason)
    ordinary = set()
    for (alternative, reason), texts in found.items():
        if reason != "DriverSlicesMissing":
            continue
        elsewhere = reasons[alternative] != {"DriverSlicesMissing"}
        for name in texts:
            other = _has_devices_of_another_request(alternative, wanted, nodes[name], cluster)
            has_alternative = any(
                name in other_texts and other_reason != "DriverSlicesMissing"
                for (_other, other_reason), other_texts in found.items()
            )
            if not other and (elsewhere or has_alternative):
                ordinary.add((alternative, name))
    return ordinary


def _has_devices_of_another_request(
    alternative: str, wanted: Sequence[DeviceRequests], node: Node, cluster: Cluster
) -> bool:
    main = alternative.partition("/")[0]
    place = Place(node.name, node.labels)
    for claim in wanted:
        if not any(request.name == main for request in claim.requests):
            continue
        for request in claim.requests:
            if request.name == main or request.first_available:
                continue
            seen = look(request.alternatives[0], place, cluster.inventory)
            local = [each for each in seen.free if each.slice.node_selection.kind == "node"]
            local += [
                each
                for failed in seen.failed.values()
                for each, _text in failed
                if each.slice.node_selection.kind == "node"
            ]
            if local:
                return True
    return False


def _exhausted(
    pod: Pod,
    cluster: Cluster,
    wanted: Sequence[DeviceRequests],
    nodes: Sequence[Node],
) -> Verdict:
    """Return the headline for a pod that only lacks free devices: all in use, or free in the wrong places."""
    totals: Counter[str] = Counter()
    free: Counter[str] = Counter()
    needed: Counter[str] = Counter()
    stranded: list[str] = []
    for claim in wanted:
        for request in claim.requests:
            first = request.alternatives[0]
            needed[first.device_class] += first.count
            for node in nodes:
                seen = look(first, Place(node.name, node.labels), cluster.inventory)
                totals[first.device_class] += len(seen.free) + sum(map(len, seen.failed.values()))
                free[first.device_class] += len(seen.free)
                stranded += [str(each.id) for each in seen.free if not each.device.allow_multiple_allocations]
    counts = "; ".join(
        f"{name}: {needed[name]} wanted, {free[name]} free of {totals[name]}" for name in sorted(needed)
    )
    evidence = tuple(dict.fromkeys(stranded))[:_NAMED]
    if all(free[name] >= needed[name] for name in needed):
        reason, status = "Fragmented", "warning"
        advice = "create the pods that need most first, give pods cpu and memory requests, or pack small ones"
    elif evidence and any(free[name] < needed[name] for name in needed):
        reason, status = "DevicesStranded", "warning"
        advice = "free devices lack a partner that another claim holds; see the holders below"
    else:
        reason, status = "CapacityExhausted", "note"
        advice = "add nodes, or let a replica go; the pod is placed as soon as devices are free"
    return Verdict(
        status,  # type: ignore[arg-type]
        reason,
        pod.subject,
        observed=counts,
        expected="free devices for all requests on one node",
        advice=advice,
        evidence=evidence,
    )


def _by_reason(
    pod: Pod, refusals: Mapping[str, Refusal], status: Status, consequence: str
) -> Iterator[Verdict]:
    grouped: dict[tuple[str, str], list[str]] = {}
    for name, refusal in refusals.items():
        grouped.setdefault((refusal.reason, refusal.text), []).append(name)
    for (reason, text), names in grouped.items():
        where = ", ".join(names[:_NAMED])
        observed = f"{text} (seen for {where}); the scheduler then places the pod {consequence}"
        yield _verdict(pod, reason, observed, "an answer for every node", status)


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
    return Verdict(status, reason, pod.subject, observed, expected, _ADVICE.get(reason, ""))
