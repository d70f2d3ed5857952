# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an image is made of, as a tag: the same content has the same tag, another content another one.

The ignore file follows moby/patternmatcher: the last pattern that matches a path, or a directory above it,
decides; ``!`` takes back; ``**`` stands for any number of directories.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

VERSION = 1
"""Part of every tag; raised where the same input would be built into something else."""


class Entry(NamedTuple):
    """One file of a build context.

    :param path: relative to the context, with ``/``.
    :param content: SHA-256 of a file in hexadecimal digits, or the target of a symbolic link.
    """

    path: str
    content: str
    executable: bool = False
    is_link: bool = False


def content_tag(
    entries: Iterable[Entry],
    dockerfile: str,
    build_args: Mapping[str, str],
    bases: Iterable[str],
    platform: str,
) -> str:
    """Return the tag, 21 characters. It begins with a letter: YAML would take digits for a number."""
    said = {
        "version": VERSION,
        "dockerfile": dockerfile,
        "build_args": dict(build_args),
        "bases": list(bases),
        "platform": platform,
        "files": sorted([*entry] for entry in entries),
    }
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return "c" + hashlib.sha256(text.encode()).hexdigest()[:20]


class Ignore:
    """The rules of a ``.dockerignore`` file."""

    def __init__(self, text: str = "") -> None:
        self._rules = [rule for line in text.splitlines() if (rule := _rule(line))]

    def ignores(self, path: str) -> bool:
        """Return whether a path is left out of the context."""
        parts = path.split("/")
        above = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
        ignored = False
        for rule in self._rules:
            if rule.takes_back == ignored and any(rule.expression.fullmatch(each) for each in above):
                ignored = not rule.takes_back
        return ignored

    def prunes(self, directory: str) -> bool:
        """Return whether nothing below an ignored directory can be taken back, so it need not be read."""
        return self.ignores(directory) and not any(
            rule.takes_back and rule.may_be_below(directory) for rule in self._rules
        )


class _Rule(NamedTuple):
    pattern: str
    expression: re.Pattern[str]
    takes_back: bool

    def may_be_below(self, directory: str) -> bool:
        """Return whether the pattern could match something inside the directory."""
        for mine, theirs in zip(self.pattern.split("/"), directory.split("/"), strict=False):
            if "**" in mine:
                return True
            if not re.fullmatch(_translated(mine), theirs):
                return False
        return True


def _rule(line: str) -> _Rule | None:
    text = line.strip()
    if not text or line.startswith("#"):
        return None
    takes_back = text.startswith("!")
    parts = [part for part in text.removeprefix("!").strip().split("/") if part not in ("", ".")]
    pattern = "/".join(parts)
    return _Rule(pattern, re.compile(_translated(pattern)), takes_back) if pattern else None


TOKEN = re.compile(
    r"(?P<any>\*\*/?)|(?P<some>\*)|(?P<one>\?)|(?P<set>\[[^\]]+\])|\\(?P<escaped>.)|(?P<plain>.)", re.DOTALL
)


def _translated(pattern: str) -> str:
    """Return the regular expression of a pattern of Go's ``filepath.Match`` with ``**``."""
    found = []
    for token in TOKEN.finditer(pattern):
        if token["any"]:
            found.append("(?:.*/)?" if token["any"].endswith("/") else ".*")
        elif token["some"]:
            found.append("[^/]*")
        elif token["one"]:
            found.append("[^/]")
        elif token["set"]:
            found.append(token["set"].replace("[^", "[^/").replace("\\", "\\\\"))
        else:
            found.append(re.escape(token["escaped"] or token["plain"]))
    return "".join(found)


def matches(pattern: str, path: str) -> bool:
    """Return whether a path matches a pattern of ``COPY``."""
    return re.fullmatch(_translated(pattern), path) is not None
