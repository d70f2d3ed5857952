# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods placed on nodes in thought: the predicates an autoscaler asks before it buys a machine; all pure.

Node affinity, taints and resources follow kube-scheduler's filters of the same names; devices are
judged by the same what-if rule as the collection's diagnosis. Pod affinity, volumes and preemption are
not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core import quantity
from ansible_collections.inference.dra.plugins.module_utils._core.allocation import what_if
from ansible_collections.inference.dra.plugins.module_utils._core.claims import (
    DeviceClass,
    DeviceRequests,
)
from ansible_collections.inference.dra.plugins.module_utils._core.fits import Fit, Given
from ansible_collections.inference.dra.plugins.module_utils._core.holdings import Holdings, Share
from ansible_collections.inference.dra.plugins.module_utils._core.inventory import Inventory, Place
from ansible_collections.inference.dra.plugins.module_utils._core.nodes import (
    Node,
    NodeTaint,
    node_selector_matches,
)
from ansible_collections.inference.dra.plugins.module_utils._core.pods import Pod
from ansible_collections.inference.dra.plugins.module_utils._core.quantity import ZERO, Quantity
from ansible_collections.inference.dra.plugins.module_utils._core.slices import (
    DeviceId,
    ResourceSlice,
)

from .spreading import Location, Resident, must_hold, spread_refusal

Amounts = Mapping[str, Quantity]
# The scheduler's own words (plugins NodeAffinity, TaintToleration, NodeResourcesFit, DynamicResources).
WRONG_LABELS = "node(s) didn't match Pod's node affinity/selector"
NO_DEVICES = "cannot allocate all claims"
UNSCHEDULABLE = "node(s) were unschedulable"
ELSEWHERE = "resourceclaim not available on the node"


@dataclass(frozen=True)
class Wish:
    """A pod that has no node yet.

    :param claims: its claims that have no allocation yet; ``None`` while one does not even exist.
    :param bound_to: the node that an allocated claim pins it to, empty for none.
    """

    pod: Pod
    claims: tuple[DeviceRequests, ...] | None = ()
    bound_to: str = ""


@dataclass(frozen=True)
class Site:
    """A node, live or imagined, with what is left of it."""

    node: Node
    free: Amounts
    slices: tuple[ResourceSlice, ...] = ()


@dataclass
class Simulation:
    """A cluster in thought, into which pods are placed one by one."""

    inventory: Inventory
    sites: dict[str, Site] = field(default_factory=dict)
    published: set[str] = field(default_factory=set)
    """Names of the slices in the inventory."""
    residents: dict[str, list[Resident]] = field(default_factory=dict)
    """The pods on each node, as far as topology spread constraints count them."""

    @classmethod
    def of(
        cls, slices: Iterable[ResourceSlice], classes: Iterable[DeviceClass], held: Holdings
    ) -> Simulation:
        known = list(slices)
        names = {each.name for each in known}
        return cls(Inventory.of(known, classes, held), published=names)

    def add(self, site: Site) -> None:
        """Add a node, and its slices unless they are published already."""
        self.sites[site.node.name] = site
        new = [each for each in site.slices if each.name not in self.published]
        if new:
            old = self.inventory
            known = [each for pool in old.pools.values() for each in (*pool.slices, *pool.obsolete)]
            self.published |= {each.name for each in new}
            self.inventory = Inventory.of([*known, *new], old.classes.values(), old.held, old.selectors)

    def refusal(self, wish: Wish, name: str) -> str:
        """Return why the pod cannot run on the node, empty where it can."""
        site = self.sites[name]
        reason = refusal_before_devices(wish, site) or self._spread_refusal(wish.pod, site.node)
        if reason or not wish.claims:
            return reason
        found = self._fit(wish, site)
        return "" if isinstance(found, Fit) else NO_DEVICES

    def trial(self, wish: Wish) -> Simulation:
        """Return a simulation to which one more node can be added without changing this one."""
        # Only constraints on the whole topology need the other nodes.
        sites = dict(self.sites) if must_hold(wish.pod.spec) else {}
        return Simulation(self.inventory, sites, set(self.published), self.residents)

    def _spread_refusal(self, pod: Pod, node: Node) -> str:
        if not must_hold(pod.spec):
            return ""
        places = [
            Location(each.node.labels, self.residents.get(name, ()))
            for name, each in self.sites.items()
            if matches_labels(pod.spec, each.node)
        ]
        return spread_refusal(pod, node.labels, places)

    def place(self, wish: Wish, name: str) -> None:
        """Take what the pod needs from the node."""
        resident = Resident(wish.pod.meta.namespace, wish.pod.meta.labels)
        self.residents.setdefault(name, []).append(resident)
        site = self.sites[name]
        wanted = requests(wish.pod.spec)
        free = {key: site.free.get(key, ZERO) - wanted.get(key, ZERO) for key in site.free}
        self.sites[name] = replace(site, free=free)
        found = self._fit(wish, site)
        if isinstance(found, Fit):
            given = [each for claim in found.claims for each in claim.devices]
            held = holding(self.inventory.held, wish.pod.meta.full_name, given, self._shared())
            self.inventory = replace(self.inventory, held=held)

    def _shared(self) -> frozenset[DeviceId]:
        return frozenset(
            each.device_id(device)
            for pool in self.inventory.pools.values()
            for each in pool.slices
            for device in each.shared_devices
        )

    def _fit(self, wish: Wish, site: Site) -> object:
        place = Place(site.node.name, site.node.labels)
        return what_if(wish.claims or (), place, self.inventory)


def refusal_before_devices(wish: Wish, site: Site) -> str:
    """Return why node and pod do not go together, whatever devices there are."""
    spec, node = wish.pod.spec, site.node
    if node.unschedulable:
        return UNSCHEDULABLE
    if not matches_labels(spec, node):
        return WRONG_LABELS
    if wish.claims is None:
        return NO_DEVICES
    if wish.bound_to not in ("", node.name):
        return ELSEWHERE
    return taint_refusal(spec, node) or resource_refusal(spec, site)


def taint_refusal(spec: Mapping[str, Any], node: Node) -> str:
    taint = keeping_taint(spec.get("tolerations") or (), node.taints)
    if taint is None:
        return ""
    text = f"{taint.key}: {taint.value}" if taint.value else taint.key
    return f"node(s) had untolerated taint {{{text}}}"


def resource_refusal(spec: Mapping[str, Any], site: Site) -> str:
    for name, amount in requests(spec).items():
        if amount > site.free.get(name, ZERO):
            return "Too many pods" if name == "pods" else f"Insufficient {name}"
    return ""


def matches_labels(spec: Mapping[str, Any], node: Node) -> bool:
    """Return whether node selector and required node affinity accept the node."""
    for key, value in (spec.get("nodeSelector") or {}).items():
        if node.labels.get(key) != value:
            return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or node_selector_matches(required, node.name, node.labels)


def keeping_taint(tolerations: Iterable[Mapping[str, Any]], taints: Iterable[NodeTaint]) -> NodeTaint | None:
    """Return the taint that keeps a pod away from a node, None where none does."""
    given = tuple(tolerations)
    for taint in taints:
        if taint.effect in ("NoSchedule", "NoExecute") and not any(
            tolerates(toleration, taint) for toleration in given
        ):
            return taint
    return None


def tolerates(toleration: Mapping[str, Any], taint: NodeTaint) -> bool:
    """Return whether a pod's toleration covers a node's taint (component-helpers, ToleratesTaint)."""
    if toleration.get("effect") and toleration["effect"] != taint.effect:
        return False
    if toleration.get("key") and toleration["key"] != taint.key:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.value


def requests(spec: Mapping[str, Any]) -> dict[str, Quantity]:
    """Return what a pod asks of a node: the sum over containers or one init container, and a pod's place."""
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        for name, amount in asked(container).items():
            total[name] = total.get(name, ZERO) + amount
    for container in spec.get("initContainers") or ():
        for name, amount in asked(container).items():
            total[name] = max(total.get(name, ZERO), amount)
    total["pods"] = quantity.parse("1")
    return total


def asked(container: Mapping[str, Any]) -> dict[str, Quantity]:
    found = (container.get("resources") or {}).get("requests") or {}
    return {name: quantity.parse(amount) for name, amount in found.items()}


def amounts(written: Mapping[str, str]) -> dict[str, Quantity]:
    return {name: quantity.parse(amount) for name, amount in written.items()}


def holding(held: Holdings, holder: str, given: Iterable[Given], shared: frozenset[DeviceId]) -> Holdings:
    """Return the holdings with more devices taken by a holder, shared ones only in part."""
    whole: dict[DeviceId, tuple[str, ...]] = dict(held.whole)
    shares: dict[DeviceId, tuple[Share, ...]] = dict(held.shares)
    for each in given:
        if each.admin_access:
            continue
        if each.device in shared:
            share = Share(holder, "", each.consumed)
            shares[each.device] = (*shares.get(each.device, ()), share)
        else:
            whole[each.device] = (*whole.get(each.device, ()), holder)
    return Holdings(whole, shares)
