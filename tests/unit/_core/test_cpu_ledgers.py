# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPUs that claims hold and CPUs that pods request, on the Deployment with a GPU or else 12 CPUs."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.diagnosis import cluster_verdicts

from .dra_objects import consumer, result
from .test_diagnosis import (
    CPU,
    FUNGIBLE,
    allocated,
    cluster,
    cpus,
    fell_back,
    gpus,
    holds,
    node,
    only,
    reasons,
    waiting,
)

GPU_NODE = node("node-a", allocatable={"cpu": "8"})
CPU_NODE = node("node-c", allocatable={"cpu": "16"})
OURS = {"CpuClaimShared", "CpuPoolExhausted", "CpuRequestsExcludeNodes", "CpuRequestsMissing"}


def requesting(objects, requests, **limits):
    objects[0]["spec"]["containers"][0]["resources"] = {"requests": requests, **limits}
    return objects


def said(objects, *others):
    found = reasons(only(cluster(objects, gpus(), cpus(), *others, CPU_NODE)))
    return [each for each in found if each in OURS]


REQUESTS = {
    "C28-mirrored-on-a-gpu-node-of-8": ({"cpu": "12"}, [GPU_NODE], ["CpuRequestsExcludeNodes"]),
    "C28-mirrored-in-thousandths": ({"cpu": "12000m"}, [GPU_NODE], ["CpuRequestsExcludeNodes"]),
    "C28-fits-the-gpu-node": ({"cpu": "8"}, [GPU_NODE], []),
    "C28-one-gpu-node-is-large-enough": (
        {"cpu": "12"},
        [GPU_NODE, gpus("node-b"), node("node-b", allocatable={"cpu": "16"})],
        [],
    ),
    "C28-size-of-the-node-not-known": ({"cpu": "12"}, [node("node-a")], []),
    "C28-no-cpu-requested-and-nothing-held": ({"memory": "1Gi"}, [GPU_NODE], []),
}


@pytest.mark.parametrize(("requests", "others", "found"), REQUESTS.values(), ids=REQUESTS)
def test_requests_that_mirror_one_alternative(requests, others, found):
    assert said(requesting(waiting(**FUNGIBLE), requests), *others) == found


def test_a_limit_counts_as_a_request():
    limited = requesting(waiting(**FUNGIBLE), {}, limits={"cpu": "12"})
    assert said(limited, GPU_NODE) == ["CpuRequestsExcludeNodes"]


@pytest.mark.parametrize(
    ("requests", "found"),
    [
        pytest.param({}, ["CpuRequestsMissing"], id="C28-mirrors-nothing"),
        pytest.param({"cpu": "6"}, [], id="C28-requests-some"),
    ],
)
def test_cpus_by_claim_that_no_request_speaks_of(requests, found):
    assert said(requesting(fell_back(), requests), GPU_NODE) == found


def test_a_replica_on_a_gpu_needs_no_cpu_requests():
    assert said(allocated(result(), node="node-a", phase="Running"), GPU_NODE) == []


CONTAINERS = {
    "C28-two-containers-one-claim": ([{"name": "hardware"}], [{"name": "hardware"}], ["CpuClaimShared"]),
    "C28-by-request": (
        [{"name": "hardware", "request": "device"}],
        [{"name": "hardware", "request": "image-config"}],
        [],
    ),
    "C28-one-container": ([{"name": "hardware"}], [], []),
    "C28-a-claim-each": ([{"name": "hardware"}], [{"name": "other"}], []),
}


@pytest.mark.parametrize(("first", "second", "found"), CONTAINERS.values(), ids=CONTAINERS)
def test_one_container_for_a_claim_with_cpus(first, second, found):
    objects = requesting(fell_back(), {"cpu": "1"})
    objects[0]["spec"]["containers"][0]["resources"]["claims"] = first
    objects[0]["spec"]["containers"].append({"name": "side", "image": "s", "resources": {"claims": second}})
    assert said(objects, GPU_NODE) == found


@pytest.mark.parametrize(
    ("amounts", "found"),
    [
        pytest.param(["12"], [], id="C27-headroom"),
        pytest.param(["16"], ["CpuPoolExhausted"], id="C27-all-cpus-in-one-claim"),
        pytest.param(["8", "8"], ["CpuPoolExhausted"], id="C27-all-cpus-in-two-claims"),
        pytest.param(["8", "7"], [], id="C27-one-left"),
    ],
)
def test_no_cpu_left_for_containers_without_a_claim(amounts, found):
    shares = [
        holds(
            f"h{index}",
            {
                "request": "device/cpu",
                "driver": CPU,
                "pool": "node-c",
                "device": "cpudevnuma000",
                "shareID": f"share-{index}",
                "consumedCapacity": {"dra.cpu/cpu": amount},
            },
            consumers=[consumer(f"pod-{index}")],
        )
        for index, amount in enumerate(amounts)
    ]
    verdicts = cluster_verdicts(cluster(cpus(), CPU_NODE, *shares))
    assert [each.reason for each in verdicts] == found
    assert all(f"ResourceClaim llm/h{len(amounts) - 1}" in each.evidence for each in verdicts)
