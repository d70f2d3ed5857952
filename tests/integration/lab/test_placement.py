# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the real scheduler puts what the role vllm applies, and where it would without that placement."""

from __future__ import annotations

import itertools

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.alternatives import plan
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIM_TEMPLATES,
    DEPLOYMENTS,
    NODES,
    PODS,
    Kubernetes,
)
from ansible_collections.inference.dra.tests.integration.claims.scene import (
    CPU,
    GATE,
    GPU,
    ROOM,
    Service,
    device_class,
    resource_slice,
)
from ansible_collections.inference.dra.tests.unit.roles.test_vllm import rendered
from ansible_collections.inference.dra.tests.watched import seen

pytestmark = pytest.mark.lab

CLASS, POOL = "cloud.google.com/compute-class", "cloud.google.com/gke-nodepool"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
NOT_READY = "node.kubernetes.io/not-ready"
IDLE = {"key": "DeletionCandidateOfClusterAutoscaler", "value": "1", "effect": "PreferNoSchedule"}
DEVICES = {
    "gpu": (GPU, {"attributes": {"type": {"string": "gpu"}}}),
    "cpu": (CPU, {"allowMultipleAllocations": True, "capacity": {"dra.cpu/cpu": {"value": "16"}}}),
}
ALTERNATIVES = [
    {
        "name": name,
        "device_class": driver,
        "node_pool": {"name": f"{name}-pool", "machine_type": "n2-standard-16", "max_nodes": 2},
        "image": {"reference": f"example.com/vllm-{name}:1"},
        **({"capacity": {"dra.cpu/cpu": "12"}} if name == "cpu" else {}),
    }
    for name, driver in (("gpu", GPU), ("cpu", CPU))
]
numbers = itertools.count(1)


class Scene:
    """Nodes of a compute class of their own, which nobody else's pods are for."""

    def __init__(self, plane) -> None:
        self.plane = plane
        self.name = f"placement-{next(numbers)}"
        self.service = Service.of(plane, self.name)
        self.api: Kubernetes = self.service.api

    def node(self, kind: str, zone: str, *taints: dict) -> None:
        """Have a node with one device; what it is tainted with it has from the start."""
        name = f"{self.name}-{kind}-{next(numbers)}"
        of_class = {"key": CLASS, "value": self.name, "effect": "NoSchedule"}
        body = {
            "metadata": {
                "name": name,
                "labels": {HOST: name, ZONE: zone, CLASS: self.name, POOL: f"{kind}-pool"},
                "annotations": {"kwok.x-k8s.io/node": "fake"},
            },
            "spec": {"taints": [of_class, *taints]},
            "status": {"allocatable": ROOM, "capacity": ROOM},
        }
        driver, device = DEVICES[kind]
        resource_slice(self.api, driver, [{"name": "device-0", **device}], name)
        self.api.create(NODES, body)
        self.is_known(name)

    def is_known(self, name: str) -> None:
        """Return once the scheduler has put a pod there: it knows then that the node is ready."""

        def is_open(nodes) -> bool:
            taints = [each["spec"]["taints"] for each in nodes if each["metadata"]["name"] == name]
            return any(NOT_READY not in (each["key"] for each in of_node) for of_node in taints)

        seen(self.api, NODES, is_open, f"node {name} ready")
        spec = {
            "nodeSelector": {HOST: name},
            "tolerations": [{"key": CLASS, "operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "probe", "image": "pause"}],
        }
        self.api.create(PODS, {"metadata": {"name": name}, "spec": spec}, self.name)
        self.bound(1, lambda pod: pod["metadata"]["name"] == name)
        self.api.delete(PODS, name, self.name, grace_seconds=0)

    def bound(self, count: int, is_ours) -> list[str]:
        """Return the nodes of the pods that are ours, once there are so many."""

        def placed(pods) -> list[str]:
            return [pod["spec"]["nodeName"] for pod in pods if is_ours(pod) and "nodeName" in pod["spec"]]

        pods = self.service.until(PODS, lambda pods: len(placed(pods)) == count)
        return placed(pods)

    def landed(self, replicas: int, without) -> list[str]:
        """Apply what the role does, without parts of the placement, and return the alternatives it got."""
        settings = {"compute_class": self.name, "zones": ["a"], "pod_labels": {"app": "vllm-fungible"}}
        given = {"vllm_plan": plan(ALTERNATIVES, settings).as_dict(), "vllm_replicas": replicas}
        template = rendered("claim-template.yaml.j2", **given)
        self.api.create(CLAIM_TEMPLATES, template, self.name)
        deployment = rendered("deployment.yaml.j2", **given)
        without(deployment["spec"]["template"]["spec"])
        self.api.create(DEPLOYMENTS, deployment, self.name)
        nodes = self.bound(
            replicas, lambda pod: pod["metadata"].get("labels", {}).get("app") == "vllm-fungible"
        )
        return sorted(name.removeprefix(f"{self.name}-").partition("-")[0] for name in nodes)


@pytest.fixture(scope="module")
def plane(make_control_plane):
    made = make_control_plane()
    api = Kubernetes.connect({"kubeconfig": str(made.kubeconfig)})
    for driver in (GPU, CPU, GATE):
        device_class(api, driver)
    # A gate that is open: without conditions nothing waits for it.
    resource_slice(api, GATE, [{"name": "image-configurator", "allowMultipleAllocations": True}])
    return made


def nothing(_spec) -> None:
    """Leave the role's pod spec as it is."""


def the_toleration(spec) -> None:
    spec["tolerations"] = [each for each in spec["tolerations"] if each["key"] != IDLE["key"]]


def the_affinity(spec) -> None:
    del spec["affinity"]


def affinity_and_constraint(spec) -> None:
    del spec["affinity"], spec["topologySpreadConstraints"]


@pytest.mark.parametrize(
    ("without", "expected"),
    [pytest.param(nothing, ["gpu"], id="as-applied"), pytest.param(the_toleration, ["cpu"], id="without-it")],
)
def test_c34_an_idle_gpu_node_that_the_autoscaler_marked_gets_the_replica_by_a_toleration(
    plane, without, expected
):
    """Observed on Kubernetes 1.36.3: the taint costs more than node affinity and the order together give."""
    scene = Scene(plane)
    scene.node("gpu", "a", IDLE)
    scene.node("cpu", "a")
    assert scene.landed(1, without) == expected


@pytest.mark.parametrize(
    ("without", "expected"),
    [
        pytest.param(nothing, ["gpu", "gpu"], id="as-applied"),
        pytest.param(the_affinity, ["gpu", "gpu"], id="constraint-alone"),
        pytest.param(affinity_and_constraint, ["cpu", "gpu"], id="without-both"),
    ],
)
def test_default_spreading_over_zones_takes_no_replica_from_an_idle_gpu(plane, without, expected):
    """Observed on Kubernetes 1.36.3: the scheduler's default constraints prefer another zone to the order."""
    scene = Scene(plane)
    for kind, zone in (("gpu", "a"), ("gpu", "a"), ("cpu", "b"), ("cpu", "b")):
        scene.node(kind, zone)
    assert scene.landed(2, without) == expected
