# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in charts in the lab's own registry, where the same tasks find them as elsewhere."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .errors import LabError
from .state import Lab

SOURCES = Path(__file__).parent / "charts"


def push(lab: Lab, binaries: Mapping[str, Path]) -> None:
    """Put every chart into the lab's registry below ``charts/``."""
    helm = str(binaries["helm"])
    base = f"oci://127.0.0.1:{lab.ports['registry']}/charts"

    def one(source: Path) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            run([helm, "package", str(source), "--destination", scratch])
            (archive,) = Path(scratch).glob("*.tgz")
            run([helm, "push", str(archive), base, "--plain-http"])

    with ThreadPoolExecutor() as workers:
        list(workers.map(one, [path.parent for path in SOURCES.glob("*/Chart.yaml")]))


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"`{' '.join(command[1:3])}` failed: {done.stderr.strip()}")
