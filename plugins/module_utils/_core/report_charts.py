# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of the report, in HTML and SVG that scale with the page while their words keep their size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from itertools import pairwise
from typing import Any

from .report_parts import color, mark, seconds

Json = Mapping[str, Any]
PHASES = ("created", "allocated", "image_switched", "bound", "ready")
WAITS = ("waits for devices", "waits for its image", "waits for its node", "starts")
"""What a replica does between one phase and the next."""
MOST_LINES = 6
NICE = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200)
UNITS = ((3600, "h"), (60, "min"), (1, "s"))
TICKS = 6


def nice_step(most: float) -> int:
    """Return a round number of seconds that divides ``most`` into a handful of parts."""
    return next((step for step in NICE if most / step <= TICKS), NICE[-1])


# Replicas by hardware over time


def course(steps: Sequence[Json], names: Sequence[str]) -> str:
    """Return how many replicas of each alternative served over time, with the number that was asked for."""
    told = [step for step in steps if step["began"]]
    if not any(step["serving"] for step in told):
        return ""
    frame = _frame(told)
    order = [*names, *sorted({name for each in frame.states for name in each[1]} - set(names))]
    parts = [_rules(frame)]
    base = [0] * len(frame.states)
    labels = []
    for name in order:
        top = [low + state.get(name, 0) for low, (_at, state) in zip(base, frame.states, strict=True)]
        if top != base:
            parts.append(f"<path class='area {color(name, names)}' d='{_area(frame, base, top)}'/>")
            if top[-1] > base[-1]:
                labels.append(_label(name, base[-1], top[-1], frame, names))
        base = top
    parts.append(f"<path class='asked' d='{_asked(frame)}'/>")
    return (
        "<p class='legend'><span><i class='dash'></i>asked for</span></p><div class='course'>"
        "<svg viewBox='0 0 100 100' preserveAspectRatio='none' role='img'>"
        f"<title>Replicas that serve, by hardware, over time</title>{''.join(parts)}</svg>"
        f"{_axes(frame)}{''.join(labels)}</div>"
    )


def _label(name: str, low: int, high: int, frame: Frame, names: Sequence[str]) -> str:
    """Return the words at the end of a band, at half its height."""
    said = f"{high - low} {escape(name or 'nothing yet')}"
    place = f"bottom:{(low + high) / 2 / frame.most * 100:.1f}%"
    return f"<span class='end mark {color(name, names)}' style='{place}' title='{said}'>{said}</span>"


@dataclass(frozen=True)
class Frame:
    """The picture's frame: its time and its highest number.

    :param asked: from when on how many replicas were asked for.
    :param states: from when on how many served, by alternative.
    """

    begin: datetime
    seconds: float
    most: int
    asked: tuple[tuple[datetime, int], ...]
    states: tuple[tuple[datetime, Mapping[str, int]], ...]

    def x(self, at: datetime) -> float:
        return min(100.0, max(0.0, (at - self.begin).total_seconds() / self.seconds * 100))

    def y(self, number: int) -> float:
        return 100 - number / self.most * 100


def _frame(steps: Sequence[Json]) -> Frame:
    asked = tuple((_at(step["began"]), int(step["replicas"])) for step in steps)
    begin = asked[0][0]
    states: list[tuple[datetime, Mapping[str, int]]] = [(begin, {})]
    for step in steps:
        states += [(_at(each["at"]), each["alternatives"]) for each in step["serving"]]
    length = (_at(steps[-1]["at"]) - begin).total_seconds()
    most = max([number for _unused, number in asked] + [sum(state.values()) for _unused, state in states])
    return Frame(begin, max(length, 1.0), max(most, 1), asked, tuple(states))


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _area(frame: Frame, base: Sequence[int], top: Sequence[int]) -> str:
    places = [frame.x(at) for at, _unused in frame.states] + [100.0]
    forth = _stairs(places, [frame.y(each) for each in top])
    back = reversed(_stairs(places, [frame.y(each) for each in base]))
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in (*forth, *back)) + "Z"


def _stairs(places: Sequence[float], heights: Sequence[float]) -> list[tuple[float, float]]:
    return [
        point
        for (left, right), height in zip(pairwise(places), heights, strict=True)
        for point in ((left, height), (right, height))
    ]


def _asked(frame: Frame) -> str:
    places = [frame.x(at) for at, _unused in frame.asked] + [100.0]
    points = _stairs(places, [frame.y(number) for _unused, number in frame.asked])
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in points)


def _lines(frame: Frame) -> range:
    return range(0, frame.most + 1, max(1, -(-frame.most // MOST_LINES)))


def _rules(frame: Frame) -> str:
    return "".join(f"<path class='rule' d='M0 {frame.y(number):.2f}H100'/>" for number in _lines(frame))


def _axes(frame: Frame) -> str:
    numbers = "".join(
        f"<span class='y' style='bottom:{number / frame.most * 100:.1f}%'>{number}</span>"
        for number in _lines(frame)
    )
    step = nice_step(frame.seconds)
    times = "".join(_time(at, step, frame) for at in range(0, int(frame.seconds) + 1, step))
    return numbers + times


def _time(at: int, step: int, frame: Frame) -> str:
    place = f"left:{at / frame.seconds * 100:.1f}%"
    return f"<span class='x{'' if at else ' first'}' style='{place}'>{_tick(at, step)}</span>"


def _tick(at: int, step: int) -> str:
    """Return a time on a scale, in the unit that the whole scale has."""
    if not at:
        return "0"
    size, unit = next((size, unit) for size, unit in UNITS if step >= size)
    return f"{at // size} {unit}"


# Each replica's way to serving


def lanes(replicas: Sequence[Json], names: Sequence[str]) -> str:
    """Return a bar per replica from its creation: how long it waited for each of the steps to serving."""
    seen = [(replica, _reached(replica["phases"])) for replica in replicas]
    seen = [(replica, reached) for replica, reached in seen if "created" in reached]
    if not seen:
        return ""
    most = max((max(found.values()) - found["created"]).total_seconds() for _unused, found in seen)
    most = max(most, 1.0)
    rows = "".join(_lane(replica, found, most, names) for replica, found in seen)
    keys = "".join(f"<span><i class='o{number}'></i>{word}</span>" for number, word in enumerate(WAITS))
    step = nice_step(most)
    ticks = "".join(
        f"<span style='left:{at / most * 100:.1f}%'>{_tick(at, step)}</span>"
        for at in range(0, int(most) + 1, step)
    )
    scale = f"<div class='lane'><span></span><div class='scale'>{ticks}</div><span></span></div>"
    return f"<p class='legend'>{keys}</p><div class='lanes'>{rows}{scale}</div>"


def _lane(replica: Json, reached: Mapping[str, datetime], most: float, names: Sequence[str]) -> str:
    begin = reached["created"]
    bars = []
    known = [name for name in PHASES if name in reached]
    for start, end in pairwise(known):
        left = (reached[start] - begin).total_seconds() / most * 100
        took = (reached[end] - reached[start]).total_seconds()
        number = PHASES.index(end) - 1
        if took > 0:
            bars.append(
                f"<i class='o{number}' style='left:{left:.2f}%;width:{took / most * 100:.2f}%' "
                f"title='{WAITS[number]}: {took:.0f} s'></i>"
            )
    whole = (reached["ready"] - begin).total_seconds() if "ready" in reached else None
    pod = replica["pod"]
    return (
        f"<div class='lane {color(replica['alternative'], names)}'>"
        f"<span class='who' title='{escape(pod)}'>{mark(replica['alternative'], names)} "
        f"<span class='soft'>{escape(pod.rpartition('-')[2])}</span></span>"
        f"<div class='track'>{''.join(bars)}</div>"
        f"<span class='took'>{seconds(whole) if whole is not None else 'not ready'}</span></div>"
    )


def _reached(phases: Mapping[str, str | None]) -> dict[str, datetime]:
    return {name: _at(text) for name, text in phases.items() if text}


# Hardware beside hardware


@dataclass(frozen=True)
class Bar:
    """One value of one alternative; ``farther`` is where a thin line goes on to."""

    name: str
    value: float | None
    shown: str
    farther: float | None = None


def panel(title: str, bars: Sequence[Bar], names: Sequence[str]) -> str:
    """Return the bars of one quantity, one per alternative; nothing where no value is known."""
    known = [max(each.value, each.farther or 0) for each in bars if each.value is not None]
    most = max(known, default=0.0)
    if not known:
        return ""
    rows = "".join(
        f"{mark(each.name, names)}<div class='room {color(each.name, names)}'>{_stroke(each, most)}</div>"
        f"<span class='value'>{each.shown}</span>"
        for each in bars
    )
    return f"<div><h3>{escape(title)}</h3><div class='bars'>{rows}</div></div>"


def _stroke(drawn: Bar, most: float) -> str:
    if drawn.value is None or not most:
        return ""
    width = drawn.value / most * 100
    line = ""
    if drawn.farther and drawn.farther > drawn.value:
        line = f"<u style='left:{width:.1f}%;width:{(drawn.farther - drawn.value) / most * 100:.1f}%'></u>"
    return f"<i style='width:{width:.1f}%'></i>{line}"
