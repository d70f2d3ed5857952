# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server on loopback that lists recorded objects and forwards ports of pods as a node does it.

The streams are those of ``k8s.io/cri-streaming``: binary frames with the channel in front, and the port in
the first frame of each channel.
"""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.inference.dra.lab.serving.ports import Ports

Pod = Callable[[socket.socket], None]
MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455
BINARY, CLOSE = 2, 8
LISTS = {
    "pods": "Pod",
    "resourceclaims": "ResourceClaim",
    "resourceclaimtemplates": "ResourceClaimTemplate",
    "resourceslices": "ResourceSlice",
    "deviceclasses": "DeviceClass",
    "nodes": "Node",
    "deployments": "Deployment",
    "replicasets": "ReplicaSet",
    "endpointslices": "EndpointSlice",
}


class Refusing:
    """A pod to which nothing listens: what the node says on the error channel."""

    def __init__(self, words: str) -> None:
        self.words = words


class ForwardingServer:
    """Objects, and what answers behind each pod's port.

    :param pods: name → what serves a connection, ``Refusing``, or an HTTP status that the API server gives.
    """

    def __init__(self, items: list[Mapping[str, Any]], pods: Mapping[str, Pod | Refusing | int]) -> None:
        self.items = items
        self.pods = dict(pods)
        self.asked: list[str] = []
        self.protocols: list[str] = []
        self._ports = Ports()
        self._addresses = {name: self._ports.open(pod) for name, pod in pods.items() if callable(pod)}
        handler = type("Bound", (_Handler,), {"server_of": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._ports.stop()

    def connect(self, pod: str) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._addresses[pod]))


class _Handler(BaseHTTPRequestHandler):
    server_of: ForwardingServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body after its headers would wait 40 ms for an acknowledgement

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self.server_of.asked.append(self.path)
        parts = path.strip("/").split("/")
        if parts[-1] == "portforward":
            self.forward(parts[-2])
        elif parts[-1] in LISTS or parts[-1] == "events" or parts[-1] == "computeclasses":
            kind = LISTS.get(parts[-1])
            found = [each for each in self.server_of.items if each["kind"] == kind]
            self.answer(200, {"metadata": {"resourceVersion": "1"}, "items": found})
        else:
            self.answer(404, {"kind": "Status", "reason": "NotFound", "message": path})

    def answer(self, status: int, body: Mapping[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def forward(self, pod: str) -> None:
        behind = self.server_of.pods.get(pod, 404)
        if isinstance(behind, int):
            reason = {403: "Forbidden", 404: "NotFound"}.get(behind, "InternalError")
            self.answer(behind, {"kind": "Status", "reason": reason, "message": f"{pod} says {behind}"})
            return
        accept = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + MAGIC).encode()).digest()
        protocol = self.headers.get("Sec-WebSocket-Protocol", "")
        self.server_of.protocols.append(protocol)
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(accept).decode())
        self.send_header("Sec-WebSocket-Protocol", protocol)
        self.end_headers()
        self.close_connection = True
        for channel in (0, 1):
            self.frame(BINARY, bytes([channel]) + (8000).to_bytes(2, "little"))
        if isinstance(behind, Refusing):
            self.frame(BINARY, b"\x01" + behind.words.encode())
            self.frame(CLOSE, (1000).to_bytes(2, "big"))
            return
        with self.server_of.connect(pod) as pod_side, suppress(OSError):
            up = threading.Thread(target=self.from_client, args=(pod_side,), daemon=True)
            up.start()
            with suppress(ConnectionResetError):  # a pod's end like any other
                while data := pod_side.recv(65536):
                    self.frame(BINARY, b"\x00" + data)
            self.frame(CLOSE, (1000).to_bytes(2, "big"))

    def from_client(self, pod_side: socket.socket) -> None:
        with suppress(OSError, ValueError):
            while True:
                first, second = self.rfile.read(2)
                size = second & 0x7F
                if size >= 126:
                    size = int.from_bytes(self.rfile.read(2 if size == 126 else 8), "big")
                mask = self.rfile.read(4)
                data = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(size)))
                if first & 0xF == CLOSE:
                    break
                pod_side.sendall(data[1:])
            pod_side.shutdown(socket.SHUT_RDWR)

    def frame(self, kind: int, data: bytes) -> None:
        size = len(data)
        length = bytes([size]) if size < 126 else bytes([127]) + size.to_bytes(8, "big")
        head = bytes([0x80 | kind]) + length
        self.wfile.write(head + data)

    def log_message(self, *_arguments: Any) -> None:
        """Print nothing."""


@contextmanager
def forwarding(items: list[Mapping[str, Any]], **pods: Any) -> Iterator[ForwardingServer]:
    server = ForwardingServer(items, pods)
    yield server
    server.stop()


def saying(answer: bytes) -> Pod:
    """Return a pod that says this, whatever is asked, and closes the connection."""

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            text = b""
            while b"\r\n\r\n" not in text:
                text += connection.recv(65536)
            connection.sendall(answer)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(
                65536
            ):  # what is left unread would reset the connection and lose the answer
                pass

    return serve


def silent(connection: socket.socket) -> None:
    """Read and never answer."""
    with connection, suppress(OSError):
        while connection.recv(65536):
            pass


def http(status: int, body: bytes, kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def events(*bodies: Any, done: bool = True) -> bytes:
    """Return a streamed answer; without its end where not ``done``."""
    lines = b"".join(b"data: " + json.dumps(body).encode() + b"\n\n" for body in bodies)
    return http(200, lines + (b"data: [DONE]\n\n" if done else b""), "text/event-stream")
