# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which processor architecture an image is for, and which one a Google machine type has.

Source: Compute Engine's machine families. Everything that is not Arm is x86.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# Ampere (T2A), Axion (C4A, N4A) and Grace (A4X, the hosts of GB200 and GB300).
ARM_FAMILIES = frozenset({"t2a", "c4a", "n4a", "a4x"})
PLATFORM = re.compile(r"linux/(amd64|arm64)(/v8)?")


def architecture(machine_type: str) -> str:
    """Return ``amd64`` or ``arm64`` for a machine type such as ``n2-standard-16``."""
    return "arm64" if machine_type.partition("-")[0] in ARM_FAMILIES else "amd64"


def platform_problems(platform: str, machine_types: Iterable[str]) -> list[str]:
    """Return what keeps an image of this platform from running on these machines; empty for nothing.

    :param platform: ``linux/amd64`` or ``linux/arm64``, as in ``docker build --platform``.
    """
    found = PLATFORM.fullmatch(platform)
    if not found:
        return [f"platform {platform!r}: linux/amd64 or linux/arm64 is needed"]
    return [
        f"platform {platform}: machines of type {machine_type} are {architecture(machine_type)}"
        for machine_type in machine_types
        if architecture(machine_type) != found[1]
    ]
