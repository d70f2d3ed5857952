# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait for claims on the controller and print each change as it happens; a module can't print."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._glue.result import run
from ansible_collections.inference.dra.plugins.module_utils._glue.waiting import wait, wait_spec
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock
from ansible_collections.inference.dra.plugins.plugin_utils.controller_side import Here, Talking


class ActionModule(Talking):
    """The controller's side of M(inference.dra.resource_claim_wait)."""

    def argument_spec(self) -> dict[str, Any]:
        return wait_spec()

    def work(self, here: Here) -> None:
        run(
            here,
            lambda module: wait(
                module.params,
                SystemClock(),
                here.say,
                check_mode=module.check_mode,
            ),
        )
