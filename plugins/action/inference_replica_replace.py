# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replace replicas on the controller and print each step; a module can't print."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._glue.replacing import (
    replace_replicas,
    replace_spec,
)
from ansible_collections.inference.dra.plugins.module_utils._glue.result import run
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock
from ansible_collections.inference.dra.plugins.plugin_utils.controller_side import Here, Talking


class ActionModule(Talking):
    """The controller's side of M(inference.dra.inference_replica_replace)."""

    def argument_spec(self) -> dict[str, Any]:
        return replace_spec()

    def work(self, here: Here) -> None:
        run(
            here,
            lambda module: replace_replicas(
                module.params,
                SystemClock(),
                here.say,
                check_mode=module.check_mode,
            ),
        )
