# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One table per Google resource says how an option is spelled in the API message, both ways.

Options are what a user writes (``autoscaling.max_nodes``), a message is the JSON form of the API object
(``{"autoscaling": {"maxNodeCount": 2}}``). The same table builds the message, reads it back, and so
lets live and wanted be compared in the user's own words. Absent in a message means zero, as in proto3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

Options = Mapping[str, Any]
Message = dict[str, Any]
Kind = Literal["text", "number", "switch", "enum", "seconds", "map", "set", "taints", "entries", "resource"]

TAINT_EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One option and its place in the API message.

    :param option: dotted name of the option.
    :param path: dotted JSON path in the message; a number is an index into a list.
    :param concern: the group of fields that one update call changes; empty when the API cannot change it.
    :param kind: how the value is spelled and compared (``resource``: a name, or a path that ends in it).
    :param words: for ``enum``, the option's words and the API's names; for ``entries``, the keys.
    :param absent: for ``enum``, what it means that the message does not have the field.
    :param merges: for ``set``, whether the list names members to have (others stay) or the whole list.
    :param since: first release of the client library that knows the field; empty for the oldest supported.
    """

    option: str
    path: str
    concern: str = ""
    kind: Kind = "text"
    words: Mapping[Any, str] = field(default_factory=dict)
    absent: Any = ""
    merges: bool = False
    since: str = ""

    def spell(self, value: Any) -> Any:
        """Return the value as the API writes it."""
        return _SPELLING[self.kind](self, value) if self.kind in _SPELLING else value

    def understand(self, value: Any) -> Any:
        """Return the option's value for what the API wrote (``None``: the field is absent).

        Numbers may come as text (int64 in JSON), enums in the API's names. A name this release does not
        know is kept as it is.
        """
        return _READING[self.kind](self, value)


def _spelled(keys: Mapping[str, str], entry: Options) -> Message:
    message: Message = {}
    for option, path in keys.items():
        if entry.get(option) is not None:
            put(message, path, entry[option])
    return message


def _understood(keys: Mapping[str, str], entry: Mapping[str, Any]) -> dict[str, Any]:
    values = {option: take(entry, path) for option, path in keys.items()}
    return {
        option: int(value) if str(value).isdigit() else value
        for option, value in values.items()
        if value is not None
    }


def _taints(taints: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    known = {name: word for word, name in TAINT_EFFECTS.items()}
    return [
        {
            "key": taint["key"],
            "value": taint.get("value") or "",
            "effect": known.get(taint["effect"], taint["effect"]),
        }
        for taint in taints
    ]


def _word(each: Field, value: Any) -> Any:
    known = {name: word for word, name in each.words.items()}
    return known.get(value, value) if value else each.absent


_SPELLING: dict[Kind, Callable[[Field, Any], Any]] = {
    "enum": lambda each, value: each.words[value],
    "seconds": lambda _each, value: f"{value}s",
    "taints": lambda _each, value: [
        {**taint, "effect": TAINT_EFFECTS.get(taint["effect"], taint["effect"])} for taint in value
    ],
    "entries": lambda each, value: [_spelled(each.words, entry) for entry in value],
    "set": lambda _each, value: sorted(value),
    "map": lambda _each, value: dict(value),
}

_READING: dict[Kind, Callable[[Field, Any], Any]] = {
    "text": lambda _each, value: value or "",
    "resource": lambda _each, value: value or "",
    "number": lambda _each, value: int(value or 0),
    "switch": lambda _each, value: bool(value),
    "enum": _word,
    "seconds": lambda _each, value: int(float(str(value or "0").removesuffix("s"))),
    "taints": lambda _each, value: _taints(value or ()),
    "entries": lambda each, value: [_understood(each.words, entry) for entry in value or ()],
    "set": lambda _each, value: sorted(value or ()),
    "map": lambda _each, value: dict(value or {}),
}


def put(message: Message, path: str, value: Any) -> None:
    """Set the value at a dotted path, making the objects and lists on the way."""
    names = path.split(".")
    place: Any = message
    for name, following in pairwise(names):
        empty: Any = [] if following.isdigit() else {}
        if not name.isdigit():
            place = place.setdefault(name, empty)
        elif place:
            place = place[int(name)]
        else:
            place.append(empty)
            place = empty
    place[names[-1]] = value


def take(message: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path, ``None`` where any part of it is missing."""
    place: Any = message
    for name in path.split("."):
        if isinstance(place, Sequence) and name.isdigit():
            place = place[int(name)] if int(name) < len(place) else None
        elif isinstance(place, Mapping):
            place = place.get(name)
        else:
            return None
    return place


def to_message(fields: Iterable[Field], options: Options) -> Message:
    """Return the API message for the stated options; an option that is ``None`` is not stated."""
    message: Message = {}
    for each in fields:
        value = take(options, each.option)
        if value is not None:
            put(message, each.path, each.spell(value))
    return message


def to_options(fields: Iterable[Field], message: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option of the table as the message has it."""
    options: dict[str, Any] = {}
    for each in fields:
        put(options, each.option, each.understand(take(message, each.path)))
    return options


def stated(fields: Iterable[Field], options: Options) -> dict[str, Any]:
    """Return the options of the table that the user gave a value, nested as they were."""
    result: dict[str, Any] = {}
    for each in fields:
        value = take(options, each.option)
        if value is not None:
            put(result, each.option, value)
    return result


def merged(each: Field, live: Any, wanted: Any) -> Any:
    """Return what a full-replacement field must be set to so that nothing unnamed gets lost."""
    if wanted is None or live is None:
        return live if wanted is None else wanted
    if each.kind == "map":
        return {**live, **wanted}
    if each.kind == "taints":
        named = {(taint["key"], taint["effect"]) for taint in wanted}
        kept = [taint for taint in live if (taint["key"], taint["effect"]) not in named]
        return [*kept, *_taints(wanted)]
    if each.kind == "set":
        return sorted({*live, *wanted}) if each.merges else sorted(wanted)
    return wanted


def without(each: Field, value: Any, removals: Iterable[str]) -> Any:
    """Return a map, set or list of taints less the keys the user asked to remove."""
    gone = set(removals)
    if each.kind == "map":
        return {key: kept for key, kept in value.items() if key not in gone}
    if each.kind == "taints":
        return [taint for taint in value if taint["key"] not in gone]
    return [member for member in value if member not in gone]
