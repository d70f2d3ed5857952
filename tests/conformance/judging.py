# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What our rules say about one pod of a scenario, held against what the real scheduler did with it."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.inference.dra.plugins.module_utils._core.allocation import (
    best_nodes,
    what_if,
)
from ansible_collections.inference.dra.plugins.module_utils._core.claims import Claim, DeviceClass
from ansible_collections.inference.dra.plugins.module_utils._core.fits import Fit, Refusal
from ansible_collections.inference.dra.plugins.module_utils._core.holdings import holdings
from ansible_collections.inference.dra.plugins.module_utils._core.inventory import Inventory, Place
from ansible_collections.inference.dra.plugins.module_utils._core.resource_pools import pools
from ansible_collections.inference.dra.plugins.module_utils._core.slices import ResourceSlice

Object = dict[str, Any]
Answers = Mapping[str, Fit | Refusal]

# What the scheduler's message must contain for a refusal that stops the pod on all nodes.
POD_MESSAGES = {
    "DeviceClassMissing": "does not exist",
    "SelectorError": "CEL runtime error",
    "PoolIncomplete": "is currently being updated",
    "PoolInvalid": "is currently invalid",
    "ConstraintUnsatisfiable": "claim constraint would not be satisfied",
    "TooManyDevices": "exceeds the claim limit",
}


class World(NamedTuple):
    """What is there when a pod comes to its turn.

    :param taken: the claims that hold devices already.
    """

    places: Sequence[Place]
    slices: Sequence[ResourceSlice]
    classes: Sequence[DeviceClass]
    taken: Sequence[Claim]


class Judged(NamedTuple):
    """How a pod was judged.

    :param kind: ``placed``, ``refused``, ``stopped`` or ``undecided``: what we said.
    :param problem: how the scheduler did otherwise, empty where it did not.
    """

    kind: str
    problem: str = ""
    chose: bool = False
    ambiguous: bool = False


def judged(world: World, pod: Object, claims: Sequence[Object], allocated: Sequence[Claim]) -> Judged:
    """Hold what-if against the pod as the scheduler left it.

    Where slices of one pool state different counts, the scheduler goes by whichever it sees first: it must
    then have done what follows from one of the counts.
    """
    wanted = [Claim.from_api(each).devices for each in claims]
    held = holdings(world.taken)
    views = list(seen_first(world))
    for view in views:
        answers = {
            place.name: what_if(wanted, place, Inventory.of(slices, world.classes, held))
            for place, slices in zip(world.places, view, strict=True)
        }
        verdict = difference(answers, pod, allocated)
        if not verdict.problem:
            break
    return verdict._replace(ambiguous=len(views) > 1)


def seen_first(world: World) -> Iterator[list[list[ResourceSlice]]]:
    """Yield each node's view of the slices, for every order in which disagreeing slices can be seen.

    Source: ``GatherPools``, which reads the count of a node's first slice in the order of a cache
    (kubernetes/kubernetes#141118).
    """
    found = pools(world.slices)
    torn = [
        each.slices for each in found.values() if len({one.resource_slice_count for one in each.slices}) > 1
    ]
    views: list[list[list[ResourceSlice]]] = []
    for orders in itertools.product(*(itertools.permutations(each) for each in torn)):
        view = [list(counted(world.slices, orders, place)) for place in world.places]
        if view not in views:
            views.append(view)
            yield view


def counted(
    slices: Iterable[ResourceSlice], orders: Iterable[Sequence[ResourceSlice]], place: Place
) -> Iterator[ResourceSlice]:
    """Yield the slices with the count of the pool's first slice within the node's reach."""
    counts = {
        (order[0].pool_id, order[0].generation): reached[0].resource_slice_count
        for order in orders
        if (reached := [each for each in order if each.reaches(place.name, place.labels)])
    }
    for each in slices:
        count = counts.get((each.pool_id, each.generation), each.resource_slice_count)
        yield dataclasses.replace(each, resource_slice_count=count)


def will_be_evicted(world: World, allocated: Iterable[Claim]) -> bool:
    """Return whether a device's taint ends the pod as soon as it is bound, which frees its devices again."""
    taints = {
        each.device_id(device): device.taints
        for each in world.slices
        for device in each.devices
        if device.taints
    }
    return any(
        taint.effect == "NoExecute" and not any(each.endures(taint) for each in given.tolerations)
        for claim in allocated
        for given in (claim.allocation.devices if claim.allocation else ())
        for taint in taints.get(given.id, ())
    )


def difference(answers: Answers, pod: Object, allocated: Sequence[Claim]) -> Judged:
    """Return what we said, and what the scheduler did otherwise."""
    refusals = {name: each for name, each in answers.items() if isinstance(each, Refusal)}
    if any(each.scope == "unknown" for each in refusals.values()):
        return Judged("undecided")
    if stops := [each for each in refusals.values() if each.scope == "pod"]:
        return Judged("stopped", stopped_otherwise(stops, pod))
    if fits := {name: each for name, each in answers.items() if isinstance(each, Fit)}:
        chose = any(claim.alternatives for each in fits.values() for claim in each.claims)
        return Judged("placed", placed_otherwise(fits, pod, allocated), chose)
    return Judged("refused", refused_otherwise(refusals, pod, allocated))


def stopped_otherwise(stops: Sequence[Refusal], pod: Object) -> str:
    texts = {POD_MESSAGES[each.reason] for each in stops if each.reason in POD_MESSAGES}
    if not nodes_name(pod) and any(text in said(pod) for text in texts):
        return ""
    expected = ", ".join(each.reason for each in stops)
    return f"we expected a stop ({expected}), saw {nodes_name(pod) or said(pod)}"


def refused_otherwise(refusals: Mapping[str, Refusal], pod: Object, allocated: Sequence[Claim]) -> str:
    if not nodes_name(pod) and "Unschedulable" in said(pod):
        return ""
    reasons = "; ".join(f"{name}: {each.reason} {each.text}" for name, each in refusals.items())
    return f"we expected no fit ({reasons}), saw {shown(allocated) if nodes_name(pod) else said(pod)}"


def placed_otherwise(fits: Mapping[str, Fit], pod: Object, allocated: Sequence[Claim]) -> str:
    """Return how the pod was placed otherwise than the scores and the search said."""
    node = nodes_name(pod)
    best = best_nodes(fits)
    if node not in best:
        return f"we expected one of {best}, saw {node or said(pod)}"
    expected = [
        [(given.request, str(given.device), plain(given.consumed)) for given in claim.devices]
        for claim in fits[node].claims
    ]
    actual = shown(allocated)
    return "" if expected == actual else f"on {node} we expected {expected}, saw {actual}"


def nodes_name(pod: Object) -> str:
    return str(pod["spec"].get("nodeName") or pod["status"].get("nominatedNodeName", ""))


def said(pod: Object) -> str:
    """Return reason and message with which the scheduler refused the pod."""
    for condition in pod["status"].get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return f"{condition.get('reason')}: {condition.get('message')}"
    return ""


def shown(claims: Iterable[Claim]) -> list[list[tuple[str, str, dict[str, str]]]]:
    return [
        [
            (each.request, str(each.id), plain(each.consumed_capacity))
            for each in (claim.allocation.devices if claim.allocation else ())
        ]
        for claim in claims
    ]


def plain(amounts: Mapping[str, Any]) -> dict[str, str]:
    return {name.rpartition("/")[2]: str(amount) for name, amount in sorted(amounts.items())}
