# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node an autoscaler imagines for a group: like one it has seen, else made from the pool alone.

Source: GoogleCloudPlatform/cluster-autoscaler (pkg/cloudprovider/gke/dynamicresources, HEAD of
2026-08-21). For a group without a node it predicts slices of NVIDIA's GPU driver and of DRANET, each
behind a node label, and of no other driver: ``dra.cpu`` is never predicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.nodes import (
    Node,
    NodeSelection,
)
from ansible_collections.inference.dra.plugins.module_utils._core.slices import ResourceSlice

from ..hardware import devices, drivers, machines
from ..hardware.machines import Machine
from .placing import Site, amounts

GPU_LABEL = "cloud.google.com/gke-nvidia-gpu-dra-driver"
NETWORK_LABEL = "cloud.google.com/gke-networking-dra-driver"
CPU_LABEL = "cloud.google.com/gke-cpu-dra-driver"
"""Only the guide's own node selector: GKE's autoscaler predicts nothing from it."""
MEMORY_GB: Mapping[str, int] = {
    "nvidia-l4": 24,
    "nvidia-tesla-a100": 40,
    "nvidia-a100-80gb": 80,
    "nvidia-h100-80gb": 80,
    "nvidia-h100-mega-80gb": 80,
    "nvidia-h200-141gb": 141,
    "nvidia-b200": 180,
    "nvidia-gb200": 186,
    "nvidia-gb300": 279,
}


def imagined(made: Machine, *, optimistic: bool = False) -> Site:
    """Return the node that a machine would become, with the slices that GKE predicts for it.

    :param optimistic: predict what the drivers would really publish, ``dra.cpu`` included. GKE does
        not; it shows what a platform that predicted everything would do.
    """
    obj = machines.node_object(made)
    # A node that is to come is ready, by definition.
    node = Node.from_api(obj)
    found = whole_slices(obj) if optimistic else predicted_slices(obj, made)
    return Site(node, amounts(node.allocatable), tuple(map(ResourceSlice.from_api, found)))


def copied(site: Site, name: str) -> Site:
    """Return another node like one that exists: same labels, taints, devices, all of it free."""
    labels = {**site.node.labels, "kubernetes.io/hostname": name}
    obj = {
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "taints": [
                {"key": taint.key, "value": taint.value, "effect": taint.effect}
                for taint in site.node.taints
                if not taint.key.startswith(PASSING_TAINTS)
            ]
        },
        "status": {"allocatable": dict(site.node.allocatable)},
    }
    node = Node.from_api(obj)
    return Site(node, amounts(node.allocatable), tuple(moved(each, name) for each in site.slices))


PASSING_TAINTS = (
    "node.kubernetes.io/",
    "DeletionCandidateOfClusterAutoscaler",
    "ToBeDeletedByClusterAutoscaler",
)
"""Taints of one node's moment, which a new node would not have."""


def moved(found: ResourceSlice, name: str) -> ResourceSlice:
    """Return a slice as the same driver would publish it for another node."""
    meta = replace(found.meta, name=f"{name}-{found.driver}-{found.meta.name[-5:]}")
    return replace(found, meta=meta, pool=name, node_selection=NodeSelection("node", node_name=name))


def expected_drivers(labels: Mapping[str, str]) -> frozenset[str]:
    """Return the drivers whose slices a new node must have before it counts as complete.

    GKE holds a young node with such a label unready until then (IsGkeDraNode).
    """
    found = {
        GPU_LABEL: "gpu.nvidia.com",
        NETWORK_LABEL: "dra.net",
        CPU_LABEL: "dra.cpu",
    }
    return frozenset(driver for label, driver in found.items() if labels.get(label) == "true")


def predicted_slices(node: Mapping[str, Any], made: Machine) -> list[dict[str, Any]]:
    """Return the slices that GKE's autoscaler predicts for an empty group."""
    labels = node["metadata"]["labels"]
    found: list[dict[str, Any]] = []
    if labels.get(GPU_LABEL) == "true" and made.accelerator in devices.GPUS:
        gpus = [predicted_gpu(made, index) for index in range(made.accelerator_count)]
        found += drivers.slices("gpu.nvidia.com", node, gpus)
    if labels.get(NETWORK_LABEL) == "true":
        nics = drivers.nics_of(node, {})
        found += drivers.slices("dra.net", node, nics)
    return found


def predicted_gpu(made: Machine, index: int) -> dict[str, Any]:
    """Return one predicted GPU: seven attributes, and a memory that a slip in the source makes tiny.

    The source writes ``memoryGb*2^30``, and ``^`` is exclusive-or in Go: 24 GB become 46 bytes.
    """
    model = devices.GPUS[made.accelerator]
    memory = (MEMORY_GB[made.accelerator] * 2) ^ 30
    return {
        "name": f"gpu-{index}",
        "attributes": {
            "type": {"string": "gpu"},
            "architecture": {"string": model.architecture},
            "brand": {"string": "Nvidia"},
            "productName": {"string": model.product},
            "uuid": {"string": f"gpu-{index}"},
            "index": {"int": index},
            "minor": {"int": index},
        },
        "capacity": {"memory": {"value": str(memory)}},
    }


def whole_slices(node: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what the drivers that a node's labels call for would publish, in their default modes."""
    containers = {
        "gpu.nvidia.com": {"image": "dra-driver-nvidia-gpu:v0.5.0", "name": "gpus"},
        "dra.cpu": {"image": "dra-driver-cpu:v0.2.0"},
        "dra.net": {"image": "networking-dra-driver"},
    }
    wanted = expected_drivers(node["metadata"]["labels"])
    return [
        each
        for name in sorted(wanted)
        for each in drivers.slices(name, node, drivers.BY_NAME[name].devices(node, containers[name]))
    ]


def seen_drivers(slices: Iterable[ResourceSlice]) -> frozenset[str]:
    return frozenset(each.driver for each in slices)
