# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Five thousand pods with claims diagnosed: four run on GPUs for each that waits for one."""

from __future__ import annotations

import json

from ansible_collections.inference.dra.tests.unit._core.dra_objects import (
    claim,
    consumer,
    device,
    owned_by,
    pod,
    resource_slice,
    result,
)

from .api_answers import kubectl_and_jq, module, served

PODS, NODES, DEVICES = 5_000, 500, 8
GPU = "gpu.nvidia.com"
JQ = (
    "[.items[] | select(.spec.nodeName == null) | [.status.conditions[]? | "
    'select(.type == "PodScheduled")][0].message] | {pending: length, texts: unique | length}'
)
T1 = f"0/{NODES} nodes are available: {NODES} cannot allocate all claims."


def a_pod(number):
    """Return a pod and its claim, allocated as long as there are devices."""
    name, index = f"vllm-{number}", number // DEVICES
    node = f"node-{index}" if index < NODES else ""
    entry = {"name": "hardware", "resourceClaimName": f"{name}-hardware"}
    waiting = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": T1}
    given = result(f"gpu-{number % DEVICES}", pool=node)
    return pod(
        name,
        node=node,
        phase="Running" if node else "Pending",
        generated=[entry],
        status={} if node else {"conditions": [waiting]},
    ), claim(
        entry["resourceClaimName"],
        results=[given] if node else (),
        node=node,
        consumers=[consumer(name)] if node else (),
        owner=owned_by(name),
        pod_claim="hardware",
    )


def a_node(number):
    return {"metadata": {"name": f"node-{number}", "labels": {}}, "status": {"allocatable": {"cpu": "8"}}}


def a_class(name):
    return {
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{name}'"}}]},
    }


def test_pods_diagnosed(measured):
    pairs = [a_pod(number) for number in range(PODS)]
    slices = [
        resource_slice(
            f"s-{number}",
            pool=f"node-{number}",
            node=f"node-{number}",
            devices=[
                device(f"gpu-{each}", attributes={"type": {"string": "gpu"}}) for each in range(DEVICES)
            ],
        )
        for number in range(NODES)
    ]
    gate = "image-configurator.x-k8s.io"
    classes = [a_class(each) for each in (GPU, "dra.cpu", gate)]
    slices.append(
        resource_slice(
            "gate",
            driver=gate,
            pool="all",
            node=None,
            allNodes=True,
            devices=[device("gate", allowMultipleAllocations=True)],
        )
    )
    with served(
        pods=[each for each, _unused in pairs],
        resourceclaims=[each for _unused, each in pairs],
        resourceslices=slices,
        nodes=[a_node(number) for number in range(NODES)],
        deviceclasses=classes,
    ) as url:
        ours = module("dra_diagnosis", url, namespace="llm")
        jq = kubectl_and_jq(url, "/api/v1/namespaces/llm/pods", JQ)
    found = ours["result"]["pods"]
    waiting = [each["verdicts"][0]["reason"] for each in found if each["state"] == "pending"]
    assert (len(found), len(waiting)) == (PODS, PODS - NODES * DEVICES)
    assert set(waiting) == {"CapacityExhausted"}
    assert json.loads(jq.said) == {"pending": len(waiting), "texts": 1}
    measured(
        "5,000 pods diagnosed",
        round(ours["seconds"], 2),
        "s",
        budget=8,
        baseline="kubectl and jq, the scheduler's one text only",
        baseline_value=round(jq.seconds, 2),
    )
