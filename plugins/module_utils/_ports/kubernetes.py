# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A light way to the Kubernetes API: plain mappings in and out, pages, watches, one deadline.

Source of the rules: Kubernetes API concepts (chunked lists, watch bookmarks, 410 Gone), API
conventions (Status, Retry-After), server-side apply.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from .clock import Clock, Deadline, SystemClock
from .connection import Connection, resolve
from .errors import (
    Conflict,
    DeadlineExceeded,
    Forbidden,
    Gone,
    KubernetesError,
    NotFound,
    Unreachable,
    error_from,
    error_of,
)
from .listing import Listing
from .resources import (
    CLAIM_TEMPLATES,
    CLAIMS,
    COMPUTE_CLASSES,
    DAEMON_SETS,
    DEPLOYMENTS,
    DEVICE_CLASSES,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    REPLICA_SETS,
    RESOURCE_QUOTAS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SLICES,
    Resource,
)
from .transport import NoAnswer, Transport, retry_after

__all__ = [
    "CLAIMS",
    "CLAIM_TEMPLATES",
    "COMPUTE_CLASSES",
    "DAEMON_SETS",
    "DEPLOYMENTS",
    "DEVICE_CLASSES",
    "EVENTS",
    "LEASES",
    "NAMESPACES",
    "NODES",
    "PODS",
    "REPLICA_SETS",
    "RESOURCE_QUOTAS",
    "SECRETS",
    "SERVICE_ACCOUNTS",
    "SLICES",
    "Conflict",
    "DeadlineExceeded",
    "Event",
    "Forbidden",
    "Gone",
    "Kubernetes",
    "KubernetesError",
    "Listing",
    "NotFound",
    "Resource",
    "Unreachable",
]

REQUEST_SECONDS = 60.0
"""The longest that one ordinary request may take, whatever the deadline leaves."""
WATCH_SECONDS = 300
"""How long a watch is asked to run before the server ends it and it is taken up again."""
RETRY_SECONDS = 30.0
"""How long a failing request is repeated where no deadline was given."""
BACKOFF_FIRST_SECONDS, BACKOFF_MOST_SECONDS = 0.1, 5.0
NOT_FOUND = 404
RETRIED = (429, 500, 502, 503, 504)
NEVER_HALF_DONE = (429, 503)
"""Answers after which a POST may be repeated: the server says that it did not begin."""
JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

Body = Mapping[str, Any]
Items = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Event:
    """One change seen by a watch: ``ADDED``, ``MODIFIED``, ``DELETED`` or ``BOOKMARK``."""

    type: str
    object: dict[str, Any]


class Kubernetes:
    """The Kubernetes API over one connection.

    Every request is repeated with backoff and jitter after 429, 5xx and connection errors until the
    deadline, never after 400, 401, 403 or 404. All methods raise ``KubernetesError``.
    """

    def __init__(self, connection: Connection, clock: Clock, deadline: Deadline | None = None) -> None:
        self.connection = connection
        self._clock = clock
        self._deadline = deadline
        self._transport = Transport(connection)

    @classmethod
    def connect(
        cls,
        auth: Mapping[str, Any],
        clock: Clock | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Kubernetes:
        """Return the API that kubernetes.core's options and variables lead to."""
        return cls(resolve(auth, environment), clock or SystemClock())

    def within(self, deadline: Deadline) -> Kubernetes:
        """Return the same connection with one deadline for everything that is asked through it."""
        other = object.__new__(Kubernetes)
        other.connection, other._clock = self.connection, self._clock
        other._deadline, other._transport = deadline, self._transport
        return other

    def pause(self, seconds: float) -> None:
        """Let time pass, but no more than the deadline leaves; raise when it has passed."""
        self._clock.sleep(self._remaining(seconds))
        self._check_deadline("waiting")

    # Reading

    def get(self, resource: Resource, name: str, namespace: str = "") -> dict[str, Any]:
        return self.request("GET", resource.path(namespace, name))

    def list(
        self,
        resource: Resource,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> Listing:
        path = resource.path(namespace)
        return Listing(
            lambda query: self.request("GET", path, query=query),
            resource,
            selectors(label_selector, field_selector),
        )

    def watch(
        self,
        resource: Resource,
        resource_version: str,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> Iterator[Event]:
        """Yield changes after ``resource_version`` until the deadline, across reconnections.

        :raises Gone: where the version is too old; list and watch again (``follow`` does it).
        :raises DeadlineExceeded: when the deadline passes.
        """
        version = resource_version
        query = selectors(label_selector, field_selector)
        path = resource.path(namespace)
        attempt = 0
        while True:
            self._check_deadline(f"WATCH {path}")
            seconds = int(min(WATCH_SECONDS, self._remaining(WATCH_SECONDS))) + 1
            query |= {
                "watch": "1",
                "allowWatchBookmarks": "true",
                "resourceVersion": version,
                "timeoutSeconds": str(seconds),
            }
            begun = False
            for event in self._stream(path, query, attempt):
                version = event.object["metadata"]["resourceVersion"]
                begun = True
                yield event
            attempt = 0 if begun else attempt + 1

    def follow(
        self,
        resource: Resource,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> Iterator[Items | Event]:
        """Yield the whole list, then changes; the whole list again whenever history was lost."""
        while True:
            listing = self.list(resource, namespace, label_selector, field_selector)
            try:
                yield [*listing]
                yield from self.watch(
                    resource, listing.resource_version, namespace, label_selector, field_selector
                )
            except Gone:
                continue

    # Writing

    def create(
        self, resource: Resource, body: Body, namespace: str = "", *, dry_run: bool = False
    ) -> dict[str, Any]:
        return self.request("POST", resource.path(namespace), body, query=dry(dry_run=dry_run))

    def apply(
        self,
        resource: Resource,
        body: Body,
        namespace: str = "",
        field_manager: str = "inference.dra",
        subresource: str = "",
        *,
        force: bool = False,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Server-side apply: own exactly the fields in ``body``, leave all others alone."""
        query = dry(dry_run=dry_run) | {"fieldManager": field_manager}
        if force:
            query["force"] = "true"
        path = resource.path(namespace, body["metadata"]["name"], subresource)
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        return self.request("PATCH", path, whole, query=query, content_type=APPLY_PATCH)

    def merge_patch(
        self,
        resource: Resource,
        name: str,
        patch: Body,
        namespace: str = "",
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        path, query = resource.path(namespace, name, subresource), dry(dry_run=dry_run)
        return self.request("PATCH", path, patch, query=query, content_type=MERGE_PATCH)

    def json_patch(
        self,
        resource: Resource,
        name: str,
        operations: Sequence[Body],
        namespace: str = "",
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        path, query = resource.path(namespace, name, subresource), dry(dry_run=dry_run)
        return self.request("PATCH", path, list(operations), query=query, content_type=JSON_PATCH)

    def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        uid: str = "",
        grace_seconds: int | None = None,
        *,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"propagationPolicy": "Background"}
        if uid:
            body["preconditions"] = {"uid": uid}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        return self.request("DELETE", resource.path(namespace, name), body, query=dry(dry_run=dry_run))

    # Transport

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Body | None = None,
        content_type: str = JSON,
        *,
        retried: Sequence[int] | None = None,
    ) -> dict[str, Any]:
        """Return the decoded answer of one request, repeated where that is safe, or after ``retried``."""
        attempt, attempted = 0, f"{method} {path}"
        limit = self._deadline or Deadline(self._clock, RETRY_SECONDS)
        while True:
            self._check_deadline(attempted)
            seconds = max(0.05, min(REQUEST_SECONDS, self._remaining(REQUEST_SECONDS)))
            text = None if body is None else encode(body)
            try:
                answer = self._transport.send(
                    method, self._url(path, query), text, self._headers(content_type), seconds
                )
            except NoAnswer as error:
                failure: KubernetesError = Unreachable(attempted, 0, "NoAnswer", str(error))
                if method == "POST" and error.begun:
                    raise failure from error
                self._pause(attempt, 0.0, limit, failure)
            else:
                if answer.is_ok:
                    decoded: dict[str, Any] = json.loads(answer.data) if answer.data else {}
                    return decoded
                if attempt and method == "DELETE" and answer.status == NOT_FOUND:
                    return {}  # an earlier try got through, and its answer did not
                failure = error_from(attempted, answer.status, answer.data)
                safe = (NEVER_HALF_DONE if method == "POST" else RETRIED) if retried is None else retried
                if answer.status not in safe:
                    raise failure
                self._pause(attempt, retry_after(answer.headers), limit, failure)
            attempt += 1

    def _stream(self, path: str, query: Body, attempt: int) -> Iterator[Event]:
        """Yield the events of one connection; pause before the next where this one failed."""
        attempted = f"WATCH {path}"
        seconds = self._remaining(float(WATCH_SECONDS)) + 1
        try:
            with self._transport.stream(self._url(path, query), self._headers(JSON), seconds) as answer:
                if not answer.is_ok:
                    failure = error_from(attempted, answer.status, answer.data)
                    if answer.status not in RETRIED:
                        raise failure
                    self._pause(attempt, retry_after(answer.headers), self._limit(), failure)
                    return
                for line in answer.lines:
                    attempt = 0
                    yield event_from(attempted, json.loads(line))
        except NoAnswer as error:
            # A watch that breaks is taken up again from the last version seen.
            self._pause(attempt, 0.0, self._limit(), Unreachable(attempted, 0, "NoAnswer", str(error)))

    def _limit(self) -> Deadline:
        return self._deadline or Deadline(self._clock, RETRY_SECONDS)

    def _pause(self, attempt: int, asked: float, limit: Deadline, failure: KubernetesError) -> None:
        """Wait before the next try; raise ``failure`` where no time is left for one."""
        most = min(BACKOFF_MOST_SECONDS, BACKOFF_FIRST_SECONDS * 2**attempt)
        seconds = asked or most * (0.5 + random.random() / 2)  # noqa: S311 - jitter, not a secret
        if seconds >= limit.remaining:
            raise failure
        self._clock.sleep(seconds)

    def _remaining(self, most: float) -> float:
        return min(most, self._deadline.remaining) if self._deadline else most

    def _check_deadline(self, attempted: str) -> None:
        if self._deadline and self._deadline.expired:
            raise DeadlineExceeded(
                attempted, 0, "DeadlineExceeded", f"{self._deadline.seconds:g} seconds have passed"
            )

    def _url(self, path: str, query: Body | None) -> str:
        return self.connection.host + path + (f"?{urlencode(query)}" if query else "")

    def _headers(self, content_type: str) -> Sequence[tuple[str, str]]:
        headers = [("Accept", JSON), ("Content-Type", content_type), ("User-Agent", "inference.dra")]
        authorization = self.connection.token()
        if authorization:
            headers.append(("Authorization", authorization))
        return [*headers, *self.connection.headers]


def encode(body: Any) -> str:
    """Return JSON as Go writes it.

    The API server keeps opaque parameters as the bytes they came in and compares them on every later
    write. A client that decodes and encodes an object leaves them alone only if they were as Go's own
    encoder writes them: compact, with sorted keys.
    """
    return json.dumps(body, separators=(",", ":"), sort_keys=True)


def selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    query = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {name: value for name, value in query.items() if value}


def dry(*, dry_run: bool) -> dict[str, str]:
    return {"dryRun": "All"} if dry_run else {}


def event_from(attempted: str, message: dict[str, Any]) -> Event:
    body = message["object"]
    if message["type"] == "ERROR":
        raise error_of(attempted, int(body.get("code", 0)), body)
    return Event(message["type"], body)
