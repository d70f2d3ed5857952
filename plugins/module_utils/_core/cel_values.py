# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CEL environment of a DRA selector, built on cel-python (PyPI) where that is installed.

cel-python checks types more strictly than Go's CEL does for values of unknown type, which is what device
attributes are: there, values of different types are unequal, and numbers compare across types. The
operators here follow Go's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, total_ordering
from typing import Any

from . import quantity
from .quantity import Quantity
from .slices import Device

_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?", re.ASCII
)
# Where RE2 and Python's expressions differ: classes, flags and anchors of one that the other lacks or reads
# in another way, and what only Python has.
_RE2_ONLY = re.compile(r"\[\[:|\\[pPzQEC]|\(\?[A-Za-z]*U|\(\?[=!<#(]|\\[1-9]|\[\^?\]|\(\?-|[&~|]{2}.*\]")


class Undecidable(Exception):
    """The expression needs something that is not known here."""


class NoSuchOverload(TypeError):
    """The function or operator does not exist for these types; in Go's CEL this is a runtime error."""


@total_ordering
@dataclass(frozen=True)
class Version:
    """A semantic version 2.0.0; build metadata takes no part in comparisons."""

    numbers: tuple[int, int, int]
    prerelease: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Version:
        match = _SEMVER.fullmatch(text)
        if match is None:
            raise ValueError(f"parse semantic version: {text!r} is none")
        return cls(
            (int(match[1]), int(match[2]), int(match[3])), tuple(match[4].split(".")) if match[4] else ()
        )

    def _key(self) -> tuple[Any, ...]:
        parts = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in self.prerelease)
        return (self.numbers, not self.prerelease, parts)

    def __lt__(self, other: Version) -> bool:
        return self._key() < other._key()


@dataclass(frozen=True)
class Optional:
    """The result of ``.?name``: a value, or none."""

    present: bool
    value: Any = None


@dataclass(frozen=True)
class Runtime:
    """cel-python with the functions of a DRA selector."""

    celpy: Any
    types: Any
    functions: Mapping[str, Callable[..., Any]]
    environment: Any  # one for all expressions: making one means building the parser
    no_overload = NoSuchOverload

    @property
    def error(self) -> type[Exception]:
        return self.celpy.CELEvalError  # type: ignore[no-any-return]

    @property
    def parse_error(self) -> type[Exception]:
        return self.celpy.CELParseError  # type: ignore[no-any-return]

    def compile(self, expression: str) -> Callable[[Any], Any]:
        """Return a function from the ``device`` variable to the result."""
        parsed = self.environment.compile(expression)
        program = self.environment.program(parsed, functions=dict(self.functions))
        return lambda device: program.evaluate({"device": device})

    def device(self, driver: str, device: Device) -> Any:
        """Return the ``device`` variable: names split at the slash, unknown domains are empty maps.

        Errors: ``ValueError`` for a version that is no semantic version.
        """
        attributes: dict[str, dict[str, Any]] = {}
        for name, attribute in device.attributes.items():
            domain, _slash, key = name.partition("/")
            attributes.setdefault(domain, {})[key] = self.value(name, attribute.type, attribute.value)
        capacity: dict[str, dict[str, Any]] = {}
        for name, each in device.capacity.items():
            domain, _slash, key = name.partition("/")
            capacity.setdefault(domain, {})[key] = each.value
        return self.mapping(
            {
                "driver": self.types.StringType(driver),
                "allowMultipleAllocations": self.types.BoolType(device.allow_multiple_allocations),
                "attributes": self.domains(attributes),
                "capacity": self.domains(capacity),
            }
        )

    def value(self, name: str, kind: str, value: Any) -> Any:
        """Return an attribute's value as CEL sees it."""
        match kind:
            case "int":
                return self.types.IntType(value)
            case "bool":
                return self.types.BoolType(value)
            case "string":
                return self.types.StringType(value)
            case "version":
                try:
                    return Version.parse(value)
                except ValueError as error:
                    raise ValueError(f"attribute {name}: {error}") from error
        raise Undecidable(f"attribute {name} has the unknown type {kind}")

    def mapping(self, values: Mapping[str, Any]) -> Any:
        return self.types.MapType({self.types.StringType(key): value for key, value in values.items()})

    def domains(self, values: Mapping[str, Mapping[str, Any]]) -> Any:
        """Return a map of maps in which a domain that does not occur is an empty map."""
        empty = self.mapping({})

        class Domains(self.types.MapType):  # type: ignore[misc, name-defined]
            def __missing__(self, _key: str) -> Any:
                return empty

            def __getitem__(self, key: str) -> Any:
                return super().__getitem__(key) if key in self else empty

        return Domains({self.types.StringType(key): self.mapping(value) for key, value in values.items()})

    def truth(self, result: Any) -> bool | None:
        """Return the truth of a CEL boolean, None for a value of another type."""
        return bool(result) if isinstance(result, self.types.BoolType) else None

    @staticmethod
    def type_name(value: Any) -> str:
        return type(value).__name__.removesuffix("Type").lower()


@lru_cache(maxsize=1)
def load_runtime() -> Runtime | None:
    """Return the runtime, None where cel-python is not installed."""
    try:
        import celpy  # noqa: PLC0415 - optional, and slow to import
        from celpy import celtypes  # noqa: PLC0415
    except ImportError:
        return None
    return Runtime(celpy, celtypes, _functions(celpy, celtypes), celpy.Environment())


def _functions(celpy: Any, types: Any) -> dict[str, Callable[..., Any]]:
    numbers = (types.IntType, types.UintType, types.DoubleType)

    def boolean(function: Callable[..., bool]) -> Callable[..., Any]:
        """Return the operator with CEL's treatment of errors: an erroneous operand is the result."""

        def operator(*operands: Any) -> Any:
            for operand in operands:
                if isinstance(operand, celpy.CELEvalError):
                    return operand
            return types.BoolType(function(*operands))

        return operator

    def equal(left: Any, right: Any) -> bool:
        if isinstance(left, numbers) and isinstance(right, numbers):
            return left.real == right.real if type(left) is type(right) else float(left) == float(right)
        if isinstance(left, list) and isinstance(right, list):
            return len(left) == len(right) and all(map(equal, left, right))
        return type(left) is type(right) and bool(left == right)

    def less(left: Any, right: Any) -> bool:
        comparable = type(left) is type(right) and isinstance(
            left, (types.StringType, types.BoolType, *numbers)
        )
        if not comparable and not (isinstance(left, numbers) and isinstance(right, numbers)):
            raise NoSuchOverload
        if isinstance(left, str):
            return str(left) < str(right)
        return float(left) < float(right) if not comparable else left.real < right.real

    def contained(item: Any, container: Any) -> bool:
        if isinstance(container, types.MapType):
            return isinstance(item, types.StringType) and item in container.keys()  # noqa: SIM118 - not Domains' own
        if isinstance(container, list):
            return any(equal(item, each) for each in container)
        raise NoSuchOverload

    def on_text(function: Callable[[str, str], bool]) -> Callable[..., Any]:
        def method(value: Any, argument: Any) -> Any:
            if not isinstance(value, str) or not isinstance(argument, str):
                raise NoSuchOverload
            return types.BoolType(function(str(value), str(argument)))

        return method

    def compared(value: Any, other: Any) -> int:
        if type(value) is not type(other) or not isinstance(value, (Quantity, Version)):
            raise NoSuchOverload
        return int(value > other) - int(value < other)

    def optional_field(value: Any, name: Any) -> Optional:
        if isinstance(value, Optional):
            return optional_field(value.value, name) if value.present else value
        if not isinstance(value, types.MapType):
            raise Undecidable(f"optional selection of {name} on {type(value).__name__}")
        return Optional(present=True, value=value[name]) if name in value else Optional(present=False)

    def or_value(value: Any, default: Any) -> Any:
        if not isinstance(value, Optional):
            raise NoSuchOverload
        return value.value if value.present else default

    def has_value(value: Any) -> Any:
        if not isinstance(value, Optional):
            raise NoSuchOverload
        return types.BoolType(value.present)

    def whole(value: Any) -> Any:
        if not isinstance(value, Quantity):
            raise NoSuchOverload
        if value.nanos % 10**9:
            raise Undecidable("asInteger of a quantity with a fraction")
        return types.IntType(value.whole)

    def number(part: int) -> Callable[[Any], Any]:
        def method(value: Any) -> Any:
            if not isinstance(value, Version):
                raise NoSuchOverload
            return types.IntType(value.numbers[part])

        return method

    def sum_of(value: Any, other: Any, sign: int = 1) -> Quantity:
        if not isinstance(value, Quantity):
            raise NoSuchOverload
        if isinstance(other, types.IntType):
            other = quantity.parse(int(other))
        if not isinstance(other, Quantity):
            raise NoSuchOverload
        return value + other if sign > 0 else value - other

    return {
        "_==_": boolean(equal),
        "_!=_": boolean(lambda left, right: not equal(left, right)),
        "_<_": boolean(less),
        "_>_": boolean(lambda one, other: less(other, one)),
        "_<=_": boolean(lambda one, other: not less(other, one)),
        "_>=_": boolean(lambda left, right: not less(left, right)),
        "_in_": boolean(contained),
        "startsWith": on_text(str.startswith),
        "endsWith": on_text(str.endswith),
        "contains": on_text(str.__contains__),
        "matches": on_text(_found),
        "lowerAscii": lambda value: types.StringType(_ascii(value, str.lower)),
        "upperAscii": lambda value: types.StringType(_ascii(value, str.upper)),
        "optionalField": optional_field,
        "orValue": or_value,
        "hasValue": has_value,
        "quantity": _parsed(quantity.parse),
        "isQuantity": lambda text: types.BoolType(_is(quantity.parse, text)),
        "semver": _parsed(Version.parse),
        "isSemver": lambda text: types.BoolType(_is(Version.parse, text)),
        "compareTo": lambda value, other: types.IntType(compared(value, other)),
        "isGreaterThan": lambda value, other: types.BoolType(compared(value, other) > 0),
        "isLessThan": lambda value, other: types.BoolType(compared(value, other) < 0),
        "sign": lambda value: types.IntType(compared(value, quantity.ZERO)),
        "isInteger": lambda value: types.BoolType(value.nanos % 10**9 == 0),
        "asInteger": whole,
        "add": sum_of,
        "sub": lambda value, other: sum_of(value, other, -1),
        "major": number(0),
        "minor": number(1),
        "patch": number(2),
    }


def _found(value: str, pattern: str) -> bool:
    """Return whether the pattern occurs in the value; Kubernetes uses RE2, which is mostly Python's."""
    if _RE2_ONLY.search(pattern) or "\n" in value:
        raise Undecidable(f"regular expression {pattern!r} may mean something else outside RE2")
    try:
        return re.search(pattern, value, re.ASCII) is not None
    except re.error as error:
        raise Undecidable(f"regular expression {pattern!r}: {error}") from error


def _ascii(value: Any, change: Callable[[str], str]) -> str:
    if not isinstance(value, str):
        raise NoSuchOverload
    return "".join(change(letter) if letter.isascii() else letter for letter in value)


def _parsed(parse: Callable[[str], Any]) -> Callable[..., Any]:
    def function(text: Any, *more: Any) -> Any:
        if more:
            raise Undecidable("semver with normalisation")
        if not isinstance(text, str):
            raise NoSuchOverload
        try:
            return parse(str(text))
        except ValueError as error:
            raise Undecidable(str(error)) from error

    return function


def _is(parse: Callable[[str], Any], text: Any) -> bool:
    if not isinstance(text, str):
        raise NoSuchOverload
    try:
        parse(str(text))
    except ValueError:
        return False
    return True
