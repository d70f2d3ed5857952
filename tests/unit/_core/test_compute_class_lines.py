# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What GKE's autoscaler says against a ComputeClass, one line per condition."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.compute_class_lines import (
    compute_class_lines,
)

SPEC = {"priorities": [{"nodepools": ["gpu-pool"]}, {"nodepools": ["cpu-pool", "cpu-2"]}, {"spot": True}]}


def condition(kind: str, status: str, reason: str = "", message: str = "") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def priority(identifier: str, *conditions: dict[str, str]) -> dict:
    return {"identifier": identifier, "conditions": list(conditions)}


HEALTHY = condition("Health", "True", "Health", "Crd is healthy.")
ILL = condition("Health", "False", "Health", "Crd is not healthy.")
NO_POOL = condition("CrdMisconfigured", "True", "NodePoolNotExist", "node pool gpu-pool does not exist")
STOCKOUT = condition("ProvisioningSuspended", "True", "OutOfResources", "in back-off: gpu-pool")
CASES = {
    "nobody-has-judged-it": ({}, []),
    "no-conditions": ({"conditions": None}, []),
    "C35-healthy": ({"conditions": [HEALTHY]}, []),
    "C35-a-pool-is-missing": (
        {"conditions": [ILL, NO_POOL]},
        [
            "Health is False, Crd is not healthy.",
            "CrdMisconfigured, NodePoolNotExist: node pool gpu-pool does not exist",
        ],
    ),
    "no-longer-wrong": ({"conditions": [HEALTHY, NO_POOL | {"status": "False"}]}, []),
    "not-known": (
        {"conditions": [HEALTHY, condition("RuleMisconfigured", "Unknown")]},
        ["RuleMisconfigured is Unknown"],
    ),
    "healthy-but-out-of-stock": (
        {"conditions": [HEALTHY], "priorityStatuses": [priority("0", STOCKOUT), priority("1")]},
        ["priority 0 (gpu-pool): ProvisioningSuspended, OutOfResources: in back-off: gpu-pool"],
    ),
    "a-priority-with-two-pools": (
        {"priorityStatuses": [priority("1", condition("ProvisioningConstrained", "True", "QuotaExceeded"))]},
        ["priority 1 (cpu-pool, cpu-2): ProvisioningConstrained, QuotaExceeded"],
    ),
    "a-priority-without-pools": (
        {"priorityStatuses": [priority("2", condition("ProvisioningSuspended", "True"))]},
        ["priority 2: ProvisioningSuspended"],
    ),
    "beyond-the-priorities": (
        {"priorityStatuses": [priority("ScaleUpAnyway", condition("ProvisioningSuspended", "True"))]},
        ["priority ScaleUpAnyway: ProvisioningSuspended"],
    ),
}


@pytest.mark.parametrize(("status", "lines"), CASES.values(), ids=CASES)
def test_conditions_that_are_not_as_they_should_be(status, lines):
    assert compute_class_lines({"spec": SPEC, "status": status}) == lines


def test_no_class_at_all():
    assert compute_class_lines({}) == []
