# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller on a real control plane, as a process that has the shipped rights and no others."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ansible_collections.inference.dra.controllers.image_configurator.image_config import (
    Refused,
    parse_image_config,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIM_TEMPLATES,
    CLAIMS,
    DEVICE_CLASSES,
    EVENTS,
    PODS,
    SLICES,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.transport import Transport

pytestmark = pytest.mark.lab
DRIVER = "image-configurator.x-k8s.io"


@pytest.mark.parametrize("alternative", ["gpu", "cpu"])
def test_pod_starts_with_the_image_of_the_chosen_alternative(controller, workload, kit, alternative):
    workload.template(gpu_first=alternative == "gpu")
    workload.pod()
    pods = workload.pods(lambda known: known["p"]["spec"].get("nodeName") and known["p"])
    assert kit.image(pods["p"]) == kit.IMAGES[alternative]
    assert pods["p"]["spec"]["nodeName"] == alternative
    assert [kit.image(pods["p"], 1), kit.image(pods["p"], 0, "initContainers")] == [kit.PLACEHOLDER] * 2
    claim = workload.allocated()
    assert kit.conditions(claim)["image-updated"] == ("True", "ImagePatched")
    (event,) = workload.events("ImagePatched")
    assert event["involvedObject"]["name"] == "p"
    assert event["message"] == f"vllm={kit.IMAGES[alternative]}"


def test_init_and_side_containers_and_a_class_s_default(controller, workload, api, kit):
    """The class gives an image to two containers, the claim overrides one; a third comes from the claim."""
    api.merge_patch(
        DEVICE_CLASSES,
        "dra.cpu",
        {"spec": {"config": [kit.image_config("vllm", "class:1"), kit.image_config("proxy", "class:2")]}},
    )
    try:
        config = [kit.image_config("vllm", "claim:1"), kit.image_config("fetch", "claim:2", ["accel"])]
        workload.template(config, gpu_first=False)
        workload.pod()
        pod = workload.pods(lambda known: "nodeName" in known["p"]["spec"])["p"]
    finally:
        api.merge_patch(DEVICE_CLASSES, "dra.cpu", {"spec": {"config": None}})
    assert [kit.image(pod), kit.image(pod, 1), kit.image(pod, 0, "initContainers")] == [
        "claim:1",
        "class:2",
        "claim:2",
    ]


PERMANENT = {
    "ImageConfigNotFound": lambda kit: [],
    "ImageConfigInvalid": lambda kit: [
        kit.opaque({"apiVersion": kit.GATE.config_api, "kind": "Imageconfig"})
    ],
    "ImageReferenceInvalid": lambda kit: [kit.image_config("vllm", "${REPO_URI}/vllm:latest")],
    "ImageConfigConflict": lambda kit: [
        kit.image_config("vllm", "a:1", ["accel"]),
        kit.image_config("vllm", "b:1", ["accel/cpu"]),
    ],
    "ImageConfigContainerNotFound": lambda kit: [kit.image_config("engine", "a:1")],
}


def seconds_to(api, namespace, condition, kit):
    """Return the seconds between two events of a claim's watch: allocated, and ``condition`` True."""
    allocated = None
    for claim in kit.changes(api, CLAIMS, namespace):
        if allocated is None and claim.get("status", {}).get("allocation"):
            allocated = time.monotonic()
        if kit.conditions(claim).get(condition, ("",))[0] == "True":
            return time.monotonic() - allocated
    raise AssertionError("the watch ended")


@pytest.mark.parametrize("reason", PERMANENT)
def test_permanent_errors_fail_at_once(controller, workload, api, kit, reason):
    workload.template(PERMANENT[reason](kit), gpu_first=False)
    workload.pod()
    seconds = seconds_to(api, workload.namespace, "image-update-failed", kit)
    print(f"{reason}: {seconds * 1000:.0f} ms from allocation to failure condition (upstream: 600 s)")
    assert seconds < 2
    claim = workload.claims(lambda known: any(kit.conditions(c) for c in known.values()))
    assert {kit.conditions(c)["image-update-failed"][1] for c in claim.values()} == {reason}
    (event,) = workload.events(reason)
    assert (event["type"], event["involvedObject"]["name"]) == ("Warning", "p")
    assert kit.image(api.get(PODS, "p", workload.namespace)) == kit.PLACEHOLDER


# The API server takes any JSON object; what is in it is for the driver to judge.
FIELDS = ["apiVersion", "kind", "containerName", "image"]
ANY = (
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.text(max_size=9)
    | st.lists(st.text(max_size=3), max_size=2)
    | st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=2)
)
MALFORMED = st.one_of(
    st.dictionaries(st.text(max_size=9), ANY, max_size=3),  # anything
    st.tuples(st.sampled_from([*FIELDS, "extra"]), ANY),  # one field is another one
    st.sampled_from(FIELDS),  # one field is missing
)


def malformed(how, kit):
    right = kit.image_config("vllm", "a:1")["opaque"]["parameters"]
    if isinstance(how, dict):
        parameters = how
    elif isinstance(how, tuple):
        parameters = {**right, how[0]: how[1]}
    else:
        parameters = {name: value for name, value in right.items() if name != how}
    with contextlib.suppress(Refused):
        parse_image_config(parameters, kit.GATE)
        return {}  # it was right by chance
    return parameters


@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(st.lists(MALFORMED, min_size=25, max_size=30))
def test_whatever_a_fuzzer_writes_ends_in_failure_and_event(controller, workload, kit, found):
    for number, how in enumerate(found):
        config = [kit.opaque(malformed(how, kit))]
        workload.template(config, name=f"t{number}", gpu_first=False)
        workload.pod(f"p{number}", template=f"t{number}")
    failed = [("True", "ImageConfigInvalid"), ("True", "ImageReferenceInvalid")]
    refused, told = set(), set()

    def all_refused(known):
        refused.update(
            name
            for name, claim in known.items()
            if kit.conditions(claim).get("image-update-failed") in failed
        )
        return len(refused) == len(found)

    def all_told(known):
        events = [event for _status, reason in failed for event in kit.of(known, reason)]
        told.update(event["involvedObject"]["name"] for event in events)
        return len(told) == len(found)

    workload.claims(all_refused, 60)
    kit.until(workload.api, EVENTS, workload.namespace, all_told, 60)
    assert controller.process.poll() is None
    assert controller.page("/healthz") == (200, "ok\n")


def test_a_claim_refused_again_is_slowed_down_and_said_so(controller, workload, kit):
    workload.template([], gpu_first=False)
    workload.pod()
    workload.events("ImageConfigNotFound")
    (event,) = workload.events("ImageConfigRefusedAgain")
    assert "refused 2 times" in event["message"]


def test_shared_claim_is_refused_for_every_pod(controller, workload, api, kit):
    api.create(
        CLAIMS, {"metadata": {"name": "shared"}, "spec": kit.claim_spec(gpu_first=False)}, workload.namespace
    )
    for name in ("p", "q"):
        workload.pod(name, claim="shared")
    workload.claims(
        lambda known: kit.conditions(known["shared"]).get("image-update-failed", "")[:1] == ("True",)
    )
    (event, *_unused) = workload.events("ClaimShared")
    assert "resourceClaimTemplateName" in event["message"]
    assert not any("nodeName" in pod["spec"] for pod in api.list(PODS, workload.namespace))


WRITTEN = {
    "spaces": ('{"kind": "ImageConfig", "image": "%s", ', '"apiVersion": "%s", "containerName": "vllm"}'),
    "indented": (
        '{\n  "apiVersion": "%s",\n  "kind": "ImageConfig",\n',
        '  "image": "%s",\n  "containerName":"vllm"\n}',
    ),
    "unsorted": ('{"kind":"ImageConfig","image":"%s",', '"containerName":"vllm","apiVersion":"%s"}'),
    "escaped": ('{"kind":"\\u0049mageConfig","image":"%s",', '"containerName":"vllm","apiVersion":"%s"}'),
}


@pytest.mark.parametrize("way", WRITTEN)
def test_claims_are_served_however_their_parameters_are_written(controller, workload, api, kit, way):
    """The server compares parameters as bytes; see claim_bytes."""
    text = "".join(WRITTEN[way])
    values = {"image": kit.IMAGES["cpu"], "api": f"{DRIVER}/v1alpha1"}
    order = ("api", "image") if text.index("apiVersion") < text.index("image") else ("image", "api")
    parameters = text % tuple(values[name] for name in order)
    spec = kit.claim_spec([kit.opaque("PARAMETERS")], gpu_first=False)
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "gpu-or-cpu"},
        "spec": {"spec": spec},
    }
    answer = Transport(api.connection).send(
        "POST",
        api.connection.host + CLAIM_TEMPLATES.path(workload.namespace),
        json.dumps(body).replace('"PARAMETERS"', parameters),
        [("Content-Type", "application/json")],
        seconds=10,
    )
    assert answer.status == 201, answer.data
    workload.pod()
    pods = workload.pods(lambda known: "nodeName" in known["p"]["spec"])
    assert kit.image(pods["p"]) == kit.IMAGES["cpu"]


def test_bound_pods_are_never_touched(controller, workload, api, kit):
    """A bound pod whose image is not the configured one stays as it is."""
    workload.template(gpu_first=False)
    workload.pod()
    workload.pods(lambda known: known["p"]["status"]["phase"] == "Running")
    api.json_patch(
        PODS,
        "p",
        [{"op": "replace", "path": "/spec/containers/0/image", "value": "other:1"}],
        workload.namespace,
    )
    workload.pod("q")
    workload.pods(lambda known: known["q"]["status"]["phase"] == "Running")
    assert kit.image(api.get(PODS, "p", workload.namespace)) == "other:1"


def test_slice_is_kept_right(controller, api, kit):
    def right(known):
        ours = [s for s in known.values() if s["spec"]["driver"] == DRIVER]
        return [s["metadata"]["name"] for s in ours] == [DRIVER]

    kit.until(api, SLICES, "", right)
    api.delete(SLICES, DRIVER)
    kit.until(api, SLICES, "", right)
    leftover = api.get(SLICES, DRIVER)
    leftover["metadata"] = {"name": "left-by-another-controller"}
    api.create(SLICES, leftover)
    kit.until(api, SLICES, "", right)


def number(controller, name):
    text = controller.page("/metrics")[1]
    return next(
        float(line.split()[1]) for line in text.splitlines() if line.startswith(f"image_configurator_{name} ")
    )


def test_probes_and_metrics(controller, workload):
    names = ("allocations_total", "images_switched_total", "allocation_to_condition_seconds_count")
    before = [number(controller, name) for name in names]
    workload.template(gpu_first=False)
    workload.pod()
    workload.pods(lambda known: "nodeName" in known["p"]["spec"])
    assert [number(controller, name) for name in names] == [value + 1 for value in before]
    assert controller.page("/healthz") == (200, "ok\n")
    assert controller.page("/readyz") == (200, "ok\n")
    assert [number(controller, name) for name in ("leader", "slice_published")] == [1, 1]
