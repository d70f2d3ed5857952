# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a further replica would go on the nodes that are there, and what would be left after it.

The node is chosen by the order of the alternatives alone. That is what the scheduler does for a pod that
carries the placement of the plan (``alternatives.Plan.placement``); soft taints that the pod does not
tolerate are the one thing that still outvotes it, and they are counted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .allocation import what_if
from .claims import DeviceRequests
from .cluster import Cluster
from .fits import ClaimFit, Fit, Refusal
from .fitting import Fitting
from .holdings import NOTHING_HELD, Holdings, Share
from .inventory import Inventory, Place
from .nodes import Node
from .placement import soft_taints
from .pods import Pod
from .slices import DeviceId

MOST_REPLICAS_PER_NODE = 64


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The node and alternative that a replica would get, and the holdings with it in place.

    :param alternative: the name inside the request, empty where the claims offer no alternatives.
    :param position: index of the alternative, 0 being the most wanted.
    """

    node: str
    alternative: str
    position: int
    held: Holdings


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a further replica would get.

    :param found: None where nothing is free for it.
    :param unknown: what the judgement lacks (a library for selectors, time); nothing is certain then.
    """

    found: Foreseen | None = None
    unknown: str = ""


def outlook(cluster: Cluster, pod: Pod, requests: Sequence[DeviceRequests], held: Holdings) -> Outlook:
    """Return what a pod with these claims would get if exactly ``held`` were taken.

    :param pod: only its wishes about nodes count.
    :param requests: the pod's claims, none of them allocated.
    """
    inventory = replace(cluster.inventory, held=held)
    fitting = Fitting(replace(cluster, inventory=inventory))
    where = fitting.reachable(pod)
    answers = fitting.answers(requests, where)
    unknown = [
        each.text for each in answers.values() if isinstance(each, Refusal) and each.scope == "unknown"
    ]
    if unknown:
        return Outlook(unknown=unknown[0])
    fits = [(node, fit) for node in where.nodes if isinstance(fit := answers[node.name], Fit)]
    if not fits:
        return Outlook()
    node, fit = min(fits, key=lambda each: _order(pod, *each))
    alternative, position = _chosen(requests, fit)
    booked = held
    for index, claim in enumerate(fit.claims):
        booked = _with(booked, f"{node.name}#{len(held.whole)}.{len(held.shares)}.{index}", claim, inventory)
    return Outlook(Foreseen(node.name, alternative, position, booked))


def room(cluster: Cluster, node: Node, requests: Sequence[DeviceRequests], alternative: str) -> int:
    """Return how many replicas with this alternative a node like this one holds while it is empty."""
    held, place = NOTHING_HELD, Place(node.name, node.labels)
    for count in range(MOST_REPLICAS_PER_NODE):
        inventory = replace(cluster.inventory, held=held)
        fit = what_if(requests, place, inventory)
        if not isinstance(fit, Fit) or _chosen(requests, fit)[0] != alternative:
            return count
        for index, claim in enumerate(fit.claims):
            held = _with(held, f"{count}.{index}", claim, inventory)
    return MOST_REPLICAS_PER_NODE


def alternative_names(requests: Sequence[DeviceRequests]) -> list[str]:
    """Return the names of the alternatives that the claims offer, the most wanted first."""
    for claim in requests:
        for request in claim.requests:
            if request.first_available:
                return [each.name.rpartition("/")[2] for each in request.alternatives]
    return []


def _order(pod: Pod, node: Node, fit: Fit) -> tuple[int, int, str]:
    return (len(soft_taints(pod, node)), -fit.score, node.name)


def _chosen(requests: Sequence[DeviceRequests], fit: Fit) -> tuple[str, int]:
    for claim, given in zip(requests, fit.claims, strict=True):
        for request in claim.requests:
            if request.first_available:
                position = given.alternatives[request.name]
                return request.alternatives[position].name.rpartition("/")[2], position
    return "", 0


def _with(held: Holdings, name: str, given: ClaimFit, inventory: Inventory) -> Holdings:
    """Return what is taken once a claim of this name has got its devices."""
    whole: dict[DeviceId, tuple[str, ...]] = dict(held.whole)
    shares: dict[DeviceId, tuple[Share, ...]] = dict(held.shares)
    for each in given.devices:
        if each.admin_access:
            continue
        device = inventory.device(each.device)
        if device is not None and device.allow_multiple_allocations:
            share = Share(name, name, each.consumed)
            shares[each.device] = (*shares.get(each.device, ()), share)
        else:
            whole[each.device] = (*whole.get(each.device, ()), name)
    return Holdings(whole, shares)
