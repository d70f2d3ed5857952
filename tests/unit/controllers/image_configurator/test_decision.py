# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is decided about recorded claims, and about every way in which they can be wrong."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.inference.dra.controllers.image_configurator.contract import Gate
from ansible_collections.inference.dra.controllers.image_configurator.decision import (
    Failure,
    Patch,
    Wait,
    allocation_id,
    decide,
)
from ansible_collections.inference.dra.controllers.image_configurator.image_config import is_image_reference

NOW = datetime(2026, 11, 30, 15, 0, tzinfo=timezone.utc)
DRIVER = Gate().driver
API = f"{DRIVER}/v1alpha1"
DIGEST = "registry.example:5000/a@sha256:" + "0123456789abcdef" * 4
RIGHT = {"apiVersion": API, "kind": "ImageConfig", "containerName": "vllm", "image": "r.example/a:1"}


def changes(decision):
    """Return path → image over all pods of a patch."""
    return {
        operation["path"]: operation["value"]
        for pod in decision.pods
        for operation in pod.operations
        if operation["path"].endswith("/image")
    }


@pytest.mark.parametrize(
    ("name", "image"),
    [("gpu", "registry.example/vllm-gpu:1"), ("cpu", "registry.example/vllm-cpu:1")],
)
def test_chosen_alternative_decides_the_image(request, name, image):
    scene = request.getfixturevalue(name)
    decision = decide(scene.claim, [scene.pod], NOW)
    assert isinstance(decision, Patch)
    assert changes(decision) == {"/spec/containers/0/image": image}
    assert decision.images == {"vllm": image}


def test_patch_is_void_where_the_pod_changed(gpu):
    (pod,) = decide(gpu.claim, [gpu.pod], NOW).pods
    preconditions = {o["path"]: o["value"] for o in pod.operations if o["path"].startswith("/metadata")}
    assert preconditions == {
        "/metadata/uid": gpu.pod["metadata"]["uid"],
        "/metadata/resourceVersion": gpu.pod["metadata"]["resourceVersion"],
    }


def test_only_its_own_entry_with_the_share_of_this_allocation(cpu):
    cpu.claim["status"]["devices"] = [{"driver": "dra.cpu", "pool": "cpu-0", "device": "numa0"}]
    (entry,) = decide(cpu.claim, [cpu.pod], NOW).devices
    assert {f: entry[f] for f in ("driver", "pool", "device", "shareID")} == {
        "driver": DRIVER,
        "pool": "all-nodes",
        "device": "image-configurator",
        "shareID": cpu.gate_result["shareID"],
    }
    by_type = {c["type"]: c["status"] for c in entry["conditions"]}
    assert by_type == {f"{DRIVER}/image-updated": "True", f"{DRIVER}/image-update-failed": "False"}
    assert {c["lastTransitionTime"] for c in entry["conditions"]} == {"2026-11-30T15:00:00Z"}


def test_device_without_share_gets_an_entry_without_share(gpu):
    del gpu.gate_result["shareID"]
    (entry,) = decide(gpu.claim, [gpu.pod], NOW).devices
    assert "shareID" not in entry


def test_two_gating_devices_in_one_claim_get_an_entry_each(gpu):
    gpu.allocation["devices"]["results"].append({**gpu.gate_result, "request": "again", "shareID": "s2"})
    decision = decide(gpu.claim, [gpu.pod], NOW)
    assert [entry["shareID"] for entry in decision.devices] == [gpu.gate_result["shareID"], "s2"]


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        pytest.param([("vllm", "a:1")], {"/spec/containers/0/image": "a:1"}, id="one-container"),
        pytest.param(
            [("vllm", "a:1"), ("proxy", "b:1")],
            {"/spec/containers/0/image": "a:1", "/spec/containers/1/image": "b:1"},
            id="two-containers",
        ),
        pytest.param([("fetch", "i:1")], {"/spec/initContainers/0/image": "i:1"}, id="init-container"),
        pytest.param([("vllm", "a:1")] * 2, {"/spec/containers/0/image": "a:1"}, id="said-twice"),
        pytest.param([("proxy", "registry.example/proxy:1")], {}, id="already-right"),
        pytest.param([("vllm", DIGEST)], {"/spec/containers/0/image": DIGEST}, id="digest"),
    ],
)
def test_configurations(gpu, configs, expected):
    gpu.configure(*configs)
    decision = decide(gpu.claim, [gpu.pod], NOW)
    assert isinstance(decision, Patch)
    assert changes(decision) == expected


def test_configuration_of_the_claim_overrides_that_of_the_class(gpu):
    gpu.configure(("vllm", "class:1"), ("proxy", "class:1"), source="FromClass").add(("vllm", "claim:1"))
    assert decide(gpu.claim, [gpu.pod], NOW).images == {"vllm": "claim:1", "proxy": "class:1"}


def test_configuration_of_another_driver_is_not_looked_at(gpu):
    gpu.add({"anything": True}, driver="gpu.nvidia.com")
    assert isinstance(decide(gpu.claim, [gpu.pod], NOW), Patch)


REFUSED = [
    pytest.param([], "ImageConfigNotFound", id="no-config"),
    pytest.param(["text"], "ImageConfigInvalid", id="parameters-text"),
    pytest.param([{}], "ImageConfigInvalid", id="parameters-empty"),
    pytest.param([{**RIGHT, "apiVersion": f"{DRIVER}/v2"}], "ImageConfigInvalid", id="other-version"),
    pytest.param([{**RIGHT, "kind": "ImagesConfig"}], "ImageConfigInvalid", id="other-kind"),
    pytest.param([{**RIGHT, "containername": "vllm"}], "ImageConfigInvalid", id="misspelt-field"),
    pytest.param([{**RIGHT, "containerName": None}], "ImageConfigInvalid", id="container-null"),
    pytest.param([{**RIGHT, "containerName": 7}], "ImageConfigInvalid", id="container-number"),
    pytest.param([{**RIGHT, "containerName": "Vllm"}], "ImageConfigInvalid", id="container-upper-case"),
    pytest.param([{**RIGHT, "image": ""}], "ImageReferenceInvalid", id="image-empty"),
    pytest.param([{**RIGHT, "image": ["a:1"]}], "ImageReferenceInvalid", id="image-list"),
    pytest.param([("vllm", "Registry/Vllm:1")], "ImageReferenceInvalid", id="image-upper-case"),
    pytest.param([("vllm", "vllm:")], "ImageReferenceInvalid", id="image-empty-tag"),
    pytest.param([("vllm", "a b")], "ImageReferenceInvalid", id="image-space"),
    pytest.param([("vllm", "${REPO_URI}/vllm")], "ImageReferenceInvalid", id="image-unexpanded-variable"),
    pytest.param([("vllm", "a:1"), ("vllm", "b:1")], "ImageConfigConflict", id="two-images"),
    pytest.param([("engine", "a:1")], "ImageConfigContainerNotFound", id="unknown-container"),
]


@pytest.mark.parametrize(("configs", "reason"), REFUSED)
def test_permanent_errors(gpu, configs, reason):
    gpu.configure(*configs)
    decision = decide(gpu.claim, [gpu.pod], NOW)
    assert isinstance(decision, Failure)
    assert decision.reason == reason
    (entry,) = decision.devices
    by_type = {c["type"]: (c["status"], c["reason"]) for c in entry["conditions"]}
    assert by_type[f"{DRIVER}/image-update-failed"] == ("True", reason)
    assert by_type[f"{DRIVER}/image-updated"] == ("False", reason)
    assert entry["conditions"][0]["message"]
    assert [pod["uid"] for pod in decision.consumers] == [gpu.pod["metadata"]["uid"]]


def test_first_error_of_the_class_is_enough(gpu):
    gpu.add({}, source="FromClass")
    assert decide(gpu.claim, [gpu.pod], NOW).reason == "ImageConfigInvalid"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    whole=st.none() | JSON,
    changed=st.dictionaries(st.sampled_from([*RIGHT, "extra"]), JSON, min_size=1),
    dropped=st.sets(st.sampled_from(sorted(RIGHT))),
)
def test_malformed_configurations_end_in_a_failure(gpu, whole, changed, dropped):
    """Any JSON in place of the parameters, of some of their fields, or with fields missing."""
    parameters = (
        whole if whole is not None else {k: v for k, v in (RIGHT | changed).items() if k not in dropped}
    )
    valid = (
        isinstance(parameters, dict)
        and parameters.keys() == RIGHT.keys()
        and (parameters["apiVersion"], parameters["kind"]) == (API, "ImageConfig")
        and parameters["containerName"] in ("vllm", "proxy", "fetch")
        and isinstance(parameters["image"], str)
        and is_image_reference(parameters["image"])
    )
    gpu.configure(parameters)
    decision = decide(gpu.claim, [gpu.pod], NOW)
    assert isinstance(decision, Patch if valid else Failure)
    if not valid:
        (entry,) = decision.devices
        assert len(entry["conditions"][0]["message"]) <= 1024


@pytest.mark.parametrize(
    ("kind", "status", "share", "expected"),
    [
        pytest.param("image-updated", "True", None, "Settled", id="served"),
        pytest.param("image-update-failed", "True", None, "Settled", id="refused"),
        pytest.param("image-updated", "False", None, None, id="entry-without-answer"),
        pytest.param("image-updated", "True", "of-an-earlier-allocation", None, id="earlier-allocation"),
    ],
)
def test_an_answer_counts_for_its_allocation_only(gpu, kind, status, share, expected):
    gpu.answer(kind, status, share)
    decision = decide(gpu.claim, [gpu.pod], NOW)
    assert isinstance(decision, Wait if expected else Patch)
    assert not expected or decision.reason == expected


def unallocated(scene):
    del scene.claim["status"]["allocation"]


def deleted(scene):
    scene.claim["metadata"]["deletionTimestamp"] = "2026-11-30T15:00:00Z"


def not_gated(scene):
    scene.gate_result["bindingConditions"] = []


def bound(scene):
    scene.pod["spec"]["nodeName"] = "gpu-0"


def terminating(scene):
    scene.pod["metadata"]["deletionTimestamp"] = "2026-11-30T15:00:00Z"


def failed(scene):
    scene.pod["status"]["phase"] = "Failed"


def unreserved(scene):
    scene.claim["status"]["reservedFor"] = []


@pytest.mark.parametrize(
    ("alter", "reason"),
    [
        (unallocated, "NotAllocated"),
        (deleted, "ClaimDeleting"),
        (not_gated, "NotGated"),
        (bound, "NoUnboundPod"),
        (terminating, "NoUnboundPod"),
        (failed, "NoUnboundPod"),
        (unreserved, "NoUnboundPod"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_nothing_to_do(gpu, alter, reason):
    alter(gpu)
    assert decide(gpu.claim, [gpu.pod], NOW) == Wait(reason)


def test_a_consumer_that_was_not_given_is_asked_for(gpu):
    decision = decide(gpu.claim, [], NOW)
    assert decision.reason == "PodNotSeen"
    assert [user["uid"] for user in decision.look_up] == [gpu.pod["metadata"]["uid"]]
    assert decide(gpu.claim, [], NOW, absent={gpu.pod["metadata"]["uid"]}) == Wait("NoUnboundPod")


@pytest.mark.parametrize("owned", [True, False], ids=["C14-joined-by-a-stranger", "C14-named-claim"])
def test_shared_claims_are_refused(gpu, owned):
    pods = [gpu.pod, gpu.another_pod()] if owned else [gpu.pod]
    if not owned:
        del gpu.claim["metadata"]["ownerReferences"]
    decision = decide(gpu.claim, pods, NOW)
    assert isinstance(decision, Failure)
    assert decision.reason == "ClaimShared"
    assert "resourceClaimTemplateName" in decision.message
    assert len(decision.consumers) == len(pods)


def test_allocations_are_told_apart(gpu):
    before = allocation_id(gpu.claim)
    gpu.gate_result["shareID"] = "another"
    assert allocation_id(gpu.claim) != before


@pytest.mark.parametrize("depth", [1, 3])
def test_the_objects_given_are_not_changed(gpu, depth):
    before = repr(gpu.claim), repr(gpu.pod)
    for _unused in range(depth):
        decide(gpu.claim, [gpu.pod], NOW)
    assert (repr(gpu.claim), repr(gpu.pod)) == before
