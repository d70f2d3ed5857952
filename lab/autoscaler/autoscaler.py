# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The autoscaler's loop: looks when something changed, never more often than the real one does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.objects import parse_time
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    COMPUTE_CLASSES,
    DEVICE_CLASSES,
    EVENTS,
    NODES,
    PODS,
    SLICES,
    Conflict,
    NotFound,
)

from ..google.catalogue import UnknownMachineType
from ..google.cloud import Cloud, MachineError, PoolView, QuotaError
from ..hardware import machines
from ..hardware.nodes import Group, Nodes, group_of
from ..store import Change
from ..work import Context, Work
from . import compute_class, events, scale_down
from .decide import COMPUTE_CLASS, ClassRules, ScaleUp, decide, sentence
from .placing import Site
from .situation import Seen, Situation, group_states, look
from .templates import copied, imagined

SCAN = 10.0
"""Seconds between two looks (cluster-autoscaler, --scan-interval)."""
BACKOFF_FIRST, BACKOFF_MOST = 300.0, 1800.0
"""Seconds that a group is left alone after a failed scale-up, doubled each time up to the second
(--initial-node-group-backoff-duration, --max-node-group-backoff-duration)."""
BACKOFF_RESET = 3 * 3600.0
"""Seconds after which earlier failures are forgotten (--node-group-backoff-reset-timeout)."""
COOLDOWN = 600.0
"""Seconds after a scale-up in which nothing is marked or taken (--scale-down-delay-after-add)."""
LEAST_IDLE = 120.0
"""Real seconds an empty node stays at least: a person's commands are not sped up, so neither is this."""
PRIORITY_DELAY = 60.0
"""Seconds from a node's birth to the annotation with the priority it came from (GKE: about a minute)."""
PRIORITY_ANNOTATION = "ccc_priority_index"
WATCHED = (CLAIMS, COMPUTE_CLASSES, DEVICE_CLASSES, NODES, PODS, SLICES)


@dataclass(frozen=True)
class Settings:
    """What may be set.

    :param optimistic: imagine the slices that drivers would publish on an empty group's node,
        ``dra.cpu`` included; GKE's autoscaler does not.
    :param least_idle: real seconds that an empty node stays at least.
    """

    optimistic: bool = False
    least_idle: float = LEAST_IDLE


@dataclass
class Backoff:
    """How long one group is left alone, and why."""

    until: float
    seconds: float
    reason: str


class Autoscaler:
    """GKE's cluster autoscaler for all clusters of the lab."""

    def __init__(
        self, context: Context, cloud: Cloud, nodes: Nodes, settings: Settings | None = None
    ) -> None:
        self._context = context
        self._cloud = cloud
        self._nodes = nodes
        self.settings = settings or Settings()
        self._backoff: dict[Group, Backoff] = {}
        self._templates: dict[Group, Site] = {}
        self._said: dict[str, str] = {}
        self._idle: dict[str, float] = {}
        self._planned = False
        self._cool_at = 0.0
        self.scans: Work[str] = Work(context, lambda _key: self._scan())
        context.store.listen(self._changed)
        cloud.listeners.append(lambda _change: context.loop.post(self.plan))

    def plan(self) -> None:
        """Have a look soon; many wishes for one make one."""
        if not self._planned:
            self._planned = True
            self._context.loop.after(SCAN, lambda: self.scans.add("scan"))

    def _changed(self, change: Change) -> None:
        if change.resource in WATCHED:
            self.plan()
        if change.resource is NODES and change.before is None:
            self._context.loop.after(PRIORITY_DELAY, self.plan)
        if change.resource is PODS and change.gone:
            self._said.pop(change.object["metadata"]["uid"], None)

    def _scan(self) -> None:
        """Look once: report on the classes, grow for the pods that wait, shrink where nodes are idle."""
        self._planned = False
        store = self._context.store
        if not all(store.knows(each) for each in (NODES, PODS, SLICES, CLAIMS, DEVICE_CLASSES)):
            self.plan()
            return
        pools = self._cloud.pools()
        self._expire()
        seen = Seen(*(list(store.all(each)) for each in (NODES, PODS, SLICES, CLAIMS, DEVICE_CLASSES)))
        now = self._context.loop.clock.now()
        situation = look(seen, pools, self._template, now, self._context.loop.speed)
        self._remember(situation)
        self._grow(situation, pools, seen)
        self._shrink(pools, seen)
        self._report(pools)

    # Growing

    def _template(self, pool: PoolView, zone: str, name: str) -> Site | None:
        """Return the node a group would get: like its last complete one while this process remembers it."""
        known = self._templates.get(Group(pool.cluster, pool.name, zone))
        if known:
            return copied(known, name)
        try:
            made = machines.machine(pool, zone, name)
        except UnknownMachineType:
            return None
        return imagined(made, optimistic=self.settings.optimistic)

    def _remember(self, situation: Situation) -> None:
        for group, sites in situation.sites.items():
            self._templates[group] = sites[0]

    def _grow(self, situation: Situation, pools: tuple[PoolView, ...], seen: Seen) -> None:
        if not situation.wishes:
            return
        groups = group_states(pools, self._in_backoff(), self._template)
        decision = decide(situation.wishes, groups, self._rules(), situation.simulation)
        pods = {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}": pod for pod in seen.pods}
        by_name = {(pool.cluster, pool.name): pool for pool in pools}
        for scale_up in decision.scale_ups:
            pool = by_name[scale_up.group[:2]]
            self._resize(scale_up, pool, [pods[name] for name in scale_up.pods])
        for name, reasons in decision.refused.items():
            self._say(pods[name], "NotTriggerScaleUp", sentence(reasons))

    def _resize(self, scale_up: ScaleUp, pool: PoolView, pods: Iterable[Mapping[str, Any]]) -> None:
        cluster, name, zone = group = scale_up.group
        try:
            self._cloud.resize(cluster, name, zone, scale_up.after, "autoscaler")
        except MachineError as error:
            reason = "QuotaExceeded" if isinstance(error, QuotaError) else "OutOfResources"
            self._back_off(group, reason)
            self._context.say(f"autoscaler: {name} in {zone} cannot grow: {error}")
            for pod in pods:
                self._say(pod, "FailedScaleUp", events.failed(zone, reason), "Warning")
            self.plan()
            return
        self._context.say(f"autoscaler: {name} in {zone} {scale_up.before} -> {scale_up.after}")
        loop = self._context.loop
        self._cool_at = loop.clock.monotonic() + COOLDOWN / loop.speed
        loop.after(COOLDOWN, self.plan)
        text = events.triggered(pool, zone, scale_up.before, scale_up.after, pool.limits.maximum)
        for pod in pods:
            self._say(pod, "TriggeredScaleUp", text)

    def _back_off(self, group: Group, reason: str) -> None:
        before = self._backoff.get(group)
        seconds = min(BACKOFF_MOST, before.seconds * 2) if before else BACKOFF_FIRST
        loop = self._context.loop
        until = loop.clock.monotonic() + seconds / loop.speed
        self._backoff[group] = Backoff(until, seconds, reason)
        loop.after(seconds, self.plan)

    def _expire(self) -> None:
        now = self._context.loop.clock.monotonic()
        reset = BACKOFF_RESET / self._context.loop.speed
        for group in [group for group, each in self._backoff.items() if each.until + reset <= now]:
            del self._backoff[group]

    def _in_backoff(self) -> dict[Group, Backoff]:
        now = self._context.loop.clock.monotonic()
        return {group: each for group, each in self._backoff.items() if each.until > now}

    def _rules(self) -> dict[str, ClassRules]:
        found = map(compute_class.rules_of, self._context.store.all(COMPUTE_CLASSES))
        return {each.name: each for each in found}

    def _say(self, pod: Mapping[str, Any], reason: str, text: str, type_: str = "Normal") -> None:
        """Write an event on a pod, once for each new text."""
        uid = pod["metadata"]["uid"]
        if self._said.get(uid) == text:
            return
        self._said[uid] = text
        body = events.event(pod, reason, text, self._context.timestamp, type_)
        with suppress(Conflict, NotFound):
            self._context.api.create(EVENTS, body, pod["metadata"]["namespace"])

    # Shrinking

    def _shrink(self, pools: tuple[PoolView, ...], seen: Seen) -> None:
        minimums = {
            Group(pool.cluster, pool.name, zone): pool.limits.minimum
            for pool in pools
            if pool.limits.enabled
            for zone in pool.wanted
        }
        whole = {(pool.cluster, pool.name) for pool in pools if pool.limits.whole_pool}
        busy = scale_down.occupied(seen.pods, seen.claims)
        free = set(scale_down.unneeded(seen.nodes, busy, minimums, whole))
        now = self._context.loop.clock.monotonic()
        self._idle = {name: self._idle.get(name, now) for name in free}
        for node in seen.nodes:
            name = node["metadata"]["name"]
            marked = scale_down.soft_taint(node) is not None
            if name in free and now >= self._cool_at:
                self._mark(node, marked=marked)
            elif name not in free and marked:
                self._write_taints(node, scale_down.without_taint(node, scale_down.SOFT_TAINT))

    def _mark(self, node: Mapping[str, Any], *, marked: bool) -> None:
        """Taint an idle node softly, and take it away when its time is over."""
        loop, name = self._context.loop, node["metadata"]["name"]
        left = self._idle[name] + self._patience(node) - loop.clock.monotonic()
        if left <= 0:
            self._take_away(node)
            return
        loop.after(left * loop.speed, self.plan)
        if not marked:
            now = int(loop.clock.now().timestamp())
            taints = scale_down.with_taint(node, scale_down.SOFT_TAINT, "PreferNoSchedule", now)
            self._write_taints(node, taints)

    def _patience(self, node: Mapping[str, Any]) -> float:
        """Return how many real seconds a node may be idle."""
        name = node["metadata"].get("labels", {}).get(COMPUTE_CLASS, "")
        found = self._context.store.get(COMPUTE_CLASSES, name)
        minutes = (
            compute_class.consolidation_minutes(found)
            if found
            else compute_class.DEFAULT_CONSOLIDATION_MINUTES
        )
        return max(minutes * 60 / self._context.loop.speed, self.settings.least_idle)

    def _take_away(self, node: Mapping[str, Any]) -> None:
        name = node["metadata"]["name"]
        group = group_of(dict(node))
        if group is None or self._nodes.is_going(name):
            return
        now = int(self._context.loop.clock.now().timestamp())
        self._write_taints(node, scale_down.with_taint(node, scale_down.HARD_TAINT, "NoSchedule", now))
        self._context.say(f"autoscaler: {name} is not needed")
        self._nodes.retire(dict(node))
        self._cloud.delete_instance(*group, name, "autoscaler")

    def _write_taints(self, node: Mapping[str, Any], taints: list[Mapping[str, Any]]) -> None:
        patch = {
            "metadata": {"resourceVersion": node["metadata"]["resourceVersion"]},
            "spec": {"taints": taints},
        }
        with suppress(Conflict, NotFound):
            changed = self._context.api.merge_patch(NODES, node["metadata"]["name"], patch)
            self._context.store.put(NODES, changed)

    # Reporting

    def _report(self, pools: tuple[PoolView, ...]) -> None:
        """Write each class's conditions, and on the nodes which priority they came from."""
        self._annotate()
        suspended = {group.pool: backoff.reason for group, backoff in self._in_backoff().items()}
        for found in self._context.store.all(COMPUTE_CLASSES):
            wanted = compute_class.status(found, pools, suspended, self._context.timestamp)
            if wanted != found.get("status"):
                with suppress(NotFound):
                    changed = self._context.api.merge_patch(
                        COMPUTE_CLASSES, found["metadata"]["name"], {"status": wanted}, subresource="status"
                    )
                    self._context.store.put(COMPUTE_CLASSES, changed)

    def _annotate(self) -> None:
        """Write on each node of a class which priority it came from, a minute after its birth."""
        rules, clock = self._rules(), self._context.loop.clock
        for node in self._context.store.all(NODES):
            meta = node["metadata"]
            found = rules.get(meta.get("labels", {}).get(COMPUTE_CLASS, ""))
            born = parse_time(meta.get("creationTimestamp"))
            group = group_of(node)
            if not found or not born or not group or PRIORITY_ANNOTATION in meta.get("annotations", {}):
                continue
            if (clock.now() - born).total_seconds() * self._context.loop.speed < PRIORITY_DELAY:
                continue
            index = compute_class.priority_of(found, group.pool)
            patch = {"metadata": {"annotations": {PRIORITY_ANNOTATION: index}}}
            with suppress(NotFound):
                changed = self._context.api.merge_patch(NODES, meta["name"], patch)
                self._context.store.put(NODES, changed)

    def view(self) -> dict[str, Any]:
        """Return what the autoscaler holds in mind, for ``dra-lab status``."""
        now = self._context.loop.clock.monotonic()
        return {
            "backoff": [
                {**group._asdict(), "reason": each.reason, "seconds_left": round(each.until - now, 1)}
                for group, each in self._in_backoff().items()
            ],
            "idle_nodes": sorted(self._idle),
            "optimistic": self.settings.optimistic,
        }
