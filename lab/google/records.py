# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the simulated Google remembers, as dataclasses that turn into JSON and back.

Times are Unix seconds. Messages are API messages (JSON names). Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass
class NodePool:
    """A node pool: its API message and its machines, counted per zone.

    ``wanted`` is the size of each zone's instance group. ``ready`` counts nodes that are Ready and
    made from the template ``revision``.
    """

    message: Json
    wanted: dict[str, int] = field(default_factory=dict)
    ready: dict[str, int] = field(default_factory=dict)
    revision: int = 1

    @property
    def settled(self) -> bool:
        """Say whether the machines are what is wanted."""
        return all(
            self.ready.get(zone, 0) == self.wanted.get(zone, 0) for zone in {*self.ready, *self.wanted}
        )


@dataclass
class Cluster:
    """A cluster; ``message`` is without its node pools, which are records of their own."""

    location: str
    name: str
    message: Json
    pools: dict[str, NodePool] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.location}/{self.name}"


@dataclass
class Operation:
    """A long-running operation on a cluster.

    ``exclusive`` operations allow no other on the cluster. ``result`` is the message that its
    target gets at the end. With ``waits`` it ends only when the machines are there (or gone).
    """

    name: str
    type: str
    location: str
    cluster: str
    pool: str
    started: float
    due: float
    exclusive: bool = True
    waits: bool = False
    result: Json | None = None
    status: str = "RUNNING"
    ended: float = 0.0
    error: Json | None = None
    conditions: list[Json] = field(default_factory=list)

    @property
    def done(self) -> bool:
        return self.status == "DONE"


@dataclass
class State:
    """Everything; ``to_json`` and ``from_json`` are inverse."""

    serial: int = 0
    clusters: dict[str, Cluster] = field(default_factory=dict)
    operations: dict[str, Operation] = field(default_factory=dict)
    repositories: dict[str, Json] = field(default_factory=dict)
    repository_operations: dict[str, Json] = field(default_factory=dict)
    policies: dict[str, Json] = field(default_factory=dict)

    def to_json(self) -> Json:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> State:
        state = cls(**data)
        state.clusters = {
            key: Cluster(**{**item, "pools": {n: NodePool(**p) for n, p in item["pools"].items()}})
            for key, item in data["clusters"].items()
        }
        state.operations = {name: Operation(**item) for name, item in data["operations"].items()}
        return state
