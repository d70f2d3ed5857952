# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The main job on a lab, as one story: each test goes on where the one before it ended."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    DAEMON_SETS,
    DEPLOYMENTS,
    DEVICE_CLASSES,
    NODES,
    PODS,
    SECRETS,
    SLICES,
)

pytestmark = pytest.mark.lab

REPORT_KEYS = {
    "environment", "versions", "plan", "steps", "replicas", "verdicts", "traffic", "cost", "teardown",
}  # fmt: skip


def everything(bench) -> Counter[str]:
    """Return how many objects of the platform and the service the lab's Kubernetes has, by kind."""
    counts = Counter(
        {
            kind.plural: len(list(bench.api.list(kind)))
            for kind in (CLAIMS, SLICES, DEVICE_CLASSES, NODES, PODS)
        }
    )
    for kind in (DAEMON_SETS, DEPLOYMENTS):
        counts[kind.plural] = len(list(bench.api.list(kind)))
    counts["releases"] = len(list(bench.api.list(SECRETS, "kube-system", label_selector="owner=helm")))
    return +counts


def test_01_placeholders_are_refused_at_once_and_before_any_write(bench, google):
    wrong = {"inference_token": "HUGGING_FACE_TOKEN", "inference_project": "<project>"}
    ended = bench.play("site.yml", **wrong, **bench.connection(google_endpoint=google.endpoint))
    assert (ended.status, ended.failed) == (2, 1), ended.output
    for name in wrong:
        assert f"{name}: found the placeholder" in ended.output
    assert google.writes == []
    assert everything(bench) == Counter()


def test_02_check_mode_on_nothing_makes_nothing(bench, google):
    ended = bench.play("site.yml", check=True, **bench.connection(google_endpoint=google.endpoint))
    assert ended.status == 0, ended.output
    assert ended.changed > 0
    assert google.reads > 0
    assert google.writes == []
    assert everything(bench) == Counter()


def test_03_setup(bench, google):
    ended = bench.play("site.yml", **bench.connection(google_endpoint=google.endpoint))
    assert ended.status == 0, ended.output
    assert len(google.writes) == 4  # repository, cluster, two node pools
    assert everything(bench)["releases"] == 2


def test_04_a_second_run_changes_and_writes_nothing(bench, google):
    ended = bench.play("site.yml", **bench.connection(google_endpoint=google.endpoint))
    assert (ended.status, ended.changed) == (0, 0), ended.output
    assert google.reads > 0
    assert google.writes == []


def test_05_gpus_while_there_are_any_and_cpus_when_there_are_not(bench):
    ended = bench.play("playbooks/scale_demo.yml")
    assert ended.status == 0, ended.output
    report = json.loads((bench.output / "report.json").read_text())
    assert set(report) >= REPORT_KEYS
    assert [step["replicas"] for step in report["steps"]] == [1, 2, 4]
    assert report["steps"][-1]["alternatives"] == {"gpu": 2, "cpu": 2}
    for replica in report["replicas"]:
        assert f"vllm-gemma4-{replica['alternative']}" in replica["image"]
        assert replica["node_pool"] == f"{replica['alternative']}-pool"
        assert all(replica["phases"].values()), replica
    assert (bench.output / "report.html").exists()


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


def test_07_the_report_alone_is_the_same_again(bench):
    before = (bench.output / "report.json").read_text()
    ended = bench.play("playbooks/report.yml")
    assert (ended.status, ended.changed) == (0, 0), ended.output
    assert (bench.output / "report.json").read_text() == before


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


def test_09_teardown_leaves_nothing(bench):
    ended = bench.play("playbooks/teardown.yml")
    assert ended.status == 0, ended.output
    assert "Nothing is left" in ended.output
    # The lab's API server outlives the cluster that it stands for: the roles had to take their objects away.
    assert everything(bench) == Counter()


def test_10_a_second_teardown_changes_nothing(bench, google):
    ended = bench.play("playbooks/teardown.yml", **bench.connection(google_endpoint=google.endpoint))
    assert (ended.status, ended.changed) == (0, 0), ended.output
    assert google.writes == []
    assert "Nothing is left" in ended.output
