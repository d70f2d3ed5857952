# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a command of the lab as a process of its own and show its progress while it works."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display

COLLECTIONS = Path(__file__).parents[5]
"""The directory that holds ``ansible_collections``, wherever this collection is installed."""


@dataclass(frozen=True)
class Answer:
    """How a command ended: its status, its last word, and the mapping it printed."""

    status: int
    said: str
    result: dict[str, Any] = field(default_factory=dict)

    def checked(self) -> dict[str, Any]:
        """Return the result of a command that went well; fail with its own sentence otherwise."""
        if self.status:
            raise AnsibleActionFail(self.said or f"The lab's command ended with status {self.status}.")
        return self.result


def lab_command(module: str, words: Iterable[Any], given: Any = None, *, show: bool = True) -> Answer:
    """Run ``lab.<module>`` with these words, ``given`` as JSON on its input, and return its answer."""
    command = [sys.executable, "-m", f"ansible_collections.inference.dra.lab.{module}", *map(str, words)]
    path = os.pathsep.join(filter(None, [str(COLLECTIONS), os.environ.get("PYTHONPATH", "")]))
    said = ""
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    ) as process:
        if process.stdin:
            with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
                pipe.write("" if given is None else json.dumps(given))
        for line in process.stderr or ():
            said = line.strip().removeprefix("dra-lab: ")
            if show:
                Display().display(f"  {said}")
        printed = process.stdout.read() if process.stdout else ""
    return Answer(process.returncode, said, json.loads(printed) if printed.startswith("{") else {})
