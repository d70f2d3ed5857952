# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of one replica while it leads: two watches, some workers, one slice."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    PODS,
    Event,
    Kubernetes,
    KubernetesError,
    Resource,
)

from .cache import Cache
from .contract import Gate
from .gating_slice import FieldsDropped, publish
from .work_queue import Key, WorkQueue
from .worker import Worker

log = logging.getLogger("image_configurator")
WORKERS = 8
FIRST_RETRY_SECONDS, MOST_RETRY_SECONDS = 0.2, 30.0
SLICE_CHECK_SECONDS = 30.0


class Term:
    """Everything that runs between winning and losing the leadership."""

    def __init__(self, api: Kubernetes, clock: Clock, gate: Gate) -> None:
        self._api = api
        self._clock = clock
        self._gate = gate
        self._cache = Cache(gate)
        self._queue = WorkQueue(clock)
        self._worker = Worker(api, self._cache, clock, gate)
        self._retries: dict[Key, int] = {}
        self._over = threading.Event()

    def start(self) -> None:
        """Start all threads; they end soon after ``stop``."""
        self._spawn("slice", self._keep_slice)
        self._spawn("claims", self._watch_claims)
        self._spawn("pods", self._watch_pods)
        for number in range(WORKERS):
            self._spawn(f"worker-{number}", self._work)

    def stop(self) -> None:
        """Begin no further write."""
        self._over.set()
        self._queue.close()

    def _watch_claims(self) -> None:
        self._feed(CLAIMS, "", self._cache.replace_claims, self._cache.put_claim, self._cache.drop_claim)

    def _watch_pods(self) -> None:
        # A pod leaves this selection when it is bound: the server then reports it as deleted.
        cache = self._cache
        self._feed(PODS, "spec.nodeName=", cache.replace_pods, cache.put_pod, cache.drop_pod)

    def _feed(
        self,
        resource: Resource,
        selector: str,
        replace: Callable[[Iterable[Any]], list[Key]],
        put: Callable[[Any], list[Key]],
        drop: Callable[[Any], list[Key]],
    ) -> None:
        for change in self._api.follow(resource, field_selector=selector):
            if self._over.is_set():
                return
            if not isinstance(change, Event):
                keys = replace(change)
            elif change.type == "BOOKMARK":
                continue
            elif change.type == "DELETED":
                keys = drop(change.object)
            else:
                keys = put(change.object)
            for key in keys:
                self._queue.add(key)

    def _work(self) -> None:
        while (key := self._queue.take()) is not None:
            try:
                again = self._worker.handle(key)
                self._retries.pop(key, None)
            except KubernetesError as error:
                again = self._retry_seconds(key)
                log.warning("will try again", extra={"claim": "/".join(key), "error": str(error)})
            except Exception:
                again = self._retry_seconds(key)
                log.exception("unexpected", extra={"claim": "/".join(key)})
            finally:
                self._queue.done(key)
            if again is not None:
                self._queue.add_after(key, again)

    def _retry_seconds(self, key: Key) -> float:
        tries = self._retries[key] = self._retries.get(key, 0) + 1
        return float(min(MOST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2**tries))

    def _keep_slice(self) -> None:
        while not self._over.is_set():
            try:
                if publish(self._api, self._gate):
                    log.info("slice published")
            except (KubernetesError, FieldsDropped) as error:
                log.error("slice not published", extra={"error": str(error)})  # noqa: TRY400 - the sentence says it all
            self._over.wait(SLICE_CHECK_SECONDS)

    def _spawn(self, name: str, target: Callable[[], None]) -> None:
        def guarded() -> None:
            while not self._over.is_set():
                try:
                    target()
                except KubernetesError as error:
                    log.warning("interrupted", extra={"part": name, "error": str(error)})
                except Exception:
                    log.exception("interrupted", extra={"part": name})
                self._over.wait(1.0)

        threading.Thread(target=guarded, name=name, daemon=True).start()
