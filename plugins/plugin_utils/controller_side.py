# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module's work done in the controller's own process, so that it can print while it works."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from ansible.module_utils.common.parameters import remove_values
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

Say = Callable[[str], None]


class Ended(Exception):
    """The result, on its way out of the shared code that ends a module."""


class Here:
    """What the shared code needs of a module; what a module would log is printed."""

    def __init__(self, params: dict[str, Any], *, check_mode: bool, say: Say) -> None:
        self.params = params
        self.check_mode = check_mode
        self.say = say

    def log(self, line: str) -> None:
        self.say(f"  {line}")

    def exit_json(self, **result: Any) -> NoReturn:
        raise Ended(result)

    def fail_json(self, msg: str, **result: Any) -> NoReturn:
        raise Ended({"failed": True, "msg": msg, **result})


class Talking(ActionBase):
    """The controller's side of a module that shows its progress.

    Delegated to another host, over any connection but local, as another user, or in the background, it is the
    plain module.
    """

    _supports_check_mode = True
    _supports_async = True

    def argument_spec(self) -> dict[str, Any]:
        raise NotImplementedError

    def dependencies(self) -> dict[str, Any]:
        """Return what options need of each other, such as ``required_by``, as AnsibleModule takes it."""
        return {}

    def work(self, here: Here) -> None:
        """Do the work and end through ``here``."""
        raise NotImplementedError

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        in_background = bool(self._task.async_val)
        if in_background or not self.is_here(task_vars or {}):
            return result | self._execute_module(task_vars=task_vars, wrap_async=in_background)
        with _environ(self._environment()):
            validated, options = self.validate_argument_spec(
                argument_spec=self.argument_spec(), **self.dependencies()
            )
            # A module's result is free of its secrets whatever an error quotes; this one has to be, too.
            secrets = validated._no_log_values  # noqa: SLF001 - Ansible has no other name for them
            here = Here(
                options,
                check_mode=self._task.check_mode,
                say=lambda line: Display().display(remove_values(line, secrets)),
            )
            try:
                self.work(here)
            except Ended as ended:
                cleaned: dict[str, Any] = remove_values(ended.args[0], secrets)
                return result | cleaned
        raise AssertionError("the shared code ends with a result")

    def is_here(self, _task_vars: Mapping[str, Any]) -> bool:
        """Return whether this process may do the work: on this machine and as this user."""
        return self._connection.transport == "local" and not getattr(self._connection, "become", None)

    def _environment(self) -> Mapping[str, str]:
        """Return the environment a module would have: the controller's, then the task's."""
        environment = dict(os.environ)
        for given in self._task.environment or ():
            templated = self._templar.template(given) or {}
            environment.update({name: str(value) for name, value in templated.items()})
        return environment


class TalkingWithLibraries(Talking):
    """The same for a module that needs more than Ansible does: only where its Python is Ansible's own."""

    def is_here(self, task_vars: Mapping[str, Any]) -> bool:
        interpreter = self._templar.template(task_vars.get("ansible_python_interpreter"))
        return super().is_here(task_vars) and interpreter == sys.executable


@contextmanager
def _environ(environment: Mapping[str, str]) -> Iterator[None]:
    """Have an environment for as long as the work takes: options fall back to it, programs inherit it."""
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
