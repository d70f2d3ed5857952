# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every module that reads Kubernetes has in common: dumps, bad input, one clear error."""

from __future__ import annotations

import importlib
import re

import pytest
import yaml

from .in_process import MODULES, NOW, RECORDED, recorded, run_module, without

READERS = {
    "resource_claim_info": {"namespace": "llm"},
    "resource_claim_wait": {"namespace": "llm"},
    "dra_diagnosis": {"namespace": "llm"},
    "inference_service_info": {"namespace": "llm", "deployment": "vllm"},
}
BAD_INPUT = {
    "no such file": ({"objects": "no-such-dump.yaml"}, "DumpUnreadable", "no-such-dump.yaml can't be read"),
    "a folder": ({"objects": "."}, "DumpUnreadable", "can't be read (Is a directory)"),
    "not YAML": ({"objects": "{tmp}/broken"}, "DumpUnreadable", "is neither YAML nor JSON"),
    "text": ({"objects": "{tmp}/text"}, "MalformedObjects", "expected a mapping with apiVersion"),
    "without kind": ({"objects": [{"metadata": {"name": "a"}}]}, "MalformedObjects", "expected the kind"),
    "without name": (
        {"objects": [{"kind": "Pod", "apiVersion": "v1", "metadata": {}}]},
        "MalformedObjects",
        "expected the name of the object",
    ),
    "older API": (
        {
            "objects": [
                {"kind": "ResourceClaim", "apiVersion": "resource.k8s.io/v1beta1", "metadata": {"name": "a"}}
            ]
        },
        "MalformedObjects",
        "expected resource.k8s.io/v1 (Kubernetes 1.34 or later serves it)",
    ),
    "field of a wrong type": (
        {
            "objects": [
                {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "llm"}, "spec": 3}
            ]
        },
        "MalformedObjects",
        "Pod llm/a: spec is 3, expected a mapping",
    ),
    "no time": ({"now": "yesterday"}, "InvalidInput", "The option now is 'yesterday'; a time such as"),
}


@pytest.fixture
def files(tmp_path):
    (tmp_path / "broken").write_text("a: [")
    (tmp_path / "text").write_text("nothing of use")
    return tmp_path


@pytest.mark.parametrize(("given", "reason", "sentence"), BAD_INPUT.values(), ids=BAD_INPUT)
@pytest.mark.parametrize("module", READERS)
def test_bad_input_is_one_clear_error(module, given, reason, sentence, files):
    given = {
        key: value.replace("{tmp}", str(files)) if isinstance(value, str) else value
        for key, value in given.items()
    }
    result = run_module(module, **{"objects": str(RECORDED), "now": NOW, **READERS[module], **given})
    assert result["failed"], result
    assert result["reason"] == reason
    assert sentence in result["msg"]


@pytest.mark.parametrize("module", READERS)
def test_a_dump_may_be_file_list_or_objects(module, tmp_path):
    as_yaml = tmp_path / "dump.yaml"
    as_yaml.write_text(yaml.safe_dump(recorded()))
    results = [
        run_module(module, now=NOW, objects=objects, **READERS[module])
        for objects in (str(RECORDED), str(as_yaml), [recorded()], recorded()["items"])
    ]
    assert all(each == results[0] for each in results)
    assert not results[0]["failed"]


@pytest.mark.parametrize("module", READERS, ids=lambda module: f"C49-{module}")
def test_check_mode_says_the_same(module):
    given = {"objects": str(RECORDED), "now": NOW, **READERS[module]}
    assert run_module(module, check_mode=True, **given) == run_module(module, **given)


@pytest.mark.parametrize("module", READERS)
def test_nothing_changes(module):
    result = run_module(module, objects=str(RECORDED), now=NOW, **READERS[module])
    assert (result["failed"], result["changed"]) == (False, False)


@pytest.mark.parametrize("module", READERS)
def test_no_api_server_is_one_clear_error(module, tmp_path, monkeypatch):
    monkeypatch.delenv("KUBECONFIG", raising=False)
    result = run_module(module, kubeconfig=str(tmp_path / "none"), **READERS[module])
    assert result["reason"] == "ConnectionFailed"
    assert re.search(r"kubeconfig .*none can't be read .*Give `kubeconfig`", result["msg"])


MISSING_KINDS = ["Node", "ResourceSlice", "DeviceClass", "ResourceClaimTemplate", "ReplicaSet"]


@pytest.mark.parametrize("kind", MISSING_KINDS)
@pytest.mark.parametrize("module", READERS)
def test_dump_that_lacks_a_kind_is_judged_as_far_as_it_goes(module, kind):
    result = run_module(module, objects=without(kind), now=NOW, **READERS[module])
    assert not result["failed"], result


def test_what_both_modules_about_claims_return_is_described_alike():
    """ansible-core before 2.21 knows no fragments of RETURN, so the text stands in both."""
    documented = [
        yaml.safe_load(importlib.import_module(f"{MODULES}.{name}").RETURN)
        for name in ("resource_claim_info", "resource_claim_wait")
    ]
    info, wait = ({key: {**value, "returned": ""} for key, value in each.items()} for each in documented)
    assert {key: wait.get(key) for key in info} == info


SERVICE = {"namespace": "default", "now": NOW}
LABELLED = [
    {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "labels": "vllm", "name": "second"},
    {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "labels": "vllm", "name": "first"},
    {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "labels": "other", "name": "third"},
    {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "labels": "vllm", "name": "vllm"},
]


def test_the_other_objects_of_a_service_are_named_also_without_its_deployment():
    objects = [
        {
            "apiVersion": each["apiVersion"],
            "kind": each["kind"],
            "metadata": {"name": each["name"], "namespace": "default", "labels": {"app": each["labels"]}},
        }
        for each in LABELLED
    ]
    given = {"objects": objects, "deployment": "vllm", **SERVICE}
    result = run_module("inference_service_info", parts=True, **given)
    assert (result["failed"], result["reason"]) == (True, "DeploymentMissing")
    assert result["parts"] == {
        "ResourceClaimTemplate": ["first", "second"],
        "HorizontalPodAutoscaler": [],
        "PodDisruptionBudget": ["vllm"],
    }
    assert run_module("inference_service_info", **given)["parts"] == {}
