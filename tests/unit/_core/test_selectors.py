# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a selector says about a device; the answers are those of kube-scheduler 1.36.3 (cel-go)."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core import selectors
from ansible_collections.inference.dra.plugins.module_utils._core.selectors import Selectors
from ansible_collections.inference.dra.plugins.module_utils._core.slices import ResourceSlice

DRIVER = "dra.net"
AT = f'device.attributes["{DRIVER}"]'
CAPACITY = f'device.capacity["{DRIVER}"]'


def device(**fields):
    spec = {
        "driver": DRIVER,
        "pool": {"name": "node-a", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "node-a",
        "devices": [{"name": "nic-0", **fields}],
    }
    return ResourceSlice.from_api({"metadata": {"name": "slice-a"}, "spec": spec}).devices[0]


NIC = device(
    attributes={
        "rdma": {"bool": True},
        f"{DRIVER}/index": {"int": 5},
        "ifName": {"string": "gpu5rdma0"},
        "firmware": {"version": "28.43.2"},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:8c"},
    },
    capacity={"bandwidth": {"value": "20Gi"}},
)

ANSWERS = [
    ("driver", f'device.driver == "{DRIVER}"', "match"),
    ("other-driver", 'device.driver == "gpu.nvidia.com"', "no match"),
    ("bool", f"{AT}.rdma", "match"),
    ("not-bool", f"!{AT}.rdma", "no match"),
    ("guarded", f"has({AT}.rdma) && {AT}.rdma", "match"),
    ("guard-of-missing", f"has({AT}.virtual) && {AT}.virtual", "no match"),
    ("guard-of-unknown-domain", 'has(device.attributes["x.example.com"].y)', "no match"),
    ("key-in", f'"rdma" in {AT}', "match"),
    ("key-not-in", f'"virtual" in {AT}', "no match"),
    ("domain-not-in", '"x.example.com" in device.attributes', "no match"),
    ("index-by-key", f'{AT}["index"] == 5', "match"),
    ("other-domain", 'device.attributes["resource.kubernetes.io"].pcieRoot == "pci0000:8c"', "match"),
    ("int", f"{AT}.index < 6 && {AT}.index >= 5", "match"),
    ("int-against-double", f"{AT}.index < 5.5 && {AT}.index == 5.0", "match"),
    ("int-is-never-text", f'{AT}.index == "5"', "no match"),
    ("int-differs-from-text", f'{AT}.index != "5"', "match"),
    ("in-list", f"{AT}.index in [1, 5]", "match"),
    ("not-in-list", f'{AT}.ifName in ["gpu0rdma0"]', "no match"),
    ("starts", f'{AT}.ifName.startsWith("gpu5")', "match"),
    ("contains", f'{AT}.ifName.contains("rdma")', "match"),
    ("regex", f'{AT}.ifName.matches("^gpu[0-9]rdma0$")', "match"),
    ("regex-no", f'{AT}.ifName.matches("^eth")', "no match"),
    ("lower", f'{AT}.ifName.upperAscii() == "GPU5RDMA0"', "match"),
    ("version-greater", f'{AT}.firmware.isGreaterThan(semver("28.9.0"))', "match"),
    ("version-prerelease", f'{AT}.firmware.isGreaterThan(semver("28.43.2-rc.1"))', "match"),
    ("version-equal", f'{AT}.firmware == semver("28.43.2+build")', "match"),
    ("version-compare", f'{AT}.firmware.compareTo(semver("29.0.0")) == -1', "match"),
    ("version-major", f"{AT}.firmware.major() == 28", "match"),
    ("quantity-greater", f'{CAPACITY}.bandwidth.isGreaterThan(quantity("19Gi"))', "match"),
    ("quantity-compare", f'{CAPACITY}.bandwidth.compareTo(quantity("20480Mi")) == 0', "match"),
    ("quantity-equal", f'{CAPACITY}.bandwidth == quantity("20Gi")', "match"),
    ("quantity-less", f'{CAPACITY}.bandwidth.isLessThan(quantity("1Gi"))', "no match"),
    ("optional", f'{AT}.?ifName.orValue("none") == "gpu5rdma0"', "match"),
    ("optional-missing", f'{AT}.?virtual.orValue("none") == "none"', "match"),
    ("optional-has", f"{AT}.?virtual.hasValue()", "no match"),
    ("optional-in-text-stays", f'{AT}.ifName != ".?name"', "match"),
    ("multiple", "device.allowMultipleAllocations", "no match"),
    ("error-and-false", f"{AT}.virtual && false", "no match"),
    ("error-or-true", f"{AT}.virtual || true", "match"),
    ("ternary", f"{AT}.rdma ? {AT}.index == 5 : false", "match"),
    ("bind", f"cel.bind(nic, {AT}, nic.rdma && nic.index == 5)", "match"),
    ("bind-in-bind", f'cel.bind(a, {AT}, cel.bind(b, a.ifName, b == "gpu5rdma0, (x)"))', "no match"),
    ("bind-and-more", f"cel.bind(nic, {AT}, nic.index)  == 5 && {AT}.rdma", "match"),
    ("exists", f'{AT}.exists(key, key == "rdma")', "match"),
]


@pytest.mark.parametrize(
    ("expression", "outcome"), [each[1:] for each in ANSWERS], ids=[each[0] for each in ANSWERS]
)
def test_answers(expression, outcome):
    assert Selectors().judge(expression, DRIVER, NIC).outcome == outcome


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        pytest.param(f"{AT}.virtual", "no such key: virtual", id="C22-unguarded-attribute"),
        pytest.param(f'{AT}["virtual"] == "x"', "no such key: virtual", id="C22-unguarded-key"),
        pytest.param('device.attributes["x.io"].y == 1', "no such key: y", id="C22-unknown-domain"),
        pytest.param(f"cel.bind(nic, {AT}, nic.virtual)", "no such key: virtual", id="C22-bound-name"),
        pytest.param(f"{AT}.ifName < 3", "no such overload", id="text-less-than-number"),
        pytest.param(f'{AT}.index.startsWith("5")', "no such overload", id="method-of-another-type"),
        pytest.param(
            f"{AT}.ifName", "CEL result of type string could not be converted to bool", id="no-bool"
        ),
    ],
)
def test_errors_are_the_schedulers_own(expression, text):
    assert Selectors().judge(expression, DRIVER, NIC) == ("error", text)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        pytest.param(f'{AT}.ifName.split("r").size() == 2', "split", id="unknown-method"),
        pytest.param("oops(device.driver)", "oops", id="unknown-function"),
        pytest.param(f'{AT}[?"rdma"].orValue(false)', "cannot parse", id="optional-index"),
        pytest.param(f'{AT}.ifName.matches("[[:alpha:]]")', "RE2", id="regex-of-re2-only"),
        pytest.param(f'{AT}.ifName.matches("(?=g)")', "RE2", id="regex-of-python-only"),
    ],
)
def test_what_is_not_known_is_not_guessed(expression, text):
    judgement = Selectors().judge(expression, DRIVER, NIC)
    assert judgement.outcome == "cannot judge"
    assert text in judgement.text


def test_lists_are_not_guessed():
    many = device(attributes={"roots": {"strings": ["a", "b"]}})
    assert Selectors().judge(f"has({AT}.roots)", DRIVER, many).outcome == "cannot judge"


def test_without_the_library_only_the_driver_is_judged(monkeypatch):
    monkeypatch.setattr(selectors, "load_runtime", lambda: None)
    selectors._compile.cache_clear()
    try:
        judge = Selectors().judge
        assert judge('device.driver == "dra.net"', DRIVER, NIC).outcome == "match"
        assert judge(f'device.driver == "other" && {AT}.rdma', DRIVER, NIC).outcome == "no match"
        unknown = judge(f'device.driver == "dra.net" && {AT}.rdma', DRIVER, NIC)
        assert unknown.outcome == "cannot judge"
        assert "cel-python" in unknown.text
    finally:
        selectors._compile.cache_clear()


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "other" || true',
        'device.driver == "other" && false || true',
        'device.driver == "other" ? false : true',
        'device.driver == "other" == false',
    ],
    ids=["or", "and-or", "ternary", "compared"],
)
def test_the_driver_shortcut_is_not_taken_where_something_binds_weaker(expression):
    assert Selectors().judge(expression, DRIVER, NIC).outcome == "match"


def test_devices_that_look_the_same_to_a_selector_are_judged_once(monkeypatch):
    evaluated = []
    evaluate = selectors._evaluate
    monkeypatch.setattr(selectors, "_evaluate", lambda *each: evaluated.append(each) or evaluate(*each))
    judge = Selectors()
    for index in range(50):
        same = device(attributes={"rdma": {"bool": index % 2 == 0}, "uuid": {"string": f"u{index}"}})
        expected = "match" if index % 2 == 0 else "no match"
        assert judge.judge(f"{AT}.rdma", DRIVER, same).outcome == expected
    assert len(evaluated) == 2


@pytest.mark.parametrize(
    "expression",
    [f'{AT}.exists(key, key == "uuid")', f"size({AT}) == 1", f'cel == "device" || has({AT}.uuid)'],
    ids=["macro", "whole-map", "device-in-text"],
)
def test_a_selector_that_may_look_at_anything_is_judged_for_each_device(expression):
    judge = Selectors()
    first = judge.judge(expression, DRIVER, device(attributes={"uuid": {"string": "a"}}))
    second = judge.judge(expression, DRIVER, device(attributes={"other": {"int": 1}, "more": {"int": 2}}))
    assert first != second
