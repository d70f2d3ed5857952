# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real control plane with two kinds of hardware, and the controller as a process with its own rights."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from datetime import datetime, timezone
from types import SimpleNamespace

import pytest
import urllib3
import yaml

from ansible_collections.inference.dra.controllers.image_configurator.contract import Gate
from ansible_collections.inference.dra.controllers.image_configurator.gating_slice import publish
from ansible_collections.inference.dra.controllers.image_configurator.manifests import render
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import (
    ManualClock,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIM_TEMPLATES,
    CLAIMS,
    DEVICE_CLASSES,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    SERVICE_ACCOUNTS,
    SLICES,
    Event,
    Kubernetes,
    NotFound,
    Resource,
)
from ansible_collections.inference.dra.tests.watched import open_nodes, seen

GATE = Gate()
PLACEHOLDER = "registry.k8s.io/pause:3.10"
IMAGES = {"gpu": "registry.example/vllm-gpu:1", "cpu": "registry.example/vllm-cpu:1"}
ACCOUNT, ACCOUNT_NAMESPACE = "image-configurator", "kube-system"
QUICK = ("--lease-seconds=2", "--renew-seconds=1.5", "--retry-seconds=0.2")
PACKAGE = "ansible_collections.inference.dra.controllers.image_configurator"
# Another timeout than the default shows nothing here but saves ten minutes where a test fails; the
# default rate limit of the scheduler's client would hide how fast the controller is.
SCHEDULER = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "clientConnection": {"qps": 1000, "burst": 1000},
    "profiles": [
        {
            "pluginConfig": [
                {
                    "name": "DynamicResources",
                    "args": {
                        "apiVersion": "kubescheduler.config.k8s.io/v1",
                        "kind": "DynamicResourcesArgs",
                        "bindingTimeout": "60s",
                    },
                }
            ]
        }
    ],
}


def image_config(container, image, requests=()):
    """Return one entry of ``devices.config``."""
    parameters = {
        "apiVersion": GATE.config_api,
        "kind": "ImageConfig",
        "containerName": container,
        "image": image,
    }
    return opaque(parameters, requests)


def opaque(parameters, requests=(), driver=GATE.driver):
    entry = {"opaque": {"driver": driver, "parameters": parameters}}
    return {"requests": list(requests), **entry} if requests else entry


GUIDE = [image_config("vllm", IMAGES[name], [f"accel/{name}"]) for name in ("gpu", "cpu")]


def claim_spec(config=GUIDE, *, gpu_first=True):
    """Return a claim for a GPU or else 12 CPUs, gated; with ``gpu_first`` false, for CPUs only."""
    alternatives = [
        {"name": "gpu", "deviceClassName": "gpu.nvidia.com"},
        {"name": "cpu", "deviceClassName": "dra.cpu", "capacity": {"requests": {"dra.cpu/cpu": "12"}}},
    ]
    if not gpu_first:
        alternatives = alternatives[1:]
        config = [entry for entry in config if entry.get("requests") != ["accel/gpu"]]
    requests = [
        {"name": "accel", "firstAvailable": alternatives},
        {"name": "image", "exactly": {"deviceClassName": GATE.driver}},
    ]
    return {"devices": {"requests": requests, "config": list(config)}}


def until(api, resource, namespace, holds, seconds=30.0):
    """Return the objects of a namespace, by name, as soon as ``holds`` is true of them."""
    what = f"the {resource.plural} of {namespace}"
    return by_name(
        seen(api, resource, lambda found: holds(by_name(found)), what, namespace=namespace, seconds=seconds)
    )


def by_name(objects):
    return {each["metadata"]["name"]: each for each in objects}


def conditions(claim):
    """Return condition type → (status, reason) of the entries of this driver."""
    return {
        condition["type"].removeprefix(f"{GATE.driver}/"): (condition["status"], condition["reason"])
        for entry in claim.get("status", {}).get("devices", [])
        if entry["driver"] == GATE.driver
        for condition in entry["conditions"]
    }


def image(pod, container=0, kind="containers"):
    return pod["spec"][kind][container]["image"]


def changes(api, resource, namespace):
    """Yield every state of every object of a namespace, as a watch shows them."""
    for change in api.follow(resource, namespace):
        if not isinstance(change, Event):
            yield from change
        elif change.type != "BOOKMARK":
            yield change.object


class Workload:
    """Pods and claims in one namespace."""

    def __init__(self, api, namespace):
        self.api = api
        self.namespace = namespace

    def template(self, config=GUIDE, name="gpu-or-cpu", **options):
        body = {"metadata": {"name": name}, "spec": {"spec": claim_spec(config, **options)}}
        self.api.create(CLAIM_TEMPLATES, body, self.namespace)
        return name

    def pod(self, name="p", template="gpu-or-cpu", claim=""):
        use = {"resourceClaimName": claim} if claim else {"resourceClaimTemplateName": template}
        spec = {
            "containers": [{"name": n, "image": PLACEHOLDER} for n in ("vllm", "proxy")],
            "initContainers": [{"name": "fetch", "image": PLACEHOLDER}],
            "resourceClaims": [{"name": "accel", **use}],
        }
        return self.api.create(PODS, {"metadata": {"name": name}, "spec": spec}, self.namespace)

    def pods(self, holds, seconds=30.0):
        return until(self.api, PODS, self.namespace, holds, seconds)

    def claims(self, holds, seconds=30.0):
        return until(self.api, CLAIMS, self.namespace, holds, seconds)

    def allocated(self):
        """Return the only claim once it is allocated."""
        claims = self.claims(lambda known: any("allocation" in c.get("status", {}) for c in known.values()))
        return next(iter(claims.values()))

    def events(self, reason, seconds=30.0):
        """Return the events with a reason, once there is one."""
        found = until(self.api, EVENTS, self.namespace, lambda known: any(of(known, reason)), seconds)
        return of(found, reason)


def of(events, reason):
    return [event for event in events.values() if event["reason"] == reason]


class Controller:
    """The controller as a process."""

    def __init__(self, kubeconfig, *flags):
        command = [sys.executable, "-m", PACKAGE, "run", "--kubeconfig", str(kubeconfig), *flags]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.log = []
        self.leads = threading.Event()
        self._more = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        with self.process.stderr:
            for line in self.process.stderr:
                self.log.append(json.loads(line))
                self._more.set()
                if self.log[-1]["message"] == "leading":
                    self.leads.set()

    @property
    def http(self):
        return next(line["http"] for line in self.log if line["message"] == "started")

    def logged(self, message, seconds=20):
        """Return the first line of the log with a message, waiting for it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            for line in list(self.log):
                if line["message"] == message:
                    return line
            self._more.wait(0.5)
            self._more.clear()
        raise AssertionError(f"not logged: {message}")

    def page(self, path):
        answer = urllib3.request("GET", f"http://{self.http}{path}", retries=False)
        return answer.status, answer.data.decode()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._reader.join()

    def stop(self):
        self.process.terminate()
        assert self.process.wait(20) == 0


@pytest.fixture(scope="session")
def plane(make_control_plane):
    """A control plane with a GPU node, a CPU node, classes, and the role's rights and device class."""
    plane = make_control_plane(SCHEDULER)
    api = Kubernetes.connect({"kubeconfig": str(plane.kubeconfig)})
    devices = {
        "gpu": ("gpu.nvidia.com", [{"name": f"gpu-{n}"} for n in range(8)]),
        "cpu": (
            "dra.cpu",
            [
                {
                    "name": "cpudevnuma000",
                    "allowMultipleAllocations": True,
                    "capacity": {"dra.cpu/cpu": {"value": "100k"}},
                }
            ],
        ),
    }
    for name, (driver, published) in devices.items():
        room = {"cpu": "10k", "memory": "10Ti", "pods": "20k"}
        api.create(
            NODES,
            {
                "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}},
                "status": {"allocatable": room, "capacity": room},
            },
        )
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": driver, "nodeName": name, "pool": pool, "devices": published}
        api.create(SLICES, {"metadata": {"name": name}, "spec": spec})
        selector = {"cel": {"expression": f"device.driver == '{driver}'"}}
        api.create(DEVICE_CLASSES, {"metadata": {"name": driver}, "spec": {"selectors": [selector]}})
    install(api, [*render("rbac.yaml.j2"), *render("device-class.yaml.j2")])
    open_nodes(api, *devices)
    return plane


PLURALS = {
    "ServiceAccount": "serviceaccounts",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "DeviceClass": "deviceclasses",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


def resource_of(obj):
    group, _unused, version = obj["apiVersion"].rpartition("/")
    return Resource(group, version, PLURALS[obj["kind"]], obj["kind"], "namespace" in obj["metadata"])


def install(api, objects):
    for obj in objects:
        api.apply(resource_of(obj), obj, obj["metadata"].get("namespace", ""), force=True)


@pytest.fixture(scope="session")
def restricted(plane, tmp_path_factory):
    """Return a kubeconfig of the controller's ServiceAccount: the shipped rights, no others."""
    api = Kubernetes.connect({"kubeconfig": str(plane.kubeconfig)})
    path = SERVICE_ACCOUNTS.path(ACCOUNT_NAMESPACE, ACCOUNT, "token")
    token = api.request("POST", path, {"spec": {"expirationSeconds": 7200}})["status"]["token"]
    document = yaml.safe_load(plane.kubeconfig.read_text())
    document["users"] = [{"name": ACCOUNT, "user": {"token": token}}]
    for context in document["contexts"]:
        context["context"]["user"] = ACCOUNT
    kubeconfig = tmp_path_factory.mktemp("restricted") / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(document))
    return kubeconfig


@pytest.fixture(scope="session")
def api(plane):
    return Kubernetes.connect({"kubeconfig": str(plane.kubeconfig)})


@pytest.fixture
def workload(api, namespace):
    yield Workload(api, namespace)
    api.delete(NAMESPACES, namespace)
    for pod in api.list(PODS, namespace):
        with contextlib.suppress(NotFound):  # the namespace's own clean-up may be faster
            api.delete(PODS, pod["metadata"]["name"], namespace, grace_seconds=0)
    # The devices have to be free for the next test.
    until(api, CLAIMS, namespace, lambda known: not known)


@pytest.fixture
def start(restricted):
    """Return a function that starts replicas; they end with the test."""
    running = []

    def start_replica(*flags):
        controller = Controller(restricted, "--lease-namespace", ACCOUNT_NAMESPACE, *(flags or QUICK))
        running.append(controller)
        return controller

    yield start_replica
    for controller in running:
        controller.kill()


@pytest.fixture(scope="module")
def controller(restricted):
    """One replica that leads, for all tests of a file."""
    replica = Controller(restricted, "--lease-namespace", ACCOUNT_NAMESPACE, *QUICK)
    assert replica.leads.wait(20)
    yield replica
    replica.stop()
    replica.kill()


@pytest.fixture
def gate_open(api):
    """Publish the gating slice without a controller, so that claims are allocated and wait."""
    publish(api, GATE)


@pytest.fixture
def manual():
    """A clock that moves only when told to."""
    return ManualClock(datetime(2026, 11, 30, tzinfo=timezone.utc))


@pytest.fixture(scope="session")
def kit():
    """The functions and constants above, for tests."""
    return SimpleNamespace(**globals())
