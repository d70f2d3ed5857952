# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fungibility tutorial (GKE, GPU and CPU) typed into a shell: real gcloud, kubectl and helm, one lab.

One story: each test goes on where the one before it ended. A step says what it corrects or replaces;
a step without such a remark is the tutorial's own command line.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    COMPUTE_CLASSES,
    DAEMON_SETS,
    DEVICE_CLASSES,
    EVENTS,
    NODES,
    PODS,
    SECRETS,
    SLICES,
)
from ansible_collections.inference.dra.tests.watched import seen

from .guide_a import (
    CLOUD,
    DRIVERS,
    GATE,
    VARIABLES,
    WORKLOAD,
    Shell,
    lay_out,
)
from .labs import running_lab

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed on this machine"),
]

LABEL = "-l app=vllm-fungible"


@pytest.fixture(scope="module")
def shell(lab_binaries, tmp_path_factory):
    home = tmp_path_factory.mktemp("guide")
    lay_out(home)
    with running_lab("guide-a") as lab:
        found = Shell(lab, home)
        for assignment in filter(None, VARIABLES):
            found.remember(assignment)
        yield found


def named(steps):
    return [pytest.param(step.line, id=step.name) for step in steps]


@pytest.mark.parametrize("line", named(CLOUD))
def test_01_google(shell, line):
    shell.type(line)


@pytest.mark.parametrize("line", named(DRIVERS))
def test_02_drivers(shell, line):
    shell.type(line)


def test_03_slices_of_the_nodes_there_are(shell):
    def gpu_and_gate(found):
        return {each["spec"]["driver"] for each in found} == {"gpu.nvidia.com", GATE}

    slices = seen(shell.api, SLICES, gpu_and_gate, "slices of one GPU node and of the gating device")
    gate = next(each["spec"]["devices"][0] for each in slices if each["spec"]["driver"] == GATE)
    assert gate["bindingConditions"] == [f"{GATE}/image-updated"]
    assert gate["bindingFailureConditions"] == [f"{GATE}/image-update-failed"]


@pytest.mark.parametrize("line", named(WORKLOAD))
def test_04_workload(shell, line):
    shell.type(line)


def test_05_first_replica_on_the_gpu(shell):
    shell.type(f"kubectl wait --for=condition=Ready pod {LABEL} --timeout=120s")
    (pod,) = shell.replicas()
    assert "-gpu-pool-" in pod["spec"]["nodeName"]
    shell.remember(
        f"CLAIM_NAME=$(kubectl get pod {LABEL} -o"
        " jsonpath='{.items[0].status.resourceClaimStatuses[0].resourceClaimName}')"
    )
    results = shell.type(
        "kubectl get resourceclaim ${CLAIM_NAME} -o jsonpath='{.status.allocation.devices.results}' | jq ."
    )
    assert {each["driver"] for each in json.loads(results)} == {"gpu.nvidia.com", GATE}
    devices = shell.type("kubectl get resourceclaim ${CLAIM_NAME} -o jsonpath='{.status.devices}' | jq .")
    (device,) = json.loads(devices)
    assert (device["device"], device["driver"], device["pool"]) == ("image-configurator", GATE, "all-nodes")
    said = {each["type"]: (each["status"], each["reason"]) for each in device["conditions"]}
    assert said[f"{GATE}/image-updated"] == ("True", "ImagePatched")
    image = shell.type(f"kubectl get pods {LABEL} -o jsonpath='{{.items[0].spec.containers[0].image}}'")
    assert image == f"{shell.environment['REPO_URI']}/vllm-gemma4-gpu:latest"
    shell.remember(f"POD_1=$(kubectl get pods {LABEL} -o jsonpath='{{.items[0].metadata.name}}')")
    shell.type("kubectl describe pod ${POD_1} | grep ImagePatched")


def test_06_second_replica_grows_the_gpu_pool(shell):
    shell.type("kubectl scale deployment vllm-fungible --replicas=2 --namespace=${NAMESPACE}")
    shell.type("kubectl rollout status deployment/vllm-fungible --timeout=120s")
    assert pools_of(shell.replicas()) == {"gpu-pool": 2}


def test_07_an_empty_cpu_pool_does_not_grow(shell):
    """Nothing predicts slices of dra.cpu: the tutorial's step ends here; the next test corrects it."""
    shell.type("kubectl scale deployment vllm-fungible --replicas=4 --namespace=${NAMESPACE}")

    def both_refused(events):
        return len({e["involvedObject"]["name"] for e in events if e["reason"] == "NotTriggerScaleUp"}) >= 2

    seen(shell.api, EVENTS, both_refused, "two pods that no pool can help", namespace="default")
    assert not [node for node in shell.api.list(NODES) if "-cpu-pool-" in node["metadata"]["name"]]


def test_08_with_one_node_it_does(shell):
    """Corrected: the pool is given its first node by hand; the autoscaler then knows what one has."""
    shell.type(
        "gcloud container clusters resize ${CLUSTER_NAME} --node-pool=cpu-pool --num-nodes=1"
        " --location=${LOCATION}"
    )
    shell.type("kubectl rollout status deployment/vllm-fungible --timeout=180s")
    assert pools_of(shell.replicas()) == {"gpu-pool": 2, "cpu-pool": 2}


def pools_of(pods) -> Counter[str]:
    return Counter("gpu-pool" if "-gpu-pool-" in p["spec"]["nodeName"] else "cpu-pool" for p in pods)


def test_09_images_follow_the_hardware(shell):
    columns = "NAME:.metadata.name,NODE:.spec.nodeName,IMAGE:.spec.containers[0].image,STATUS:.status.phase"
    table = shell.type(f"kubectl get pods {LABEL} -o custom-columns={columns}").splitlines()
    rows = [line.split() for line in table[1:]]
    uri = shell.environment["REPO_URI"]
    assert sorted((node.split("-")[-4], image, status) for _unused, node, image, status in rows) == [
        *[("cpu", f"{uri}/vllm-gemma4-cpu:latest", "Running")] * 2,
        *[("gpu", f"{uri}/vllm-gemma4-gpu:latest", "Running")] * 2,
    ]
    consumed = [
        result.get("consumedCapacity")
        for claim in shell.api.list(CLAIMS, "default")
        for result in claim["status"]["allocation"]["devices"]["results"]
        if result["driver"] == "dra.cpu"
    ]
    assert consumed == [{"dra.cpu/cpu": "12"}] * 2
    logs = shell.type(f"kubectl logs {LABEL} --prefix=true --tail=50")
    assert logs.count("Automatically detected platform cuda.") == 2
    assert logs.count("Automatically detected platform cpu.") == 2


def test_10_every_replica_and_the_service_answer(shell):
    """Corrected: kubectl chooses the local port; 8000 to 8002 may be taken on this machine."""
    text = "Explain workload fungibility in Kubernetes in two sentences."
    message = {"role": "user", "content": text}
    body = {"model": "google/gemma-4-E2B-it", "messages": [message], "max_tokens": 20}
    names = [f"pod/{pod['metadata']['name']}" for pod in shell.replicas()]
    for target in ("svc/vllm-service", *names):
        answer = shell.post(target, {**body, "temperature": 0.7})
        assert answer["choices"][0]["message"]["content"], target
        assert answer["usage"]["completion_tokens"] == 20, target


def test_11_cleaned_up(shell):
    shell.type("gcloud container clusters delete ${CLUSTER_NAME} --location=${LOCATION}")
    assert shell.type("gcloud container clusters list") == ""
    for kind in (NODES, PODS, CLAIMS, SLICES, DEVICE_CLASSES, DAEMON_SETS, COMPUTE_CLASSES, SECRETS):
        assert [each["metadata"]["name"] for each in shell.api.list(kind)] == []
