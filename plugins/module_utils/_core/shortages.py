# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why claims fit on none of the nodes that a pod may go to: one verdict per reason, over all nodes.

The verdicts name no subject: they hold for every pod that asks for the same at the same nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from .abridged import NAMED, abridged
from .claims import Alternative, DeviceRequests
from .driver_chain import DRIVER_PODS, BrokenLink
from .fits import Fit, Refusal
from .fitting import Fitting, Reachable
from .refusals import class_drivers, unselected_drivers
from .verdict import Status, Verdict

# What is no fault: the devices exist and others have them.
_EXHAUSTED = frozenset({"DeviceInUse", "CapacityExhausted", "DevicesCompete", "CountersExhausted"})
_ADVICE = {
    "DriverSlicesMissing": "follow the chain: node label, DaemonSet desired and ready, slice; a driver pod "
    "in Init waits for the kernel driver",
    "DriverNameUnexpected": "correct the driver's name where the driver or its slices are configured, or the "
    "class's selector",
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


def shortage_verdicts(
    wanted: Sequence[DeviceRequests], where: Reachable, fitting: Fitting
) -> Iterator[Verdict]:
    """Yield why no node has the devices; nothing where some node has.

    A refusal that stops the pod on every node comes alone; otherwise faults come before exhaustion.
    """
    answers = fitting.answers(wanted, where)
    refusals = {name: each for name, each in answers.items() if isinstance(each, Refusal)}
    stops = {name: each for name, each in refusals.items() if each.scope == "pod"}
    if stops:
        yield from _stopped(stops)
    elif not any(isinstance(each, Fit) for each in answers.values()):
        yield from _refused(wanted, where, fitting, refusals)


def advised(reason: str, observed: str, expected: str, status: Status) -> Verdict:
    """Return a verdict without a subject, with the advice that belongs to its reason."""
    return Verdict(status, reason, "", observed, expected, _ADVICE.get(reason, ""))


def _stopped(refusals: Mapping[str, Refusal]) -> Iterator[Verdict]:
    grouped: dict[tuple[str, str], list[str]] = {}
    for name, refusal in refusals.items():
        grouped.setdefault((refusal.reason, refusal.text), []).append(name)
    for (reason, text), names in grouped.items():
        observed = (
            f"{text} (seen for {', '.join(names[:NAMED])}); the scheduler then places the pod on no node of "
            "the cluster"
        )
        yield advised(reason, observed, "an answer for every node", "error")


def _refused(
    wanted: Sequence[DeviceRequests],
    where: Reachable,
    fitting: Fitting,
    refusals: Mapping[str, Refusal],
) -> Iterator[Verdict]:
    found: dict[tuple[str, str], dict[str, str]] = {}
    for name, refusal in refusals.items():
        parts = [(each.alternative, each.reason, each.text) for each in refusal.shortfalls] or [
            (refusal.request, refusal.reason, refusal.text)
        ]
        for alternative, reason, text in parts:
            found.setdefault((alternative, reason), {})[name] = text
    ordinary = _nodes_of_other_kinds(found, wanted, where, fitting)
    verdicts: list[Verdict] = []
    for (alternative, reason), texts in found.items():
        kept = {name: text for name, text in texts.items() if (alternative, name) not in ordinary}
        if not kept:
            continue
        if reason == "DriverSlicesMissing":
            verdicts += _broken_links(alternative, kept.keys(), wanted, where, fitting)
            verdicts += _other_names(alternative, wanted, fitting)
        shown = abridged([f"{name}: {text}" for name, text in kept.items()], "nodes", separator="; ")
        status: Status = "note" if reason in _EXHAUSTED else "error"
        if reason in {"CannotJudge", "SearchTooLong"}:
            status = "warning"
        label = f"{alternative}: " if alternative else ""
        expected = f"devices for {alternative or 'all requests'} on one node"
        verdicts.append(advised(reason, f"{label}{shown}", expected, status))
    if verdicts and all(each.reason in _EXHAUSTED for each in verdicts):
        yield _exhausted(wanted, where, fitting)
    yield from sorted(verdicts, key=lambda each: ("error", "warning", "note").index(each.status))


def _broken_links(
    alternative: str,
    names: Collection[str],
    wanted: Sequence[DeviceRequests],
    where: Reachable,
    fitting: Fitting,
) -> Iterator[Verdict]:
    """Yield what is wrong with the driver's DaemonSet on nodes without a slice, one verdict per reason."""
    drivers, inventory = fitting.cluster.drivers, fitting.cluster.inventory
    asked = _asked(alternative, wanted)
    if drivers is None or asked is None:
        return
    of_class = inventory.classes[asked.device_class]
    names_of_class = class_drivers(asked, inventory)
    seen = [(node.name, drivers.broken_link(of_class, names_of_class, node)) for node in where.nodes]
    # The driver need not be on every node: where it has its nodes, the others are of another kind.
    has_nodes = any(link is None or link.reason in DRIVER_PODS for _node, link in seen)
    links: dict[str, list[tuple[str, BrokenLink]]] = {}
    for name, link in seen:
        if link and name in names and (link.reason in DRIVER_PODS or not has_nodes):
            links.setdefault(link.reason, []).append((name, link))
    for reason, found in links.items():
        shown = abridged([f"{name}: {link.observed}" for name, link in found], "nodes", separator="; ")
        first = found[0][1]
        yield Verdict(
            "error",
            reason,
            "",
            f"{alternative}: {shown}",
            "the driver ready on every node that has its devices",
            first.advice,
            first.evidence,
        )


def _other_names(alternative: str, wanted: Sequence[DeviceRequests], fitting: Fitting) -> Iterator[Verdict]:
    """Yield that devices are published under a driver's name that no class selects."""
    inventory = fitting.cluster.inventory
    asked = _asked(alternative, wanted)
    expected = class_drivers(asked, inventory) if asked else frozenset()
    strangers = unselected_drivers(inventory)
    if not expected or not strangers or any(pool.driver in expected for pool in inventory.pools):
        return
    yield advised(
        "DriverNameUnexpected",
        f"{alternative}: no slice of {', '.join(sorted(expected))} anywhere; slices of "
        f"{', '.join(sorted(strangers))}, which no device class selects",
        "slices under the driver's name that the class selects",
        "error",
    )


def _asked(name: str, wanted: Sequence[DeviceRequests]) -> Alternative | None:
    """Return the alternative of a name."""
    requests = (claim.request(name) for claim in wanted)
    found = (each for request in requests if request for each in request.alternatives if each.name == name)
    return next(found, None)


def _nodes_of_other_kinds(
    found: Mapping[tuple[str, str], Mapping[str, str]],
    wanted: Sequence[DeviceRequests],
    where: Reachable,
    fitting: Fitting,
) -> set[tuple[str, str]]:
    """Return (alternative, node) where the driver is absent because the node is made for something else.

    A node without the driver of one alternative is ordinary where the driver publishes elsewhere, unless
    the node has devices of another request of the same claim: then it is half a node.
    """
    reasons: dict[str, set[str]] = {}
    with_driver: set[str] = set()
    for (alternative, reason), texts in found.items():
        reasons.setdefault(alternative, set()).add(reason)
        if reason != "DriverSlicesMissing":
            with_driver |= texts.keys()
    ordinary = set()
    for (alternative, reason), texts in found.items():
        if reason != "DriverSlicesMissing":
            continue
        elsewhere = reasons[alternative] != {"DriverSlicesMissing"}
        halves = _nodes_of_other_requests(alternative, wanted, where, fitting)
        ordinary |= {
            (alternative, name) for name in texts if name not in halves and (elsewhere or name in with_driver)
        }
    return ordinary


def _nodes_of_other_requests(
    alternative: str, wanted: Sequence[DeviceRequests], where: Reachable, fitting: Fitting
) -> set[str]:
    """Return the nodes with devices of their own for another plain request of the alternative's claim."""
    main = alternative.partition("/")[0]
    names: set[str] = set()
    for claim in wanted:
        if claim.request(main) is None:
            continue
        for request in claim.requests:
            if request.name == main or request.first_available:
                continue
            for name, seen in fitting.looks(request.alternatives[0], where).items():
                failed = (each for some in seen.failed.values() for each, _text in some)
                if any(each.slice.node_selection.kind == "node" for each in (*seen.free, *failed)):
                    names.add(name)
    return names


def _exhausted(wanted: Sequence[DeviceRequests], where: Reachable, fitting: Fitting) -> Verdict:
    """Return the headline for claims that only lack free devices: all in use, or free in the wrong places."""
    totals: Counter[str] = Counter()
    free: Counter[str] = Counter()
    needed: Counter[str] = Counter()
    stranded: list[str] = []
    for request in (each for claim in wanted for each in claim.requests):
        first = request.alternatives[0]
        needed[first.device_class] += first.count
        for seen in fitting.looks(first, where).values():
            totals[first.device_class] += len(seen.free) + sum(map(len, seen.failed.values()))
            free[first.device_class] += len(seen.free)
            stranded += [str(each.id) for each in seen.free if not each.device.allow_multiple_allocations]
    counts = "; ".join(
        f"{name}: {needed[name]} wanted, {free[name]} free of {totals[name]}" for name in sorted(needed)
    )
    evidence = tuple(dict.fromkeys(stranded))[:NAMED]
    status: Status = "warning"
    if all(free[name] >= needed[name] for name in needed):
        reason = "Fragmented"
        advice = "create the pods that need most first, give pods cpu and memory requests, or pack small ones"
    elif evidence:
        reason = "DevicesStranded"
        advice = "free devices lack a partner that another claim holds; see the holders below"
    else:
        reason, status = "CapacityExhausted", "note"
        advice = "add nodes, or let a replica go; the pod is placed as soon as devices are free"
    expected = "free devices for all requests on one node"
    return Verdict(status, reason, "", counts, expected, advice, evidence)
