# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person reads in a terminal: one line per pod, the gravest first."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.lines import (
    diagnosis_lines,
    replacement_lines,
    verdict_lines,
)

BUSY = {
    "status": "note",
    "reason": "DeviceInUse",
    "subject": "ResourceClaim llm/b",
    "observed": "1 claim holds it",
    "advice": "wait",
}
BROKEN = {"status": "error", "reason": "TemplateMissing", "subject": "Pod llm/a", "observed": "no template"}
FINE = {"status": "ok", "reason": "ApiEnabled", "subject": "Project p"}


def pod(*verdicts: dict, node: str = "", reasons: tuple = (), state: str = "pending") -> dict:
    return {
        "pod": "llm/a",
        "uid": "1",
        "node": node,
        "state": state,
        "verdicts": list(verdicts),
        "chosen": [{"alternative": "device/cpu", "reasons": list(reasons)}],
    }


@pytest.mark.parametrize(
    ("one", "replicas", "line"),
    [
        (pod(state="running", node="n"), [{"uid": "1", "alternative": "gpu"}], "llm/a: running on gpu (n)"),
        (
            pod(state="running", node="n", reasons=(BUSY,)),
            [{"uid": "1", "alternative": "cpu"}],
            "llm/a: running on cpu (n); note DeviceInUse: 1 claim holds it; wait",
        ),
        (pod(BROKEN, BUSY), [], "llm/a: pending; error TemplateMissing: no template"),
        (pod(BROKEN, reasons=(BUSY,)), [], "llm/a: pending; error TemplateMissing: no template"),
        (pod(), [{"uid": "2", "alternative": "gpu"}], "llm/a: pending"),
    ],
    ids=[
        "well",
        "why this alternative",
        "the decisive one",
        "what is wrong before why",
        "other pod's hardware",
    ],
)
def test_pod(one, replicas, line):
    assert diagnosis_lines([one], replicas, []) == [line]


def test_the_cluster_comes_last():
    assert diagnosis_lines([pod()], [], [BUSY])[1:] == ["note: ResourceClaim llm/b: 1 claim holds it; wait"]


def test_the_gravest_first_and_nothing_for_ok():
    lines = verdict_lines([FINE, BUSY, BROKEN])
    assert [line.partition(":")[0] for line in lines] == ["error", "note"]


STEP = {"pod": "a", "alternative": "cpu", "accepted": ["gpu"], "foreseen": "gpu"}
DONE = {
    "pod": "a",
    "alternative": "cpu",
    "successor": "b",
    "successor_alternative": "gpu",
    "node": "n",
    "seconds": 2.5,
}
REPLACEMENTS = {
    "nothing": ([], [], "none is free", ["none is free"]),
    "done": ([DONE], [], "", ["a on cpu -> b on gpu, 2.5 s"]),
    "begun by an earlier run": (
        [DONE | {"pod": "", "alternative": ""}],
        [],
        "",
        ["a replica that had ended on no devices -> b on gpu, 2.5 s"],
    ),
    "planned": ([], [STEP], "", ["a on cpu -> gpu, not done"]),
    "planned for what has nothing": (
        [],
        [STEP | {"alternative": "", "foreseen": ""}],
        "",
        ["a on no devices -> any alternative, not done"],
    ),
    "done, then why no more": ([DONE], [], "enough", ["a on cpu -> b on gpu, 2.5 s", "enough"]),
}


@pytest.mark.parametrize(("actions", "planned", "because", "lines"), REPLACEMENTS.values(), ids=REPLACEMENTS)
def test_replacements_are_one_line_each(actions, planned, because, lines):
    result = {"actions": actions, "planned": planned, "because": because}
    assert replacement_lines(result) == lines
