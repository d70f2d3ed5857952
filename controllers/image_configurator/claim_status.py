# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a driver's entries of a claim's ``status.devices``, and nothing else of the claim."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.errors import (
    Conflict,
    Unreachable,
    error_from,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import Kubernetes
from ansible_collections.inference.dra.plugins.module_utils._ports.resources import CLAIMS
from ansible_collections.inference.dra.plugins.module_utils._ports.transport import (
    Answer,
    NoAnswer,
    Transport,
)

from .claim_bytes import claim_uid, still_allocates, with_devices
from .contract import COMPONENT

PROTOBUF = "application/vnd.kubernetes.protobuf"
JSON = "application/json"
SECONDS = 10.0


class ClaimStatus:
    """Claim statuses behind the same connection as ``api``, in protobuf (see ``claim_bytes``)."""

    def __init__(self, api: Kubernetes, field_manager: str = COMPONENT) -> None:
        self._field_manager = field_manager
        self._connection = api.connection
        self._transport = Transport(api.connection)

    def write_devices(
        self, namespace: str, name: str, uid: str, entries: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Return the claim after ``entries`` were written.

        :raises Conflict: where the claim is another one than ``uid``, has another allocation than
            the entries name, or changed between reading and writing.
        :raises KubernetesError: for every other refusal.
        """
        path = CLAIMS.path(namespace, name)
        # From the server's cache, as the watch that showed the allocation; if that is late, the
        # write is refused and tried again.
        current = self._exchange("GET", f"{path}?resourceVersion=0", None, PROTOBUF)
        if claim_uid(current) != uid or not still_allocates(current, entries):
            raise Conflict(f"PUT {path}/status", 0, "Changed", "the allocation is another one by now")
        body = with_devices(current, entries)
        answer: dict[str, Any] = json.loads(
            self._exchange("PUT", f"{path}/status?fieldManager={self._field_manager}", body, JSON)
        )
        return answer

    def _exchange(self, method: str, path: str, body: bytes | None, accept: str) -> bytes:
        attempted = f"{method} {path}"
        url = self._connection.host + path
        try:
            answer = self._transport.send(method, url, body, self._headers(accept), SECONDS)
        except NoAnswer as error:
            raise Unreachable(attempted, 0, "NoAnswer", str(error)) from error
        if not answer.is_ok:
            raise error_from(attempted, answer.status, _status_text(answer))
        return answer.data

    def _headers(self, accept: str) -> list[tuple[str, str]]:
        headers = [("Accept", accept), ("Content-Type", PROTOBUF), *self._connection.headers]
        authorization = self._connection.token()
        return [*headers, ("Authorization", authorization)] if authorization else headers


def _status_text(answer: Answer) -> bytes:
    """Return the error as JSON or text; in protobuf only the HTTP status says what happened."""
    binary = PROTOBUF in answer.headers.get("Content-Type", "")
    return HTTPStatus(answer.status).phrase.encode() if binary else answer.data
