# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each driver publishes for each machine, and which pods are drivers at all."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ansible_collections.inference.dra.lab.hardware import devices, drivers, publishing

ROOT = "resource.kubernetes.io/pcieRoot"


def node(accelerator="", count=0, cpus="16", **labels):
    found = {"cloud.google.com/gke-accelerator": accelerator} if accelerator else {}
    found["cloud.google.com/gke-accelerator-count"] = str(count)
    return {
        "metadata": {"name": "n1", "uid": "u1", "labels": found | labels},
        "status": {"capacity": {"cpu": cpus}},
    }


def container(image, name="c", args=()):
    return {"name": name, "image": image, "args": list(args)}


def pod(*containers, owner="DaemonSet", labels=None):
    return {
        "metadata": {
            "name": "p",
            "labels": labels or {},
            "ownerReferences": [{"kind": owner, "controller": True}],
        },
        "spec": {"containers": list(containers)},
        "status": {"phase": "Running"},
    }


GPUS = container("registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.5.0", "gpus")
OLD_GPUS = container("nvcr.io/nvidia/k8s-dra-driver-gpu:v25.8.0", "gpus")
DOMAINS = container("registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.5.0", "compute-domains")
CPUS = container("mirror.example:5000/x/dra-driver-cpu@sha256:00", "dracpu", ["/dracpu"])
NICS = container("networking-dra-driver:1", "driver")


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        pytest.param(pod(DOMAINS, GPUS), ["gpu.nvidia.com"], id="gpus-beside-compute-domains"),
        pytest.param(pod(OLD_GPUS), ["gpu.nvidia.com"], id="gpus-of-25.8"),
        pytest.param(pod(DOMAINS), [], id="compute-domains-alone-publish-no-gpu"),
        pytest.param(pod(CPUS), ["dra.cpu"], id="cpus-from-a-mirror-by-digest"),
        pytest.param(pod(NICS), ["dra.net"], id="managed-network-driver"),
        pytest.param(pod(CPUS, owner="ReplicaSet"), [], id="not-a-daemonset"),
        pytest.param(pod(container("vllm/vllm-openai:latest")), [], id="another-program"),
    ],
)
def test_which_pods_are_drivers(found, wanted):
    assert [driver.name for driver, _unused in drivers.drivers_of(found)] == wanted


@dataclass
class Wanted:
    product: str
    architecture: str
    capability: str
    memory: str
    roots: int


@pytest.mark.parametrize(
    ("accelerator", "count", "wanted"),
    [
        ("nvidia-l4", 1, Wanted("NVIDIA L4", "Ada Lovelace", "8.9.0", "23034Mi", 1)),
        ("nvidia-h100-80gb", 8, Wanted("NVIDIA H100 80GB HBM3", "Hopper", "9.0.0", "81559Mi", 4)),
        ("nvidia-h200-141gb", 8, Wanted("NVIDIA H200", "Hopper", "9.0.0", "143771Mi", 4)),
        ("nvidia-gb200", 4, Wanted("NVIDIA GB200", "Blackwell", "10.0.0", "189471Mi", 4)),
        ("nvidia-gb300", 4, Wanted("NVIDIA GB300", "Blackwell", "10.3.0", "284208Mi", 0)),
    ],
    ids=["l4", "h100", "h200", "gb200", "gb300-without-pcie-root"],
)
def test_gpus(accelerator, count, wanted):
    found = drivers.gpus_of(node(accelerator, count), GPUS)
    assert [device["name"] for device in found] == [f"gpu-{index}" for index in range(count)]
    first = found[0]["attributes"]
    assert first["type"] == {"string": "gpu"}
    assert first["productName"] == {"string": wanted.product}
    assert first["architecture"] == {"string": wanted.architecture}
    assert first["cudaComputeCapability"] == {"version": wanted.capability}
    assert found[0]["capacity"] == {"memory": {"value": wanted.memory}}
    roots = {str(device["attributes"].get(ROOT)) for device in found} - {"None"}
    assert len(roots) == wanted.roots
    assert len({device["attributes"]["uuid"]["string"] for device in found}) == count


def test_gpu_bus_attribute_of_chart_25_8_has_its_old_name():
    assert "pcieBusID" in drivers.gpus_of(node("nvidia-l4", 1), OLD_GPUS)[0]["attributes"]
    assert "pcieBusID" not in drivers.gpus_of(node("nvidia-l4", 1), GPUS)[0]["attributes"]


def test_machine_without_gpu_has_no_gpu_device():
    assert drivers.gpus_of(node(), GPUS) == []


def args(mode="grouped", group_by="numanode", reserved=""):
    words = ["/dracpu", f"--cpu-device-mode={mode}", f"--group-by={group_by}"]
    return [*words, f"--reserved-cpus={reserved}"] if reserved else words


@pytest.mark.parametrize(
    ("arguments", "cpus", "wanted"),
    [
        pytest.param([], "16", {"cpudevnuma000": "16"}, id="default-is-grouped-by-numa-node"),
        pytest.param(args(), "96", {"cpudevnuma000": "48", "cpudevnuma001": "48"}, id="two-nodes"),
        pytest.param(args(reserved="0-1,8"), "16", {"cpudevnuma000": "13"}, id="reserved"),
        pytest.param(args(reserved="0-15"), "16", {}, id="empty-group-is-omitted"),
        pytest.param(args(group_by="socket"), "16", {"cpudevsocket000": "16"}, id="socket"),
        pytest.param(args(group_by="machine"), "96", {"cpudevmachine": "96"}, id="machine"),
    ],
)
def test_grouped_cpus(arguments, cpus, wanted):
    found = drivers.cpus_of(node(cpus=cpus), container("dra-driver-cpu:v0.2.0", args=arguments))
    assert {each["name"]: each["capacity"]["dra.cpu/cpu"]["value"] for each in found} == wanted
    assert all(each["allowMultipleAllocations"] for each in found)


def test_individual_cpus_are_numbered_without_gaps_and_have_no_capacity():
    found = drivers.cpus_of(
        node(cpus="8"), container("dra-driver-cpu:v0.2.0", args=args("individual", reserved="0"))
    )
    assert [each["name"] for each in found] == [f"cpudev{index:03}" for index in range(7)]
    assert [each["attributes"]["dra.cpu/cpuID"]["int"] for each in found] == [4, 1, 5, 2, 6, 3, 7]
    assert not any("capacity" in each or "allowMultipleAllocations" in each for each in found)


def test_individual_cpus_of_a_large_machine_fill_several_slices():
    found = drivers.cpus_of(node(cpus="224"), container("dra-driver-cpu:v0.2.0", args=args("individual")))
    made = drivers.slices("dra.cpu", node(cpus="224"), found)
    assert [len(each["spec"]["devices"]) for each in made] == [128, 96]
    assert {each["spec"]["pool"]["resourceSliceCount"] for each in made} == {2}


def test_nics_share_their_roots_with_the_gpus():
    machine = node("nvidia-h200-141gb", 8, **{drivers.NETWORK_PROFILE: "auto"})
    nics = [each for each in drivers.nics_of(machine, NICS) if each["attributes"]["dra.net/rdma"]["bool"]]
    gpus = drivers.gpus_of(machine, GPUS)
    assert [each["attributes"][ROOT] for each in nics] == [each["attributes"][ROOT] for each in gpus]
    assert nics[0]["name"] == "pci-0000-91-00-0"


def test_no_nic_without_the_network_profile():
    assert drivers.nics_of(node("nvidia-h200-141gb", 8), NICS) == []


def test_slice_belongs_to_the_node_and_is_one_whole_pool():
    (made,) = drivers.slices("gpu.nvidia.com", node("nvidia-l4", 1), [{"name": "gpu-0"}])
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u1"
    assert made["metadata"]["name"].startswith("n1-gpu.nvidia.com-")
    assert made["spec"]["pool"] == {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    assert made["spec"]["nodeName"] == "n1"


def test_half_a_generation_is_newer_and_never_complete():
    found = devices.gpu_devices("n1", "nvidia-h200-141gb", 8)
    caught = publishing.half_way("gpu.nvidia.com", node("nvidia-h200-141gb", 8), found)
    newest = max(each["spec"]["pool"]["generation"] for each in caught)
    there = [each for each in caught if each["spec"]["pool"]["generation"] == newest]
    assert newest > 1
    assert all(each["spec"]["pool"]["resourceSliceCount"] > len(there) for each in there)


@pytest.mark.parametrize(
    ("text", "wanted"), [("", set()), ("3", {3}), ("0-2,5", {0, 1, 2, 5})], ids=["none", "one", "both"]
)
def test_cpu_set(text, wanted):
    assert devices.cpu_set(text) == wanted
