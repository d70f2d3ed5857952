# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lab's kubelets do about images and containers: images that are missing, a process that ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tarfile
import urllib.request

import pytest
import yaml

from ansible_collections.inference.dra.controllers.image_configurator.manifests import render
from ansible_collections.inference.dra.lab import lifecycle
from ansible_collections.inference.dra.lab.processes import Processes
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    EVENTS,
    NODES,
    PODS,
    Kubernetes,
)
from ansible_collections.inference.dra.tests.watched import seen

from .labs import answered, running_lab

pytestmark = pytest.mark.lab


class Scene:
    """A lab with a cluster, and the ways that a user has into it."""

    def __init__(self, lab, scratch) -> None:
        self.lab = lab
        self.api = Kubernetes.connect({"kubeconfig": str(lab.kubeconfig)})
        self.repository = f"127.0.0.1:{lab.ports['registry']}/{lab.project}/images"
        self._scratch = scratch
        (scratch / "content").write_text("nothing\n")
        with tarfile.open(scratch / "layer.tar", "w") as layer:
            layer.add(scratch / "content", "content")
        pool = {"name": "default-pool", "initialNodeCount": 1}
        body = json.dumps({"cluster": {"name": "demo", "nodePools": [pool]}}).encode()
        url = f"{lab.url('google')}/v1/projects/{lab.project}/locations/us-central1-a/clusters"
        header = {"Content-Type": "application/json"}
        urllib.request.urlopen(urllib.request.Request(url, body, header), timeout=20).close()
        seen(self.api, NODES, lambda nodes: nodes and "Ready" in str(nodes[0].get("status")), "a node")

    def run(self, *words, given=None):
        done = subprocess.run(
            words,
            env={**os.environ, **lifecycle.environment(self.lab), "PATH": str(self.lab.directory / "bin")},
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def push(self, name):
        layer = str(self._scratch / "layer.tar")
        image = f"{self.repository}/{name}"
        self.run("crane", "append", "--insecure", "--oci-empty-base", "--new_layer", layer, "-t", image)
        return image

    def pod(self, name, image):
        spec = {"containers": [{"name": "main", "image": image}]}
        self.api.create(PODS, {"metadata": {"name": name}, "spec": spec}, "default")

    def until(self, name, holds, what, namespace="default"):
        def looked(pods):
            return any(pod["metadata"]["name"] == name and holds(pod) for pod in pods)

        seen(self.api, PODS, looked, what, namespace=namespace)


def waits_for(reason):
    def holds(pod):
        statuses = pod.get("status", {}).get("containerStatuses") or [{}]
        return statuses[0].get("state", {}).get("waiting", {}).get("reason") == reason

    return holds


def runs(pod):
    return pod.get("status", {}).get("phase") == "Running"


@pytest.fixture(scope="module")
def scene(lab_binaries, tmp_path_factory):
    with running_lab("containers", "--speed", "100") as lab:
        yield Scene(lab, tmp_path_factory.mktemp("layer"))


@pytest.mark.parametrize("name", ["app", "vllm-cpu"])
def test_a_missing_image_of_the_labs_own_registry_keeps_a_pod_waiting(scene, name):
    image = f"{scene.repository}/{name}:1"
    scene.pod(name, image)
    scene.until(name, waits_for("ErrImagePull"), "the failed pull")
    scene.until(name, waits_for("ImagePullBackOff"), "the back-off")
    failures = [
        each["message"]
        for each in scene.api.list(EVENTS, "default")
        if (each["involvedObject"]["name"], each["reason"]) == (name, "Failed")
    ]
    assert failures == [
        f'Failed to pull image "{image}": failed to pull and unpack image "{image}": not found'
    ]
    assert scene.push(f"{name}:1") == image
    scene.until(name, runs, "the pod, once its image is there")


@pytest.mark.parametrize("image", ["registry.example/p/app:1", "nginx"])
def test_an_image_elsewhere_is_taken_as_there(scene, image):
    name = image.partition("/")[0].replace(".", "-")
    scene.pod(name, image)
    scene.until(name, runs, "the pod")


def test_a_controller_that_ends_is_started_again_and_its_log_is_shown(scene):
    image = scene.push("image-configurator:1")
    templates = ("rbac", "deployment", "device-class")
    objects = [
        each
        for name in templates
        for each in render(
            f"{name}.yaml.j2",
            image_configurator_image=image,
            image_configurator_replicas=1,
            image_configurator_priority_class="",
        )
    ]
    scene.run("kubectl", "apply", "-f", "-", given=yaml.safe_dump_all(objects))
    scene.run("kubectl", "rollout", "status", "-n", "kube-system", "deployment/image-configurator")
    (pod,) = [
        each["metadata"]["name"]
        for each in scene.api.list(PODS, "kube-system")
        if each["metadata"]["name"].startswith("image-configurator")
    ]
    name, processes = f"pod-kube-system-{pod}", Processes(scene.lab.directory)
    log = ("kubectl", "logs", "-n", "kube-system", pod)
    answered(lambda: scene.run(*log), lambda text: "started" in text)
    before = answered(lambda: processes.pid(name), bool)

    processes.signal(name, signal.SIGKILL)

    scene.until(pod, waits_for("CrashLoopBackOff"), "the crash", "kube-system")
    scene.until(pod, lambda p: p["status"]["containerStatuses"][0]["ready"], "the restart", "kube-system")
    assert answered(lambda: processes.pid(name), bool) != before
    status = scene.api.get(PODS, pod, "kube-system")["status"]["containerStatuses"][0]
    assert status["restartCount"] == 1
    answered(lambda: scene.run(*log), lambda text: text.count("started") == 2)
