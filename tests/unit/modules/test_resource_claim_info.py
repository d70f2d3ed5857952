# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""resource_claim_info and resource_claim_wait on a recorded cluster: selections and what they return."""

from __future__ import annotations

import pytest

from .in_process import NOW, RECORDED, recorded, run_module

ON_GPU = "vllm-56997f7467-4mvh8"
ON_CPU = "vllm-56997f7467-h4tjw"
GPU_CLAIM = f"{ON_GPU}-hardware-mvcbc"
BOTH = ("resource_claim_info", "resource_claim_wait")


def info(**options):
    return run_module("resource_claim_info", objects=str(RECORDED), now=NOW, **options)


def wait(**options):
    return run_module("resource_claim_wait", objects=str(RECORDED), now=NOW, **options)


SELECTIONS = {
    "deployment": ({"namespace": "llm", "deployment": "vllm"}, {"gpu": 1, "cpu": 1}),
    "namespace": ({"namespace": "llm"}, {"gpu": 1, "cpu": 1}),
    "everything": ({}, {"gpu": 1, "cpu": 1}),
    "name": ({"namespace": "llm", "names": [GPU_CLAIM]}, {"gpu": 1}),
    "pod": ({"namespace": "llm", "pods": [ON_CPU]}, {"cpu": 1}),
    "label that no claim has": ({"label_selectors": ["a=b"], "if_none": "ok"}, {}),
    "label that no claim may have": ({"label_selectors": ["a!=b", "!c"]}, {"gpu": 1, "cpu": 1}),
    "driver whose devices they hold": ({"drivers": ["dra.cpu"]}, {"cpu": 1}),
}


@pytest.mark.parametrize(("selection", "alternatives"), SELECTIONS.values(), ids=SELECTIONS)
@pytest.mark.parametrize("module", BOTH)
def test_selection(module, selection, alternatives):
    result = run_module(module, objects=str(RECORDED), now=NOW, **selection)
    assert result["alternatives"] == alternatives


REFUSED = {
    "two ways": ({"namespace": "llm", "names": ["a"], "pods": ["b"]}, "selected by names and pods; give one"),
    "name without namespace": ({"names": ["a"]}, "selected by names, which needs a namespace"),
    "deployment without namespace": ({"deployment": "vllm"}, "which needs a namespace"),
    "selector": ({"label_selectors": ["a in b"]}, "Selecting claims:"),
}


@pytest.mark.parametrize(("selection", "sentence"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("module", BOTH)
def test_contradictory_selection_is_refused(module, selection, sentence):
    result = run_module(module, objects=str(RECORDED), now=NOW, **selection)
    assert result["reason"] == "InvalidInput"
    assert sentence in result["msg"]


NOTHING = {
    "C45-namespace": {"namespace": "empty"},
    "C45-deployment": {"namespace": "llm", "deployment": "other"},
    "C45-pod": {"namespace": "llm", "pods": ["other"]},
    "C45-selector": {"label_selectors": ["a=b"]},
}


@pytest.mark.parametrize("selection", NOTHING.values(), ids=NOTHING)
@pytest.mark.parametrize("module", BOTH)
def test_nothing_matches_is_what_the_parameter_says(module, selection):
    failed = run_module(module, objects=str(RECORDED), now=NOW, **selection)
    assert (failed["failed"], failed["reason"]) == (True, "NothingMatches")
    assert "nothing matches" in failed["msg"]
    fine = run_module(module, objects=str(RECORDED), now=NOW, if_none="ok", **selection)
    assert (fine["failed"], fine["claims"]) == (False, [])


def test_missing_names_are_part_of_the_failure():
    assert "Deployment llm/other: does not exist" in info(namespace="llm", deployment="other")["msg"]


def test_one_claim_in_full():
    (claim,) = info(namespace="llm", names=[GPU_CLAIM])["claims"]
    assert (claim["name"], claim["state"], claim["node"]) == (GPU_CLAIM, "ready", "gpu-pool-1")
    assert claim["chosen"] == {"device": "gpu"}
    assert {each["driver"] for each in claim["devices"]} == {"gpu.nvidia.com", "image-configurator.x-k8s.io"}
    assert [each["name"] for each in claim["consumers"]] == [ON_GPU]


def test_states_are_counted():
    assert info(namespace="llm")["states"] == {"ready": 1, "allocated": 1}


GOALS = {
    "allocated": (2, []),
    "ready": (1, [ON_CPU]),
    "bound": (1, [ON_CPU]),
    "running": (1, [ON_CPU]),
    "absent": (0, [ON_CPU, ON_GPU]),
}


@pytest.mark.parametrize(("goal", "reached", "missing"), [(k, *v) for k, v in GOALS.items()], ids=GOALS)
def test_wait_on_a_dump_looks_once(goal, reached, missing):
    result = wait(namespace="llm", state=goal)
    assert (result["reached"], result["waited_seconds"]) == (reached, 0.0)
    assert len(result["would_wait_for"]) == len(missing)
    assert all(any(name in line for line in result["would_wait_for"]) for name in missing)


@pytest.mark.parametrize(
    ("replicas", "missing"),
    [(2, []), (3, ["2 of 3 pods are there"]), (1, ["2 of 1 pods are there"]), (0, ["2 of 0 pods are there"])],
    ids=["C52-as many", "C52-more wanted", "C52-fewer wanted", "C52-none wanted"],
)
def test_wait_for_a_deployment_counts_its_replicas(replicas, missing):
    objects = recorded()["items"]
    (deployment,) = [each for each in objects if each["kind"] == "Deployment"]
    deployment["spec"]["replicas"] = replicas
    options = {"namespace": "llm", "deployment": "vllm", "state": "allocated"}
    assert run_module("resource_claim_wait", objects=objects, now=NOW, **options)["would_wait_for"] == missing
