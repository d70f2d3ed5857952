# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that follows from a list of alternatives, for templates and task arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.inference.dra.plugins.module_utils._core.alternatives import InputError, plan


def inference_plan(alternatives: Any, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return every derived value under its name; all mistakes in the list come in one error."""
    try:
        return plan(alternatives, settings).as_dict()
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"inference_plan": inference_plan}
