# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kind cluster should be like, and how its nodes differ from that; all pure.

Every node pool of the plan becomes as many workers as the pool may have at most: kind has no autoscaler,
so its pools are full from the start.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import LabError

ACCELERATOR_COUNT = "cloud.google.com/gke-accelerator-count"
# Set by Kubernetes itself on nodes that are not well; everything else on a worker comes from the pool.
FOREIGN_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")

# kubeadm gives up one to five minutes into each of its steps, which a busy machine needs.
STEPS = ("controlPlaneComponentHealthCheck", "kubeletHealthCheck", "kubernetesAPICall", "tlsBootstrap")
PATIENCE = dict.fromkeys(STEPS, "10m0s")


@dataclass(frozen=True)
class Worker:
    """One worker: what its node carries."""

    pool: str
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]


def workers(plan: Mapping[str, Any]) -> list[Worker]:
    """Return the workers for a plan (``_core.alternatives``, ``as_dict``), pool by pool.

    :raises LabError: where no alternative has a node pool with a place for a node.
    """
    found = [
        Worker(
            pool=pool["name"],
            labels={**node["labels"], **accelerator_count(pool)},
            taints=node["taints"],
        )
        for pool, node in zip(plan["node_pools"], plan["nodes"], strict=True)
        for _unused in range(pool["autoscaling"]["max_node_count"])
    ]
    if not found:
        raise LabError(
            "The kind cluster would have no worker: no alternative has a node_pool with max_nodes above 0. "
            "Give at least one alternative a node_pool."
        )
    return found


def accelerator_count(pool: Mapping[str, Any]) -> dict[str, str]:
    """Return the label with the number of GPUs, which GKE puts on a node beside their type."""
    count = sum(each["count"] for each in pool["accelerators"])
    return {ACCELERATOR_COUNT: str(count)} if count else {}


def kind_configuration(name: str, count: int, *, default_network: bool) -> str:
    """Return the configuration file for ``kind create cluster``.

    Kubernetes 1.35 and later refuse to run kubelet on cgroup v1 unless ``failCgroupV1`` is false. The
    control plane takes pods: like GKE's default pool it has no devices and serves what every cluster needs.
    """
    # JSON is YAML, and takes the tagged strings that Ansible hands over.
    return json.dumps(
        {
            "kind": "Cluster",
            "apiVersion": "kind.x-k8s.io/v1alpha4",
            "name": name,
            "networking": {"disableDefaultCNI": not default_network, "kubeProxyMode": "nftables"},
            "kubeadmConfigPatches": [
                json.dumps({"kind": "KubeletConfiguration", "failCgroupV1": False}),
                json.dumps(
                    {"kind": "InitConfiguration", "nodeRegistration": {"taints": []}, "timeouts": PATIENCE}
                ),
                json.dumps({"kind": "JoinConfiguration", "timeouts": PATIENCE}),
            ],
            "nodes": [{"role": "control-plane"}, *({"role": "worker"} for _unused in range(count))],
        },
        indent=1,
    )


def node_names(name: str, count: int) -> list[str]:
    """Return the names that kind gives to the workers, in order."""
    return [f"{name}-worker{number if number > 1 else ''}" for number in range(1, count + 1)]


def node_patch(node: Mapping[str, Any], wanted: Worker, before: Mapping[str, str]) -> dict[str, Any]:
    """Return the merge patch that makes a node the wanted worker, empty where it is one.

    :param before: labels that an earlier run gave it; those no longer wanted are removed.
    """
    labels: dict[str, str | None] = {key: None for key in before if key not in wanted.labels}
    labels.update(wanted.labels)
    here = node["metadata"].get("labels", {})
    changed = {key: value for key, value in labels.items() if here.get(key) != value}
    patch: dict[str, Any] = {"metadata": {"labels": changed}} if changed else {}
    present = node["spec"].get("taints", [])
    foreign = [taint for taint in present if taint["key"].startswith(FOREIGN_TAINTS)]
    own = [plain(taint) for taint in present if not taint["key"].startswith(FOREIGN_TAINTS)]
    if sorted(own, key=str) != sorted((plain(taint) for taint in wanted.taints), key=str):
        patch["spec"] = {"taints": [*foreign, *(dict(taint) for taint in wanted.taints)]}
    return patch


def plain(taint: Mapping[str, Any]) -> tuple[str, str, str]:
    return taint["key"], taint.get("value", ""), taint["effect"]


def is_ready(node: Mapping[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
