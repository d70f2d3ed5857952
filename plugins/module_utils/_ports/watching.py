# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several kinds of objects kept current by watches, with one place to wait for the next change."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from .kubernetes import DeadlineExceeded, Event, Forbidden, Kubernetes, KubernetesError, Resource

Object = Mapping[str, Any]

TOGETHER_SECONDS = 0.02
"""Changes that arrive within this time are looked at together."""
POLL_SECONDS = 2.0


class Watching:
    """The objects of a namespace, listed once and followed from then on.

    Where a kind may be listed but not watched it is listed again every two seconds, and ``polled``
    names it. Where it may not even be listed, ``forbidden`` does. The threads end with the
    deadline of ``api``.
    """

    def __init__(self, api: Kubernetes, resources: Iterable[Resource], namespace: str = "") -> None:
        self._api = api
        self._namespace = namespace
        self._objects: dict[str, dict[str, Object]] = {}
        self._lock = threading.Lock()
        self._changes: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.polled: set[str] = set()
        self.forbidden: set[str] = set()
        self.failures: dict[str, KubernetesError] = {}
        self._unlisted = {resource.kind for resource in resources}
        for resource in resources:
            threading.Thread(target=self._follow, args=(resource,), daemon=True).start()

    def wait(self, seconds: float) -> None:
        """Return at the next change, or when ``seconds`` have passed."""
        try:
            self._changes.get(timeout=max(0.0, seconds))
            while True:
                self._changes.get(timeout=TOGETHER_SECONDS)
        except queue.Empty:
            pass

    @property
    def is_complete(self) -> bool:
        """Return whether every kind was listed, or will never be."""
        with self._lock:
            return not self._unlisted

    def objects(self) -> dict[str, list[Object]]:
        """Return the present objects by kind; kinds that could not be listed are absent."""
        with self._lock:
            return {kind: list(found.values()) for kind, found in self._objects.items()}

    def _follow(self, resource: Resource) -> None:
        try:
            while self._once(resource):
                self._api.pause(POLL_SECONDS)
        except DeadlineExceeded:
            return

    def _once(self, resource: Resource) -> bool:
        """Follow a kind until something goes wrong; return whether to try again."""
        try:
            for news in self._api.follow(resource, self._namespace if resource.namespaced else ""):
                self._take(resource, news)
        except DeadlineExceeded:
            raise
        except Forbidden as error:
            if resource.kind not in self._objects:
                self.forbidden.add(resource.plural)
                self._listed(resource.kind, error)
                return False
            self.polled.add(resource.plural)
        except KubernetesError as error:
            self._listed(resource.kind, error)
        return True

    def _take(self, resource: Resource, news: list[dict[str, Any]] | Event) -> None:
        with self._lock:
            if isinstance(news, list):
                self._objects[resource.kind] = {each["metadata"]["uid"]: each for each in news}
                self._unlisted.discard(resource.kind)
                self.failures.pop(resource.kind, None)
            elif news.type == "DELETED":
                self._objects[resource.kind].pop(news.object["metadata"]["uid"], None)
            elif news.type != "BOOKMARK":
                self._objects[resource.kind][news.object["metadata"]["uid"]] = news.object
        self._changes.put(None)

    def _listed(self, kind: str, error: KubernetesError) -> None:
        with self._lock:
            self._unlisted.discard(kind)
            self.failures[kind] = error
        self._changes.put(None)
