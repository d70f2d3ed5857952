# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster that somebody else made, and that serves OpenShift's security context constraints.

No OpenShift is here: a definition of that group and kind makes any API server serve it, and the cluster
role that OpenShift has for its constraint ``privileged`` is made by hand. The real API server judges rights.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import Resource

from .conftest import Bench

pytestmark = pytest.mark.lab

RBAC = ("rbac.authorization.k8s.io", "v1")
BINDINGS = Resource(*RBAC, "rolebindings", "RoleBinding")
CLUSTER_ROLES = Resource(*RBAC, "clusterroles", "ClusterRole", namespaced=False)
REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
CONSTRAINTS = {"group": "security.openshift.io", "resource": "securitycontextconstraints"}
DRIVERS = ["dra-driver-cpu", "dra-driver-noop", "dra-driver-nvidia-gpu-service-account-kubeletplugin"]


@pytest.fixture(scope="module")
def existing(bench, tmp_path_factory) -> Iterator[Bench]:
    """The lab's cluster, reached as any cluster is by its kubeconfig.

    kubernetes.core keeps what an address serves among the temporary files; an earlier lab had the same one.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
        yield replace(bench, inventory="existing")


def run(existing: Bench, playbook: str, *options: str):
    lab = existing.connection()["lab_connection"]
    programs = {
        "K8S_AUTH_KUBECONFIG": lab["kubeconfig"],
        "PATH": f"{lab['directory']}/bin:{os.environ['PATH']}",
    }
    return existing.play(
        playbook,
        *options,
        inference_kubeconfig=lab["kubeconfig"],
        inference_connection=programs,
        inference_image_registry=f"{lab['registry']}/images",
        dra_drivers_chart_base=f"oci://{lab['registry']}/charts",
        dra_drivers_plain_http=True,
        dra_drivers_installer=f"{lab['sources']}/lab/manifests/nvidia-driver-installer.yaml",
    )


def have_drivers(existing: Bench):
    return run(existing, "site.yml", "--tags", "dra_drivers")


def serve_constraints(existing: Bench) -> None:
    """Have the API server serve the kind, and the cluster role that OpenShift makes for ``privileged``."""
    names = {"plural": CONSTRAINTS["resource"], "singular": "securitycontextconstraints"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "metadata": {"name": f"{CONSTRAINTS['resource']}.{CONSTRAINTS['group']}"},
        "spec": {
            "group": CONSTRAINTS["group"],
            "names": {**names, "kind": "SecurityContextConstraints"},
            "scope": "Cluster",
            "versions": [version],
        },
    }
    rule = {
        "apiGroups": [CONSTRAINTS["group"]],
        "resources": [CONSTRAINTS["resource"]],
        "resourceNames": ["privileged"],
        "verbs": ["use"],
    }
    existing.api.create(DEFINITIONS, definition)
    existing.api.create(
        CLUSTER_ROLES, {"metadata": {"name": "system:openshift:scc:privileged"}, "rules": [rule]}
    )

    def served(found: list[dict]) -> bool:
        ours = [each for each in found if each["spec"]["group"] == CONSTRAINTS["group"]]
        conditions = [each for one in ours for each in one.get("status", {}).get("conditions", ())]
        return ("Established", "True") in {(each["type"], each["status"]) for each in conditions}

    existing.until(DEFINITIONS, served)


def may_be_privileged(existing: Bench, account: str) -> bool:
    """Return what the API server says about an account of the drivers' namespace."""
    attributes = {**CONSTRAINTS, "namespace": "kube-system", "name": "privileged", "verb": "use"}
    user = f"system:serviceaccount:kube-system:{account}"
    review = {"metadata": {}, "spec": {"user": user, "resourceAttributes": attributes}}
    return existing.api.create(REVIEWS, review)["status"]["allowed"]


def bindings(existing: Bench) -> list[dict]:
    named = existing.api.list(BINDINGS, "kube-system")
    return [each for each in named if each["metadata"]["name"] == "inference-dra-privileged"]


def test_01_where_no_constraints_are_served_nobody_is_given_a_right(existing):
    ended = have_drivers(existing)
    assert ended.status == 0, ended.output
    assert ended.changed > 0
    assert bindings(existing) == []


def test_02_where_they_are_the_accounts_of_the_drivers_may_use_the_privileged_one(existing):
    serve_constraints(existing)
    assert not any(may_be_privileged(existing, account) for account in DRIVERS)
    ended = have_drivers(existing)
    assert (ended.status, ended.changed) == (0, 1), ended.output
    (binding,) = bindings(existing)
    assert [each["name"] for each in binding["subjects"]] == DRIVERS
    assert all(may_be_privileged(existing, account) for account in DRIVERS)
    assert not may_be_privileged(existing, "default")


def test_03_a_second_run_changes_nothing(existing):
    ended = have_drivers(existing)
    assert (ended.status, ended.changed) == (0, 0), ended.output


def test_04_teardown_takes_the_right_with_the_drivers(existing):
    ended = run(existing, "playbooks/teardown.yml")
    assert ended.status == 0, ended.output
    assert "Nothing is left" in ended.output
    assert bindings(existing) == []
    assert not any(may_be_privileged(existing, account) for account in DRIVERS)
