# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane of its own, because nodes, slices and classes are the whole cluster's; and a role on it."""

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
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import Kubernetes
from ansible_collections.inference.dra.tests.integration.claims.scene import Service, furnish

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


@pytest.fixture(scope="session")
def control_plane(make_control_plane):
    plane = make_control_plane()
    furnish(Kubernetes.connect({"kubeconfig": str(plane.kubeconfig)}))
    return plane


@pytest.fixture
def service(api, namespace):
    made = Service(api, namespace)
    yield made
    made.delete()


@pytest.fixture
def kubeconfig(control_plane) -> str:
    return str(control_plane.kubeconfig)


@pytest.fixture
def play(kubeconfig, lab_binaries, tmp_path):
    """Return a function that runs a task file of the role and returns its status and what it printed."""
    playbook = tmp_path / "play.yml"
    (tmp_path / "helm").symlink_to(lab_binaries["helm"])
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "K8S_AUTH_KUBECONFIG": kubeconfig,
        "ANSIBLE_COLLECTIONS_PATH": str(Path(collection.__path__[0]).parents[2]),
        "ANSIBLE_LOCALHOST_WARNING": "false",
    }

    def run(tasks_from, told=lambda _line: None, **variables):
        include = {"name": "inference.dra.dra_drivers", "tasks_from": tasks_from}
        task = {"ansible.builtin.include_role": include}
        playbook.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]))
        given = {"dra_drivers_plan": inference_plan(ALTERNATIVES), **variables}
        command = [Path(sys.executable).parent / "ansible-playbook", playbook, "-e", json.dumps(given)]
        lines = []
        # Elsewhere than in the checkout, whose ansible.cfg names the inventory of the lab.
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            cwd=tmp_path,
        ) as process:
            assert process.stdout
            for line in process.stdout:
                lines.append(line)
                told(line)
        return process.returncode, "".join(lines)

    return run
