# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes quantities, exactly: ``16``, ``500m``, ``23034Mi``, ``1e3``.

A quantity has a resolution of one billionth (apimachinery, ``resource.Quantity``), so an integer
number of billionths holds every value without rounding.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

Form = Literal["decimal", "binary", "exponent"]

_UNIT = 10**9
_LARGEST_EXPONENT = 100  # beyond any real amount; keeps "1e999999999" from filling the memory
_LARGEST_BINARY = (2**63 - 1) * _UNIT
_SHAPE = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(.*)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,10})", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES = {power: suffix for suffix, power in _DECIMAL.items()}


class QuantityError(ValueError):
    """A text that is no quantity."""


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An exact amount; equal and ordered by value, whatever the suffix it was written with.

    :param nanos: the amount in billionths.
    :param form: the family of suffixes it was written with, used again when it is written out.
    """

    nanos: int
    form: Form = field(default="decimal", compare=False)

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.nanos + other.nanos, self.form)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nanos - other.nanos, self.form)

    def __str__(self) -> str:
        return _canonical(self.nanos, self.form)

    @property
    def whole(self) -> int:
        """Return the amount as an integer, rounded away from zero as ``Quantity.Value()`` does."""
        amount = -(-abs(self.nanos) // _UNIT)
        return amount if self.nanos >= 0 else -amount


ZERO = Quantity(0)


def parse(value: Any) -> Quantity:
    """Return the quantity of an API value: a string, or a number as JSON and YAML also allow.

    :raises QuantityError: for what the API server refuses, a text without a digit, an exponent above 100.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise QuantityError(f"{value!r} is no quantity")
    return _parse(value if isinstance(value, str) else repr(value))


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    match = _SHAPE.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise QuantityError(f"{text!r} is no quantity, such as 12, 500m, 16Gi or 1e3")
    sign, integer, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    form, base, power = _scale(text, suffix)
    numerator, denominator = int(integer + fraction or "0") * _UNIT, 10 ** len(fraction)
    if power >= 0:
        numerator *= base**power
    else:
        denominator *= base**-power
    nanos = -(-numerator // denominator)  # up, away from zero: asking for a little gives something
    if form == "binary":
        nanos = min(nanos, _LARGEST_BINARY)
        if 0 < nanos < _UNIT:
            form = "decimal"
    return Quantity(-nanos if sign == "-" else nanos, form)


def _scale(text: str, suffix: str) -> tuple[Form, int, int]:
    if suffix in _DECIMAL:
        return "decimal", 10, _DECIMAL[suffix]
    if suffix in _BINARY:
        return "binary", 2, _BINARY[suffix]
    match = _EXPONENT.fullmatch(suffix)
    if match is None:
        raise QuantityError(f"{text!r} has the unknown suffix {suffix!r}")
    exponent = int(match[1])
    if exponent > _LARGEST_EXPONENT:
        raise QuantityError(f"{text!r} is larger than any amount of a resource")
    return "exponent", 10, max(exponent, -_LARGEST_EXPONENT)


def _canonical(nanos: int, form: Form) -> str:
    """Return the one canonical text: no fraction, the largest suffix that keeps the value exact."""
    if nanos == 0:
        return "0"
    sign, amount = ("-", -nanos) if nanos < 0 else ("", nanos)
    if form == "binary" and amount >= 1024 * _UNIT and amount % _UNIT == 0:
        whole, suffix = amount // _UNIT, ""
        for larger in _BINARY:
            if whole % 1024:
                break
            whole, suffix = whole // 1024, larger
        return f"{sign}{whole}{suffix}"
    power = -9
    while amount % 1000 == 0 and (form == "exponent" or power < max(_DECIMAL.values())):
        amount, power = amount // 1000, power + 3
    if form == "exponent":
        return f"{sign}{amount}e{power}" if power else f"{sign}{amount}"
    return f"{sign}{amount}{_DECIMAL_SUFFIXES[power]}"
