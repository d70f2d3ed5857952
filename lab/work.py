# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every component of the lab is given, and how it gets its work done again after a failure."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    Kubernetes,
    KubernetesError,
)

from .faults import Faults
from .loop import Loop
from .store import Store

Key = TypeVar("Key", bound=Hashable)
Say = Callable[[str], None]

WRITE_SECONDS = 5.0
"""Real seconds that one write may take; the work is done again later, so the loop is never held long."""
AGAIN_SECONDS = 1.0
"""Real seconds before work that failed is done again."""


@dataclass(frozen=True)
class Context:
    """The cluster as seen and as written, time, faults, chance, and the log."""

    kube: Kubernetes
    store: Store
    loop: Loop
    faults: Faults = field(default_factory=Faults)
    say: Say = lambda _line: None
    chance: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 - a simulation

    @property
    def api(self) -> Kubernetes:
        """The Kubernetes API with a short deadline for one write."""
        return self.kube.within(Deadline(self.loop.clock, WRITE_SECONDS))

    @property
    def timestamp(self) -> str:
        """The time as Kubernetes writes it, in whole seconds."""
        return self.loop.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


class Work(Generic[Key]):
    """Things to bring into order, each once however often it was asked for, again if it failed."""

    def __init__(self, context: Context, reconcile: Callable[[Key], None]) -> None:
        self._context = context
        self._reconcile = reconcile
        self._waiting: set[Key] = set()

    def add(self, key: Key) -> None:
        """Have ``key`` brought into order after what is already waiting; loop thread only."""
        if key not in self._waiting:
            self._waiting.add(key)
            self._context.loop.post(lambda: self._do(key))

    def add_after(self, seconds: float, key: Key) -> None:
        """Have ``key`` brought into order in ``seconds`` simulated seconds."""
        self._context.loop.after(seconds, lambda: self.add(key))

    def _do(self, key: Key) -> None:
        self._waiting.discard(key)
        try:
            self._reconcile(key)
        except KubernetesError as error:
            self._again(key, str(error))
        except Exception as error:  # noqa: BLE001 - one broken object must not end the whole lab
            last = traceback.extract_tb(error.__traceback__)[-1]
            self._again(key, f"{key}: {error!r} in {last.name}, line {last.lineno}")

    def _again(self, key: Key, why: str) -> None:
        self._context.say(f"{why}; again in {AGAIN_SECONDS:g} s")
        self.add_after(AGAIN_SECONDS * self._context.loop.speed, key)
