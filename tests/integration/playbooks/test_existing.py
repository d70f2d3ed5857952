# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster that somebody else made and shares: the inventory ``existing``, from its refusal to its proof.

The nodes have the labels that the inventory asks for and no more of GKE than tells the lab what machines
they are. The kubeconfig is where kubectl looks for it. Only what no registry is there for is given.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIM_TEMPLATES,
    CLAIMS,
    DAEMON_SETS,
    DEPLOYMENTS,
    DEVICE_CLASSES,
    NAMESPACES,
    NODES,
    PODS,
    SERVICE_ACCOUNTS,
    SLICES,
)
from ansible_collections.inference.dra.tests.watched import open_nodes, seen

from .conftest import Bench, is_ready

pytestmark = pytest.mark.lab

# The lab's hardware: an L4 whose kernel driver came with the machine.
L4 = {
    "cloud.google.com/gke-accelerator": "nvidia-l4",
    "cloud.google.com/gke-accelerator-count": "1",
    "cloud.google.com/gke-gpu-driver-version": "default",
}
NODE_LABELS = {
    "with-gpu": {"nvidia.com/gpu.present": "true", **L4},
    "with-cpus": {"inference.dra/cpu": "true"},
    "of-others": {},
}
NEIGHBOURS = "neighbours"
FOREIGN = "nic.example.com"


def node(name: str, labels: dict[str, str]) -> dict:
    resources = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    return {
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **labels},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "status": {"allocatable": resources, "capacity": resources},
    }


@pytest.fixture(scope="module")
def existing(bench, tmp_path_factory) -> Iterator[Bench]:
    """Three nodes, and a home with the kubeconfig and helm, as on the machine of who runs the cluster."""
    for name, labels in NODE_LABELS.items():
        bench.api.create(NODES, node(name, labels))
    open_nodes(bench.api, *NODE_LABELS)
    home = tmp_path_factory.mktemp("home")
    (home / ".kube").mkdir()
    (home / ".kube" / "config").symlink_to(bench.lab.kubeconfig)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("PATH", f"{bench.lab.directory / 'bin'}{os.pathsep}{os.environ['PATH']}")
        # kubernetes.core keeps what an address serves among the temporary files; an earlier lab had the same.
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
        for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG"):
            patch.delenv(name, raising=False)
        yield replace(bench, inventory="existing")


def run(existing: Bench, playbook: str, *options: str, check: bool = False, **more):
    """Run a playbook with what a user gives: images and token, and here also where the charts are."""
    registry = existing.connection()["lab_connection"]["registry"]
    charts = {"dra_drivers_chart_base": f"oci://{registry}/charts", "dra_drivers_plain_http": True}
    given = {"inference_image_registry": "registry.example/inference", "inference_token": "of-no-hub"}
    return existing.play(playbook, *options, check=check, **charts, **given, **more)


def nodes_of(existing: Bench, daemon_set: str) -> set[str]:
    pods = existing.api.list(PODS, "kube-system")
    return {
        pod["spec"].get("nodeName", "")
        for pod in pods
        if pod["metadata"].get("ownerReferences", [{}])[0].get("name") == daemon_set
    }


def neighbour(existing: Bench, name: str, device_class: str) -> None:
    """Have a pod of somebody else that holds a device."""
    requests = [{"name": "d", "exactly": {"deviceClassName": device_class}}]
    template = {"metadata": {"name": name}, "spec": {"spec": {"devices": {"requests": requests}}}}
    existing.api.create(CLAIM_TEMPLATES, template, NEIGHBOURS)
    claims = [{"name": "d", "resourceClaimTemplateName": name}]
    container = {"name": "main", "image": "registry.example/app:1", "resources": {"claims": [{"name": "d"}]}}
    spec = {"resourceClaims": claims, "containers": [container]}
    existing.api.create(PODS, {"metadata": {"name": name}, "spec": spec}, NEIGHBOURS)
    seen(
        existing.api,
        PODS,
        lambda pods: any(pod["metadata"]["name"] == name and is_ready(pod) for pod in pods),
        f"pod {name}",
        namespace=NEIGHBOURS,
    )


def foreign_driver(existing: Bench) -> None:
    """Have a driver that is none of ours: its class and its devices on a node of others."""
    expression = f"device.driver == '{FOREIGN}'"
    selectors = [{"cel": {"expression": expression}}]
    existing.api.create(DEVICE_CLASSES, {"metadata": {"name": FOREIGN}, "spec": {"selectors": selectors}})
    pool = {"name": "of-others", "generation": 1, "resourceSliceCount": 1}
    devices = {"driver": FOREIGN, "nodeName": "of-others", "pool": pool, "devices": [{"name": "nic-0"}]}
    existing.api.create(SLICES, {"metadata": {"name": "of-others"}, "spec": devices})


def test_01_what_has_to_be_given_is_refused_by_name_before_any_write(existing):
    ended = existing.play("site.yml")
    assert (ended.status, ended.changed, ended.failed) == (2, 0, 1), ended.output
    said = " ".join(ended.output.split())
    assert "inference_image_registry: found the placeholder '<registry-with-the-images>'" in said
    assert (
        "dra_drivers_noop_chart: found the placeholder '<path-or-reference-of-the-chart-dra-driver-noop>'"
        in said
    )
    assert list(existing.api.list(DAEMON_SETS)) == []


def test_02_check_mode_finds_the_kubeconfig_and_writes_nothing(existing):
    ended = run(existing, "site.yml", check=True)
    assert ended.status == 0, ended.output
    assert ended.changed > 3
    assert "inference.dra.vllm" in ended.output
    assert list(existing.api.list(DAEMON_SETS)) == list(existing.api.list(DEPLOYMENTS)) == []


def test_03_setup_serves_on_the_nodes_with_the_labels(existing):
    ended = run(existing, "site.yml")
    assert ended.status == 0, ended.output
    (pod,) = existing.until(PODS, lambda pods: len(pods) == 1 and all(map(is_ready, pods)))
    assert pod["spec"]["nodeName"] == "with-gpu"
    assert pod["spec"]["containers"][0]["image"] == "registry.example/inference/vllm-gemma4-gpu:0.1.0"
    assert nodes_of(existing, "dra-driver-cpu") == {"with-cpus"}
    assert nodes_of(existing, "dra-driver-nvidia-gpu-kubelet-plugin") == {"with-gpu"}
    assert nodes_of(existing, "dra-driver-noop") == {*NODE_LABELS}
    assert nodes_of(existing, "nvidia-driver-installer") == set()


def test_04_a_second_run_changes_nothing(existing):
    ended = run(existing, "site.yml")
    assert (ended.status, ended.changed) == (0, 0), ended.output


def test_05_drivers_stay_while_somebody_else_holds_their_devices(existing):
    existing.api.create(NAMESPACES, {"metadata": {"name": NEIGHBOURS}})
    seen(existing.api, SERVICE_ACCOUNTS, lambda found: found, "its account", namespace=NEIGHBOURS)
    foreign_driver(existing)
    neighbour(existing, "on-a-driver-of-others", FOREIGN)
    neighbour(existing, "on-a-driver-of-ours", "dra.cpu")
    ended = run(existing, "playbooks/teardown.yml", teardown_claims_timeout_seconds=8)
    assert (ended.status, ended.failed) == (2, 1), ended.output
    said = " ".join(ended.output.split())
    assert "held by on-a-driver-of-ours on with-cpus" in said
    assert "held by on-a-driver-of-others" not in said
    assert nodes_of(existing, "dra-driver-cpu") == {"with-cpus"}


def test_06_teardown_leaves_nothing_of_ours_and_what_is_others(existing):
    existing.api.delete(PODS, "on-a-driver-of-ours", NEIGHBOURS, grace_seconds=0)
    # Which images and charts they were is nothing that a teardown has to know.
    ended = existing.play("playbooks/teardown.yml", inference_token="of-no-hub")
    assert ended.status == 0, ended.output
    assert "Nothing is left" in ended.output
    assert list(existing.api.list(DAEMON_SETS)) == list(existing.api.list(DEPLOYMENTS)) == []
    (claim,) = existing.api.list(CLAIMS)
    assert claim["status"]["allocation"]["devices"]["results"][0]["driver"] == FOREIGN
    assert {each["metadata"]["name"] for each in existing.api.list(NODES)} == {*NODE_LABELS}
