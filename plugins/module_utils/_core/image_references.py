# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Image references: registry, repository, tag and digest of what stands behind ``image:`` or ``FROM``.

Source: the grammar of distribution/reference and Docker's default of ``docker.io/library``.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
REFERENCE = re.compile(
    r"(?:(?P<host>localhost(?::\d+)?|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::\d+)?|[A-Za-z0-9-]+:\d+|\[[0-9a-fA-F:]+\](?::\d+)?)/)?"
    rf"(?P<path>{COMPONENT}(?:/{COMPONENT})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
DOCKER_HUB = "docker.io"
HUB_API = "registry-1.docker.io"
GOOGLE_DOMAINS = (".pkg.dev", ".gcr.io")


class InvalidReference(ValueError):
    """A text that names no image; the message says what is needed."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An image. ``tag`` and ``digest`` are empty where the text has none."""

    host: str
    path: str
    tag: str = ""
    digest: str = ""

    @property
    def name(self) -> str:
        """Return the reference without tag and digest."""
        return f"{self.host}/{self.path}"

    @property
    def is_pinned(self) -> bool:
        """Return whether the text will name the same image tomorrow, as far as a text can promise that."""
        return bool(self.digest) or self.tag not in ("", "latest")

    @property
    def version(self) -> str:
        """Return what a registry is asked for: the digest, else the tag, else ``latest``."""
        return self.digest or self.tag or "latest"

    @property
    def api(self) -> str:
        """Return the base URL of the registry's API; a registry on loopback has no TLS."""
        host = HUB_API if self.host == DOCKER_HUB else self.host
        return f"{'http' if is_loopback(self.host) else 'https'}://{host}/v2"

    def __str__(self) -> str:
        return self.name + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")


def parse(text: str) -> Reference:
    """Return the parts of a reference; a name without a registry is one of Docker Hub's.

    :raises InvalidReference: for a text that is none.
    """
    found = REFERENCE.fullmatch(text)
    if not found:
        raise InvalidReference(
            f"{text!r} is no image reference (registry/repository:tag@digest, in lower case)"
        )
    host, path = found["host"] or DOCKER_HUB, found["path"]
    if host == DOCKER_HUB and "/" not in path:
        path = f"library/{path}"
    return Reference(host, path, found["tag"] or "", found["digest"] or "")


def parse_name(text: str) -> Reference:
    """Return the parts of a name that images are pushed to: with a registry, without tag and digest.

    :raises InvalidReference: for anything else.
    """
    found = parse(text)
    if found.tag or found.digest:
        raise InvalidReference(
            f"{text!r} has a tag or digest; the tag follows from the content, so leave it out"
        )
    if not text.startswith(f"{found.host}/"):
        raise InvalidReference(
            f"{text!r} names no registry, such as us-central1-docker.pkg.dev/project/repository/{text}"
        )
    return found


def is_loopback(host: str) -> bool:
    """Return whether a registry's host (with or without port) is this machine itself."""
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def is_google(host: str) -> bool:
    """Return whether a registry takes Google's access tokens (Artifact Registry, and what was gcr.io)."""
    return f".{host}".endswith(GOOGLE_DOMAINS)
