# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One small HTTP server: ``/metrics``, ``/healthz`` and ``/readyz``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[[], tuple[int, str]]


class Server(ThreadingHTTPServer):
    """Serves the answers of ``pages`` (path → function) on ``address``, as ``host:port``."""

    daemon_threads = True

    def __init__(self, address: str, pages: dict[str, Answer]) -> None:
        host, _unused, port = address.rpartition(":")
        self.pages = pages
        super().__init__((host, int(port)), Handler)
        threading.Thread(target=self.serve_forever, name="http", daemon=True).start()

    @property
    def address(self) -> str:
        host, port = self.server_address[:2]
        return f"{host!s}:{port}"


class Handler(BaseHTTPRequestHandler):
    """Answers GET; everything else is refused by the base class."""

    server: Server

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path.partition("?")[0])
        status, text = page() if page else (404, "not found\n")
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing: probes would fill the log."""
