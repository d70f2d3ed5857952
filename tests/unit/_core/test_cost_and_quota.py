# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes, prices and quotas of a plan."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core import cloud_quotas
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
    assert node_demand(options, {}) == metrics


FAMILIES = {
    "dimensionsInfos": [
        {
            "dimensions": {"gpu_family": "NVIDIA_H200"},
            "details": {"value": "8"},
            "applicableLocations": ["us-central1", "europe-west4"],
        },
        {
            "dimensions": {"gpu_family": "NVIDIA_H200", "region": "us-central1"},
            "details": {"value": "16"},
            "applicableLocations": ["us-central1"],
        },
        {
            "dimensions": {"gpu_family": "NVIDIA_H100"},
            "details": {"value": "-1"},
            "applicableLocations": ["us-central1"],
        },
        {"dimensions": {"region": "us-central1"}, "details": {"value": "1"}},
        {"dimensions": {"gpu_family": "NVIDIA_B200"}, "applicableLocations": ["us-central1"]},
    ]
}


@pytest.mark.parametrize(
    ("region", "found"),
    [
        ("us-central1", {"NVIDIA_H200": 16, "NVIDIA_H100": float("inf")}),
        ("europe-west4", {"NVIDIA_H200": 8}),
        ("asia-east1", {}),
    ],
)
def test_limits_per_family(region, found):
    expected = {cloud_quotas.GPU_FAMILY + name: {"limit": limit} for name, limit in found.items()}
    assert cloud_quotas.limits(cloud_quotas.GPU_FAMILY, FAMILIES, region) == expected


@pytest.mark.parametrize(
    ("accelerator", "family"),
    [
        ("nvidia-h200-141gb", "NVIDIA_H200"),
        ("nvidia-h100-mega-80gb", "NVIDIA_H100_MEGA"),
        ("nvidia-gb200", "NVIDIA_GB200"),
        ("nvidia-rtx-pro-6000", "NVIDIA_RTX_PRO_6000"),
    ],
)
def test_family_of_a_gpu(accelerator, family):
    assert cloud_quotas.gpu_metric(accelerator) == cloud_quotas.GPU_FAMILY + family


def of_family(accelerator: str, quotas: dict, *, spot: bool = True):
    """Return the verdict on two nodes of eight cards, the second one to come later."""
    options = {**GPU, "spot": spot, "accelerators": [{"type": accelerator, "count": 8}]}
    found = quota_verdicts([pool_demand(options, 1, {})], quotas, "p/r")
    return next(verdict for verdict in found if "NVIDIA" in verdict.subject)


H200 = cloud_quotas.GPU_FAMILY + "NVIDIA_H200"
H100 = cloud_quotas.GPU_FAMILY + "NVIDIA_H100"


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        pytest.param(of_family("nvidia-h200-141gb", {}), "note", id="not-read"),
        pytest.param(of_family("nvidia-h200-141gb", {H200: {"limit": 16.0}}), "ok", id="enough"),
        pytest.param(of_family("nvidia-h200-141gb", {H200: {"limit": 8.0}}), "warning", id="to-start"),
        pytest.param(of_family("nvidia-h200-141gb", {H200: {"limit": 0.0}}), "error", id="none"),
        pytest.param(
            of_family(
                "nvidia-h100-80gb", {"NVIDIA_H100_GPUS": {"limit": 0.0}, H100: {"limit": 16.0}}, spot=False
            ),
            "ok",
            id="model-limited-by-its-family",
        ),
        pytest.param(of_family("nvidia-h100-80gb", {H100: {"limit": 16.0}}), "ok", id="spot-never-granted"),
    ],
)
def test_quota_of_a_family(verdict, status):
    assert verdict.status == status
    assert ("may be in use" in verdict.observed) == (status != "note")


def test_tpu_chips_are_counted():
    assert node_demand({"machine_type": "ct6e-standard-4t"}, {})["TPUS_PER_TPU_FAMILY/CT6E"] == 4


@pytest.mark.parametrize(
    ("metric", "known", "read"),
    [
        ("NVIDIA_L4_GPUS", {"NVIDIA_L4_GPUS": {"limit": 1.0}}, []),
        ("NVIDIA_L4_GPUS", {"NVIDIA_L4_GPUS": {"limit": 0.0}}, [cloud_quotas.GPU_FAMILY]),
        (H200, {}, [cloud_quotas.GPU_FAMILY]),
        (
            "PREEMPTIBLE_" + H200,
            {},
            [cloud_quotas.GPU_FAMILY, cloud_quotas.PREEMPTIBLE + cloud_quotas.GPU_FAMILY],
        ),
        ("CPUS", {}, []),
        ("TPUS_PER_TPU_FAMILY/CT6E", {}, [cloud_quotas.TPU_FAMILY]),
    ],
)
def test_cloud_quotas_are_read_only_where_they_decide(metric, known, read):
    assert cloud_quotas.quotas_to_read([metric], known) == read


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
