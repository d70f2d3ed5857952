# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role dra_drivers: its entry point ``verify``, and a release that an interrupted run left behind."""

from __future__ import annotations

import base64
import functools
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import ansible_collections.inference.dra as collection
from ansible_collections.inference.dra.plugins.filter.inference_plan import inference_plan
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import NODES, SECRETS, SLICES

from .scene import GPU, node, resource_slice

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
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        ) as process:
            assert process.stdout
            for line in process.stdout:
                lines.append(line)
                told(line)
        return process.returncode, "".join(lines)

    return run


@pytest.fixture
def verify(play):
    """Return a function that runs the entry point ``verify``, which looks once."""
    return functools.partial(play, "verify", dra_drivers_devices_timeout_seconds=0)


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


def test_devices_that_come_later_are_waited_for(play, pool_nodes, api):
    node(api, "gpu-2", **{pool_nodes: "gpu-pool"})
    retries = []

    def publish_once(line):
        if "RETRYING" in line:
            if not retries:
                resource_slice(api, GPU, [{"name": "gpu-0"}], "gpu-2")
            retries.append(line)

    code, text = play("verify", publish_once, dra_drivers_devices_timeout_seconds=60)
    api.delete(SLICES, f"gpu-2-{GPU}")
    api.delete(NODES, "gpu-2")
    assert code == 0, text
    assert len(retries) == 1


def test_an_alternative_without_nodes_of_its_own_expects_nothing(verify):
    anywhere = [{key: value for key, value in each.items() if key != "node_pool"} for each in ALTERNATIVES]
    code, text = verify(dra_drivers_plan=inference_plan(anywhere), dra_drivers_allow_no_nodes=False)
    assert code == 0, text


CHART = "dra-driver-noop"
CHARTS = Path(collection.__path__[0]) / "lab" / "charts"


def release_record(status):
    """Return helm's record of a release in a status, as Helm 3 and 4 keep it in a Secret."""
    body = {
        "name": CHART,
        "info": {"status": status, "first_deployed": "2026-01-01T00:00:00Z"},
        "chart": {"metadata": {"name": CHART, "version": "0.1.0", "apiVersion": "v2"}},
        "manifest": "",
        "version": 1,
    }
    packed = base64.b64encode(gzip.compress(json.dumps(body).encode()))
    return {
        "metadata": {
            "name": f"sh.helm.release.v1.{CHART}.v1",
            "labels": {"owner": "helm", "name": CHART, "status": status, "version": "1"},
        },
        "type": "helm.sh/release.v1",
        "data": {"release": base64.b64encode(packed).decode()},
    }


@pytest.mark.parametrize("status", [pytest.param("pending-install", id="C50-interrupted-install")])
def test_a_release_that_an_interrupted_run_left_is_named_with_the_way_out(play, api, namespace, status):
    api.create(SECRETS, release_record(status), namespace)
    code, said = play(
        "noop",
        dra_drivers_namespace=namespace,
        dra_drivers_noop_chart=str(CHARTS / CHART),
        dra_drivers_noop_image={"repository": "r.example/noop", "tag": "1"},
    )
    assert code != 0
    assert f"it is {status}, because an earlier run was interrupted" in said
    assert f"helm rollback {CHART} -n {namespace}" in said
    assert "Helm said: Failure" in said, said
