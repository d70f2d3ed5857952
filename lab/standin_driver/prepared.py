# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prepared claims on disk: one CDI specification per claim, which is also all the driver remembers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .claims import cdi_kind

VARIABLE = "DRA_CPUSET_"


class Prepared:
    """The CDI specifications of one driver in a node's CDI directory."""

    def __init__(self, directory: Path, driver: str) -> None:
        self._directory = directory
        self._driver = driver

    def _path(self, uid: str) -> Path:
        return self._directory / f"standin-{self._driver}-{uid}.json"

    def has(self, uid: str) -> bool:
        return self._path(uid).exists()

    def write(self, uid: str, spec: Mapping[str, Any]) -> None:
        """Write a specification in one step: the runtime reads the directory at any moment."""
        self._directory.mkdir(parents=True, exist_ok=True)
        scratch = self._path(uid).with_suffix(".new")
        scratch.write_text(json.dumps(spec))
        scratch.replace(self._path(uid))

    def remove(self, uid: str) -> None:
        self._path(uid).unlink(missing_ok=True)

    def device_id(self, uid: str) -> str:
        """Return the name under which a container asks for what the claim injects."""
        return f"{cdi_kind(self._driver)}={uid}"

    def taken_cpus(self) -> set[int]:
        """Return the CPUs that claims on this node hold, from the environment they inject."""
        taken: set[int] = set()
        for path in self._directory.glob(f"standin-{self._driver}-*.json"):
            for device in json.loads(path.read_text())["devices"]:
                for variable in device["containerEdits"].get("env", ()):
                    name, _unused, value = variable.partition("=")
                    if name.startswith(VARIABLE):
                        taken |= cpus_of_list(value)
        return taken


def cpus_of_list(text: str) -> set[int]:
    """Return the CPUs of a kernel list such as ``0-3,8``."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _unused, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found
