# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A measurement of traffic in a terminal: one line per kind of hardware."""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.inference.dra.plugins.module_utils._core.traffic_lines import traffic_lines

RECORDED = Path(__file__).parents[1] / "fixtures" / "recorded_demo.json"
VERDICT = {"status": "error", "reason": "RequestsFailed", "subject": "Pod llm/a", "observed": "3 of 3 failed"}


def measured(**changes) -> dict:
    return json.loads(RECORDED.read_text())["traffic"] | changes


def test_a_line_per_kind_of_hardware_and_one_for_the_service():
    lines = traffic_lines(measured())
    assert [line.split()[0] for line in lines] == ["hardware", "gpu", "cpu", "service"]
    assert lines[1].split() == [
        "gpu", "2", "g2-standard-8", "0.06", "s", "0.61", "s", "(0.63", "s)", "117.0", "1.62", "-",
    ]  # fmt: skip
    assert len({line.index("2" if number else "replicas") for number, line in enumerate(lines[:2])}) == 1


def test_nothing_answered():
    nothing = {"p50": None, "p95": None}
    failed = measured()["alternatives"][0] | {
        "succeeded": 0,
        "first_token_seconds": nothing,
        "latency_seconds": nothing,
        "tokens_per_second": None,
        "usd_per_million_tokens": None,
    }
    head, line, verdict = traffic_lines(measured(alternatives=[failed], service={}, verdicts=[VERDICT]))
    assert line.split() == ["gpu", "2", "g2-standard-8", "-", "-", "-", "-", "6", "of", "6"]
    assert verdict == "error: Pod llm/a: 3 of 3 failed"
    assert head.startswith("hardware  replicas  machine")


def test_replicas_without_an_alternative():
    line = traffic_lines(measured(alternatives=[measured()["alternatives"][0] | {"alternative": ""}]))[1]
    assert line.startswith("none")
