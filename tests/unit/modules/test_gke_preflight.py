# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gke_preflight offline: contradictions, the scale-from-zero lint and the cost, from the plan alone."""

from __future__ import annotations

from copy import deepcopy
from types import SimpleNamespace

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.inference.dra.plugins.module_utils._glue.google_preflight import run_preflight
from ansible_collections.inference.dra.plugins.module_utils._glue.result import ModuleFailure
from ansible_collections.inference.dra.plugins.modules.gke_preflight import argument_spec

from .preflight_plan import (
    CLASS,
    CLASS_LABEL,
    COMPUTE_CLASS,
    CPU,
    CPU_POOL,
    GPU,
    GPU_POOL,
    PLAN,
    bad,
    pool,
)

PRICES = {
    "as_of": "2026-08",
    "cluster_usd_per_hour": 0.1,
    "machines": {
        "g2-standard-8": {"on_demand": 0.854, "spot": 0.341},
        "n2-standard-16": {"on_demand": 0.777, "spot": 0.254},
    },
}


def judged(**changes) -> dict:
    plan = {**PLAN, "offline": True, **changes}
    checked = ArgumentSpecValidator(argument_spec()).validate(deepcopy(plan))
    assert not checked.error_messages
    module = SimpleNamespace(params=checked.validated_parameters, check_mode=False)
    return run_preflight(module, None, None, None)


def test_a_good_plan():
    assert bad(judged()) == []


PLANS = {
    "unpredicted-driver-at-zero": (
        {
            "node_pools": [
                GPU_POOL,
                pool(
                    CPU_POOL,
                    initial_node_count=0,
                    autoscaling={"min_node_count": 0, "max_node_count": 2},
                ),
            ]
        },
        [("ScaleFromZeroNotPredicted", "NodePool cpu-pool")],
    ),
    "gpu-at-zero-without-its-label": (
        {
            "node_pools": [
                pool(
                    GPU_POOL,
                    labels={**CLASS_LABEL, "gke-no-default-nvidia-gpu-device-plugin": "true"},
                ),
                CPU_POOL,
            ]
        },
        [("DriverLabelMissing", "NodePool gpu-pool")],
    ),
    "selector-on-memory": (
        {
            "alternatives": [
                {
                    **GPU,
                    "selectors": ["device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('20Gi')) > 0"],
                },
                CPU,
            ]
        },
        [("SelectorNeverMatchesAtZero", "Alternative gpu")],
    ),
    "selector-on-driver-version": (
        {
            "alternatives": [
                {**GPU, "selectors": ["device.attributes['gpu.nvidia.com'].driverVersion == '580'"]},
                CPU,
            ]
        },
        [("SelectorNeverMatchesAtZero", "Alternative gpu")],
    ),
    "selector-on-product-name": (
        {
            "alternatives": [
                {**GPU, "selectors": ["device.attributes['gpu.nvidia.com'].productName == 'NVIDIA L4'"]},
                CPU,
            ]
        },
        [],
    ),
    "more-cpus-than-a-group": (
        {"alternatives": [GPU, {**CPU, "numa_groups": 2}]},
        [("CpuGroupTooSmall", "Alternative cpu")],
    ),
    "all-cpus-of-a-group": (
        {"alternatives": [GPU, {**CPU, "cpus": 16}]},
        [("CpuGroupTooSmall", "Alternative cpu")],
    ),
    "namespace-quota": (
        {
            "resource_quotas": [
                {
                    "metadata": {"namespace": "default", "name": "no-gpus"},
                    "spec": {"hard": {"gpu.nvidia.com.deviceclass.resource.k8s.io/devices": "0"}},
                }
            ]
        },
        [("NamespaceQuotaForbids", "ResourceQuota default/no-gpus")],
    ),
    "taint-without-label": (
        {"node_pools": [GPU_POOL, pool(CPU_POOL, labels={})]},
        [
            ("ComputeClassMismatch", "NodePool cpu-pool"),
            ("ComputeClassMismatch", f"ComputeClass {CLASS}"),
        ],
    ),
    "device-plugin": (
        {
            "node_pools": [
                pool(
                    GPU_POOL,
                    labels={**CLASS_LABEL, "cloud.google.com/gke-nvidia-gpu-dra-driver": "true"},
                ),
                CPU_POOL,
            ]
        },
        [("DevicePluginActive", "NodePool gpu-pool")],
    ),
    "unknown-pool-in-class": (
        {
            "compute_class": {
                **COMPUTE_CLASS,
                "spec": {"priorities": [{"nodepools": ["gpu-poll"]}], "whenUnsatisfiable": "DoNotScaleUp"},
            }
        },
        [("NodePoolUnknown", f"ComputeClass {CLASS}")],
    ),
    "class-over-a-pool-without-autoscaling": (
        {"node_pools": [GPU_POOL, pool(CPU_POOL, autoscaling={"enabled": False})]},
        [("ComputeClassMismatch", f"ComputeClass {CLASS}")],
    ),
    "profile-without-dataplane-v2": (
        {"node_pools": [pool(GPU_POOL, network={"accelerator_profile": "auto"}), CPU_POOL]},
        [("ClusterIncompatible", "Cluster demo")],
    ),
    "option-google-refuses": (
        {"node_pools": [pool(GPU_POOL, flex_start=True), CPU_POOL]},
        [("PlanHasProblems", "NodePool gpu-pool")],
    ),
}


@pytest.mark.parametrize(("changes", "expected"), PLANS.values(), ids=PLANS)
def test_the_plan_alone(changes, expected):
    assert bad(judged(**changes)) == expected


def test_fail_on():
    zero = PLANS["unpredicted-driver-at-zero"][0]
    judged(fail_on="error", **zero)
    with pytest.raises(ModuleFailure, match="NotTriggerScaleUp") as failed:
        judged(fail_on="warning", **zero)
    assert failed.value.reason == "PreflightFailed"
    assert failed.value.facts["verdicts"]


def test_cost_of_the_plan():
    cost = judged(prices=PRICES)["cost"]
    assert cost["as_of"] == "2026-08"
    # fee + 1 CPU node; fee + 1 GPU + 1 CPU; fee + 2 GPU + 2 CPU; the default pool has no price
    assert cost["usd_per_hour"] == {"minimum": "0.3540", "initial": "0.6950", "maximum": "1.2900"}
    assert cost["unpriced"] == ["e2-medium on_demand (default-pool)"]
