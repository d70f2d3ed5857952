# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entry point ``verify`` of the role dra_drivers."""

from __future__ import annotations

import functools

import pytest

from ansible_collections.inference.dra.plugins.filter.inference_plan import inference_plan
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import NODES, SLICES

from .conftest import ALTERNATIVES
from .scene import GPU, node, resource_slice

pytestmark = pytest.mark.lab


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
    said = []

    def publish_once(line):
        if " of 60 s] Node gpu-2: " in line:
            if not said:
                resource_slice(api, GPU, [{"name": "gpu-0"}], "gpu-2")
            said.append(line)

    code, text = play("verify", publish_once, dra_drivers_devices_timeout_seconds=60)
    api.delete(SLICES, f"gpu-2-{GPU}")
    api.delete(NODES, "gpu-2")
    assert code == 0, text
    assert len(said) == 1
    assert "DaemonSet kube-system/dra-driver-nvidia-gpu-kubelet-plugin does not exist" in said[0]


def test_an_alternative_without_nodes_of_its_own_expects_nothing(verify):
    anywhere = [{key: value for key, value in each.items() if key != "node_pool"} for each in ALTERNATIVES]
    code, text = verify(dra_drivers_plan=inference_plan(anywhere), dra_drivers_allow_no_nodes=False)
    assert code == 0, text
