# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start or end the lab from a playbook, showing what takes long while it happens.

An action, because the lab lives on the controller and building its programs takes a quarter of an hour
the first time: a module could show none of that.
"""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.inference.dra.lab import lifecycle, state
from ansible_collections.inference.dra.lab.binaries import Binaries
from ansible_collections.inference.dra.lab.errors import LabError

SPEC = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "name": {"type": "str", "default": "default"},
    "project": {"type": "str", "default": state.DEFAULT_PROJECT},
    "speed": {"type": "float", "default": state.DEFAULT_SPEED},
}


class ActionModule(ActionBase):
    """The controller's side of M(inference.dra.dra_lab)."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validated, options = self.validate_argument_spec(argument_spec=SPEC)
        try:
            result.update(self._converge(options))
        except LabError as error:
            raise AnsibleActionFail(str(error)) from error
        return result

    def _converge(self, options: dict[str, Any]) -> dict[str, Any]:
        lab = state.load(options["name"])
        whole = lab is not None and lifecycle.is_whole(lab)
        if options["state"] == "absent":
            return self._end(options["name"])
        if self._task.check_mode and not whole:
            return {"changed": True, "running": False}
        if not whole:
            say = Display().display
            Binaries.from_environment(say).ensure()
            lab = lifecycle.up(options["name"], options["speed"], options["project"], say)
        assert lab is not None  # noqa: S101 - whole or just started
        return {
            "changed": not whole,
            "running": True,
            "kubeconfig": str(lab.kubeconfig),
            "google_endpoint": lab.url("google"),
            "admin_endpoint": lab.url("admin"),
            "registry": f"127.0.0.1:{lab.ports['registry']}",
            "project": lab.project,
            "speed": lab.speed,
            "directory": str(lab.directory),
        }

    def _end(self, name: str) -> dict[str, Any]:
        there = state.directory_of(name).exists()
        if there and not self._task.check_mode:
            lifecycle.down(name)
        return {"changed": there, "running": False}
