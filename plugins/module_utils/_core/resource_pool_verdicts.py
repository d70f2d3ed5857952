# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person should know about the pools of a cluster, as verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from .resource_pools import FaultKind, Pool, blocks_new_claims
from .slices import PoolId
from .verdict import Verdict

_NAMED = 16  # a verdict names this many objects and leaves the rest to the count

_ADVICE: dict[FaultKind, str] = {
    "count_zero": "nothing is allocated from such a pool; the driver must state the count",
    "count_disagrees": "which count decides depends on order; the driver must publish one count",
    "too_few": "nothing is allocated until all slices are there; look at the driver's pod",
    "too_many": "nothing is allocated until the numbers are equal; delete slices nobody updates",
    "duplicate_device": "nothing is allocated from it; the driver must publish unique names",
    "counters": "nothing is allocated from it; the driver must publish the counter sets",
    "published_by_nodes": "a device of that name is allocated once in the cluster, whichever node "
    "has it; give each node its own pool name",
}
_REASONS: dict[FaultKind, str] = {
    "count_zero": "PoolCountZero",
    "count_disagrees": "PoolInvalid",
    "too_few": "PoolIncomplete",
    "too_many": "PoolIncomplete",
    "duplicate_device": "PoolInvalid",
    "counters": "PoolInvalid",
    "published_by_nodes": "PoolPublishedByNodes",
}


def pool_verdicts(pool: Pool[Any], held: AbstractSet[str] = frozenset()) -> Iterator[Verdict]:
    """Yield what is wrong or worth knowing about a pool.

    :param held: names of the pool's devices that claims hold; a driver may withdraw devices in use.
    """
    where = tuple(f"ResourceSlice {each.name}" for each in pool.slices[:_NAMED])
    for fault in pool.faults:
        yield Verdict(
            "error",
            _REASONS[fault.kind],
            pool.subject,
            observed=f"generation {pool.generation}: {fault.detail}",
            expected="resourceSliceCount slices of the newest generation, each device name once",
            advice=_ADVICE[fault.kind],
            evidence=where,
        )
    if pool.obsolete:
        newest_old = max(each.generation for each in pool.obsolete)
        yield Verdict(
            "note",
            "StaleSlice",
            pool.subject,
            observed=f"{len(pool.obsolete)} slices of generation {newest_old} or older remain "
            f"beside generation {pool.generation}",
            expected="one generation",
            evidence=tuple(f"ResourceSlice {each.name}" for each in pool.obsolete[:_NAMED]),
        )
    if not pool.device_names and not any(each.counters for each in pool.slices):
        yield Verdict(
            "note" if held else "warning",
            "PoolEmpty",
            pool.subject,
            observed=f"generation {pool.generation} has no device; claims hold {len(held)}",
            expected="at least one device, unless the driver withdraws devices in use",
            evidence=where,
        )
    yield from _taint_verdicts(pool)
    if unknown := [each.name for each in pool.slices if each.node_selection.kind == "none"]:
        yield Verdict(
            "warning",
            "NodeSelectionUnknown",
            pool.subject,
            observed=f"{len(unknown)} slices select no node in a way that is known here",
            expected="nodeName, nodeSelector, allNodes or perDeviceNodeSelection",
            evidence=tuple(f"ResourceSlice {name}" for name in unknown[:_NAMED]),
        )


def _taint_verdicts(pool: Pool[Any]) -> Iterator[Verdict]:
    by_taint: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for each in pool.slices:
        for name, taints in each.taints.items():
            for taint in taints:
                if blocks_new_claims(taint):
                    by_taint[taint.key, taint.effect].append(name)
    for (key, effect), names in sorted(by_taint.items()):
        yield Verdict(
            "warning",
            "DeviceTainted",
            pool.subject,
            observed=f"{len(names)} of {len(pool.device_names)} devices carry {key}:{effect}: "
            + ", ".join(sorted(names)[:_NAMED]),
            expected="no taint, or a toleration in the request",
        )


def orphans(pools: Mapping[PoolId, Pool[Any]], nodes: Collection[str]) -> Iterator[Verdict]:
    """Yield a verdict for each pool whose slices name a node that is not among ``nodes``."""
    for pool in pools.values():
        lost = [each for each in pool.slices if _names_none_of(each.node_selection.node_name, nodes)]
        if lost:
            names = sorted({each.node_selection.node_name for each in lost})
            yield Verdict(
                "warning",
                "SliceOrphaned",
                pool.subject,
                observed="names nodes that do not exist: " + ", ".join(names[:_NAMED]),
                expected="slices go away with their node",
                advice="delete the slices if no controller does",
                evidence=tuple(f"ResourceSlice {each.name}" for each in lost[:_NAMED]),
            )


def malformed(problems: Iterable[str]) -> Iterator[Verdict]:
    """Yield a verdict for each slice that could not be read."""
    for problem in problems:
        subject, _unused, observed = problem.partition(": ")
        yield Verdict("error", "SliceMalformed", subject, observed, expected="a resource.k8s.io/v1 object")


def _names_none_of(name: str, nodes: Collection[str]) -> bool:
    return bool(name) and name not in nodes
