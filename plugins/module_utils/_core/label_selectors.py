# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Label selectors, as text (``app=vllm,tier in (a, b),!old``) and as the API's mapping."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .nodes import check_requirements, requirement_matches
from .objects import View

_SET = re.compile(r"(?P<key>[^\s!=<>()]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)")
_COMPARISON = re.compile(r"(?P<key>[^\s!=<>()]+)\s*(?P<operator>==|!=|=|>|<)\s*(?P<value>[^\s!=<>()]*)")
_PRESENCE = re.compile(r"(?P<absent>!?)\s*(?P<key>[^\s!=<>()]+)")
_OPERATORS = {"in": "In", "notin": "NotIn", "=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt"}


class LabelSelectorError(ValueError):
    """A label selector that cannot be read."""


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Requirements that all must hold; one without requirements matches everything."""

    requirements: tuple[Mapping[str, Any], ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with these labels is selected."""
        return all(requirement_matches(each, labels) for each in self.requirements)

    @classmethod
    def parse(cls, text: str) -> LabelSelector:
        """Return the selector of kubectl's ``-l`` syntax.

        :raises LabelSelectorError: naming the part that is not understood.
        """
        return cls(tuple(_requirement(part) for part in _parts(text)))

    @classmethod
    def from_view(cls, view: View) -> LabelSelector:
        """Return the selector of a ``metav1.LabelSelector`` field.

        :raises MalformedObjects: where a part has a type the API never gives it.
        """
        check_requirements(view, "matchExpressions")
        equal = view.string_map("matchLabels").items()
        return cls(
            (
                *({"key": key, "operator": "In", "values": [value]} for key, value in equal),
                *view.items("matchExpressions"),
            )
        )


def _parts(text: str) -> Iterator[str]:
    """Split at the commas outside parentheses."""
    for part in re.split(r",(?![^(]*\))", text) if text.strip() else ():
        yield part.strip()


def _requirement(part: str) -> Mapping[str, Any]:
    if match := _SET.fullmatch(part):
        values = [each.strip() for each in match["values"].split(",")]
        return {"key": match["key"], "operator": _OPERATORS[match["operator"]], "values": values}
    if match := _COMPARISON.fullmatch(part):
        operator = _OPERATORS[match["operator"]]
        return {"key": match["key"], "operator": operator, "values": [match["value"]]}
    if match := _PRESENCE.fullmatch(part):
        return {"key": match["key"], "operator": "DoesNotExist" if match["absent"] else "Exists"}
    raise LabelSelectorError(
        f"label selector part {part!r} is not understood; use key=value, key!=value, key, !key, "
        "key in (a, b), key notin (a, b), key>1 or key<1, separated by commas"
    )
