# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""dra_diagnosis and inference_service_info on a recorded cluster."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.alternatives import plan

from .in_process import NOW, RECORDED, recorded, run_module, without

ON_GPU = "vllm-56997f7467-4mvh8"
ON_CPU = "vllm-56997f7467-h4tjw"


def diagnosis(**options):
    return run_module("dra_diagnosis", **{"objects": str(RECORDED), "now": NOW, **options})


def service(**options):
    given = {"objects": str(RECORDED), "now": NOW, "namespace": "llm", "deployment": "vllm", **options}
    return run_module("inference_service_info", **given)


@pytest.mark.parametrize(
    ("options", "pods"),
    [
        ({}, [ON_GPU, ON_CPU]),
        ({"namespace": "llm"}, [ON_GPU, ON_CPU]),
        ({"namespace": "llm", "pods": [ON_CPU]}, [ON_CPU]),
        ({"namespace": "empty"}, []),
        ({"namespace": "llm", "pods": ["other"]}, []),
    ],
    ids=["everything", "namespace", "pod", "empty namespace", "no such pod"],
)
def test_pods(options, pods):
    assert [each["pod"] for each in diagnosis(**options)["pods"]] == [f"llm/{name}" for name in pods]


def test_why_this_alternative_and_not_the_one_before():
    gpu, cpu = diagnosis()["pods"]
    assert (gpu["state"], gpu["chosen"][0]["alternative"], gpu["verdicts"]) == ("running", "device/gpu", [])
    assert cpu["chosen"][0]["alternative"] == "device/cpu"
    (reason,) = cpu["chosen"][0]["reasons"]
    assert reason["reason"] == "DeviceInUse"
    assert reason["evidence"] == [
        f"ResourceClaim llm/{ON_GPU}-hardware-mvcbc holds gpu.nvidia.com/gpu-pool-1/gpu-0"
    ]


@pytest.mark.parametrize(
    ("now", "reason"),
    [(NOW, "BindingConditionMissing"), ("2026-11-30T17:00:00Z", "BindingTimeout")],
    ids=["in time", "too late"],
)
def test_time_is_an_option(now, reason):
    _gpu, cpu = diagnosis(now=now)["pods"]
    assert reason in [each["reason"] for each in cpu["verdicts"]]


def test_binding_timeout_is_an_option():
    _gpu, cpu = diagnosis(binding_timeout_seconds=10)["pods"]
    assert "BindingTimeout" in [each["reason"] for each in cpu["verdicts"]]


@pytest.mark.parametrize("kind", ["Node", "ResourceSlice", "DeviceClass"])
def test_what_was_not_given_is_named(kind):
    assert kind in diagnosis(objects=without(kind))["missing"]


def test_replicas_of_a_service():
    result = service()
    assert result["alternatives"] == {"gpu": 1, "cpu": 1}
    gpu, cpu = result["replicas"]
    assert (gpu["pod"], gpu["alternative"], gpu["node"]) == (ON_GPU, "gpu", "gpu-pool-1")
    assert gpu["devices"] == ["gpu.nvidia.com/gpu-pool-1/gpu-0"]
    assert gpu["phases"]["image_switched"] is not None
    assert (cpu["alternative"], cpu["node"], cpu["phases"]["bound"]) == ("cpu", "", None)
    assert result["now"] == "2026-11-30T16:00:00+00:00"


def test_node_pools_are_ready_nodes_by_label():
    objects = recorded()["items"]
    nodes = [each for each in objects if each["kind"] == "Node"]
    for node in nodes:
        node["metadata"]["labels"]["cloud.google.com/gke-nodepool"] = "pool"
    ready = [each for each in nodes[0]["status"]["conditions"] if each["type"] == "Ready"]
    ready[0]["status"] = "Unknown"
    assert service(objects=objects)["node_pools"] == {"pool": 1}


def test_deployment_that_does_not_exist():
    result = service(deployment="other")
    assert (result["failed"], result["reason"]) == (True, "DeploymentMissing")
    assert result["msg"].startswith("Looking at Deployment llm/other: it does not exist")


@pytest.mark.parametrize("missing", ["namespace", "deployment"])
def test_both_names_are_required(missing):
    given = {"namespace": "llm", "deployment": "vllm"}
    del given[missing]
    result = run_module("inference_service_info", objects=str(RECORDED), now=NOW, **given)
    assert result["failed"]
    assert missing in result["msg"]


@pytest.mark.parametrize("option", [{"replicas": 2}, {"prediction": {"replicas": 2}}], ids=str)
def test_a_prediction_needs_the_plan(option):
    result = service(**option)
    assert result["failed"]
    assert "required by" in result["msg"]


PLAN = plan(
    [
        {"name": "gpu", "device_class": "gpu.nvidia.com", "image": {"reference": "example.com/gpu:1"}},
        {
            "name": "cpu",
            "device_class": "dra.cpu",
            "capacity": {"dra.cpu/cpu": "12"},
            "image": {"reference": "example.com/cpu:1"},
        },
    ]
).as_dict()


def test_what_is_there_is_held_to_plan_and_prediction():
    before = service(plan=PLAN, replicas=2)["prediction"]
    assert before["alternatives"] == before["least"] == before["most"] == {"gpu": 1, "cpu": 1}
    after = service(plan=PLAN, prediction=before)
    by_status = {each["reason"]: each["status"] for each in after["verdicts"]}
    assert by_status["AlternativesAsPredicted"] == "ok"
    # One of the recorded replicas waits for its image.
    assert by_status["ReplicaNotReady"] == "error"
    assert "prediction" not in after


def test_without_a_plan_nothing_is_held_to_anything():
    assert service()["verdicts"] == []
