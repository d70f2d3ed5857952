# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service on nodes of several alternatives, as API objects: what a plan asks for, and who has what."""

from __future__ import annotations

import copy
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.alternatives import plan
from ansible_collections.inference.dra.plugins.module_utils._core.cluster import Cluster
from ansible_collections.inference.dra.plugins.module_utils._core.replacement import (
    GATE as SCHEDULING_GATE,
)
from ansible_collections.inference.dra.plugins.module_utils._core.replacement import (
    TEMPLATE_LABEL,
    Service,
    find_service,
    fingerprint,
)
from ansible_collections.inference.dra.plugins.module_utils._core.rollouts import Deployment, ReplicaSet

from .dra_objects import GATE, NOW, ago, consumer, gate_result, owned_by, resource_slice, status_of

Object = dict[str, Any]

DRIVERS = {"h100": "h100.example.com", "gpu": "gpu.nvidia.com", "cpu": "dra.cpu"}
TEMPLATE_SPEC = {
    "containers": [{"name": "vllm", "image": "pause"}],
    "resourceClaims": [{"name": "device", "resourceClaimTemplateName": "gpu-or-cpu"}],
}


def alternative(name: str, largest: int) -> Object:
    pool = {"name": f"{name}-pool", "machine_type": "n2-standard-16", "max_nodes": largest}
    return {
        "name": name,
        "device_class": DRIVERS[name],
        "node_pool": pool,
        "image": {"reference": f"example.com/vllm-{name}:1"},
    }


class Scene:
    """Nodes ``NAME-1``, ``NAME-2`` … with one device each, and replicas of the Deployment ``vllm``."""

    def __init__(self, *, largest: int = 2, compute_class: str = "fungible", **nodes: int) -> None:
        self.alternatives = tuple(nodes)
        settings = {"compute_class": compute_class, "zones": ["a"], "pod_labels": {"app": "vllm"}}
        self.plan = plan([alternative(each, largest) for each in nodes], settings).as_dict()
        self.pods: list[Object] = []
        self.claims: list[Object] = []
        self.events: list[Object] = []
        self.slices = [
            resource_slice(
                "gate",
                driver=GATE,
                pool="all-nodes",
                node=None,
                allNodes=True,
                devices=[{"name": "image-configurator", "allowMultipleAllocations": True}],
            )
        ]
        self.nodes: list[Object] = []
        for name, count in nodes.items():
            for number in range(1, count + 1):
                self.add_node(name, number)
        self.paused = False
        self.template: Object = {"metadata": {"labels": {"app": "vllm"}}, "spec": dict(TEMPLATE_SPEC)}
        self.replica_set_template = copy.deepcopy(self.template)
        self.replica_set_template["metadata"]["labels"]["pod-template-hash"] = "abc"
        self.replicas = 0

    def add_node(self, name: str, number: int, *, publishes: bool = True) -> None:
        where = f"{name}-{number}"
        labels = {"kubernetes.io/hostname": where, "cloud.google.com/gke-nodepool": f"{name}-pool"}
        labels["cloud.google.com/compute-class"] = "fungible"
        self.nodes.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": where, "uid": f"uid-{where}", "labels": labels},
                "spec": {},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            }
        )
        if publishes:
            self.slices.append(
                resource_slice(
                    where, driver=DRIVERS[name], pool=where, node=where, devices=[{"name": "dev-0"}]
                )
            )

    def remove_node(self, where: str) -> None:
        self.nodes = [each for each in self.nodes if each["metadata"]["name"] != where]

    def replica(
        self, name: str, where: str = "", *, ready: bool = True, age: float = 60, **more: Any
    ) -> Object:
        """Have a replica on the node ``where``; without one it has no devices yet."""
        self.replicas += 1
        metadata = {
            "name": f"vllm-abc-{name}",
            "namespace": "llm",
            "uid": f"uid-vllm-abc-{name}",
            "labels": {"app": "vllm", "pod-template-hash": "abc", **more.pop("labels", {})},
            "ownerReferences": [owned_by("vllm-abc", kind="ReplicaSet")],
            "creationTimestamp": ago(age),
            **more.pop("metadata", {}),
        }
        image = f"example.com/vllm-{where.rpartition('-')[0]}:1" if where else "pause"
        spec = copy.deepcopy(TEMPLATE_SPEC) | {"containers": [{"name": "vllm", "image": image}]}
        spec |= {"nodeName": where} if where else {}
        conditions = [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(age - 3)},
            {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": ago(age - 4)},
        ]
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": spec | more.pop("spec", {}),
            "status": {
                "phase": "Running" if where else "Pending",
                "conditions": conditions if where else [],
                "resourceClaimStatuses": [
                    {"name": "device", "resourceClaimName": f"{metadata['name']}-device"}
                ],
            },
        }
        self.pods.append(pod)
        self.claims.append(self.claim(metadata["name"], where, age))
        return pod

    def claim(self, pod: str, where: str, age: float = 60) -> Object:
        body: Object = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {
                "name": f"{pod}-device",
                "namespace": "llm",
                "uid": f"uid-{pod}-device",
                "ownerReferences": [owned_by(pod)],
                "annotations": {"resource.kubernetes.io/pod-claim-name": "device"},
            },
            "spec": self.plan["claim_template"]["spec"]["spec"],
            "status": {},
        }
        if where:
            self.allocate(body, pod, where, age)
        return body

    def allocate(self, body: Object, pod: str, where: str, age: float = 60) -> None:
        name = where.rpartition("-")[0]
        given = {
            "request": f"device/{name}",
            "driver": DRIVERS[name],
            "pool": where,
            "device": "dev-0",
        }
        gate = gate_result()
        switched = status_of(gate, image_updated="True")
        switched["conditions"][0]["lastTransitionTime"] = ago(age - 2)
        body["status"] = {
            "allocation": {
                "devices": {"results": [given, gate]},
                "nodeSelector": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [where]}]}
                    ]
                },
                "allocationTimestamp": ago(age - 1),
            },
            "reservedFor": [consumer(pod)],
            "devices": [switched],
        }

    def change_template(self, *, gated: bool = False) -> None:
        """Have a Deployment that is paused with a new template; ``gated``: and a ReplicaSet that has it."""
        self.paused = True
        self.template["spec"] = {**self.template["spec"], "priorityClassName": "new"}
        if gated:
            made = copy.deepcopy(self.template)
            made["metadata"]["labels"] |= {"pod-template-hash": "abc", TEMPLATE_LABEL: self.fingerprint()}
            made["spec"]["schedulingGates"] = [{"name": SCHEDULING_GATE}]
            self.replica_set_template = made

    def fingerprint(self) -> str:
        return fingerprint(Deployment.from_api(self.deployment()).template)

    def deployment(self) -> Object:
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "vllm", "namespace": "llm", "uid": "uid-vllm", "generation": 1},
            "spec": {
                "replicas": self.replicas,
                "paused": self.paused,
                "selector": {"matchLabels": {"app": "vllm"}},
                "template": self.template,
            },
            "status": {"observedGeneration": 1},
        }

    def replica_set(self, name: str = "vllm-abc", replicas: int | None = None) -> Object:
        return {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": name,
                "namespace": "llm",
                "uid": f"uid-{name}",
                "labels": {"app": "vllm", "pod-template-hash": "abc"},
                "ownerReferences": [owned_by("vllm", kind="Deployment")],
            },
            "spec": {
                "replicas": self.replicas if replicas is None else replicas,
                "template": self.replica_set_template,
            },
        }

    def objects(self) -> dict[str, list[Object]]:
        template = self.plan["claim_template"]
        classes = [
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "DeviceClass",
                "metadata": {"name": driver},
                "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{driver}'"}}]},
            }
            for driver in (*(DRIVERS[each] for each in self.alternatives), GATE)
        ]
        return {
            "Pod": self.pods,
            "ResourceClaim": self.claims,
            "ResourceClaimTemplate": [{**template, "metadata": {"name": "gpu-or-cpu", "namespace": "llm"}}],
            "ResourceSlice": self.slices,
            "DeviceClass": classes,
            "Node": self.nodes,
            "Event": self.events,
            "Deployment": [self.deployment()],
            "ReplicaSet": [self.replica_set()],
        }

    def cluster(self) -> Cluster:
        return Cluster.from_objects(self.objects(), NOW)

    def service(self, **options: Any) -> Service:
        return find_service(
            self.cluster(),
            Deployment.from_api(self.deployment()),
            [ReplicaSet.from_api(self.replica_set())],
            **options,
        )
