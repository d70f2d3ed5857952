# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pod events: what a reader of ``kubectl describe pod`` learns from this controller.

They are written by a thread of their own, because a condition must not wait for them, and they give
way to claims that wait: the API server would answer both more slowly. One event per pod, allocation
and reason: its name is made from these, so writing it again changes nothing.
"""

from __future__ import annotations

import hashlib
import logging
import queue
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, Deadline
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    EVENTS,
    Conflict,
    Kubernetes,
    KubernetesError,
)

from .contract import COMPONENT, Gate

log = logging.getLogger("image_configurator")
SECONDS = 10.0
MAX_WAITING = 20_000
PATIENCE_SECONDS = 2.0
MAX_POD_NAME, MAX_MESSAGE = 200, 1024


@dataclass(frozen=True, slots=True)
class Said:
    """One event that waits: thousands may, so it is spelled out only when it is written.

    :param due: the monotonic second from which on it gives way to nothing.
    """

    due: float
    time: str
    pod: Mapping[str, str]
    allocation: str
    kind: str
    reason: str
    text: str

    def body(self, driver: str) -> dict[str, object]:
        """Return the Event object; its name is the same for the same pod, reason and allocation."""
        identity = repr((self.pod["uid"], self.reason, self.allocation)).encode()
        name = f"{self.pod['name'][:MAX_POD_NAME]}.{hashlib.sha256(identity).hexdigest()[:16]}"
        return {
            "metadata": {"name": name, "namespace": self.pod["namespace"]},
            "involvedObject": dict(self.pod),
            "type": self.kind,
            "reason": self.reason,
            "message": self.text,
            "source": {"component": COMPONENT},
            "reportingComponent": driver,
            "firstTimestamp": self.time,
            "lastTimestamp": self.time,
            "count": 1,
        }


class Announcer:
    """Takes events from workers at once and writes them one after another.

    :param give_way: called before each event with the seconds for which it can still wait; returns
        when no claim waits for work.
    """

    def __init__(
        self,
        api: Kubernetes,
        clock: Clock,
        gate: Gate,
        give_way: Callable[[float], object] = lambda _seconds: None,
    ) -> None:
        self._api = api
        self._clock = clock
        self._gate = gate
        self._give_way = give_way
        self._waiting: queue.Queue[Said | None] = queue.Queue(MAX_WAITING)

    def tell(
        self, pods: Iterable[Mapping[str, str]], allocation: str, kind: str, reason: str, text: str
    ) -> None:
        """Have an event written for each pod.

        :param allocation: identifies the allocation the event is about.
        :param kind: ``Normal`` or ``Warning``.
        """
        now = self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        due = self._clock.monotonic() + PATIENCE_SECONDS
        for pod in pods:
            said = Said(due, now, pod, allocation, kind, reason, text[:MAX_MESSAGE])
            try:
                self._waiting.put_nowait(said)
            except queue.Full:
                log.warning("event dropped", extra={"pod": pod["name"], "reason": reason})

    def run(self) -> None:
        """Write events until ``close``."""
        while (said := self._waiting.get()) is not None:
            self._give_way(max(0.0, said.due - self._clock.monotonic()))
            self._write(said)

    def flush(self) -> None:
        """Write what waits now, in the caller's thread."""
        while not self._waiting.empty():
            said = self._waiting.get_nowait()
            if said:
                self._write(said)

    def close(self) -> None:
        """Let ``run`` return after what waits now."""
        self._waiting.put(None)

    def _write(self, said: Said) -> None:
        api = self._api.within(Deadline(self._clock, SECONDS))
        try:
            api.create(EVENTS, said.body(self._gate.driver), said.pod["namespace"])
        except Conflict:
            return
        except KubernetesError as error:
            log.warning("event not written", extra={"error": str(error)})
