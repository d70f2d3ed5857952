# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What speaks against a ComputeClass as one line per condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.compute_class_lines import (
    compute_class_lines,
)


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"compute_class_lines": compute_class_lines}
