# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labs of a test's own, started and ended by the command that a user types."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ansible_collections.inference.dra.lab import lifecycle
from ansible_collections.inference.dra.lab.state import Lab
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, SystemClock

COMMAND = Path(sys.executable).parent / "dra-lab"
COMMAND_SECONDS = 300
POLL_SECONDS = 0.05


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


def answered(ask: Callable[[], Any], holds: Callable[[Any], object], seconds: float = 30.0) -> Any:
    """Return the first answer that is what is expected: for APIs that nobody can watch."""
    clock = SystemClock()
    deadline = Deadline(clock, seconds)
    while not holds(answer := ask()):
        assert not deadline.expired, f"not within {seconds:g} s; the last answer was {answer}"
        clock.sleep(POLL_SECONDS)
    return answer
