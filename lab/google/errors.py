# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refusals in Google's own shape: ``{"error": {code, message, status, details}}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# google.rpc.Code, as in google/rpc/code.proto: number and the HTTP status it travels as.
CODES: Mapping[str, tuple[int, int]] = {
    "INVALID_ARGUMENT": (3, 400),
    "NOT_FOUND": (5, 404),
    "ALREADY_EXISTS": (6, 409),
    "PERMISSION_DENIED": (7, 403),
    "RESOURCE_EXHAUSTED": (8, 429),
    "FAILED_PRECONDITION": (9, 400),
    "ABORTED": (10, 409),
    "UNIMPLEMENTED": (12, 501),
    "INTERNAL": (13, 500),
    "UNAVAILABLE": (14, 503),
    "DEADLINE_EXCEEDED": (4, 504),
    "UNAUTHENTICATED": (16, 401),
}

CONTAINER = "container.googleapis.com"
_TYPE = "type.googleapis.com/google.rpc."


class ApiError(Exception):
    """One refusal; ``body`` is what goes over the wire."""

    def __init__(self, status: str, message: str, details: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.details = details or []
        self.rpc_code, self.http_code = CODES[status]

    @property
    def body(self) -> dict[str, Any]:
        error: dict[str, Any] = {
            "code": self.http_code,
            "message": self.message,
            "status": self.status,
        }
        if self.details:
            error["details"] = self.details
        return {"error": error}


def error_info(reason: str, domain: str = CONTAINER, **metadata: str) -> dict[str, Any]:
    """Return a ``google.rpc.ErrorInfo`` detail."""
    info: dict[str, Any] = {"@type": f"{_TYPE}ErrorInfo", "reason": reason, "domain": domain}
    return info | ({"metadata": metadata} if metadata else {})


def invalid(message: str) -> ApiError:
    return ApiError("INVALID_ARGUMENT", message)


def bad_field(field: str, description: str) -> ApiError:
    """Return the refusal of a request that does not parse, with the violated field."""
    violation = {"field": field, "description": description}
    details = [{"@type": f"{_TYPE}BadRequest", "fieldViolations": [violation]}]
    return ApiError("INVALID_ARGUMENT", description, details)


def not_found(resource: str) -> ApiError:
    return ApiError("NOT_FOUND", f"Not found: {resource}.")


def already_exists(resource: str) -> ApiError:
    return ApiError("ALREADY_EXISTS", f"Already exists: {resource}.")


def busy(operation: str) -> ApiError:
    """Return GKE's refusal of a change while another is under way."""
    return ApiError(
        "FAILED_PRECONDITION",
        f"Cluster is running incompatible operation {operation}.",
        [error_info("CLUSTER_ALREADY_HAS_OPERATION")],
    )


def too_many_operations(cluster: str, limit: int) -> ApiError:
    """Return GKE's refusal of one more parallel node pool operation (provider-google #15205)."""
    return ApiError(
        "RESOURCE_EXHAUSTED",
        f'Too many operations: cluster "{cluster}" hits the concurrent operations quota {limit}, '
        "please try again later.",
        [error_info("CONCURRENT_OPERATIONS_QUOTA_EXCEEDED")],
    )


def insufficient_quota(metric: str, scope: str, needed: float, free: float, limit: float) -> ApiError:
    """Return GKE's quota check before anything is made: a 403, not a 429.

    :param scope: ``regional`` or ``project``.
    """
    return ApiError(
        "PERMISSION_DENIED",
        f'Insufficient {scope} quota to satisfy request: resource "{metric}": request requires '
        f"'{needed:.1f}' and is short '{needed - free:.1f}'. project has a quota of "
        f"'{limit:.1f}' with '{free:.1f}' available.",
    )


def permission_denied(permission: str, resource: str) -> ApiError:
    return ApiError(
        "PERMISSION_DENIED",
        f'Required "{permission}" permission(s) for "{resource}".',
        [error_info("IAM_PERMISSION_DENIED", permission=permission, resource=resource)],
    )


def service_disabled(service: str, title: str, project_number: str) -> ApiError:
    return ApiError(
        "PERMISSION_DENIED",
        f"{title} has not been used in project {project_number} before or it is disabled. Enable "
        f"it by visiting https://console.developers.google.com/apis/api/{service}/overview?project="
        f"{project_number} then retry. If you enabled this API recently, wait a few minutes for "
        "the action to propagate to our systems and retry.",
        [
            error_info(
                "SERVICE_DISABLED",
                "googleapis.com",
                service=service,
                consumer=f"projects/{project_number}",
            )
        ],
    )


def stockout_text(project: str, zone: str) -> str:
    """Return what Compute Engine says when a zone has no machines."""
    return (
        f"The zone 'projects/{project}/zones/{zone}' does not have enough resources available to "
        "fulfill the request. Try a different zone, or try again later."
    )


def quota_text(metric: str, limit: float, region: str) -> str:
    """Return what Compute Engine says when a machine would exceed a quota."""
    return f"Quota '{metric}' exceeded. Limit: {limit:.1f} in region {region}."
