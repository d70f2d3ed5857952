# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labs of a test's own, started and ended by the command that a user types."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ansible_collections.inference.dra.lab import lifecycle
from ansible_collections.inference.dra.lab.state import Lab

COMMAND = Path(sys.executable).parent / "dra-lab"
COMMAND_SECONDS = 120


def dra_lab(*words: str) -> subprocess.CompletedProcess[str]:
    """Run ``dra-lab`` as a user does and return how it ended."""
    return subprocess.run(
        [str(COMMAND), *words], capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False
    )


@contextlib.contextmanager
def running_lab(purpose: str, *options: str) -> Iterator[Lab]:
    """Yield a lab that nobody else uses; it is gone afterwards."""
    name = f"{purpose}-{os.getpid()}"
    try:
        done = dra_lab("up", "--name", name, *options)
        assert done.returncode == 0, done.stderr
        yield lifecycle.required(name)
    finally:
        done = dra_lab("down", "--name", name)
        assert done.returncode == 0, done.stderr
