# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A device exists exactly while its chain is whole: label, DaemonSet pod, kernel driver, slice."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import PODS

from .conftest import GPU_LABELS, L4

pytestmark = pytest.mark.lab
NODE_POOL = "cloud.google.com/gke-nodepool"


@pytest.fixture
def cpu(machines):
    """A CPU node, and where its driver's DaemonSet has to go."""
    pool = machines.pool()
    (node,) = machines.wait_nodes(pool, 1)
    return node["metadata"]["name"], {NODE_POOL: pool}


@pytest.fixture
def gpu(machines):
    pool = machines.pool("g2-standard-8", accelerators=[L4], labels=GPU_LABELS)
    (node,) = machines.wait_nodes(pool, 1)
    return node["metadata"]["name"], {NODE_POOL: pool}


def driver_pod(machines, node, image):
    """Return the pod on a node that runs an image."""
    for pod in machines.store.all(PODS):
        if pod["spec"].get("nodeName") == node and image in pod["spec"]["containers"][0]["image"]:
            return pod
    return None


def test_cpu_slice_comes_and_goes_with_its_daemon_set(machines, cpu):
    node, select = cpu
    assert machines.ask(lambda: machines.slices(node, "dra.cpu")) == []
    name = machines.driver("dra.cpu", select)
    (slice_,) = machines.wait_slices(node, "dra.cpu")
    assert slice_["devices"][0]["capacity"]["dra.cpu/cpu"] == {"value": "16"}
    machines.remove_daemon_set(name)
    machines.wait_slices(node, "dra.cpu", 0)


def test_gpu_slice_needs_the_kernel_driver(machines, gpu):
    node, select = gpu
    machines.driver("gpu.nvidia.com", select, initContainers=[{"name": "init-container", "image": "i"}])

    def starting():
        pod = driver_pod(machines, node, "nvidia-gpu")
        init = (pod or {}).get("status", {}).get("initContainerStatuses", [{}])[0]
        return "running" in init.get("state", {}) and pod["status"]["phase"] == "Pending"

    machines.until(starting, "the driver's pod stuck in Init")
    assert machines.ask(lambda: machines.slices(node, "gpu.nvidia.com")) == []
    machines.installer(select)
    (slice_,) = machines.wait_slices(node, "gpu.nvidia.com")
    assert slice_["devices"][0]["attributes"]["productName"] == {"string": "NVIDIA L4"}
    assert machines.ask(lambda: driver_pod(machines, node, "nvidia-gpu"))["status"]["phase"] == "Running"


def test_a_toleration_that_does_not_fit_leaves_the_node_without_devices(machines, gpu):
    node, select = gpu
    machines.installer(select)
    narrow = [{"key": "another.example/taint", "operator": "Exists"}]
    wrong = machines.driver("gpu.nvidia.com", select, tolerations=narrow)
    machines.until(lambda: driver_pod(machines, node, "pause"), "the installer's pod")
    assert machines.ask(lambda: driver_pod(machines, node, "nvidia-gpu")) is None
    machines.remove_daemon_set(wrong)
    machines.driver("gpu.nvidia.com", select)
    machines.wait_slices(node, "gpu.nvidia.com")


def test_compute_domains_on_a_machine_without_imex_crash_beside_a_working_gpu_driver(machines, gpu):
    node, select = gpu
    machines.installer(select)
    image = "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.5.0"
    pair = [{"name": "compute-domains", "image": image}, {"name": "gpus", "image": image}]
    machines.daemon_set(image, select=select, containers=pair)
    machines.wait_slices(node, "gpu.nvidia.com")

    def crashing():
        pod = driver_pod(machines, node, "nvidia-gpu")
        states = {each["name"]: each["state"] for each in pod["status"].get("containerStatuses", [])}
        return "CrashLoopBackOff" in str(states.get("compute-domains")) and "running" in states["gpus"]

    machines.until(crashing, "compute-domains in CrashLoopBackOff")


def test_individual_mode_is_read_from_the_daemon_set(machines, cpu):
    node, select = cpu
    arguments = ["/dracpu", "--cpu-device-mode=individual", "--reserved-cpus=0-1"]
    machines.driver("dra.cpu", select, container={"args": arguments})
    (slice_,) = machines.wait_slices(node, "dra.cpu")
    assert len(slice_["devices"]) == 14
    assert "capacity" not in slice_["devices"][0]


def test_device_plugin_offers_gpus_where_no_label_forbids_it(machines):
    managed = {**L4, "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"}}
    pool = machines.pool("g2-standard-24", accelerators=[managed | {"acceleratorCount": "2"}])
    machines.wait_nodes(pool, 1)
    machines.until(
        lambda: machines.nodes(pool)[0]["status"]["allocatable"].get("nvidia.com/gpu") == "2",
        "the plugin's GPUs",
    )


def test_managed_network_driver_publishes_nics_below_the_gpus_roots(machines):
    """Guide B's pool: Dataplane V2, the network profile and the label; the DaemonSet is GKE's own."""
    machines.cluster("rdma", networkConfig={"datapathProvider": "ADVANCED_DATAPATH"})
    pool = machines.pool(
        "a3-ultragpu-8g",
        accelerators=[L4 | {"acceleratorType": "nvidia-h200-141gb", "acceleratorCount": "8"}],
        labels=GPU_LABELS | {"cloud.google.com/gke-networking-dra-driver": "true"},
        network={"acceleratorNetworkProfile": "auto"},
        cluster="rdma",
        zone="us-central1-b",
    )
    (node,) = machines.wait_nodes(pool, 1)
    (slice_,) = machines.wait_slices(node["metadata"]["name"], "dra.net")
    rdma = [each for each in slice_["devices"] if each["attributes"]["dra.net/rdma"]["bool"]]
    assert len(rdma) == 8
    assert "cloud.google.com/gce-topology-block" in node["metadata"]["labels"]
