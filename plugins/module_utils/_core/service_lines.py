# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a service runs on as a table in plain text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .lines import table

HEAD = ("pod", "alternative", "node", "image", "state")
NONE = "-"
DIGEST_LENGTH = 12
# A replica is as far as the last step it has taken.
STATES = (
    ("ready", "ready"),
    ("bound", "bound, not ready"),
    ("image_switched", "waits to be bound"),
    ("allocated", "waits for its image"),
)
FIRST_STATE = "waits for devices"


def service_lines(service: Mapping[str, Any]) -> list[str]:
    """Return a line per replica below a head line, the sizes of the node pools, and whether any is not ready.

    :param service: what inference_service_info returns.
    """
    replicas, wanted = service["replicas"], service["wanted_replicas"]
    lines = table([HEAD, *map(_row, replicas)]) if replicas else ["no replica of the current specification"]
    if service["node_pools"]:
        sizes = (f"{name} {size}" for name, size in sorted(service["node_pools"].items()))
        lines.append(f"nodes: {', '.join(sizes)}")
    ready = sum(each["phases"]["ready"] is not None for each in replicas)
    if ready < wanted:
        lines.append(f"{wanted - ready} of {wanted} replicas not ready yet: the playbook diagnose says why")
    return lines


def _row(replica: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        replica["pod"],
        replica["alternative"] or NONE,
        replica["node"] or NONE,
        _short(replica["image"]),
        _state(replica),
    )


def _short(image: str) -> str:
    """Return the reference without its registry and with the beginning of its digest only."""
    name, at, digest = image.rpartition("/")[2].partition("@")
    algorithm, colon, value = digest.partition(":")
    return f"{name}{at}{algorithm}{colon}{value[:DIGEST_LENGTH]}"


def _state(replica: Mapping[str, Any]) -> str:
    phases = replica["phases"]
    state = next((said for step, said in STATES if phases[step]), FIRST_STATE)
    wrong = [each["reason"] for each in replica["verdicts"] if each["status"] == "error"]
    return f"{state}: {wrong[0]}" if wrong else state
