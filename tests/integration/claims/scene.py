# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A GPU or else CPUs for each replica, gated; the slices are written by hand, all else is Kubernetes."""

from __future__ import annotations

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIM_TEMPLATES,
    CLAIMS,
    DEPLOYMENTS,
    DEVICE_CLASSES,
    NAMESPACES,
    NODES,
    PODS,
    SERVICE_ACCOUNTS,
    SLICES,
    Kubernetes,
)
from ansible_collections.inference.dra.tests.watched import open_nodes, seen

GPU, CPU, GATE = "gpu.nvidia.com", "dra.cpu", "image-configurator.x-k8s.io"
UPDATED, FAILED = f"{GATE}/image-updated", f"{GATE}/image-update-failed"
ROOM = {"cpu": "1k", "memory": "1Ti", "pods": "1k"}
PATIENCE = 30.0


def node(api, name: str, **labels: str) -> None:
    body = {
        "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "status": {"allocatable": ROOM, "capacity": ROOM},
    }
    api.create(NODES, body)


def resource_slice(api, driver: str, devices: list[dict], node_name: str = "") -> None:
    where = {"nodeName": node_name} if node_name else {"allNodes": True}
    pool = {"name": node_name or "all-nodes", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "pool": pool, "devices": devices, **where}
    api.create(SLICES, {"metadata": {"name": f"{pool['name']}-{driver}"}, "spec": spec})


def device_class(api, driver: str) -> None:
    selector = {"cel": {"expression": f"device.driver == '{driver}'"}}
    api.create(DEVICE_CLASSES, {"metadata": {"name": driver}, "spec": {"selectors": [selector]}})


def furnish(api) -> None:
    """Have one GPU, room for many replicas on CPUs, and the gating device."""
    for driver in (GPU, CPU, GATE):
        device_class(api, driver)
    node(api, "gpu-1", pool="gpu")
    node(api, "cpu-1", pool="cpu")
    resource_slice(api, GPU, [{"name": "gpu-0", "attributes": {"type": {"string": "gpu"}}}], "gpu-1")
    cpus = {
        "name": "cpudevnuma000",
        "allowMultipleAllocations": True,
        "capacity": {"dra.cpu/cpu": {"value": "10k"}},
    }
    resource_slice(api, CPU, [cpus], "cpu-1")
    gate = {
        "name": "image-configurator",
        "allowMultipleAllocations": True,
        "bindingConditions": [UPDATED],
        "bindingFailureConditions": [FAILED],
    }
    resource_slice(api, GATE, [gate])
    open_nodes(api, "gpu-1", "cpu-1")


class Service:
    """A Deployment of one claim per replica in a namespace of its own."""

    def __init__(self, api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace

    @classmethod
    def of(cls, plane, namespace: str) -> Service:
        """Return a service in a namespace that is made for it."""
        api = Kubernetes.connect({"kubeconfig": str(plane.kubeconfig)})
        api.create(NAMESPACES, {"metadata": {"name": namespace}})
        made = cls(api, namespace)
        made.until(SERVICE_ACCOUNTS, lambda accounts: accounts)
        return made

    def create(self, replicas: int, *classes: str, name: str = "vllm") -> None:
        """Have the service; ``classes`` are its alternatives, the GPU and else CPUs by default."""
        alternatives = [
            {
                "name": each.partition(".")[0] if each == GPU else "cpu" if each == CPU else "other",
                "deviceClassName": each,
                **({"capacity": {"requests": {"dra.cpu/cpu": "12"}}} if each == CPU else {}),
            }
            for each in classes or (GPU, CPU)
        ]
        requests = [
            {"name": "accel", "firstAvailable": alternatives},
            {"name": "image", "exactly": {"deviceClassName": GATE}},
        ]
        template = {"metadata": {"name": name}, "spec": {"spec": {"devices": {"requests": requests}}}}
        self.api.create(CLAIM_TEMPLATES, template, self.namespace)
        labels = {"app": name}
        pod = {
            "containers": [{"name": "vllm", "image": "vllm"}],
            "resourceClaims": [{"name": "accel", "resourceClaimTemplateName": name}],
            "terminationGracePeriodSeconds": 0,
        }
        spec = {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        }
        self.api.create(DEPLOYMENTS, {"metadata": {"name": name}, "spec": spec}, self.namespace)

    def scale(self, replicas: int, name: str = "vllm") -> None:
        self.api.merge_patch(DEPLOYMENTS, name, {"spec": {"replicas": replicas}}, self.namespace)

    def until(self, resource, holds) -> list[dict]:
        """Return the objects of a kind as soon as the condition holds for them."""
        what = f"the {resource.plural} of {self.namespace}"
        return seen(self.api, resource, holds, what, namespace=self.namespace, seconds=PATIENCE)

    def allocated(self, count: int) -> list[dict]:
        """Return the claims once so many of them are allocated."""

        def done(claims) -> bool:
            return sum("allocation" in each.get("status", {}) for each in claims) >= count

        return [each for each in self.until(CLAIMS, done) if "allocation" in each.get("status", {})]

    def pods(self, count: int) -> list[dict]:
        return self.until(PODS, lambda pods: len(pods) == count)

    def open_gate(self, claim: dict, kind: str = UPDATED) -> None:
        """Report the binding condition of a claim's gating device, as the configurator does."""
        (gate,) = [
            each for each in claim["status"]["allocation"]["devices"]["results"] if each["driver"] == GATE
        ]
        condition = {
            "type": kind,
            "status": "True",
            "reason": "Test",
            "message": "",
            "lastTransitionTime": SystemClock().now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        entry = {key: gate[key] for key in ("driver", "pool", "device", "shareID")}
        body = {
            "metadata": {"name": claim["metadata"]["name"]},
            "status": {"devices": [{**entry, "conditions": [condition]}]},
        }
        self.api.apply(CLAIMS, body, self.namespace, subresource="status", force=True)

    def delete(self) -> None:
        """Have the service gone, its devices free again."""
        for each in self.api.list(DEPLOYMENTS, self.namespace):
            self.api.delete(DEPLOYMENTS, each["metadata"]["name"], self.namespace)
        self.until(CLAIMS, lambda claims: not claims)
