# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who calls Google, and where: google.cloud's option names, made into credentials and an address.

Nothing is imported from Google's libraries before it is needed, so that a missing one is named.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"


class LibraryMissing(Exception):
    """A Python library is not installed where the module runs; ``package`` is its name on PyPI."""

    def __init__(self, package: str, problem: Exception) -> None:
        self.package = package
        super().__init__(f"{package} is needed for Google's APIs: {problem}")


class InvalidAccess(ValueError):
    """Authentication or address options that cannot work; the message never holds a secret."""


@dataclass(frozen=True)
class Access:
    """Credentials, project and address. ``repr`` shows no secret.

    :param endpoint: base URL of all APIs instead of Google's own; empty for Google's own.
    """

    project: str
    endpoint: str = ""
    credentials: Any = field(default=None, repr=False)

    def base(self, service: str) -> str:
        """Return the base URL of a service such as ``compute``."""
        return self.endpoint or f"https://{service}.googleapis.com"

    @property
    def client_options(self) -> dict[str, str]:
        return {"api_endpoint": self.endpoint} if self.endpoint else {}


def access(options: Mapping[str, Any]) -> Access:
    """Return the access that the options describe.

    :param options: ``project``, ``auth_kind``, ``service_account_file``, ``service_account_contents``,
        ``service_account_email``, ``access_token``, ``scopes``, ``api_endpoint``.
    :raises InvalidAccess: for options that contradict each other or lack something.
    :raises LibraryMissing: without google-auth.
    """
    endpoint = checked_endpoint(options.get("api_endpoint") or "")
    credentials, default_project = _credentials(options, endpoint)
    project = options.get("project") or default_project
    if not project:
        raise InvalidAccess(
            "no Google Cloud project is known: set project or GCP_PROJECT, or use credentials that name one"
        )
    return Access(project, endpoint, credentials)


def checked_endpoint(endpoint: str) -> str:
    """Return the address without a trailing slash; plain HTTP is for loopback only.

    :raises InvalidAccess: for any other address without TLS, because a token would cross the network.
    """
    parts = urlsplit(endpoint)
    if not endpoint or (parts.scheme == "https" and parts.hostname):
        return endpoint.rstrip("/")
    if parts.scheme == "http" and _is_loopback(parts.hostname or ""):
        return endpoint.rstrip("/")
    raise InvalidAccess(
        f"api_endpoint {endpoint!r}: an https:// address is needed; http:// is accepted for loopback only"
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _credentials(options: Mapping[str, Any], endpoint: str) -> tuple[Any, str]:
    try:
        import google.auth  # noqa: PLC0415 - named as missing only where it is needed
        import google.auth.compute_engine  # noqa: PLC0415
        import google.auth.credentials  # noqa: PLC0415
        import google.oauth2.credentials  # noqa: PLC0415
        import google.oauth2.service_account  # noqa: PLC0415
    except ImportError as problem:
        raise LibraryMissing("google-auth", problem) from problem
    kind = options.get("auth_kind") or ("accesstoken" if options.get("access_token") else "")
    scopes = options.get("scopes") or [CLOUD_PLATFORM]
    if not kind and endpoint.startswith("http://"):
        return google.auth.credentials.AnonymousCredentials(), ""
    if kind == "accesstoken":
        if not options.get("access_token"):
            raise InvalidAccess("auth_kind accesstoken needs access_token")
        return google.oauth2.credentials.Credentials(options["access_token"], scopes=scopes), ""
    if kind == "machineaccount":
        email = options.get("service_account_email") or "default"
        return google.auth.compute_engine.Credentials(email, scopes=scopes), ""
    if kind == "serviceaccount":
        return _service_account(google.oauth2.service_account.Credentials, options, scopes)
    try:
        credentials, project = google.auth.default(scopes=scopes)
    except google.auth.exceptions.DefaultCredentialsError as problem:
        raise InvalidAccess(
            "no application default credentials were found: log in with "
            "`gcloud auth application-default login`, or set auth_kind and what it needs"
        ) from problem
    return credentials, project or ""


def _service_account(kind: Any, options: Mapping[str, Any], scopes: list[str]) -> tuple[Any, str]:
    path, contents = options.get("service_account_file"), options.get("service_account_contents")
    try:
        if contents:
            info = json.loads(contents) if isinstance(contents, str) else dict(contents)
            made = kind.from_service_account_info(info, scopes=scopes)
        elif path:
            made = kind.from_service_account_file(path, scopes=scopes)
        else:
            raise InvalidAccess(
                "auth_kind serviceaccount needs service_account_file or service_account_contents"
            )
    except (ValueError, OSError) as problem:
        if isinstance(problem, InvalidAccess):
            raise
        # The problem's own text may quote the key.
        source = "service_account_contents" if contents else f"service_account_file {path}"
        raise InvalidAccess(f"{source} is not a readable service account key") from None
    return made, made.project_id or ""
