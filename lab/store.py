# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab last saw of the cluster: one list and watch per kind, read without asking again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    Event,
    Kubernetes,
    KubernetesError,
    NotFound,
    Resource,
)

from .loop import Loop

Object = dict[str, Any]
Key = tuple[str, str]

PAUSE_SECONDS = 1.0
"""Real seconds before a list and watch that failed is begun again (an API server takes ~3 s to start)."""


@dataclass(frozen=True)
class Change:
    """One object as it was and as it is; ``None`` where it was not there or is no more."""

    resource: Resource
    before: Object | None
    after: Object | None

    @property
    def object(self) -> Object:
        found = self.after if self.after is not None else self.before
        assert found is not None  # noqa: S101 - a change is of something
        return found

    @property
    def gone(self) -> bool:
        return self.after is None


Listener = Callable[[Change], None]


class Store:
    """Objects by kind, namespace and name; only the loop's thread reads and changes it."""

    def __init__(self) -> None:
        self._objects: dict[Resource, dict[Key, Object]] = {}
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Have every later change told to ``listener``."""
        self._listeners.append(listener)

    def get(self, resource: Resource, name: str, namespace: str = "") -> Object | None:
        return self._objects.get(resource, {}).get((namespace, name))

    def knows(self, resource: Resource) -> bool:
        """Return whether this kind has been listed at all: before that, absence means nothing."""
        return resource in self._objects

    def all(self, resource: Resource) -> Iterator[Object]:
        yield from list(self._objects.get(resource, {}).values())

    def replace(self, resource: Resource, objects: Iterable[Object]) -> None:
        """Take a whole list: what is missing from it is gone."""
        found = {key_of(each): each for each in objects}
        known = self._objects.setdefault(resource, {})
        for key in [key for key in known if key not in found]:
            self.put(resource, known[key], gone=True)
        for each in found.values():
            self.put(resource, each)

    def put(self, resource: Resource, obj: Object, *, gone: bool = False) -> None:
        """Take one object as changed, or as gone."""
        known = self._objects.get(resource)
        if known is None:
            return  # the list that is still to come has it
        key = key_of(obj)
        before = known.get(key)
        if gone:
            if before is None:
                return
            del known[key]
        elif before is not None and version_of(before) == version_of(obj):
            return
        else:
            known[key] = obj
        change = Change(resource, before, None if gone else obj)
        for listener in self._listeners:
            listener(change)


def key_of(obj: Mapping[str, Any]) -> Key:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def version_of(obj: Mapping[str, Any]) -> str:
    version: str = obj["metadata"].get("resourceVersion", "")
    return version


def watch(kube: Kubernetes, resources: Iterable[Resource], store: Store, loop: Loop) -> None:
    """Keep ``store`` up to date with ``resources``: a sleeping thread per kind, news through the loop."""
    for resource in resources:
        threading.Thread(
            target=follow,
            args=(kube, resource, store, loop),
            name=f"watch-{resource.plural}",
            daemon=True,
        ).start()


def follow(kube: Kubernetes, resource: Resource, store: Store, loop: Loop) -> None:
    """Follow one kind for ever, across restarts of the API server and absent definitions."""
    while True:
        try:
            for news in kube.follow(resource):
                loop.post(told(store, resource, news))
        except NotFound:
            loop.post(told(store, resource, []))
        except KubernetesError:
            pass
        pause(loop.clock)


def pause(clock: Clock) -> None:
    clock.sleep(PAUSE_SECONDS)


def told(store: Store, resource: Resource, news: list[Object] | Event) -> Callable[[], None]:
    """Return the action that takes one piece of news."""

    def take() -> None:
        if isinstance(news, list):
            store.replace(resource, news)
        elif news.type != "BOOKMARK":
            store.put(resource, news.object, gone=news.type == "DELETED")

    return take
