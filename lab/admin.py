# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's own HTTP interface on loopback: what it holds, and the faults to order.

``GET /status`` · ``GET /faults`` (those that are on, and the kinds there are) · ``POST /faults`` with
``{"kind": …, "remaining": n, <parameters>}`` · ``DELETE /faults`` and ``DELETE /faults/ID-or-KIND``.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from .errors import LabError
from .faults import Faults
from .loop import Loop

Json = dict[str, Any]
LOOPBACK = "127.0.0.1"


class AdminServer:
    """Serves the interface; everything is done by the lab's own thread.

    :param status: returns what the lab holds.
    """

    def __init__(self, port: int, loop: Loop, faults: Faults, status: Callable[[], Json]) -> None:
        self.loop = loop
        self.faults = faults
        self.status = status
        handler = type("Bound", (_Handler,), {"admin": self})
        self._http = _Http((LOOPBACK, port), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, name="admin", daemon=True)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    def start(self) -> AdminServer:
        self._thread.start()
        return self

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True


class _Handler(BaseHTTPRequestHandler):
    admin: AdminServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body after its headers would wait 40 ms for an acknowledgement

    def do_GET(self) -> None:
        admin = self.admin
        if self.path == "/status":
            self._answer(admin.status)
        elif self.path == "/faults":
            self._answer(lambda: {"faults": admin.faults.list(), "kinds": kinds(admin.faults)})
        else:
            self._json(404, {"error": f"there is no {self.path}; ask for /status or /faults"})

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/faults":
            self._json(404, {"error": f"there is no {self.path}; faults are set at /faults"})
            return
        try:
            body = json.loads(text)
            kind = body.pop("kind")
            remaining = body.pop("remaining", None)
        except (ValueError, KeyError, AttributeError, TypeError):
            self._json(400, {"error": 'set a fault: the body must be an object such as {"kind": "stockout"}'})
            return
        self._answer(lambda: {"id": self.admin.faults.set(kind, remaining=remaining, **body)})

    def do_DELETE(self) -> None:
        start, _unused, name = self.path.removeprefix("/").partition("/")
        if start != "faults":
            self._json(404, {"error": f"there is no {self.path}; faults are cleared at /faults"})
            return
        self._answer(lambda: {"cleared": clear(self.admin.faults, unquote(name))})

    def _answer(self, ask: Callable[[], Json]) -> None:
        try:
            self._json(200, self.admin.loop.call(ask))
        except LabError as error:
            self._json(400, {"error": str(error)})
        except TimeoutError as error:
            self._json(503, {"error": str(error)})

    def _json(self, code: int, body: Json) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - name of http.server
        """Say nothing: the lab's log has what was ordered."""


def kinds(faults: Faults) -> list[Json]:
    """Return what can be ordered: its name, a sentence, what narrows it, what shapes it."""
    return [{"kind": name, **asdict(kind)} for name, kind in faults.kinds.items()]


def clear(faults: Faults, name: str) -> int:
    """Clear one by id, all of a kind, or all; return how many. LabError where a name hits none."""
    count = faults.clear(name)
    if name and not count:
        raise LabError(f"clear fault {name}: no fault of this id or kind is on; list them first")
    return count
