# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Kubernetes API refuses, or fails to answer, as one kind of error.

Source: Kubernetes API conventions (Status).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class KubernetesError(Exception):
    """An answer other than success, or none.

    ``status`` is the HTTP code (0: no answer), ``reason`` the API's own word for it, ``attempted``
    the verb and path.
    """

    def __init__(self, attempted: str, status: int, reason: str, message: str) -> None:
        super().__init__(f"{attempted}: {f'{status} ' if status else ''}{reason}: {message}")
        self.attempted = attempted
        self.status = status
        self.reason = reason
        self.message = message


class NotFound(KubernetesError):
    """The object, or the API that serves it, does not exist."""


class Forbidden(KubernetesError):
    """Who we are may not do this."""


class Conflict(KubernetesError):
    """Somebody else wrote first, or the object exists."""


class Gone(KubernetesError):
    """The resource version is too old: list again."""


class Unreachable(KubernetesError):
    """No answer at all, for as long as was allowed."""


class DeadlineExceeded(KubernetesError):
    """The deadline of the whole operation passed."""


ERRORS: dict[int, type[KubernetesError]] = {
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
}


def error_from(attempted: str, status: int, data: bytes) -> KubernetesError:
    try:
        body = json.loads(data)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        body = {"message": data.decode(errors="replace").strip()[:300]}
    return error_of(attempted, status, body)


def error_of(attempted: str, status: int, body: Mapping[str, Any]) -> KubernetesError:
    reason = str(body.get("reason") or "Error")
    return ERRORS.get(status, KubernetesError)(attempted, status, reason, body.get("message", ""))
