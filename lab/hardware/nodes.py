# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps as many machines as the node pools want: nodes appear after a delay and are drained away."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import Any, NamedTuple

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    NODES,
    PODS,
    Conflict,
    NotFound,
)

from ..google.catalogue import UnknownMachineType
from ..google.cloud import Cloud, PoolView
from ..loop import Timer
from ..store import Change
from ..work import Context, Work
from . import delays, machines
from .devices import RDMA_MACHINES
from .drivers import owner_kind


class Group(NamedTuple):
    """The nodes of one pool in one zone (a managed instance group)."""

    cluster: str
    pool: str
    zone: str


def group_of(node: dict[str, Any]) -> Group | None:
    """Return the group a node belongs to, None for a node that is not the lab's."""
    labels = node["metadata"].get("labels", {})
    if machines.CLUSTER not in labels:
        return None
    return Group(labels[machines.CLUSTER], labels[machines.NODE_POOL], labels[machines.ZONE])


def is_ready(node: dict[str, Any]) -> bool:
    return any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in node.get("status", {}).get("conditions", ())
    )


class Nodes:
    """The machines of all node pools."""

    def __init__(self, context: Context, cloud: Cloud) -> None:
        self._context = context
        self._cloud = cloud
        self._coming: dict[Group, dict[str, Timer]] = defaultdict(dict)
        self._going: set[str] = set()
        self._looking = False
        self._told: dict[Group, tuple[int, int]] = {}
        self.work: Work[Group] = Work(context, self._reconcile)
        self._arrivals: Work[tuple[Group, str]] = Work(context, self._arrive)
        self.departures: Work[str] = Work(context, self._depart)
        context.store.listen(self._changed)
        cloud.listeners.append(lambda _change: context.loop.post(self._pools_changed))

    def look(self) -> None:
        """Compare every group with what its pool wants."""
        self._looking = False
        for group in {*self._wanted(), *self._nodes(), *self._coming}:
            self.work.add(group)

    def _pools_changed(self) -> None:
        if not self._looking:
            self._looking = True
            self._context.loop.post(self.look)

    def _changed(self, change: Change) -> None:
        if change.resource is NODES and (group := group_of(change.object)):
            self.work.add(group)

    def _wanted(self) -> dict[Group, tuple[PoolView, int]]:
        return {
            Group(pool.cluster, pool.name, zone): (pool, size)
            for pool in self._cloud.pools()
            for zone, size in pool.sizes.items()
        }

    def _nodes(self) -> dict[Group, list[dict[str, Any]]]:
        found: dict[Group, list[dict[str, Any]]] = defaultdict(list)
        for node in self._context.store.all(NODES):
            group = group_of(node)
            if group:
                found[group].append(node)
        return found

    def _reconcile(self, group: Group) -> None:
        if not self._context.store.knows(NODES):
            self.work.add_after(1.0, group)
            return
        pool, size = self._wanted().get(group, (None, 0))
        nodes = self._nodes().get(group, [])
        plan = plan_of(
            [node for node in nodes if node["metadata"]["name"] not in self._going],
            len(self._coming[group]),
            size,
            pool.revision if pool else 0,
        )
        for name in list(self._coming[group])[: plan.cancel]:
            self._coming[group].pop(name).cancel()
        if pool is not None:
            for _unused in range(plan.order):
                self._order(group, pool, {node["metadata"]["name"] for node in nodes})
            self._update(group, pool, nodes)
        for node in plan.retire:
            self.retire(node)
        if pool is not None:
            self._tell(group, pool.revision, plan.ready)

    def _tell(self, group: Group, revision: int, ready: int) -> None:
        if self._told.get(group) != (revision, ready):
            self._told[group] = (revision, ready)
            self._cloud.observed(*group, ready, revision)

    def _update(self, group: Group, pool: PoolView, nodes: list[dict[str, Any]]) -> None:
        """Write changed labels and taints of the pool on its nodes."""
        for node in nodes:
            name = node["metadata"]["name"]
            patch = machines.pool_change(node, machines.machine(pool, group.zone, name))
            if patch:
                changed = self._context.api.merge_patch(NODES, name, patch)
                self._context.store.put(NODES, changed)

    def _order(self, group: Group, pool: PoolView, taken: set[str]) -> None:
        coming = self._coming[group]
        name = machines.new_name(pool, group.zone, taken | coming.keys(), self._context.chance)
        coming[name] = self._context.loop.after(delays.NODE_READY, lambda: self._arrivals.add((group, name)))

    def _arrive(self, arrival: tuple[Group, str]) -> None:
        """Register a machine as a Node, if it is still wanted."""
        group, name = arrival
        pool, _unused = self._wanted().get(group, (None, 0))
        if pool is None or name not in self._coming[group]:
            return
        try:
            made = machines.machine(pool, group.zone, name)
        except UnknownMachineType as error:
            self._context.say(f"pool {pool.name}: there is no machine type {error}, so no node")
            return
        node = machines.node_object(made)
        if made.accelerator in RDMA_MACHINES:
            position = len(self._nodes().get(group, []))
            node["metadata"]["labels"] |= machines.topology_labels(position)
        with suppress(Conflict):
            self._context.store.put(NODES, self._context.api.create(NODES, node))
        del self._coming[group][name]
        self._context.say(f"node {name} joined")

    def is_going(self, name: str) -> bool:
        """Return whether a node is on its way out."""
        return name in self._going

    def retire(self, node: dict[str, Any]) -> None:
        """Cordon a node, send its pods away, and delete it after a moment."""
        name = node["metadata"]["name"]
        if name in self._going:
            return
        with suppress(NotFound):
            self._context.api.merge_patch(NODES, name, {"spec": {"unschedulable": True}})
        self._going.add(name)
        self._delete_pods(name, daemons=False)
        self._context.loop.after(delays.DRAIN, lambda: self.departures.add(name))

    def _depart(self, name: str) -> None:
        """Delete a node, as when its machine is gone; its pods go with it."""
        self._delete_pods(name, daemons=True)
        with suppress(NotFound):
            self._context.api.delete(NODES, name)
        self._going.discard(name)
        self._context.say(f"node {name} left")
        node = self._context.store.get(NODES, name)
        if node:
            self._context.store.put(NODES, node, gone=True)

    def _delete_pods(self, node: str, *, daemons: bool) -> None:
        """Delete the node's pods; without ``daemons`` those stay that a DaemonSet would put back."""
        for pod in self._context.store.all(PODS):
            if pod["spec"].get("nodeName") != node:
                continue
            if daemons or owner_kind(pod) != "DaemonSet":
                name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
                with suppress(NotFound):
                    self._context.api.delete(PODS, name, namespace, grace_seconds=0 if daemons else None)


class Plan(NamedTuple):
    """What to do about one group: machines to order, orders to cancel, nodes to give back."""

    order: int
    cancel: int
    retire: list[dict[str, Any]]
    ready: int


def plan_of(nodes: list[dict[str, Any]], coming: int, size: int, revision: int) -> Plan:
    """Return how a group of nodes comes to its size and to its pool's newest template.

    Nodes of an older template are replaced one at a time, the new one first (GKE's surge upgrade with
    its default of one extra node).
    """
    old = [node for node in nodes if revision and revision_of(node) != revision]
    new = [node for node in nodes if node not in old]
    ready = sum(is_ready(node) for node in new)
    surge = 1 if old and size else 0
    room = max(0, size + surge - len(nodes) - coming)
    order = min(max(0, size - len(new) - coming), room)
    cancel = min(coming, max(0, len(new) + coming - size))
    spare = max(0, ready + len(old) - size)
    retire = surplus(new, size) + surplus(old, max(0, len(old) - spare))
    return Plan(order, cancel, retire, ready)


def revision_of(node: dict[str, Any]) -> int:
    return int(node["metadata"].get("annotations", {}).get(machines.REVISION, "0"))


def surplus(nodes: list[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    """Return the nodes to give back: those not ready first, then the youngest."""
    order = sorted(
        nodes,
        key=lambda node: (
            not is_ready(node),
            node["metadata"].get("creationTimestamp", ""),
            node["metadata"]["name"],
        ),
        reverse=True,
    )
    return order[: max(0, len(nodes) - size)]
