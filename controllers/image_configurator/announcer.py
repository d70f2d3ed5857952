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

Body = Mapping[str, object]


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
        self._waiting: queue.Queue[tuple[float, str, Body] | None] = queue.Queue(MAX_WAITING)

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
            said = repr((pod["uid"], reason, allocation)).encode()
            name = f"{pod['name'][:MAX_POD_NAME]}.{hashlib.sha256(said).hexdigest()[:16]}"
            body = {
                "metadata": {"name": name, "namespace": pod["namespace"]},
                "involvedObject": dict(pod),
                "type": kind,
                "reason": reason,
                "message": text[:MAX_MESSAGE],
                "source": {"component": COMPONENT},
                "reportingComponent": self._gate.driver,
                "firstTimestamp": now,
                "lastTimestamp": now,
                "count": 1,
            }
            try:
                self._waiting.put_nowait((due, pod["namespace"], body))
            except queue.Full:
                log.warning("event dropped", extra={"pod": pod["name"], "reason": reason})

    def run(self) -> None:
        """Write events until ``close``."""
        while (item := self._waiting.get()) is not None:
            due, namespace, body = item
            self._give_way(max(0.0, due - self._clock.monotonic()))
            self._write(namespace, body)

    def flush(self) -> None:
        """Write what waits now, in the caller's thread."""
        while not self._waiting.empty():
            item = self._waiting.get_nowait()
            if item:
                self._write(*item[1:])

    def close(self) -> None:
        """Let ``run`` return after what waits now."""
        self._waiting.put(None)

    def _write(self, namespace: str, body: Body) -> None:
        api = self._api.within(Deadline(self._clock, SECONDS))
        try:
            api.create(EVENTS, body, namespace)
        except Conflict:
            return
        except KubernetesError as error:
            log.warning("event not written", extra={"error": str(error)})
