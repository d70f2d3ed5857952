# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quota: which metrics a node draws on, and what a region's metrics are at.

Metric names are Compute Engine's (``Quota.metric`` of compute v1). The limits are the lab's own and
generous; the fault ``quota`` sets a metric to any limit. Machine types newer than the metric list
(H200, B200, GB200, TPU) are limited per family by Cloud Quotas; the lab shows those limits only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from .catalogue import Accelerator, MachineType

GPU_METRICS: Mapping[str, str] = {
    "nvidia-tesla-t4": "NVIDIA_T4_GPUS",
    "nvidia-l4": "NVIDIA_L4_GPUS",
    "nvidia-tesla-a100": "NVIDIA_A100_GPUS",
    "nvidia-a100-80gb": "NVIDIA_A100_80GB_GPUS",
    "nvidia-h100-80gb": "NVIDIA_H100_GPUS",
    "nvidia-h100-mega-80gb": "NVIDIA_H100_MEGA_GPUS",
}
# Families with a CPU metric of their own; all others draw on CPUS.
CPU_METRICS: Mapping[str, str] = {
    family: f"{family.upper()}_CPUS" for family in ("n2", "n2d", "c2", "c2d", "c3", "c4", "n4")
}
# Their vCPUs are not counted against CPUS, only their accelerators against their own quota.
ACCELERATOR_FAMILIES = ("a2", "a3", "a4", "a4x", "g2")

REGIONAL_LIMITS: Mapping[str, float] = {
    "CPUS": 100_000.0,
    "PREEMPTIBLE_CPUS": 100_000.0,
    **dict.fromkeys(CPU_METRICS.values(), 100_000.0),
    **dict.fromkeys(GPU_METRICS.values(), 1_024.0),
    **{f"PREEMPTIBLE_{metric}": 1_024.0 for metric in GPU_METRICS.values()},
    "IN_USE_ADDRESSES": 10_000.0,
    "SSD_TOTAL_GB": 1_000_000.0,
}
PROJECT_LIMITS: Mapping[str, float] = {
    "CPUS_ALL_REGIONS": 200_000.0,
    "GPUS_ALL_REGIONS": 4_096.0,
}
FAMILY_LIMIT = 1_024
FAMILY_QUOTAS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "GPUS-PER-GPU-FAMILY-per-project-region": (
        "gpu_family",
        ("NVIDIA_H100", "NVIDIA_H200", "NVIDIA_B200", "NVIDIA_GB200", "NVIDIA_RTX_PRO_6000"),
    ),
    "TPUS-PER-TPU-FAMILY-per-project-region": ("tpu_family", ("CT6E", "TPU7X")),
}


def node_usage(
    machine: MachineType,
    attached: tuple[Accelerator, ...],
    *,
    spot: bool,
    disk_gb: int,
) -> Counter[str]:
    """Return what one node draws, by metric, project-wide metrics included."""
    usage: Counter[str] = Counter(IN_USE_ADDRESSES=1, SSD_TOTAL_GB=disk_gb)
    prefix = "PREEMPTIBLE_" if spot else ""
    if not machine.is_tpu and machine.family not in ACCELERATOR_FAMILIES:
        metric = "PREEMPTIBLE_CPUS" if spot else CPU_METRICS.get(machine.family, "CPUS")
        usage[metric] += machine.cpus
    usage["CPUS_ALL_REGIONS"] += machine.cpus
    for accelerator in machine.accelerators or attached:
        if accelerator.type in GPU_METRICS:
            usage[prefix + GPU_METRICS[accelerator.type]] += accelerator.count
        if not machine.is_tpu:
            usage["GPUS_ALL_REGIONS"] += accelerator.count
    return usage
