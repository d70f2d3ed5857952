# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The admission policy refuses what the controller would refuse, and nothing of other drivers."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.inference.dra.controllers.image_configurator.contract import Gate
from ansible_collections.inference.dra.controllers.image_configurator.image_config import (
    Refused,
    parse_image_config,
)
from ansible_collections.inference.dra.controllers.image_configurator.manifests import render
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIM_TEMPLATES,
    CLAIMS,
    KubernetesError,
)

pytestmark = pytest.mark.lab
GATE = Gate()
RIGHT = {
    "apiVersion": GATE.config_api,
    "kind": "ImageConfig",
    "containerName": "vllm",
    "image": "r.example/a:1",
}


@pytest.fixture(scope="module")
def policy(api, kit):
    objects = render("admission.yaml.j2")
    kit.install(api, objects)
    wrong = kit.claim_spec([kit.opaque({**RIGHT, "image": 5})])
    # A new policy takes effect a moment later; each question is a request, so this does not spin.
    assert any(refused(api, wrong) for _unused in range(5000))
    yield
    for obj in objects:
        api.delete(kit.resource_of(obj), obj["metadata"]["name"])


def refused(api, spec, *, template=False):
    """Return why the API server refuses a claim or a template with this spec; empty where it does not."""
    resource, whole = (CLAIM_TEMPLATES, {"spec": spec}) if template else (CLAIMS, spec)
    try:
        api.create(resource, {"metadata": {"name": "x"}, "spec": whole}, "default", dry_run=True)
    except KubernetesError as error:
        assert "ValidatingAdmissionPolicy" in error.message, error
        return error.message
    return ""


BROKEN = {
    "not-an-image-config": {},
    "version": {**RIGHT, "apiVersion": f"{GATE.driver}/v2"},
    "kind": {**RIGHT, "kind": "Other"},
    "misspelt": {**RIGHT, "imagee": "a:1"},
    "no-container": {k: v for k, v in RIGHT.items() if k != "containerName"},
    "container-null": {**RIGHT, "containerName": None},
    "container-number": {**RIGHT, "containerName": 7},
    "no-image": {k: v for k, v in RIGHT.items() if k != "image"},
    "image-object": {**RIGHT, "image": {}},
    "image-variable": {**RIGHT, "image": "${REPO_URI}/vllm:latest"},
}


@pytest.mark.usefixtures("policy")
@pytest.mark.parametrize("template", [False, True], ids=["claim", "template"])
@pytest.mark.parametrize("name", BROKEN)
def test_broken_configurations(api, kit, name, template):
    assert refused(api, kit.claim_spec([kit.opaque(BROKEN[name])]), template=template)


@pytest.mark.usefixtures("policy")
@pytest.mark.parametrize("template", [False, True], ids=["claim", "template"])
@pytest.mark.parametrize(
    ("requests", "conflict"),
    [
        pytest.param((["accel/gpu"], ["accel/cpu"]), False, id="two-alternatives"),
        pytest.param((["accel/gpu"], ["accel/gpu"]), True, id="one-alternative"),
        pytest.param((["accel"], ["accel/gpu"]), True, id="request-and-its-alternative"),
        pytest.param(([], ["accel/gpu"]), True, id="all-and-one"),
        pytest.param((["accel"], ["image"]), False, id="other-requests"),
    ],
)
def test_conflicts(api, kit, requests, conflict, template):
    config = [kit.image_config("vllm", f"a:{n}", names) for n, names in enumerate(requests)]
    assert bool(refused(api, kit.claim_spec(config), template=template)) is conflict


@pytest.mark.usefixtures("policy")
@pytest.mark.parametrize(
    "config",
    [
        pytest.param([], id="none"),
        pytest.param([("gpu.nvidia.com", {})], id="empty-parameters"),
        pytest.param([("gpu.nvidia.com", {**RIGHT, "image": 5})], id="looks-like-ours"),
        pytest.param([("gpu.nvidia.com", {"a": [None, {"b": {}}]}), (GATE.driver, RIGHT)], id="beside-ours"),
    ],
)
def test_other_drivers_are_not_held_up(api, kit, config):
    entries = [kit.opaque(parameters, driver=driver) for driver, parameters in config]
    for template in (False, True):
        assert not refused(api, kit.claim_spec(entries), template=template)


@pytest.mark.usefixtures("policy")
def test_claims_without_devices_pass(api):
    for template in (False, True):
        assert not refused(api, {"devices": {}}, template=template)


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.text(max_size=8)
    | st.lists(st.integers(0, 1), max_size=2)
    | st.sampled_from(
        ["a", "a:1", "A", "a:", "h:1/a", "a/", "r.example/a@sha256:" + "0" * 64, "a__b", "a\n", "vllm", "-a"]
    )
)


@pytest.mark.usefixtures("policy")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changed=st.dictionaries(st.sampled_from([*RIGHT, "extra"]), VALUES, min_size=1, max_size=2),
    dropped=st.sets(st.sampled_from(sorted(RIGHT)), max_size=1),
)
def test_policy_and_controller_agree(api, kit, changed, dropped):
    parameters = {k: v for k, v in (RIGHT | changed).items() if k not in dropped}
    try:
        parse_image_config(parameters, GATE)
        wrong = False
    except Refused:
        wrong = True
    assert bool(refused(api, kit.claim_spec([kit.opaque(parameters)]))) is wrong, parameters
