# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role installs, in particular what it may do and must not be able to do."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.controllers.image_configurator.contract import Gate
from ansible_collections.inference.dra.controllers.image_configurator.manifests import render

IMAGE = {"image_configurator_image": "registry.example/image-configurator@sha256:" + "0" * 64}


def of_kind(template, kind, **variables):
    return next(o for o in render(template, **variables) if o["kind"] == kind)


def rights(role):
    return {
        (resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]
    }


def test_cluster_wide_rights_are_these_and_no_more():
    assert rights(of_kind("rbac.yaml.j2", "ClusterRole")) == {
        *(("pods", verb) for verb in ("get", "list", "watch", "patch")),
        *(("resourceclaims", verb) for verb in ("get", "list", "watch")),
        ("resourceclaims/status", "update"),
        ("resourceclaims/driver", "arbitrary-node:update"),
        *(("resourceslices", verb) for verb in ("list", "watch", "create", "delete")),
        ("events", "create"),
    }


@pytest.mark.parametrize("driver", [Gate().driver, "images.example.org"], ids=["C13-default", "C13-other"])
def test_only_its_own_driver_may_be_written(driver):
    role = of_kind("rbac.yaml.j2", "ClusterRole", image_configurator_driver=driver)
    (rule,) = [rule for rule in role["rules"] if rule["resources"] == ["resourceclaims/driver"]]
    assert rule["resourceNames"] == [driver]


def test_pods_are_locked_down():
    pod = of_kind("deployment.yaml.j2", "Deployment", **IMAGE)["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"]["memory"]
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_two_replicas_survive_a_drain():
    deployment = of_kind("deployment.yaml.j2", "Deployment", **IMAGE)
    budget = of_kind("availability.yaml.j2", "PodDisruptionBudget")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["replicas"] == 2
    assert budget["spec"]["maxUnavailable"] == 1
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_upstream_by_one_variable():
    pod = of_kind("deployment.yaml.j2", "Deployment", image_configurator_implementation="upstream", **IMAGE)[
        "spec"
    ]["template"]["spec"]
    assert pod["containers"][0]["command"] == ["/controller"]
    assert "args" not in pod["containers"][0]
    more = rights(of_kind("rbac-upstream.yaml.j2", "ClusterRole"))
    assert ("resourceclaims/driver", "arbitrary-node:patch") in more


def test_switched_off_parts_are_left_out():
    kinds = [
        o["kind"]
        for o in render(
            "availability.yaml.j2",
            image_configurator_priority_class="",
            image_configurator_network_policy=False,
        )
    ]
    assert kinds == ["PodDisruptionBudget"]


def test_admission_policy_can_only_stop_claims_of_its_driver():
    spec = of_kind("admission.yaml.j2", "ValidatingAdmissionPolicy")["spec"]
    assert spec["failurePolicy"] == "Ignore"
    (condition,) = spec["matchConditions"]
    assert Gate().driver in condition["expression"]
