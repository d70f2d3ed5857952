# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes, prices and quotas of a plan."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.cost import PricedPool, hourly_cost
from ansible_collections.inference.dra.plugins.module_utils._core.node_pools import NodeCounts
from ansible_collections.inference.dra.plugins.module_utils._core.quota import (
    cpus_of,
    node_demand,
    pool_demand,
    quota_verdicts,
)

PRICES = {
    "as_of": "2026-08",
    "cluster_usd_per_hour": 0.1,
    "machines": {"g2-standard-8": {"on_demand": 0.854, "spot": 0.341}, "n2-standard-16": {"spot": 0.254}},
}


def test_guide_a_at_its_three_sizes():
    pools = [
        PricedPool("gpu-pool", "g2-standard-8", True, NodeCounts(0, 1, 2)),
        PricedPool("cpu-pool", "n2-standard-16", True, NodeCounts(1, 1, 2)),
    ]
    cost = hourly_cost(pools, PRICES)
    assert cost["usd_per_hour"] == {"minimum": "0.3540", "initial": "0.6950", "maximum": "1.2900"}
    assert (cost["as_of"], cost["unpriced"]) == ("2026-08", [])


def test_what_has_no_price_is_listed_and_not_taken_for_free():
    cost = hourly_cost([PricedPool("p", "n2-standard-16", False, NodeCounts(1, 1, 1))], PRICES)
    assert cost["unpriced"] == ["n2-standard-16 on_demand (p)"]
    assert cost["pools"][0]["usd_per_hour"] is None
    assert hourly_cost([], {})["unpriced"] == ["cluster fee"]


@pytest.mark.parametrize(
    ("machine", "cpus"),
    [("n2-standard-16", 16), ("e2-medium", 2), ("c3-standard-22-lssd", 22), ("unknown", 0)],
)
def test_cpus_of_a_machine(machine, cpus):
    assert cpus_of(machine, {}) == cpus
    assert cpus_of(machine, {machine: 99}) == 99


GPU = {
    "name": "gpu-pool",
    "machine_type": "g2-standard-8",
    "spot": True,
    "accelerators": [{"type": "nvidia-l4", "count": 1}],
    "autoscaling": {"enabled": True, "min_node_count": 0, "max_node_count": 2},
    "initial_node_count": 1,
    "locations": ["a"],
}


@pytest.mark.parametrize(
    ("options", "metrics"),
    [
        pytest.param(
            GPU,
            {
                "PREEMPTIBLE_NVIDIA_L4_GPUS": 1,
                "GPUS_ALL_REGIONS": 1,
                "IN_USE_ADDRESSES": 1,
                "SSD_TOTAL_GB": 100,
            },
            id="spot-gpu",
        ),
        pytest.param(
            {**GPU, "spot": False, "network": {"private_nodes": True}, "disk_type": "pd-standard"},
            {"NVIDIA_L4_GPUS": 1, "GPUS_ALL_REGIONS": 1},
            id="ordinary-private-gpu",
        ),
        pytest.param(
            {"machine_type": "n2-standard-16", "spot": True},
            {"PREEMPTIBLE_CPUS": 16, "CPUS_ALL_REGIONS": 16, "IN_USE_ADDRESSES": 1, "SSD_TOTAL_GB": 100},
            id="spot-cpu",
        ),
        pytest.param(
            {"machine_type": "n2-standard-16", "disk_size_gb": 50},
            {"N2_CPUS": 16, "CPUS_ALL_REGIONS": 16, "IN_USE_ADDRESSES": 1, "SSD_TOTAL_GB": 50},
            id="family-with-its-own-metric",
        ),
        pytest.param(
            {},
            {"CPUS": 2, "CPUS_ALL_REGIONS": 2, "IN_USE_ADDRESSES": 1, "SSD_TOTAL_GB": 100},
            id="default",
        ),
    ],
)
def test_what_a_node_draws(options, metrics):
    assert node_demand(options, {}) == (metrics, ())


def test_a_new_family_has_no_metric():
    options = {**GPU, "accelerators": [{"type": "nvidia-h200-141gb", "count": 8}]}
    assert node_demand(options, {})[1] == ("nvidia-h200-141gb",)
    verdicts = quota_verdicts([pool_demand(options, 1, {})], {}, "p/r")
    assert any("Cloud Quotas" in verdict.advice for verdict in verdicts)
    assert {verdict.reason for verdict in verdicts} == {"QuotaUnknown"}


def l4(spot: int | None, ordinary: int | None = None, usage: int = 0):
    demand = pool_demand(GPU, 3, {})
    quotas = {}
    if spot is not None:
        quotas["PREEMPTIBLE_NVIDIA_L4_GPUS"] = {"limit": spot, "usage": usage}
    if ordinary is not None:
        quotas["NVIDIA_L4_GPUS"] = {"limit": ordinary, "usage": usage}
    found = quota_verdicts([demand], quotas, "p/r")
    return next(verdict for verdict in found if "L4" in verdict.subject)


@pytest.mark.parametrize(
    ("verdict", "status", "reason"),
    [
        pytest.param(l4(2), "ok", "QuotaSufficient", id="enough"),
        pytest.param(l4(1), "warning", "QuotaShort", id="enough-to-start"),
        pytest.param(l4(1, usage=1), "error", "QuotaShort", id="used-up"),
        pytest.param(l4(0, 0), "error", "QuotaShort", id="none"),
        pytest.param(l4(0, 2), "ok", "QuotaSufficient", id="never-granted-for-spot"),
        pytest.param(l4(None), "note", "QuotaUnknown", id="not-shown"),
    ],
)
def test_quota(verdict, status, reason):
    assert (verdict.status, verdict.reason) == (status, reason)


def test_never_granted_for_spot_is_said():
    assert "NVIDIA_L4_GPUS is used" in l4(0, 2).observed


def test_nodes_that_exist_are_not_asked_for_again():
    demand = pool_demand(GPU, 1, {}, existing=NodeCounts(0, 1, 2))
    assert demand.additional == NodeCounts(0, 0, 0)
    assert quota_verdicts([demand], {}, "p/r") == []
    more = pool_demand(
        {**GPU, "autoscaling": {"enabled": True, "max_node_count": 5}}, 1, {}, existing=NodeCounts(0, 1, 2)
    )
    assert more.additional.maximum == 3
