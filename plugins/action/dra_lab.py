# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start or end the lab from a playbook, showing what takes long while it happens.

An action, because the lab lives on the controller and building its programs takes ten minutes
the first time: a module could show none of that.
"""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.inference.dra.plugins.plugin_utils.lab_command import lab_command

SPEC = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "name": {"type": "str", "default": "default"},
    "project": {"type": "str", "default": "lab-project"},
    "speed": {"type": "float", "default": 20.0},
}
COMMAND = "cli"
NOT_THERE = 1


class ActionModule(ActionBase):
    """The controller's side of M(inference.dra.dra_lab)."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validated, options = self.validate_argument_spec(argument_spec=SPEC)
        name = ["--name", options["name"]]
        seen = lab_command(COMMAND, ["status", "--json", *name], show=False)
        if options["state"] == "absent":
            there = seen.status != NOT_THERE
            if there and not self._task.check_mode:
                lab_command(COMMAND, ["down", *name]).checked()
            return result | {"changed": there, "running": False}
        if seen.status == 0:
            return result | seen.result | {"changed": False}
        if self._task.check_mode:
            return result | {"changed": True, "running": False}
        lab_command(COMMAND, ["binaries"]).checked()
        wishes = ["--speed", options["speed"], "--project", options["project"]]
        started = lab_command(COMMAND, ["up", "--json", *name, *wishes]).checked()
        return result | started | {"changed": True}
