# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Long lists in a sentence."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.abridged import abridged


@pytest.mark.parametrize(
    ("count", "ending"),
    [(0, ""), (1, "0"), (8, "6; 7"), (9, "7 and 1 more nodes"), (20, "7 and 12 more nodes")],
)
def test_eight_are_named_and_the_others_counted(count, ending):
    text = abridged([str(number) for number in range(count)], "nodes", separator="; ")
    assert text.endswith(ending)
    assert text.count(";") == max(0, min(count, 8) - 1)


def test_what_they_are_need_not_be_said():
    assert abridged("abcdefghij").endswith("g, h and 2 more")
