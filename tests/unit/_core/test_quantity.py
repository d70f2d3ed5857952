# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quantities: exact, compared by value, written in the one canonical form (apimachinery's rules)."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core import quantity
from ansible_collections.inference.dra.plugins.module_utils._core.quantity import Quantity, QuantityError

NANO = 1
UNIT = 10**9

# text, billionths, canonical text: checked against resource.ParseQuantity of apimachinery 0.36.3
TABLE = [
    ("0", 0, "0"),
    ("-0", 0, "0"),
    ("12", 12 * UNIT, "12"),
    ("1000", 1000 * UNIT, "1k"),
    ("1000Ki", 1024000 * UNIT, "1000Ki"),
    ("1024", 1024 * UNIT, "1024"),
    ("1024Ki", 1048576 * UNIT, "1Mi"),
    ("1536Mi", 1610612736 * UNIT, "1536Mi"),
    ("1.5Gi", 1610612736 * UNIT, "1536Mi"),
    ("23034Mi", 23034 * 2**20 * UNIT, "23034Mi"),
    ("143771Mi", 143771 * 2**20 * UNIT, "143771Mi"),
    ("0.5Ki", 512 * UNIT, "512"),
    ("0.1Ki", 102400 * UNIT // 1000, "102400m"),
    ("500m", UNIT // 2, "500m"),
    ("0.5", UNIT // 2, "500m"),
    (".5", UNIT // 2, "500m"),
    ("5.", 5 * UNIT, "5"),
    ("0.1n", NANO, "1n"),
    ("-0.1n", -NANO, "-1n"),
    ("1u", 1000, "1u"),
    ("-1.5", -15 * UNIT // 10, "-1500m"),
    ("-1024Ki", -1048576 * UNIT, "-1Mi"),
    ("1e3", 1000 * UNIT, "1e3"),
    ("1E3", 1000 * UNIT, "1e3"),
    ("1E", 10**18 * UNIT, "1E"),
    ("1e-20", NANO, "1e-9"),
    ("+7", 7 * UNIT, "7"),
    ("007", 7 * UNIT, "7"),
    ("9223372036854775807", (2**63 - 1) * UNIT, "9223372036854775807"),
    ("9223372036854775808", 2**63 * UNIT, "9223372036854775808"),
    ("9999999Ei", (2**63 - 1) * UNIT, "9223372036854775807"),
    (16, 16 * UNIT, "16"),
    (1.5, 15 * UNIT // 10, "1500m"),
]


@pytest.mark.parametrize(("text", "nanos", "canonical"), TABLE, ids=[str(row[0]) for row in TABLE])
def test_parses_exactly_and_writes_canonically(text, nanos, canonical):
    found = quantity.parse(text)
    assert (found.nanos, str(found)) == (nanos, canonical)


@pytest.mark.parametrize("row", TABLE, ids=[str(row[0]) for row in TABLE])
def test_canonical_text_means_the_same_amount(row):
    found = quantity.parse(row[0])
    assert quantity.parse(str(found)) == found


@pytest.mark.parametrize(
    "text",
    ["", " ", "a", "1 Gi", "1g", "1e", "1ki", "1K", "--1", "1..2", "1.5.", ".", "m", "1e999999999", "٣"],
)
def test_refuses_what_is_no_quantity(text):
    with pytest.raises(QuantityError, match=r"quantity|suffix|larger"):
        quantity.parse(text)


@pytest.mark.parametrize("value", [None, True, [], {}], ids=str)
def test_refuses_other_types(value):
    with pytest.raises(QuantityError):
        quantity.parse(value)


@pytest.mark.parametrize(
    ("left", "right"),
    [("1Gi", "1024Mi"), ("1", "1000m"), ("12", "12.0"), ("1k", "1e3"), ("0", "0Ki")],
    ids=lambda value: value,
)
def test_equal_by_value_whatever_the_suffix(left, right):
    assert quantity.parse(left) == quantity.parse(right)
    assert hash(quantity.parse(left)) == hash(quantity.parse(right))


def test_order_is_by_value_not_by_text():
    texts = ["9", "10", "1k", "1Ki", "999m", "1e9", "1Gi"]
    assert [str(each) for each in sorted(map(quantity.parse, texts))] == [
        "999m", "9", "10", "1k", "1Ki", "1e9", "1Gi",
    ]  # fmt: skip


def test_no_amount_is_lost_in_sums():
    total = quantity.ZERO
    for _unused in range(10):
        total += quantity.parse("100m")
    assert total == quantity.parse("1")
    assert quantity.parse("16") - quantity.parse("12") == Quantity(4 * UNIT)
    assert quantity.parse("9999999999999999999999999999") + quantity.parse("1n") > quantity.parse(
        "9999999999999999999999999999"
    )


@pytest.mark.parametrize(("text", "whole"), [("1.1", 2), ("-1.1", -2), ("0", 0), ("3", 3), ("1n", 1)])
def test_whole_rounds_away_from_zero(text, whole):
    assert quantity.parse(text).whole == whole
