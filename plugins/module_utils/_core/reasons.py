# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every reason a verdict may carry, with the sentence that explains it to a user.

The names are part of the collection's interface: they are never renamed, and the reference page of
the documentation is made from this table. One section per subject, alphabetical within it.
"""

from __future__ import annotations

CLAIM_REASONS: dict[str, str] = {}

SLICE_REASONS: dict[str, str] = {}

DIAGNOSIS_REASONS: dict[str, str] = {}

GOOGLE_REASONS: dict[str, str] = {}

REASONS: dict[str, str] = {
    **CLAIM_REASONS,
    **SLICE_REASONS,
    **DIAGNOSIS_REASONS,
    **GOOGLE_REASONS,
}
