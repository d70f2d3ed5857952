# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gke_cluster against the lab's Google."""

from __future__ import annotations

import pytest

GUIDE_A = {
    "name": "demo",
    "version": "1.36",
    "labels": {"created-by": "ai-on-gke", "guide": "gpu-cpu-fungibility"},
    "default_pool": {"initial_node_count": 1},
}
GUIDE_B = {
    "name": "demo",
    "dataplane_v2": True,
    "managed_otel_scope": "collection_and_instrumentation_components",
    "gateway_api": "standard",
    "monitoring": {"managed_prometheus": True, "auto_monitoring": "all"},
    "addons": {"slice_controller": True},
}


def cluster(lab, **options) -> dict:
    return lab.run("gke_cluster", **options)


@pytest.mark.parametrize("options", [GUIDE_A, GUIDE_B], ids=["guide-a", "guide-b"])
def test_create_then_nothing_to_do_then_gone(lab, options):
    planned = cluster(lab, **options, check_mode=True)
    assert (planned["changed"], planned["actions"]) == (True, ["create Cluster demo"])
    assert lab.writes == 0
    first = cluster(lab, **options)
    assert (first["failed"], first["changed"]) == (False, True)
    assert first["cluster"]["status"] == "RUNNING"
    before = lab.writes
    second = cluster(lab, **options)
    assert (second["failed"], second["changed"], second["actions"]) == (False, False, [])
    assert lab.writes == before
    gone = cluster(lab, name="demo", state="absent")
    assert (gone["failed"], gone["changed"]) == (False, True)
    assert lab.cluster() is None
    assert not cluster(lab, name="demo", state="absent")["changed"]


def test_each_concern_is_an_update_of_its_own(lab):
    cluster(lab, **GUIDE_A)
    wanted = {
        **GUIDE_A,
        "labels": {"team": "ml"},
        "gateway_api": "standard",
        "addons": {"gcs_fuse": True, "ray": True},
        "monitoring": {"managed_prometheus": True, "auto_monitoring": "all"},
        "workload_identity": True,
        "endpoints": {"dns_external_traffic": True},
        "autoscaling": {"profile": "optimize_utilization"},
        "release_channel": "rapid",
    }
    planned = cluster(lab, **wanted, check_mode=True)
    result = cluster(lab, **wanted)
    assert (result["failed"], result["changed"]) == (False, True)
    assert result["actions"] == planned["actions"]
    assert len(result["operations"]) == len(result["actions"]) == 8
    live = lab.cluster()
    assert live["resourceLabels"].items() >= {**GUIDE_A["labels"], "team": "ml"}.items()
    assert live["workloadIdentityConfig"] == {"workloadPool": "test-project.svc.id.goog"}
    assert live["monitoringConfig"]["componentConfig"]["enableComponents"]
    assert not cluster(lab, **wanted)["changed"]


@pytest.mark.parametrize(
    ("change", "option"),
    [
        pytest.param({"dataplane_v2": True}, "dataplane_v2", id="dataplane"),
        pytest.param({"network": "other"}, "network", id="network"),
        pytest.param({"multi_networking": True}, "multi_networking", id="multi-networking"),
    ],
)
def test_what_only_creation_sets_is_refused(lab, change, option):
    cluster(lab, **GUIDE_A)
    before = lab.writes
    result = cluster(lab, **GUIDE_A, **change)
    assert result["reason"] == "NeedsRecreation"
    assert result["recreation"] == [option]
    assert lab.writes == before


def test_labels_are_kept_and_removed_by_name(lab):
    cluster(lab, **GUIDE_A)
    result = cluster(lab, name="demo", labels={"team": "ml"}, remove_labels=["guide"])
    assert len(result["actions"]) == 1
    labels = lab.cluster()["resourceLabels"]
    assert (labels["created-by"], labels["team"]) == ("ai-on-gke", "ml")
    assert "guide" not in labels


def test_an_upgrade_is_planned_by_number_and_a_newer_cluster_is_left(lab):
    versions = lab.google.server_config("us-central1")["validMasterVersions"]
    oldest = min(versions, key=lambda version: [int(part) for part in version.replace("-gke", "").split(".")])
    cluster(lab, name="demo", version=oldest)
    assert lab.cluster()["currentMasterVersion"] == oldest
    minor = ".".join(versions[0].split(".")[:2])
    upgraded = cluster(lab, name="demo", version=minor)
    assert upgraded["changed"]
    assert lab.cluster()["currentMasterVersion"].startswith(f"{minor}.")
    left = cluster(lab, name="demo", version=oldest)
    assert (left["changed"], len(left["notes"])) == (False, 1)


def test_a_version_that_is_not_offered_is_refused_with_what_is(lab):
    result = cluster(lab, name="demo", version="1.99")
    assert (result["failed"], result["error_kind"]) == (True, "version")
    assert result["offered"]
    assert lab.writes == 0


def test_out_of_time_then_taken_over(lab):
    late = cluster(lab, **GUIDE_A, timeout_seconds=10)
    assert (late["failed"], late["error_kind"]) == (True, "timeout")
    before = lab.writes
    result = cluster(lab, **GUIDE_A)
    assert (result["failed"], result["cluster"]["status"]) == (False, "RUNNING")
    assert lab.writes == before


def test_a_failed_creation_is_a_failure_and_stays_one(lab):
    lab.cloud.faults.set("operation-fails", remaining=1, cluster="demo", type="CREATE_CLUSTER")
    result = cluster(lab, **GUIDE_A)
    assert (result["failed"], result["error_kind"]) == (True, "other")
    assert "operation-" in result["msg"]
    again = cluster(lab, **GUIDE_A)
    assert (again["failed"], again["changed"], again["degraded"]) == (True, False, True)
    assert "its status is ERROR" in again["msg"]


def test_an_operation_that_is_forgotten_is_judged_by_the_cluster(lab):
    lab.cloud.faults.set("operation-lost", type="CREATE_CLUSTER")
    result = cluster(lab, **GUIDE_A)
    assert (result["failed"], result["cluster"]["status"]) == (False, "RUNNING")


def test_deleting_waits_for_what_is_in_the_way(lab):
    cluster(lab, **GUIDE_A)
    lab.cloud.faults.set("maintenance", remaining=1, seconds=300)
    result = cluster(lab, name="demo", state="absent")
    assert (result["failed"], result["changed"]) == (False, True)
    assert lab.cluster() is None


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        pytest.param({"name": "Demo"}, "lower-case", id="name"),
        pytest.param({"name": "demo", "labels": {"A": "b"}}, "lower-case", id="label"),
        pytest.param(
            {"name": "demo", "monitoring": {"managed_prometheus": False, "auto_monitoring": "all"}},
            "needs monitoring.managed_prometheus",
            id="auto-monitoring",
        ),
        pytest.param({"name": "demo", "location": "mars"}, "neither a region", id="location"),
    ],
)
def test_bad_input_is_refused_before_any_call(lab, options, problem):
    result = cluster(lab, **options)
    assert result["reason"] == "InvalidInput"
    assert problem in result["msg"]
    assert lab.server.requests.reads == lab.writes == 0
