# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CEL selectors of DeviceClasses and requests, judged for one device.

The expressions are evaluated by PyPI's cel-python; this file alone knows it, and imports it when the first
expression that needs it comes along. What that library or this file does not know is said to be
undecidable, never guessed. The environment is the one kube-scheduler 1.36 gives a selector
(k8s.io/dynamic-resource-allocation/cel): ``device.driver``, ``device.attributes``, ``device.capacity``,
``device.allowMultipleAllocations``, Kubernetes' quantity and semver libraries, optional field selection.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from .cel_values import Runtime, Undecidable, load_runtime
from .slices import Device

Outcome = Literal["match", "no match", "error", "cannot judge"]


class Judgement(NamedTuple):
    """What a selector says about a device.

    ``error`` is what the scheduler would stop at, in its words (``no such key: rdma``); ``cannot judge`` says
    in ``text`` what is missing here.
    """

    outcome: Outcome
    text: str = ""


MATCH = Judgement("match")
NO_MATCH = Judgement("no match")

# Selectors that begin by naming the driver are decided for every other driver without evaluating the rest,
# because "false && anything" is false in CEL, errors included. "||" and "?" bind weaker and must not occur.
_DRIVER_FIRST = re.compile(
    r"""\s*device\.driver\s*==\s*(?P<quote>["'])(?P<driver>[A-Za-z0-9.-]+)(?P=quote)\s*(?P<rest>&&[^|?]*)?""",
    re.DOTALL,
)
_TEXT = r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
_OPTIONAL_FIELD = re.compile(_TEXT + r"|\.\?\s*([A-Za-z_]\w*)")
_TOKEN = re.compile(_TEXT + r"|[\[\](){},]")
_REFERENCE = re.compile(
    r"""device\.(?:driver|allowMultipleAllocations)\b
        |device\.(?P<map>attributes|capacity)\[(?P<q>["'])(?P<domain>[^"'\\]*)(?P=q)\]
         (?:\.\??\s*(?P<field>[A-Za-z_]\w*)(?!\w*\()|\[(?P<q2>["'])(?P<key>[^"'\\]*)(?P=q2)\])""",
    re.VERBOSE,
)


class Selectors:
    """Judges selectors, remembering what it already judged about devices that look the same."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Judgement] = {}

    def judge(self, expression: str, driver: str, device: Device) -> Judgement:
        """Return what ``expression`` says about a device that ``driver`` publishes."""
        first = _DRIVER_FIRST.fullmatch(expression)
        if first is not None:
            if first["driver"] != driver:
                return NO_MATCH
            if first["rest"] is None:
                return MATCH
        lists = [name for name, value in device.attributes.items() if isinstance(value.value, tuple)]
        if lists:
            return Judgement(
                "cannot judge", f"attribute {lists[0]} is a list (DRAListTypeAttributes is alpha in 1.36)"
            )
        key = (expression, driver, device.allow_multiple_allocations, *_looked_at(expression, device))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _evaluate(expression, driver, device)
        return known


def _looked_at(expression: str, device: Device) -> tuple[Any, ...]:
    """Return the values of a device that the expression can depend on."""
    names = _references(expression)
    if names is None:
        capacity = tuple((name, each.value) for name, each in sorted(device.capacity.items()))
        return (tuple(sorted(device.attributes.items())), capacity)
    attributes, capacities = names
    return (
        tuple(device.attributes.get(name) for name in attributes),
        tuple(device.capacity[name].value if name in device.capacity else None for name in capacities),
    )


@lru_cache(maxsize=1024)
def _references(expression: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the attributes and capacities an expression names, None where it may look at any."""
    found = list(_REFERENCE.finditer(expression))
    if len(found) != len(re.findall(r"\bdevice\b", expression)):
        return None
    names: dict[str, list[str]] = {"attributes": [], "capacity": []}
    for each in found:
        if each["map"]:
            names[each["map"]].append(f"{each['domain']}/{each['field'] or each['key']}")
    return tuple(names["attributes"]), tuple(names["capacity"])


def _evaluate(expression: str, driver: str, device: Device) -> Judgement:
    program = _compile(expression)
    if isinstance(program, Judgement):
        return program
    runtime, run = program
    try:
        variables = runtime.device(driver, device)
        result = run(variables)
    except Undecidable as missing:
        return Judgement("cannot judge", str(missing))
    except ValueError as error:
        return Judgement("error", str(error))
    except runtime.error as error:
        return _failure(error)
    truth = runtime.truth(result)
    if truth is None:
        return Judgement(
            "error", f"CEL result of type {runtime.type_name(result)} could not be converted to bool"
        )
    return MATCH if truth else NO_MATCH


@lru_cache(maxsize=1024)
def _compile(expression: str) -> tuple[Runtime, Callable[[Any], Any]] | Judgement:
    runtime = load_runtime()
    if runtime is None:
        return Judgement("cannot judge", "cel-python is not installed (pip install cel-python)")
    text = _OPTIONAL_FIELD.sub(
        lambda found: found[1] or f'.optionalField("{found[2]}")', _without_bind(expression)
    )
    try:
        return runtime, runtime.compile(text)
    except runtime.parse_error:
        return Judgement("cannot judge", f"cel-python cannot parse the selector {expression!r}")


def _without_bind(expression: str) -> str:
    """Return the expression with ``cel.bind(a, value, body)`` written as ``[value].map(a, body)[0]``."""
    start = expression.find("cel.bind(")
    if start < 0:
        return expression
    opened = start + len("cel.bind")
    arguments, end = _arguments(expression, opened)
    if len(arguments) != 3:  # noqa: PLR2004 - name, value, body
        return expression
    name, value, body = arguments
    rest = _without_bind(expression[end:])
    return f"{expression[:start]}[{_without_bind(value)}].map({name.strip()}, {_without_bind(body)})[0]{rest}"


def _arguments(expression: str, opened: int) -> tuple[list[str], int]:
    """Return the arguments of the call whose bracket opens at ``opened``, and where it ends."""
    arguments, depth, begin = [], 0, opened + 1
    for token in _TOKEN.finditer(expression, opened):
        sign = token.group()
        depth += (sign in "([{") - (sign in ")]}") if len(sign) == 1 else 0
        if depth == 0 or (depth == 1 and sign == ","):
            arguments.append(expression[begin : token.start()])
            begin = token.end()
        if depth == 0:
            return arguments, token.end()
    return [], len(expression)


def _failure(error: Exception) -> Judgement:
    """Return the judgement for an evaluation error: the scheduler's own, or a gap in the library."""
    text, cause, details = (*error.args, None, None, None)[:3]
    if isinstance(cause, type) and issubclass(cause, Runtime.no_overload):
        return Judgement("error", "no such overload")
    if cause is KeyError and not str(text).startswith("undeclared reference"):
        key = str(text).rpartition(": ")[2] if "mapping" in str(text) else str((details or ("?",))[0])
        return Judgement("error", f"no such key: {key.strip(chr(39))}")
    return Judgement("cannot judge", str(text).partition(" (in activation")[0])
