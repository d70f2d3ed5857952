# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The main job on a lab, as one story: each test goes on where the one before it ended."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    DAEMON_SETS,
    DEPLOYMENTS,
    DEVICE_CLASSES,
    NODES,
    PODS,
    SECRETS,
    SLICES,
    Resource,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.resources import (
    AUTOSCALERS,
    DISRUPTION_BUDGETS,
)

pytestmark = pytest.mark.lab

CRDS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
TOKEN = "no-model-is-loaded-in-the-lab"
AUTOSCALED = {"vllm_max_replicas": 4, "vllm_min_available": 2}
VERIFY = [
    {
        "hosts": "inference",
        "gather_facts": False,
        "environment": "{{ inference_connection }}",
        "tasks": [
            {"ansible.builtin.include_role": {"name": f"inference.dra.{role}", "tasks_from": entry}}
            for role, entry in (("lab", "connect"), ("compute_class", "verify"), ("vllm", "verify"))
        ],
    }
]
SCHEMA = Path(__file__).parents[3] / "roles" / "report" / "files" / "report.schema.json"


def read_report(bench) -> dict:
    """Return the report, once it has the shape that its schema states."""
    report = json.loads((bench.output / "report.json").read_text())
    jsonschema = pytest.importorskip("jsonschema", reason="no jsonschema on this Python")
    problems = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).iter_errors(report)
    assert [f"{each.json_path}: {each.message}" for each in problems] == []
    return report


def everything(bench) -> Counter[str]:
    """Return how many objects of the platform and the service the lab's Kubernetes has, by kind."""
    counts = Counter(
        {
            kind.plural: len(list(bench.api.list(kind)))
            for kind in (CLAIMS, SLICES, DEVICE_CLASSES, NODES, PODS)
        }
    )
    for kind in (DAEMON_SETS, DEPLOYMENTS, AUTOSCALERS, DISRUPTION_BUDGETS):
        counts[kind.plural] = len(list(bench.api.list(kind)))
    names = [each["metadata"]["name"] for each in bench.api.list(CRDS)]
    counts["definitions of drivers"] = sum(name.endswith("nvidia.com") for name in names)
    counts["releases"] = len(list(bench.api.list(SECRETS, "kube-system", label_selector="owner=helm")))
    return +counts


def optional(bench) -> list[str]:
    """Return what there is beside the service that its role makes only where it is asked for."""
    return [
        kind.kind for kind in (AUTOSCALERS, DISRUPTION_BUDGETS) for _each in bench.api.list(kind, "default")
    ]


def built(bench) -> set[str]:
    """Return the references of the images that later runs know of."""
    record = bench.output / "images.json"
    return {each["reference"] for each in json.loads(record.read_text())} if record.exists() else set()


def test_01_placeholders_are_refused_at_once_and_before_any_write(bench, google):
    wrong = {"inference_token": "HUGGING_FACE_TOKEN", "inference_project": "<project>"}
    ended = bench.play("site.yml", **wrong, **bench.connection(google_endpoint=google.endpoint))
    assert (ended.status, ended.failed) == (2, 1), ended.output
    for name in wrong:
        assert f"{name}: found the placeholder" in ended.output
    assert google.writes == []
    assert everything(bench) == Counter()


def test_01_a_cluster_for_a_service_without_its_token_is_not_made(bench, google):
    tokenless = {"inference_token": "", **bench.connection(google_endpoint=google.endpoint)}
    ended = bench.play("site.yml", **tokenless)
    assert (ended.status, ended.failed, ended.changed) == (2, 1, 0), ended.output
    assert "the Secret hf-secret cannot be there" in " ".join(ended.output.split())
    ended = bench.play("site.yml", "--tags", "preflight,gke_cluster", check=True, **tokenless)
    assert ended.status == 0, ended.output
    assert google.writes == []


def test_02_check_mode_on_nothing_makes_nothing(bench, google):
    ended = bench.play("site.yml", check=True, **bench.connection(google_endpoint=google.endpoint))
    assert ended.status == 0, ended.output
    assert ended.changed > 0
    assert google.reads > 0
    assert google.writes == []
    assert everything(bench) == Counter()
    assert built(bench) == set()


def says_the_token(output: str) -> bool:
    return TOKEN in output or base64.b64encode(TOKEN.encode()).decode() in output


def test_03_setup(bench, google):
    """Also at the highest verbosity nobody reads the token."""
    connection = bench.connection(google_endpoint=google.endpoint)
    ended = bench.play("site.yml", "-vvv", "--diff", **connection)
    assert ended.status == 0, ended.output
    assert "hf-secret" in ended.output
    assert not says_the_token(ended.output)
    assert len(google.writes) == 4  # repository, cluster, two node pools
    assert everything(bench)["releases"] == 2
    assert "are stand-ins of the lab" in " ".join(ended.output.split())
    assert len(built(bench)) == 3
    assert re.search(r"nodes: cpu-pool 1, default-pool \d, gpu-pool 1", ended.output), ended.output


def test_04_a_second_run_changes_and_writes_nothing(bench, google):
    ended = bench.play("site.yml", **bench.connection(google_endpoint=google.endpoint))
    assert (ended.status, ended.changed) == (0, 0), ended.output
    assert google.reads > 0
    assert google.writes == []


def test_05_a_demo_of_what_is_not_there_says_that_and_nothing_else(bench):
    ended = bench.play("playbooks/scale_demo.yml", scale_demo_name="nowhere")
    assert (ended.status, ended.failed) == (2, 1), ended.output
    assert "Looking at Deployment default/nowhere: it does not exist" in " ".join(ended.output.split())
    assert not (bench.output / "record.json").exists()


def test_05_gpus_while_there_are_any_and_cpus_when_there_are_not(bench):
    ended = bench.play("playbooks/scale_demo.yml")
    assert ended.status == 0, ended.output
    report = read_report(bench)
    assert [step["replicas"] for step in report["steps"]] == [1, 2, 4]
    assert report["steps"][-1]["alternatives"] == {"gpu": 2, "cpu": 2}
    for replica in report["replicas"]:
        assert f"vllm-gemma4-{replica['alternative']}@sha256:" in replica["image"]
        assert replica["image"] in built(bench)
        assert replica["node_pool"] == f"{replica['alternative']}-pool"
        assert all(replica["phases"].values()), replica
        assert replica["claims"][0]["devices"]
    assert report["versions"]["kubernetes"].startswith("v1.")
    assert {"dra-driver-cpu", "dra-driver-nvidia-gpu"} <= set(report["versions"]["charts"])
    assert report["cost"]["usd_per_hour"]["now"] == pytest.approx(2 * 0.341 + 2 * 0.254)
    assert (bench.output / "report.html").exists()


def test_06_roles_verify_what_they_made(bench):
    """A verification changes nothing, and shows what each replica runs on."""
    (bench.output / "verify.yml").write_text(yaml.safe_dump(VERIFY, sort_keys=False))
    ended = bench.play(str(bench.output / "verify.yml"))
    assert (ended.status, ended.changed) == (0, 0), ended.output
    said = ended.output
    assert len(re.findall(r"vllm-fungible-\S+ +gpu .+ vllm-gemma4-gpu@sha256:\S+ +ready", said)) == 2, said
    assert "nodes: cpu-pool 2, default-pool 3, gpu-pool 2" in said
    assert "not ready" not in said


def test_06_a_verification_that_finds_another_image_than_planned_fails(bench):
    references = {name: f"registry.example.com/vllm-{name}:2" for name in ("gpu", "cpu")}
    ended = bench.play(str(bench.output / "verify.yml"), inference_image_references=references)
    assert (ended.status, ended.failed) == (2, 1), ended.output
    assert "registry.example.com/vllm-gpu" in " ".join(ended.output.split())


def test_06_diagnosis_finds_nothing_wrong(bench):
    ended = bench.play("playbooks/diagnose.yml")
    assert ended.status == 0, ended.output
    assert ended.output.count("running on gpu") == ended.output.count("running on cpu") == 2


def test_06_diagnosis_ends_with_an_error_where_something_is_wrong(bench):
    claims = [{"name": "device", "resourceClaimTemplateName": "nowhere"}]
    container = {
        "name": "main",
        "image": "registry.k8s.io/pause:3.10",
        "resources": {"claims": [{"name": "device"}]},
    }
    body = {"metadata": {"name": "broken"}, "spec": {"resourceClaims": claims, "containers": [container]}}
    bench.api.create(PODS, body, "default")
    ended = bench.play("playbooks/diagnose.yml")
    bench.api.delete(PODS, "broken", "default", grace_seconds=0)
    assert (ended.status, ended.failed) == (2, 1), ended.output
    assert "default/broken: pending; error TemplateMissing" in " ".join(ended.output.split())


def test_06_traffic_in_check_mode_writes_nothing(bench):
    ended = bench.play("playbooks/traffic.yml", check=True, traffic_requests=1)
    assert (ended.status, ended.changed) == (0, 0), ended.output
    assert not (bench.output / "traffic.json").exists()


def test_06_traffic_tells_hardware_apart(bench):
    ended = bench.play("playbooks/traffic.yml")
    assert ended.status == 0, ended.output
    traffic = json.loads((bench.output / "traffic.json").read_text())
    gpu, cpu = traffic["alternatives"]
    assert (gpu["alternative"], cpu["alternative"]) == ("gpu", "cpu")
    for each in (gpu, cpu, traffic["service"]):
        assert each["succeeded"] == each["requests"] > 0, each
        assert each["tokens"]["counted"]
    # By their data sheets: the L4 has five times the memory bandwidth of twelve vCPUs.
    assert gpu["latency_seconds"]["p50"] < cpu["latency_seconds"]["p50"] / 3
    assert gpu["usd_per_million_tokens"] < cpu["usd_per_million_tokens"]
    said = " ".join(ended.output.split())
    assert "on gpu: 3 of 3 answered" in said
    assert "service vllm-service 4" in said


def test_07_the_report_alone_has_the_traffic_and_is_the_same_again(bench):
    first = bench.play("playbooks/report.yml")
    assert first.status == 0, first.output
    assert read_report(bench)["traffic"]["service"]["endpoints"] == 4
    before = (bench.output / "report.json").read_text()
    again = bench.play("playbooks/report.yml")
    assert (again.status, again.changed) == (0, 0), again.output
    assert (bench.output / "report.json").read_text() == before


def test_07_an_autoscaler_and_a_disruption_budget_find_the_replicas(bench):
    ended = bench.play("site.yml", "--tags", "vllm", **AUTOSCALED)
    assert (ended.status, ended.changed) == (0, 1), ended.output

    def has_scale(autoscalers: list[dict]) -> bool:
        conditions = [each for one in autoscalers for each in one.get("status", {}).get("conditions", ())]
        return ("AbleToScale", "True") in {(each["type"], each["status"]) for each in conditions}

    (autoscaler,) = bench.until(AUTOSCALERS, has_scale)
    assert autoscaler["spec"]["scaleTargetRef"]["name"] == "vllm-fungible"
    assert (autoscaler["spec"]["minReplicas"], autoscaler["spec"]["maxReplicas"]) == (1, 4)
    assert autoscaler["status"]["currentReplicas"] == 4
    (budget,) = bench.until(
        DISRUPTION_BUDGETS, lambda found: [each["status"].get("expectedPods") for each in found] == [4]
    )
    assert (budget["spec"]["minAvailable"], budget["status"]["disruptionsAllowed"]) == (2, 2)


def test_07_a_second_run_changes_neither_them_nor_the_number_of_replicas(bench):
    ended = bench.play("site.yml", "--tags", "vllm", **AUTOSCALED)
    assert (ended.status, ended.changed) == (0, 0), ended.output
    assert bench.api.get(DEPLOYMENTS, "vllm-fungible", "default")["spec"]["replicas"] == 4


def test_07_they_go_when_they_are_no_longer_wanted(bench):
    ended = bench.play("site.yml", "--tags", "vllm", inference_replicas=4)
    assert (ended.status, ended.changed) == (0, 1), ended.output
    assert optional(bench) == []
    ended = bench.play("site.yml", "--tags", "vllm", inference_replicas=4)
    assert (ended.status, ended.changed) == (0, 0), ended.output


def test_07_teardown_finds_them_when_they_are_there(bench):
    ended = bench.play("site.yml", "--tags", "vllm", **AUTOSCALED)
    assert ended.status == 0, ended.output
    assert optional(bench) == [AUTOSCALERS.kind, DISRUPTION_BUDGETS.kind]


def test_08_check_mode_lists_what_would_go_and_takes_nothing(bench, google):
    before = everything(bench)
    ended = bench.play(
        "playbooks/teardown.yml", check=True, **bench.connection(google_endpoint=google.endpoint)
    )
    assert ended.status == 0, ended.output
    assert ended.changed > 0
    said = " ".join(ended.output.split())
    for subject in (
        "Cluster gpu-cpu-fungibility: exists",
        "NodePool gpu-pool: exists, 2 nodes, 0.6820 USD per hour",
        "Repository dra-drivers: exists",
        "Deployment default/vllm-fungible: exists",
        "Deployment kube-system/image-configurator: exists",
        "ComputeClass fungible-gpu-cpu: exists",
        "DeviceClass gpu.nvidia.com: exists",
        "DaemonSet kube-system/nvidia-driver-installer: exists",
        "DaemonSet kube-system/dra-driver-cpu: exists",
        "Release kube-system/dra-driver-nvidia-gpu: exists",
        "ResourceClaim default/vllm-fungible-",
        "ResourceClaimTemplate default/gpu-or-cpu-",
        "ResourceSlice image-configurator.x-k8s.io",
    ):
        assert subject in said
    assert google.writes == []
    assert everything(bench) == before


def test_09_teardown_leaves_nothing(bench, google):
    connection = bench.connection(google_endpoint=google.endpoint)
    ended = bench.play("playbooks/teardown.yml", "-vvv", "--diff", **connection)
    assert ended.status == 0, ended.output
    assert "hf-secret" in ended.output
    assert not says_the_token(ended.output)
    assert len(google.writes) == 2  # repository, and the cluster with its node pools
    assert "Nothing is left" in ended.output
    # The lab's API server outlives the cluster that it stands for: the roles had to take their objects away.
    assert everything(bench) == Counter()
    assert built(bench) == set()


def test_10_a_second_teardown_changes_nothing(bench, google):
    ended = bench.play("playbooks/teardown.yml", **bench.connection(google_endpoint=google.endpoint))
    assert (ended.status, ended.changed) == (0, 0), ended.output
    assert google.writes == []
    assert "Nothing is left" in ended.output


def test_11_the_report_has_the_proof(bench):
    ended = bench.play("playbooks/report.yml")
    assert ended.status == 0, ended.output
    teardown = read_report(bench)["teardown"]
    assert teardown["clean"]
    assert "node pools" in teardown["asked"]
    assert "Nothing is left." in (bench.output / "report.html").read_text()
