# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workers of a kind cluster follow from the plan, and nodes are changed only where they differ."""

from __future__ import annotations

import json

import pytest

from ansible_collections.inference.dra.lab.errors import LabError
from ansible_collections.inference.dra.lab.kind.workers import (
    Worker,
    kind_configuration,
    node_names,
    node_patch,
    workers,
)
from ansible_collections.inference.dra.plugins.module_utils._core.alternatives import plan

GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def alternatives(gpu_nodes=2, cpu_nodes=2):
    return [
        {
            "name": "gpu",
            "device_class": "gpu.nvidia.com",
            "node_pool": {
                "name": "gpu-pool",
                "machine_type": "g2-standard-8",
                "accelerator": {"type": "nvidia-l4", "count": 1},
                "initial_nodes": 0,
                "min_nodes": 0,
                "max_nodes": gpu_nodes,
            },
            "image": {"reference": "example.com/gpu:1"},
        },
        {
            "name": "cpu",
            "device_class": "dra.cpu",
            "capacity": {"dra.cpu/cpu": "12"},
            "node_pool": {
                "name": "cpu-pool",
                "machine_type": "n2-standard-16",
                "initial_nodes": 0,
                "min_nodes": 0,
                "max_nodes": cpu_nodes,
            },
            "image": {"reference": "example.com/cpu:1"},
        },
    ]


def planned(**sizes):
    return plan(alternatives(**sizes), {"compute_class": "fungible"}).as_dict()


def test_every_pool_is_full_from_the_start():
    assert [worker.pool for worker in workers(planned(gpu_nodes=1, cpu_nodes=3))] == [
        "gpu-pool",
        "cpu-pool",
        "cpu-pool",
        "cpu-pool",
    ]


def test_a_gpu_worker_carries_what_a_gke_node_of_its_pool_carries():
    worker = workers(planned())[0]
    assert GPU_TAINT in worker.taints
    assert {
        "cloud.google.com/gke-nodepool": "gpu-pool",
        "cloud.google.com/gke-accelerator": "nvidia-l4",
        "cloud.google.com/gke-accelerator-count": "1",
        "cloud.google.com/compute-class": "fungible",
        "node.kubernetes.io/instance-type": "g2-standard-8",
        "nvidia.com/gpu.present": "true",
    }.items() <= worker.labels.items()


def test_a_cpu_worker_has_no_accelerator():
    worker = workers(planned())[-1]
    assert not [key for key in worker.labels if "accelerator" in key]
    assert GPU_TAINT not in worker.taints


def test_no_pool_is_refused_in_one_sentence():
    bare = [{"name": "cpu", "device_class": "dra.cpu", "image": {"reference": "example.com/cpu:1"}}]
    with pytest.raises(LabError, match="Give at least one alternative a node_pool"):
        workers(plan(bare).as_dict())


WANTED = Worker("gpu-pool", {"pool": "gpu"}, [GPU_TAINT])


@pytest.mark.parametrize(
    ("labels", "taints", "before", "patch"),
    [
        pytest.param({"pool": "gpu", "foreign": "x"}, [GPU_TAINT], {}, {}, id="as-wanted"),
        pytest.param(
            {"pool": "gpu"}, [NOT_READY, GPU_TAINT], {}, {}, id="taints-of-kubernetes-are-no-difference"
        ),
        pytest.param({}, [GPU_TAINT], {}, {"metadata": {"labels": {"pool": "gpu"}}}, id="a-label-is-missing"),
        pytest.param(
            {"pool": "gpu", "old": "1"},
            [GPU_TAINT],
            {"old": "1"},
            {"metadata": {"labels": {"old": None}}},
            id="a-label-is-no-longer-wanted",
        ),
        pytest.param(
            {"pool": "gpu"},
            [NOT_READY],
            {},
            {"spec": {"taints": [NOT_READY, GPU_TAINT]}},
            id="a-taint-is-missing",
        ),
        pytest.param(
            {"pool": "gpu"},
            [GPU_TAINT, {"key": "x", "effect": "NoExecute"}],
            {},
            {"spec": {"taints": [GPU_TAINT]}},
            id="a-taint-too-many",
        ),
    ],
)
def test_node_patch(labels, taints, before, patch):
    node = {"metadata": {"labels": labels}, "spec": {"taints": taints}}
    assert node_patch(node, WANTED, before) == patch


@pytest.mark.parametrize("default_network", [True, False])
def test_the_configuration_names_every_node_and_the_network(default_network):
    found = json.loads(kind_configuration("c", 4, default_network=default_network))
    assert [node["role"] for node in found["nodes"]] == ["control-plane", *["worker"] * 4]
    assert found["networking"]["disableDefaultCNI"] is not default_network
    kubelet = json.loads(found["kubeadmConfigPatches"][0])
    assert kubelet["failCgroupV1"] is False  # Kubernetes 1.35 and later refuse cgroup v1 otherwise


def test_node_names_are_those_that_kind_gives():
    assert node_names("c", 3) == ["c-worker", "c-worker2", "c-worker3"]
