# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role vllm applies, rendered by Ansible's own template engine from the role's own defaults."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.inference.dra.plugins.module_utils._core.alternatives import plan

ROLE = Path(__file__).resolve().parents[3] / "roles" / "vllm"
GPU = {"name": "gpu", "device_class": "gpu.nvidia.com", "image": {"reference": "example.com/gpu:1"}}
CPU = {
    "name": "cpu",
    "device_class": "dra.cpu",
    "capacity": {"dra.cpu/cpu": "12"},
    "image": {"reference": "example.com/cpu:1"},
}
TOKEN = "hf_a-token-that-must-not-show"


def trusted(value):
    """Return role variables as Ansible loads them from files: their templates may be rendered."""
    if isinstance(value, dict):
        return {name: trusted(each) for name, each in value.items()}
    if isinstance(value, list):
        return [trusted(each) for each in value]
    return trust_as_template(value) if isinstance(value, str) else value


def evaluated(text, **given):
    """Return what a template says to the role's defaults and vars, and what is given beside them."""
    variables = {}
    for part in ("defaults", "vars"):
        variables |= yaml.safe_load((ROLE / part / "main.yml").read_text())
    variables |= {"vllm_plan": plan([GPU, CPU]).as_dict(), **given}
    return Templar(DataLoader(), trusted(variables)).template(trust_as_template(text))


def rendered(name, **given):
    text = evaluated((ROLE / "templates" / name).read_text(), **given)
    return yaml.safe_load(text) if isinstance(text, str) else text


def pod_spec(**given):
    return rendered("deployment.yaml.j2", **given)["spec"]["template"]["spec"]


def container(**given):
    (found,) = pod_spec(**given)["containers"]
    return found


@pytest.mark.parametrize(
    "seconds", [60, 61, 900, 3600], ids=lambda seconds: f"C58-{seconds}-seconds-to-start"
)
def test_a_replica_has_the_time_it_was_given_to_start(seconds):
    probe = container(vllm_startup_seconds=seconds)["startupProbe"]
    assert 0 <= probe["failureThreshold"] * probe["periodSeconds"] - seconds < probe["periodSeconds"]
    assert "httpGet" in probe


def test_c58_a_replica_is_ready_when_the_model_is_served_not_when_a_port_is_open():
    assert container()["readinessProbe"]["httpGet"] == {"path": "/v1/models", "port": "http"}
    assert "livenessProbe" not in container()  # nothing may kill a slow load


@pytest.mark.parametrize("limit", ["2Gi", "512Mi"], ids=lambda limit: f"C56-{limit}")
def test_shared_memory_has_a_limit(limit):
    (volume,) = pod_spec(vllm_shared_memory=limit)["volumes"]
    assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": limit}
    assert container()["volumeMounts"] == [{"name": volume["name"], "mountPath": "/dev/shm"}]


@pytest.mark.parametrize(
    "template", sorted(path.name for path in (ROLE / "templates").iterdir() if path.name != "secret.yaml.j2")
)
def test_c53_the_token_is_in_its_secret_and_nowhere_else(template):
    assert TOKEN not in yaml.safe_dump(rendered(template, vllm_token=TOKEN))


def test_c53_tasks_that_see_the_token_log_nothing():
    for path in (ROLE / "tasks").glob("*.yml"):
        for task in yaml.safe_load(path.read_text()):
            reads = task.get("kubernetes.core.k8s_info", {}).get("kind") == "Secret"
            writes = "secret.yaml.j2" in str(task) and not task.get("vars", {}).get("__vllm_goes")
            if reads or writes:
                assert task.get("no_log") is True, task["name"]


def test_c53_a_secret_that_goes_is_named_without_its_token():
    data = rendered("secret.yaml.j2", vllm_token=TOKEN)["data"]
    assert base64.b64decode(data["hf_api_token"]).decode() == TOKEN
    assert "data" not in rendered("secret.yaml.j2", vllm_token=TOKEN, __vllm_goes=True)


@pytest.mark.parametrize(
    ("given", "owns"),
    [
        ({"vllm_token": TOKEN}, True),
        ({"vllm_token": ""}, False),
        # kubernetes.core takes a Secret without a name for all of the namespace.
        ({"vllm_token": TOKEN, "vllm_token_secret": ""}, False),
    ],
    ids=["C53-ours", "C53-of-somebody-else", "C53-none"],
)
def test_a_secret_is_ours_where_it_has_a_name_and_we_the_token(given, owns):
    assert evaluated("{{ __vllm_owns_secret }}", **given) is owns
    (teardown, _templates) = yaml.safe_load((ROLE / "tasks/teardown.yml").read_text())
    leaving = evaluated(teardown["vars"]["__vllm_leaving"], **given)
    assert ("secret.yaml.j2" in leaving) is owns


def test_a_replica_starts_with_the_token_or_not_at_all_unless_the_model_needs_none():
    (variable,) = container(vllm_token_secret="ours")["env"]
    assert variable == {
        "name": "HF_TOKEN",
        "valueFrom": {"secretKeyRef": {"name": "ours", "key": "hf_api_token"}},
    }
    assert "env" not in container(vllm_token_secret="")


@pytest.mark.parametrize(
    ("reference", "floats"),
    [
        ("example.com/gpu", True),
        ("example.com:5000/gpu", True),
        ("example.com/gpu:latest", True),
        ("example.com/gpu:1", False),
        ("example.com/gpu@sha256:" + "a" * 64, False),
        ("example.com/gpu:latest@sha256:" + "a" * 64, False),
    ],
    ids=["no-tag", "a-port-is-no-tag", "latest", "tag", "digest", "latest-with-digest"],
)
def test_images_that_are_not_pinned_are_named(reference, floats):
    given = plan([GPU | {"image": {"reference": reference}}, CPU]).as_dict()
    assert evaluated("{{ __vllm_floating }}", vllm_plan=given) == ([reference] if floats else [])


def test_the_service_has_the_name_of_the_deployment_or_one_of_its_own():
    assert rendered("service.yaml.j2", vllm_name="a")["metadata"]["name"] == "a"
    named = rendered("service.yaml.j2", vllm_name="a", vllm_service_name="b")
    assert (named["metadata"]["name"], named["spec"]["selector"]) == ("b", {"app": "a"})


def test_the_name_of_the_claim_template_says_what_is_in_it():
    def names(**given):
        template = rendered("claim-template.yaml.j2", **given)["metadata"]["name"]
        (claim,) = pod_spec(**given)["resourceClaims"]
        assert claim["resourceClaimTemplateName"] == template
        return template

    other = plan([GPU | {"image": {"reference": "example.com/gpu:2"}}, CPU]).as_dict()
    assert names() == names() != names(vllm_plan=other)
    assert names().startswith("gpu-or-cpu-")


@pytest.mark.parametrize(
    ("strategy", "kind"),
    [("Recreate", "Recreate"), ("Ordered", "Recreate"), ("RollingUpdate", "RollingUpdate")],
    ids=lambda value: value,
)
def test_an_ordered_replacement_falls_back_to_ending_all_at_once(strategy, kind):
    spec = rendered("deployment.yaml.j2", vllm_strategy=strategy)["spec"]
    assert spec["strategy"] == {"type": kind}
    # Who pauses it resumes it: an apply that mentioned it would do either again.
    assert "paused" not in spec


def test_the_number_of_replicas_is_left_to_an_autoscaler_where_there_is_one():
    assert rendered("deployment.yaml.j2", vllm_replicas=3)["spec"]["replicas"] == 3
    given = {"vllm_replicas": 2, "vllm_max_replicas": 6}
    assert rendered("deployment.yaml.j2", **given)["spec"]["replicas"] == 2
    present = {"__vllm_present": {"resources": [{"spec": {"replicas": 5}}]}}
    assert rendered("deployment.yaml.j2", **given, **present)["spec"]["replicas"] == 5
    assert rendered("deployment.yaml.j2", vllm_replicas=2, **present)["spec"]["replicas"] == 2
    autoscaler = rendered("autoscaler.yaml.j2", **given)
    assert autoscaler["apiVersion"] == "autoscaling/v2"
    assert (autoscaler["spec"]["minReplicas"], autoscaler["spec"]["maxReplicas"]) == (2, 6)
    target = rendered("deployment.yaml.j2", **given)
    assert autoscaler["spec"]["scaleTargetRef"] == {
        "apiVersion": target["apiVersion"],
        "kind": target["kind"],
        "name": target["metadata"]["name"],
    }
    assert autoscaler["spec"]["metrics"]


@pytest.mark.parametrize(
    ("given", "optional"),
    [
        pytest.param({}, [], id="neither"),
        pytest.param({"vllm_min_available": 1}, ["disruption-budget"], id="a-budget"),
        pytest.param({"vllm_max_replicas": 4}, ["autoscaler"], id="an-autoscaler"),
        pytest.param(
            {"vllm_min_available": 1, "vllm_max_replicas": 4}, ["disruption-budget", "autoscaler"], id="both"
        ),
    ],
)
def test_what_is_optional_is_applied_or_taken_away(given, optional):
    parts = {"ResourceClaimTemplate": [], "HorizontalPodAutoscaler": [], "PodDisruptionBudget": []}
    wanted = evaluated("{{ __vllm_wanted_templates }}", **given, __vllm_there={"parts": parts})
    assert wanted[:3] == ["claim-template.yaml.j2", "deployment.yaml.j2", "service.yaml.j2"]
    assert wanted[3:] == [f"{name}.yaml.j2" for name in optional]
    assert evaluated("{{ __vllm_unwanted_templates }}", **given, __vllm_there={"parts": parts}) == []
    former = parts | {
        kind: ["vllm", "another"] for kind in ("HorizontalPodAutoscaler", "PodDisruptionBudget")
    }
    unwanted = evaluated(
        "{{ __vllm_unwanted_templates }}", vllm_name="vllm", **given, __vllm_there={"parts": former}
    )
    assert {*unwanted} == {"disruption-budget.yaml.j2", "autoscaler.yaml.j2"} - {*wanted}


def test_a_claim_template_that_is_there_is_left_alone():
    parts = {"HorizontalPodAutoscaler": [], "PodDisruptionBudget": []}
    there = {"parts": parts | {"ResourceClaimTemplate": [evaluated("{{ __vllm_template }}")]}}
    wanted = evaluated("{{ __vllm_wanted_templates }}", __vllm_there=there)
    assert wanted == ["deployment.yaml.j2", "service.yaml.j2"]


def test_placement_keeps_the_order_of_the_alternatives():
    """Observed on Kubernetes 1.36.3: each of the three alone is outvoted by one of the others."""
    pools = [
        entry
        | {"node_pool": {"name": f"{entry['name']}-pool", "machine_type": "n2-standard-16", "max_nodes": 2}}
        for entry in (GPU, CPU)
    ]
    spec = pod_spec(vllm_plan=plan(pools, {"compute_class": "fungible", "zones": ["a"]}).as_dict())
    assert {"key": "DeletionCandidateOfClusterAutoscaler", "operator": "Exists"} in spec["tolerations"]
    assert [each["whenUnsatisfiable"] for each in spec["topologySpreadConstraints"]] == ["ScheduleAnyway"]
    (term,) = spec["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    (expression,) = term["preference"]["matchExpressions"]
    assert (term["weight"], expression["values"]) == (100, ["gpu-pool"])
    keys = {each["key"] for each in spec["tolerations"]}
    assert "ToBeDeletedByClusterAutoscaler" not in keys
