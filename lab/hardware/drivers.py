# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The DRA drivers the lab plays, each an entry of one table, and the slices they publish; all pure.

Which container is a driver, and how it was configured, is read from the DaemonSet's pod, so that a
wrong image, mode or reserved CPU shows as it would on a real node.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import devices
from .devices import Device
from .machines import ACCELERATOR, DRIVER_VERSION, NETWORK_PROFILE

Container = Mapping[str, Any]
Node = Mapping[str, Any]
Pod = Mapping[str, Any]

DEVICES_PER_SLICE, DEVICES_PER_SLICE_WITH_TAINTS = 128, 64
"""Limits of the ResourceSlice API (resource.k8s.io/v1)."""
INSTALLER = "nvidia-driver-installer"
"""The DaemonSet's label ``k8s-app`` (container-engine-accelerators, daemonset-preloaded.yaml)."""


@dataclass(frozen=True)
class Driver:
    """One driver.

    :param name: what slices and allocation results carry.
    :param is_run_by: whether a container of a pod is this driver.
    :param devices: the node's devices as this container would publish them.
    :param needs_kernel_driver: whether it starts only once the NVIDIA kernel driver is installed.
    """

    name: str
    is_run_by: Callable[[Container], bool]
    devices: Callable[[Node, Container], list[Device]]
    needs_kernel_driver: bool = False


def image_name(container: Container) -> str:
    """Return the last part of an image's path, without tag and digest."""
    path = str(container.get("image", "")).partition("@")[0].rsplit("/", 1)[-1]
    return path.split(":")[0]


def image_tag(container: Container) -> str:
    last = str(container.get("image", "")).partition("@")[0].rsplit("/", 1)[-1]
    return last.partition(":")[2]


def arguments(container: Container) -> dict[str, str]:
    """Return the ``--name=value`` arguments of a container."""
    words = [*container.get("command", ()), *container.get("args", ())]
    pairs = (word[2:].partition("=") for word in words if word.startswith("--"))
    return {name: value for name, _unused, value in pairs}


def is_gpu_plugin(container: Container) -> bool:
    """Return whether this is NVIDIA's plugin for GPUs (not the one for compute domains)."""
    known = ("dra-driver-nvidia-gpu", "k8s-dra-driver-gpu")
    return image_name(container) in known and container.get("name") == "gpus"


def gpus_of(node: Node, container: Container) -> list[Device]:
    labels = node["metadata"].get("labels", {})
    # Chart 25.8 published the bus under a name of its own.
    old = image_tag(container).lstrip("v").startswith("25.8")
    return devices.gpu_devices(
        node["metadata"]["name"],
        labels.get(ACCELERATOR, ""),
        accelerator_count(node),
        "pcieBusID" if old else devices.PCI_BUS_ID,
    )


def accelerator_count(node: Node) -> int:
    return int(node["metadata"].get("labels", {}).get(f"{ACCELERATOR}-count", "0"))


def is_cpu_plugin(container: Container) -> bool:
    return image_name(container) == "dra-driver-cpu"


def cpus_of(node: Node, container: Container) -> list[Device]:
    given = arguments(container)
    cpus = int(node.get("status", {}).get("capacity", {}).get("cpu", "0"))
    reserved = devices.cpu_set(given.get("reserved-cpus", ""))
    if given.get("cpu-device-mode", "grouped") == "individual":
        return devices.individual_cpus(cpus, reserved)
    return devices.grouped_cpus(cpus, reserved, given.get("group-by", "numanode"))


def is_network_plugin(container: Container) -> bool:
    return image_name(container) in ("networking-dra-driver", "dranet")


def nics_of(node: Node, _container: Container) -> list[Device]:
    labels = node["metadata"].get("labels", {})
    if NETWORK_PROFILE not in labels:
        return []
    return devices.nic_devices(labels.get(ACCELERATOR, ""), accelerator_count(node))


DRIVERS: tuple[Driver, ...] = (
    Driver("gpu.nvidia.com", is_gpu_plugin, gpus_of, needs_kernel_driver=True),
    Driver("dra.cpu", is_cpu_plugin, cpus_of),
    Driver("dra.net", is_network_plugin, nics_of),
)
BY_NAME: Mapping[str, Driver] = {driver.name: driver for driver in DRIVERS}


def drivers_of(pod: Pod) -> Iterator[tuple[Driver, Container]]:
    """Yield the drivers a pod runs, with the container that is each."""
    if owner_kind(pod) != "DaemonSet":
        return
    for container in pod.get("spec", {}).get("containers", ()):
        for driver in DRIVERS:
            if driver.is_run_by(container):
                yield driver, container


def owner_kind(pod: Pod) -> str:
    for owner in pod["metadata"].get("ownerReferences", ()):
        if owner.get("controller"):
            return str(owner["kind"])
    return ""


def is_installer(pod: Pod) -> bool:
    labels = pod["metadata"].get("labels", {})
    return owner_kind(pod) == "DaemonSet" and labels.get("k8s-app") == INSTALLER


def has_managed_kernel_driver(node: Node) -> bool:
    """Return whether Google installed the kernel driver with the machine."""
    return DRIVER_VERSION in node["metadata"].get("labels", {})


def is_running(pod: Pod) -> bool:
    return pod.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def slices(driver: str, node: Node, found: list[Device], generation: int = 1) -> list[Device]:
    """Return the pool of one driver on one node as ResourceSlice objects.

    Names have the form that the kubelet plugin helper's ``generateName`` gives; they depend on node,
    driver and position only, so that a restarted lab finds its own slices again.
    """
    name, uid = node["metadata"]["name"], node["metadata"].get("uid", "")
    tainted = any(device.get("taints") for device in found)
    size = DEVICES_PER_SLICE_WITH_TAINTS if tainted else DEVICES_PER_SLICE
    chunks = [found[start : start + size] for start in range(0, len(found), size)]
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {
                "name": slice_name(driver, name, generation, index),
                "generateName": f"{name}-{driver}-",
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid, "controller": True}
                ],
            },
            "spec": {
                "driver": driver,
                "nodeName": name,
                "pool": {
                    "name": name,
                    "generation": generation,
                    "resourceSliceCount": len(chunks),
                },
                "devices": chunk,
            },
        }
        for index, chunk in enumerate(chunks)
    ]


def slice_name(driver: str, node: str, generation: int, index: int) -> str:
    digest = hashlib.sha256(f"{driver}/{node}/{generation}/{index}".encode()).hexdigest()
    suffix = re.sub("[aeiou]", "x", digest)[:5]
    return f"{node}-{driver}-{suffix}"


def half_way(driver: str, node: Mapping[str, Any], found: list[Device]) -> list[dict[str, Any]]:
    """Return a pool caught between generations: of the new one only the first of two slices is there.

    The newest generation alone counts and is incomplete, so nothing of it can be allocated
    (observed on Kubernetes 1.36.3).
    """
    first = slices(driver, node, found[: (len(found) + 1) // 2], generation=2)[:1]
    for each in first:
        each["spec"]["pool"]["resourceSliceCount"] = 2
    return [*first, *slices(driver, node, found)[1:]]
