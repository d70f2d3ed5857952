# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge slices in the controller's own process: in a third of a module's time, and printing what is missing."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._glue.result import run
from ansible_collections.inference.dra.plugins.module_utils._glue.slices import verify_slices, verify_spec
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock
from ansible_collections.inference.dra.plugins.plugin_utils.controller_side import Here, TalkingWithLibraries


class ActionModule(TalkingWithLibraries):
    """The controller's side of M(inference.dra.resource_slice_verify)."""

    def argument_spec(self) -> dict[str, Any]:
        return verify_spec()

    def work(self, here: Here) -> None:
        run(here, lambda module: verify_slices(module, SystemClock(), here.log))
