# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Look at a service in the controller's own process, which takes a third of a module's time."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._glue.result import run
from ansible_collections.inference.dra.plugins.modules.inference_service_info import (
    REQUIRED_BY,
    argument_spec,
    look,
)
from ansible_collections.inference.dra.plugins.plugin_utils.controller_side import Here, TalkingWithLibraries


class ActionModule(TalkingWithLibraries):
    """The controller's side of M(inference.dra.inference_service_info)."""

    def argument_spec(self) -> dict[str, Any]:
        return argument_spec()

    def dependencies(self) -> dict[str, Any]:
        return {"required_by": REQUIRED_BY}

    def work(self, here: Here) -> None:
        run(here, look)
