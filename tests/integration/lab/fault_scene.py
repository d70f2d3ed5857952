# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab to break: one cluster, a spot pool with the CPU driver, and the ways that a user has into it."""

from __future__ import annotations

import contextlib
import itertools
import json
import urllib.error
import urllib.request

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIM_TEMPLATES,
    DAEMON_SETS,
    DEVICE_CLASSES,
    NODES,
    PODS,
    SERVICE_ACCOUNTS,
    SLICES,
    Kubernetes,
    KubernetesError,
)
from ansible_collections.inference.dra.tests.watched import seen

from .labs import answered, dra_lab

REGION, ZONE = "us-central1", "us-central1-a"
POOL_LABEL = "cloud.google.com/gke-nodepool"
CPU_IMAGE = "registry.k8s.io/dra-driver-cpu/dra-driver-cpu:v0.2.0"
numbers = itertools.count(1)


class Scene:
    """A lab with one cluster, and in it the spot pool ``cpu`` of one node with the CPU driver."""

    def __init__(self, lab) -> None:
        self.lab = lab
        self.api = Kubernetes.connect({"kubeconfig": str(lab.kubeconfig)})
        pools = [{"name": "default-pool", "initialNodeCount": 1}]
        self.done("POST", "/clusters", {"cluster": {"name": "demo", "nodePools": pools}})
        self.done("POST", "/clusters/demo/nodePools", pool("cpu", spot=True))
        labels = {"app": "dra-cpu"}
        spec = {
            "nodeSelector": {POOL_LABEL: "cpu"},
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "dracpu", "image": CPU_IMAGE}],
        }
        template = {"metadata": {"labels": labels}, "spec": spec}
        driver = {"selector": {"matchLabels": labels}, "template": template}
        self.api.create(DAEMON_SETS, {"metadata": {"name": "dra-cpu"}, "spec": driver}, "kube-system")
        selectors = [{"cel": {"expression": "device.driver == 'dra.cpu'"}}]
        self.api.create(DEVICE_CLASSES, {"metadata": {"name": "dra.cpu"}, "spec": {"selectors": selectors}})
        capacity = {"requests": {"dra.cpu/cpu": "1"}}
        request = {"name": "d", "exactly": {"deviceClassName": "dra.cpu", "capacity": capacity}}
        template = {"metadata": {"name": "cpu"}, "spec": {"spec": {"devices": {"requests": [request]}}}}
        self.api.create(CLAIM_TEMPLATES, template, "default")
        self.device_until(bool, "a device")

    # The command

    def command(self, *words):
        done = dra_lab("fault", "--name", self.lab.name, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextlib.contextmanager
    def fault(self, kind, *pairs):
        name = self.command("set", kind, *pairs).strip().rpartition(" ")[2]
        assert f"on: id {name}, kind {kind}" in self.command("list")
        try:
            yield
        finally:
            assert self.command("clear", name) == "1 cleared\n"
        assert name not in self.command("list")

    # Google

    def google(self, method, path, body=None):
        """Call the container API; return status and answer."""
        base = f"{self.lab.url('google')}/v1/projects/{self.lab.project}/locations/{REGION}"
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(base + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def begun(self, method, path, body=None):
        code, operation = self.google(method, path, body)
        assert code == 200, operation
        return f"/operations/{operation['name']}"

    def ended(self, operation):
        found = answered(lambda: self.google("GET", operation)[1], lambda o: o.get("status") == "DONE")
        return found.get("error", {})

    def done(self, method, path, body=None):
        assert self.ended(self.begun(method, path, body)) == {}

    def relabel(self):
        """Return the request that changes the cluster's labels: the quickest operation there is."""
        fingerprint = self.google("GET", "/clusters/demo")[1].get("labelFingerprint", "")
        labels = {"n": str(next(numbers))}
        body = {"resourceLabels": labels, "labelFingerprint": fingerprint}
        return "POST", "/clusters/demo:setResourceLabels", body

    # Kubernetes

    def node(self, name="cpu"):
        """Return the name of the pool's one node."""
        return (
            seen(self.api, NODES, lambda nodes: len(of_pool(nodes, name)) == 1, f"a node of {name}")
            and (of_pool(self.api.list(NODES), name)[0])
        )

    def device_until(self, holds, what):
        def looked(slices):
            found = [each["spec"] for each in slices if each["spec"]["driver"] == "dra.cpu"]
            return holds(found)

        seen(self.api, SLICES, looked, what)

    def pod(self, **more):
        name = f"pod-{next(numbers)}"
        spec = {
            "nodeSelector": {POOL_LABEL: "cpu"},
            "containers": [{"name": "main", "image": "pause", "resources": {"claims": [{"name": "d"}]}}],
            "resourceClaims": [{"name": "d", "resourceClaimTemplateName": "cpu"}],
            **more,
        }
        self.api.create(PODS, {"metadata": {"name": name}, "spec": spec}, "default")
        return name

    def pod_until(self, name, holds, what):
        def looked(pods):
            return any(pod["metadata"]["name"] == name and holds(pod) for pod in pods)

        seen(self.api, PODS, looked, what, namespace="default")

    def serves(self):
        """Return whether the API server answers, without the client's patience."""
        brief = self.api.within(Deadline(SystemClock(), 0.3))
        try:
            return bool(brief.get(SERVICE_ACCOUNTS, "default", namespace="default"))
        except KubernetesError:
            return False


def pool(name, **config):
    body = {
        "name": name,
        "initialNodeCount": 1,
        "locations": [ZONE],
        "config": {"machineType": "n2-standard-16", **config},
    }
    return {"nodePool": body}


def of_pool(nodes, name):
    return [n["metadata"]["name"] for n in nodes if n["metadata"]["labels"].get(POOL_LABEL) == name]


def is_bound(pod):
    return "nodeName" in pod["spec"]
