# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a compute class reports of itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from ansible_collections.inference.dra.lab.autoscaler import compute_class
from ansible_collections.inference.dra.lab.google.cloud import Limits

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
KEY = "cloud.google.com/compute-class"


@dataclass
class Pool:
    name: str = "a"
    labels: dict = field(default_factory=lambda: {KEY: "c"})
    taints: list = field(default_factory=lambda: [{"key": KEY, "value": "c"}])
    limits: Limits = field(default_factory=lambda: Limits(enabled=True, maximum=2))

    @property
    def message(self):
        return {"config": {"labels": self.labels, "taints": self.taints}}


def a_class(*rungs, **spec):
    return {"metadata": {"name": "c"}, "spec": {"priorities": list(rungs), **spec}}


RUNG = {"nodepools": ["a"]}


@pytest.mark.parametrize(
    ("obj", "pools", "reasons"),
    [
        pytest.param(a_class(RUNG), [Pool()], [], id="healthy"),
        pytest.param(a_class(RUNG), [], ["NodePoolNotExist"], id="C35-no-such-pool"),
        pytest.param(
            a_class(RUNG),
            [Pool(limits=Limits(enabled=False))],
            ["NodePoolNotExist"],
            id="C35-autoscaling-off",
        ),
        pytest.param(a_class(RUNG), [Pool(labels={})], ["CrdLabelNotMatching"], id="C35-no-label"),
        pytest.param(a_class(RUNG), [Pool(taints=[])], ["TaintMissing"], id="C35-no-taint"),
        pytest.param(
            a_class(RUNG),
            [Pool(taints=[{"key": KEY, "value": "d"}])],
            ["TaintValueNotMatching"],
            id="other-taint",
        ),
        pytest.param(
            a_class(RUNG),
            [Pool(taints=[{"key": KEY, "value": "c"}] * 2)],
            ["MultipleCrdTaints"],
            id="two-taints",
        ),
        pytest.param(
            a_class(RUNG),
            [Pool(limits=Limits(enabled=True))],
            ["NodepoolWillNeverScaleUp"],
            id="C35-maximum-0",
        ),
        pytest.param(a_class({"machineType": "n9-x"}), [Pool()], ["MachineTypeNotFound"], id="machine-type"),
        pytest.param(
            a_class({"machineFamily": "n2"}), [], ["NapDisabledAndNoMatchingNodegroups"], id="nothing-to-grow"
        ),
    ],
)
def test_problems(obj, pools, reasons):
    assert [each.reason for each in compute_class.problems(obj, pools)] == reasons
    (health, *others) = compute_class.status(obj, pools, {}, NOW)["conditions"]
    assert (health["type"], health["status"]) == ("Health", "False" if reasons else "True")
    assert [each["reason"] for each in others] == reasons


@pytest.mark.parametrize(
    ("rung", "suspended", "type_"),
    [
        pytest.param(["a"], {}, None, id="free"),
        pytest.param(["a"], {"a": "OutOfResources"}, "ProvisioningSuspended", id="all-of-it"),
        pytest.param(["a", "b"], {"a": "QuotaExceeded"}, "ProvisioningConstrained", id="part-of-it"),
    ],
)
def test_back_off_shows_in_the_priority(rung, suspended, type_):
    (first,) = compute_class.status(a_class({"nodepools": rung}), [], suspended, NOW)["priorityStatuses"]
    found = [(each["type"], each["reason"]) for each in first["conditions"]]
    assert found == ([(type_, *suspended.values())] if type_ else [])


def test_an_unchanged_status_stays_the_same_later():
    obj = a_class(RUNG)
    first = compute_class.status(obj, [Pool()], {"a": "OutOfResources"}, NOW)
    assert compute_class.status({**obj, "status": first}, [Pool()], {"a": "OutOfResources"}, LATER) == first


@pytest.mark.parametrize(
    ("pool", "anyway", "index"),
    [("b", False, "1"), ("z", True, "ccc_scale_up_anyway"), ("z", False, "ccc_no_rule_matching")],
)
def test_priority_of_a_node(pool, anyway, index):
    obj = a_class(RUNG, {"nodepools": ["b"]}, whenUnsatisfiable="ScaleUpAnyway" if anyway else "DoNotScaleUp")
    assert compute_class.priority_of(compute_class.rules_of(obj), pool) == index
