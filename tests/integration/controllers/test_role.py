# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role: check mode, converge, again without a change, verify, teardown, gone; upstream's manifests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import ansible_collections.inference.dra as collection
from ansible_collections.inference.dra.controllers.image_configurator.manifests import render
from ansible_collections.inference.dra.plugins.module_utils._core.alternatives import plan
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    DEPLOYMENTS,
    DEVICE_CLASSES,
    SLICES,
    KubernetesError,
    NotFound,
    Resource,
)

pytestmark = pytest.mark.lab
# Names of its own, so that the other tests' controller is not touched.
VARIABLES = {
    "image_configurator_name": "of-the-role",
    "image_configurator_driver": "images.role.test",
    "image_configurator_image": "registry.example/image-configurator@sha256:" + "0" * 64,
    "image_configurator_priority_class": "of-the-role",
    "image_configurator_timeout_seconds": 30,
}
ALTERNATIVES = [
    {"name": "gpu", "device_class": "gpu.nvidia.com", "image": {"name": "vllm-gpu", "tag": "1"}},
    {
        "name": "cpu",
        "device_class": "dra.cpu",
        "capacity": {"dra.cpu/cpu": "12"},
        "image": {"name": "vllm-cpu", "tag": "1"},
    },
]
CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)


@pytest.fixture
def play(plane, tmp_path):
    """Return a function that runs an entry point and returns the play's statistics."""
    playbook = tmp_path / "play.yml"
    include = {"name": "inference.dra.image_configurator", "tasks_from": "{{ entry }}"}
    task = {"ansible.builtin.include_role": include, "vars": VARIABLES}
    playbook.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]))
    environment = {
        **os.environ,
        "K8S_AUTH_KUBECONFIG": str(plane.kubeconfig),
        "ANSIBLE_COLLECTIONS_PATH": str(Path(collection.__path__[0]).parents[2]),
        "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
        "ANSIBLE_LOCALHOST_WARNING": "false",
    }

    def run(entry, *flags):
        command = [Path(sys.executable).parent / "ansible-playbook", playbook, "-e", f"entry={entry}", *flags]
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, env=environment, cwd=tmp_path
        )
        assert "{" in done.stdout, done.stdout + done.stderr
        result = json.loads(done.stdout[done.stdout.index("{") :])
        result["code"] = done.returncode
        return result

    return run


def changed(result):
    assert result["code"] == 0, json.dumps(result["plays"], indent=1)[-3000:]
    return result["stats"]["localhost"]["changed"]


def exists(api, resource, name, namespace=""):
    try:
        api.get(resource, name, namespace)
    except NotFound:
        return False
    return True


def test_life_of_the_role(play, plane, api, kit):
    name, driver = VARIABLES["image_configurator_name"], VARIABLES["image_configurator_driver"]
    assert changed(play("main", "--check")) == 1
    assert not exists(api, DEPLOYMENTS, name, "kube-system")
    assert not exists(api, CLUSTER_ROLES, name)
    assert play("verify")["code"] != 0

    # kwok lets the Deployment's pods run; this process does what they would do.
    controller = kit.Controller(plane.kubeconfig, "--driver", driver)
    try:
        assert changed(play("main")) == 1
        assert changed(play("main")) == 0
        assert changed(play("main", "--check")) == 0
        assert changed(play("verify")) == 0
    finally:
        controller.stop()
        controller.kill()

    assert changed(play("teardown")) > 0
    assert changed(play("teardown")) == 0
    assert play("verify")["code"] != 0
    assert not exists(api, DEPLOYMENTS, name, "kube-system")
    assert not exists(api, CLUSTER_ROLES, name)
    assert not exists(api, DEVICE_CLASSES, driver)
    assert not [s for s in api.list(SLICES) if s["spec"]["driver"] == driver]


def test_without_an_image_nothing_is_installed(play):
    result = play("main", "-e", "image_configurator_image=''")
    assert result["code"] != 0
    assert "image_configurator_image" in json.dumps(result["plays"])


def test_upstream_manifests_are_valid_here_too(api, shared):
    """Dry runs of the recorded upstream objects and of ours for the same controller."""
    folder = shared / "upstream" / "manifests" / "dra-driver-image-configurator"
    documents = [
        document
        for path in sorted(folder.rglob("*.yaml"))
        for document in yaml.safe_load_all(path.read_text())
        if document and "cert-manager" not in document["apiVersion"]
    ]
    assert documents
    upstream = {**VARIABLES, "image_configurator_implementation": "upstream"}
    ours = [o for t in ("rbac", "rbac-upstream", "deployment") for o in render(f"{t}.yaml.j2", **upstream)]
    template = plan(ALTERNATIVES, {"image_registry": "registry.example/images"}).claim_template()
    template["metadata"]["namespace"] = "default"
    assert [
        problem for document in [*documents, *ours, template] if (problem := refused(api, document))
    ] == []


def refused(api, document):
    group, _unused, version = document["apiVersion"].rpartition("/")
    kind = document["kind"]
    plural = kind.lower() + ("es" if kind.endswith("s") else "s")
    namespaced = "namespace" in document["metadata"]
    resource = Resource(group, version, plural, kind, namespaced)
    try:
        api.apply(resource, document, document["metadata"].get("namespace", ""), force=True, dry_run=True)
    except KubernetesError as error:
        return f"{kind}: {error}"
    return ""
