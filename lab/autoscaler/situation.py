# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster as the autoscaler looks at it: what waits, what is there, what is coming; all pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.claims import Claim, DeviceClass
from ansible_collections.inference.dra.plugins.module_utils._core.holdings import holdings
from ansible_collections.inference.dra.plugins.module_utils._core.nodes import Node
from ansible_collections.inference.dra.plugins.module_utils._core.objects import parse_time
from ansible_collections.inference.dra.plugins.module_utils._core.pods import Pod
from ansible_collections.inference.dra.plugins.module_utils._core.quantity import ZERO
from ansible_collections.inference.dra.plugins.module_utils._core.slices import ResourceSlice

from ..google.cloud import PoolView
from ..hardware.nodes import Group, group_of, is_ready
from .decide import GroupState
from .placing import Simulation, Site, Wish, amounts, requests
from .scale_down import HARD_TAINT
from .spreading import Resident
from .templates import expected_drivers, seen_drivers

Object = Mapping[str, Any]

YOUNG = timedelta(minutes=5)
"""How long GKE waits for a new DRA node's slices before it takes the node as it is."""


@dataclass(frozen=True)
class Seen:
    """The API objects of one look."""

    nodes: Sequence[Object] = ()
    pods: Sequence[Object] = ()
    slices: Sequence[Object] = ()
    claims: Sequence[Object] = ()
    device_classes: Sequence[Object] = ()


@dataclass
class Situation:
    """What one decision is made from."""

    wishes: list[Wish]
    simulation: Simulation
    sites: dict[Group, list[Site]] = field(default_factory=dict)
    """Complete nodes by group; each may serve as the group's template."""


def is_unschedulable(pod: Object) -> bool:
    """Return whether the scheduler has found no node for a pod that still wants one."""
    if pod["spec"].get("nodeName") or "deletionTimestamp" in pod["metadata"]:
        return False
    return any(
        condition["type"] == "PodScheduled"
        and condition["status"] == "False"
        and condition.get("reason") == "Unschedulable"
        for condition in pod.get("status", {}).get("conditions", ())
    )


def wishes(pods: Iterable[Object], claims: Iterable[Claim]) -> Iterator[Wish]:
    """Yield the pods that wait for a node, oldest first, with what of their claims is still to be given."""
    by_name = {each.meta.full_name: each for each in claims}
    waiting = sorted(
        (pod for pod in pods if is_unschedulable(pod)),
        key=lambda pod: (pod["metadata"].get("creationTimestamp", ""), pod["metadata"]["name"]),
    )
    for obj in waiting:
        pod = Pod.from_api(obj)
        open_claims, bound_to, complete = [], "", True
        for wanted in pod.claims:
            name = wanted.claim_name or pod.claim_statuses.get(wanted.name, "")
            claim = by_name.get(f"{pod.meta.namespace}/{name}")
            if claim is None:
                complete = False
            elif claim.allocation is None:
                open_claims.append(claim.devices)
            else:
                bound_to = claim.allocation.node or bound_to
        yield Wish(pod, tuple(open_claims) if complete else None, bound_to)


def look(
    seen: Seen,
    pools: Sequence[PoolView],
    template: Callable[[PoolView, str, str], Site | None],
    now: datetime,
    speed: float = 1.0,
) -> Situation:
    """Return the situation: nodes that are complete as they are, those that are coming as imagined.

    :param template: gives the imagined node for a pool, a zone and a name, None for an unknown machine.
    """
    slices = list(map(ResourceSlice.from_api, seen.slices))
    claims = list(map(Claim.from_api, seen.claims))
    classes = list(map(DeviceClass.from_api, seen.device_classes))
    simulation = Simulation.of(slices, classes, holdings(claims))
    situation = Situation(list(wishes(seen.pods, claims)), simulation)
    by_node: defaultdict[str, list[ResourceSlice]] = defaultdict(list)
    for each in slices:
        if each.node_selection.kind == "node":
            by_node[each.node_selection.node_name].append(each)
    used = usage(seen.pods)
    for obj in seen.nodes:
        found = by_node[obj["metadata"]["name"]]
        if not is_usable(obj) or is_awaited(obj, found, now, speed):
            continue
        here = used.get(obj["metadata"]["name"], [])
        site = live_site(obj, here, found)
        simulation.add(site)
        simulation.residents[site.node.name] = [resident(pod) for pod in here]
        if group := group_of(dict(obj)):
            situation.sites.setdefault(group, []).append(site)
    for pool in pools:
        for zone, size in pool.sizes.items():
            ready = len(situation.sites.get(Group(pool.cluster, pool.name, zone), ()))
            for index in range(size - ready):
                coming = template(pool, zone, f"{pool.name}-{zone}-coming-{index}")
                if coming:
                    simulation.add(coming)
    return situation


def usage(pods: Iterable[Object]) -> dict[str, list[Object]]:
    """Return the pods that take resources, by node."""
    found: defaultdict[str, list[Object]] = defaultdict(list)
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            found[node].append(pod)
    return found


def resident(pod: Object) -> Resident:
    return Resident(pod["metadata"]["namespace"], pod["metadata"].get("labels") or {})


def live_site(obj: Object, pods: Iterable[Object], slices: Sequence[ResourceSlice]) -> Site:
    node = Node.from_api(obj)
    free = amounts(node.allocatable)
    for pod in pods:
        for name, amount in requests(pod["spec"]).items():
            free[name] = free.get(name, ZERO) - amount
    return Site(node, free, tuple(slices))


def is_usable(node: Object) -> bool:
    """Return whether pods may be expected to land on a node that exists."""
    taints = node["spec"].get("taints") or ()
    going = any(taint["key"] == HARD_TAINT for taint in taints)
    return is_ready(dict(node)) and not going and not node["spec"].get("unschedulable")


def is_awaited(node: Object, slices: Iterable[ResourceSlice], now: datetime, speed: float) -> bool:
    """Return whether a young node still lacks the slices that its labels promise."""
    missing = expected_drivers(node["metadata"].get("labels", {})) - seen_drivers(slices)
    born = parse_time(node["metadata"].get("creationTimestamp", ""))
    return bool(missing) and born is not None and (now - born) * speed < YOUNG


def group_states(
    pools: Sequence[PoolView],
    backoff: Collection[Group],
    template: Callable[[PoolView, str, str], Site | None],
) -> list[GroupState]:
    """Return the groups that are scaled, with the limit that each has of its own."""
    found = []
    for pool in pools:
        if not pool.limits.enabled:
            continue
        total = sum(pool.wanted.values())
        for zone, size in pool.wanted.items():
            maximum = pool.limits.maximum
            if pool.limits.whole_pool:
                maximum -= total - size
            group = Group(pool.cluster, pool.name, zone)

            def imagine(name: str, pool: PoolView = pool, zone: str = zone) -> Site:
                site = template(pool, zone, name)
                if site is None:
                    raise LookupError(f"pool {pool.name} has no known machine type")
                return site

            if template(pool, zone, "probe") is not None:
                balanced = pool.limits.location_policy == "BALANCED"
                found.append(GroupState(group, size, maximum, imagine, group in backoff, balanced))
    return found
