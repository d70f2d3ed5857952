# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The version of the collection this package belongs to."""

from __future__ import annotations

import re
from pathlib import Path

COLLECTION = Path(__file__).resolve().parents[2]
# An installed collection has the first, a checkout the second.
_SOURCES = (
    ("MANIFEST.json", re.compile(r'"version":\s*"([^"]+)"')),
    ("galaxy.yml", re.compile(r"^version:\s*[\"']?([^\s\"']+)", re.MULTILINE)),
)


def version() -> str:
    """Return the collection's version, ``unknown`` where neither of its two files is there."""
    for name, pattern in _SOURCES:
        path = COLLECTION / name
        found = pattern.search(path.read_text()) if path.exists() else None
        if found:
            return found[1]
    return "unknown"
