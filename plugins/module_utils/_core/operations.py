# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a refusal or a failed operation of a Google API means, and which of them are worth another try.

A failure has one of a few kinds, so that a playbook can branch on ``error_kind`` instead of on texts.
Source: google.rpc.Code, ErrorInfo reasons of container.googleapis.com, and recorded answers; GKE reports
a stock-out and a late quota shortage only as ``Operation.error`` of an operation that is DONE.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

ErrorKind = Literal[
    "stockout",
    "quota",
    "conflict",
    "version",
    "permission",
    "not_enabled",
    "not_found",
    "invalid",
    "unavailable",
    "timeout",
    "other",
]

OPERATION_NAME = re.compile(r"\boperation-[0-9a-z][0-9a-z-]*[0-9a-z]\b")
# Texts, because neither the status nor a reason tells these apart; the first that fits decides.
TEXTS: tuple[tuple[ErrorKind, re.Pattern[str]], ...] = (
    (
        "not_enabled",
        re.compile(r"has not been used in project|API .* is disabled|it is disabled", re.IGNORECASE),
    ),
    (
        "stockout",
        re.compile(
            r"GCE_STOCKOUT|ZONE_RESOURCE_POOL_EXHAUSTED|not have enough resources available",
            re.IGNORECASE,
        ),
    ),
    (
        "quota",
        re.compile(
            r"GCE_QUOTA_EXCEEDED|insufficient (regional|project|global) quota|"
            r"quota '[^']+' exceeded|QUOTA_EXCEEDED",
            re.IGNORECASE,
        ),
    ),
    (
        "conflict",
        re.compile(
            r"incompatible operation|too many operations|is currently \w+ing |fingerprint|"
            r"already exists|etag",
            re.IGNORECASE,
        ),
    ),
    (
        "version",
        re.compile(
            r"version .*(unsupported|not supported|not valid|invalid)|no valid version", re.IGNORECASE
        ),
    ),
)
REASONS: Mapping[str, ErrorKind] = {
    "SERVICE_DISABLED": "not_enabled",
    "CLUSTER_ALREADY_HAS_OPERATION": "conflict",
    "IAM_PERMISSION_DENIED": "permission",
}
STATUSES: Mapping[int, ErrorKind] = {
    400: "invalid",
    401: "permission",
    403: "permission",
    404: "not_found",
    409: "conflict",
    412: "conflict",
    429: "quota",
}
# google.rpc.Code, as it stands in Operation.error.
RPC_STATUSES: Mapping[int, int] = {3: 400, 5: 404, 6: 409, 7: 403, 9: 400, 10: 409, 16: 401}
CONDITIONS: Mapping[str, ErrorKind] = {"GCE_STOCKOUT": "stockout", "GCE_QUOTA_EXCEEDED": "quota"}
SERVER_ERROR = 500
TOO_MANY_REQUESTS = 429
RESOURCE_EXHAUSTED = 8

ADVICE: Mapping[ErrorKind, str] = {
    "stockout": "GKE keeps trying; use another zone, a reservation or flex start, or let on_error keep it",
    "quota": "ask for more quota in this region, or lower the maximum sizes of the plan",
    "conflict": "another change is under way or came first; run again",
    "version": "choose a version that is offered, or a shorter one such as 1.36",
    "permission": "give the caller the role roles/container.admin (or artifactregistry.admin) on the project",
    "not_enabled": "enable the API in the project",
    "not_found": "create it first, or check project and location",
    "invalid": "correct the option that the message names",
    "unavailable": "the service did not answer properly several times; run again",
    "timeout": "run again: a running operation is taken over, not started twice",
    "other": "read the message; run again when the cause is removed",
}


def refusal_kind(http_status: int, reason: str, message: str) -> ErrorKind:
    """Return the kind of a refused request.

    A quota check before a creation comes as 403: it is told from a missing permission by its text.
    """
    if reason in REASONS:
        return REASONS[reason]
    for kind, text in TEXTS:
        if text.search(message):
            return kind
    if http_status >= SERVER_ERROR:
        return "unavailable"
    return STATUSES.get(http_status, "other")


def worth_another_try(http_status: int, reason: str, message: str) -> bool:
    """Return whether the same request may succeed later without anybody doing anything.

    Busy clusters, too many requests or operations at once, and failing servers; nothing else, so that
    a real refusal is reported at once.
    """
    if http_status >= SERVER_ERROR or http_status == TOO_MANY_REQUESTS:
        return True
    busy = re.search(r"incompatible operation|is currently \w+ing ", message, re.IGNORECASE)
    return reason == "CLUSTER_ALREADY_HAS_OPERATION" or bool(busy)


def named_operation(message: str) -> str:
    """Return the operation that a refusal names as being in the way, empty if it names none."""
    found = OPERATION_NAME.search(message)
    return found.group() if found else ""


@dataclass(frozen=True, slots=True)
class Operation:
    """A long-running operation of either API.

    :param name: as the API wants it back.
    :param target: the last parts of the target, ``clusters/demo/nodePools/gpu-pool``.
    """

    name: str
    type: str = ""
    target: str = ""
    done: bool = False
    failed: bool = False
    message: str = ""
    kind: ErrorKind = "other"
    progress: str = ""


def container_operation(message: Mapping[str, Any]) -> Operation:
    """Return a container v1 Operation as a value; DONE with an ``error`` has failed."""
    error = message.get("error") or {}
    text = error.get("message") or message.get("statusMessage", "")
    conditions = [*message.get("nodepoolConditions", ()), *message.get("clusterConditions", ())]
    status = message.get("status", "")
    failed = status == "DONE" and bool(error or message.get("statusMessage"))
    link = message.get("targetLink", "")
    return Operation(
        name=message["name"].rpartition("/")[2],
        type=message.get("operationType", ""),
        target=link[link.find("clusters/") :] if "clusters/" in link else link,
        done=status == "DONE",
        failed=failed,
        message=text,
        kind=failure_kind(error.get("code", 0), text, conditions) if failed else "other",
        progress=progress_text(message.get("progress") or {}),
    )


def longrunning_operation(message: Mapping[str, Any]) -> Operation:
    """Return a google.longrunning Operation as a value."""
    error = message.get("error") or {}
    text = error.get("message", "")
    return Operation(
        name=message["name"],
        done=bool(message.get("done")),
        failed=bool(error),
        message=text,
        kind=failure_kind(error.get("code", 0), text, ()) if error else "other",
    )


def failure_kind(code: int, message: str, conditions: Iterable[Mapping[str, Any]]) -> ErrorKind:
    """Return the kind of a failed operation or of an object in error, by condition, text and code."""
    known = [kind for kind in map(condition_kind, conditions) if kind != "other"]
    if known:
        return known[0]
    if code == RESOURCE_EXHAUSTED and refusal_kind(0, "", message) == "other":
        return "quota"
    return refusal_kind(RPC_STATUSES.get(code, 0), "", message)


def compute_operation(message: Mapping[str, Any]) -> Operation:
    """Return a compute v1 Operation as a value; DONE with ``error.errors`` has failed."""
    errors = (message.get("error") or {}).get("errors") or ()
    text = "; ".join(str(error.get("message") or error.get("code", "")) for error in errors)
    status = int(message.get("httpErrorStatusCode") or 0)
    return Operation(
        name=str(message.get("name", "")),
        type=str(message.get("operationType", "")),
        done=message.get("status") == "DONE",
        failed=bool(errors),
        message=text,
        kind=refusal_kind(status, "", text),
    )


def condition_kind(condition: Mapping[str, Any]) -> ErrorKind:
    """Return what a StatusCondition stands for; ``code`` is deprecated but still filled."""
    return CONDITIONS.get(condition.get("code", ""), "other")


def progress_text(progress: Mapping[str, Any]) -> str:
    """Return an operation's metrics as text, such as ``Nodes joined 1``."""
    parts = []
    for metric in progress.get("metrics", ()):
        value = next((metric[key] for key in ("intValue", "doubleValue", "stringValue") if key in metric), 0)
        parts.append(f"{metric.get('name', '')} {value}")
    return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Health:
    """What the status of a cluster or node pool means for whoever waits for it.

    :param settled: whether nothing is under way on it.
    :param degraded: whether it exists but does not work as it should.
    :param broken: whether it does not work at all.
    """

    status: str
    settled: bool
    degraded: bool = False
    broken: bool = False
    kind: ErrorKind = "other"
    message: str = ""


IN_TRANSITION = ("PROVISIONING", "RECONCILING", "STOPPING")
BROKEN = ("ERROR",)
IMPAIRED = ("RUNNING_WITH_ERROR", "DEGRADED")


def health(live: Mapping[str, Any]) -> Health:
    """Return the health of a live cluster or node pool; RUNNING with old conditions is fine."""
    status = live.get("status", "STATUS_UNSPECIFIED")
    if status not in (*BROKEN, *IMPAIRED):
        return Health(status, settled=status not in IN_TRANSITION)
    conditions = live.get("conditions") or ()
    message = live.get("statusMessage") or "; ".join(condition.get("message", "") for condition in conditions)
    kind = failure_kind(0, message, conditions)
    return Health(status, settled=True, degraded=True, broken=status in BROKEN, kind=kind, message=message)
