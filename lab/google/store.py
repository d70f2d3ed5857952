# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One JSON file that keeps the state of the simulated Google, written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..errors import LabError


class Store:
    """Keeps a state in ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> dict[str, Any] | None:
        """Return the kept state, ``None`` where there is none; raises :class:`LabError`."""
        try:
            loaded: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise LabError(
                f"cannot go on from the state of the simulated Google in {self.path}: {error}; "
                "delete the file to start empty"
            ) from error
        return loaded

    def save(self, state: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        temporary.write_text(json.dumps(state), encoding="utf-8")
        temporary.replace(self.path)
