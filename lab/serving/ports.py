# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many addresses, one thread that waits: every model server has a port of its own on loopback."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable

LOOPBACK = "127.0.0.1"
Handler = Callable[[socket.socket], None]


class Ports:
    """Listening sockets; each connection is handled in a thread of its own, and nobody polls."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._lock = threading.Lock()
        self._open: dict[int, socket.socket] = {}
        self._waker, self._woken = socket.socketpair()
        self._woken.settimeout(0)
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="model-servers", daemon=True)
        self._thread.start()

    def open(self, handler: Handler) -> int:
        """Listen on a free port and return it; ``handler`` gets every connection."""
        listener = socket.create_server((LOOPBACK, 0), backlog=128)
        listener.settimeout(0)
        port = int(listener.getsockname()[1])
        with self._lock:
            self._open[port] = listener
            self._selector.register(listener, selectors.EVENT_READ, handler)
        self._wake()
        return port

    def close(self, port: int) -> None:
        """Stop listening on a port."""
        with self._lock:
            listener = self._open.pop(port, None)
            if listener is not None:
                self._selector.unregister(listener)
                listener.close()
        self._wake()

    def stop(self) -> None:
        for port in list(self._open):
            self.close(port)
        self._stopping = True
        self._wake()
        self._thread.join(5)
        self._selector.close()
        self._waker.close()
        self._woken.close()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._waker.send(b"x")

    def _run(self) -> None:
        while not self._stopping:
            for key, _unused in self._selector.select():
                if key.data is None:
                    with contextlib.suppress(BlockingIOError):
                        self._woken.recv(4096)
                else:
                    self._accept(key.fileobj, key.data)  # type: ignore[arg-type] # only sockets are registered

    @staticmethod
    def _accept(listener: socket.socket, handler: Handler) -> None:
        try:
            connection, _unused = listener.accept()
        except OSError:
            return
        connection.settimeout(None)
        threading.Thread(target=handler, args=(connection,), daemon=True).start()
