# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab's machines on a real control plane: simulated Google and hardware, real Kubernetes."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest

from ansible_collections.inference.dra.lab import daemon
from ansible_collections.inference.dra.lab.autoscaler.autoscaler import Settings
from ansible_collections.inference.dra.lab.google.cloud import Cloud
from ansible_collections.inference.dra.lab.google.container import Container
from ansible_collections.inference.dra.lab.google.server import GoogleServer
from ansible_collections.inference.dra.lab.hardware.machines import NODE_POOL
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIM_TEMPLATES,
    COMPUTE_CLASSES,
    DAEMON_SETS,
    DEVICE_CLASSES,
    EVENTS,
    NODES,
    PODS,
    SLICES,
    Kubernetes,
    NotFound,
)

SPEED = 100.0
REGION, ZONE = "us-central1", "us-central1-a"
CLASS = "cloud.google.com/compute-class"
GPU_LABELS = {
    "gke-no-default-nvidia-gpu-device-plugin": "true",
    "nvidia.com/gpu.present": "true",
    "cloud.google.com/gke-nvidia-gpu-dra-driver": "true",
}
L4 = {
    "acceleratorType": "nvidia-l4",
    "acceleratorCount": "1",
    "gpuDriverInstallationConfig": {"gpuDriverVersion": "INSTALLATION_DISABLED"},
}
DRIVER_IMAGES = {
    "gpu.nvidia.com": ("gpus", "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.5.0"),
    "dra.cpu": ("dracpu", "registry.k8s.io/dra-driver-cpu/dra-driver-cpu:v0.2.0"),
}
EVERYTHING = ({"operator": "Exists"},)
numbers = itertools.count(1)


class Locked:
    """Google's container API without HTTP; as the server does, one call at a time."""

    def __init__(self, cloud: Cloud) -> None:
        self._lock = cloud.lock
        self._api = Container(cloud)

    def __getattr__(self, name):
        def call(*arguments):
            with self._lock:
                return getattr(self._api, name)(*arguments)

        return call


class Machines:
    """What a test does with the lab; waits are woken by what the lab sees, they do not poll."""

    def __init__(self, plane, cloud: Cloud, built: daemon.Daemon) -> None:
        self.plane = plane
        self.cloud = cloud
        self.google = Locked(cloud)
        self.daemon = built
        self.store = built.context.store
        self.kube = Kubernetes.connect({"kubeconfig": str(plane.kubeconfig)})

    def until(self, holds: Callable[[], object], what: str, seconds: float = 60.0) -> None:
        """Return when ``holds`` does; it is asked after every change that the lab sees."""
        done = threading.Event()

        def look(_change=None) -> None:
            if not done.is_set() and holds():
                done.set()

        def begin() -> None:
            self.store.listen(look)
            self.cloud.listeners.append(lambda change: self.daemon.loop.post(look))
            look()

        self.daemon.loop.call(begin)
        assert done.wait(seconds), f"{what}: not within {seconds} s"

    def ask(self, question: Callable[[], object]) -> object:
        return self.daemon.loop.call(question)

    def pool(self, machine="n2-standard-16", size=1, least=0, most=0, cluster="lab", **config) -> str:
        """Create a node pool, autoscaled where ``most`` is given, and return its name."""
        name = f"pool-{next(numbers)}"
        wanted = {
            "name": name,
            "initialNodeCount": size,
            "locations": [config.pop("zone", ZONE)],
            "networkConfig": config.pop("network", {}),
            "config": {"machineType": machine, **config},
        }
        if most:
            wanted["autoscaling"] = {"enabled": True, "minNodeCount": least, "maxNodeCount": most}
        self.google.create_node_pool(REGION, cluster, {"nodePool": wanted})
        return name

    def cluster(self, name: str, **more) -> None:
        """Create a cluster with one node per zone and return when it runs."""
        pools = [{"name": "default-pool", "initialNodeCount": 1}]
        self.google.create_cluster(REGION, {"cluster": {"name": name, "nodePools": pools, **more}})
        self.until(lambda: settled(self.cloud), f"cluster {name}", 90)

    def class_pool(self, name: str, **more) -> str:
        """Create a pool that belongs to a compute class."""
        labels = {**more.pop("labels", {}), CLASS: name}
        taints = [{"key": CLASS, "value": name, "effect": "NO_SCHEDULE"}]
        return self.pool(labels=labels, taints=taints, **more)

    def nodes(self, pool: str) -> list[dict]:
        found = (node for node in self.store.all(NODES) if node["metadata"]["labels"].get(NODE_POOL) == pool)
        return sorted(found, key=lambda node: node["metadata"]["name"])

    def wait_nodes(self, pool: str, count: int, seconds: float = 30.0) -> list[dict]:
        self.until(
            lambda: len(self.nodes(pool)) == count and all(map(daemon.is_ready, self.nodes(pool))),
            f"{count} nodes of {pool}",
            seconds,
        )
        return self.ask(lambda: self.nodes(pool))

    def slices(self, node: str, driver: str) -> list[dict]:
        return [
            each["spec"]
            for each in self.store.all(SLICES)
            if (each["spec"].get("nodeName"), each["spec"]["driver"]) == (node, driver)
        ]

    def wait_slices(self, node: str, driver: str, count: int = 1) -> list[dict]:
        self.until(lambda: len(self.slices(node, driver)) == count, f"{count} slices of {driver} on {node}")
        return self.ask(lambda: self.slices(node, driver))

    def daemon_set(self, image, name="c", labels=None, select=None, tolerations=EVERYTHING, **spec) -> str:
        """Create a DaemonSet with one container and return its name."""
        unique = f"ds-{next(numbers)}"
        labels = {"app": unique, **(labels or {})}
        pod = {
            "nodeSelector": select or {},
            "tolerations": list(tolerations),
            "containers": [{"name": name, "image": image, **spec.pop("container", {})}],
            **spec,
        }
        body = {
            "metadata": {"name": unique},
            "spec": {
                "selector": {"matchLabels": {"app": unique}},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        }
        self.kube.create(DAEMON_SETS, body, "kube-system")
        return unique

    def driver(self, name: str, select=None, **more) -> str:
        container, image = DRIVER_IMAGES[name]
        return self.daemon_set(image, container, select=select, **more)

    def installer(self, select=None) -> str:
        return self.daemon_set("pause", labels={"k8s-app": "nvidia-driver-installer"}, select=select)

    def remove_daemon_set(self, name: str) -> None:
        with contextlib.suppress(NotFound):
            self.kube.delete(DAEMON_SETS, name, "kube-system")

    def compute_class(self, *rungs: list[str], name: str = "", **spec) -> str:
        name = name or f"class-{next(numbers)}"
        body = {
            "apiVersion": "cloud.google.com/v1",
            "kind": "ComputeClass",
            "metadata": {"name": name},
            "spec": {
                "priorities": [{"nodepools": pools} for pools in rungs],
                "whenUnsatisfiable": "DoNotScaleUp",
                **spec,
            },
        }
        self.kube.create(COMPUTE_CLASSES, body)
        return name

    def template(self, *alternatives: dict) -> str:
        """Create a claim template with one request of these alternatives."""
        name = f"template-{next(numbers)}"
        body = {
            "metadata": {"name": name},
            "spec": {"spec": {"devices": {"requests": [{"name": "d", "firstAvailable": [*alternatives]}]}}},
        }
        self.kube.create(CLAIM_TEMPLATES, body, "default")
        return name

    def pod(self, template="", image="pause", select=None, container=None) -> str:
        name = f"pod-{next(numbers)}"
        claims = [{"name": "d", "resourceClaimTemplateName": template}] if template else []
        spec = {
            "nodeSelector": select or {},
            "tolerations": list(EVERYTHING),
            "resourceClaims": claims,
            "containers": [
                {
                    "name": "main",
                    "image": image,
                    "resources": {"claims": [{"name": "d"}] if template else []},
                    **(container or {}),
                }
            ],
        }
        self.kube.create(PODS, {"metadata": {"name": name}, "spec": spec}, "default")
        return name

    def seen_pod(self, name: str) -> dict:
        return self.store.get(PODS, name, "default") or {"spec": {}, "status": {}}

    def wait_bound(self, *names: str) -> list[str]:
        self.until(
            lambda: all(self.seen_pod(name)["spec"].get("nodeName") for name in names), f"{names} bound"
        )
        return [self.ask(lambda name=name: self.seen_pod(name)["spec"]["nodeName"]) for name in names]

    def wait_event(self, pod: str, reason: str, seconds: float = 60.0) -> str:
        """Return the message of an event on a pod."""
        api = self.kube.within(Deadline(SystemClock(), seconds))
        selector = f"involvedObject.name={pod},reason={reason}"
        for seen in api.follow(EVENTS, "default", field_selector=selector):
            objects = seen if isinstance(seen, list) else [seen.object]
            for each in objects:
                if each.get("reason") == reason:
                    return each["message"]
        raise AssertionError(f"no event {reason} on {pod}")

    def admin(self, method: str, path: str, body=None) -> dict:
        """Call the admin interface; a refusal comes back with its HTTP status."""
        url = f"http://127.0.0.1:{self.daemon.admin.port}{path}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return {"status": error.code, **json.load(error)}


@pytest.fixture(scope="session")
def machines(make_control_plane, tmp_path_factory):
    plane = make_control_plane()
    cloud = Cloud(SystemClock(), speed=SPEED)
    built = daemon.build(
        {"kubeconfig": str(plane.kubeconfig)},
        cloud,
        speed=SPEED,
        say=print,
        autoscaling=Settings(least_idle=0),
        directory=tmp_path_factory.mktemp("lab"),
        admin_port=0,
        control_plane=Plane(plane),
    )
    built.prepare()
    thread = threading.Thread(target=built.run)
    thread.start()
    server = GoogleServer(cloud).start()
    found = Machines(plane, cloud, built)
    for name, expression in (
        ("gpu.nvidia.com", "device.driver == 'gpu.nvidia.com'"),
        ("dra.cpu", "device.driver == 'dra.cpu'"),
    ):
        spec = {"selectors": [{"cel": {"expression": expression}}]}
        found.kube.create(DEVICE_CLASSES, {"metadata": {"name": name}, "spec": spec})
    found.cluster("lab")
    yield found
    server.stop()
    built.loop.stop()
    thread.join(10)


def settled(cloud: Cloud) -> bool:
    return all(cluster.message["status"] == "RUNNING" for cluster in cloud.state.clusters.values())


class Plane:
    """The control plane's processes, as faults reach them."""

    def __init__(self, plane) -> None:
        self._plane = plane

    def names(self):
        return self._plane.processes.names()

    def signal(self, name, number):
        self._plane.processes.signal(name, number)

    def restart(self, name, after_seconds):
        self._plane.restart(name, after_seconds)


@pytest.fixture(autouse=True)
def no_fault_outlives_its_test(request):
    """A test that fails while a fault is on must not take the next ones with it."""
    yield
    if "machines" in request.fixturenames:
        request.getfixturevalue("machines").admin("DELETE", "/faults")
