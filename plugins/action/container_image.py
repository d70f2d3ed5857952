# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Have an image and print what is being done; a module can't print for as long as a build takes."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._glue.container_image import run_container_image
from ansible_collections.inference.dra.plugins.modules.container_image import argument_spec
from ansible_collections.inference.dra.plugins.plugin_utils.controller_side import Here, TalkingWithLibraries


class ActionModule(TalkingWithLibraries):
    """The controller's side of M(inference.dra.container_image)."""

    def argument_spec(self) -> dict[str, Any]:
        return argument_spec()

    def work(self, here: Here) -> None:
        run_container_image(here)
