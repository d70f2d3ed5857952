# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A measurement of traffic as a table in plain text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .lines import table, verdict_lines

HEAD = (
    "hardware", "replicas", "machine", "first token", "answer (95 %)", "tokens/s", "USD/million", "failed",
)  # fmt: skip
NONE = "-"


def traffic_lines(measured: Mapping[str, Any]) -> list[str]:
    """Return the table of what inference_probe returned, then one line per verdict."""
    rows = [HEAD, *(_row(each, each["alternative"] or "none") for each in measured["alternatives"])]
    service = measured["service"]
    if service:
        rows.append(_row(service, f"service {service['name']}"))
    return table(rows) + verdict_lines(measured["verdicts"])


def _row(found: Mapping[str, Any], name: str) -> tuple[str, ...]:
    latency = found["latency_seconds"]
    failed = found["requests"] - found["succeeded"]
    return (
        name,
        str(found.get("replicas", found.get("endpoints", ""))),
        ", ".join(found.get("machine_types", ())) or NONE,
        _seconds(found["first_token_seconds"]["p50"]),
        f"{_seconds(latency['p50'])} ({_seconds(latency['p95'])})" if latency["p50"] is not None else NONE,
        _number(found["tokens_per_second"], 1),
        _number(found.get("usd_per_million_tokens"), 2),
        f"{failed} of {found['requests']}" if failed else NONE,
    )


def _seconds(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f} s"


def _number(value: float | None, digits: int) -> str:
    return NONE if value is None else f"{value:.{digits}f}"
