# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Will the autoscaler ever grow this pool from zero? A lint on the plan, before money is spent.

For a pool without a node GKE's autoscaler imagines one, with ResourceSlices. Its public source
(GoogleCloudPlatform/cluster-autoscaler, pkg/cloudprovider/gke/dynamicresources) does so only for the
drivers below, and only with their label; ``dra.cpu`` occurs nowhere in it. A pool that has had a node
may be imagined after that node, as long as the autoscaler's process lives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .driver_names import GPU_DRIVER
from .fields import Options, take
from .node_pools import node_counts
from .quota import cpus_of
from .verdict import Verdict

PREDICTED_BY_LABEL: Mapping[str, str] = {
    GPU_DRIVER: "cloud.google.com/gke-nvidia-gpu-dra-driver",
    "tpu.google.com": "cloud.google.com/gke-tpu-dra-driver",
    "dra.net": "cloud.google.com/gke-networking-dra-driver",
}
PREDICTED_GPU_ATTRIBUTES = ("architecture", "brand", "index", "minor", "productName", "type", "uuid")
READS = re.compile(
    r"""device\.(attributes|capacity)\s*\[\s*["'][^"']*["']\s*\]\s*(?:\.\s*(\w+)|\[\s*["']([^"']+)["']\s*\])"""
)
PER_CLASS_QUOTA = ".deviceclass.resource.k8s.io/devices"


@dataclass(frozen=True, slots=True)
class Request:
    """One alternative of a claim, as far as pools are concerned.

    :param cpus: CPUs it asks of ``dra.cpu``, 0 for none.
    :param numa_groups: into how many groups the driver divides a machine's CPUs; one device is one group.
    """

    name: str
    driver: str
    device_class: str
    node_pool: str
    count: int = 1
    cpus: int = 0
    numa_groups: int = 1
    selectors: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        return f"Alternative {self.name}"


def lint(
    requests: Iterable[Request],
    pools: Mapping[str, Options],
    quotas: Iterable[Mapping[str, Any]] = (),
    known_cpus: Mapping[str, int] | None = None,
) -> list[Verdict]:
    """Return what is wrong with the alternatives and the pools that are to serve them.

    :param pools: options of the node pools, by name.
    :param quotas: ResourceQuota objects of the workload's namespace.
    :param known_cpus: vCPUs by machine type, where Compute Engine was asked.
    """
    verdicts: list[Verdict] = []
    quotas = list(quotas)
    for request in requests:
        pool = pools.get(request.node_pool)
        if pool is None:
            verdicts.append(_no_pool(request, pools))
            continue
        verdicts += _label_verdicts(request, pool)
        if node_counts(pool, len(pool.get("locations") or ()) or 1).minimum == 0:
            verdicts += _zero_verdicts(request, pool)
        verdicts += _group_verdicts(request, pool, known_cpus or {})
        verdicts += _namespace_verdicts(request, quotas)
    return verdicts


def _no_pool(request: Request, pools: Mapping[str, Options]) -> Verdict:
    return Verdict(
        "error",
        "NodePoolUnknown",
        request.subject,
        observed=f"it is served by node pool {request.node_pool}, which the plan does not have",
        expected=", ".join(pools) or "a node pool",
        advice="correct the name, or add the pool",
    )


def _label_verdicts(request: Request, pool: Options) -> Iterator[Verdict]:
    label = PREDICTED_BY_LABEL.get(request.driver)
    labels = pool.get("labels") or {}
    if label and labels.get(label) != "true":
        at_zero = node_counts(pool, 1).minimum == 0
        yield Verdict(
            "error" if at_zero else "warning",
            "DriverLabelMissing",
            f"NodePool {pool['name']}",
            observed=f"no label {label}=true, though {request.subject} needs driver {request.driver}",
            expected=f"{label}=true",
            advice="add the label: without it the autoscaler imagines no device on an empty pool, and never "
            "grows it from zero",
        )
    accelerators = pool.get("accelerators") or ()
    if request.driver == GPU_DRIVER and not accelerators:
        yield Verdict(
            "error",
            "AcceleratorMissing",
            f"NodePool {pool['name']}",
            observed=f"no accelerator, though {request.subject} needs driver {request.driver}",
            advice="state accelerators with type and count",
        )
    offered = sum(accelerator.get("count") or 1 for accelerator in accelerators)
    if request.driver == GPU_DRIVER and accelerators and request.count > offered:
        yield Verdict(
            "error",
            "AcceleratorMissing",
            f"NodePool {pool['name']}",
            observed=f"{offered} accelerators per node, {request.subject} needs {request.count} on one",
            advice="choose a larger machine, or ask for fewer devices",
        )


def _zero_verdicts(request: Request, pool: Options) -> Iterator[Verdict]:
    if request.driver not in PREDICTED_BY_LABEL:
        initial = pool.get("initial_node_count")
        then = (
            "it starts without a node, so it should never get one"
            if initial == 0
            else "it can shrink to zero, and then grows again only while the autoscaler remembers a node"
        )
        yield Verdict(
            "warning",
            "ScaleFromZeroNotPredicted",
            f"NodePool {pool['name']}",
            observed=f"minimum 0, and GKE's autoscaler imagines no device of {request.driver}: {then}",
            expected="a minimum of 1, and initial_node_count 1",
            advice=f"keep one node; the sign of the trouble is a pod of {request.subject} with the event "
            "NotTriggerScaleUp and 'cannot allocate all claims' while the pool is below its maximum",
        )
        return
    for what, name in _unpredicted(request):
        yield Verdict(
            "error",
            "SelectorNeverMatchesAtZero",
            request.subject,
            observed=f"a selector reads {what} {name}, which no imagined device of {request.driver} has",
            expected="one of " + ", ".join(PREDICTED_GPU_ATTRIBUTES),
            advice=f"drop the selector, or keep one node in {pool['name']}: an empty pool never grows for it",
        )


def _unpredicted(request: Request) -> Iterator[tuple[str, str]]:
    """Yield what selectors read that is not imagined; memory is, but far too small to match anything."""
    if request.driver != GPU_DRIVER:
        return
    for selector in request.selectors:
        for kind, dotted, indexed in READS.findall(selector):
            name = dotted or indexed
            if name not in PREDICTED_GPU_ATTRIBUTES:
                yield kind.removesuffix("s"), name


def _group_verdicts(request: Request, pool: Options, known_cpus: Mapping[str, int]) -> Iterator[Verdict]:
    machine = pool.get("machine_type") or ""
    cpus = cpus_of(machine, known_cpus)
    if not request.cpus or not cpus:
        return
    group = cpus // request.numa_groups
    if request.cpus > group:
        yield Verdict(
            "error",
            "CpuGroupTooSmall",
            request.subject,
            observed=f"{request.cpus} CPUs asked of one device; {machine} has {cpus} in "
            f"{request.numa_groups} group(s) of {group}",
            expected=f"at most {group}, less what the system reserves",
            advice="ask for fewer CPUs, choose a larger machine, or let the driver group by machine: a claim "
            "is served by one group, never by two",
        )
    elif request.cpus == group:
        yield Verdict(
            "warning",
            "CpuGroupTooSmall",
            request.subject,
            observed=f"{request.cpus} CPUs asked of one device, all of a group of {machine}",
            expected=f"fewer than {group}",
            advice="leave some for the system: the driver offers only what is allocatable",
        )


def _namespace_verdicts(request: Request, quotas: list[Mapping[str, Any]]) -> Iterator[Verdict]:
    """A claim is charged the worst case of every device class in it, alternatives included."""
    key = f"{request.device_class}{PER_CLASS_QUOTA}"
    for quota in quotas:
        hard = (take(quota, "spec.hard") or {}).get(key)
        if hard is not None and str(hard).isdigit() and int(hard) < request.count:
            metadata = quota.get("metadata") or {}
            yield Verdict(
                "error",
                "NamespaceQuotaForbids",
                f"ResourceQuota {metadata.get('namespace', '')}/{metadata.get('name', '')}",
                observed=f"{key} is {hard}; {request.subject} needs {request.count}",
                expected=f"{request.count} per replica or more",
                advice="raise the quota: it refuses the whole claim, not just this alternative",
            )
