# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults that can be ordered: which there are, which are on, and whom they hit."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .errors import LabError


@dataclass(frozen=True)
class Kind:
    """One kind of fault.

    :param narrows: the facts it may be limited by (``pool``, ``node``, ``driver`` ...), as shell
        patterns (a ``method`` by its beginning); what is not given hits all.
    :param shapes: further parameters with their defaults, and with them their types.
    """

    name: str
    sentence: str
    narrows: tuple[str, ...] = ()
    shapes: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Fault:
    """One fault that is on; ``remaining`` counts the hits left, ``None`` means until it is cleared."""

    id: str
    kind: str
    parameters: dict[str, Any]
    remaining: int | None = None
    hits: int = 0

    def __getitem__(self, name: str) -> Any:
        return self.parameters[name]


Listener = Callable[[Fault, bool], None]


class Faults:
    """The faults that are on; every change is told to listeners as (fault, is on).

    :param kept: what ``list()`` of an earlier process returned; nobody is told of these again.
    """

    def __init__(self, kept: Iterable[Mapping[str, Any]] = ()) -> None:
        self.kinds: dict[str, Kind] = {}
        self._active: dict[str, Fault] = {each["id"]: Fault(**each) for each in kept}
        self._serial = max((int(name.rpartition("-")[2]) for name in self._active), default=0)
        self._listeners: list[Listener] = []

    def offer(self, *kinds: Kind) -> None:
        """Make kinds of fault known."""
        self.kinds.update((kind.name, kind) for kind in kinds)

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def list(self) -> list[dict[str, Any]]:
        """Return what is on, as JSON objects: id, kind, parameters, remaining, hits."""
        return [asdict(fault) for fault in self._active.values()]

    def set(self, kind: str, *, remaining: int | str | None = None, **parameters: Any) -> str:
        """Switch a fault on and return its id.

        :param remaining: how many hits until it is off by itself.

        :raises LabError: for a kind or a parameter that does not exist, a wrong type, or where
            somebody who hears of it cannot carry it out; then it is off.
        """
        known = self.kinds.get(kind)
        if known is None:
            names = ", ".join(sorted(self.kinds))
            raise LabError(f"set a fault: there is no kind {kind!r}; choose one of {names}")
        unknown = sorted(parameters.keys() - {*known.narrows, *known.shapes})
        if unknown:
            possible = ", ".join([*known.narrows, *known.shapes]) or "no parameter at all"
            raise LabError(f"set fault {kind}: unknown parameter {', '.join(unknown)}; it takes {possible}")
        narrowed = {name: str(parameters[name]) for name in known.narrows if parameters.get(name)}
        shaped = {
            name: typed(kind, name, parameters.get(name, default), default)
            for name, default in known.shapes.items()
        }
        self._serial += 1
        hits = None if remaining is None else typed(kind, "remaining", remaining, 0)
        fault = Fault(f"{kind}-{self._serial}", kind, narrowed | shaped, hits)
        self._active[fault.id] = fault
        try:
            self._tell(fault, on=True)
        except LabError:
            del self._active[fault.id]
            raise
        return fault.id

    def clear(self, name: str = "") -> int:
        """Clear one fault by id, all of a kind by its name, or all; return how many."""
        gone = [fault for fault in self._active.values() if name in ("", fault.id, fault.kind)]
        for fault in gone:
            del self._active[fault.id]
            self._tell(fault, on=False)
        return len(gone)

    def that_hit(self, kind: str, **facts: str) -> Iterator[Fault]:
        """Yield the faults of a kind that hit what the facts describe, without using them up."""
        for fault in list(self._active.values()):
            if fault.kind == kind and fault.remaining != 0 and self._fits(fault, facts):
                yield fault

    def peek(self, kind: str, **facts: str) -> Fault | None:
        """Return the first fault of a kind that hits what the facts describe, without using it up."""
        return next(self.that_hit(kind, **facts), None)

    def take(self, kind: str, **facts: str) -> Fault | None:
        """Return the first fault of a kind that hits, and count the hit."""
        fault = self.peek(kind, **facts)
        if fault is not None:
            fault.hits += 1
            if fault.remaining is not None:
                fault.remaining -= 1
        return fault

    def _fits(self, fault: Fault, facts: Mapping[str, str]) -> bool:
        return all(
            fnmatch.fnmatchcase(facts.get(name, ""), pattern_of(name, fault.parameters[name]))
            for name in self.kinds[fault.kind].narrows
            if name in fault.parameters
        )

    def _tell(self, fault: Fault, *, on: bool) -> None:
        for listener in self._listeners:
            listener(fault, on)


def pattern_of(name: str, given: str) -> str:
    return f"{given}*" if name == "method" else given


def typed(kind: str, name: str, value: Any, default: Any) -> Any:
    """Return a parameter in the type of its default; text is converted, as commands give text."""
    wanted = type(default)
    if wanted is bool and isinstance(value, str):
        if value.lower() in ("true", "false"):
            return value.lower() == "true"
    elif wanted in (int, float) and isinstance(value, (str, int, float)):
        try:
            return wanted(value)
        except ValueError:
            pass
    elif isinstance(value, wanted):
        return value
    raise LabError(f"set fault {kind}: {name} is {value!r}, expected {wanted.__name__}")
