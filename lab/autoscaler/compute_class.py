# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a ComputeClass object says to the autoscaler, and what the autoscaler says back; all pure.

Source: GoogleCloudPlatform/cluster-autoscaler (compute class validators, priority statuses): types and
reasons of conditions are its own; sentences are the lab's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..google.catalogue import UnknownMachineType, machine_type
from ..google.cloud import PoolView
from .decide import COMPUTE_CLASS, ClassRules

DEFAULT_CONSOLIDATION_MINUTES = 10


@dataclass(frozen=True)
class Problem:
    """One condition that speaks against a class."""

    type: str
    reason: str
    message: str


def rules_of(obj: Mapping[str, Any]) -> ClassRules:
    """Return what of a class steers growth."""
    spec = obj.get("spec", {})
    return ClassRules(
        obj["metadata"]["name"],
        tuple(tuple(rule.get("nodepools", ())) for rule in spec.get("priorities", ())),
        spec.get("whenUnsatisfiable") == "ScaleUpAnyway",
    )


def consolidation_minutes(obj: Mapping[str, Any]) -> int:
    """Return after how long an idle node of the class may go."""
    policy = obj.get("spec", {}).get("autoscalingPolicy", {})
    return int(policy.get("consolidationDelayMinutes", DEFAULT_CONSOLIDATION_MINUTES))


def priority_of(rules: ClassRules, pool: str) -> str:
    """Return what GKE writes on a node of a class: the index of the rule its pool stands in."""
    for index, pools in enumerate(rules.priorities):
        if pool in pools:
            return str(index)
    return "ccc_scale_up_anyway" if rules.scale_up_anyway else "ccc_no_rule_matching"


def problems(obj: Mapping[str, Any], pools: Sequence[PoolView]) -> list[Problem]:
    """Return what is wrong between a class and the node pools there are."""
    name = obj["metadata"]["name"]
    by_name = {pool.name: pool for pool in pools}
    found: list[Problem] = []
    for index, rule in enumerate(obj.get("spec", {}).get("priorities", ())):
        for wanted in rule.get("nodepools", ()):
            found += _pool_problems(name, wanted, by_name.get(wanted))
        found += _machine_problems(index, rule)
    creates = obj.get("spec", {}).get("nodePoolAutoCreation", {}).get("enabled", False)
    names_pools = any("nodepools" in rule for rule in obj.get("spec", {}).get("priorities", ()))
    if not creates and not names_pools and not _members(name, pools):
        found.append(
            Problem(
                "CrdMisconfigured",
                "NapDisabledAndNoMatchingNodegroups",
                "node pools are not created automatically and no pool carries the class",
            )
        )
    return found


def _members(name: str, pools: Iterable[PoolView]) -> list[PoolView]:
    return [pool for pool in pools if _label(pool) == name]


def _label(pool: PoolView) -> str:
    label: str = pool.message.get("config", {}).get("labels", {}).get(COMPUTE_CLASS, "")
    return label


def _pool_problems(name: str, wanted: str, pool: PoolView | None) -> Iterator[Problem]:
    if pool is None:
        yield Problem("CrdMisconfigured", "NodePoolNotExist", f"node pool {wanted} does not exist")
        return
    if not pool.limits.enabled:
        # The autoscaler only knows pools that it scales, so the reason is the same.
        yield Problem("CrdMisconfigured", "NodePoolNotExist", f"node pool {wanted} has autoscaling disabled")
        return
    if _label(pool) != name:
        yield Problem(
            "NodepoolMisconfigured",
            "CrdLabelNotMatching",
            f"node pool {wanted} lacks the label {COMPUTE_CLASS}={name}",
        )
    taints = [taint for taint in pool.message["config"].get("taints", ()) if taint["key"] == COMPUTE_CLASS]
    if not taints:
        yield Problem(
            "NodepoolMisconfigured", "TaintMissing", f"node pool {wanted} lacks the taint {COMPUTE_CLASS}"
        )
    elif len(taints) > 1:
        yield Problem(
            "NodepoolMisconfigured", "MultipleCrdTaints", f"node pool {wanted} has several class taints"
        )
    elif taints[0].get("value") != name:
        yield Problem(
            "NodepoolMisconfigured",
            "TaintValueNotMatching",
            f"node pool {wanted} has the taint of class {taints[0].get('value')}",
        )
    if pool.limits.maximum == 0:
        yield Problem(
            "NodepoolMisconfigured", "NodepoolWillNeverScaleUp", f"node pool {wanted} has a maximum of 0"
        )


def _machine_problems(index: int, rule: Mapping[str, Any]) -> Iterator[Problem]:
    wanted = rule.get("machineType")
    if not wanted:
        return
    try:
        machine_type(wanted)
    except UnknownMachineType:
        yield Problem(
            "RuleMisconfigured", "MachineTypeNotFound", f"priority {index}: no machine type {wanted}"
        )


def status(
    obj: Mapping[str, Any],
    pools: Sequence[PoolView],
    suspended: Mapping[str, str],
    now: str,
) -> dict[str, Any]:
    """Return the status to write, with unchanged conditions keeping their transition time.

    :param suspended: pool name → reason, of the pools that are in back-off.
    """
    found = problems(obj, pools)
    before = {(each["type"], each["reason"]): each for each in obj.get("status", {}).get("conditions", ())}
    healthy = not found
    health = Problem("Health", "Health", "Crd is healthy." if healthy else "Crd is not healthy.")
    conditions = [_condition(health, before, now, value="True" if healthy else "False")]
    for type_, reason in dict.fromkeys((each.type, each.reason) for each in found):
        texts = [each.message for each in found if (each.type, each.reason) == (type_, reason)]
        conditions.append(_condition(Problem(type_, reason, "; ".join(texts)), before, now))
    return {"conditions": conditions, "priorityStatuses": _priorities(obj, suspended, now)}


def _condition(
    problem: Problem,
    before: Mapping[tuple[str, str], Mapping[str, Any]],
    now: str,
    value: str = "True",
) -> dict[str, Any]:
    old = before.get((problem.type, problem.reason), {})
    since = old["lastTransitionTime"] if old.get("status") == value else now
    return {
        "type": problem.type,
        "status": value,
        "reason": problem.reason,
        "message": problem.message,
        "lastTransitionTime": since,
    }


def _priorities(obj: Mapping[str, Any], suspended: Mapping[str, str], now: str) -> list[dict[str, Any]]:
    """Return what keeps each priority from growing: all of it suspended, or part of it constrained."""
    earlier = {
        each["identifier"]: {(one["type"], one["reason"]): one for one in each.get("conditions", ())}
        for each in obj.get("status", {}).get("priorityStatuses", ())
    }
    found = []
    for index, pools in enumerate(rules_of(obj).priorities):
        stuck = [pool for pool in pools if pool in suspended]
        conditions = []
        if stuck:
            whole = len(stuck) == len(pools)
            type_ = "ProvisioningSuspended" if whole else "ProvisioningConstrained"
            before = earlier.get(str(index), {})
            problem = Problem(type_, suspended[stuck[0]], f"in back-off: {', '.join(stuck)}")
            conditions = [_condition(problem, before, now)]
        found.append({"identifier": str(index), "conditions": conditions})
    return found
