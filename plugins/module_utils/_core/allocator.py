# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The allocator's search on one node, step by step as kube-scheduler 1.36.3 does it.

Source: ``allocator_incubating.go`` of k8s.io/dynamic-resource-allocation 0.36.3, the variant that the default
feature gates select.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .capacity import consumption, shortage
from .claims import Alternative, DeviceClass, DeviceConfig, DeviceRequests, Request
from .constraints import Tracker, trackers
from .counters import CounterBooks
from .fits import ClaimFit, Fit, Given, Refusal
from .holdings import total
from .inventory import Candidate, Inventory, Place, candidates, device_slices, keeping_taint
from .objects import NOTHING
from .quantity import Quantity
from .slices import Device, DeviceId, ResourceSlice

MAX_RESULTS = 32  # AllocationResultsMaxSize, resource.k8s.io/v1
MAX_STEPS = 200_000  # far fewer than the scheduler manages within its ten seconds per node

Outcome = Literal["found", "not found", "too many"]


class Stop(Exception):
    """The scheduler stops looking, or this search cannot go on; carries the refusal."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


class Cursor(NamedTuple):
    """The device that is looked for: of which claim, request, alternative, and the how-manieth of it."""

    claim: int = 0
    request: int = 0
    alternative: int = 0
    device: int = 0


class Position(NamedTuple):
    """Where to go on looking within a request, so that sets of devices are tried and not their orders."""

    pool: int = 0
    slice: int = 0
    device: int = 0


BEGINNING = Position()


@dataclass(frozen=True, slots=True)
class Wanted:
    """One alternative of one request; ``every`` has the devices of ``allocationMode: All``."""

    request: Request
    alternative: Alternative
    count: int
    every: tuple[Candidate, ...] = ()

    @property
    def takes_every(self) -> bool:
        return self.alternative.allocation_mode == "All"


@dataclass(slots=True)
class Hold:
    """What taking a device changed, to be undone when the search turns back."""

    wanted: Wanted
    candidate: Candidate
    constraints: int = 0
    counters: bool = False
    committed: bool = False


class Search:
    """One run of the allocator for the unallocated claims of a pod."""

    def __init__(
        self, claims: Sequence[DeviceRequests], place: Place, inventory: Inventory, max_steps: int
    ) -> None:
        self._claims = claims
        self._place = place
        self._inventory = inventory
        self._pools = inventory.on_node(place)
        self._steps_left = max_steps
        self._wanted: dict[tuple[int, int, int], Wanted] = {}
        self._constraints: list[list[Tracker]] = []
        self._counters = CounterBooks()
        self._selectable: dict[tuple[int, int, int, DeviceId], bool] = {}
        self._in_use: dict[DeviceId, set[int]] = {}
        self._shared: dict[DeviceId, list[Mapping[str, Quantity]]] = {}
        self._results: list[list[Given]] = [[] for _unused in claims]
        self._chosen: dict[tuple[int, int], int] = {}

    def run(self) -> Fit | None:
        """Return the first complete solution, None where there is none.

        :raises Stop: where the scheduler stops for all nodes, or this search cannot decide.
        """
        for index, claim in enumerate(self._claims):
            self._prepare(index, claim)
        if self._allocate(Cursor()) != "found":
            return None
        return Fit(tuple(self._claim_fit(index, claim) for index, claim in enumerate(self._claims)))

    # -- before the search: counts, "all" devices, constraints ----------------------------------------

    def _prepare(self, index: int, claim: DeviceRequests) -> None:
        fewest = 0
        for request_index, request in enumerate(claim.requests):
            counts = []
            for position, alternative in enumerate(request.alternatives):
                key = (index, request_index, position)
                self._wanted[key] = wanted = self._prepared(key, request, alternative)
                counts.append(wanted.count)
            fewest += min(counts)
        if fewest > MAX_RESULTS:
            text = f"number of requested devices {fewest} exceeds the claim limit of {MAX_RESULTS}"
            raise Stop(Refusal("TooManyDevices", text, index, "", "pod"))
        try:
            self._constraints.append(trackers(claim.constraints))
        except ValueError as error:
            raise Stop(Refusal("RequestUnsupported", str(error), index, "", "pod")) from error

    def _prepared(self, key: tuple[int, int, int], request: Request, alternative: Alternative) -> Wanted:
        wanted = Wanted(request, alternative, alternative.count)
        if wanted.takes_every:
            every = tuple(self._every_device(key, wanted))
            return Wanted(request, alternative, len(every), every)
        if alternative.allocation_mode != "ExactCount":
            text = f"request {alternative.name}: unsupported count mode {alternative.allocation_mode}"
            raise Stop(Refusal("RequestUnsupported", text, key[0], alternative.name, "pod"))
        return wanted

    def _every_device(self, key: tuple[int, int, int], wanted: Wanted) -> Iterator[Candidate]:
        """Yield the devices that "all" means; any pool of the node that is not usable stops the pod."""
        name = wanted.alternative.name
        for pool in self._pools:
            if pool.state != "complete":
                incomplete = any(fault.state == "incomplete" for fault in pool.faults)
                text = f"request {name}: asks for all devices, but resource pool {pool.id} is currently " + (
                    "being updated" if incomplete else "invalid"
                )
                reason = "PoolIncomplete" if incomplete else "PoolInvalid"
                raise Stop(Refusal(reason, text, key[0], name, "pod"))
            for candidate in candidates(pool):
                if self._is_selectable(key, wanted, candidate) and not self._shortage(wanted, candidate):
                    yield candidate

    # -- the search -----------------------------------------------------------------------------------

    def _allocate(self, at: Cursor, start: Position = BEGINNING, *, in_alternative: bool = False) -> Outcome:
        """Allocate everything from ``at`` on; ``too many``: the results would exceed the claim's limit.

        :param in_alternative: whether the alternative at the cursor is decided already.
        """
        if at.claim >= len(self._claims):
            return "found"
        if at.request >= len(self._claims[at.claim].requests):
            outcome = self._allocate(Cursor(at.claim + 1))
            return "not found" if outcome == "too many" else outcome
        wanted = self._wanted[at.claim, at.request, at.alternative]
        if wanted.request.first_available and not in_alternative:
            return self._first_available(at, wanted.request)
        return self._next_device(at, wanted, start)

    def _next_device(self, at: Cursor, wanted: Wanted, start: Position) -> Outcome:
        if wanted.takes_every and not wanted.every:
            return "not found"
        if at.device >= wanted.count:
            return self._allocate(Cursor(at.claim, at.request + 1))
        if len(self._results[at.claim]) + wanted.count - at.device > MAX_RESULTS:
            return "too many"
        if wanted.takes_every:
            return self._try(at, wanted, wanted.every[at.device], BEGINNING)
        return self._any_device(at, wanted, start)

    def _first_available(self, at: Cursor, request: Request) -> Outcome:
        all_too_many = True
        for index in range(len(request.alternatives)):
            outcome = self._allocate(at._replace(alternative=index), in_alternative=True)
            if outcome == "found":
                self._chosen[at.claim, at.request] = index
                return "found"
            all_too_many = all_too_many and outcome == "too many"
        return "too many" if all_too_many else "not found"

    def _any_device(self, at: Cursor, wanted: Wanted, start: Position) -> Outcome:
        key = (at.claim, at.request, at.alternative)
        for position, candidate in self._from(start):
            if self._is_taken(at.claim, wanted, candidate.id):
                continue
            self._count_step(at)
            if not self._is_selectable(key, wanted, candidate) or self._shortage(wanted, candidate):
                continue
            outcome = self._try(at, wanted, candidate, position._replace(device=position.device + 1))
            if outcome != "not found":
                return outcome
        return "not found"

    def _from(self, start: Position) -> Iterator[tuple[Position, Candidate]]:
        """Yield the devices of usable pools from a position on."""
        for pool_index in range(start.pool, len(self._pools)):
            pool = self._pools[pool_index]
            if pool.state != "complete":
                continue
            first_slice = start.slice if pool_index == start.pool else 0
            slices = device_slices(pool)
            for slice_index in range(first_slice, len(slices)):
                here = (pool_index, slice_index) == start[:2]
                devices = slices[slice_index].devices
                for device_index in range(start.device if here else 0, len(devices)):
                    device = devices[device_index]
                    candidate = Candidate(DeviceId(*pool.id, device.name), device, slices[slice_index], pool)
                    yield Position(pool_index, slice_index, device_index), candidate

    def _try(self, at: Cursor, wanted: Wanted, candidate: Candidate, following: Position) -> Outcome:
        """Take the device and go on; give it back where that leads nowhere."""
        hold = self._take(at.claim, wanted, candidate)
        if hold is None:
            return "not found"
        outcome = self._allocate(at._replace(device=at.device + 1), following, in_alternative=True)
        if outcome != "found":
            self._give_back(at.claim, hold)
        return outcome

    def _count_step(self, at: Cursor) -> None:
        self._steps_left -= 1
        if self._steps_left < 0:
            text = "too many combinations to try; the scheduler itself stops after 10 seconds on a node"
            raise Stop(Refusal("SearchTooLong", text, at.claim, "", "unknown"))

    # -- one device -----------------------------------------------------------------------------------

    def _is_taken(self, claim: int, wanted: Wanted, device: DeviceId) -> bool:
        users = self._in_use.get(device, set())
        if wanted.alternative.admin_access:
            return claim in users
        return bool(users) or device in self._inventory.held.whole

    def _is_selectable(self, key: tuple[int, int, int], wanted: Wanted, candidate: Candidate) -> bool:
        """Return whether class and request select the device; asked only for devices that are not taken."""
        known = self._selectable.get((*key, candidate.id))
        if known is None:
            judgement = self._inventory.judge(wanted.alternative, candidate)
            name = wanted.alternative.name
            if judgement.outcome == "error":
                raise Stop(Refusal("SelectorError", judgement.text, key[0], name, "pod"))
            if judgement.outcome == "cannot judge":
                raise Stop(Refusal("CannotJudge", judgement.text, key[0], name, "unknown"))
            known = judgement.outcome == "match" and candidate.reaches(self._place)
            self._selectable[(*key, candidate.id)] = known
        return known

    def _shortage(self, wanted: Wanted, candidate: Candidate) -> str:
        held = self._inventory.held.consumed(candidate.id)
        used = total((held, *self._shared.get(candidate.id, ())))
        return shortage(wanted.alternative.capacity, candidate.device, used)

    def _take(self, claim: int, wanted: Wanted, candidate: Candidate) -> Hold | None:
        """Take the device for the request, None where something speaks against it."""
        if self._is_taken(claim, wanted, candidate.id):
            return None
        hold = Hold(wanted, candidate)
        if (
            self._hold_counters(hold)
            and keeping_taint(candidate.device, wanted.alternative.tolerations) is None
            and self._hold_constraints(claim, hold)
            and not self._shortage(wanted, candidate)
        ):
            self._commit(claim, hold)
            return hold
        self._give_back(claim, hold)
        return None

    def _hold_counters(self, hold: Hold) -> bool:
        """Reserve the device's counters; a share beside other shares needs none of its own."""
        candidate = hold.candidate
        if not candidate.device.consumes_counters or self._is_shared_already(candidate):
            return True
        hold.counters = self._counters.reserve(
            candidate.id.pool,
            candidate.device,
            lambda: self._inventory.whole_pool(candidate.pool),
            self._is_allocated,
        )
        return hold.counters

    def _is_shared_already(self, candidate: Candidate) -> bool:
        if not candidate.device.allow_multiple_allocations:
            return False
        return bool(self._shared.get(candidate.id) or self._inventory.held.consumed(candidate.id))

    def _is_allocated(self, published: ResourceSlice, device: Device) -> bool:
        identity = published.device_id(device)
        return identity in self._inventory.held.whole or identity in self._inventory.held.shares

    def _hold_constraints(self, claim: int, hold: Hold) -> bool:
        request, alternative = hold.wanted.request.name, hold.wanted.alternative.name
        for constraint in self._constraints[claim]:
            if not constraint.add(request, alternative, hold.candidate.device):
                if hold.wanted.takes_every:
                    text = (
                        f"request {alternative}: cannot add device {hold.candidate.id} because a claim "
                        "constraint would not be satisfied"
                    )
                    raise Stop(Refusal("ConstraintUnsatisfiable", text, claim, alternative, "pod"))
                return False
            hold.constraints += 1
        return True

    def _commit(self, claim: int, hold: Hold) -> None:
        candidate, alternative = hold.candidate, hold.wanted.alternative
        consumed: Mapping[str, Quantity] = NOTHING
        if candidate.device.allow_multiple_allocations:
            consumed = consumption(alternative.capacity, candidate.device)
            self._shared.setdefault(candidate.id, []).append(consumed)
        else:
            self._in_use.setdefault(candidate.id, set()).add(claim)
        self._results[claim].append(
            Given(
                alternative.name,
                candidate.id,
                consumed,
                alternative.admin_access,
                candidate.device.binding_conditions,
            )
        )
        hold.committed = True

    def _give_back(self, claim: int, hold: Hold) -> None:
        candidate = hold.candidate
        if hold.committed:
            self._results[claim].pop()
            if candidate.device.allow_multiple_allocations:
                self._shared[candidate.id].pop()
            else:
                self._in_use[candidate.id].discard(claim)
        for constraint in reversed(self._constraints[claim][: hold.constraints]):
            constraint.remove(hold.wanted.request.name, hold.wanted.alternative.name)
        if hold.counters:
            self._counters.release(candidate.id.pool, candidate.device)

    # -- the result -----------------------------------------------------------------------------------

    def _claim_fit(self, index: int, claim: DeviceRequests) -> ClaimFit:
        chosen = {
            request.name: self._chosen[index, position]
            for position, request in enumerate(claim.requests)
            if request.first_available
        }
        alternatives = [request.alternatives[chosen.get(request.name, 0)] for request in claim.requests]
        configs = (*_class_configs(alternatives, self._inventory.classes), *_claim_configs(claim, chosen))
        return ClaimFit(tuple(self._results[index]), chosen, configs)


def _class_configs(
    alternatives: Iterable[Alternative], classes: Mapping[str, DeviceClass]
) -> Iterator[DeviceConfig]:
    """Yield the configuration of each chosen class once, for all the requests that chose it."""
    by_class: dict[str, list[str]] = {}
    for alternative in alternatives:
        by_class.setdefault(alternative.device_class, []).append(alternative.name)
    for name, requests in by_class.items():
        for config in classes[name].configs:
            yield DeviceConfig(tuple(requests), config.driver, config.parameters, "FromClass")


def _claim_configs(claim: DeviceRequests, chosen: Mapping[str, int]) -> Iterator[DeviceConfig]:
    """Yield the claim's configurations that are for all, for a request, or for its chosen alternative."""
    for config in claim.configs:
        if not config.requests:
            yield DeviceConfig((), config.driver, config.parameters, "FromClaim")
        for request in claim.requests:
            chosen_name = request.alternatives[chosen.get(request.name, 0)].name
            if config.requests and (request.name in config.requests or chosen_name in config.requests):
                yield DeviceConfig(config.requests, config.driver, config.parameters, "FromClaim")
