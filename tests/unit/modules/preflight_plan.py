# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A good plan for gke_preflight, to be spoilt by tests: two pools, two alternatives, one compute class."""

from __future__ import annotations

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
PLAN = {
    "location": "us-central1",
    "cluster": "demo",
    "version": "1.36",
    "default_pool": {"initial_node_count": 1},
    "node_pools": [GPU_POOL, CPU_POOL],
    "alternatives": [GPU, CPU],
    "compute_class": COMPUTE_CLASS,
    "fail_on": "never",
}


def bad(result: dict) -> list[tuple[str, str]]:
    """Return (reason, subject) of everything that is not fine."""
    return [
        (verdict["reason"], verdict["subject"])
        for verdict in result["verdicts"]
        if verdict["status"] in ("warning", "error")
    ]


def pool(base: dict, **changes) -> dict:
    return {**base, **changes}
