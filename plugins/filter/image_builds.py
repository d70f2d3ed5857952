# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The images that a list of alternatives needs built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.inference.dra.plugins.module_utils._core.alternatives import InputError
from ansible_collections.inference.dra.plugins.module_utils._core.image_builds import image_builds as derive


def image_builds(alternatives: Any, *arguments: Any, **options: Any) -> list[dict[str, Any]]:
    """Return the builds; all mistakes in the list come in one error."""
    try:
        return derive(alternatives, *arguments, **options)
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"image_builds": image_builds}
