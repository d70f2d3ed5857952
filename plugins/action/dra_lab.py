# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start or end the lab from a playbook, showing what takes long while it happens.

An action, because the lab lives on the controller and building its programs takes a quarter of an hour
the first time: a module could show none of that.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

SPEC = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "name": {"type": "str", "default": "default"},
    "project": {"type": "str", "default": "lab-project"},
    "speed": {"type": "float", "default": 20.0},
}
COLLECTIONS = Path(__file__).parents[5]
"""The directory that holds ``ansible_collections``, wherever this collection is installed."""
NOT_THERE, NOT_WHOLE = 1, 3


class ActionModule(ActionBase):
    """The controller's side of M(inference.dra.dra_lab)."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validated, options = self.validate_argument_spec(argument_spec=SPEC)
        name = ["--name", options["name"]]
        status, seen = dra_lab("status", "--json", *name)
        if options["state"] == "absent":
            there = status != NOT_THERE
            if there and not self._task.check_mode:
                checked(*dra_lab("down", *name))
            return result | {"changed": there, "running": False}
        if status == 0:
            return result | seen | {"changed": False}
        if self._task.check_mode:
            return result | {"changed": True, "running": False}
        checked(*dra_lab("binaries"))
        started = checked(
            *dra_lab("up", "--json", *name, "--speed", options["speed"], "--project", options["project"])
        )
        return result | started | {"changed": True}


def dra_lab(*arguments: Any) -> tuple[int, dict[str, Any]]:
    """Run the lab's own command; show its progress as it comes, return its status and answer."""
    command = [sys.executable, "-m", "ansible_collections.inference.dra.lab.cli", *map(str, arguments)]
    path = os.pathsep.join(filter(None, [str(COLLECTIONS), os.environ.get("PYTHONPATH", "")]))
    said = ""
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    ) as process:
        for line in process.stderr or ():
            said = line.strip()
            if arguments[0] != "status":
                Display().display(f"  {said}")
        answer = process.stdout.read() if process.stdout else ""
    parsed = json.loads(answer) if answer.startswith("{") else {}
    return process.returncode, parsed | ({"msg": said} if process.returncode else {})


def checked(status: int, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of a command that went well; fail with its own sentence otherwise."""
    if status:
        raise AnsibleActionFail(answer["msg"].removeprefix("dra-lab: "))
    return answer
