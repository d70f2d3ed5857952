# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes in an inventory are named with their fix, and what is right is left in peace."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.alternatives import plan
from ansible_collections.inference.dra.plugins.module_utils._core.inventory_mistakes import (
    claim_requests,
    inventory_mistakes,
)

ALTERNATIVES = [
    {
        "name": "gpu",
        "device_class": "gpu.nvidia.com",
        "node_pool": {
            "name": "gpu-pool",
            "machine_type": "g2-standard-8",
            "accelerator": "nvidia-l4",
            "max_nodes": 2,
        },
        "image": {"name": "vllm-gpu"},
        "selectors": ["device.driver == 'gpu.nvidia.com'"],
    },
    {
        "name": "cpu",
        "device_class": "dra.cpu",
        "capacity": {"dra.cpu/cpu": "12"},
        "node_pool": {"name": "cpu-pool", "machine_type": "n2-standard-16", "max_nodes": 2},
        "image": {"name": "vllm-cpu"},
    },
]
CPU_IMAGE = "registry.k8s.io/dra-driver-cpu/dra-driver-cpu"


VLLM = "docker.io/vllm/vllm-openai"


def with_pool(index: int, **changes) -> list[dict]:
    changed = copy.deepcopy(ALTERNATIVES)
    changed[index]["node_pool"] |= changes
    return changed


def with_image(reference: str) -> list[dict]:
    changed = copy.deepcopy(ALTERNATIVES)
    changed[0]["image"] = {"reference": reference}
    return changed


def tag_alone(driver: str, tag: str) -> dict:
    """Return a chart as guides set it: the tag of its own image, and nothing else."""
    return {driver: {"version": "0.5.0", "values": {"image": {"tag": tag}}}}


def chart(version: str = "0.2.0", tag: str = "v0.2.0", repository: str = CPU_IMAGE) -> dict:
    return {"dra.cpu": {"version": version, "values": {"image": {"repository": repository, "tag": tag}}}}


@pytest.mark.parametrize(
    ("inventory", "said"),
    [
        ({"values": {"inference_token": "HUGGING_FACE_TOKEN"}}, "inference_token: found the placeholder"),
        (
            {"values": {"inference_project": "<project>"}},
            "inference_project: found the placeholder '<project>'",
        ),
        ({"values": {"inference_project": "PROJECT_ID"}}, "inference_project: found the placeholder"),
        (
            {"values": {"inference_image_registry": "us-docker.pkg.dev/<project>/images"}},
            "inference_image_registry: found the placeholder '<project>'",
        ),
        ({"charts": chart(tag="0.2.0")}, "'v0.2.0' is meant"),
        ({"charts": chart(version="v0.2.0")}, "'0.2.0' is meant"),
        (
            {"images": {"noop_image": f"{CPU_IMAGE}:0.2.0"}},
            f"noop_image: found the tag '0.2.0' of {CPU_IMAGE}",
        ),
        (
            {"charts": tag_alone("gpu.nvidia.com", "0.5.0")},
            "image of the chart for gpu.nvidia.com: found the tag '0.5.0'; 'v0.5.0' is meant",
        ),
        ({"charts": tag_alone("dra.cpu", "0.2.0")}, "chart for dra.cpu: found the tag '0.2.0'; 'v0.2.0'"),
        (
            {"bases": {"gpu_base": f"{VLLM}:0.29.0"}},
            f"gpu_base: found the tag '0.29.0' of {VLLM}; 'v0.29.0' is meant",
        ),
        ({"bases": {"base": "vllm/vllm-openai-cpu:0.29.0"}}, f"found the tag '0.29.0' of {VLLM}-cpu"),
        ({"bases": {"base": f"{VLLM}:0.29.0-cu129"}}, "'v0.29.0-cu129' is meant"),
        ({"alternatives": with_image(f"{VLLM}:0.29.0")}, "image of gpu: found the tag '0.29.0'"),
        (
            {"settings": {"image_references": {"cpu": f"{CPU_IMAGE}:0.2.0"}}},
            "image of cpu: found the tag '0.2.0'",
        ),
        ({"alternatives": with_pool(1, name="gpu-pool")}, "alternatives[0] has this pool"),
        (
            {"alternatives": with_pool(0, labels={"cloud.google.com/compute-class": "other"})},
            "the plan sets it to 'fungible-gpu-cpu'",
        ),
        (
            {"names": ["inference_pool"], "removed": {"inference_pool": "inference_pools"}},
            "use inference_pools",
        ),
        (
            {"names": ["inference_pool"], "removed": {"inference_pool": ""}},
            "inference_pool: nothing reads it",
        ),
    ],
    ids=[
        "token-placeholder",
        "project-placeholder",
        "guide-placeholder",
        "placeholder-inside",
        "image-tag-without-v",
        "chart-version-with-v",
        "image-reference-without-v",
        "gpu-tag-alone-without-v",
        "cpu-tag-alone-without-v",
        "base-without-v",
        "base-at-docker-hub-without-v",
        "base-variant-without-v",
        "image-of-an-alternative-without-v",
        "image-reference-of-an-alternative-without-v",
        "two-alternatives-one-pool",
        "class-contradicts-label",
        "removed-variable",
        "removed-without-successor",
    ],
)
def test_mistake(inventory, said):
    (mistake,) = inventory_mistakes({"alternatives": ALTERNATIVES, **inventory})
    assert said in mistake


@pytest.mark.parametrize(
    "inventory",
    [
        {},
        {"values": {"inference_token": "", "inference_project": "acme-prod-1", "other": None}},
        {"charts": chart()},
        {"charts": chart(repository="example.com/cpu", tag="0.2.0")},
        {"charts": {"noop": {"version": "0.1.0", "values": {}}}},
        {"charts": tag_alone("gpu.nvidia.com", "v0.5.0")},
        {"charts": tag_alone("noop", "0.1.0")},
        {"alternatives": with_image(f"{VLLM}:v0.29.0")},
        {"alternatives": with_image(f"{VLLM}:0.29.0@sha256:{'a' * 64}")},
        {"alternatives": with_image("example.com/vllm/vllm-openai:0.29.0")},
        {"images": {"image": f"{CPU_IMAGE}@sha256:{'a' * 64}", "other": {"repository": "", "tag": ""}}},
        {"names": ["inference_pools"], "removed": {"inference_pool": "inference_pools"}},
    ],
    ids=[
        "plan",
        "values",
        "chart",
        "image of another registry",
        "chart without image",
        "tag alone",
        "tag alone of a chart of one's own",
        "image of an alternative",
        "digest beside a tag",
        "mirror with tags of its own",
        "digest",
        "present name",
    ],
)
def test_nothing_wrong(inventory):
    assert inventory_mistakes({"alternatives": ALTERNATIVES, **inventory}) == []


BUILDS = {
    "engine": ({"engine": "buildah"}, "container_images_engine: found 'buildah'; one of docker"),
    "no-tag": ({"bases": {"base": "vllm/vllm-openai"}}, "base: found 'vllm/vllm-openai'; name a"),
    "latest": ({"bases": {"base": "vllm/vllm-openai:latest"}}, "name a version or a digest"),
    "no-reference": ({"bases": {"base": "<base>"}}, "base: '<base>' is no image reference"),
}


@pytest.mark.parametrize(("builds", "said"), BUILDS.values(), ids=BUILDS)
def test_mistake_in_what_is_built(builds, said):
    (mistake,) = inventory_mistakes({"alternatives": ALTERNATIVES, **builds})
    assert said in mistake


def test_nothing_wrong_with_what_is_built():
    bases = {"a": "", "b": "vllm/vllm-openai:v0.29.0", "c": f"vllm/vllm-openai@sha256:{'a' * 64}"}
    for engine in ("", "docker", "podman", "cloud_build", "append"):
        assert inventory_mistakes({"alternatives": ALTERNATIVES, "engine": engine, "bases": bases}) == []


def test_all_mistakes_come_at_once():
    inventory = {"alternatives": [], "values": {"a": "<a>"}, "charts": chart(tag="0.2.0")}
    assert len(inventory_mistakes(inventory)) == 3


def test_claim_requests_say_what_the_claims_will_ask():
    assert claim_requests(plan(ALTERNATIVES).as_dict()) == [
        {
            "name": "gpu",
            "driver": "gpu.nvidia.com",
            "device_class": "gpu.nvidia.com",
            "node_pool": "gpu-pool",
            "count": 1,
            "cpus": 0,
            "selectors": ["device.driver == 'gpu.nvidia.com'"],
        },
        {
            "name": "cpu",
            "driver": "dra.cpu",
            "device_class": "dra.cpu",
            "node_pool": "cpu-pool",
            "count": 1,
            "cpus": 12,
            "selectors": [],
        },
    ]


def test_an_alternative_without_a_pool_asks_google_for_nothing():
    without = [{key: value for key, value in each.items() if key != "node_pool"} for each in ALTERNATIVES]
    assert claim_requests(plan(without).as_dict()) == []
