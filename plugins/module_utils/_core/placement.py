# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a pod may go to a node at all, before anybody asks for devices.

Source: the scheduler's NodeUnschedulable, TaintToleration and NodeAffinity plugins. Resources (CPU, memory)
are not counted here; the scheduler's own message names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .nodes import Node, NodeTaint, node_selector_matches
from .pods import Pod

UNSCHEDULABLE = NodeTaint("node.kubernetes.io/unschedulable", "", "NoSchedule")


class Misfit(NamedTuple):
    """Why a pod may not go to a node."""

    reason: str
    text: str


def misfit(pod: Pod, node: Node) -> Misfit | None:
    """Return the first thing that keeps the pod away from the node, None where nothing does."""
    wanted: Mapping[str, Any] = pod.spec.get("nodeSelector") or {}
    for key, value in wanted.items():
        if node.labels.get(key) != value:
            return Misfit("NodeSelectorMismatch", f"label {key} is {node.labels.get(key)!r}, not {value!r}")
    affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required and not node_selector_matches(required, node.name, node.labels):
        return Misfit("NodeSelectorMismatch", "the required node affinity does not match")
    for taint in hard_taints(node):
        if not is_tolerated(taint, tolerations(pod)):
            return Misfit("NodeTainted", f"{taint.key}={taint.value}:{taint.effect}")
    return None


def hard_taints(node: Node) -> Iterable[NodeTaint]:
    """Return the taints that keep pods away; a cordoned node counts as tainted."""
    found = [taint for taint in node.taints if taint.effect in {"NoSchedule", "NoExecute"}]
    if node.unschedulable and not any(taint.key == UNSCHEDULABLE.key for taint in found):
        found.append(UNSCHEDULABLE)
    return found


def soft_taints(pod: Pod, node: Node) -> list[NodeTaint]:
    """Return the PreferNoSchedule taints that count against the node for this pod."""
    accepted = tolerations(pod)
    return [
        taint
        for taint in node.taints
        if taint.effect == "PreferNoSchedule" and not is_tolerated(taint, accepted)
    ]


def tolerations(pod: Pod) -> list[Mapping[str, Any]]:
    return list(pod.spec.get("tolerations") or ())


def is_tolerated(taint: NodeTaint, accepted: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a toleration accepts the taint (core/v1, Toleration.ToleratesTaint)."""
    return any(
        each.get("effect") in {None, "", taint.effect}
        and each.get("key") in {None, "", taint.key}
        and (
            each.get("operator") == "Exists"
            or (each.get("operator") in {None, "", "Equal"} and (each.get("value") or "") == taint.value)
        )
        for each in accepted
    )
