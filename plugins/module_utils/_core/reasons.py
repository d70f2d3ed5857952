# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every reason a verdict may carry, with the sentence that explains it to a user.

The names are part of the collection's interface: they are never renamed, and the reference page of
the documentation is made from this table. One section per subject, alphabetical within it.
"""

from __future__ import annotations

CLAIM_REASONS: dict[str, str] = {}

SLICE_REASONS: dict[str, str] = {
    "AttributeMissing": "A device lacks an attribute that a selector or a constraint reads.",
    "AttributeTypeDiffers": "An attribute has another type than the one expected, so it never "
    "equals anything it is compared with.",
    "AttributeValueDiffers": "An attribute has another value than the one expected.",
    "DeviceTainted": "Devices carry a taint that keeps claims without a toleration away.",
    "NodeSelectionUnknown": "A slice selects its nodes in a way that this version does not know; "
    "the scheduler ignores such a slice.",
    "PoolCountZero": "The slices of a pool state a count of zero, so nothing is allocated from it.",
    "PoolEmpty": "The newest generation of a pool has no device.",
    "PoolIncomplete": "A pool has fewer or more slices of its newest generation than it states; "
    "nothing is allocated from it.",
    "PoolInvalid": "A pool contradicts itself: a device name twice, counts that disagree, or "
    "counters that do not exist.",
    "PoolPublishedByNodes": "Several nodes publish one pool, so their devices count as the same.",
    "SliceMalformed": "A ResourceSlice could not be read; its devices are not judged.",
    "SliceOrphaned": "A slice names a node that does not exist.",
    "StaleSlice": "Slices of an older generation remain; the scheduler ignores them.",
}

DIAGNOSIS_REASONS: dict[str, str] = {}

GOOGLE_REASONS: dict[str, str] = {}

REASONS: dict[str, str] = {
    **CLAIM_REASONS,
    **SLICE_REASONS,
    **DIAGNOSIS_REASONS,
    **GOOGLE_REASONS,
}
