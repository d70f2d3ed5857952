# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A TCP connection to a port of a pod through the API server: the one file that knows the WebSocket library.

Spoken is ``v4.channel.k8s.io``: frames whose first byte is the channel, 0 for data and 1 for errors, each
channel beginning with the port in two bytes. The API server hands it through to the node as it is, and the
container runtime's streaming server (k8s.io/cri-streaming/pkg/streaming/portforward) or kwok answers it.
Source: KEP-4006; observed on Kubernetes 1.36.3 with kwok 0.8.0. See docs/decisions/requests-to-pods.md.
"""

from __future__ import annotations

import http.client
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, cast
from urllib.parse import urlsplit

from .clock import Clock, Deadline
from .connection import Connection
from .errors import Unreachable, error_from
from .resources import PODS
from .transport import bypassed

PROTOCOL = "v4.channel.k8s.io"
DATA_CHANNEL, ERROR_CHANNEL = 0, 1
OPENING_FRAMES = 2
"""One per channel: the port, which nobody needs to be told."""
OPEN_SECONDS = 15.0


class TunnelBroken(OSError):
    """The way to the pod's port ended; the text is the node's or the library's."""


class Tunnel(io.RawIOBase):
    """Bytes to and from a port of a pod."""

    def __init__(self, library: Any, channel: Any) -> None:
        super().__init__()
        self._library = library
        self._channel = channel
        self._rest = b""
        self._opening = OPENING_FRAMES
        self._limit: Deadline | None = None

    def until(self, deadline: Deadline) -> None:
        """Let all that follows take no longer than the deadline."""
        self._limit = deadline

    def sendall(self, data: Any) -> None:
        try:
            with self._failures():
                self._channel.settimeout(self._remaining())
                self._channel.send_binary(bytes([DATA_CHANNEL]) + bytes(data))
        except OSError:
            # What can't be written to may have said why before it went.
            with suppress(TimeoutError):
                self.readinto(bytearray(1))
            raise

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for data and return how much came; 0 where the pod closed the connection."""
        while not self._rest:
            channel, data = self._frame()
            if channel is None:
                return 0
            if self._opening:
                self._opening -= 1
            elif channel == ERROR_CHANNEL and data:
                raise TunnelBroken(data.decode(errors="replace").strip())
            elif channel == DATA_CHANNEL:
                self._rest = data
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def close(self) -> None:
        if not self.closed:
            self._channel.shutdown()
        super().close()

    def _frame(self) -> tuple[int | None, bytes]:
        with self._failures():
            self._channel.settimeout(self._remaining())
            kind, frame = self._channel.recv_data()
        if kind != self._library.ABNF.OPCODE_BINARY or not frame:
            return None, b""
        return frame[0], frame[1:]

    def _remaining(self) -> float:
        remaining = self._limit.remaining if self._limit else OPEN_SECONDS
        if remaining <= 0:
            raise TimeoutError(f"no end after {self._limit.seconds if self._limit else OPEN_SECONDS:g} s")
        return remaining

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except self._library.WebSocketTimeoutException as error:
            seconds = self._limit.seconds if self._limit else OPEN_SECONDS
            raise TimeoutError(f"no end after {seconds:g} s") from error
        except self._library.WebSocketException as error:
            raise TunnelBroken(str(error)) from error


class Socket:
    """As much of a socket as ``http.client`` needs; when the tunnel ends is not up to it."""

    def __init__(self, tunnel: Tunnel) -> None:
        self._tunnel = tunnel
        self.sendall = tunnel.sendall

    def makefile(self, _mode: str = "rb", *_arguments: Any, **_options: Any) -> io.BufferedReader:
        return io.BufferedReader(self._tunnel)

    def close(self) -> None:
        """Leave the tunnel as it is: an answer is read after its connection was given up."""


class PodHttp:
    """HTTP to a port of a pod, each request over a tunnel of its own.

    A connection that is kept may have been closed by the server between two requests; the second would
    then fail for a reason that is none of the server's.
    """

    def __init__(self, connection: Connection, clock: Clock, namespace: str, pod: str, port: int) -> None:
        import websocket  # noqa: PLC0415 - a module must start without it, to say that it is missing

        self._library = websocket
        self._connection = connection
        self._clock = clock
        self._path = f"{PODS.path(namespace, pod, 'portforward')}?ports={port}"

    @contextmanager
    def open(self) -> Iterator[Opened]:
        """Yield a way to the port for one request; making it is no part of the request's time.

        :raises KubernetesError: where the API server makes no tunnel.
        """
        attempted = f"CONNECT {self._path}"
        host = self._connection.host.replace("http", "ws", 1)
        try:
            channel = self._library.create_connection(
                host + self._path,
                timeout=OPEN_SECONDS,
                subprotocols=[PROTOCOL],
                header=headers_of(self._connection),
                suppress_origin=True,
                sslopt=tls_of(self._connection),
                **proxy_of(self._connection),
            )
        except self._library.WebSocketBadStatusException as error:
            raise error_from(attempted, error.status_code, error.resp_body or b"") from error
        except (self._library.WebSocketException, OSError) as error:
            raise Unreachable(attempted, 0, "NoAnswer", str(error)) from error
        with Tunnel(self._library, channel) as tunnel:
            yield Opened(tunnel, self._clock)


class Opened:
    """A tunnel that is there, for one request."""

    def __init__(self, tunnel: Tunnel, clock: Clock) -> None:
        self._tunnel = tunnel
        self._clock = clock

    def ask(
        self,
        method: str,
        path: str,
        seconds: float,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> http.client.HTTPResponse:
        """Return the answer to a request, to be read while it comes; it ends with the tunnel.

        :raises OSError: where the tunnel breaks (``TunnelBroken``) or the time is over (``TimeoutError``).
        :raises http.client.HTTPException: for what is no HTTP.
        """
        self._tunnel.until(Deadline(self._clock, seconds))
        client = http.client.HTTPConnection("pod")
        client.auto_open = 0
        client.sock = cast(Any, Socket(self._tunnel))
        client.request(method, path, body or None, {"Connection": "close", **(headers or {})})
        return client.getresponse()


def headers_of(connection: Connection) -> list[str]:
    authorization = connection.token()
    found = [("Authorization", authorization)] if authorization else []
    return [f"{name}: {value}" for name, value in (*found, *connection.headers)]


def tls_of(connection: Connection) -> dict[str, Any]:
    if not connection.host.startswith("https"):
        return {}
    named = {"server_hostname": connection.server_name} if connection.server_name else {}
    return {"context": connection.ssl_context(), **named}


def proxy_of(connection: Connection) -> dict[str, Any]:
    """Return the library's options for the connection's proxy.

    The library looks at the environment where it is told nothing, which kubernetes.core does not do.
    """
    if not connection.proxy or bypassed(connection):
        return {"http_no_proxy": ["*"]}
    url = urlsplit(connection.proxy)
    return {
        "http_no_proxy": ["none.invalid"],
        "http_proxy_host": url.hostname,
        "http_proxy_port": url.port,
        "proxy_type": url.scheme or "http",
        "http_proxy_auth": (url.username, url.password) if url.username else None,
    }
