# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a node to a driver that is ready there: the DaemonSet's rules, its pod, its containers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .nodes import Node, pinned_node
from .objects import open_object
from .placement import misfit
from .pods import Pod
from .rollouts import DaemonSet

# What the DaemonSet controller adds to every pod it makes (kubernetes 1.36, AddOrUpdateDaemonPodTolerations).
DAEMON_TOLERATIONS: tuple[Mapping[str, Any], ...] = (
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/disk-pressure", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/pid-pressure", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"},
)


class BrokenLink(NamedTuple):
    """The first thing on the way from a node to its devices that is not as it must be."""

    reason: str
    observed: str
    advice: str
    evidence: tuple[str, ...] = ()


DRIVER_PODS = ("DriverPodMissing", "DriverPodNotReady")
"""What can be wrong with the driver on a node that its DaemonSet makes pods for."""


@dataclass(frozen=True)
class Publisher:
    """A driver's DaemonSet: its counts, its pod template, and its pods by the node they are for."""

    daemon_set: DaemonSet
    template: Pod
    pods: Mapping[str, Pod]

    @classmethod
    def of(cls, obj: Any, pods: Iterable[Pod]) -> Publisher:
        """Return the publisher of an ``apps/v1`` DaemonSet mapping and the cluster's pods.

        :raises MalformedObjects: where a field has a type the API never gives it.
        """
        view, _meta = open_object(obj, "DaemonSet")
        daemon_set = DaemonSet.from_api(obj)
        spec = dict(view.child("spec").child("template").child("spec").value)
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *DAEMON_TOLERATIONS]
        own = [pod for pod in pods if pod.meta.owner[2] == daemon_set.meta.uid]
        return cls(daemon_set, Pod(daemon_set.meta, spec=spec), {_node_of(pod): pod for pod in own})

    @property
    def subject(self) -> str:
        return f"DaemonSet {self.daemon_set.meta.full_name}"

    def broken_link(self, node: Node) -> BrokenLink | None:
        """Return why the driver is not ready on the node, None where it is."""
        found = misfit(self.template, node)
        if found is not None:
            return BrokenLink(
                found.reason,
                f"{self.subject} makes no pod for the node: {found.text}",
                "correct the node's labels and taints, or the DaemonSet's selector and tolerations",
                (self.subject,),
            )
        pod = self.pods.get(node.name)
        if pod is None:
            counts = self.daemon_set
            return BrokenLink(
                "DriverPodMissing",
                f"{self.subject} has no pod for the node; it wants {counts.desired} and has {counts.current} "
                f"({counts.rollout().observed})",
                "look at the DaemonSet's events: admission or a quota may refuse its pods",
                (self.subject,),
            )
        trouble = not_ready(pod)
        if trouble:
            return BrokenLink(
                "DriverPodNotReady",
                f"{pod.subject}: {trouble}",
                "look at the log of that container",
                (pod.subject, self.subject),
            )
        return None


def not_ready(pod: Pod) -> str:
    """Return what keeps a pod from being ready, the first container in trouble by name; empty where it is."""
    ready = pod.condition("Ready")
    if pod.is_live and ready is not None and ready.status == "True":
        return ""
    if not pod.is_live:
        return f"it is {'being deleted' if pod.meta.deleted else pod.phase}"
    return next(_container_troubles(pod), "") or _scheduling(pod) or f"it is {pod.phase} and not ready"


def _container_troubles(pod: Pod) -> Iterator[str]:
    for key, kind in (("initContainerStatuses", "init container"), ("containerStatuses", "container")):
        for status in pod.status.get(key) or ():
            state = _state(status, is_init=key == "initContainerStatuses")
            if state:
                yield f"{kind} {status.get('name', '')} {state}"


def _state(status: Mapping[str, Any], *, is_init: bool) -> str:
    state: Mapping[str, Any] = status.get("state") or {}
    if waiting := state.get("waiting"):
        text = ": ".join(filter(None, (waiting.get("reason"), waiting.get("message"))))
        restarts = status.get("restartCount") or 0
        last = (status.get("lastState") or {}).get("terminated")
        before = f"; it ended before ({_end(last)})" if last else ""
        return f"waits ({text or 'no reason given'}{f', {restarts} restarts' if restarts else ''}){before}"
    if ended := state.get("terminated"):
        if is_init and ended.get("exitCode") == 0:
            return ""
        return f"ended ({_end(ended)})"
    if status.get("ready"):
        return ""
    return "is still running" if is_init else "runs and is not ready"


def _end(ended: Mapping[str, Any]) -> str:
    text = f"{ended.get('reason', 'no reason given')}, exit code {ended.get('exitCode')}"
    return f"{text}: {ended['message']}" if ended.get("message") else text


def _scheduling(pod: Pod) -> str:
    condition = pod.condition("PodScheduled")
    if condition is None or condition.status == "True":
        return ""
    return f"it has no node: {condition.message or condition.reason}"


def _node_of(pod: Pod) -> str:
    """Return the node a daemon pod is for; before it is bound its affinity names it."""
    affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
    return pod.node_name or pinned_node(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
