# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated Google over HTTP on loopback.

``python3 -m ansible_collections.inference.dra.lab.google.server --port 8080`` starts one by hand,
with machines that are ready at once; the lab itself brings its own machines.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock

from .cloud import Cloud
from .environment import environment
from .errors import bad_field
from .routes import Request
from .schema import Schemas, documents
from .service import RequestCounter, Service
from .store import Store

Json = dict[str, Any]

LOOPBACK = "127.0.0.1"
TICK_SECONDS = 0.1


class GoogleServer:
    """A cloud at an address.

    :param port: 0 takes a free one.
    :param store: where the state is kept between runs; none keeps it in memory.
    :param say: gets one sentence where requests cannot be checked against Google's schema.
    """

    def __init__(
        self,
        cloud: Cloud,
        *,
        port: int = 0,
        store: Store | None = None,
        schemas: Schemas | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.cloud = cloud
        self.service = Service(cloud, schemas or Schemas(documents()))
        self._store = store
        self._dirty = threading.Event()
        self._stopping = threading.Event()
        cloud.listeners.append(lambda _: self._dirty.set())
        if self.service.api.schemas.note:
            say(self.service.api.schemas.note)
        handler = type("Handler", (_Handler,), {"google": self})
        self._http = _Http((LOOPBACK, port), handler)
        self._threads = [
            threading.Thread(target=self._http.serve_forever, args=(TICK_SECONDS,), daemon=True),
            threading.Thread(target=self._tick, daemon=True),
        ]

    @property
    def requests(self) -> RequestCounter:
        return self.service.requests

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def endpoint(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def start(self) -> GoogleServer:
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> None:
        """Stop answering, and keep the state."""
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        for thread in self._threads:
            thread.join(5)
        self._dirty.set()
        self.flush()

    def flush(self) -> None:
        """Write the state down if it changed."""
        if self._store and self._dirty.is_set():
            with self.cloud.lock:
                self._dirty.clear()
                self._store.save(self.cloud.snapshot())

    def _tick(self) -> None:
        while not self._stopping.wait(TICK_SECONDS):
            self.service.api.settle()
            self.flush()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    # A rebuilt lab takes its old port again at once.
    allow_reuse_address = True


class _Handler(BaseHTTPRequestHandler):
    """Translates between HTTP and ``GoogleServer.answer``."""

    google: GoogleServer
    protocol_version = "HTTP/1.1"
    # Headers and body in one segment: otherwise each answer waits 40 ms for an acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def _handle(self) -> None:
        url = urlsplit(self.path)
        values = parse_qs(url.query, keep_blank_values=True)
        query = {name: ",".join(items) for name, items in values.items()}
        length = int(self.headers.get("Content-Length") or 0)
        text = self.rfile.read(length)
        try:
            body = json.loads(text) if text.strip() else None
        except ValueError as error:
            refusal = bad_field("", f"Invalid JSON payload received. {error}")
            self._reply(refusal.http_code, refusal.body)
            return
        request = Request(self.command, unquote(url.path), query, body)
        code, answer = self.google.service.answer(request)
        self.google.flush()
        self._reply(code, answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815 - names of http.server

    def _reply(self, code: int, body: Json) -> None:
        data = json.dumps(body, indent=2).encode()
        # A client that gave up while it was kept waiting is no error here.
        with contextlib.suppress(ConnectionError):
            self.send_response(code)
            self.send_header("Content-Type", "application/json; charset=UTF-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - name of http.server
        """Say nothing: the counter knows what was asked."""


def fulfil(cloud: Cloud) -> None:
    """Make every machine that is wanted ready: a stand-in where nobody simulates machines."""
    for pool in cloud.pools():
        where = f"{pool.location}/{pool.cluster}"
        for zone, size in pool.sizes.items():
            cloud.observed(where, pool.name, zone, size)


def main() -> int:
    parser = argparse.ArgumentParser(description="A simulated Google Cloud on loopback")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--project", default="dra-lab")
    parser.add_argument("--speed", type=float, default=30.0)
    parser.add_argument("--state", type=Path, help="a file that keeps the state between runs")
    options = parser.parse_args()
    store = Store(options.state) if options.state else None
    state = store.load() if store else None
    cloud = Cloud(SystemClock(), speed=options.speed, project=options.project, state=state)
    server = GoogleServer(cloud, port=options.port, store=store, say=_say).start()
    for name, value in environment(server.endpoint, options.project, "").items():
        _say(f"export {name}={value}")
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    while not ended.wait(TICK_SECONDS):
        fulfil(cloud)
    server.stop()
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
