# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which images a list of alternatives needs built, and which references the built ones have."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.image_builds import (
    built_references,
    image_builds,
)
from ansible_collections.inference.dra.plugins.module_utils._core.strict_reader import InputError

REGISTRY = "example.com/images"
RECIPES = {
    "gpu.nvidia.com": {"context": "gpu", "build_args": {"BASE": "g:1"}},
    "dra.cpu": {"context": "cpu", "dockerfile": "Other"},
}


def alternative(
    called: str, machine_type: str = "", device_class: str = "gpu.nvidia.com", /, **image
) -> dict:
    found = {"name": called, "device_class": device_class, "image": image}
    if machine_type:
        found["node_pool"] = {"name": f"{called}-pool", "machine_type": machine_type, "max_nodes": 1}
    return found


GPU = alternative("gpu", "g2-standard-8", name="server-gpu")
CPU = alternative("cpu", "c4a-standard-16", "dra.cpu", name="server-cpu")


def test_one_build_per_image():
    others = {"controller": {"context": ".", "dockerfile": "c/Dockerfile"}}
    assert image_builds([GPU, CPU], RECIPES, REGISTRY, others) == [
        {
            "name": "example.com/images/server-gpu",
            "context": "gpu",
            "dockerfile": "Dockerfile",
            "build_args": {"BASE": "g:1"},
            "platform": "linux/amd64",
            "machine_types": ["g2-standard-8"],
        },
        {
            "name": "example.com/images/server-cpu",
            "context": "cpu",
            "dockerfile": "Other",
            "build_args": {},
            "platform": "linux/arm64",
            "machine_types": ["c4a-standard-16"],
        },
        {
            "name": "example.com/images/controller",
            "context": ".",
            "dockerfile": "c/Dockerfile",
            "build_args": {},
            "platform": "linux/amd64",
            "machine_types": [],
        },
    ]


def test_alternatives_share_an_image():
    large = alternative("large", "a3-highgpu-1g", name="server-gpu")
    (build,) = image_builds([large, GPU], RECIPES, REGISTRY)
    assert build["machine_types"] == ["a3-highgpu-1g", "g2-standard-8"]


@pytest.mark.parametrize(
    "image",
    [{"reference": "example.com/other:1"}, {"name": "server", "tag": "v1"}],
    ids=["reference", "tag"],
)
def test_an_image_of_the_users_own_is_not_built(image):
    own = alternative("gpu", **image)
    assert image_builds([own], RECIPES, REGISTRY) == []
    record = [{"name": f"{REGISTRY}/server", "reference": "r"}]
    assert built_references([own], record, REGISTRY) == {}


def test_a_stated_platform_counts_where_no_pool_says_it():
    own = alternative("gpu", name="server", platform="linux/arm64")
    assert image_builds([own], RECIPES, REGISTRY)[0]["platform"] == "linux/arm64"


@pytest.mark.parametrize(
    ("alternatives", "said"),
    [
        pytest.param(
            [alternative("nic", "", "dra.net", name="server")],
            "alternatives[0] (nic).image.name",
            id="no-recipe",
        ),
        pytest.param(
            [GPU, alternative("arm", "a4x-highgpu-4g", name="server-gpu")],
            "alternatives[1] (arm).image.name",
            id="another-architecture",
        ),
        pytest.param(
            [GPU, alternative("cpu", "n2-standard-4", "dra.cpu", name="server-gpu")],
            "another image of that name",
            id="another-driver",
        ),
    ],
)
def test_what_can_not_be_built(alternatives, said):
    with pytest.raises(InputError) as failed:
        image_builds(alternatives, RECIPES, REGISTRY)
    assert said in " ".join(problem.sentence() for problem in failed.value.problems)


def test_references_of_what_was_built():
    record = [
        {"name": f"{REGISTRY}/server-gpu", "reference": "gpu@sha256:1"},
        {"name": "elsewhere/server-cpu", "reference": "old@sha256:2"},
        {"name": f"{REGISTRY}/controller", "reference": "c@sha256:3"},
    ]
    assert built_references([GPU, CPU], record, REGISTRY) == {"gpu": "gpu@sha256:1"}
    assert built_references([GPU, CPU], [], REGISTRY) == {}
