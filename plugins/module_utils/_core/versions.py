# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GKE versions: compared as numbers, by as many parts as the user gave, resolved against what is offered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .abridged import abridged

VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+)(?:-gke\.(\d+))?)?")


class VersionNotOffered(ValueError):
    """GKE offers nothing that fits the wanted version.

    :param offered: what it does offer, newest first.
    """

    def __init__(self, wanted: str, where: str, offered: tuple[str, ...]) -> None:
        self.wanted = wanted
        self.offered = offered
        shown = abridged(offered) or "nothing"
        super().__init__(f"version {wanted} is not offered in {where}; offered: {shown}")


def parts(version: str) -> tuple[int, ...]:
    """Return the numbers of a version: ``1.36.0-gke.100`` is (1, 36, 0, 100), ``1.36`` is (1, 36).

    :raises ValueError: for anything but ``1.X``, ``1.X.Y`` or ``1.X.Y-gke.N``.
    """
    match = VERSION.fullmatch(version)
    if match is None:
        raise ValueError(f"{version!r} is not a GKE version such as 1.36, 1.36.0 or 1.36.0-gke.100")
    return tuple(int(part) for part in match.groups() if part is not None)


def fits(version: str, wanted: str) -> bool:
    """Return whether a version is the wanted one, by as many parts as the user gave."""
    numbers = parts(wanted)
    return parts(version)[: len(numbers)] == numbers


def newer(version: str, wanted: str) -> bool:
    """Return whether a version is past everything that would fit the wanted one."""
    numbers = parts(wanted)
    return parts(version)[: len(numbers)] > numbers


def resolve(wanted: str, channel: str, server: Mapping[str, Any], where: str) -> str:
    """Return the newest offered version that fits the wanted one.

    :param wanted: ``1.X``, ``1.X.Y``, ``1.X.Y-gke.N``, ``latest``, or ``-`` for the channel's default.
    :param channel: ``rapid``, ``regular``, ``stable``, ``extended``; ``none`` or empty for all versions.
    :param server: the API's ServerConfig (``validMasterVersions``, ``channels[].validVersions``).
    :param where: the location, for the message.
    :raises VersionNotOffered: with the offered versions of the same minor version, or all of them.
    """
    versions, default = offered(channel, server)
    if wanted == "-":
        return default
    fitting = versions if wanted == "latest" else [v for v in versions if fits(v, wanted)]
    if fitting:
        return fitting[0]
    near = tuple(version for version in versions if parts(version)[:2] == parts(wanted)[:2])
    place = f"{where} (channel {channel})" if channel and channel != "none" else where
    raise VersionNotOffered(wanted, place, near or tuple(versions))


def offered(channel: str, server: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return the versions of a channel, newest first, and its default; all versions without a channel."""
    for entry in server.get("channels", ()):
        if channel and entry.get("channel") == channel.upper():
            versions = entry.get("validVersions") or ()
            return sorted(versions, key=parts, reverse=True), entry.get("defaultVersion", "")
    versions = server.get("validMasterVersions") or ()
    return sorted(versions, key=parts, reverse=True), server.get("defaultClusterVersion", "")


def version_to_compare(wanted: str | None, live: str, subject: str) -> tuple[str, tuple[str, ...]]:
    """Return the live version as the comparison should see it, and a note if it is past the wanted one.

    GKE upgrades by itself and does not go back a minor version: newer than wanted is no difference.
    """
    if not wanted or not live:
        return live, ()
    if fits(live, wanted):
        return wanted, ()
    if newer(live, wanted):
        return wanted, (f"{subject} runs {live}, newer than the wanted {wanted}: left as it is",)
    return live, ()
