# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the stand-in driver, ordered by an annotation on the node; all pure.

``kubectl annotate node N lab.inference.dra/fault.DRIVER=refuse`` (or ``crash``, ``half-pool``, ``delay=10``)
holds until the annotation is removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PREFIX = "lab.inference.dra/fault."
REFUSE, CRASH, HALF_POOL, DELAY = "refuse", "crash", "half-pool", "delay"


@dataclass(frozen=True)
class Fault:
    """What goes wrong with a driver on a node now.

    :param refuse: claims are not prepared.
    :param crash: the process ends when it is asked to prepare a claim.
    :param half_pool: of a new generation of the pool only the first of two slices is published.
    :param delay_seconds: how long preparing a claim takes.
    """

    refuse: bool = False
    crash: bool = False
    half_pool: bool = False
    delay_seconds: float = 0.0


def fault_of(node: Mapping[str, Any], driver: str) -> Fault:
    """Return the fault ordered for a driver; words that are not known order nothing."""
    annotations = node["metadata"].get("annotations", {})
    words = annotations.get(f"{PREFIX}{driver}", "").split(",")
    delay = next((word.partition("=")[2] for word in words if word.startswith(f"{DELAY}=")), "0")
    return Fault(
        refuse=REFUSE in words,
        crash=CRASH in words,
        half_pool=HALF_POOL in words,
        delay_seconds=float(delay) if delay.replace(".", "", 1).isdigit() else 0.0,
    )
