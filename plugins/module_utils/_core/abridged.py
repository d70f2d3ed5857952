# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Long lists in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

NAMED = 8
"""A sentence names this many and leaves the rest to the count."""


def abridged(texts: Sequence[str], of: str = "", *, separator: str = ", ") -> str:
    """Return the first texts and how many more there are, such as ``a, b and 3 more nodes``.

    :param of: what they are, said after the number of the others.
    """
    more = f" and {len(texts) - NAMED} more{of and f' {of}'}" if len(texts) > NAMED else ""
    return f"{separator.join(texts[:NAMED])}{more}"
