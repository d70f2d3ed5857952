# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module's own ``main`` in this process: its argument spec, its work, its result."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ansible.module_utils import basic
from ansible.module_utils.testing import patch_module_args

MODULES = "ansible_collections.inference.dra.plugins.modules"
RECORDED = Path(__file__).parents[1] / "fixtures" / "gpu_or_cpu_two_replicas.json"
NOW = "2026-11-30T16:00:00Z"
"""Some minutes after the record: one replica runs, the other waits for its image."""


class Ended(BaseException):
    """The result, on its way past the module's own error handling."""


def run_module(name: str, /, *, check_mode: bool = False, **options: Any) -> dict[str, Any]:
    """Return what the module prints, ``failed`` included."""
    module = importlib.import_module(f"{MODULES}.{name}")

    def end(_module: Any, **result: Any) -> None:
        raise Ended({"failed": False, **result})

    def fail(_module: Any, msg: str, **result: Any) -> None:
        raise Ended({"failed": True, "msg": msg, **result})

    arguments = {"_ansible_check_mode": check_mode, **options}
    with (
        patch_module_args(arguments),
        patch.object(basic.AnsibleModule, "exit_json", end),
        patch.object(basic.AnsibleModule, "fail_json", fail),
    ):
        try:
            module.main()
        except Ended as ended:
            # As Ansible does it: what is no JSON would fail here.
            return json.loads(json.dumps(ended.args[0]))
    raise AssertionError("the module ended without a result")


def recorded() -> dict[str, Any]:
    """Return the recorded cluster (Kubernetes 1.36.3) as a List, fresh, to be altered."""
    return json.loads(RECORDED.read_text())


def without(*kinds: str) -> list[dict[str, Any]]:
    """Return the recorded objects of all other kinds."""
    return [each for each in recorded()["items"] if each["kind"] not in kinds]
