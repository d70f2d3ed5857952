# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role compute_class: what the autoscaler says of a class, where it is well and where it is not."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import COMPUTE_CLASSES
from ansible_collections.inference.dra.tests.integration.role_play import play_role

pytestmark = pytest.mark.lab


@pytest.fixture
def play(machines):
    """Return a function that runs an entry point of the role for a class and returns its status and words."""

    def run(name, *pools, entry="main", seconds=30):
        spec = {"priorities": [{"nodepools": [each]} for each in pools], "whenUnsatisfiable": "DoNotScaleUp"}
        wanted = {
            "apiVersion": "cloud.google.com/v1",
            "kind": "ComputeClass",
            "metadata": {"name": name},
            "spec": spec,
        }
        return play_role(
            machines.plane.kubeconfig,
            "compute_class",
            entry,
            compute_class_plan={"compute_class": wanted},
            compute_class_timeout_seconds=seconds,
        )

    yield run
    for each in machines.kube.list(COMPUTE_CLASSES):
        if each["metadata"]["name"].startswith("role-"):
            machines.kube.delete(COMPUTE_CLASSES, each["metadata"]["name"])


def test_c35_a_class_that_names_no_pool_of_the_cluster(play):
    """Setup and verify name the condition; where nobody is to judge the class, it only has to be there."""
    for entry in ("main", "verify"):
        status, said = play("role-nowhere", "no-such-pool", entry=entry, seconds=3)
        assert status == 2, said
        assert "ComputeClass role-nowhere: " in said
        assert "CrdMisconfigured, NodePoolNotExist: node pool no-such-pool does not exist" in said
        assert "site.yml with --tags node_pools" in said
    assert play("role-nowhere", "no-such-pool", entry="verify", seconds=0)[0] == 0


def test_c35_a_class_that_is_well(play, machines):
    pool = machines.class_pool("role-well", size=0, most=1)
    for entry in ("main", "verify"):
        status, said = play("role-well", pool, entry=entry)
        assert status == 0, said
        assert "Misconfigured" not in said


def test_a_class_that_is_not_there(play):
    status, said = play("role-gone", "any-pool", entry="verify")
    assert status == 2, said
    assert "Looking at ComputeClass role-gone: it does not exist." in said


def test_what_is_no_matter_of_health_is_said_as_it_is(play):
    """A class that the API server refuses is not blamed on node pools that were looked at earlier."""
    status, said = play("Role_With_A_Wrong_Name", "any-pool")
    assert status == 2, said
    assert "Invalid value" in said
    assert "Nobody has judged it" in said
