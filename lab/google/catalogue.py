# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Google offers, as data: machine types, regions and zones, accelerators, GKE versions, quotas.

Machine types: vCPU, GiB and built-in GPUs as in the machine type table of GKE's own autoscaler
(github.com/GoogleCloudPlatform/cluster-autoscaler, pkg/cloudprovider/gke/machinetypes) and, for
tpu7x and the ``-metal`` GPU type, Google's pages on accelerator-optimized machines and on TPUs in
GKE. What is not in these tables does not exist in the lab.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MIB_PER_GIB = 1024
AMD64, ARM64 = "amd64", "arm64"


@dataclass(frozen=True)
class Accelerator:
    """Accelerators of one kind: Google's type name (``nvidia-l4``, ``ct6e``) and how many."""

    type: str
    count: int


@dataclass(frozen=True)
class MachineType:
    """One Compute Engine machine type; ``accelerators`` are built in, not attached."""

    name: str
    cpus: int
    memory_mib: int
    accelerators: tuple[Accelerator, ...] = ()
    architecture: str = AMD64

    @property
    def family(self) -> str:
        return self.name.split("-", 1)[0]

    @property
    def is_tpu(self) -> bool:
        return self.family.startswith(("ct", "tpu"))


class UnknownMachineType(LookupError):
    """No machine type of this name exists."""


# GiB of memory per vCPU, and the sizes in vCPU, of the families whose types differ in nothing else.
_REGULAR: tuple[tuple[str, float, str, str], ...] = (
    ("e2-standard", 4, "2 4 8 16 32", AMD64),
    ("e2-highcpu", 1, "2 4 8 16 32", AMD64),
    ("e2-highmem", 8, "2 4 8 16", AMD64),
    ("n1-standard", 3.75, "1 2 4 8 16 32 64 96", AMD64),
    ("n2-standard", 4, "2 4 8 16 32 48 64 80 96 128", AMD64),
    ("n2-highcpu", 1, "2 4 8 16 32 48 64 80 96", AMD64),
    ("n2-highmem", 8, "2 4 8 16 32 48 64 80", AMD64),
    ("n2d-standard", 4, "2 4 8 16 32 48 64 80 96 128 224", AMD64),
    ("c2-standard", 4, "4 8 16 30 60", AMD64),
    ("c2d-standard", 4, "2 4 8 16 32 56 112", AMD64),
    ("c3-standard", 4, "4 8 22 44 88 176", AMD64),
    ("c3-highcpu", 2, "4 8 22 44 88 176", AMD64),
    ("c3d-standard", 4, "4 8 16 30 60 90 180 360", AMD64),
    ("c4-standard", 3.75, "4 8 16 24 32 48 96 144 192 288", AMD64),
    ("n4-standard", 4, "2 4 8 16 32 48 64 80", AMD64),
    ("t2d-standard", 4, "1 2 4 8 16 32 48 60", AMD64),
    ("c4a-standard", 4, "1 2 4 8 16 32 48 64 72", ARM64),
    ("t2a-standard", 4, "1 2 4 8 16 32 48", ARM64),
)

# name, vCPU, GiB of memory, accelerator type, how many
_IRREGULAR: tuple[tuple[str, int, int, str, int], ...] = (
    ("e2-micro", 2, 1, "", 0),  # shared cores: the guest sees two vCPU
    ("e2-small", 2, 2, "", 0),
    ("e2-medium", 2, 4, "", 0),
    ("g2-standard-4", 4, 16, "nvidia-l4", 1),
    ("g2-standard-8", 8, 32, "nvidia-l4", 1),
    ("g2-standard-12", 12, 48, "nvidia-l4", 1),
    ("g2-standard-16", 16, 64, "nvidia-l4", 1),
    ("g2-standard-24", 24, 96, "nvidia-l4", 2),
    ("g2-standard-32", 32, 128, "nvidia-l4", 1),
    ("g2-standard-48", 48, 192, "nvidia-l4", 4),
    ("g2-standard-96", 96, 384, "nvidia-l4", 8),
    ("a2-highgpu-1g", 12, 85, "nvidia-tesla-a100", 1),
    ("a2-highgpu-2g", 24, 170, "nvidia-tesla-a100", 2),
    ("a2-highgpu-4g", 48, 340, "nvidia-tesla-a100", 4),
    ("a2-highgpu-8g", 96, 680, "nvidia-tesla-a100", 8),
    ("a2-megagpu-16g", 96, 1360, "nvidia-tesla-a100", 16),
    ("a2-ultragpu-1g", 12, 170, "nvidia-a100-80gb", 1),
    ("a2-ultragpu-2g", 24, 340, "nvidia-a100-80gb", 2),
    ("a2-ultragpu-4g", 48, 680, "nvidia-a100-80gb", 4),
    ("a2-ultragpu-8g", 96, 1360, "nvidia-a100-80gb", 8),
    ("a3-highgpu-1g", 26, 234, "nvidia-h100-80gb", 1),
    ("a3-highgpu-2g", 52, 468, "nvidia-h100-80gb", 2),
    ("a3-highgpu-4g", 104, 936, "nvidia-h100-80gb", 4),
    ("a3-highgpu-8g", 208, 1872, "nvidia-h100-80gb", 8),
    ("a3-edgegpu-8g", 208, 1872, "nvidia-h100-80gb", 8),
    ("a3-megagpu-8g", 208, 1872, "nvidia-h100-mega-80gb", 8),
    ("a3-ultragpu-8g", 224, 2952, "nvidia-h200-141gb", 8),
    ("a4-highgpu-8g", 224, 3968, "nvidia-b200", 8),
    ("a4x-highgpu-4g", 140, 884, "nvidia-gb200", 4),
    ("a4x-maxgpu-4g-metal", 144, 960, "nvidia-gb300", 4),
    ("ct5lp-hightpu-1t", 24, 48, "ct5lp", 1),
    ("ct5lp-hightpu-4t", 112, 192, "ct5lp", 4),
    ("ct5lp-hightpu-8t", 224, 384, "ct5lp", 8),
    ("ct5p-hightpu-4t", 208, 448, "ct5p", 4),
    ("ct6e-standard-1t", 44, 176, "ct6e", 1),
    ("ct6e-standard-4t", 180, 720, "ct6e", 4),
    ("ct6e-standard-8t", 180, 1440, "ct6e", 8),
    ("tpu7x-standard-4t", 224, 960, "tpu7x", 4),
)


def _machine_types() -> Iterator[MachineType]:
    for prefix, gib_per_cpu, sizes, architecture in _REGULAR:
        for cpus in map(int, sizes.split()):
            memory = int(cpus * gib_per_cpu * MIB_PER_GIB)
            yield MachineType(f"{prefix}-{cpus}", cpus, memory, (), architecture)
    for name, cpus, gib, accelerator, count in _IRREGULAR:
        built_in = (Accelerator(accelerator, count),) if accelerator else ()
        architecture = ARM64 if name.startswith("a4x-") else AMD64  # NVIDIA Grace
        yield MachineType(name, cpus, gib * MIB_PER_GIB, built_in, architecture)


MACHINE_TYPES: dict[str, MachineType] = {machine.name: machine for machine in _machine_types()}


def machine_type(name: str) -> MachineType:
    """Return the machine type ``name``; raises :class:`UnknownMachineType`."""
    try:
        return MACHINE_TYPES[name]
    except KeyError:
        raise UnknownMachineType(name) from None
