# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vLLM pods answer through port-forward, at the pace of what they got, or die visibly."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from contextlib import contextmanager

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import PODS

from .conftest import GPU_LABELS, L4

pytestmark = pytest.mark.lab
NODE_POOL = "cloud.google.com/gke-nodepool"
GPU_IMAGE, CPU_IMAGE = "registry.example/p/vllm-gemma4-gpu:1", "registry.example/p/vllm-gemma4-cpu:1"
PROBE = {"readinessProbe": {"httpGet": {"path": "/health", "port": 8000}}}
GPU = {"name": "gpu", "deviceClassName": "gpu.nvidia.com"}
CPU = {"name": "cpu", "deviceClassName": "dra.cpu", "capacity": {"requests": {"dra.cpu/cpu": "12"}}}


@pytest.fixture(scope="module")
def hardware(machines):
    """One GPU node and one CPU node with their devices: (claim template, node selector) of each."""
    gpu = machines.pool("g2-standard-8", accelerators=[L4], labels=GPU_LABELS)
    cpu = machines.pool()
    machines.installer({NODE_POOL: gpu})
    machines.driver("gpu.nvidia.com", {NODE_POOL: gpu})
    machines.driver("dra.cpu", {NODE_POOL: cpu})
    for pool, driver in ((gpu, "gpu.nvidia.com"), (cpu, "dra.cpu")):
        (node,) = machines.wait_nodes(pool, 1)
        machines.wait_slices(node["metadata"]["name"], driver)
    return {
        "gpu": (machines.template(GPU), {NODE_POOL: gpu}),
        "cpu": (machines.template(CPU), {NODE_POOL: cpu}),
    }


def ready(machines, name):
    conditions = machines.seen_pod(name).get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def waiting_reason(machines, name):
    statuses = machines.seen_pod(name).get("status", {}).get("containerStatuses", [{}])
    return statuses[0].get("state", {}).get("waiting", {}).get("reason", "")


def kubectl(machines, lab_binaries, *words):
    return [str(lab_binaries["kubectl"]), "--kubeconfig", str(machines.plane.kubeconfig), *words]


@contextmanager
def forwarded(machines, lab_binaries, pod):
    """Reach a pod as a user does: kubectl port-forward to a port of kubectl's choice."""
    command = [
        lab_binaries["kubectl"],
        "--kubeconfig",
        machines.plane.kubeconfig,
        "port-forward",
        pod,
        ":8000",
    ]
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            yield f"http://{line.split()[2]}"
        finally:
            process.terminate()


def post(url, body):
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read().decode()


@pytest.mark.parametrize("kind", ["gpu", "cpu"])
def test_pod_answers_with_the_hardware_it_got(machines, lab_binaries, hardware, kind):
    template, select = hardware[kind]
    image, name = {"gpu": (GPU_IMAGE, "NVIDIA L4"), "cpu": (CPU_IMAGE, "12 vCPUs")}[kind]
    pod = machines.pod(template, image, select, PROBE)
    machines.until(lambda: ready(machines, pod), f"{pod} ready")
    with forwarded(machines, lab_binaries, pod) as url:
        body = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 6}
        assert name in json.loads(post(url, body))["choices"][0]["message"]["content"]
        streamed = post(url, body | {"stream": True}).strip().split("\n\n")
        assert streamed[-1] == "data: [DONE]"
        assert len(streamed) == 1 + 6 + 2  # the role, six tokens, the end of the answer and of the stream
        with urllib.request.urlopen(f"{url}/metrics", timeout=5) as answer:
            assert 'vllm:generation_tokens_total{model_name="google/gemma-4-E2B-it"' in answer.read().decode()
    command = kubectl(machines, lab_binaries, "logs", pod)
    logs = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Application startup complete." in logs


def test_gpu_image_on_cpus_dies_visibly(machines, hardware):
    template, select = hardware["cpu"]
    pod = machines.pod(template, GPU_IMAGE, select, PROBE)
    # The CPUs of the node may be held by the pod before; it leaves first.
    for other in machines.ask(lambda: [each["metadata"]["name"] for each in pods_on(machines, select)]):
        if other != pod:
            machines.kube.delete(PODS, other, "default")
    machines.until(lambda: waiting_reason(machines, pod) == "CrashLoopBackOff", "a crash loop")
    last = machines.ask(lambda: machines.seen_pod(pod))["status"]["containerStatuses"][0]["lastState"]
    assert last["terminated"]["message"] == "RuntimeError: Failed to infer device type"
    machines.until(lambda: restarts(machines, pod) >= 3, "three restarts")


def restarts(machines, pod):
    return machines.seen_pod(pod)["status"]["containerStatuses"][0]["restartCount"]


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        pytest.param("gpu", ["driver gpu.nvidia.com on node", "published, devices: 1"], id="gpu-driver"),
        pytest.param("cpu", ["driver dra.cpu on node", "published, devices: 1"], id="cpu-driver"),
    ],
)
def test_log_of_a_driver_says_what_it_published(machines, lab_binaries, hardware, select, expected):
    _unused, labels = hardware[select]
    (node,) = machines.nodes(labels[NODE_POOL])
    (pod,) = [
        each["metadata"]["name"]
        for each in machines.store.all(PODS)
        if each["spec"].get("nodeName") == node["metadata"]["name"]
        and each["spec"]["containers"][0]["name"] in ("gpus", "dracpu")
    ]
    command = kubectl(machines, lab_binaries, "logs", "-n", "kube-system", pod)
    log = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert all(words in log for words in expected), log


def test_log_of_any_other_pod_says_that_there_is_none(machines, lab_binaries, hardware):
    pod = machines.pod(select=hardware["cpu"][1])
    machines.until(lambda: ready(machines, pod), f"{pod} ready")
    command = kubectl(machines, lab_binaries, "logs", pod)
    log = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert log.startswith("This container is not run")


def pods_on(machines, select):
    return [
        pod
        for pod in machines.store.all(PODS)
        if pod["spec"].get("nodeSelector") == select and pod["metadata"]["namespace"] == "default"
    ]
