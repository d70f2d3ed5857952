# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts that pages are made of: marks, tables, lists, times and amounts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any

Json = Mapping[str, Any]
COLORS = 8
MINUTE, HOUR = 60, 3600
CENT = 0.01
ISO_SECONDS = len("2026-11-30T18:15:09")


def color(name: str, names: Sequence[str]) -> str:
    """Return the class of an alternative's color; one that the plan does not have is grey."""
    return f"a{names.index(name) % COLORS}" if name in names else "ax"


def mark(name: str, names: Sequence[str]) -> str:
    """Return an alternative with its color."""
    return f"<span class='mark {color(name, names)}'>{escape(name or 'nothing yet')}</span>"


def counts(numbers: Iterable[tuple[str, int]], names: Sequence[str]) -> str:
    found = "".join(
        f"<span class='mark {color(name, names)}'>{number} {escape(name or 'nothing yet')}</span>"
        for name, number in numbers
    )
    return f"<span class='counts'>{found}</span>" if found else "none"


def section(title: str, body: str, about: str = "") -> str:
    """Return a section, nothing where it has no body."""
    if not body:
        return ""
    said = f"<p>{escape(about)}</p>" if about else ""
    return f"<section><header><h2>{escape(title)}</h2>{said}</header><div>{body}</div></section>"


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, sum_row: Sequence[str] = (), listed: bool = False
) -> str:
    """Return a table, nothing without rows; a head that begins with ``#`` is of a column of numbers.

    Cells are HTML. On a phone a table that is ``listed`` becomes one entry per row.
    """
    names = [head.removeprefix("#") for head in heads]
    kinds = [" class='n'" if head.startswith("#") else "" for head in heads]

    def line(cells: Sequence[str], kind: str = "") -> str:
        inner = "".join(
            f"<td{form} data-head='{escape(name)}'><div>{cell}</div></td>"
            for cell, name, form in zip(cells, names, kinds, strict=True)
        )
        return f"<tr{kind}>{inner}</tr>"

    body = "".join(line(row) for row in rows)
    if not body:
        return ""
    if sum_row:
        body += line(sum_row, " class='sum'")
    head = "".join(f"<th{form}>{escape(name)}</th>" for name, form in zip(names, kinds, strict=True))
    kind = " class='listed'" if listed else ""
    return f"<table{kind}><tbody><tr class='head'>{head}</tr>{body}</tbody></table>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names and what they are; the latter are HTML."""
    body = "".join(f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in pairs)
    return f"<dl class='facts'>{body}</dl>" if body else ""


def code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def codes(texts: Iterable[str]) -> str:
    return "<br>".join(code(text) for text in texts)


def seconds(value: float | None) -> str:
    """Return a time as a person says it: two digits where they matter, minutes where they are many."""
    if value is None:
        return "&ndash;"
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 10:  # noqa: PLR2004 - three digits are enough
        return f"{value:.1f} s"
    if value < 2 * MINUTE:
        return f"{value:.0f} s"
    if value < 2 * HOUR:
        return f"{value / MINUTE:.0f} min"
    return f"{value / HOUR:.1f} h"


def usd(value: float | None) -> str:
    if value is None:
        return "&ndash;"
    return f"${value:.2f}" if value == 0 or value >= CENT else f"${value:.4f}"


def number(value: float | None) -> str:
    if value is None:
        return "&ndash;"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"  # noqa: PLR2004 - three digits are enough


def moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def clock(text: str | None) -> str:
    """Return the time of day of a recorded moment, in UTC as it was recorded."""
    return (text or "")[:ISO_SECONDS][11:] or "&ndash;"


def day(text: str | None) -> str:
    """Return day and minute of a recorded moment."""
    found = moment(text)
    return f"{found.day} {found:%B %Y, %H:%M} UTC" if found else ""
