# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan draws from Compute Engine's quotas, and whether that is there.

Metric names are those of ``Quota.metric`` in compute v1. Accelerator families newer than that list (H200,
B200, TPU) are limited by Cloud Quotas alone; their metrics are those of ``cloud_quotas``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .cloud_quotas import PREEMPTIBLE, TPU_FAMILY, candidates, gpu_metric
from .fields import Options, take
from .node_pools import NodeCounts, node_counts
from .verdict import Verdict

GPU_METRICS: Mapping[str, str] = {
    "nvidia-tesla-t4": "NVIDIA_T4_GPUS",
    "nvidia-tesla-v100": "NVIDIA_V100_GPUS",
    "nvidia-l4": "NVIDIA_L4_GPUS",
    "nvidia-tesla-a100": "NVIDIA_A100_GPUS",
    "nvidia-a100-80gb": "NVIDIA_A100_80GB_GPUS",
    "nvidia-h100-80gb": "NVIDIA_H100_GPUS",
    "nvidia-h100-mega-80gb": "NVIDIA_H100_MEGA_GPUS",
}
FAMILIES_WITH_CPU_METRIC = ("a2", "c2", "c2d", "c3", "c4", "m1", "m2", "n2", "n2d", "n4", "t2d")
# Their vCPUs do not count: the accelerator is what is limited.
ACCELERATOR_FAMILIES = ("a2", "a3", "a4", "a4x", "g2", "g4")
SHARED_CORES: Mapping[str, int] = {"e2-micro": 2, "e2-small": 2, "e2-medium": 2}
SSD_DISKS = ("pd-balanced", "pd-ssd")
DEFAULT_DISK_GB = 100
DEFAULT_MACHINE = "e2-medium"
SIZE_IN_NAME = re.compile(r"-(\d+)(?:g|t)?(?:-|$)")
TPU_FAMILIES = ("ct4p", "ct5lp", "ct5p", "ct6e", "tpu7x")
TPU_CHIPS = re.compile(r"-(\d+)t$")


@dataclass(frozen=True, slots=True)
class PoolDemand:
    """What one pool asks of the quotas: what a node draws, and how many nodes there may be.

    :param per_node: amounts by metric.
    :param additional: nodes beyond those that exist already.
    """

    name: str
    per_node: Counter[str]
    additional: NodeCounts


def cpus_of(machine_type: str, known: Mapping[str, int]) -> int:
    """Return a machine's vCPUs: as Compute Engine says, else as the name says, else 0."""
    if machine_type in known:
        return known[machine_type]
    if machine_type in SHARED_CORES:
        return SHARED_CORES[machine_type]
    found = SIZE_IN_NAME.search(machine_type)
    return int(found[1]) if found else 0


def node_demand(options: Options, known_cpus: Mapping[str, int]) -> Counter[str]:
    """Return what one node of a pool draws, by metric."""
    machine = options.get("machine_type") or DEFAULT_MACHINE
    prefix = PREEMPTIBLE if options.get("spot") else ""
    demand: Counter[str] = Counter()
    family = machine.split("-", 1)[0]
    cpus = cpus_of(machine, known_cpus)
    chips = TPU_CHIPS.search(machine)
    if family in TPU_FAMILIES and chips:
        demand[prefix + TPU_FAMILY + family.upper()] += int(chips[1])
    elif family not in ACCELERATOR_FAMILIES and cpus:
        own = f"{family.upper()}_CPUS" if family in FAMILIES_WITH_CPU_METRIC else "CPUS"
        demand[f"{PREEMPTIBLE}CPUS" if prefix else own] += cpus
        demand["CPUS_ALL_REGIONS"] += cpus
    for accelerator in options.get("accelerators") or ():
        metric = GPU_METRICS.get(accelerator["type"]) or gpu_metric(accelerator["type"])
        demand[prefix + metric] += accelerator.get("count") or 1
        demand["GPUS_ALL_REGIONS"] += accelerator.get("count") or 1
    if not take(options, "network.private_nodes"):
        demand["IN_USE_ADDRESSES"] += 1
    if (options.get("disk_type") or SSD_DISKS[0]) in SSD_DISKS:
        demand["SSD_TOTAL_GB"] += options.get("disk_size_gb") or DEFAULT_DISK_GB
    return demand


def pool_demand(
    options: Options,
    zones: int,
    known_cpus: Mapping[str, int],
    existing: NodeCounts | None = None,
) -> PoolDemand:
    """Return what a pool asks of the quotas beyond what it has already.

    :param zones: zones of the cluster, for a pool that states none.
    :param existing: the sizes of the live pool, ``None`` where there is none.
    """
    counts = node_counts(options, len(options.get("locations") or ()) or zones)
    had = existing or NodeCounts(0, 0, 0)
    more = NodeCounts(
        max(0, counts.minimum - had.maximum),
        0 if existing else counts.initial,
        max(0, counts.maximum - had.maximum),
    )
    return PoolDemand(options["name"], node_demand(options, known_cpus), more)


def quota_verdicts(
    demands: Iterable[PoolDemand], quotas: Mapping[str, Mapping[str, Any]], where: str
) -> list[Verdict]:
    """Return one verdict per metric that is drawn on.

    An error where the plan cannot even start, a warning where a pool cannot reach its largest size.

    :param quotas: per metric ``{"limit": …, "usage": …}``, regional and project-wide together; without
        ``usage`` where that is not known.
    :param where: region and project, for the messages.
    """
    demands = list(demands)
    verdicts = []
    metrics = sorted({metric for demand in demands for metric in demand.per_node})
    for metric in metrics:
        drawn = [demand for demand in demands if demand.per_node[metric] and demand.additional.maximum]
        if drawn:
            verdicts.append(_metric_verdict(metric, drawn, quotas, where))
    return verdicts


def _metric_verdict(
    metric: str, drawn: list[PoolDemand], quotas: Mapping[str, Mapping[str, Any]], where: str
) -> Verdict:
    names = tuple(f"NodePool {demand.name}" for demand in drawn)
    start = sum(demand.per_node[metric] * demand.additional.initial for demand in drawn)
    most = sum(demand.per_node[metric] * demand.additional.maximum for demand in drawn)
    subject = f"Quota {where}/{metric}"
    used = _usable(metric, quotas)
    if used is None:
        return Verdict(
            "note",
            "QuotaUnknown",
            subject,
            observed=f"the project shows no such quota; the plan needs {start} to start, {most} at most",
            advice="look it up in Cloud Quotas before the run",
            evidence=names,
        )
    counted, quota = used
    free = float(quota["limit"]) - float(quota.get("usage") or 0)
    instead = f" ({counted} is used, because {metric} was never granted)" if counted != metric else ""
    observed = f"{free:g} of {float(quota['limit']):g} free{instead}"
    if "usage" not in quota:
        observed = f"a limit of {free:g}, of which some may be in use{instead}"
    expected = f"{start} to start, {most} at the largest sizes"
    if start > free:
        return Verdict(
            "error",
            "QuotaShort",
            subject,
            observed,
            expected,
            "ask for more quota, lower initial_node_count, or use another region",
            names,
        )
    if most > free:
        return Verdict(
            "warning",
            "QuotaShort",
            subject,
            observed,
            expected,
            "ask for more quota, or lower the largest sizes: the autoscaler will stop before them",
            names,
        )
    return Verdict("ok", "QuotaSufficient", subject, observed, expected, evidence=names)


def _usable(metric: str, quotas: Mapping[str, Mapping[str, Any]]) -> tuple[str, Mapping[str, Any]] | None:
    """Return the quota that counts: the closest one that grants anything, else one that grants nothing."""
    shown = [name for name in candidates(metric) if name in quotas]
    if not shown:
        return None
    counted = next((name for name in shown if quotas[name]["limit"]), shown[-1])
    return counted, quotas[counted]
