# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quotas per accelerator family, which Compute Engine's own list of quotas does not have.

Source: QuotaInfo of cloudquotas v1. One quota covers every GPU family (its dimensions are ``region`` and
``gpu_family``, such as ``NVIDIA_H200``), another one all TPU families. Cloud Quotas tells limits, not what
is in use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

PREEMPTIBLE = "PREEMPTIBLE_"
GPU_FAMILY = "GPUS_PER_GPU_FAMILY/"
TPU_FAMILY = "TPUS_PER_TPU_FAMILY/"
# The quota that holds the limits of a metric named like this, and its dimension that names the family.
QUOTAS: Mapping[str, tuple[str, str]] = {
    GPU_FAMILY: ("GPUS-PER-GPU-FAMILY-per-project-region", "gpu_family"),
    PREEMPTIBLE + GPU_FAMILY: ("PREEMPTIBLE-GPUS-PER-GPU-FAMILY-per-project-region", "gpu_family"),
    TPU_FAMILY: ("TPUS-PER-TPU-FAMILY-per-project-region", "tpu_family"),
}
UNLIMITED = -1
MEMORY_IN_NAME = re.compile(r"-\d+gb$")
OWN_METRIC = re.compile(r"(PREEMPTIBLE_)?(NVIDIA_\w+)_GPUS")


def gpu_metric(accelerator: str) -> str:
    """Return the metric of a GPU's family: ``nvidia-h200-141gb`` is of ``NVIDIA_H200``."""
    return GPU_FAMILY + MEMORY_IN_NAME.sub("", accelerator).upper().replace("-", "_")


def candidates(metric: str) -> Iterator[str]:
    """Yield the metrics that may limit what ``metric`` names, the closest first.

    Some models (H100) are limited by their family alone, and spot machines draw on the ordinary quota
    where theirs was never granted.
    """
    own = OWN_METRIC.fullmatch(metric)
    names = [metric, f"{own[1] or ''}{GPU_FAMILY}{own[2]}"] if own else [metric]
    yield from names
    if metric.startswith(PREEMPTIBLE):
        yield from (name.removeprefix(PREEMPTIBLE) for name in names)


def quotas_to_read(metrics: Iterable[str], known: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the prefixes in ``QUOTAS`` that may limit a metric for which ``known`` grants nothing."""
    wanted = {
        name.partition("/")[0] + "/"
        for metric in metrics
        if not any(known.get(name, {}).get("limit") for name in candidates(metric))
        for name in candidates(metric)
        if "/" in name
    }
    return [prefix for prefix in QUOTAS if prefix in wanted]


def limits(prefix: str, info: Mapping[str, Any], region: str) -> dict[str, dict[str, float]]:
    """Return the limit per metric that a QuotaInfo message sets in a region.

    An entry that names the region counts before one that only applies there.
    """
    dimension = QUOTAS[prefix][1]
    found: dict[str, dict[str, float]] = {}
    for named in (False, True):
        for entry in info.get("dimensionsInfos", ()):
            dimensions, value = entry.get("dimensions", {}), entry.get("details", {}).get("value")
            where = dimensions.get("region")
            applies = (
                where == region if named else not where and region in entry.get("applicableLocations", ())
            )
            if applies and dimension in dimensions and value is not None:
                limit = float("inf") if int(value) == UNLIMITED else float(value)
                found[prefix + dimensions[dimension]] = {"limit": limit}
    return found
