# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults that can be ordered from the simulated Google, as plain data.

A fault is of one kind, may be narrowed by parameters (a pool, a machine type, a method …), may hit a
limited number of times, and stays until it is cleared. Nothing here acts: the cloud and the server
ask whether a fault applies.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

# From a recorded stock-out: "Not all instances running in IGM after 35m4s".
STOCKOUT_PATIENCE_SECONDS = 2104.0

Json = dict[str, Any]
JsonList = list[Json]


@dataclass(frozen=True)
class Kind:
    """What can be ordered: a sentence, the parameters that narrow it, and those that shape it."""

    sentence: str
    narrows: tuple[str, ...] = ()
    shapes: Mapping[str, Any] = field(default_factory=dict)


KINDS: Mapping[str, Kind] = {
    "stockout": Kind(
        "A zone has no machines of a kind. `on` says when: create, scale-up or any; `provisioning` "
        "is spot or on-demand.",
        ("cluster", "pool", "machine_type", "provisioning", "zone"),
        {"on": "any", "after": STOCKOUT_PATIENCE_SECONDS},
    ),
    "quota": Kind(
        "A quota metric has this limit. With `late` the check before the change passes and the "
        "machines fail instead.",
        ("cluster", "pool", "machine_type", "region"),
        {"metric": "", "limit": 0.0, "late": False, "after": 60.0},
    ),
    "operation-fails": Kind(
        "An operation ends with an error.",
        ("cluster", "pool", "type"),
        {"message": "Internal error.", "code": 13},
    ),
    "operation-stuck": Kind("An operation never ends.", ("cluster", "pool", "type")),
    "operation-lost": Kind("An operation cannot be read any more.", ("cluster", "pool", "type")),
    "maintenance": Kind(
        "GKE itself starts an operation on a cluster, so that other changes are refused.",
        ("cluster",),
        {"seconds": 60.0},
    ),
    "http-error": Kind(
        "Requests are answered with an HTTP error. `method` is the beginning of an API method "
        "name such as container.projects.locations.clusters.nodePools.create.",
        ("method",),
        {"code": 500, "message": ""},
    ),
    "http-slow": Kind("Requests are answered late, by real seconds.", ("method",), {"seconds": 5.0}),
    "permission-denied": Kind("A permission is missing.", ("permission",)),
    "service-disabled": Kind("An API is not enabled.", ("service",)),
}


@dataclass
class Fault:
    """One ordered fault; ``remaining`` counts the hits left, ``None`` means until cleared."""

    id: str
    kind: str
    parameters: dict[str, Any] = field(default_factory=dict)
    remaining: int | None = None
    hits: int = 0

    def applies(self, facts: Mapping[str, str]) -> bool:
        """Say whether the fault fits. What narrows it are shell patterns; ``method`` is a beginning."""
        if self.remaining == 0:
            return False
        if self["on"] not in (None, "any", facts.get("on", "any")):
            return False
        for name in KINDS[self.kind].narrows:
            wanted = self.parameters.get(name)
            if not wanted:
                continue
            pattern = wanted + "*" if name == "method" else wanted
            if not fnmatch.fnmatchcase(facts.get(name, ""), pattern):
                return False
        return True

    def __getitem__(self, name: str) -> Any:
        return self.parameters.get(name, KINDS[self.kind].shapes.get(name))


class UnknownFault(ValueError):
    """The kind or a parameter does not exist; the message lists what does."""


class Faults:
    """The faults that are on. ``state`` is JSON and restores by ``Faults(state)``."""

    def __init__(self, state: JsonList | None = None) -> None:
        self._faults: dict[str, Fault] = {item["id"]: Fault(**item) for item in state or []}
        self._serial = max((int(name.rpartition("-")[2]) for name in self._faults), default=0)
        self.listeners: list[Callable[[str], None]] = []

    def list(self) -> JsonList:
        """Return all faults as JSON objects: id, kind, parameters, remaining, hits."""
        return [asdict(fault) for fault in self._faults.values()]

    def set(self, kind: str, *, remaining: int | None = None, **parameters: Any) -> str:
        """Order a fault and return its id; raises :class:`UnknownFault`.

        Values may be text, as commands give them; they get the type of the parameter's default.
        """
        if kind not in KINDS:
            raise UnknownFault(f"no fault {kind!r}; there are {', '.join(KINDS)}")
        known = {*KINDS[kind].narrows, *KINDS[kind].shapes}
        for name in parameters:
            if name not in known:
                allowed = ", ".join(sorted(known))
                raise UnknownFault(f"fault {kind!r} has no parameter {name!r}; it takes {allowed}")
        self._serial += 1
        shapes = KINDS[kind].shapes
        typed = {name: _typed(name, value, shapes) for name, value in parameters.items()}
        fault = Fault(f"{kind}-{self._serial}", kind, typed, remaining)
        self._faults[fault.id] = fault
        self._tell(fault.id)
        return fault.id

    def clear(self, name: str = "") -> int:
        """Clear one fault by id, all of a kind by its name, or all; return how many."""
        gone = [f.id for f in self._faults.values() if name in ("", f.id, f.kind)]
        for fault_id in gone:
            del self._faults[fault_id]
            self._tell(fault_id)
        return len(gone)

    def all(self, kind: str) -> tuple[Fault, ...]:
        """Return the faults of a kind that are not used up, whatever they are narrowed to."""
        faults = self._faults.values()
        return tuple(fault for fault in faults if fault.kind == kind and fault.remaining != 0)

    def peek(self, kind: str, **facts: str) -> Fault | None:
        """Return the first fault of the kind that applies, without using it up."""
        for fault in self._faults.values():
            if fault.kind == kind and fault.applies(facts):
                return fault
        return None

    def take(self, kind: str, **facts: str) -> Fault | None:
        """Return the first fault of the kind that applies and count the hit."""
        fault = self.peek(kind, **facts)
        if fault is not None:
            fault.hits += 1
            if fault.remaining is not None:
                fault.remaining -= 1
        return fault

    def _tell(self, fault_id: str) -> None:
        for listener in list(self.listeners):
            listener(fault_id)


def _typed(name: str, value: Any, shapes: Mapping[str, Any]) -> Any:
    """Return a parameter's value in the type of its default; what narrows is text."""
    wanted = type(shapes.get(name, ""))
    if wanted is bool:
        return value is True or str(value).lower() in ("true", "yes", "1")
    try:
        return wanted(value)
    except ValueError as error:
        raise UnknownFault(f"parameter {name!r} takes a {wanted.__name__}: {error}") from error
