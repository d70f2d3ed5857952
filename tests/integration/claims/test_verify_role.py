# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entry point ``verify`` of the role dra_drivers, with the plan of two alternatives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import ansible_collections.inference.dra as collection
from ansible_collections.inference.dra.plugins.filter.inference_plan import inference_plan
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import NODES

from .scene import node

pytestmark = pytest.mark.lab
POOL = {"spot": True, "min_nodes": 0, "max_nodes": 2}
ALTERNATIVES = [
    {
        "name": "gpu",
        "device_class": "gpu.nvidia.com",
        "count": 1,
        "node_pool": {
            "name": "gpu-pool",
            "machine_type": "g2-standard-8",
            "accelerator": "nvidia-l4",
            **POOL,
        },
        "image": {"name": "vllm-gpu"},
    },
    {
        "name": "cpu",
        "device_class": "dra.cpu",
        "capacity": {"dra.cpu/cpu": "12"},
        "node_pool": {"name": "cpu-pool", "machine_type": "n2-standard-16", **POOL},
        "image": {"name": "vllm-cpu"},
    },
]


@pytest.fixture
def verify(kubeconfig, tmp_path):
    """Return a function that runs the entry point and returns its status and what it printed."""
    playbook = tmp_path / "play.yml"
    include = {"name": "inference.dra.dra_drivers", "tasks_from": "verify"}
    task = {"ansible.builtin.include_role": include}
    playbook.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]))
    environment = {
        **os.environ,
        "K8S_AUTH_KUBECONFIG": kubeconfig,
        "ANSIBLE_COLLECTIONS_PATH": str(Path(collection.__path__[0]).parents[2]),
        "ANSIBLE_LOCALHOST_WARNING": "false",
    }

    def run(**variables):
        given = {"dra_drivers_plan": inference_plan(ALTERNATIVES), **variables}
        command = [Path(sys.executable).parent / "ansible-playbook", playbook, "-e", json.dumps(given)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.fixture
def pool_nodes(api):
    """Put the nodes with slices into the node pools of the plan, for as long as a test takes."""
    label = "cloud.google.com/gke-nodepool"
    for name in ("gpu-1", "cpu-1"):
        pool = name.replace("1", "pool")
        api.merge_patch(NODES, name, {"metadata": {"labels": {label: pool}}})
    yield label
    for name in ("gpu-1", "cpu-1"):
        api.merge_patch(NODES, name, {"metadata": {"labels": {label: None}}})


@pytest.mark.usefixtures("control_plane")
@pytest.mark.parametrize(("fine", "status"), [(True, 0), (False, 2)], ids=["C46-fine", "C46-wrong"])
def test_pools_without_a_node(verify, fine, status):
    code, text = verify(dra_drivers_allow_no_nodes=fine)
    assert code == status, text
    assert ("no node has cloud.google.com/gke-nodepool=gpu-pool" in text) is not fine


def test_devices_on_every_node(verify, pool_nodes):
    code, text = verify(dra_drivers_allow_no_nodes=False)
    assert code == 0, text
    assert "gpu.nvidia.com for gpu" in text
    assert "dra.cpu for cpu" in text
    assert "changed=0" in text


def test_node_without_devices_names_the_driver(verify, pool_nodes, api):
    node(api, "gpu-2", **{pool_nodes: "gpu-pool"})
    code, text = verify()
    api.delete(NODES, "gpu-2")
    assert code == 2, text
    assert "Node gpu-2: DaemonSet kube-system/dra-driver-nvidia-gpu-kubelet-plugin does not exist" in text
