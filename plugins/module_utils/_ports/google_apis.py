# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Google's APIs as ``google_run.carry_out`` needs them: start a step, look at an operation."""

from __future__ import annotations

from typing import Any

from .._core.change import Step
from .._core.operations import Operation, compute_operation
from .google import Google

CREATIONS = ("CREATE_CLUSTER", "CREATE_NODE_POOL")
DELETIONS = ("DELETE_CLUSTER", "DELETE_NODE_POOL")


class Gke:
    """One cluster and its node pools."""

    def __init__(self, google: Google, location: str, cluster: str) -> None:
        self.google = google
        self.location = location
        self.cluster = cluster

    def start(self, step: Step) -> Operation:
        google, where = self.google, self.location
        if step.call == "create_cluster":
            path = google.place(where)
        elif step.call == "create_node_pool" or not step.call.endswith(POOL_CALLS):
            path = google.cluster_name(where, self.cluster)
        else:
            path = google.pool_name(where, self.cluster, step.name)
        return google.start(step.call, path, step.request)

    def look(self, operation: str) -> Operation:
        return self.google.operation(self.location, operation)

    def running(self, step: Step) -> Operation | None:
        types = {"create": CREATIONS, "delete": DELETIONS, "update": ()}[step.action]
        return next((each for each in self.operations_on(step.name) if each.type in types), None)

    def operations_on(self, name: str) -> list[Operation]:
        """Return the running operations on a node pool, or on the cluster itself by its own name."""
        running = self.google.running_operations(self.location)
        return [each for each in running if each.target == self._target(name)]

    def failed_creation(self, name: str) -> Operation | None:
        """Return the operation that created a node pool, where that failed and Google still knows it."""
        creations = [
            each
            for each in self.google.operations(self.location)
            if each.target == self._target(name) and each.type == "CREATE_NODE_POOL"
        ]
        latest = max(creations, key=lambda each: each.name, default=None)  # the name begins with its time
        return latest if latest and latest.failed else None

    def _target(self, name: str) -> str:
        return f"clusters/{self.cluster}" + (f"/nodePools/{name}" if name != self.cluster else "")


POOL_CALLS = ("node_pool", "node_pool_autoscaling", "node_pool_management", "node_pool_size")


class Registry:
    """One repository."""

    def __init__(self, google: Google, location: str) -> None:
        self.google = google
        self.location = location

    def start(self, step: Step) -> Operation:
        return self.google.change_repository(step.call, self.location, step.name, step.request)

    def look(self, operation: str) -> Operation:
        return self.google.repository_operation(operation)

    def running(self, step: Step) -> Operation | None:  # noqa: ARG002 - one shape for both APIs
        return None  # this API has no list of operations


class Policies:
    """The resource policies of one region of Compute Engine."""

    def __init__(self, google: Google, region: str) -> None:
        self.google = google
        self.region = f"/compute/v1/projects/{google.project}/regions/{region}"

    def policy(self, name: str) -> dict[str, Any] | None:
        """Return the ResourcePolicy message, ``None`` where it does not exist."""
        return self.google.find("compute", f"{self.region}/resourcePolicies/{name}")

    def start(self, step: Step) -> Operation:
        path = f"{self.region}/resourcePolicies"
        if step.action == "delete":
            answer = self.google.send("DELETE", "compute", f"{path}/{step.name}")
        else:
            answer = self.google.send("POST", "compute", path, step.request)
        return compute_operation(answer)

    def look(self, operation: str) -> Operation:
        return compute_operation(self.google.read("compute", f"{self.region}/operations/{operation}"))

    def running(self, step: Step) -> Operation | None:  # noqa: ARG002 - one shape for all APIs
        return None  # these operations take a second
