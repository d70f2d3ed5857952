# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gke_workload_policy against the lab's Google."""

from __future__ import annotations

import pytest

WANTED = {
    "name": "tpu-policy",
    "type": "high_throughput",
    "accelerator_topology": "4x4x4",
    "accelerator_topology_mode": "provision_only",
}


def policy(lab, **options) -> dict:
    stated = {name: value for name, value in options.items() if value is not None}
    return lab.run("gke_workload_policy", **stated)


def live(lab, name="tpu-policy") -> dict:
    path = f"/compute/v1/projects/{lab.google.project}/regions/us-central1/resourcePolicies/{name}"
    return lab.google.read("compute", path)


def test_create_then_nothing_to_do_then_gone(lab):
    planned = policy(lab, **WANTED, check_mode=True)
    assert (planned["changed"], planned["actions"]) == (True, ["create WorkloadPolicy tpu-policy"])
    assert lab.writes == 0
    first = policy(lab, **WANTED)
    assert (first["failed"], first["changed"]) == (False, True)
    assert live(lab)["workloadPolicy"] == {
        "type": "HIGH_THROUGHPUT",
        "acceleratorTopology": "4x4x4",
        "acceleratorTopologyMode": "PROVISION_ONLY",
    }
    before = lab.writes
    assert not policy(lab, **WANTED)["changed"]
    assert lab.writes == before
    gone = policy(lab, name="tpu-policy", state="absent")
    assert (gone["failed"], gone["changed"]) == (False, True)
    assert not policy(lab, name="tpu-policy", state="absent")["changed"]


def test_nothing_in_it_can_be_changed(lab):
    policy(lab, **WANTED)
    before = lab.writes
    result = policy(lab, **{**WANTED, "accelerator_topology": "2x2x2"})
    assert (result["reason"], result["recreation"]) == ("NeedsRecreation", ["accelerator_topology"])
    assert lab.writes == before


def test_the_mode_that_google_takes_by_itself_is_no_difference(lab):
    policy(lab, **{**WANTED, "accelerator_topology_mode": None})
    assert not policy(lab, **{**WANTED, "accelerator_topology_mode": "auto_connect"})["changed"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"name": "Policy"}, "lower-case", id="name"),
        pytest.param({"location": "us-central1-a"}, "belongs to a region", id="zone"),
        pytest.param({"accelerator_topology": "4*4"}, "not a topology", id="topology"),
        pytest.param({"type": "high_availability"}, "needs type high_throughput", id="type"),
        pytest.param({"accelerator_topology": None}, "needs accelerator_topology", id="mode-alone"),
        pytest.param({"max_topology_distance": "block"}, "exclude each other", id="distance"),
    ],
)
def test_bad_input_is_refused_before_any_call(lab, changes, problem):
    result = policy(lab, **{**WANTED, **changes})
    assert (result["reason"], result["error_kind"]) == ("InvalidInput", "invalid")
    assert problem in result["msg"]
    assert lab.server.requests.reads == lab.writes == 0


def test_a_refusal_has_its_kind(lab):
    lab.fault("permission-denied", permission="compute.resourcePolicies.insert")
    result = policy(lab, **WANTED)
    assert (result["failed"], result["error_kind"]) == (True, "permission")
