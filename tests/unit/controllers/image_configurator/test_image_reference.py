# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which texts container runtimes take as an image reference (grammar of distribution/reference)."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.controllers.image_configurator.image_config import is_image_reference

DIGEST = "sha256:" + "0123456789abcdef" * 4

GOOD = [
    "vllm",
    "vllm:1.2",
    "library/vllm:V1_2.x-y",
    "us-central1-docker.pkg.dev/my-project/repo/vllm-gpu:latest",
    "127.0.0.1:5000/img:1",
    "[2001:db8::1]:5000/img",
    f"registry.example/a/b@{DIGEST}",
    f"registry.example/a/b:1@{DIGEST}",
    "a__b/c--d/e.f",
]
BAD = [
    "",
    " vllm",
    "vllm ",
    "vllm:",
    "vllm@",
    "vllm:-1",
    "VLLM",
    "registry.example/VLLM",
    "http://registry.example/vllm",
    "vllm//x",
    "/vllm",
    "vllm/",
    "vllm@sha256:123",
    "vllm:" + "x" * 129,
    "a/" * 130 + "b",
    "${REPO_URI}/vllm",
    "vllm:1\n",
    "a___b",
]


@pytest.mark.parametrize("text", GOOD)
def test_references(text):
    assert is_image_reference(text)


@pytest.mark.parametrize("text", BAD)
def test_no_references(text):
    assert not is_image_reference(text)
