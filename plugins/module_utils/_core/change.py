# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to change, decided once: the same values answer "changed", the diff, check mode and messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal

from .fields import Field, Message, Options, merged, put, take, without

Action = Literal["create", "update", "delete"]


class InvalidOptions(ValueError):
    """Options that Google would refuse, refused before any call.

    :param subject: the object they describe.
    :param problems: one sentence per problem.
    """

    def __init__(self, subject: str, problems: Iterable[str]) -> None:
        self.subject = subject
        self.problems = tuple(problems)
        super().__init__(f"{subject}: " + "; ".join(self.problems))


class NeedsRecreation(ValueError):
    """The API cannot make these changes in place, and recreation was not allowed."""

    def __init__(self, subject: str, changes: tuple[Change, ...], consequence: str) -> None:
        self.subject = subject
        self.changes = changes
        listed = ", ".join(change.sentence() for change in changes)
        super().__init__(f"{subject}: cannot be changed in place: {listed}; {consequence}")


@dataclass(frozen=True, slots=True)
class Change:
    """One option that differs, in the user's words: the value it has and the value it gets."""

    option: str
    before: Any
    after: Any

    def sentence(self) -> str:
        return f"{self.option} from {_shown(self.before)} to {_shown(self.after)}"


@dataclass(frozen=True, slots=True)
class Step:
    """One call that changes one concern of one object.

    :param action: ``create``, ``update`` or ``delete``.
    :param subject: the object, ``NodePool demo/gpu-pool``.
    :param call: the method of the API.
    :param request: the JSON body, without the object's own name.
    :param changes: the options it changes; empty for a deletion.
    :param effect: what happens to running nodes; empty for nothing.
    """

    action: Action
    subject: str
    call: str
    request: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    effect: str = ""

    @property
    def name(self) -> str:
        """Return the object's own name: the last word of ``NodePool demo/gpu-pool``."""
        return self.subject.replace("/", " ").split()[-1]

    def sentence(self) -> str:
        """Return the step as a line for a person."""
        if self.action != "update" or not self.changes:
            return f"{self.action} {self.subject}"
        listed = ", ".join(change.sentence() for change in self.changes)
        return f"update {self.subject}: {listed}" + (f" ({self.effect})" if self.effect else "")


@dataclass(frozen=True, slots=True)
class Plan:
    """The ordered steps from the live object to the wanted one.

    :param before: the options the plan touches, as they are; empty when the object is absent.
    :param after: the same options as they will be; empty when the object will be absent.
    :param recreation: changes that only recreation can make.
    :param consequence: what recreation costs.
    :param notes: what is worth knowing and needs no change.
    """

    subject: str
    steps: tuple[Step, ...] = ()
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    recreation: tuple[Change, ...] = ()
    consequence: str = ""
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.steps)

    @property
    def actions(self) -> list[str]:
        return [step.sentence() for step in self.steps]

    def require_in_place(self) -> None:
        """Raise NeedsRecreation where the plan is incomplete without recreation."""
        if self.recreation:
            raise NeedsRecreation(self.subject, self.recreation, self.consequence)


def differences(
    fields: Iterable[Field], wanted: Options, live: Options, removals: Mapping[str, Iterable[str]]
) -> list[tuple[Field, Change]]:
    """Return every stated option whose live value differs, with the value to set.

    Maps, taints and merging sets ask for members, so members nobody named are no difference and stay;
    ``removals`` names the members to take away, per option. An empty list states nothing: a pool cannot
    have no zone.
    """
    found = []
    for each in fields:
        was, want = take(live, each.option), take(wanted, each.option)
        gone = tuple(removals.get(each.option) or ())
        nothing_listed = want == [] and each.kind in ("set", "entries")
        if (want is None or nothing_listed) and not gone:
            continue
        will = merged(each, was, want)
        if gone:
            will = without(each, will, gone)
        if _comparable(each, was) != _comparable(each, will):
            found.append((each, Change(each.option, was, will)))
    return found


@dataclass(frozen=True, slots=True)
class Concern:
    """A group of options that one update call changes.

    :param name: what the fields of the group name as their ``concern``.
    :param call: the method of the API.
    :param parts: for each path in the request, the path in the object's message it is taken from.
    :param whole: whether the call replaces a message as a whole, so that what is there is sent again.
    :param effect: what happens to running nodes; empty for nothing.
    :param finish: a last touch to the request.
    """

    name: str
    call: str
    parts: Mapping[str, str]
    whole: bool = False
    effect: str = ""
    finish: Callable[[Message], Message] = lambda request: request

    def request(self, live: Mapping[str, Any], found: Iterable[tuple[Field, Change]]) -> Message:
        """Return the body of the call that makes the changes."""
        target: Message = deepcopy(dict(live)) if self.whole else {}
        for each, change in found:
            put(target, each.path, each.spell(change.after))
        body: Message = {}
        for place, path in self.parts.items():
            value = take(target, path)
            if value is not None:
                put(body, place, value)
        return self.finish(body)


def updates(
    subject: str,
    concerns: Iterable[Concern],
    live: Mapping[str, Any],
    found: Iterable[tuple[Field, Change]],
) -> tuple[Step, ...]:
    """Return one update step per concern that has a change, in the order of the concerns."""
    pairs = tuple(found)
    steps = []
    for concern in concerns:
        group = [(each, change) for each, change in pairs if each.concern == concern.name]
        if group:
            changes = tuple(change for _each, change in group)
            request = concern.request(live, group)
            steps.append(Step("update", subject, concern.call, request, changes, concern.effect))
    return tuple(steps)


def _comparable(each: Field, value: Any) -> Any:
    if each.kind == "taints":
        return sorted((taint["key"], taint["effect"], taint["value"]) for taint in value)
    if each.kind == "set":
        return sorted(value)
    if each.kind == "resource":
        return value.rpartition("/")[2]
    return value


def by_option(changes: Iterable[Change], side: Literal["before", "after"]) -> dict[str, Any]:
    """Return one side of the changes, nested as the options are, for a diff."""
    result: dict[str, Any] = {}
    for change in changes:
        put(result, change.option, getattr(change, side))
    return result


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}={value[key]}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_shown(member) for member in value) + "]"
    if value is None or value == "":
        return "nothing"
    return str(value)
