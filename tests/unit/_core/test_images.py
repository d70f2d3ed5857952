# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which image a container must have for what was chosen, and what is wrong with what says so."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.controllers.image_configurator.image_config import (
    is_image_reference as configurator_takes,
)
from ansible_collections.inference.dra.plugins.module_utils._core.claims import Claim
from ansible_collections.inference.dra.plugins.module_utils._core.images import (
    expected_images,
    image_facts,
    image_verdicts,
    is_image_reference,
)
from ansible_collections.inference.dra.plugins.module_utils._core.pods import Pod

from .dra_objects import GATE, GPU, claim, gate_result, image_config, pod, result, status_of


def reasons(verdicts):
    return [each.reason for each in verdicts]


def gated_claim(request="device/gpu", configs=(), **fields):
    gate = gate_result()
    return claim(
        results=[result(request=request), gate],
        statuses=[status_of(gate, image_updated="True")],
        configs=configs,
        **fields,
    )


def written(field, value):
    """An ImageConfig with one field more, or other, than it should have."""
    config = image_config("img", "device/gpu")
    config["opaque"]["parameters"][field] = value
    return config


BOTH = [image_config("img-gpu", "device/gpu"), image_config("img-cpu", "device/cpu")]


@pytest.mark.parametrize(
    ("request_name", "configs", "images", "problems"),
    [
        ("device/gpu", BOTH, {"vllm": "img-gpu"}, []),
        ("device/cpu", BOTH, {"vllm": "img-cpu"}, []),
        ("device/tpu", BOTH, {}, []),
        ("device/gpu", [image_config("img", "device")], {"vllm": "img"}, []),
        ("device/gpu", [image_config("img")], {"vllm": "img"}, []),
        ("device/gpu", [image_config("img", "image-config")], {"vllm": "img"}, []),
        (
            "device/gpu",
            [image_config("a", "device/gpu"), image_config("b", "device")],
            {"vllm": "a"},
            ["ImageConfigConflict"],
        ),
        ("device/gpu", [image_config("a", "device/gpu"), image_config("a", "device")], {"vllm": "a"}, []),
        (
            "device/gpu",
            [image_config("mine", "device/gpu"), image_config("class", source="FromClass")],
            {"vllm": "mine"},
            [],
        ),
        (
            "device/gpu",
            [image_config("a", "device/gpu"), image_config("b", "device/gpu", container="side")],
            {"vllm": "a", "side": "b"},
            [],
        ),
        ("device/gpu", [image_config("", "device/gpu")], {}, ["ImageConfigInvalid"]),
        ("device/gpu", [image_config("Reg.example/VLLM", "device/gpu")], {}, ["ImageConfigInvalid"]),
        ("device/gpu", [written("apiVersion", f"{GATE}/v1")], {}, ["ImageConfigInvalid"]),
        ("device/gpu", [written("kind", "ImageConfiguration")], {}, ["ImageConfigInvalid"]),
        ("device/gpu", [written("imagePullPolicy", "Always")], {}, ["ImageConfigInvalid"]),
        ("device/gpu", [{"opaque": {"driver": GPU, "parameters": {"kind": "GpuConfig"}}}], {}, []),
        ("device/gpu", [], {}, []),
    ],
    ids=[
        "first-alternative",
        "second-alternative",
        "alternative-without-an-image",
        "for-the-whole-request",
        "without-requests",
        "for-the-gating-request",
        "two-images",
        "one-image-twice",
        "the-claim-overrides-the-class",
        "two-containers",
        "without-an-image",
        "no-image-reference",
        "another-version",
        "another-kind",
        "a-field-that-nobody-reads",
        "of-another-driver",
        "none",
    ],
)
def test_the_image_of_the_chosen_alternative(request_name, configs, images, problems):
    found = expected_images(Claim.from_api(gated_claim(request_name, configs)))
    assert (found.images, reasons(found.problems)) == (images, problems)


@pytest.mark.parametrize(
    ("image", "node", "verdicts"),
    [
        ("img-gpu", "node-a", []),
        ("img-gpu", "", []),
        ("pause", "node-a", [("error", "ImageNotSwitched")]),
        ("img-cpu", "node-a", [("error", "ImageNotSwitched")]),
        ("pause", "", [("note", "ImageNotSwitched")]),
    ],
    ids=[
        "C14-switched-and-bound",
        "C14-switched",
        "C14-condition-true-placeholder-kept",
        "C14-image-of-the-other-alternative",
        "C14-not-bound-yet",
    ],
)
def test_a_true_condition_proves_nothing_about_this_pod(image, node, verdicts):
    read = Claim.from_api(gated_claim(configs=BOTH))
    each = Pod.from_api(pod(image=image, node=node))
    found = list(image_verdicts(each, [read]))
    assert [(v.status, v.reason) for v in found] == verdicts
    (fact,) = image_facts(each, [read])
    assert (fact.expected, fact.actual, fact.is_switched) == ("img-gpu", image, not verdicts)


def test_a_container_that_the_pod_does_not_have():
    read = Claim.from_api(gated_claim(configs=[image_config("img", "device/gpu", container="server")]))
    (verdict,) = image_verdicts(Pod.from_api(pod()), [read])
    assert (verdict.status, verdict.reason) == ("error", "ImageConfigContainerMissing")
    assert "'server'" in verdict.observed


@pytest.mark.parametrize(
    "image",
    [
        "vllm",
        "r.example:5000/a/b_c:1.0",
        "r.example/a@sha256:" + "0" * 64,
        "A/b",
        "a b",
        "a:",
        "a//b",
        "r.example/A",
        "a@sha256:0",
        "",
    ],
)
def test_image_references_are_those_that_the_configurator_takes(image):
    assert is_image_reference(image) is configurator_takes(image)


@pytest.mark.parametrize(
    ("is_met", "found"),
    [(False, ["ImageConfigMissing"]), (True, [])],
    ids=["waits", "condition-met-otherwise"],
)
def test_a_gate_without_an_image_for_what_was_chosen(is_met, found):
    waits = claim(results=[result(), gate_result()], configs=[image_config("img", "device/cpu")])
    del waits["status"]["allocation"]["devices"]["config"]  # the scheduler copies only what was chosen
    if is_met:
        waits["status"]["devices"] = [status_of(gate_result(), image_updated="True")]
    assert reasons(expected_images(Claim.from_api(waits)).problems) == found


@pytest.mark.parametrize(
    ("config", "found"),
    [
        (image_config("img", "device/gpu"), []),
        (image_config("img", "device/gpu", container="server"), [("warning", "ImageConfigContainerMissing")]),
        (image_config("a b", "device/gpu"), [("warning", "ImageConfigInvalid")]),
    ],
    ids=["right", "no-such-container", "no-image-reference"],
)
def test_what_a_claim_will_ask_for_is_judged_before_its_allocation(config, found):
    wanted = claim()
    wanted["spec"]["devices"]["config"] = [config]
    verdicts = image_verdicts(Pod.from_api(pod()), [Claim.from_api(wanted)])
    assert [(each.status, each.reason) for each in verdicts] == found


def test_nothing_is_expected_before_the_allocation():
    assert expected_images(Claim.from_api(claim())).images == {}


def test_init_containers_have_images_too():
    published = pod(image="img-gpu")
    published["spec"]["initContainers"] = [{"name": "fetch", "image": "pause"}]
    read = Claim.from_api(
        gated_claim(configs=[*BOTH, image_config("loader", "device/gpu", container="fetch")])
    )
    facts = image_facts(Pod.from_api(published), [read])
    assert {fact.container: fact.is_switched for fact in facts} == {"vllm": True, "fetch": False}


# Selection
