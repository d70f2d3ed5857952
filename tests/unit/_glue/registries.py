# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""OCI registries in memory, as a transport reaches them: tokens, redirects, mounts, and refusals."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ansible_collections.inference.dra.plugins.module_utils._core import oci
from ansible_collections.inference.dra.plugins.module_utils._ports.transport import Answer, NoAnswer

STORAGE = "storage.example"


@dataclass
class Asked:
    method: str
    host: str
    path: str
    authorization: str


@dataclass
class Registries:
    """Every registry of the world, by host.

    :param users: user → password by host; a host in it asks for a token, and ``anyone`` may only pull.
    :param realm: the token server that registries name.
    :param refusals: answers that come in the place of the real one, by ``METHOD path-fragment``.
    :param silent: hosts that do not answer.
    """

    users: dict[str, dict[str, str]] = field(default_factory=dict)
    realm: str = "https://auth.example/token"
    scheme: str = "Bearer"
    redirects: bool = False
    refusals: dict[str, Answer] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    blobs: dict[tuple[str, str], bytes] = field(default_factory=dict)
    manifests: dict[tuple[str, str], bytes] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def connect(self, _host: str) -> Registries:
        return self

    @property
    def writes(self) -> list[str]:
        return [f"{each.method} {each.path}" for each in self.asked if each.method in ("POST", "PUT")]

    def add_image(
        self, name: str, tag: str, config: dict[str, Any], layers: list[bytes], platform: str = "linux/amd64"
    ) -> str:
        """Put an image into a registry and return its digest."""
        system, architecture = platform.split("/")
        document = {
            "os": system,
            "architecture": architecture,
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [oci.digest(b"open" + layer) for layer in layers]},
        }
        data = oci.encoded(document)
        for blob in (data, *layers):
            self.blobs[name, oci.digest(blob)] = blob
        described = [
            {
                **oci.descriptor(oci.LAYER, layer),
                "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
            }
            for layer in layers
        ]
        return self.add_manifest(name, tag, oci.image_manifest(data, described))

    def add_manifest(self, name: str, tag: str, manifest: dict[str, Any]) -> str:
        data = oci.encoded(manifest)
        for version in (tag, oci.digest(data)):
            self.manifests[name, version] = data
        return oci.digest(data)

    def image(self, name: str, version: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return manifest and configuration of an image."""
        manifest = json.loads(self.manifests[name, version])
        return manifest, json.loads(self.blobs[name, manifest["config"]["digest"]])

    # As a transport

    def send(self, method: str, url: str, body: Any, headers: Any, seconds: float) -> Answer:
        assert seconds > 0
        parts = urlsplit(url)
        sent = dict(headers)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        self.asked.append(Asked(method, parts.netloc, path, sent.get("Authorization", "")))
        if parts.netloc in self.silent:
            raise NoAnswer("connection refused", begun=False)
        for key, answer in self.refusals.items():
            wanted, _blank, fragment = key.partition(" ")
            if method == wanted and fragment in path:
                return answer
        if url.startswith(self.realm):
            return self._token(parse_qs(parts.query), sent.get("Authorization", ""))
        if parts.netloc == STORAGE:
            assert "Authorization" not in sent, "credentials went to the storage"
            return Answer(200, {}, self.blobs[next(key for key in self.blobs if key[1] == parts.path[1:])])
        denied = self._denied(parts.netloc, method, sent.get("Authorization", ""))
        return denied or self._serve(method, parts, body, sent)

    @contextlib.contextmanager
    def stream(self, url: str, headers: Any, seconds: float, split: Any = None) -> Iterator[Answer]:
        assert split is not None
        answer = self.send("GET", url, None, headers, seconds)
        half = len(answer.data) // 2
        yield Answer(answer.status, answer.headers, answer.data, [answer.data[:half], answer.data[half:]])

    def _token(self, query: dict[str, list[str]], authorization: str) -> Answer:
        known = {
            "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
            for users in self.users.values()
            for user, password in users.items()
        }
        pushes = "push" in query["scope"][0]
        if authorization not in known and (authorization or pushes):
            return Answer(401, {}, b'{"errors": [{"code": "UNAUTHORIZED", "message": "wrong password"}]}')
        return Answer(200, {}, json.dumps({"token": f"{query['scope'][0]}"}).encode())

    def _denied(self, host: str, method: str, authorization: str) -> Answer | None:
        if host not in self.users:
            return None
        if self.scheme == "Basic":
            return None if authorization else Answer(401, {"WWW-Authenticate": 'Basic realm="registry"'})
        needed = "pull,push" if method in ("POST", "PUT") else "pull"
        if authorization.startswith("Bearer repository:") and needed in authorization:
            return None
        return Answer(401, {"WWW-Authenticate": f'Bearer realm="{self.realm}",service="{host}"'})

    def _serve(self, method: str, parts: Any, body: Any, headers: dict[str, str]) -> Answer:
        path, kind, version = parts.path.removeprefix("/v2/").rsplit("/", 2)
        name = f"{'docker.io' if parts.netloc == 'registry-1.docker.io' else parts.netloc}/{path}"
        if method == "POST":
            return self._begin(parts, f"{parts.netloc}/{path.removesuffix('/blobs')}")
        if method == "PUT" and kind == "manifests":
            self.manifests[name, version] = self.manifests[name, oci.digest(body)] = body
            return Answer(201, {})
        if method == "PUT":
            data = body if isinstance(body, bytes) else b"".join(body)
            digest = parse_qs(parts.query)["digest"][0]
            assert digest == oci.digest(data)
            assert headers["Content-Length"] == str(len(data))
            self.blobs[f"{parts.netloc}/{path.removesuffix('/blobs')}", digest] = data
            return Answer(201, {})
        held = (self.manifests if kind == "manifests" else self.blobs).get((name, version))
        if held is None:
            return Answer(404, {}, b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "unknown"}]}')
        if kind == "blobs" and method == "GET" and self.redirects:
            return Answer(307, {"Location": f"https://{STORAGE}/{version}"})
        return Answer(200, {"Docker-Content-Digest": oci.digest(held)}, b"" if method == "HEAD" else held)

    def _begin(self, parts: Any, name: str) -> Answer:
        query = parse_qs(parts.query)
        if "mount" in query:
            source = f"{parts.netloc}/{query['from'][0]}"
            self.blobs[name, query["mount"][0]] = self.blobs[source, query["mount"][0]]
            return Answer(201, {})
        return Answer(202, {"Location": f"{parts.path}session?state=1"})
