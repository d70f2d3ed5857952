# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pools of devices over all slices, judged as the scheduler's allocator does.

The rules are those of ``GatherPools`` in k8s.io/dynamic-resource-allocation 0.36.3: only the newest
generation counts, nothing is allocated from a pool whose number of slices differs from
``resourceSliceCount``, and a pool with a device name twice is invalid. What the allocator decides by
the order in which it happens to see slices (counts that disagree) is invalid here.

A pool is built from full slices or from outlines, which keep little more than the devices' names,
so that ten thousand slices can be judged while they stream by.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from .nodes import NodeSelection
from .slices import CounterName, DeviceTaint, PoolId

State = Literal["complete", "incomplete", "invalid"]
FaultKind = Literal[
    "count_zero",
    "count_disagrees",
    "too_few",
    "too_many",
    "duplicate_device",
    "counters",
    "published_by_nodes",
]

_INVALID: tuple[FaultKind, ...] = ("count_disagrees", "duplicate_device", "counters")
_INCOMPLETE: tuple[FaultKind, ...] = ("count_zero", "too_few", "too_many")
_UNTOLERATED = ("NoSchedule", "NoExecute")


class PublishedSlice(Protocol):
    """What the judgement of a pool reads of a slice."""

    @property
    def name(self) -> str: ...
    @property
    def pool_id(self) -> PoolId: ...
    @property
    def generation(self) -> int: ...
    @property
    def resource_slice_count(self) -> int: ...
    @property
    def node_selection(self) -> NodeSelection: ...
    @property
    def device_names(self) -> tuple[str, ...]: ...
    @property
    def counters(self) -> frozenset[CounterName]: ...
    @property
    def consumed_counters(self) -> frozenset[CounterName]: ...
    @property
    def has_binding_conditions(self) -> bool: ...
    @property
    def taints(self) -> Mapping[str, tuple[DeviceTaint, ...]]: ...
    @property
    def shared_devices(self) -> frozenset[str]: ...
    def reaches(self, name: str, labels: Mapping[str, str]) -> bool: ...
    def device_names_on(self, name: str, labels: Mapping[str, str]) -> tuple[str, ...]: ...


S = TypeVar("S", bound=PublishedSlice)


@dataclass(frozen=True, slots=True)
class PoolFault:
    """Why a pool cannot be allocated from, or only in part."""

    kind: FaultKind
    detail: str

    @property
    def state(self) -> State:
        if self.kind in _INVALID:
            return "invalid"
        return "incomplete" if self.kind in _INCOMPLETE else "complete"


@dataclass(frozen=True, slots=True)
class DeviceCounts:
    """How many devices there are, and how many of them a claim could get.

    :param published: in the newest generation of the pool.
    :param allocated: held by a claim, published or not (some drivers withdraw devices in use).
    :param tainted: published with an effect that keeps claims away.
    :param shared: published for many allocations at once; never counted as allocated.
    :param free: published in a complete pool, neither allocated nor tainted.
    :param total: published or allocated, each device once.
    """

    published: int = 0
    allocated: int = 0
    tainted: int = 0
    shared: int = 0
    free: int = 0
    total: int = 0

    def __add__(self, other: DeviceCounts) -> DeviceCounts:
        return DeviceCounts(
            self.published + other.published,
            self.allocated + other.allocated,
            self.tainted + other.tainted,
            self.shared + other.shared,
            self.free + other.free,
            self.total + other.total,
        )

    def as_dict(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True)
class Pool(Generic[S]):
    """One pool over the whole cluster.

    :param slices: of the newest generation, by name.
    :param obsolete: of older generations, by name.
    """

    id: PoolId
    generation: int
    slices: tuple[S, ...]
    obsolete: tuple[S, ...] = ()
    faults: tuple[PoolFault, ...] = ()

    @property
    def subject(self) -> str:
        return f"ResourcePool {self.id}"

    @property
    def state(self) -> State:
        return _state(self.faults)

    @property
    def expected_slices(self) -> int:
        """Return the published slice count; the largest where slices disagree."""
        return max(each.resource_slice_count for each in self.slices)

    @property
    def node_names(self) -> tuple[str, ...]:
        """Return the nodes that the newest generation names, sorted."""
        return tuple(
            sorted({s.node_selection.node_name for s in self.slices} - {""}),
        )

    @property
    def device_names(self) -> tuple[str, ...]:
        """Return each published device once, in the allocator's order (slices by name)."""
        return tuple(dict.fromkeys(name for each in self.slices for name in each.device_names))

    def on_node(self, name: str, labels: Mapping[str, str]) -> NodePool[S] | None:
        """Return the pool as the allocator sees it for one node, None where it reaches no device there.

        Only slices that reach the node are looked at first; the others matter when their number
        alone is not the published count. A newer generation elsewhere then hides the pool.
        """
        everything = (*self.slices, *self.obsolete)
        relevant = [each for each in everything if each.reaches(name, labels)]
        if not relevant:
            return None
        generation = max(each.generation for each in relevant)
        relevant = sorted((s for s in relevant if s.generation == generation), key=_by_name)
        counts = {each.resource_slice_count for each in relevant}
        whole = relevant
        if len(counts) == 1 and len(relevant) not in counts:
            if any(each.generation > generation for each in everything):
                return None
            whole = [each for each in everything if each.generation == generation]
        faults = (*_count_faults(whole, counts), *_name_faults(relevant, whole))
        return NodePool(self.id, name, tuple(relevant), faults)

    def count(
        self,
        held: AbstractSet[str] = frozenset(),
        *,
        untolerated: Callable[[DeviceTaint], bool] | None = None,
    ) -> DeviceCounts:
        """Return the numbers of the whole pool, a cluster-wide device once.

        :param held: names of this pool's devices that claims hold.
        :param untolerated: whether a taint keeps the claim in question away; by default every
            ``NoSchedule`` and ``NoExecute`` does.
        """
        return _count(self.slices, self.device_names, self.state, held, untolerated)


@dataclass(frozen=True)
class NodePool(Generic[S]):
    """The part of a pool that reaches one node, with the allocator's judgement for that node."""

    id: PoolId
    node: str
    slices: tuple[S, ...]
    faults: tuple[PoolFault, ...] = ()

    @property
    def state(self) -> State:
        return _state(self.faults)

    @property
    def is_ambiguous(self) -> bool:
        """Return whether the real allocator's answer depends on the order it sees slices in."""
        return any(each.kind == "count_disagrees" for each in self.faults)

    @property
    def has_binding_conditions(self) -> bool:
        """Return whether the allocator tries this pool after those without binding conditions."""
        return any(each.has_binding_conditions for each in self.slices)

    def device_names(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        """Return the devices within the node's reach, in the allocator's order."""
        return tuple(
            dict.fromkeys(name for each in self.slices for name in each.device_names_on(self.node, labels))
        )

    def count(
        self,
        labels: Mapping[str, str],
        held: AbstractSet[str] = frozenset(),
        *,
        untolerated: Callable[[DeviceTaint], bool] | None = None,
    ) -> DeviceCounts:
        """Return the numbers of this node's devices; arguments as in ``Pool.count``."""
        names = self.device_names(labels)
        return _count(self.slices, names, self.state, held & set(names), untolerated)


def pools(slices: Iterable[S]) -> dict[PoolId, Pool[S]]:
    """Return all pools of the slices by identity, sorted by driver and name.

    Takes each slice once, so an iterator will do; time and memory grow linearly.
    """
    found: defaultdict[PoolId, list[S]] = defaultdict(list)
    for each in slices:
        found[each.pool_id].append(each)
    return {identity: _pool(identity, found[identity]) for identity in sorted(found)}


class PoolIndex(Generic[S]):
    """Pools by the nodes they can reach, so that a node's pools are found without a walk over all."""

    def __init__(self, found: Mapping[PoolId, Pool[S]]) -> None:
        self._by_node: defaultdict[str, dict[PoolId, Pool[S]]] = defaultdict(dict)
        self._anywhere: dict[PoolId, Pool[S]] = {}
        for identity, pool in found.items():
            for each in (*pool.slices, *pool.obsolete):
                if each.node_selection.kind == "node" and not each.counters:
                    self._by_node[each.node_selection.node_name][identity] = pool
                else:
                    self._anywhere[identity] = pool

    def on_node(self, name: str, labels: Mapping[str, str]) -> list[NodePool[S]]:
        """Return the node's pools in the order in which the allocator tries them.

        By driver and name; pools with binding conditions after all others (KEP-5007).
        """
        candidates = {**self._anywhere, **self._by_node.get(name, {})}
        found = [
            pool
            for identity in sorted(candidates)
            if (pool := candidates[identity].on_node(name, labels)) is not None
        ]
        return sorted(found, key=lambda pool: pool.state == "complete" and pool.has_binding_conditions)

    def node_names(self) -> frozenset[str]:
        """Return every node that a slice names, whether it exists or not."""
        return frozenset(self._by_node)


def _by_name(each: PublishedSlice) -> str:
    return each.name


def _state(faults: Iterable[PoolFault]) -> State:
    """Return the state; an incomplete pool is not even looked at for what would make it invalid."""
    states = {fault.state for fault in faults}
    if "incomplete" in states:
        return "incomplete"
    return "invalid" if "invalid" in states else "complete"


def _pool(identity: PoolId, found: Sequence[S]) -> Pool[S]:
    generation = max(each.generation for each in found)
    newest = sorted((each for each in found if each.generation == generation), key=_by_name)
    obsolete = sorted((each for each in found if each.generation < generation), key=_by_name)
    counts = {each.resource_slice_count for each in newest}
    faults = [*_count_faults(newest, counts), *_name_faults(newest, newest)]
    publishers = _publishers(found)
    if len(publishers) > 1:
        detail = "each of " + ", ".join(sorted(publishers)) + " publishes the whole pool"
        if _is_whole_on_each_node(newest, publishers):
            faults = []
        faults.insert(0, PoolFault("published_by_nodes", detail))
    return Pool(identity, generation, tuple(newest), tuple(obsolete), tuple(faults))


def _publishers(found: Sequence[S]) -> dict[str, list[S]]:
    """Return the nodes whose own slices claim to be the whole pool, with those slices.

    A pool that really spans nodes counts the slices of all of them, so none of its nodes looks
    complete alone.
    """
    by_node: defaultdict[str, list[S]] = defaultdict(list)
    for each in found:
        if each.node_selection.kind == "node":
            by_node[each.node_selection.node_name].append(each)
    if len(by_node) < 2:  # noqa: PLR2004 - two publishers are what is looked for
        return {}
    newest = {
        node: [s for s in own if s.generation == max(each.generation for each in own)]
        for node, own in by_node.items()
    }
    return {
        node: own for node, own in newest.items() if {each.resource_slice_count for each in own} == {len(own)}
    }


def _is_whole_on_each_node(newest: Sequence[S], publishers: Mapping[str, Sequence[S]]) -> bool:
    return all(each.node_selection.node_name in publishers for each in newest) and not any(
        _name_faults(own, own) for own in publishers.values()
    )


def _count_faults(whole: Sequence[S], counts: AbstractSet[int]) -> list[PoolFault]:
    """Return what is wrong with the number of slices; ``counts`` are those that may decide it."""
    if len(counts) > 1:
        stated = " and ".join(str(each) for each in sorted(counts))
        return [PoolFault("count_disagrees", f"slices of one generation state {stated} as the count")]
    expected, found = next(iter(counts)), len(whole)
    if expected <= 0:
        return [PoolFault("count_zero", f"resourceSliceCount is {expected}, {found} published")]
    if found < expected:
        return [PoolFault("too_few", f"{found} of {expected} slices published")]
    if found > expected:
        return [PoolFault("too_many", f"{found} slices published, resourceSliceCount is {expected}")]
    return []


def _name_faults(relevant: Sequence[S], whole: Sequence[S]) -> list[PoolFault]:
    """Return what makes the pool invalid: device names twice, counters that do not exist."""
    names = Counter(name for each in relevant if not each.counters for name in each.device_names)
    twice = sorted(name for name, times in names.items() if times > 1)
    faults = []
    if twice:
        faults.append(PoolFault("duplicate_device", "device name twice: " + ", ".join(twice)))
    sets = Counter(name for each in relevant for name in {each.counter_set for each in each.counters})
    if repeated := sorted(name for name, times in sets.items() if times > 1):
        faults.append(PoolFault("counters", "counter set twice: " + ", ".join(repeated)))
    offered = {counter for each in relevant for counter in each.counters}
    wanted = {counter for each in whole for counter in each.consumed_counters}
    if missing := sorted(wanted - offered):
        listed = ", ".join(f"{each.counter_set}/{each.counter}" for each in missing)
        faults.append(PoolFault("counters", f"devices consume counters that nobody offers: {listed}"))
    return faults


def _count(
    slices: Sequence[S],
    names: Sequence[str],
    state: State,
    held: AbstractSet[str],
    untolerated: Callable[[DeviceTaint], bool] | None,
) -> DeviceCounts:
    keeps_away = untolerated or blocks_new_claims
    published = set(names)
    tainted = {
        name
        for each in slices
        for name, taints in each.taints.items()
        if name in published and any(keeps_away(taint) for taint in taints)
    }
    shared = {name for each in slices for name in each.shared_devices} & published
    return DeviceCounts(
        published=len(published),
        allocated=len(held - shared),
        tainted=len(tainted),
        shared=len(shared),
        free=len(published - tainted - (held - shared)) if state == "complete" else 0,
        total=len(published | held),
    )


def blocks_new_claims(taint: DeviceTaint) -> bool:
    """Return whether a taint keeps claims without a toleration away; effect ``None`` does not."""
    return taint.effect in _UNTOLERATED
