# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of the modules as short lines of text: what a person reads in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .verdict import SEVERITY, from_dict

Json = Mapping[str, Any]


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return one line per row, the cells of a column below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def verdict_lines(verdicts: Iterable[Json]) -> list[str]:
    """Return one line per verdict that is not ``ok``, the gravest first."""
    grave = [from_dict(each) for each in verdicts if each["status"] != "ok"]
    grave.sort(key=lambda each: -SEVERITY.index(each.status))
    return [f"{each.status}: {each.sentence()}" for each in grave]


def diagnosis_lines(pods: Iterable[Json], replicas: Iterable[Json], verdicts: Iterable[Json]) -> list[str]:
    """Return one line per pod, then one per verdict on the cluster's devices.

    A pod's line says its state, what it runs on, and the decisive verdict; where nothing is wrong, why it
    has no earlier alternative.

    :param pods: ``pods`` of dra_diagnosis.
    :param replicas: ``replicas`` of inference_service_info.
    :param verdicts: ``verdicts`` of dra_diagnosis.
    """
    hardware = {each["uid"]: each for each in replicas}
    return [_pod_line(pod, hardware.get(pod["uid"], {})) for pod in pods] + verdict_lines(verdicts)


def replacement_lines(result: Json) -> list[str]:
    """Return one line per replacement that was made, then one per replacement that remains, and why no more.

    :param result: what inference_replica_replace returns.
    """
    lines = [
        f"{each['pod'] or 'a replica that had ended'} on {each['alternative'] or 'no devices'} -> "
        f"{each['successor']} on {each['successor_alternative'] or 'its devices'}, {each['seconds']} s"
        for each in result["actions"]
    ]
    lines += [
        f"{each['pod']} on {each['alternative'] or 'no devices'} -> "
        f"{each['foreseen'] or 'any alternative'}, not done"
        for each in result["planned"]
    ]
    return [*lines, *([result["because"]] if result["because"] else [])]


def _pod_line(pod: Json, replica: Json) -> str:
    line = f"{pod['pod']}: {pod['state']}"
    if replica.get("alternative"):
        line += f" on {replica['alternative']}"
    if pod["node"]:
        line += f" ({pod['node']})"
    reasons = [reason for chosen in pod["chosen"] for reason in chosen["reasons"]]
    decisive = next(iter([*pod["verdicts"], *reasons]), None)
    if decisive is None:
        return line
    verdict = from_dict(decisive)
    said = verdict.sentence().removeprefix(f"{verdict.subject}: ")
    return f"{line}; {verdict.status} {verdict.reason}: {said}"
