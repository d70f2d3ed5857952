# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers to "would it fit": what each claim would get, or why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .claims import DeviceConfig
from .objects import NOTHING
from .quantity import Quantity
from .slices import DeviceId

MAX_ALTERNATIVES = 8  # FirstAvailableDeviceRequestMaxSize, resource.k8s.io/v1


@dataclass(frozen=True, slots=True)
class Given:
    """One device of a fit, as an allocation result would name it.

    :param request: ``main`` or ``main/sub``.
    :param consumed: what a share takes; empty for a device given whole.
    """

    request: str
    device: DeviceId
    consumed: Mapping[str, Quantity] = field(default_factory=lambda: NOTHING)
    admin_access: bool = False
    binding_conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimFit:
    """What one claim would get.

    :param alternatives: request → index of the chosen alternative, for requests with ``firstAvailable``.
    :param configs: those of the class and of the chosen alternatives, as the allocation would carry them.
    """

    devices: tuple[Given, ...]
    alternatives: Mapping[str, int]
    configs: tuple[DeviceConfig, ...] = ()

    @property
    def score(self) -> int:
        """Return the plugin's raw score: 8 for a first alternative, 7 for a second, …"""
        return sum(MAX_ALTERNATIVES - index for index in self.alternatives.values())


@dataclass(frozen=True, slots=True)
class Fit:
    """All claims fit; one entry per claim, in order."""

    claims: tuple[ClaimFit, ...]

    @property
    def score(self) -> int:
        return sum(claim.score for claim in self.claims)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why one alternative is not possible on the node: the nearest check that leaves too few devices."""

    alternative: str
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """The claims do not fit on the node, or it cannot be said.

    :param reason: a documented reason.
    :param text: what was found, in a sentence.
    :param claim: index of the claim where the scheduler stops, -1 where it is not one claim.
    :param request: the request or alternative concerned, empty for none in particular.
    :param scope: ``node``: other nodes are still tried; ``pod``: the scheduler gives up on the pod;
        ``unknown``: this judgement lacks something (a CEL library, time) and says nothing of the scheduler.
    :param shortfalls: one per alternative of the request, where none of them is possible on its own.
    """

    reason: str
    text: str
    claim: int = -1
    request: str = ""
    scope: Literal["node", "pod", "unknown"] = "node"
    shortfalls: tuple[Shortfall, ...] = ()
