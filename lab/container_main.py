# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m …lab.container_main MODULE ARGUMENT…``: a program whose output is a container's log.

Every line gets the head that the container runtime interface wants, because kwok shows nothing else.
"""

from __future__ import annotations

import io
import runpy
import sys
from typing import TextIO

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock


class LogStream(io.TextIOBase):
    """Text that goes line by line into a container's log."""

    def __init__(self, under: TextIO, name: str) -> None:
        self._under = under
        self._name = name
        self._rest = ""

    def write(self, text: str) -> int:
        """Take text; a line is written once it is complete."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            now = SystemClock().now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            self._under.write(f"{now} {self._name} F {line}\n")
        self._under.flush()
        return len(text)

    def writable(self) -> bool:
        return True


def main() -> None:
    """Run the module that is the first argument as if it had been started by itself."""
    sys.stdout = LogStream(sys.stdout, "stdout")
    sys.stderr = LogStream(sys.stderr, "stderr")
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
