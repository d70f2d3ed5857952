# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make or remove a kind cluster from a playbook, showing what takes long while it happens.

An action, because Docker and the clusters are the controller's and the first node image takes a quarter
of an hour to build: a module could show none of that.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

SPEC = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "name": {"type": "str", "default": "inference-dra"},
    "plan": {"type": "dict"},
    "kubeconfig": {"type": "path"},
}
COLLECTIONS = Path(__file__).parents[5]
"""The directory that holds ``ansible_collections``, wherever this collection is installed."""


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
        result.update(kind(words, options["plan"] or {}))
        result["waited_seconds"] = round(time.monotonic() - started, 1)
        return result


def kind(words: list[str], plan: dict[str, Any]) -> dict[str, Any]:
    """Run the lab's own command; show its progress as it comes, return its result or fail with its sentence."""
    path = os.pathsep.join(filter(None, [str(COLLECTIONS), os.environ.get("PYTHONPATH", "")]))
    said = ""
    with subprocess.Popen(
        [sys.executable, "-m", "ansible_collections.inference.dra.lab.kind", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    ) as process:
        assert process.stdin  # noqa: S101 - opened above
        with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
            json.dump(plan, pipe)
        for line in process.stderr or ():
            said = line.strip()
            Display().display(f"  {said}")
        answer = process.stdout.read() if process.stdout else ""
    if process.returncode:
        raise AnsibleActionFail(said or f"The kind cluster's command ended with status {process.returncode}.")
    result: dict[str, Any] = json.loads(answer)
    return result
