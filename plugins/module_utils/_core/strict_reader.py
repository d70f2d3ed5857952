# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields taken out of a user's mapping one by one; what does not fit becomes a problem with its place.

Reading is strict: an unknown key is a typo, not an extension. Numbers may arrive as text, because that
is what ``-e`` on a command line makes of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in the list: which entry, which field, what stands there, what is needed."""

    entry: str
    field: str
    observed: str
    expected: str

    def sentence(self) -> str:
        place = ".".join(part for part in (self.entry, self.field) if part)
        return f"{place}: found {self.observed}; {self.expected}"


class InputError(ValueError):
    """The input cannot be used; ``problems`` has every reason, in the order of the input."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(problem.sentence() for problem in self.problems))


class Reader:
    """Takes fields out of one mapping; what does not fit becomes a problem, not an exception."""

    def __init__(self, entry: str, value: Any, problems: list[Problem], prefix: str = "") -> None:
        self.entry = entry
        self.prefix = prefix
        self.problems = problems
        self.rest: dict[str, Any] = {}
        if isinstance(value, Mapping):
            self.rest = {str(key): item for key, item in value.items()}
        else:
            self.complain("", value, "a mapping is needed")

    def complain(self, name: str, observed: Any, expected: str) -> None:
        """Record a problem with the field ``name``."""
        path = ".".join(part for part in (self.prefix, name) if part)
        shown = "nothing" if observed is MISSING or observed is None else repr(observed)
        self.problems.append(Problem(self.entry, path, shown, expected))

    def take(self, name: str) -> Any:
        value = self.rest.pop(name, MISSING)
        return MISSING if value is None else value

    def text(self, name: str, pattern: re.Pattern[str], expected: str, default: str | None = None) -> str:
        """Return the text at ``name``; without a default it is required."""
        value = self.take(name)
        if value is MISSING and default is not None:
            return default
        if not isinstance(value, str) or not pattern.fullmatch(value):
            self.complain(name, value, expected)
            return ""
        return value

    def number(self, name: str, low: int, high: int, default: int | None = None) -> int:
        """Return the whole number at ``name``, given as a number or as digits."""
        value = self.take(name)
        if value is MISSING and default is not None:
            return default
        if isinstance(value, str) and value.strip().isdecimal():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.complain(name, value, f"a whole number from {low} to {high} is needed")
            return low
        return value

    def boolean(self, name: str, *, default: bool) -> bool:
        value = self.take(name)
        if value is MISSING:
            return default
        if isinstance(value, str) and value.lower() in {"true", "yes", "false", "no"}:
            return value.lower() in {"true", "yes"}
        if not isinstance(value, bool):
            self.complain(name, value, "true or false is needed")
            return default
        return value

    def labels(self, name: str) -> dict[str, str]:
        """Return a map of labels; values that YAML read as numbers or booleans are refused by name."""
        value = self.take(name)
        if value is MISSING:
            return {}
        if not isinstance(value, Mapping):
            self.complain(name, value, "a mapping of label names to text is needed")
            return {}
        for key, item in value.items():
            if not isinstance(item, str):
                self.complain(f"{name}.{key}", item, 'text is needed; write it in quotes, as in "true"')
        return {str(key): str(item) for key, item in value.items()}

    def items(self, name: str) -> tuple[Any, ...]:
        value = self.take(name)
        if value is MISSING:
            return ()
        if isinstance(value, str) or not isinstance(value, Sequence):
            self.complain(name, value, "a list is needed")
            return ()
        return tuple(value)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.items(name)
        for index, item in enumerate(value):
            if not isinstance(item, str) or not item.strip():
                self.complain(f"{name}[{index}]", item, "text that is not empty is needed")
        return tuple(str(item) for item in value)

    def nested(self, name: str) -> Reader | None:
        value = self.take(name)
        if value is MISSING:
            return None
        return Reader(self.entry, value, self.problems, ".".join(filter(None, (self.prefix, name))))

    def close(self, known: str) -> None:
        """Complain about every key that was not taken."""
        for name, value in self.rest.items():
            self.complain(name, value, f"unknown field; known are {known}")
