# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gke_node_pool against the lab's Google: lifecycle, drift, conflicts and every kind of failure."""

from __future__ import annotations

import pytest

GPU_POOL = {
    "name": "gpu-pool",
    "machine_type": "g2-standard-8",
    "accelerators": [{"type": "nvidia-l4", "count": 1, "gpu_driver_version": "disabled"}],
    "spot": True,
    "locations": ["us-central1-a"],
    "initial_node_count": 1,
    "autoscaling": {"min_node_count": 0, "max_node_count": 2},
    "labels": {"cloud.google.com/gke-nvidia-gpu-dra-driver": "true"},
    "taints": [{"key": "cloud.google.com/compute-class", "value": "fungible"}],
}
CPU_POOL = {
    "name": "cpu-pool",
    "machine_type": "n2-standard-16",
    "spot": True,
    "locations": ["us-central1-a"],
    "initial_node_count": 1,
    "autoscaling": {"min_node_count": 1, "max_node_count": 2},
}


def pools(lab, *wanted, **options) -> dict:
    return lab.run("gke_node_pool", cluster="demo", node_pools=list(wanted), **options)


def test_create_then_nothing_to_do(cluster):
    first = pools(cluster, GPU_POOL, CPU_POOL)
    assert (first["failed"], first["changed"]) == (False, True)
    assert [pool["status"] for pool in first["node_pools"]] == ["RUNNING", "RUNNING"]
    before = cluster.writes
    second = pools(cluster, GPU_POOL, CPU_POOL)
    assert (second["failed"], second["changed"], second["actions"]) == (False, False, [])
    assert cluster.writes == before
