# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role vllm: what it refuses before it writes anything, and its entry point ``verify``."""

from __future__ import annotations

import base64
import functools

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.alternatives import plan
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import DEPLOYMENTS, SECRETS
from ansible_collections.inference.dra.tests.integration.role_play import play_role

pytestmark = pytest.mark.lab
TOKEN = "hf_a-token-that-must-not-show"


def planned(image: str = "example.com/vllm-cpu:1") -> dict:
    alternative = {
        "name": "cpu",
        "device_class": "dra.cpu",
        "capacity": {"dra.cpu/cpu": "12"},
        "image": {"reference": image},
    }
    return plan([alternative]).as_dict()


@pytest.fixture
def play(kubeconfig, namespace):
    """Return a function that runs an entry point of the role in a namespace of its own."""
    return functools.partial(play_role, kubeconfig, "vllm", vllm_namespace=namespace, vllm_pod_security="")


@pytest.fixture
def secret(api, namespace):
    """Return a function that puts a value into the Secret that somebody else makes."""

    def put(key: str) -> None:
        data = {key: base64.b64encode(TOKEN.encode()).decode()}
        api.create(SECRETS, {"metadata": {"name": "hf-secret"}, "data": data}, namespace)

    return put


def deployments(api, namespace) -> list[str]:
    return [each["metadata"]["name"] for each in api.list(DEPLOYMENTS, namespace)]


@pytest.mark.parametrize(
    "image", ["example.com/vllm-cpu", "example.com/vllm-cpu:latest"], ids=["no-tag", "latest"]
)
def test_an_image_that_is_not_pinned_is_refused_by_name(play, api, namespace, image):
    status, said = play("main", vllm_plan=planned(image), vllm_token=TOKEN)
    assert status == 2, said
    assert f"{image} names no fixed tag and no digest" in said
    assert "--tags container_images" in said
    assert deployments(api, namespace) == []
    assert "hf-secret" not in [each["metadata"]["name"] for each in api.list(SECRETS, namespace)]


@pytest.mark.parametrize("key", ["", "token"], ids=["C53-no-secret", "C53-another-key"])
def test_without_a_token_its_secret_has_to_be_there(play, api, namespace, secret, key):
    if key:
        secret(key)
    status, said = play("main", "-vvv", vllm_plan=planned())
    assert status == 2, said
    assert f"the Secret {namespace}/hf-secret with the key hf_api_token does not exist" in said
    assert "--from-file=hf_api_token=FILE" in said
    assert base64.b64encode(TOKEN.encode()).decode() not in said
    assert deployments(api, namespace) == []


def test_c53_a_secret_of_somebody_else_is_used_and_not_shown(play, api, namespace, secret):
    secret("hf_api_token")
    status, said = play("main", "-vvv", "--diff", vllm_plan=planned())
    assert status == 0, said
    assert deployments(api, namespace) == ["vllm-fungible"]
    assert not any(each in said for each in (TOKEN, base64.b64encode(TOKEN.encode()).decode()))


def test_verify_ends_with_an_error_while_replicas_wait(play, api, namespace):
    """Nobody says here that the image of the replica is its own, so it waits for that."""
    status, said = play("main", vllm_plan=planned(), vllm_token_secret="")
    assert status == 0, said
    status, said = play("verify", vllm_plan=planned(), vllm_verify_timeout_seconds=1)
    assert status == 2, said
    assert f"{namespace}/vllm-fungible" in said
