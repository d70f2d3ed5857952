# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ten thousand slices of eight devices verified, every device held against an attribute and a capacity."""

from __future__ import annotations

import json

from .api_answers import k8s_info, kubectl_and_jq, module, served

SLICES, DEVICES = 10_000, 8
LABELS = {"pool": "gpu"}
EXPECTED = {
    "driver": "gpu.nvidia.com",
    "node_selector": LABELS,
    "devices_exact": DEVICES,
    "attributes": [{"name": "type", "type": "string", "value": "gpu"}],
    "capacity": {"memory": "20Gi"},
    "count": "free",
}
PATH = "/apis/resource.k8s.io/v1/resourceslices"
# Nodes with another number of devices of the type; no pools, generations, claims, taints or missing nodes.
JQ = (
    '[.items[] | select(.spec.driver == "gpu.nvidia.com") | {node: .spec.nodeName, '
    'count: [.spec.devices[] | select(.attributes.type.string == "gpu" and '
    '.capacity.memory.value == "23034Mi")] | length}] '
    "| {slices: length, wrong: map(select(.count != 8)) | length}"
)


def slice_of(number: int) -> dict:
    name = f"node-{number}"
    device = {
        "attributes": {
            "type": {"string": "gpu"},
            "uuid": {"string": f"GPU-{number}"},
            "productName": {"string": "NVIDIA L4"},
        },
        "capacity": {"memory": {"value": "23034Mi"}},
    }
    return {
        "metadata": {"name": f"{name}-gpu", "uid": f"uid-{number}", "resourceVersion": "1"},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{index}", **device} for index in range(DEVICES)],
        },
    }


def node(number: int) -> dict:
    return {
        "metadata": {"name": f"node-{number}", "labels": LABELS},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def test_slices_verified(measured):
    numbers = range(SLICES)
    with served(
        resourceslices=[slice_of(each) for each in numbers], nodes=[node(each) for each in numbers]
    ) as url:
        ours = module("resource_slice_verify", url, expectations=[EXPECTED])
        jq = kubectl_and_jq(url, PATH, JQ)
        info = k8s_info(url, "ResourceSlice", "resource.k8s.io/v1")
    result = ours["result"]
    assert (result["slices"], result["failed"]) == (SLICES, False)
    assert json.loads(jq.said) == {"slices": SLICES, "wrong": 0}
    assert len(json.loads(info.said)["resources"]) == SLICES
    seconds, megabytes = round(ours["seconds"], 2), round(ours["megabytes"])
    measured(
        "10,000 slices verified",
        seconds,
        "s",
        budget=4,
        baseline="kubernetes.core.k8s_info, reading only",
        baseline_value=round(info.seconds, 2),
    )
    measured(
        "10,000 slices verified, beside jq",
        seconds,
        "s",
        budget=4,
        baseline="kubectl and jq, counting devices only",
        baseline_value=round(jq.seconds, 2),
    )
    measured(
        "10,000 slices verified, memory",
        megabytes,
        "MB",
        budget=100,
        baseline="kubernetes.core.k8s_info, reading only",
        baseline_value=round(info.megabytes),
    )
