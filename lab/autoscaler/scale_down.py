# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes nobody needs; all pure.

Source: cluster-autoscaler (core/scaledown): a node that runs nothing but DaemonSet pods is unneeded,
gets a soft taint at once, and goes after a time if it stays so; a pool never falls below its minimum.
The lab looks at empty nodes only: it does not move pods to empty a node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ..hardware.drivers import owner_kind
from ..hardware.nodes import Group, group_of, is_ready

SOFT_TAINT = "DeletionCandidateOfClusterAutoscaler"
HARD_TAINT = "ToBeDeletedByClusterAutoscaler"
SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"


def occupied(pods: Iterable[Mapping[str, Any]], claims: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the nodes that run a pod of their own or hold the devices of a claim."""
    found = {
        pod["spec"]["nodeName"]
        for pod in pods
        if pod["spec"].get("nodeName")
        and owner_kind(pod) != "DaemonSet"
        and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
    }
    for claim in claims:
        results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ())
        found |= {result["pool"] for result in results}
    return found


def unneeded(
    nodes: Sequence[Mapping[str, Any]],
    busy: Collection[str],
    minimums: Mapping[Group, int],
    whole_pool: Collection[tuple[str, str]] = (),
) -> list[str]:
    """Return the names of empty nodes that their groups could do without.

    :param minimums: of the groups that are scaled; nodes of other groups stay.
    :param whole_pool: (cluster, pool) whose minimum counts over all its zones.
    """
    by_scope: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
    least: dict[tuple[str, ...], int] = {}
    for node in nodes:
        group = group_of(dict(node))
        if group is None or group not in minimums or not is_ready(dict(node)):
            continue
        scope = group[:2] if group[:2] in whole_pool else tuple(group)
        by_scope[scope].append(node)
        least[scope] = minimums[group]
    found: list[str] = []
    for scope, members in by_scope.items():
        idle = [
            node["metadata"]["name"]
            for node in members
            if node["metadata"]["name"] not in busy
            and node["metadata"].get("annotations", {}).get(SCALE_DOWN_DISABLED) != "true"
        ]
        spare = max(0, len(members) - least[scope])
        found += sorted(idle)[:spare]
    return found


def soft_taint(node: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the taint that marks a node as a candidate, None where it has none."""
    taints = node["spec"].get("taints") or ()
    return next((taint for taint in taints if taint["key"] == SOFT_TAINT), None)


def with_taint(node: Mapping[str, Any], key: str, effect: str, timestamp: int) -> list[Mapping[str, Any]]:
    """Return the node's taints with the autoscaler's own added; its value is the time in seconds."""
    return [*without_taint(node, key), {"key": key, "value": str(timestamp), "effect": effect}]


def without_taint(node: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    return [taint for taint in node["spec"].get("taints") or () if taint["key"] != key]
