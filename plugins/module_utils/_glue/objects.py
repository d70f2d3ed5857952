# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a module's objects come from: a live cluster, or a dump that was recorded from one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from ansible_collections.inference.dra.plugins.module_utils._core.objects import parse_time, split
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    Kubernetes,
    NotFound,
    Resource,
)

from .result import ModuleFailure

NOT_SERVED = "ApiNotServed"


class Source(Protocol):
    """Reads the objects of a kind; an absent API is an empty one."""

    is_complete: bool
    """Whether a kind of which nothing is found has no objects; a dump may just not hold them."""

    def read(
        self, resource: Resource, namespace: str = "", labels: Mapping[str, str] | None = None
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the objects of a namespace, or of all of them; only those that have the labels."""


class Cluster:
    """The objects of a live cluster."""

    is_complete = True

    def __init__(self, api: Kubernetes) -> None:
        self.api = api

    def read(
        self, resource: Resource, namespace: str = "", labels: Mapping[str, str] | None = None
    ) -> Iterator[Mapping[str, Any]]:
        selector = ",".join(f"{name}={value}" for name, value in (labels or {}).items())
        try:
            yield from self.api.list(resource, namespace, selector)
        except NotFound as error:
            if resource.group == "resource.k8s.io":
                raise self._not_served(resource) from error

    def _not_served(self, resource: Resource) -> ModuleFailure:
        try:
            group = self.api.request("GET", f"/apis/{resource.group}")
            versions = ", ".join(version["version"] for version in group["versions"])
        except NotFound:
            versions = "none"
        return ModuleFailure(
            f"Listing {resource.plural}: the cluster serves {resource.group} in versions: {versions}; "
            f"{resource.version} is needed. Kubernetes 1.34 and newer serve it.",
            NOT_SERVED,
        )


class Dump:
    """Recorded objects: ``kubectl get -o yaml`` output, Lists, or single objects, in any mixture."""

    is_complete = False

    def __init__(self, objects: Sequence[Any]) -> None:
        self._by_kind = split(objects)

    def read(
        self, resource: Resource, namespace: str = "", labels: Mapping[str, str] | None = None
    ) -> Iterator[Mapping[str, Any]]:
        for item in self._by_kind.get(resource.kind, []):
            meta = item.get("metadata", {})
            has = (meta.get("labels") or {}).items()
            if namespace in ("", meta.get("namespace", "default")) and (labels or {}).items() <= has:
                yield item


def source_from(
    params: Mapping[str, Any], clock: Clock, environment: Mapping[str, str] | None = None
) -> tuple[Source, datetime]:
    """Return where to read from and the time to judge by, as the options ``objects`` and ``now`` say."""
    now = clock.now()
    if params["now"]:
        parsed = parse_time(params["now"])
        if parsed is None:
            raise ModuleFailure(
                f"The option now is {params['now']!r}; a time such as 2026-08-01T12:00:00Z is needed.",
                "InvalidInput",
            )
        now = parsed
    if params["objects"] is None:
        return Cluster(Kubernetes.connect(params, clock, environment)), now
    return Dump(load_dump(params["objects"])), now


def load_dump(value: Any) -> list[Any]:
    """Return recorded objects given outright, or as the path of a YAML or JSON file."""
    if not isinstance(value, str):
        return list(value) if isinstance(value, (list, tuple)) else [value]
    path = Path(value).expanduser()
    try:
        text = path.read_text()
    except OSError as error:
        raise ModuleFailure(
            f"Reading recorded objects: {path} can't be read ({error.strerror}). "
            "Give the path of a file that kubectl wrote with -o yaml, or the objects themselves.",
            "DumpUnreadable",
        ) from error
    import yaml  # noqa: PLC0415 - a module must start without it, to say that it is missing

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return [document for document in yaml.load_all(text, Loader=loader) if document]
    except yaml.YAMLError as error:
        raise ModuleFailure(
            f"Reading recorded objects: {path} is neither YAML nor JSON ({error}).", "DumpUnreadable"
        ) from error
