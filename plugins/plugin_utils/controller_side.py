# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module's work done in the controller's own process, so that it can print while it works."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

Say = Callable[[str], None]


class Ended(Exception):
    """The result, on its way out of the shared code that ends a module."""


class Here:
    """What the shared code needs of a module."""

    def __init__(self, params: dict[str, Any], *, check_mode: bool) -> None:
        self.params = params
        self.check_mode = check_mode

    def exit_json(self, **result: Any) -> NoReturn:
        raise Ended(result)

    def fail_json(self, msg: str, **result: Any) -> NoReturn:
        raise Ended({"failed": True, "msg": msg, **result})


class Talking(ActionBase):
    """The controller's side of a module that shows its progress.

    Delegated to another host, or over any connection but local, it is the plain module.
    """

    _supports_check_mode = True

    def argument_spec(self) -> dict[str, Any]:
        raise NotImplementedError

    def work(self, here: Here, say: Say, environment: Mapping[str, str]) -> None:
        """Do the work and end through ``here``."""
        raise NotImplementedError

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        if self._connection.transport != "local":
            return result | self._execute_module(task_vars=task_vars)
        _validated, options = self.validate_argument_spec(argument_spec=self.argument_spec())
        here = Here(options, check_mode=self._task.check_mode)
        try:
            self.work(here, Display().display, self._environment())
        except Ended as ended:
            return result | ended.args[0]
        raise AssertionError("the shared code ends with a result")

    def _environment(self) -> Mapping[str, str]:
        """Return the environment a module would have: the controller's, then the task's."""
        environment = dict(os.environ)
        for given in self._task.environment or ():
            environment.update(self._templar.template(given) or {})
        return environment
