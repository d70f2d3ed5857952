# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Google APIs this collection uses, as plain JSON in and out.

Changes of GKE go through google-cloud-container (v1, REST transport), of Artifact Registry through
google-cloud-artifact-registry, which refuse a field that they do not know. Reads are plain GETs: a task
with nothing to change must not pay for importing those libraries (0.7 s and 1 s), and keeps fields that
are newer than they are. Reads are tried again a few times here; changes never are: whether one is worth
another try is decided in ``google_run.py``.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from .._core.clusters import FIELDS as CLUSTER_FIELDS
from .._core.node_pool_fields import FIELDS as NODE_POOL_FIELDS
from .._core.operations import (
    ADVICE,
    ErrorKind,
    Operation,
    container_operation,
    longrunning_operation,
    named_operation,
    refusal_kind,
    worth_another_try,
)
from .clock import Clock, SystemClock
from .google_access import Access, LibraryMissing, access

# For each method: the request class and the key of the path it acts on.
CLUSTER_CALLS: Mapping[str, tuple[str, str]] = {
    "create_cluster": ("CreateClusterRequest", "parent"),
    "update_cluster": ("UpdateClusterRequest", "name"),
    "delete_cluster": ("DeleteClusterRequest", "name"),
    "set_labels": ("SetLabelsRequest", "name"),
    "create_node_pool": ("CreateNodePoolRequest", "parent"),
    "update_node_pool": ("UpdateNodePoolRequest", "name"),
    "delete_node_pool": ("DeleteNodePoolRequest", "name"),
    "set_node_pool_autoscaling": ("SetNodePoolAutoscalingRequest", "name"),
    "set_node_pool_management": ("SetNodePoolManagementRequest", "name"),
    "set_node_pool_size": ("SetNodePoolSizeRequest", "name"),
}
REQUEST_SECONDS = 60
READ_PAUSES = (0.5, 1.0, 2.0, 4.0)
UNKNOWN_FIELD = re.compile(r'no field named "(\w+)"')


class GoogleError(Exception):
    """A request that Google refused.

    :param kind: one of the documented kinds, ``quota`` or ``permission`` for example.
    :param retryable: whether the same request may succeed later by itself.
    :param blocker: the name of the operation that is in the way, if the refusal names one.
    """

    def __init__(
        self,
        attempted: str,
        message: str,
        kind: ErrorKind = "other",
        *,
        http_status: int = 0,
        retryable: bool = False,
    ) -> None:
        self.attempted = attempted
        self.message = message
        self.kind = kind
        self.http_status = http_status
        self.retryable = retryable
        self.blocker = named_operation(message) if retryable else ""
        super().__init__(f"{attempted}: {message} ({kind}); {ADVICE[kind]}")


class NeedsNewerClient(Exception):
    """The installed client library is older than a field that was asked for."""

    def __init__(self, field: str, installed: str) -> None:
        known = {each.path.rpartition(".")[2]: each for each in (*CLUSTER_FIELDS, *NODE_POOL_FIELDS)}
        parents = {
            part: each
            for each in (*CLUSTER_FIELDS, *NODE_POOL_FIELDS)
            for part in each.path.split(".")
            if each.since
        }
        each = known.get(field) or parents.get(field)
        option = each.option if each else field
        since = f" >= {each.since}" if each and each.since else " of a newer release"
        super().__init__(f"option {option} needs google-cloud-container{since}; {installed} is installed")


class Google:
    """One project at Google (or at an address that speaks its APIs)."""

    def __init__(self, where: Access, clock: Clock | None = None) -> None:
        self.access = where
        self.clock = clock or SystemClock()
        self.project = where.project
        self._made: dict[str, Any] = {}

    @classmethod
    def connect(cls, options: Mapping[str, Any], clock: Clock | None = None) -> Google:
        """Return the project that the authentication options describe; no request is made yet."""
        return cls(access(options), clock)

    # Clusters and node pools

    def place(self, location: str) -> str:
        return f"projects/{self.project}/locations/{location}"

    def cluster_name(self, location: str, cluster: str) -> str:
        return f"{self.place(location)}/clusters/{cluster}"

    def pool_name(self, location: str, cluster: str, pool: str) -> str:
        return f"{self.cluster_name(location, cluster)}/nodePools/{pool}"

    def cluster(self, location: str, name: str) -> dict[str, Any] | None:
        """Return the Cluster message, ``None`` where it does not exist."""
        return self.find("container", f"/v1/{self.cluster_name(location, name)}")

    def node_pools(self, location: str, cluster: str) -> list[dict[str, Any]]:
        """Return the NodePool messages of a cluster."""
        answer = self.read("container", f"/v1/{self.cluster_name(location, cluster)}/nodePools")
        pools: list[dict[str, Any]] = answer.get("nodePools", [])
        return pools

    def group_sizes(self, pool: Mapping[str, Any]) -> list[int]:
        """Return the size each instance group of a NodePool message is to have, one group per zone.

        A NodePool does not show how many nodes it has.
        """
        links = pool.get("instanceGroupUrls", ())
        paths = [f"/compute/v1/projects/{link.partition('/projects/')[2]}" for link in links]
        return [int(self.read("compute", path).get("targetSize", 0)) for path in paths]

    def server_config(self, location: str) -> dict[str, Any]:
        """Return the ServerConfig message: the versions on offer."""
        return self.read("container", f"/v1/{self.place(location)}/serverConfig")

    def start(self, call: str, path: str, request: Mapping[str, Any]) -> Operation:
        """Make one changing call and return the operation it started.

        :param call: a key of ``CLUSTER_CALLS``.
        :param path: the full name of the object (of its parent, for a creation).
        :param request: the JSON body without the name.
        """
        kind, key = CLUSTER_CALLS[call]
        message = self._parsed(kind, {**request, key: path})
        answer = self._asked(
            f"{call.replace('_', ' ')} on",
            path,
            "container",
            lambda: getattr(self._gke, call)(**_once(request=message)),
        )
        return container_operation(answer)

    def operation(self, location: str, name: str) -> Operation:
        """Return a GKE operation as it is now."""
        return container_operation(self.read("container", f"/v1/{self.place(location)}/operations/{name}"))

    def operations(self, location: str) -> list[Operation]:
        """Return the GKE operations of a location, with those that ended lately."""
        answer = self.read("container", f"/v1/{self.place(location)}/operations")
        return [container_operation(each) for each in answer.get("operations", ())]

    def running_operations(self, location: str) -> list[Operation]:
        """Return the GKE operations of a location that are not done."""
        return [each for each in self.operations(location) if not each.done]

    # Artifact Registry

    def repository_name(self, location: str, name: str) -> str:
        return f"{self.place(location)}/repositories/{name}"

    def repository(self, location: str, name: str) -> dict[str, Any] | None:
        """Return the Repository message, ``None`` where it does not exist."""
        return self.find("artifactregistry", f"/v1/{self.repository_name(location, name)}")

    def change_repository(self, call: str, location: str, name: str, request: Mapping[str, Any]) -> Operation:
        """Make one changing call on a repository; an update is done when it returns."""
        path = self.repository_name(location, name)
        body: dict[str, Any] = {"name": path}
        if call == "create_repository":
            body = {**request, "parent": self.place(location), "repositoryId": name}
        elif call == "update_repository":
            body = {**request, "repository": {**request["repository"], "name": path}}
        message = self._parsed(_request_class(call), body, "google.cloud.artifactregistry_v1")

        def ask() -> Any:
            answer = getattr(self._registry, call)(**_once(request=message))
            return answer.operation if hasattr(answer, "operation") else answer

        answer = self._asked(f"{call.replace('_', ' ')}", path, "artifactregistry", ask)
        if call == "update_repository":
            return Operation(name=path, done=True)
        return longrunning_operation(answer)

    def repository_operation(self, name: str) -> Operation:
        """Return an Artifact Registry operation as it is now."""
        return longrunning_operation(self.read("artifactregistry", f"/v1/{name}"))

    # Plain requests

    def read(self, service: str, path: str) -> dict[str, Any]:
        """Return the JSON answer of a GET, ``read("compute", "/compute/v1/projects/p/regions/r")``.

        :raises GoogleError: with the kind of the refusal.
        """
        return self._again(lambda: self.send("GET", service, path))

    def find(self, service: str, path: str) -> dict[str, Any] | None:
        """Return the JSON answer of a GET, ``None`` where there is no such thing.

        :raises GoogleError: with the kind of any other refusal.
        """
        try:
            return self.read(service, path)
        except GoogleError as problem:
            if problem.kind == "not_found":
                return None
            raise

    def send(
        self, method: str, service: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the JSON answer to one request, which is not made a second time.

        :raises GoogleError: with the kind of the refusal.
        """
        url = f"{self.access.base(service)}{path}"
        attempted = f"{'read' if method == 'GET' else method} {path} of {service}"

        def ask() -> dict[str, Any]:
            answer = self._session.request(method, url, json=body, timeout=REQUEST_SECONDS)
            if not answer.ok:
                raise _refusal(attempted, answer.status_code, _error_body(answer))
            result: dict[str, Any] = answer.json()
            return result

        return self._reached(attempted, service, ask)

    def token(self) -> str:
        """Return an access token for the cluster's own API, good for about an hour; a secret."""
        credentials = self.access.credentials
        if not credentials.valid:
            from google.auth.transport.requests import Request  # noqa: PLC0415

            credentials.refresh(Request())
        return str(credentials.token or "")

    # How a request is made

    def _asked(self, attempted: str, path: str, service: str, ask: Callable[[], Any]) -> dict[str, Any]:
        from google.api_core.exceptions import GoogleAPICallError  # noqa: PLC0415

        what = f"{attempted} {path}"
        try:
            return self._reached(what, service, lambda: _json(ask()))
        except GoogleAPICallError as problem:
            response = problem.response
            body = {} if response is None else _error_body(response)
            raise _refusal(what, int(problem.code or 0), body or {"message": problem.message}) from None

    def _reached(self, attempted: str, service: str, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415
        from requests import RequestException  # noqa: PLC0415 - google-auth needs it, so it is there

        try:
            return ask()
        except GoogleAuthError as problem:
            raise GoogleError(attempted, f"no credentials: {type(problem).__name__}", "permission") from None
        except RequestException as problem:
            message = f"no answer from {self.access.base(service)}: {type(problem).__name__}"
            raise GoogleError(attempted, message, "unavailable", retryable=True) from None

    def _again(self, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        for pause in READ_PAUSES:
            try:
                return ask()
            except GoogleError as problem:
                if not problem.retryable:
                    raise
            self.clock.sleep(pause)
        return ask()

    def _parsed(self, kind: str, body: Mapping[str, Any], package: str = "google.cloud.container_v1") -> Any:
        """Return the request as the library's message; it refuses what it does not know."""
        json_format = _json_format()
        library = self._library(package)
        request_class = getattr(library, kind)
        request = request_class()
        try:
            json_format.ParseDict(body, request_class.pb(request))
        except json_format.ParseError as problem:
            unknown = UNKNOWN_FIELD.search(str(problem))
            if unknown:
                version = str(getattr(library, "__version__", "an older release"))
                raise NeedsNewerClient(unknown[1], version) from None
            raise GoogleError(f"build {kind}", str(problem), "invalid") from None
        return request

    def _library(self, package: str) -> Any:
        try:
            return importlib.import_module(package)
        except ImportError as problem:
            name = package.rpartition(".")[2].removesuffix("_v1")
            distribution = {"artifactregistry": "artifact-registry"}.get(name, name)
            raise LibraryMissing(f"google-cloud-{distribution}", problem) from problem

    @property
    def _gke(self) -> Any:
        return self._client("google.cloud.container_v1", "ClusterManagerClient")

    @property
    def _registry(self) -> Any:
        return self._client("google.cloud.artifactregistry_v1", "ArtifactRegistryClient")

    def _client(self, package: str, name: str) -> Any:
        if name not in self._made:
            self._made[name] = getattr(self._library(package), name)(
                credentials=self.access.credentials,
                transport="rest",
                client_options=self.access.client_options,
            )
        return self._made[name]

    @property
    def _session(self) -> Any:
        if "session" not in self._made:
            from google.auth.transport.requests import AuthorizedSession  # noqa: PLC0415

            self._made["session"] = AuthorizedSession(self.access.credentials)
        return self._made["session"]


def _once(**arguments: Any) -> dict[str, Any]:
    """Return the arguments of a call that the client library must not repeat by itself."""
    return {**arguments, "retry": None, "timeout": REQUEST_SECONDS}


def _request_class(call: str) -> str:
    return "".join(part.title() for part in call.split("_")) + "Request"


def _json(message: Any) -> dict[str, Any]:
    plain = type(message).pb(message) if hasattr(type(message), "pb") else message
    result: dict[str, Any] = _json_format().MessageToDict(plain)
    return result


def _json_format() -> Any:
    return importlib.import_module("google.protobuf.json_format")  # it comes without types


def _error_body(response: Any) -> dict[str, Any]:
    try:
        error = response.json().get("error", {})
    except (ValueError, AttributeError):
        return {"message": f"HTTP {response.status_code} {response.reason}"}
    return dict(error) if isinstance(error, Mapping) else {"message": str(error)}


def _refusal(attempted: str, http_status: int, error: Mapping[str, Any]) -> GoogleError:
    message = str(error.get("message") or "no message")
    infos = [each for each in error.get("details", ()) if each.get("reason")]
    reason = infos[0]["reason"] if infos else ""
    return GoogleError(
        attempted,
        message,
        refusal_kind(http_status, reason, message),
        http_status=http_status,
        retryable=worth_another_try(http_status, reason, message),
    )
