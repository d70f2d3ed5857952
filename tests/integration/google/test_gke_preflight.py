# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gke_preflight: by what the lab's project can give; it never writes."""

from __future__ import annotations

import pytest

CLASS = "fungible-gpu-cpu"
CLASS_LABEL = {"cloud.google.com/compute-class": CLASS}
CLASS_TAINT = [{"key": "cloud.google.com/compute-class", "value": CLASS}]
GPU_POOL = {
    "name": "gpu-pool",
    "machine_type": "g2-standard-8",
    "accelerators": [{"type": "nvidia-l4", "count": 1, "gpu_driver_version": "disabled"}],
    "spot": True,
    "locations": ["us-central1-a"],
    "initial_node_count": 1,
    "autoscaling": {"min_node_count": 0, "max_node_count": 2},
    "labels": {
        **CLASS_LABEL,
        "gke-no-default-nvidia-gpu-device-plugin": "true",
        "cloud.google.com/gke-nvidia-gpu-dra-driver": "true",
    },
    "taints": CLASS_TAINT,
}
CPU_POOL = {
    "name": "cpu-pool",
    "machine_type": "n2-standard-16",
    "spot": True,
    "locations": ["us-central1-a"],
    "initial_node_count": 1,
    "autoscaling": {"min_node_count": 1, "max_node_count": 2},
    "labels": {**CLASS_LABEL, "cloud.google.com/gke-cpu-dra-driver": "true"},
    "taints": CLASS_TAINT,
}
GPU = {"name": "gpu", "driver": "gpu.nvidia.com", "device_class": "gpu.nvidia.com", "node_pool": "gpu-pool"}
CPU = {"name": "cpu", "driver": "dra.cpu", "device_class": "dra.cpu", "node_pool": "cpu-pool", "cpus": 12}
COMPUTE_CLASS = {
    "apiVersion": "cloud.google.com/v1",
    "kind": "ComputeClass",
    "metadata": {"name": CLASS},
    "spec": {
        "priorities": [{"nodepools": ["gpu-pool"]}, {"nodepools": ["cpu-pool"]}],
        "whenUnsatisfiable": "DoNotScaleUp",
    },
}


def judged(lab, **changes) -> dict:
    plan = {
        "cluster": "demo",
        "version": "1.36",
        "default_pool": {"initial_node_count": 1},
        "node_pools": [GPU_POOL, CPU_POOL],
        "alternatives": [GPU, CPU],
        "compute_class": COMPUTE_CLASS,
        "fail_on": "never",
        **changes,
    }
    result = lab.run("gke_preflight", **plan)
    assert lab.writes <= 1  # at most the fixture's own
    return result


def bad(result: dict) -> list[tuple[str, str]]:
    """Return (reason, subject) of everything that is not fine."""
    return [
        (verdict["reason"], verdict["subject"])
        for verdict in result["verdicts"]
        if verdict["status"] in ("warning", "error")
    ]


def test_a_good_plan_offline_asks_nothing(lab):
    result = judged(lab, offline=True)
    assert bad(result) == []
    assert lab.server.requests.reads == lab.writes == 0


def test_a_good_plan_for_a_new_cluster(lab):
    result = judged(lab)
    assert bad(result) == []
    reasons = {verdict["reason"] for verdict in result["verdicts"]}
    assert reasons >= {"ApiEnabled", "VersionOffered", "QuotaSufficient", "NetworkFound"}
    assert result["nodes"]["default-pool"] == {"minimum": 3, "initial": 3, "maximum": 3}


def test_a_good_plan_for_an_existing_cluster(cluster):
    result = judged(cluster)
    assert bad(result) == []
    assert "ClusterCompatible" in {verdict["reason"] for verdict in result["verdicts"]}
    assert "default-pool" not in result["nodes"]


def pool(base: dict, **changes) -> dict:
    return {**base, **changes}


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


def test_what_may_not_be_read_is_a_note(lab):
    lab.fault("permission-denied", permission="compute.regions.get")
    result = judged(lab)
    notes = [each for each in result["verdicts"] if each["reason"] == "NotReadable"]
    assert notes
    assert all(each["status"] == "note" for each in notes)
