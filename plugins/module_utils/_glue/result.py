# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a module ends: one result shape for success, one for every failure, nothing in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Protocol

from ansible.module_utils.basic import missing_required_lib

from ansible_collections.inference.dra.plugins.module_utils._core.objects import MalformedObjects
from ansible_collections.inference.dra.plugins.module_utils._core.strict_reader import InputError
from ansible_collections.inference.dra.plugins.module_utils._ports.connection import ConnectionFailed
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import KubernetesError


class ModuleFailure(Exception):
    """A failure that a module found itself.

    :param message: what was attempted, on which object, what was observed, what to do.
    :param reason: CamelCase, stable; returned beside the message.
    :param facts: further keys of the result, such as what was last seen.
    """

    def __init__(self, message: str, reason: str, **facts: Any) -> None:
        super().__init__(message)
        self.reason = reason
        self.facts = facts


class Module(Protocol):
    """What is needed of AnsibleModule; tests pass something smaller."""

    params: dict[str, Any]
    check_mode: bool

    def exit_json(self, **result: Any) -> NoReturn: ...

    def fail_json(self, msg: str, **result: Any) -> NoReturn: ...


def run(module: Module, work: Callable[[Module], Mapping[str, Any]]) -> NoReturn:
    """Do the module's work and exit with its result, or with the one failure it met.

    Every expected error becomes ``msg`` and a machine-readable ``reason``. What is not expected is a
    defect of this collection and keeps its traceback.
    """
    try:
        result = work(module)
    except ModuleFailure as failure:
        module.fail_json(msg=str(failure), reason=failure.reason, **failure.facts)
    except KubernetesError as error:
        module.fail_json(msg=str(error), reason=error.reason, status=error.status)
    except ConnectionFailed as error:
        module.fail_json(msg=str(error), reason="ConnectionFailed")
    except MalformedObjects as error:
        module.fail_json(msg=str(error), reason="MalformedObjects")
    except ImportError as error:
        module.fail_json(msg=missing_required_lib(error.name or str(error)), reason="LibraryMissing")
    except InputError as error:
        module.fail_json(msg=str(error), reason="InvalidInput")
    module.exit_json(**{"changed": False, **result})
