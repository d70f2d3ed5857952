# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for objects of a real API server without polling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    NODES,
    Kubernetes,
    Resource,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.watching import Watching


def seen(
    api: Kubernetes,
    kind: Resource,
    holds: Callable[[list[dict[str, Any]]], object],
    what: str,
    *,
    namespace: str = "",
    seconds: float = 60.0,
) -> list[dict[str, Any]]:
    """Return the objects of a kind as soon as they are what is expected, woken by each change."""
    known: dict[str, dict[str, Any]] = {}
    for news in api.within(Deadline(SystemClock(), seconds)).follow(kind, namespace):
        if isinstance(news, list):
            known = {each["metadata"]["uid"]: each for each in news}
        elif news.type == "DELETED":
            known.pop(news.object["metadata"]["uid"], None)
        elif news.type != "BOOKMARK":
            known[news.object["metadata"]["uid"]] = news.object
        if holds(list(known.values())):
            return list(known.values())
    raise AssertionError(f"{what}: not within {seconds:g} s; there is {list(known.values())}")


def until(watching: Watching, holds: Callable[[], object], seconds: float = 20.0) -> None:
    """Return as soon as the condition holds, asked again at each change of what is watched."""
    deadline = Deadline(SystemClock(), seconds)
    while not holds():
        assert not deadline.expired, f"the change did not come within {seconds:g} s"
        watching.wait(deadline.remaining)


def open_nodes(api: Kubernetes, *names: str) -> None:
    """Return once the nodes take pods: a new one is tainted until it is ready.

    A pod made before that goes to whichever node was ready first.
    """

    def are_open(nodes: list[dict[str, Any]]) -> bool:
        return {*names} <= {each["metadata"]["name"] for each in nodes if not each["spec"].get("taints")}

    seen(api, NODES, are_open, f"nodes {', '.join(names)} without a taint")
