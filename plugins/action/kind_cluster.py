# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make or remove a kind cluster from a playbook, showing what takes long while it happens.

An action, because Docker and the clusters are the controller's and the first node image takes ten minutes
to build: a module could show none of that.
"""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.inference.dra.plugins.plugin_utils.lab_command import lab_command

SPEC = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "name": {"type": "str", "default": "inference-dra"},
    "plan": {"type": "dict"},
    "kubeconfig": {"type": "path"},
}


class ActionModule(ActionBase):
    """The controller's side of M(inference.dra.kind_cluster)."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validated, options = self.validate_argument_spec(
            argument_spec=SPEC, required_if=[("state", "present", ["plan"])]
        )
        started = time.monotonic()
        words = [options["state"], "--name", options["name"]]
        words += ["--kubeconfig", options["kubeconfig"]] if options["kubeconfig"] else []
        words += ["--check"] if self._task.check_mode else []
        result.update(lab_command("kind", words, options["plan"] or {}).checked())
        result["waited_seconds"] = round(time.monotonic() - started, 1)
        return result
