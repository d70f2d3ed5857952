# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the stand-in driver does with a claim: which devices are its own, what a container gets; all pure.

Sources: ResourceClaim status.allocation (resource.k8s.io/v1); CDI specification 0.8; environment of the
real drivers: dra-driver-nvidia-gpu v0.4.1 (device nodes and ``NVIDIA_VISIBLE_DEVICES=void``),
dra-driver-cpu v0.2.0 (``DRA_CPUSET_<claim UID>``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..hardware.machines import ACCELERATOR

CDI_VERSION = "0.8.0"
GPU, CPU, NETWORK = "gpu.nvidia.com", "dra.cpu", "dra.net"
NVIDIA_MAJOR, NVIDIA_CONTROL_MINOR = 195, 255
CPU_CAPACITY = "dra.cpu/cpu"
ACCELERATOR_VARIABLE = "STANDIN_ACCELERATOR"
"""What the GPU of a container is, for a model server that can't ask a kernel driver."""


@dataclass(frozen=True)
class Allocated:
    """One device of a claim that this driver has to prepare."""

    request: str
    pool: str
    device: str
    share: str = ""
    cpus: int = 0


class CannotPrepare(Exception):
    """A claim this driver refuses, in words for the pod's event."""


def allocated(claim: Mapping[str, Any], driver: str, pool: str = "") -> list[Allocated]:
    """Return the devices of a claim that belong to this driver.

    :param pool: the one pool they may come from, which drivers name after the node; empty for any.
    """
    results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ())
    found = []
    for result in results:
        if result["driver"] != driver:
            continue
        if pool and result["pool"] != pool:
            raise CannotPrepare(f"device {result['device']} is in pool {result['pool']}, not in {pool}")
        consumed = result.get("consumedCapacity", {}).get(CPU_CAPACITY, "0")
        share = result.get("shareID", "")
        found.append(Allocated(result["request"], result["pool"], result["device"], share, int(consumed)))
    return found


Edits = dict[str, Any]


def gpu_edits(devices: Iterable[Allocated], node: Mapping[str, Any]) -> Edits:
    """Return what the GPU driver injects into the containers of a claim (CDI containerEdits)."""
    minors = sorted(int(each.device.rpartition("-")[2]) for each in devices)
    nodes = [character_device("/dev/nvidiactl", NVIDIA_CONTROL_MINOR)]
    nodes += [character_device(f"/dev/nvidia{minor}", minor) for minor in minors]
    accelerator = node["metadata"].get("labels", {}).get(ACCELERATOR, "")
    environment = ["NVIDIA_VISIBLE_DEVICES=void", f"{ACCELERATOR_VARIABLE}={accelerator}"]
    return {"env": environment, "deviceNodes": nodes}


def character_device(path: str, minor: int) -> dict[str, Any]:
    # With its numbers given the runtime makes the node; nothing of that name needs to be on the machine.
    return {"path": path, "type": "c", "major": NVIDIA_MAJOR, "minor": minor, "permissions": "rw"}


def cpu_edits(uid: str, cpus: Iterable[int]) -> Edits:
    """Return what the CPU driver injects: which CPUs the claim's container has to itself."""
    return {"env": [f"DRA_CPUSET_{uid}={cpu_list(cpus)}"]}


def cpu_list(cpus: Iterable[int]) -> str:
    """Return CPU numbers in the kernel's list format, such as ``0-3,8``."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def cdi_kind(driver: str) -> str:
    """Return the CDI kind of a driver's claims: vendor/class."""
    return f"k8s.{driver}/claim"


def cdi_spec(driver: str, uid: str, inject: Edits) -> dict[str, Any]:
    """Return the CDI specification of one claim."""
    return {
        "cdiVersion": CDI_VERSION,
        "kind": cdi_kind(driver),
        "devices": [{"name": uid, "containerEdits": inject}],
    }


def choose_cpus(usable: Iterable[int], taken: Iterable[int], count: int) -> list[int]:
    """Return the first free CPUs.

    :raises CannotPrepare: where fewer are free than the scheduler handed out.
    """
    occupied = set(taken)
    free = [cpu for cpu in usable if cpu not in occupied]
    if len(free) < count:
        raise CannotPrepare(f"{count} CPUs were allocated, {len(free)} are free on this node")
    return free[:count]
