# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait for claims on the controller and print each change as it happens; a module can't print.

Delegated to another host, or over any connection but local, it is the plain module.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NoReturn

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.inference.dra.plugins.module_utils._glue.result import run
from ansible_collections.inference.dra.plugins.module_utils._glue.waiting import wait, wait_spec
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock


class Ended(Exception):
    """The result, on its way out of the shared code that ends a module."""


class Here:
    """What the shared code needs of a module, in the controller's own process."""

    def __init__(self, params: dict[str, Any], *, check_mode: bool) -> None:
        self.params = params
        self.check_mode = check_mode

    def exit_json(self, **result: Any) -> NoReturn:
        raise Ended(result)

    def fail_json(self, msg: str, **result: Any) -> NoReturn:
        raise Ended({"failed": True, "msg": msg, **result})


class ActionModule(ActionBase):
    """The controller's side of M(inference.dra.resource_claim_wait)."""

    _supports_check_mode = True

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        if self._connection.transport != "local":
            return result | self._execute_module(task_vars=task_vars)
        _validated, options = self.validate_argument_spec(argument_spec=wait_spec())
        here = Here(options, check_mode=self._task.check_mode)
        try:
            run(
                here,
                lambda module: wait(
                    module.params,
                    SystemClock(),
                    Display().display,
                    check_mode=module.check_mode,
                    environment=self._environment(),
                ),
            )
        except Ended as ended:
            return result | ended.args[0]

    def _environment(self) -> Mapping[str, str]:
        """Return the environment a module would have: the controller's, then the task's."""
        environment = dict(os.environ)
        for given in self._task.environment or ():
            environment.update(self._templar.template(given) or {})
        return environment
