# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lab costs: with the fungible service of four replicas in it, at rest, and with a thousand nodes."""

from __future__ import annotations

import json
import time
import urllib.request

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    DEPLOYMENTS,
    NODES,
    PODS,
    Kubernetes,
)
from ansible_collections.inference.dra.tests.integration.lab.conftest import CLASS, GPU_LABELS, L4
from ansible_collections.inference.dra.tests.integration.lab.guide_a import (
    DRIVERS,
    WORKLOAD,
    Shell,
    lay_out,
)
from ansible_collections.inference.dra.tests.integration.lab.labs import running_lab
from ansible_collections.inference.dra.tests.watched import seen

from .lab_cost import megabytes, processor_seconds

pytestmark = pytest.mark.lab

IDLE_SECONDS = 60
NODE_COUNT, POD_COUNT = 1_000, 5_000
FUNGIBLE = "fungible-gpu-cpu"


def pool(name: str, machine: str, count: int, **config) -> dict:
    return {
        "name": name,
        "initialNodeCount": count,
        "locations": ["us-central1-a"],
        "config": {"machineType": machine, **config},
    }


def of_class(**labels: str) -> dict:
    taint = {"key": CLASS, "value": FUNGIBLE, "effect": "NO_SCHEDULE"}
    return {"labels": {CLASS: FUNGIBLE, **labels}, "taints": [taint]}


def make_cluster(lab, *pools: dict) -> None:
    body = json.dumps({"cluster": {"name": "demo", "nodePools": list(pools)}}).encode()
    url = f"{lab.url('google')}/v1/projects/{lab.project}/locations/us-central1/clusters"
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=60).close()


def is_ready(obj: dict) -> bool:
    conditions = obj.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


@pytest.fixture(scope="module")
def demo(lab_binaries, tmp_path_factory):
    """A lab with two GPU and two CPU replicas of the fungible service."""
    home = tmp_path_factory.mktemp("demo")
    lay_out(home)
    with running_lab("bench-demo") as lab:
        gpu = {**of_class(**GPU_LABELS), "accelerators": [L4], "spot": True}
        cpu = {**of_class(**{"cloud.google.com/gke-cpu-dra-driver": "true"}), "spot": True}
        pools = (
            pool("default-pool", "e2-medium", 3),
            pool("gpu-pool", "g2-standard-8", 2, **gpu),
            pool("cpu-pool", "n2-standard-16", 2, **cpu),
        )
        make_cluster(lab, *pools)
        shell = Shell(lab, home)
        shell.environment |= {
            "KUBECONFIG": str(lab.kubeconfig),
            "NAMESPACE": "default",
            "REPO_URI": f"127.0.0.1:{lab.ports['registry']}/{lab.project}/dra-drivers",
        }
        seen(shell.api, NODES, lambda nodes: sum(map(is_ready, nodes)) == 7, "seven nodes", seconds=120)
        shell.type("kubectl create secret generic hf-secret --from-literal=hf_api_token=none")
        for step in (*DRIVERS, *WORKLOAD):
            shell.type(step.line)
        shell.type("kubectl scale deployment vllm-fungible --replicas=4")
        shell.type("kubectl rollout status deployment/vllm-fungible --timeout=170s")
        yield lab


def test_memory_of_the_demo(demo, measured):
    found = megabytes(demo)
    print({name: round(value) for name, value in found.items()})
    measured("lab with the fungible service, memory (PSS)", round(sum(found.values())), "MB", budget=1000)


def test_idle_lab(demo, measured):
    before = processor_seconds(demo)
    SystemClock().sleep(IDLE_SECONDS)
    after = processor_seconds(demo)
    spent = {name: round(after[name] - before[name], 2) for name in before}
    print(spent)
    share = 100 * sum(spent.values()) / IDLE_SECONDS
    measured("lab at rest, of one core over 60 s", round(share, 1), "%", budget=10)


def test_a_thousand_nodes(lab_binaries, measured):
    """Nodes through Google's API, pods through a Deployment; both simulated as any other."""
    with running_lab("bench-large", "--speed", "1000") as lab:
        api = Kubernetes.connect({"kubeconfig": str(lab.kubeconfig)})
        began = time.monotonic()
        make_cluster(lab, pool("large", "e2-standard-8", NODE_COUNT))
        seen(api, NODES, lambda nodes: sum(map(is_ready, nodes)) == NODE_COUNT, "the nodes", seconds=500)
        measured("1,000 nodes joined", round(time.monotonic() - began), "s")
        spent = sum(processor_seconds(lab).values())
        measured("1,000 nodes joined, processor time", round(spent), "s")
        labels = {"app": "many"}
        container = {"name": "main", "image": "registry.k8s.io/pause:3.10"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = {"replicas": POD_COUNT, "selector": {"matchLabels": labels}, "template": template}
        api.create(DEPLOYMENTS, {"metadata": {"name": "many"}, "spec": spec}, "default")
        began = time.monotonic()

        def all_run(found):
            return found and found[0].get("status", {}).get("readyReplicas") == POD_COUNT

        seen(api, DEPLOYMENTS, all_run, "the pods", namespace="default", seconds=900)
        measured("5,000 pods running on them", round(time.monotonic() - began), "s")
        spent = sum(processor_seconds(lab).values()) - spent
        measured("5,000 pods running on them, processor time", round(spent), "s")
        found = megabytes(lab)
        print({name: round(value) for name, value in found.items()})
        assert len(list(api.list(PODS, "default"))) == POD_COUNT
        measured("1,000 nodes and 5,000 pods, memory (PSS)", round(sum(found.values())), "MB")
