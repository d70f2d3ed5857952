# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The references of images that have been built, by alternative."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.inference.dra.plugins.module_utils._core.alternatives import InputError
from ansible_collections.inference.dra.plugins.module_utils._core.image_builds import (
    built_references as derive,
)


def built_references(alternatives: Any, images: Iterable[Mapping[str, Any]], registry: str) -> dict[str, str]:
    """Return the references; all mistakes in the list come in one error."""
    try:
        return derive(alternatives, images, registry)
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"built_references": built_references}
