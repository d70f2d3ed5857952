# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The devices in a machine, as their drivers describe them in a ResourceSlice; all pure.

Sources: kubernetes-sigs/dra-driver-nvidia-gpu v0.4.1 (cmd/gpu-kubelet-plugin), dra-driver-cpu v0.2.0
(pkg/driver), kubernetes-sigs/dranet v1.4.0; bus numbers of A3 Ultra from a published dump of a GKE
node, its middle roots inferred. Assumed: bus numbers of every other machine, one NUMA node for CPU
machines of up to 64 vCPUs, H100/GB200 memory as NVML rounds it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Device = dict[str, Any]

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
PCI_BUS_ID = "resource.kubernetes.io/pciBusID"
CPUS_PER_NUMA_NODE = 64
KERNEL_DRIVER = "580.126.20"
CUDA_DRIVER = "13.0.0"


@dataclass(frozen=True)
class Gpu:
    """One GPU model: what NVML says of it, and the PCIe roots its machine hangs it below.

    ``roots``: one per two neighbouring GPUs where there are half as many roots as GPUs; empty where
    the driver publishes none (GB300: the NIC's Data Direct function has another root).
    """

    product: str
    architecture: str
    compute_capability: str
    memory: str
    first_bus: int
    roots: tuple[str, ...] = ()

    def root(self, index: int, count: int) -> str:
        if not self.roots:
            return ""
        return self.roots[min(index * len(self.roots) // max(count, 1), len(self.roots) - 1)]


FOUR_ROOTS = ("pci0000:8c", "pci0000:93", "pci0000:c1", "pci0000:c8")
GPUS: Mapping[str, Gpu] = {
    "nvidia-l4": Gpu("NVIDIA L4", "Ada Lovelace", "8.9.0", "23034Mi", 0x00, ("pci0000:00",)),
    "nvidia-tesla-a100": Gpu("NVIDIA A100-SXM4-40GB", "Ampere", "8.0.0", "40960Mi", 0x00, ("pci0000:00",)),
    "nvidia-a100-80gb": Gpu("NVIDIA A100-SXM4-80GB", "Ampere", "8.0.0", "81920Mi", 0x00, ("pci0000:00",)),
    "nvidia-h100-80gb": Gpu("NVIDIA H100 80GB HBM3", "Hopper", "9.0.0", "81559Mi", 0x04, FOUR_ROOTS),
    "nvidia-h100-mega-80gb": Gpu("NVIDIA H100 80GB HBM3", "Hopper", "9.0.0", "81559Mi", 0x04, FOUR_ROOTS),
    "nvidia-h200-141gb": Gpu("NVIDIA H200", "Hopper", "9.0.0", "143771Mi", 0x8F, FOUR_ROOTS),
    "nvidia-b200": Gpu("NVIDIA B200", "Blackwell", "10.0.0", "183359Mi", 0x8F, FOUR_ROOTS),
    "nvidia-gb200": Gpu(
        "NVIDIA GB200",
        "Blackwell",
        "10.0.0",
        "189471Mi",
        0x01,
        ("pci0008:00", "pci0009:00", "pci0018:00", "pci0019:00"),
    ),
    "nvidia-gb300": Gpu("NVIDIA GB300", "Blackwell", "10.3.0", "284208Mi", 0x01),
}

# Accelerators whose machines have one RDMA NIC per GPU (guide for A3 Ultra, A4, A4X).
RDMA_MACHINES = frozenset({"nvidia-h200-141gb", "nvidia-b200", "nvidia-gb200", "nvidia-gb300"})


def gpu_devices(node: str, accelerator: str, count: int, bus_attribute: str = PCI_BUS_ID) -> list[Device]:
    """Return the GPUs of a node as the driver lists them, none for a machine without known GPUs."""
    model = GPUS.get(accelerator)
    return [gpu_device(node, model, index, count, bus_attribute) for index in range(count)] if model else []


def gpu_device(node: str, model: Gpu, index: int, count: int, bus_attribute: str) -> Device:
    attributes = {
        "type": {"string": "gpu"},
        "uuid": {"string": gpu_uuid(node, index)},
        "productName": {"string": model.product},
        "brand": {"string": "Nvidia"},
        "architecture": {"string": model.architecture},
        "cudaComputeCapability": {"version": model.compute_capability},
        "driverVersion": {"version": KERNEL_DRIVER},
        "cudaDriverVersion": {"version": CUDA_DRIVER},
        bus_attribute: {"string": f"0000:{model.first_bus + index:02x}:00.0"},
    }
    root = model.root(index, count)
    if root:
        attributes[PCIE_ROOT] = {"string": root}
    return {
        "name": f"gpu-{index}",
        "attributes": attributes,
        "capacity": {"memory": {"value": model.memory}},
    }


def gpu_uuid(node: str, index: int) -> str:
    digest = hashlib.sha256(f"{node}/{index}".encode()).hexdigest()
    return f"GPU-{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"


def nic_devices(accelerator: str, count: int) -> list[Device]:
    """Return the network interfaces that DRANET may hand out: the RDMA NICs, and one gVNIC."""
    if accelerator not in RDMA_MACHINES:
        return []
    model = GPUS[accelerator]
    rdma = [rdma_device(model, index, count) for index in range(count)]
    return [*rdma, gvnic_device()]


def rdma_device(model: Gpu, index: int, count: int) -> Device:
    attributes: Device = {
        "dra.net/ifName": {"string": f"gpu{index}rdma0"},
        "dra.net/rdma": {"bool": True},
        "dra.net/numaNode": {"int": index * 2 // max(count, 1)},
        "dra.net/mtu": {"int": 8896},
        "dra.net/pciVendor": {"string": "Mellanox Technologies"},
        "dra.net/type": {"string": "device"},
        "dra.net/virtual": {"bool": False},
    }
    root = model.root(index, count)
    if root:
        attributes[PCIE_ROOT] = {"string": root}
    bus = model.first_bus + 2 + 7 * (index // 2) + index % 2
    return {"name": f"pci-0000-{bus:02x}-00-0", "attributes": attributes}


def gvnic_device() -> Device:
    return {
        "name": "pci-0000-00-05-0",
        "attributes": {
            "dra.net/ifName": {"string": "eth1"},
            "dra.net/rdma": {"bool": False},
            "dra.net/numaNode": {"int": 0},
            "dra.net/pciVendor": {"string": "Google, Inc."},
            "dra.net/type": {"string": "device"},
            "dra.net/virtual": {"bool": False},
            PCIE_ROOT: {"string": "pci0000:00"},
        },
    }


def grouped_cpus(cpus: int, reserved: frozenset[int], group_by: str) -> list[Device]:
    """Return one device per NUMA node, socket or machine, with its unreserved CPUs as capacity.

    A group without a CPU left is omitted (dra-driver-cpu, grouped mode).
    """
    groups = [range(cpus)] if group_by == "machine" else numa_nodes(cpus)
    devices = []
    for index, group in enumerate(groups):
        usable = len([cpu for cpu in group if cpu not in reserved])
        if usable:
            devices.append(cpu_group(group_by, index, usable))
    return devices


def cpu_group(group_by: str, index: int, usable: int) -> Device:
    names = {
        "numanode": f"cpudevnuma{index:03}",
        "socket": f"cpudevsocket{index:03}",
        "machine": "cpudevmachine",
    }
    attributes: Device = {
        "dra.cpu/numCPUs": {"int": usable},
        "dra.cpu/smtEnabled": {"bool": True},
    }
    if group_by in ("numanode", "socket"):
        attributes["dra.cpu/socketID"] = {"int": index}
    if group_by == "numanode":
        attributes["dra.cpu/numaNodeID"] = {"int": index}
        attributes["dra.net/numaNode"] = {"int": index}
    return {
        "name": names[group_by],
        "allowMultipleAllocations": True,
        "attributes": attributes,
        "capacity": {"dra.cpu/cpu": {"value": str(usable)}},
    }


def individual_cpus(cpus: int, reserved: frozenset[int]) -> list[Device]:
    """Return one device per unreserved logical CPU, hyper-thread siblings side by side.

    The devices are numbered one after the other, so ``cpudev003`` need not be CPU 3.
    """
    half = max(1, cpus // 2)
    siblings = [cpu for core in range(half) for cpu in (core, core + half) if cpu < cpus]
    usable = [cpu for cpu in siblings if cpu not in reserved]
    return [cpu_device(number, cpu, half) for number, cpu in enumerate(usable)]


def cpu_device(number: int, cpu: int, half: int) -> Device:
    core = cpu % half
    numa = core // max(1, CPUS_PER_NUMA_NODE // 2)
    return {
        "name": f"cpudev{number:03}",
        "attributes": {
            "dra.cpu/cpuID": {"int": cpu},
            "dra.cpu/coreID": {"int": core},
            "dra.cpu/coreType": {"string": "standard"},
            "dra.cpu/cacheL3ID": {"int": numa},
            "dra.cpu/socketID": {"int": numa},
            "dra.cpu/numaNodeID": {"int": numa},
            "dra.cpu/smtEnabled": {"bool": True},
            "dra.net/numaNode": {"int": numa},
        },
    }


def numa_nodes(cpus: int) -> list[range]:
    count = -(-cpus // CPUS_PER_NUMA_NODE)
    size = -(-cpus // count)
    return [range(start, min(start + size, cpus)) for start in range(0, cpus, size)]


def cpu_set(text: str) -> frozenset[int]:
    """Return the CPUs of a list such as ``0-1,8`` (the kernel's cpu-list format)."""
    found: set[int] = set()
    for part in filter(None, (each.strip() for each in text.split(","))):
        first, _unused, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)
