# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP for the Kubernetes API: the connections, and what answers and failures say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import urllib3

from .connection import Connection


def make_pool(connection: Connection) -> urllib3.PoolManager:
    options: dict[str, Any] = {"maxsize": 16}
    if connection.host.startswith("https"):
        options["ssl_context"] = connection.ssl_context()
        if connection.server_name:
            options["server_hostname"] = connection.server_name
    if connection.proxy and not bypassed(connection):
        headers = urllib3.make_headers(**connection.proxy_headers)  # type: ignore[arg-type]
        return urllib3.ProxyManager(connection.proxy, proxy_headers=headers, **options)
    return urllib3.PoolManager(**options)


def bypassed(connection: Connection) -> bool:
    """Return whether ``no_proxy`` names the API server or a domain it lies in."""
    host = urlsplit(connection.host).hostname or ""
    entries = [entry.strip().lstrip(".") for entry in connection.no_proxy.split(",")]
    return any(entry and (host == entry or host.endswith(f".{entry}")) for entry in entries)


def lines(answer: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """Yield the lines of a streamed answer as they arrive."""
    rest = b""
    for chunk in answer.stream(None):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line for line in whole if line)


def retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds the server asks for (``Retry-After``), 0 where it does not say."""
    value = headers.get("Retry-After", "")
    return float(value) if value.isdigit() else 0.0


def plain(error: Exception) -> str:
    """Return a transport error without urllib3's object addresses."""
    reason = getattr(error, "reason", None) or error
    return str(reason).split(": ", 1)[-1]
