# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gke_preflight: by what the lab's project can give; it never writes."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.tests.unit.modules.preflight_plan import (
    CPU_POOL,
    GPU_POOL,
    PLAN,
    bad,
    pool,
)


def judged(lab, **changes) -> dict:
    result = lab.run("gke_preflight", **{**PLAN, **changes})
    assert lab.writes <= 1  # at most the fixture's own
    return result


def test_a_good_plan_offline_asks_nothing(lab):
    result = judged(lab, offline=True)
    assert bad(result) == []
    assert lab.server.requests.reads == lab.writes == 0
    assert result["cluster_exists"] is None


def test_a_good_plan_for_a_new_cluster(lab):
    result = judged(lab)
    assert bad(result) == []
    reasons = {verdict["reason"] for verdict in result["verdicts"]}
    assert reasons >= {"ApiEnabled", "VersionOffered", "QuotaSufficient", "NetworkFound"}
    assert result["nodes"]["default-pool"] == {"minimum": 3, "initial": 3, "maximum": 3}
    assert result["cluster_exists"] is False


def test_a_good_plan_for_an_existing_cluster(cluster):
    result = judged(cluster)
    assert bad(result) == []
    assert "ClusterCompatible" in {verdict["reason"] for verdict in result["verdicts"]}
    assert "default-pool" not in result["nodes"]
    assert result["cluster_exists"] is True


PROJECTS = {
    "version-not-offered": ({"version": "1.99"}, [("VersionNotOffered", "Location us-central1")]),
    "version-too-old": ({"minimum_version": "1.99"}, [("VersionTooOld", "Location us-central1")]),
    "no-such-network": ({"network": "other"}, [("NetworkMissing", "Network other")]),
    "no-such-machine": (
        {"node_pools": [GPU_POOL, pool(CPU_POOL, machine_type="n2-standard-17")]},
        [("MachineTypeNotOffered", "NodePool cpu-pool")],
    ),
    "too-many-cards": (
        {
            "node_pools": [
                pool(
                    GPU_POOL,
                    accelerators=[{"type": "nvidia-l4", "count": 16, "gpu_driver_version": "disabled"}],
                ),
                CPU_POOL,
            ]
        },
        [("AcceleratorNotOffered", "NodePool gpu-pool")],
    ),
}


@pytest.mark.parametrize(("changes", "expected"), PROJECTS.values(), ids=PROJECTS)
def test_the_project(lab, changes, expected):
    assert bad(judged(lab, **changes)) == expected


@pytest.mark.parametrize(
    ("limit", "status"), [(0, "error"), (1, "warning")], ids=["cannot-start", "cannot-grow"]
)
def test_quota_for_the_first_and_for_the_largest_size(lab, limit, status):
    lab.fault("quota", metric="PREEMPTIBLE_NVIDIA_L4_GPUS", limit=limit)
    lab.fault("quota", metric="NVIDIA_L4_GPUS", limit=limit)
    [verdict] = [each for each in judged(lab)["verdicts"] if each["reason"] == "QuotaShort"]
    assert verdict["status"] == status
    assert "1 to start, 2 at the largest sizes" in verdict["expected"]


def test_a_disabled_api_ends_the_questions(lab):
    lab.fault("service-disabled", service="container.googleapis.com")
    result = judged(lab)
    assert bad(result) == [("ApiNotEnabled", "Service test-project/container.googleapis.com")]


def test_which_apis_are_enabled_is_told_with_those_that_are_asked_for(lab):
    lab.fault("service-disabled", service="monitoring.googleapis.com")
    result = judged(lab, services=["monitoring.googleapis.com", "compute.googleapis.com"])
    needed = ("container", "compute", "artifactregistry")
    enabled = {f"{name}.googleapis.com": "ENABLED" for name in needed}
    assert result["services"] == {**enabled, "monitoring.googleapis.com": "DISABLED"}
    assert bad(result) == [("ApiNotEnabled", "Service test-project/monitoring.googleapis.com")]


def test_who_may_not_read_which_apis_are_enabled_learns_the_rest(lab):
    lab.fault("permission-denied", permission="serviceusage.services.get")
    result = judged(lab)
    assert (bad(result), result["services"]) == ([], {})
    assert "VersionOffered" in {each["reason"] for each in result["verdicts"]}


def test_what_may_not_be_read_is_a_note(lab):
    lab.fault("permission-denied", permission="compute.regions.get")
    result = judged(lab)
    notes = [each for each in result["verdicts"] if each["reason"] == "NotReadable"]
    assert notes
    assert all(each["status"] == "note" for each in notes)


H200_POOL = {
    "name": "h200",
    "machine_type": "a3-ultragpu-8g",
    "accelerators": [{"type": "nvidia-h200-141gb", "count": 8, "gpu_driver_version": "disabled"}],
    "locations": ["us-central1-b"],
    "initial_node_count": 2,
}


def of_h200(result: dict) -> dict:
    [verdict] = [each for each in result["verdicts"] if "NVIDIA_H200" in each["subject"]]
    return verdict


@pytest.mark.parametrize(("limit", "status"), [(16, "ok"), (8, "error")])
def test_quota_of_a_new_family_is_read_from_cloud_quotas(lab, limit, status):
    lab.fault("quota", metric="NVIDIA_H200", limit=limit)
    verdict = of_h200(judged(lab, node_pools=[H200_POOL], alternatives=[], compute_class=None))
    assert verdict["status"] == status
    assert f"a limit of {limit}" in verdict["observed"]


def test_without_cloud_quotas_a_new_family_is_unknown(lab):
    lab.fault("service-disabled", service="cloudquotas.googleapis.com")
    result = judged(lab, node_pools=[H200_POOL], alternatives=[], compute_class=None)
    assert of_h200(result)["reason"] == "QuotaUnknown"
    assert bad(result) == []
    [note] = [each for each in result["verdicts"] if each["reason"] == "NotReadable"]
    assert "not_enabled" in note["observed"]


def test_cloud_quotas_are_not_asked_without_need(lab):
    judged(lab)
    assert not [name for name in lab.server.requests.by_method if name.startswith("cloudquotas")]
