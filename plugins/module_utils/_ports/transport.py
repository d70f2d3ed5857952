# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP for the Kubernetes API, registries and Cloud Build: the one file that knows the HTTP library."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .connection import Connection

if TYPE_CHECKING:
    import urllib3

Headers = Iterable[tuple[str, str]]
CONNECT_SECONDS = 10.0
OK = range(200, 300)


class NoAnswer(Exception):
    """The server said nothing; ``begun`` unless the request certainly never reached it."""

    def __init__(self, text: str, *, begun: bool) -> None:
        super().__init__(text)
        self.begun = begun


@dataclass(frozen=True)
class Answer:
    """What the server said. ``lines`` is for streamed answers, ``data`` for all others and for failures."""

    status: int
    headers: Mapping[str, str]
    data: bytes = b""
    lines: Iterable[bytes] = ()

    @property
    def is_ok(self) -> bool:
        return self.status in OK


class Transport:
    """Connections to one API server, kept open between requests."""

    def __init__(self, connection: Connection) -> None:
        import urllib3  # noqa: PLC0415 - a module must start without it, to say that it is missing

        self._library = urllib3
        self._pool = make_pool(urllib3, connection)

    def send(
        self,
        method: str,
        url: str,
        body: str | bytes | Iterable[bytes] | None,
        headers: Headers,
        seconds: float,
    ) -> Answer:
        """Return the answer to one request.

        :raises NoAnswer: where there is none within ``seconds``.
        """
        with self._failures():
            answer = self._pool.request(
                method,
                url,
                body=body,
                headers=self._library.HTTPHeaderDict(headers),
                timeout=self._library.Timeout(total=seconds),
                retries=False,
            )
            return Answer(answer.status, answer.headers, answer.data)

    @contextlib.contextmanager
    def stream(
        self,
        url: str,
        headers: Headers,
        seconds: float,
        split: Callable[[Any], Iterator[bytes]] | None = None,
    ) -> Iterator[Answer]:
        """Yield an answer whose lines come as the server writes them, for ``seconds`` at most.

        :param split: cuts it into other parts than lines, such as ``pieces``.
        :raises NoAnswer: where the connection breaks, also between two lines.
        """
        timeout = self._library.Timeout(connect=min(CONNECT_SECONDS, seconds), read=seconds)
        with self._failures():
            answer = self._pool.request(
                "GET",
                url,
                headers=self._library.HTTPHeaderDict(headers),
                timeout=timeout,
                retries=False,
                preload_content=False,
            )
            try:
                if answer.status in OK:
                    yield Answer(answer.status, answer.headers, lines=(split or lines)(answer))
                else:
                    yield Answer(answer.status, answer.headers, answer.read())
            finally:
                answer.close()

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except self._library.exceptions.HTTPError as error:
            begun = not isinstance(error, self._library.exceptions.NewConnectionError)
            raise NoAnswer(plain(error), begun=begun) from error


def make_pool(library: Any, connection: Connection) -> urllib3.PoolManager:
    options: dict[str, Any] = {"maxsize": 16}
    if connection.host.startswith("https"):
        options["ssl_context"] = connection.ssl_context()
        if connection.server_name:
            options["server_hostname"] = connection.server_name
    pool: urllib3.PoolManager
    if connection.proxy and not bypassed(connection):
        headers = library.make_headers(**connection.proxy_headers)
        pool = library.ProxyManager(connection.proxy, proxy_headers=headers, **options)
    else:
        pool = library.PoolManager(**options)
    return pool


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


def pieces(answer: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """Yield the bytes of a streamed answer, a megabyte at a time and as they were sent."""
    yield from answer.stream(2**20, decode_content=False)


def retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds the server asks for (``Retry-After``), 0 where it does not say."""
    value = headers.get("Retry-After", "")
    return float(value) if value.isdigit() else 0.0


def plain(error: Exception) -> str:
    """Return a transport error without urllib3's object addresses."""
    reason = getattr(error, "reason", None) or error
    return str(reason).split(": ", 1)[-1]
