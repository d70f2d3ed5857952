# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What GKE's autoscaler says against a ComputeClass, as short lines of text.

Source: GoogleCloudPlatform/cluster-autoscaler, compute class validators: ``Health`` is true where all is
well, every other condition is true where something is wrong. Priorities have conditions of their own, in
``status.priorityStatuses`` since GKE 1.36.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

HEALTH = "Health"
Json = Mapping[str, Any]


def compute_class_lines(compute_class: Json) -> list[str]:
    """Return one line per condition that is not as it should be: type, reason and message.

    What keeps a priority from growing follows, with the node pools of the priority. A class that nobody has
    judged, or none at all, has no lines.

    :param compute_class: the object as the API server returns it.
    """
    status = compute_class.get("status") or {}
    lines = [_line(each) for each in _against(status.get("conditions"))]
    for priority in status.get("priorityStatuses") or ():
        name = f"priority {priority.get('identifier', '')}{_pools(compute_class, priority)}"
        lines += [f"{name}: {_line(each)}" for each in _against(priority.get("conditions"))]
    return lines


def _against(conditions: Iterable[Json] | None) -> Iterator[Json]:
    for each in conditions or ():
        wanted = "True" if each["type"] == HEALTH else "False"
        if each["status"] != wanted:
            yield each


def _line(condition: Json) -> str:
    kind, state = condition["type"], condition["status"]
    reason, message = condition.get("reason", ""), condition.get("message", "")
    said = f"{kind} is {state}" if kind == HEALTH or state != "True" else kind
    because = ": ".join(part for part in (reason if reason != kind else "", message) if part)
    return f"{said}, {because}" if because else said


def _pools(compute_class: Json, priority: Json) -> str:
    """Return the node pools of a priority in brackets; its identifier is its index in the list."""
    index = str(priority.get("identifier", ""))
    priorities = compute_class.get("spec", {}).get("priorities") or ()
    if not index.isdecimal() or int(index) >= len(priorities):
        return ""
    pools = priorities[int(index)].get("nodepools") or ()
    return f" ({', '.join(pools)})" if pools else ""
