# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An HTTP server on loopback that gives the answers a test has written down, and keeps what was asked."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass
class Answer:
    """One answer; ``stream`` sends each entry as a line of its own, ``breaks`` ends it half-way."""

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    stream: list[Any] | None = None
    breaks: bool = False
    silent: bool = False


@dataclass
class Asked:
    method: str
    path: str
    query: dict[str, str]
    headers: Message
    body: Any


def status(code: int, reason: str, message: str = "said so") -> Answer:
    """Return a refusal as the API server writes it (``v1.Status``)."""
    return Answer(code, {"kind": "Status", "code": code, "reason": reason, "message": message})


def event(kind: str, name: str, version: str) -> dict:
    return {"type": kind, "object": {"metadata": {"name": name, "uid": name, "resourceVersion": version}}}


def page(*names: str, version: str = "10", more: str = "") -> Answer:
    metadata = {"resourceVersion": version, **({"continue": more} if more else {})}
    return Answer(body={"metadata": metadata, "items": [{"metadata": {"name": name}} for name in names]})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body after its headers would wait 40 ms for an acknowledgement
    server: ApiServer

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        data = self.rfile.read(length)
        url = urlsplit(self.path)
        body = json.loads(data) if data else None
        asked = Asked(self.command, url.path, dict(parse_qsl(url.query)), self.headers, body)
        found = self.server.next(asked)
        if found.silent:
            self.close_connection = True
            return
        self.send_response(found.status)
        for name, value in found.headers.items():
            self.send_header(name, value)
        if found.stream is None:
            content = found.body if isinstance(found.body, bytes) else json.dumps(found.body).encode()
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        else:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.send_lines(found)

    def send_lines(self, found: Answer) -> None:
        for entry in found.stream or []:
            content = entry if isinstance(entry, bytes) else json.dumps(entry).encode() + b"\n"
            self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        if found.breaks:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_PATCH = do_DELETE = answer

    def log_message(self, *args: Any) -> None:
        """Keep quiet."""


class ApiServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[Answer] = []
        self.asked: list[Asked] = []
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def next(self, asked: Asked) -> Answer:
        """Return the next answer; the last one is repeated."""
        self.asked.append(asked)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients end a watch by closing it; everything else is a defect of the test."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def end(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()
