# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which groups to grow for the pods that wait, or why none; all pure.

Source: cluster-autoscaler (orchestrator: pods that fit on nodes there are or on nodes that are coming
need nothing) and GKE's compute classes: priorities in order, the groups of one rule unordered, the
next rule when every group of a rule is full, in back-off or no help.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..hardware.nodes import Group
from .placing import Simulation, Site, Wish

COMPUTE_CLASS = "cloud.google.com/compute-class"
# cluster-autoscaler's own words (core/scaleup/orchestrator/skippedreasons.go).
AT_MAXIMUM = "max node group size reached"
IN_BACKOFF = "in backoff after failed scale-up"
NOT_IN_CLASS = "node group does not match the compute class of the pod"


@dataclass(frozen=True)
class GroupState:
    """One pool in one zone, as the autoscaler sees it.

    :param size: machines wanted now; ``maximum`` is this group's own limit.
    :param in_backoff: whether a failed scale-up still keeps it away.
    :param balanced: spread over zones (location policy BALANCED) rather than take the first (ANY).
    """

    group: Group
    size: int
    maximum: int
    template: Callable[[str], Site]
    in_backoff: bool = False
    balanced: bool = True


@dataclass(frozen=True)
class ClassRules:
    """What of a compute class steers growth: pool names per priority, and what then.

    :param priorities: for each rule the pools it names; empty where it describes machines to create,
        which the lab does not do.
    """

    name: str
    priorities: tuple[tuple[str, ...], ...]
    scale_up_anyway: bool = False


@dataclass(frozen=True)
class ScaleUp:
    """One group to grow, the pods it is for, and the rule that led to it (-1 where none did)."""

    group: Group
    before: int
    after: int
    pods: tuple[str, ...]
    rule: int = -1


@dataclass
class Decision:
    """What to do, and why nothing helps the pods in ``refused`` (pod → reason → number of groups)."""

    scale_ups: list[ScaleUp] = field(default_factory=list)
    refused: dict[str, Counter[str]] = field(default_factory=dict)


@dataclass
class _Run:
    """One decision in the making."""

    simulation: Simulation
    groups: Mapping[Group, GroupState]
    sizes: dict[Group, int]
    new: dict[str, Group] = field(default_factory=dict)
    pods: dict[Group, list[str]] = field(default_factory=dict)
    rules: dict[Group, int] = field(default_factory=dict)


def decide(
    wishes: Sequence[Wish],
    groups: Sequence[GroupState],
    classes: Mapping[str, ClassRules],
    simulation: Simulation,
) -> Decision:
    """Return which groups grow for the wishes.

    :param simulation: the nodes there are and those that are coming, with their devices and what of
        them is taken; it is used up.
    """
    run = _Run(simulation, {each.group: each for each in groups}, {g.group: g.size for g in groups})
    decision = Decision()
    for wish in wishes:
        reasons = _help(run, wish, classes)
        if reasons:
            decision.refused[wish.pod.meta.full_name] = reasons
    decision.scale_ups = [
        ScaleUp(group, state.size, run.sizes[group], tuple(run.pods[group]), run.rules[group])
        for group, state in run.groups.items()
        if run.sizes[group] > state.size
    ]
    return decision


def _help(run: _Run, wish: Wish, classes: Mapping[str, ClassRules]) -> Counter[str]:
    """Place one pod, on a new node if need be; return the reasons where that cannot be."""
    for name in run.simulation.sites:
        if not run.simulation.refusal(wish, name):
            run.simulation.place(wish, name)
            if name in run.new:
                run.pods[run.new[name]].append(wish.pod.meta.full_name)
            return Counter()
    reasons: Counter[str] = Counter()
    asked: set[Group] = set()
    for rule, candidates in _rungs(run, wish, classes):
        for state in candidates:
            asked.add(state.group)
            reason = _grow(run, wish, state, rule)
            if not reason:
                return Counter()
            reasons[reason] += 1
    for group in run.groups:
        if group not in asked:
            reasons[NOT_IN_CLASS] += 1
    return reasons or Counter({"no node group scales": 1})


def _rungs(
    run: _Run, wish: Wish, classes: Mapping[str, ClassRules]
) -> Iterator[tuple[int, list[GroupState]]]:
    """Yield the groups to try, rule after rule, best first within a rule."""
    name = (wish.pod.spec.get("nodeSelector") or {}).get(COMPUTE_CLASS, "")
    rules = classes.get(name)
    everything = list(run.groups.values())
    if rules is None:
        yield -1, _ordered(run, everything)
        return
    for index, pools in enumerate(rules.priorities):
        yield index, _ordered(run, [each for each in everything if each.group.pool in pools])
    if rules.scale_up_anyway:
        named = {pool for pools in rules.priorities for pool in pools}
        yield -1, _ordered(run, [each for each in everything if each.group.pool not in named])


def _ordered(run: _Run, groups: Sequence[GroupState]) -> list[GroupState]:
    """Return groups with the smaller of two zones first where a pool is to be balanced."""
    return sorted(
        groups,
        key=lambda each: (
            each.group.cluster,
            each.group.pool,
            run.sizes[each.group] if each.balanced else 0,
            each.group.zone,
        ),
    )


def _grow(run: _Run, wish: Wish, state: GroupState, rule: int) -> str:
    """Add one node of the group and place the pod on it; return why that cannot be, empty if done."""
    group = state.group
    if run.sizes[group] >= state.maximum:
        return AT_MAXIMUM
    if state.in_backoff:
        return IN_BACKOFF
    name = f"{group.pool}-{group.zone}-new-{len(run.new)}"
    imagined = state.template(name)
    trial = run.simulation.trial(wish)
    trial.add(imagined)
    reason = trial.refusal(wish, imagined.node.name)
    if reason:
        return reason
    run.simulation.add(imagined)
    run.simulation.place(wish, imagined.node.name)
    run.sizes[group] += 1
    run.new[imagined.node.name] = group
    run.pods.setdefault(group, []).append(wish.pod.meta.full_name)
    run.rules.setdefault(group, rule)
    return ""


def sentence(reasons: Counter[str]) -> str:
    """Return the message of a NotTriggerScaleUp event, as the autoscaler words it."""
    parts = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    return f"pod didn't trigger scale-up: {parts}"
