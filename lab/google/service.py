# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One request in, one answer out: faults, counting and refusals around the API. No sockets."""

from __future__ import annotations

import sys
import threading
import traceback
from collections import Counter
from typing import Any

from .cloud import Cloud
from .errors import ApiError
from .routes import Api, Request, Route
from .schema import Schemas

Json = dict[str, Any]

# HTTP status -> google.rpc.Code name and the message Google's front end uses.
HTTP_FAULTS = {
    400: ("INVALID_ARGUMENT", "Request contains an invalid argument."),
    401: ("UNAUTHENTICATED", "Request had invalid authentication credentials."),
    403: ("PERMISSION_DENIED", "The caller does not have permission"),
    404: ("NOT_FOUND", "Requested entity was not found."),
    409: ("ABORTED", "The operation was aborted."),
    429: ("RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    500: ("INTERNAL", "Internal error encountered."),
    503: ("UNAVAILABLE", "The service is currently unavailable."),
    504: ("DEADLINE_EXCEEDED", "Deadline expired before operation could complete."),
}


class RequestCounter:
    """How often each API method was asked; ``reads`` and ``writes`` are the sums."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reads = 0
        self.writes = 0
        self.by_method: Counter[str] = Counter()

    def add(self, method: str, *, writes: bool) -> None:
        with self._lock:
            self.by_method[method] += 1
            if writes:
                self.writes += 1
            else:
                self.reads += 1

    def reset(self) -> None:
        with self._lock:
            self.reads = self.writes = 0
            self.by_method.clear()


class Service:
    """What stands behind an address: a cloud, its API, and the count of what was asked."""

    def __init__(self, cloud: Cloud, schemas: Schemas) -> None:
        self.cloud = cloud
        self.api = Api(cloud, schemas)
        self.requests = RequestCounter()

    def answer(self, request: Request) -> tuple[int, Json]:
        """Return HTTP status and body for one request."""
        found = self.api.find(request)
        if found is None:
            message = f"The lab has no method {request.method} {request.path}."
            return 404, ApiError("NOT_FOUND", message).body
        route, parameters = found
        self.requests.add(route.id, writes=route.writes)
        try:
            self._misbehave(route)
            answer = self.api.call(route, parameters, request)
        except ApiError as error:
            return error.http_code, error.body
        except Exception as error:  # noqa: BLE001 - a defect here looks like Google's, not like a dead server
            return self._defect(route, error)
        return 200, answer

    def _defect(self, route: Route, error: Exception) -> tuple[int, Json]:
        """Return 500 for a request that the lab stumbled over, and show where."""
        sys.stderr.write(f"{route.id}: " + "".join(traceback.format_exception(error)))
        message = f"The lab's own defect in {route.id}: {type(error).__name__}: {error}"
        refusal = ApiError("INTERNAL", message)
        return refusal.http_code, refusal.body

    def _misbehave(self, route: Route) -> None:
        slow = self.cloud.faults.take("http-slow", method=route.id)
        if slow:
            self.cloud.clock.sleep(float(slow["seconds"]))
        fault = self.cloud.faults.take("http-error", method=route.id)
        if fault:
            code = int(fault["code"])
            status, message = HTTP_FAULTS.get(code, HTTP_FAULTS[500])
            raise ApiError(status, fault["message"] or message)
