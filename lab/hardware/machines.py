# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One machine of a node pool as a Node object: name, labels, taints, allocatable; all pure.

Sources: labels and taints that GKE writes on every node (GKE documentation, "labels and taints"
pages, and the GPU taint in recorded answers of the container API); allocatable from the formula of
"Plan node sizes": 25/20/10/6/2 % of memory and 6/1/0.5/0.25 % of CPU are reserved, and 100 MiB for
eviction. Not known, therefore assumed: the exact shortening of long node names.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ..google.catalogue import MachineType, machine_type
from ..google.cloud import PoolView

ACCELERATOR = "cloud.google.com/gke-accelerator"
CLUSTER = "lab.inference.dra/cluster"
DRIVER_VERSION = "cloud.google.com/gke-gpu-driver-version"
NETWORK_PROFILE = "lab.inference.dra/accelerator-network-profile"
FROM_POOL = "lab.inference.dra/from-pool"
REVISION = "lab.inference.dra/revision"
NO_DEVICE_PLUGIN = "gke-no-default-nvidia-gpu-device-plugin"
NODE_POOL = "cloud.google.com/gke-nodepool"
SPOT = "cloud.google.com/gke-spot"
ZONE = "topology.kubernetes.io/zone"
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}

NAME_LIMIT = 40
"""Characters of ``gke-CLUSTER-POOL`` that a node's name keeps (assumed; the whole must fit 63)."""
SUFFIX_LETTERS = "0123456789bcdfghjklmnpqrstvwxz"
EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}
# (limit in MiB, share that the node keeps for itself)
MEMORY_RESERVED = ((4096, 0.25), (8192, 0.20), (16384, 0.10), (131072, 0.06), (1 << 40, 0.02))
EVICTION_MIB = 100
# (cores, share)
CPU_RESERVED = ((1, 0.06), (1, 0.01), (2, 0.005), (1 << 20, 0.0025))
NODES_PER_SUBBLOCK, SUBBLOCKS_PER_BLOCK = 2, 2
"""How densely the simulated network is built; small, so that four nodes already show a topology."""


@dataclass(frozen=True)
class Machine:
    """A machine that a pool wants: where it stands and of what it is made."""

    name: str
    pool: PoolView
    zone: str
    type: MachineType
    accelerator: str = ""
    accelerator_count: int = 0


def machine(pool: PoolView, zone: str, name: str) -> Machine:
    """Return the machine ``name`` of a pool.

    :raises UnknownMachineType: for a machine type that is not in the catalogue.
    """
    config = pool.message.get("config", {})
    made_of = machine_type(config.get("machineType", "e2-medium"))
    attached = next(iter(config.get("accelerators", ())), None)
    built_in = made_of.accelerators[0] if made_of.accelerators else None
    if attached:
        kind, count = attached["acceleratorType"], int(attached.get("acceleratorCount", 1))
    elif built_in:
        kind, count = built_in.type, built_in.count
    else:
        kind, count = "", 0
    return Machine(name, pool, zone, made_of, kind, count)


def group_name(pool: PoolView, zone: str) -> str:
    """Return the name of the managed instance group that holds a pool's nodes of one zone."""
    return f"{prefix(pool, zone)}-grp"


def prefix(pool: PoolView, zone: str) -> str:
    digest = hashlib.sha256(f"{pool.cluster}/{pool.name}/{zone}".encode()).hexdigest()[:8]
    return f"{f'gke-{pool.cluster}-{pool.name}'[:NAME_LIMIT].rstrip('-')}-{digest}"


def new_name(pool: PoolView, zone: str, taken: Collection[str], chance: random.Random) -> str:
    """Return a node name, ``gke-CLUSTER-POOL-hash-xxxx``, that is not taken."""
    while True:
        suffix = "".join(chance.choices(SUFFIX_LETTERS, k=4))
        name = f"{prefix(pool, zone)}-{suffix}"
        if name not in taken:
            return name


def node_object(made: Machine) -> dict[str, Any]:
    """Return the Node that the machine registers as; kwok plays its kubelet."""
    resources = allocatable(made.type)
    whole = {**resources, "cpu": str(made.type.cpus), "memory": f"{made.type.memory_mib * 1024}Ki"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": made.name,
            "labels": labels(made),
            "annotations": {
                "kwok.x-k8s.io/node": "fake",
                REVISION: str(made.pool.revision),
                FROM_POOL: from_pool(made),
            },
        },
        "spec": {
            "providerID": f"gce://lab/{made.zone}/{made.name}",
            "taints": taints(made),
        },
        "status": {
            "allocatable": resources,
            "capacity": whole,
            "nodeInfo": node_info(made),
        },
    }


def node_info(made: Machine) -> dict[str, str]:
    version = made.pool.message.get("version", "")
    return {
        "architecture": made.type.architecture,
        "bootID": "",
        "containerRuntimeVersion": "containerd://2.1.4",
        "kernelVersion": "6.12.0+",
        "kubeProxyVersion": f"v{version}" if version else "",
        "kubeletVersion": f"v{version}" if version else "",
        "machineID": "",
        "operatingSystem": "linux",
        "osImage": "Container-Optimized OS from Google",
        "systemUUID": "",
    }


def labels(made: Machine) -> dict[str, str]:
    """Return GKE's own labels and the pool's; the pool's never replace GKE's."""
    config = made.pool.message.get("config", {})
    region = made.zone.rsplit("-", 1)[0]
    own = {
        "beta.kubernetes.io/arch": made.type.architecture,
        "beta.kubernetes.io/instance-type": made.type.name,
        "beta.kubernetes.io/os": "linux",
        "cloud.google.com/gke-boot-disk": config.get("diskType", "pd-balanced"),
        "cloud.google.com/gke-container-runtime": "containerd",
        "cloud.google.com/gke-cpu-scaling-level": str(made.type.cpus),
        "cloud.google.com/gke-logging-variant": "DEFAULT",
        "cloud.google.com/gke-max-pods-per-node": "110",
        "cloud.google.com/gke-memory-gb-scaling-level": str(made.type.memory_mib // 1024),
        NODE_POOL: made.pool.name,
        "cloud.google.com/gke-os-distribution": "cos",
        "cloud.google.com/gke-provisioning": "spot" if config.get("spot") else "standard",
        "cloud.google.com/gke-stack-type": "IPV4",
        "cloud.google.com/machine-family": made.type.family,
        "failure-domain.beta.kubernetes.io/region": region,
        "failure-domain.beta.kubernetes.io/zone": made.zone,
        "kubernetes.io/arch": made.type.architecture,
        "kubernetes.io/hostname": made.name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": made.type.name,
        "topology.gke.io/zone": made.zone,
        "topology.kubernetes.io/region": region,
        ZONE: made.zone,
        CLUSTER: made.pool.cluster,
    }
    if config.get("spot"):
        own[SPOT] = "true"
    own |= accelerator_labels(made)
    profile = made.pool.message.get("networkConfig", {}).get("acceleratorNetworkProfile")
    if profile:
        own[NETWORK_PROFILE] = profile
    return {**config.get("labels", {}), **own}


def from_pool(made: Machine) -> str:
    """Return the labels and taints that come from the pool, as text to compare: both can change later."""
    config = made.pool.message.get("config", {})
    return json.dumps({"labels": config.get("labels", {}), "taints": taints(made)}, sort_keys=True)


def pool_change(node: Mapping[str, Any], made: Machine) -> dict[str, Any] | None:
    """Return the merge patch that brings a node's labels and taints to what its pool says now.

    GKE changes both in place; taints that others put on the node stay. ``None``: nothing to change.
    """
    written = node["metadata"].get("annotations", {}).get(FROM_POOL)
    wanted = from_pool(made)
    if written in (None, wanted):
        return None
    before = json.loads(written)
    gone = {key: None for key in before["labels"] if key not in labels(made)}
    others = [taint for taint in node["spec"].get("taints", []) if taint not in before["taints"]]
    return {
        "metadata": {"labels": {**gone, **labels(made)}, "annotations": {FROM_POOL: wanted}},
        "spec": {"taints": [*taints(made), *others]},
    }


def accelerator_labels(made: Machine) -> dict[str, str]:
    """Return the labels of an accelerator machine.

    ``gke-gpu-driver-version`` is there only where Google installs the kernel driver: the installer
    DaemonSet leaves such nodes alone (container-engine-accelerators, daemonset-preloaded.yaml).
    """
    if not made.accelerator.startswith("nvidia-"):
        return {}
    found = {
        ACCELERATOR: made.accelerator,
        "cloud.google.com/gke-accelerator-count": str(made.accelerator_count),
        "cloud.google.com/gke-gpu": "true",
    }
    version = driver_installation(made.pool.message)
    if version in ("DEFAULT", "LATEST"):
        found[DRIVER_VERSION] = version.lower()
    return found


def driver_installation(message: Mapping[str, Any]) -> str:
    for accelerator in message.get("config", {}).get("accelerators", ()):
        installation = accelerator.get("gpuDriverInstallationConfig", {})
        version: str = installation.get("gpuDriverVersion", "DEFAULT")
        return version
    return "DEFAULT"


def topology_labels(position: int) -> dict[str, str]:
    """Return the network topology of the ``position``-th machine of a group (A3 and newer)."""
    subblock = position // NODES_PER_SUBBLOCK
    return {
        "cloud.google.com/gce-topology-block": f"block-{subblock // SUBBLOCKS_PER_BLOCK}",
        "cloud.google.com/gce-topology-subblock": f"subblock-{subblock}",
        "cloud.google.com/gce-topology-host": f"host-{position}",
    }


def taints(made: Machine) -> list[dict[str, str]]:
    """Return the pool's taints, and GKE's GPU taint whether or not the message carries it."""
    config = made.pool.message.get("config", {})
    found = [
        {
            "key": taint["key"],
            "value": taint.get("value", ""),
            "effect": EFFECTS.get(taint.get("effect", ""), taint.get("effect", "")),
        }
        for taint in config.get("taints", ())
    ]
    if made.accelerator.startswith("nvidia-") and all(taint["key"] != GPU_TAINT["key"] for taint in found):
        found.append(dict(GPU_TAINT))
    return found


def allocatable(made_of: MachineType) -> dict[str, str]:
    """Return what pods can use of a machine type, as quantities."""
    return {
        "cpu": f"{allocatable_millicpu(made_of.cpus)}m",
        "memory": f"{int(allocatable_mib(made_of.memory_mib) * 1024)}Ki",
        "ephemeral-storage": "47060071478",
        "pods": "110",
    }


def allocatable_millicpu(cpus: int) -> int:
    reserved, left = 0.0, cpus
    for cores, share in CPU_RESERVED:
        counted = min(left, cores)
        reserved += counted * share * 1000
        left -= counted
    return int(cpus * 1000 - reserved)


def allocatable_mib(memory_mib: int) -> float:
    reserved, below = float(EVICTION_MIB), 0
    for limit, share in MEMORY_RESERVED:
        reserved += max(0, min(memory_mib, limit) - below) * share
        below = limit
    return memory_mib - reserved
