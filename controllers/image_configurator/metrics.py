# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters of the controller, in Prometheus' text form."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping

PREFIX = "image_configurator_"
BUCKETS_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
HELP = {
    "allocations_total": "Allocations of the gating device seen",
    "images_switched_total": "Pods whose images were switched",
    "failures_total": "Claims refused, by reason",
    "retries_total": "Writes that failed and were put off",
    "allocation_to_condition_seconds": "From an allocation seen to its condition written",
    "leader": "1 while this replica leads",
    "slice_published": "1 while the gating slice is known to be right",
    "claims": "Gated claims held in memory",
    "pods": "Unbound pods held in memory",
    "queue": "Claims waiting to be looked at or being worked on",
    "build_info": "Version of the controller",
}
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Numbers that many threads add to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: defaultdict[tuple[str, Labels], float] = defaultdict(float)
        self._buckets = [0] * (len(BUCKETS_SECONDS) + 1)
        self._seconds = 0.0

    def count(self, name: str, **labels: str) -> None:
        with self._lock:
            self._counters[name, tuple(sorted(labels.items()))] += 1

    def observe(self, seconds: float) -> None:
        """Record the time from an allocation to its condition."""
        place = sum(seconds > bound for bound in BUCKETS_SECONDS)
        with self._lock:
            self._buckets[place] += 1
            self._seconds += seconds

    def render(self, gauges: Mapping[str, float], version: str) -> str:
        """Return all numbers; ``gauges`` are those read at this moment."""
        with self._lock:
            values = dict(self._counters)
            buckets, seconds = list(self._buckets), self._seconds
        for name in ("allocations_total", "images_switched_total", "retries_total"):
            values.setdefault((name, ()), 0)
        lines: list[str] = []
        for name in sorted({name for name, _unused in values}):
            lines += _head(name, "counter")
            lines += [_line(n, labels, v) for (n, labels), v in sorted(values.items()) if n == name]
        for name, value in sorted(gauges.items()):
            lines += [*_head(name, "gauge"), _line(name, (), value)]
        lines += [*_head("build_info", "gauge"), _line("build_info", (("version", version),), 1)]
        return "\n".join([*lines, *_histogram(buckets, seconds)]) + "\n"


def _histogram(buckets: list[int], seconds: float) -> list[str]:
    name = "allocation_to_condition_seconds"
    lines, total = _head(name, "histogram"), 0
    for bound, number in zip((*map(str, BUCKETS_SECONDS), "+Inf"), buckets, strict=True):
        total += number
        lines.append(_line(f"{name}_bucket", (("le", bound),), total))
    return [*lines, _line(f"{name}_sum", (), seconds), _line(f"{name}_count", (), total)]


def _head(name: str, kind: str) -> list[str]:
    return [f"# HELP {PREFIX}{name} {HELP[name]}.", f"# TYPE {PREFIX}{name} {kind}"]


def _line(name: str, labels: Labels, value: float) -> str:
    inside = ",".join(f'{key}="{text}"' for key, text in labels)
    return f"{PREFIX}{name}{{{inside}}} {value:g}" if inside else f"{PREFIX}{name} {value:g}"
