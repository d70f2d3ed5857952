# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of one replica while it leads: two watches, some workers, one slice."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    PODS,
    SLICES,
    Gone,
    Kubernetes,
    KubernetesError,
    Resource,
)

from .announcer import Announcer
from .cache import Cache
from .contract import Gate
from .gating_slice import FieldsDropped, publish
from .metrics import Metrics
from .work_queue import Key, WorkQueue
from .worker import Worker, no_fault

log = logging.getLogger("image_configurator")
WORKERS = 8
FIRST_RETRY_SECONDS, MOST_RETRY_SECONDS = 0.1, 30.0
PAUSE_SECONDS = 1.0
SLICE_RETRY_SECONDS = 30.0
STUCK_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Feed:
    """What is watched, and where its changes go; each function returns the claims affected."""

    resource: Resource
    selector: str
    replace: Callable[[Iterable[Any]], list[Key]]
    put: Callable[[Any], list[Key]]
    drop: Callable[[Any], list[Key]]


class Term:
    """Everything that runs between winning and losing the leadership; starts with an empty cache."""

    def __init__(
        self,
        api: Kubernetes,
        clock: Clock,
        gate: Gate,
        metrics: Metrics,
        fault: Callable[[str], None] = no_fault,
    ) -> None:
        self._api = api
        self._clock = clock
        self._gate = gate
        self._metrics = metrics
        self._cache = Cache(gate, clock, metrics)
        self._queue = WorkQueue(clock)
        self._announcer = Announcer(api, clock, gate, self._queue.wait_until_idle)
        self._worker = Worker(
            api, self._cache, clock, gate, announcer=self._announcer, metrics=metrics, fault=fault
        )
        self._retries: dict[Key, int] = {}
        self._busy_since: dict[Key, float] = {}
        self._over = threading.Event()
        self._not_ready = {
            CLAIMS.plural: "claims are not listed yet",
            PODS.plural: "pods are not listed yet",
            "slice": "the gating slice is not published yet",
        }

    def start(self) -> None:
        """Start all threads; they end soon after ``stop``."""
        self._spawn("slice", self._keep_slice)
        self._spawn("events", self._announcer.run)
        self._spawn("claims", self._watch_claims)
        self._spawn("pods", self._watch_pods)
        for number in range(WORKERS):
            self._spawn(f"worker-{number}", self._work)

    def stop(self) -> None:
        """Begin no further claim."""
        self._over.set()
        self._queue.close()
        self._announcer.close()

    def not_ready(self) -> list[str]:
        """Return what is missing before claims can be served."""
        return list(self._not_ready.values())

    def stuck(self) -> list[str]:
        """Return the claims that a worker has been busy with for longer than all its time limits."""
        now = self._clock.monotonic()
        return [
            f"{'/'.join(key)} for {now - since:.0f} s"
            for key, since in list(self._busy_since.items())
            if now - since > STUCK_SECONDS
        ]

    def gauges(self) -> dict[str, float]:
        """Return the numbers of this moment, by metric name."""
        claims, pods = self._cache.size()
        published = "slice" not in self._not_ready
        return {
            "claims": claims,
            "pods": pods,
            "queue": len(self._queue),
            "slice_published": float(published),
        }

    def _watch_claims(self) -> None:
        cache = self._cache
        self._feed(Feed(CLAIMS, "", cache.replace_claims, cache.put_claim, self._drop_claim))

    def _drop_claim(self, claim: dict[str, Any]) -> list[Key]:
        self._worker.forget(claim["metadata"]["uid"])
        return self._cache.drop_claim(claim)

    def _watch_pods(self) -> None:
        # A pod leaves this selection when it is bound: the server then reports it as deleted.
        unbound, cache = "spec.nodeName=", self._cache
        self._feed(Feed(PODS, unbound, cache.replace_pods, cache.put_pod, cache.drop_pod))

    def _feed(self, feed: Feed) -> None:
        """Keep the cache in step with the API server and queue every claim that is affected."""
        while not self._over.is_set():
            # Taken page by page: a list of thousands of whole pods would not fit into our memory.
            listing = self._api.list(feed.resource, field_selector=feed.selector)
            self._enqueue(feed.replace(listing))
            self._not_ready.pop(feed.resource.plural, None)
            try:
                self._watch(feed, listing.resource_version)
            except Gone:
                continue

    def _watch(self, feed: Feed, resource_version: str) -> None:
        events = self._api.watch(feed.resource, resource_version, field_selector=feed.selector)
        for event in events:
            if self._over.is_set():
                return
            if event.type == "DELETED":
                self._enqueue(feed.drop(event.object))
            elif event.type != "BOOKMARK":
                self._enqueue(feed.put(event.object))

    def _enqueue(self, keys: list[Key]) -> None:
        for key in keys:
            self._queue.add(key)

    def _work(self) -> None:
        while (key := self._queue.take()) is not None:
            self._busy_since[key] = self._clock.monotonic()
            try:
                again = self._worker.handle(key)
                self._retries.pop(key, None)
            except KubernetesError as error:
                again = self._retry_seconds(key)
                log.warning("will try again", extra={"claim": "/".join(key), "error": str(error)[:500]})
            except Exception:
                again = self._retry_seconds(key)
                log.exception("unexpected", extra={"claim": "/".join(key)})
            finally:
                del self._busy_since[key]
                self._queue.done(key)
            if again is not None:
                self._queue.add_after(key, again)

    def _retry_seconds(self, key: Key) -> float:
        self._metrics.count("retries_total")
        tries = self._retries[key] = self._retries.get(key, 0) + 1
        return float(min(MOST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2**tries))

    def _keep_slice(self) -> None:
        """Publish the slice, then look again whenever any slice of the driver changes."""
        for _unused in self._api.follow(SLICES, field_selector=f"spec.driver={self._gate.driver}"):
            if self._over.is_set():
                return
            try:
                if publish(self._api, self._gate):
                    log.info("slice published")
                self._not_ready.pop("slice", None)
            except FieldsDropped as error:
                self._not_ready["slice"] = str(error)
                log.error("slice not published", extra={"error": str(error)})  # noqa: TRY400 - no trace is needed
                self._over.wait(SLICE_RETRY_SECONDS)
                return
            except KubernetesError as error:
                self._not_ready["slice"] = str(error)
                raise

    def _spawn(self, name: str, target: Callable[[], None]) -> None:
        def guarded() -> None:
            while not self._over.is_set():
                try:
                    target()
                except KubernetesError as error:
                    log.warning("interrupted", extra={"part": name, "error": str(error)})
                except Exception:
                    log.exception("interrupted", extra={"part": name})
                self._over.wait(PAUSE_SECONDS)

        threading.Thread(target=guarded, name=name, daemon=True).start()
