# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a service runs on: its replicas with their hardware, their time line and why they have it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .claims import Claim
from .cluster import Cluster
from .diagnosis import PodDiagnosis, diagnose
from .images import DRIVER
from .nodes import Node
from .pods import Pod
from .rollouts import Deployment, ReplicaSet, workload_pods
from .verdict import Verdict
from .workloads import pod_claims

NODE_POOL = "cloud.google.com/gke-nodepool"
ZONE = "topology.kubernetes.io/zone"
MACHINE_TYPE = "node.kubernetes.io/instance-type"
SPOT = "cloud.google.com/gke-spot"


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica: the pod, the hardware it has, and when each step on the way was taken.

    :param scale_up: what the autoscaler said last when it grew a pool for it; empty where it said nothing.
    """

    pod: Pod
    alternative: str
    devices: tuple[str, ...]
    node: Node | None
    phases: Mapping[str, datetime | None]
    verdicts: tuple[Verdict, ...]
    claims: tuple[Claim, ...] = ()
    scale_up: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the mapping for results and reports; times as text, null where not reached."""
        labels = self.node.labels if self.node else {}
        return {
            "pod": self.pod.meta.name,
            "uid": self.pod.meta.uid,
            "alternative": self.alternative,
            "devices": list(self.devices),
            "node": self.pod.node_name,
            "node_pool": labels.get(NODE_POOL, ""),
            "machine_type": labels.get(MACHINE_TYPE, ""),
            "zone": labels.get(ZONE, ""),
            "spot": labels.get(SPOT) == "true",
            "image": self.pod.containers[0].image if self.pod.containers else "",
            "phases": {name: when(moment) for name, moment in self.phases.items()},
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
            "claims": [evidence(claim) for claim in self.claims],
        }


def evidence(claim: Claim) -> dict[str, Any]:
    """Return what the claim itself shows.

    Shape: ``claim, allocated_at, devices [{device, request, conditions [{type, status, reason, at}]}]``; a
    condition is what the device's driver reported (``status.devices``, KEP-4817).
    """
    allocation = claim.allocation
    reported = {status.id: status.conditions for status in claim.device_statuses}
    return {
        "claim": claim.meta.name,
        "allocated_at": when(allocation.timestamp if allocation else None),
        "devices": [
            {
                "device": str(device.id),
                "request": device.request,
                "conditions": [
                    {
                        "type": each.type,
                        "status": each.status,
                        "reason": each.reason,
                        "at": when(each.changed),
                    }
                    for each in reported.get(device.id, ())
                ],
            }
            for device in (allocation.devices if allocation else ())
        ],
    }


def when(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def replicas(cluster: Cluster, deployment: Deployment, replica_sets: Iterable[ReplicaSet]) -> list[Replica]:
    """Return the live replicas of the current specification, the oldest first."""
    pods = workload_pods(deployment, replica_sets, cluster.pods).current
    nodes = {node.name: node for node in cluster.nodes}
    ordered = sorted(pods, key=lambda pod: (str(pod.meta.created), pod.meta.name))
    return [_replica(diagnosis, cluster, nodes) for diagnosis in diagnose(cluster, ordered)]


def _replica(diagnosis: PodDiagnosis, cluster: Cluster, nodes: Mapping[str, Node]) -> Replica:
    pod = diagnosis.pod
    claims = [link.claim for link in pod_claims(pod, cluster.claims, cluster.templates) if link.claim]
    reasons = [reason for chosen in diagnosis.chosen for reason in chosen.reasons]
    grown = cluster.events.latest(pod.meta.uid, "TriggeredScaleUp")
    return Replica(
        pod=pod,
        alternative=next((each.alternative for each in diagnosis.chosen), "").rpartition("/")[2],
        devices=tuple(
            str(device.id)
            for claim in claims
            for device in (claim.allocation.devices if claim.allocation else ())
            if device.driver != DRIVER
        ),
        node=nodes.get(pod.node_name),
        phases=_phases(pod, claims),
        verdicts=(*diagnosis.verdicts, *reasons),
        claims=tuple(claims),
        scale_up=grown.message if grown else "",
    )


def _phases(pod: Pod, claims: Iterable[Claim]) -> dict[str, datetime | None]:
    """Return when the pod was created, got its devices, its image and its node, and could serve."""
    claims = list(claims)
    allocated = [claim.allocation.timestamp for claim in claims if claim.allocation]
    switched = [
        condition.changed
        for claim in claims
        for status in claim.device_statuses
        if status.driver == DRIVER
        for condition in status.conditions
        if condition.status == "True"
    ]
    return {
        "created": pod.meta.created,
        "allocated": max(filter(None, allocated), default=None),
        "image_switched": max(filter(None, switched), default=None),
        "bound": _became_true(pod, "PodScheduled"),
        "ready": _became_true(pod, "Ready"),
    }


def _became_true(pod: Pod, kind: str) -> datetime | None:
    condition = pod.condition(kind)
    return condition.changed if condition and condition.status == "True" else None


def node_pools(nodes: Iterable[Node]) -> dict[str, int]:
    """Return how many ready nodes each node pool has."""
    counts: dict[str, int] = {}
    for node in nodes:
        name = node.labels.get(NODE_POOL, "")
        if node.ready and name:
            counts[name] = counts.get(name, 0) + 1
    return counts


def scale_ups(found: Iterable[Replica]) -> list[str]:
    """Return what the autoscaler said last about each replica that it grew a pool for."""
    return [f"{each.pod.meta.name}: {each.scale_up}" for each in found if each.scale_up]


def by_alternative(found: Iterable[Replica]) -> dict[str, int]:
    """Return how many replicas have each alternative; those without devices under an empty name."""
    counts: dict[str, int] = {}
    for replica in found:
        counts[replica.alternative] = counts.get(replica.alternative, 0) + 1
    return counts
