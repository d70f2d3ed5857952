# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""OCI registries: what is there, and pushing without a build engine.

Source: OCI distribution specification 1.1; Docker's token authentication. Credentials are sent to the
registry that they are for and to the token server it names, never over plain HTTP to another machine.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol
from urllib.parse import quote, urlencode, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from .._core import oci
from .._core.image_references import Reference, is_loopback
from .clock import Clock, SystemClock
from .connection import Connection
from .transport import Answer, NoAnswer, Transport, pieces

Credentials = Callable[[str], "tuple[str, str] | None"]
"""Returns user and password for a registry's host, ``None`` where there are none."""

REQUEST_SECONDS = 60.0
BLOB_SECONDS = 3600.0
"""Layers of model servers have gigabytes."""
REDIRECTS = (301, 302, 303, 307, 308)
READ_PAUSES = (0.5, 1.0, 2.0)
WORTH_ANOTHER_TRY = (429, 500, 502, 503, 504)
OK, CREATED, ACCEPTED, UNAUTHORIZED, FORBIDDEN, MISSING = 200, 201, 202, 401, 403, 404


class RegistryError(Exception):
    """A registry that refuses or does not answer.

    :param kind: ``denied``, ``missing``, ``unreachable`` or ``refused``.
    """

    def __init__(
        self,
        attempted: str,
        observed: str,
        kind: Literal["denied", "missing", "unreachable", "refused"] = "refused",
    ) -> None:
        super().__init__(f"{attempted}: {observed}")
        self.attempted = attempted
        self.observed = observed
        self.kind = kind


class Http(Protocol):
    """What is needed of a transport."""

    def send(self, method: str, url: str, body: Any, headers: Any, seconds: float) -> Answer: ...

    def stream(self, url: str, headers: Any, seconds: float, split: Any = None) -> Any: ...


def direct(host: str) -> Transport:
    """Return a transport to a registry, through the proxy that the environment names."""
    loopback = is_loopback(host)
    proxy = "" if loopback or proxy_bypass(host) else getproxies().get("https", "")
    return Transport(Connection(host=f"{'http' if loopback else 'https'}://{host}", proxy=proxy))


class Registry:
    """All registries, each spoken to with the credentials it has."""

    def __init__(
        self,
        credentials: Credentials,
        connect: Callable[[str], Http] = direct,
        clock: Clock | None = None,
    ) -> None:
        self._credentials = credentials
        self._connect = connect
        self._clock = clock or SystemClock()
        self._transports: dict[str, Http] = {}
        self._authorization: dict[tuple[str, str], str] = {}

    # What is there

    def digest(self, image: Reference) -> str:
        """Return the digest of an image, empty where the registry does not have it.

        :raises RegistryError: where it can't be told.
        """
        attempted = f"looking for {image}"
        answer = self._ask("HEAD", image, f"manifests/{image.version}", attempted, accept=oci.ACCEPT)
        if answer.status == MISSING:
            return ""
        self._expect(answer, attempted, OK)
        return str(answer.headers.get("Docker-Content-Digest") or "") or oci.digest(
            self._read(image, image.version, attempted)
        )

    def manifest(self, image: Reference, platform: str) -> dict[str, Any]:
        """Return the manifest of an image for a platform.

        :raises RegistryError: where there is none.
        """
        attempted = f"reading {image}"
        found = json.loads(self._read(image, image.version, attempted))
        if found.get("mediaType") in oci.INDEXES or "manifests" in found:
            chosen = oci.manifest_for(found, platform)
            if not chosen:
                raise RegistryError(attempted, f"it is not made for {platform}", "missing")
            found = json.loads(self._read(image, chosen, attempted))
        return dict(found)

    def blob(self, image: Reference, digest: str) -> bytes:
        """Return a blob that fits into memory, such as a configuration."""
        attempted = f"reading {digest[:19]} of {image}"
        return b"".join(self._pieces(image, digest, attempted))

    # Pushing

    def push_blob(self, image: Reference, data: bytes) -> bool:
        """Have a blob in the image's repository; return whether it had to be sent."""
        digest = oci.digest(data)
        if self._has_blob(image, digest):
            return False
        self._upload(image, digest, len(data), data)
        return True

    def copy_blob(self, source: Reference, image: Reference, digest: str, size: int) -> bool:
        """Have a blob of another image in the image's repository; return whether it had to be sent."""
        if self._has_blob(image, digest):
            return False
        attempted = f"reading {digest[:19]} of {source}"
        mount = {"mount": digest, "from": source.path} if source.host == image.host else None
        self._upload(image, digest, size, self._pieces(source, digest, attempted), mount)
        return True

    def push_manifest(self, image: Reference, data: bytes) -> str:
        """Put a manifest under the image's tag and return its digest."""
        attempted = f"pushing {image}"
        answer = self._ask(
            "PUT", image, f"manifests/{image.tag}", attempted, data, content=oci.MANIFEST, write=True
        )
        self._expect(answer, attempted, CREATED)
        return oci.digest(data)

    def _has_blob(self, image: Reference, digest: str) -> bool:
        attempted = f"looking for {digest[:19]} in {image.name}"
        answer = self._ask("HEAD", image, f"blobs/{digest}", attempted, write=True)
        if answer.status == MISSING:
            return False
        self._expect(answer, attempted, OK, *REDIRECTS)
        return True

    def _upload(
        self,
        image: Reference,
        digest: str,
        size: int,
        body: bytes | Iterable[bytes],
        mount: Mapping[str, str] | None = None,
    ) -> None:
        attempted = f"pushing {digest[:19]} of {image}"
        begin = "blobs/uploads/" + (f"?{urlencode(mount)}" if mount else "")
        answer = self._ask("POST", image, begin, attempted, write=True)
        self._expect(answer, attempted, CREATED, ACCEPTED)
        if answer.status == CREATED:
            return
        place = urljoin(f"{image.api}/", answer.headers.get("Location", ""))
        url = f"{place}{'&' if urlsplit(place).query else '?'}digest={quote(digest)}"
        answer = self._ask(
            "PUT", image, url, attempted, body, content="application/octet-stream", size=size, write=True
        )
        self._expect(answer, attempted, CREATED)

    # How a request is made

    def _read(self, image: Reference, version: str, attempted: str) -> bytes:
        answer = self._ask("GET", image, f"manifests/{version}", attempted, accept=oci.ACCEPT)
        self._expect(answer, attempted, OK)
        return answer.data

    def _pieces(self, image: Reference, digest: str, attempted: str) -> Iterable[bytes]:
        """Yield a blob; registries send most of them from a storage that must not see the credentials."""
        url = f"{image.api}/{image.path}/blobs/{digest}"
        self._ask("HEAD", image, f"blobs/{digest}", attempted)  # so that a token is there
        headers = self._headers(image, write=False)
        for _hop in range(5):
            try:
                with self._transport(urlsplit(url).netloc).stream(
                    url, headers, BLOB_SECONDS, pieces
                ) as answer:
                    if answer.status not in REDIRECTS:
                        self._expect(answer, attempted, OK)
                        yield from answer.lines
                        return
                    url, headers = urljoin(url, answer.headers.get("Location", "")), []
            except NoAnswer as problem:
                raise RegistryError(
                    attempted, f"no answer from {urlsplit(url).netloc}: {problem}", "unreachable"
                ) from problem
            _refuse_plain(url, attempted)
        raise RegistryError(attempted, "the registry sends it on again and again")

    def _ask(
        self,
        method: str,
        image: Reference,
        path: str,
        attempted: str,
        body: Any = None,
        *,
        accept: str = "",
        content: str = "",
        size: int = -1,
        write: bool = False,
    ) -> Answer:
        url = path if "://" in path else f"{image.api}/{image.path}/{path}"
        foreign = urlsplit(url).netloc != urlsplit(image.api).netloc
        if foreign:
            _refuse_plain(url, attempted)
        extra = [("Accept", accept)] * bool(accept) + [("Content-Type", content)] * bool(content)
        extra += [("Content-Length", str(size))] * (size >= 0)
        known = [] if foreign else self._headers(image, write=write)
        answer = self._send(method, url, body, [*extra, *known], attempted)
        if answer.status == UNAUTHORIZED and not foreign and body is None:
            self._log_in(image, answer.headers.get("WWW-Authenticate", ""), attempted, write=write)
            answer = self._send(method, url, body, [*extra, *self._headers(image, write=write)], attempted)
        return answer

    def _send(self, method: str, url: str, body: Any, headers: Any, attempted: str) -> Answer:
        """Return the answer; a read is asked again where that may help, a change never."""
        for pause in READ_PAUSES if method in ("GET", "HEAD") else ():
            with contextlib.suppress(NoAnswer):
                answer = self._once(method, url, body, headers)
                if answer.status not in WORTH_ANOTHER_TRY:
                    return answer
            self._clock.sleep(pause)
        try:
            return self._once(method, url, body, headers)
        except NoAnswer as problem:
            observed = f"no answer from {urlsplit(url).netloc}: {problem}"
            raise RegistryError(attempted, observed, "unreachable") from problem

    def _once(self, method: str, url: str, body: Any, headers: Any) -> Answer:
        seconds = REQUEST_SECONDS if body is None else BLOB_SECONDS
        return self._transport(urlsplit(url).netloc).send(method, url, body, headers, seconds)

    def _headers(self, image: Reference, *, write: bool) -> list[tuple[str, str]]:
        value = self._authorization.get((image.name, "push" if write else "pull"), "")
        return [("Authorization", value)] if value else []

    def _log_in(self, image: Reference, header: str, attempted: str, *, write: bool) -> None:
        """Do what the registry asks for: a token of its token server, or user and password themselves."""
        scheme, asked = oci.challenge(header)
        known = self._credentials(image.host)
        basic = [("Authorization", _basic(*known))] if known else []
        key = (image.name, "push" if write else "pull")
        if scheme == "basic" and basic:
            self._authorization[key] = basic[0][1]
            return
        if scheme != "bearer" or not asked.get("realm"):
            raise RegistryError(
                attempted, "401: it asks for credentials, and none are known for it", "denied"
            )
        realm = urljoin(f"{image.api}/", asked["realm"])
        _refuse_plain(realm, attempted)
        scope = f"repository:{image.path}:{'pull,push' if write else 'pull'}"
        query = urlencode({"service": asked.get("service", ""), "scope": scope})
        url = f"{realm}{'&' if urlsplit(realm).query else '?'}{query}"
        answer = self._send("GET", url, None, basic, attempted)
        self._expect(answer, f"{attempted}: logging in at {urlsplit(realm).netloc}", OK)
        said = json.loads(answer.data)
        self._authorization[key] = f"Bearer {said.get('token') or said.get('access_token') or ''}"

    def _transport(self, host: str) -> Http:
        if host not in self._transports:
            self._transports[host] = self._connect(host)
        return self._transports[host]

    def _expect(self, answer: Answer, attempted: str, *wanted: int) -> None:
        if answer.status in wanted:
            return
        observed = f"{answer.status} {oci.refusal(answer.data)}".strip()
        if answer.status in (UNAUTHORIZED, FORBIDDEN):
            raise RegistryError(attempted, observed, "denied")
        if answer.status == MISSING:
            raise RegistryError(attempted, observed, "missing")
        raise RegistryError(attempted, observed, "refused")


def _refuse_plain(url: str, attempted: str) -> None:
    """Refuse an address that a registry sends us to where what we send could be read on the way."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not is_loopback(parts.netloc):
        raise RegistryError(
            attempted, f"the registry sends us to {parts.scheme}://{parts.netloc}, which has no TLS"
        )


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
