# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""With the last cluster goes everything that its users put into Kubernetes, as at Google.

All clusters of a lab share one control plane, which outlives them. So it is remembered what was there
before the first cluster, and the end of the last one takes away the rest.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    Kubernetes,
    KubernetesError,
    NotFound,
    Resource,
)

from .google.cloud import Cloud
from .google.records import Cluster
from .work import Context

SWEEP_SECONDS = 60.0
"""Real seconds after which the cluster's end is reported even where something is left."""
PAUSE_SECONDS = 0.2
"""Real seconds between two looks: Kubernetes' own garbage collector needs some."""
MACHINES = "nodes"  # they come and go with their node pools
TWICE = "events.k8s.io"  # the same objects as the core API's events
OWNERS = ("apps", "batch")
EMPTIED_FIRST = ("customresourcedefinitions", "namespaces")
"""Kinds whose objects go by themselves once what is in them has gone."""
ALWAYS_THERE = {("configmaps", "kube-root-ca.crt"), ("serviceaccounts", "default")}
"""What Kubernetes' controllers make in every namespace, again and again."""
AUTOMATIC = "kube-aggregator.kubernetes.io/automanaged"

Object = Mapping[str, Any]


class Emptying:
    """Makes the end of the last cluster wait until Kubernetes is as it was before the first.

    :param file: where what was there is remembered, across restarts of this process; without it in memory.
    """

    def __init__(self, context: Context, cloud: Cloud, file: Path | None = None) -> None:
        self._context = context
        self._cloud = cloud
        self._file = file
        self._there: frozenset[str] = frozenset()
        self._sweeping: threading.Thread | None = None
        cloud.before_end.append(self._is_empty)

    def remember(self) -> None:
        """Take down what is there, unless an earlier process of this lab did."""
        if self._file and self._file.exists():
            self._there = frozenset(json.loads(self._file.read_text()))
            return
        api = self._context.kube
        self._there = frozenset(key_of(kind, each) for kind in kinds(api) for each in api.list(kind))
        if self._file:
            fresh = self._file.with_suffix(".new")
            fresh.write_text(json.dumps(sorted(self._there)))
            fresh.replace(self._file)

    def _is_empty(self, cluster: Cluster) -> bool:
        """Return whether a cluster may end now; called again and again, with Google's lock held."""
        if any(other is not cluster for other in self._cloud.state.clusters.values()):
            return True
        if self._sweeping is None:
            self._sweeping = threading.Thread(target=self._sweep, name="emptying", daemon=True)
            self._sweeping.start()
        if self._sweeping.is_alive():
            return False
        self._sweeping = None
        return True

    def _sweep(self) -> None:
        clock = self._context.loop.clock
        deadline = Deadline(clock, SWEEP_SECONDS)
        api = self._context.kube.within(deadline)
        left, looks = "everything", 0
        while not deadline.expired:
            with suppress(KubernetesError):
                found = list(self._rest(api))
                if not found:
                    self._context.say("the last cluster is empty")
                    return
                left = ", ".join(f"{kind.plural} {each['metadata']['name']}" for kind, each in found[:5])
                take_away(api, found, self._there, insist=looks > 0)
                looks += 1
            clock.sleep(PAUSE_SECONDS)
        self._context.say(f"the last cluster goes with {left} and maybe more left behind")

    def _rest(self, api: Kubernetes) -> Iterator[tuple[Resource, Object]]:
        """Yield what was not there before the first cluster."""
        for kind in kinds(api):
            for each in api.list(kind):
                if key_of(kind, each) not in self._there and not is_automatic(kind, each):
                    yield kind, each


def kinds(api: Kubernetes) -> list[Resource]:
    """Return the kinds of object that can be listed and deleted, those first whose objects make others."""
    found = list(kinds_in(api, "", "v1"))
    for group in api.request("GET", "/apis")["groups"]:
        if group["name"] != TWICE:
            found += kinds_in(api, group["name"], group["preferredVersion"]["version"])
    return sorted(found, key=lambda kind: kind.group not in OWNERS)


def kinds_in(api: Kubernetes, group: str, version: str) -> Iterator[Resource]:
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    try:
        resources = api.request("GET", path)["resources"]
    except NotFound:
        return  # its definition has just been deleted
    for each in resources:
        if {"list", "delete"} <= {*each["verbs"]} and each["name"] != MACHINES:
            yield Resource(group, version, each["name"], each["kind"], namespaced=each["namespaced"])


def key_of(kind: Resource, obj: Object) -> str:
    return "/".join((kind.group, kind.plural, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]))


def is_automatic(kind: Resource, obj: Object) -> bool:
    """Return whether Kubernetes itself makes such an object and would make it again."""
    meta = obj["metadata"]
    return (kind.plural, meta["name"]) in ALWAYS_THERE or AUTOMATIC in (meta.get("labels") or {})


def take_away(
    api: Kubernetes, found: list[tuple[Resource, Object]], there: frozenset[str], *, insist: bool
) -> None:
    """Delete objects, all of a kind and namespace at once where nothing of them has to stay.

    :param insist: delete also what the garbage collector should have, and clear the finalizers of what
        waits for a controller that is gone.
    """
    stays = {key.rpartition("/")[0] for key in there}
    together: dict[tuple[Resource, str], list[Object]] = defaultdict(list)
    for kind, each in found:
        together[kind, each["metadata"].get("namespace", "")].append(each)
    for (kind, namespace), objects in together.items():
        everything = f"{kind.group}/{kind.plural}/{namespace}" not in stays
        with suppress(NotFound):
            if everything and not any(is_automatic(kind, each) for each in objects):
                api.request("DELETE", kind.path(namespace), {"gracePeriodSeconds": 0})
            else:
                delete(api, kind, objects)
            if insist and kind.plural not in EMPTIED_FIRST:
                release(api, kind, objects)


def delete(api: Kubernetes, kind: Resource, objects: list[Object]) -> None:
    for each in objects:
        with suppress(NotFound):
            api.delete(kind, each["metadata"]["name"], each["metadata"].get("namespace", ""))


def release(api: Kubernetes, kind: Resource, objects: list[Object]) -> None:
    """Clear the finalizers of objects that are being deleted."""
    for each in objects:
        meta = each["metadata"]
        if "deletionTimestamp" in meta and meta.get("finalizers"):
            with suppress(NotFound):
                patch = {"metadata": {"finalizers": None}}
                api.merge_patch(kind, meta["name"], patch, meta.get("namespace", ""))
