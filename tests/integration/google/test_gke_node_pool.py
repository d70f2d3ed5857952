# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gke_node_pool against the lab's Google: lifecycle, drift, conflicts and every kind of failure."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.fields import take

GPU_POOL = {
    "name": "gpu-pool",
    "machine_type": "g2-standard-8",
    "accelerators": [{"type": "nvidia-l4", "count": 1, "gpu_driver_version": "disabled"}],
    "spot": True,
    "locations": ["us-central1-a"],
    "initial_node_count": 1,
    "autoscaling": {"min_node_count": 0, "max_node_count": 2},
    "labels": {"cloud.google.com/gke-nvidia-gpu-dra-driver": "true"},
    "taints": [{"key": "cloud.google.com/compute-class", "value": "fungible"}],
}
CPU_POOL = {
    "name": "cpu-pool",
    "machine_type": "n2-standard-16",
    "spot": True,
    "locations": ["us-central1-a"],
    "initial_node_count": 1,
    "autoscaling": {"min_node_count": 1, "max_node_count": 2},
}


def pools(lab, *wanted, **options) -> dict:
    return lab.run("gke_node_pool", cluster="demo", node_pools=list(wanted), **options)


def test_create_then_nothing_to_do(cluster):
    first = pools(cluster, GPU_POOL, CPU_POOL)
    assert (first["failed"], first["changed"]) == (False, True)
    assert [pool["status"] for pool in first["node_pools"]] == ["RUNNING", "RUNNING"]
    before = cluster.writes
    second = pools(cluster, GPU_POOL, CPU_POOL)
    assert (second["failed"], second["changed"], second["actions"]) == (False, False, [])
    assert cluster.writes == before


def test_pools_are_created_side_by_side(cluster):
    started = cluster.clock.monotonic()
    result = pools(cluster, GPU_POOL, CPU_POOL)
    together = cluster.clock.monotonic() - started
    assert len(result["operations"]) == 2
    started = cluster.clock.monotonic()
    pools(cluster, {**CPU_POOL, "name": "third-pool"})
    assert together < 1.5 * (cluster.clock.monotonic() - started)


def test_check_mode_writes_nothing_and_tells_all(cluster):
    before = cluster.writes
    result = pools(cluster, GPU_POOL, CPU_POOL, check_mode=True)
    assert cluster.writes == before
    assert result["changed"]
    assert result["actions"] == ["create NodePool demo/gpu-pool", "create NodePool demo/cpu-pool"]
    assert result["diff"]["before"] == {
        "NodePool demo/gpu-pool": {},
        "NodePool demo/cpu-pool": {},
    }
    assert result["diff"]["after"]["NodePool demo/gpu-pool"]["machine_type"] == "g2-standard-8"
    assert cluster.pool("gpu-pool") is None


def test_check_mode_before_the_cluster_exists(lab):
    result = pools(lab, GPU_POOL, check_mode=True)
    assert (result["failed"], result["changed"]) == (False, True)
    assert lab.writes == 0
    refused = pools(lab, GPU_POOL)
    assert (refused["failed"], refused["error_kind"]) == (True, "not_found")


DRIFTS = {
    "C38-labels": ({"labels": {"new": "label"}}, "config.labels.new", "label"),
    "C38-taints": (
        {"taints": [{"key": "new", "value": "v", "effect": "NoExecute"}]},
        "config.taints",
        None,
    ),
    "C38-maximum": (
        {"autoscaling": {"min_node_count": 0, "max_node_count": 3}},
        "autoscaling.maxNodeCount",
        3,
    ),
    "C38-zones": (
        {"locations": ["us-central1-a", "us-central1-b"]},
        "locations",
        ["us-central1-a", "us-central1-b"],
    ),
    "C38-repair": ({"management": {"auto_repair": False}}, "management", {"autoUpgrade": True}),
    "C38-surge": ({"upgrade": {"max_surge": 2}}, "upgradeSettings.maxSurge", 2),
    "C38-driver": (
        {"accelerators": [{**GPU_POOL["accelerators"][0], "gpu_driver_version": "latest"}]},
        "config.accelerators.0.gpuDriverInstallationConfig.gpuDriverVersion",
        "LATEST",
    ),
    "C38-resource-labels": ({"resource_labels": {"cost": "ml"}}, "config.resourceLabels.cost", "ml"),
    "C38-tags": ({"tags": ["web"]}, "config.tags", ["web"]),
}


@pytest.mark.parametrize(("change", "path", "value"), DRIFTS.values(), ids=DRIFTS)
def test_a_difference_is_changed_in_place(cluster, change, path, value):
    pools(cluster, GPU_POOL)
    created = cluster.pool("gpu-pool")
    wanted = {**GPU_POOL, **change}
    planned = pools(cluster, wanted, check_mode=True)
    result = pools(cluster, wanted)
    assert (result["failed"], result["changed"]) == (False, True)
    assert result["actions"] == planned["actions"]
    assert result["diff"] == planned["diff"]
    now = cluster.pool("gpu-pool")
    assert value is None or take(now, path) == value
    assert created["config"]["labels"].items() <= now["config"]["labels"].items()
    assert {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"} in now["config"]["taints"]
    assert created["config"]["taints"][0] in now["config"]["taints"]
    assert not pools(cluster, wanted)["changed"]


def test_C39_what_nobody_named_stays(cluster):  # noqa: N802 - field case
    old = {"labels": {"a": "1"}, "resource_labels": {"a": "1"}, "tags": ["a"]}
    pools(cluster, {**GPU_POOL, **old})
    result = pools(
        cluster, {"name": "gpu-pool", "labels": {"b": "2"}, "resource_labels": {"b": "2"}, "tags": ["b"]}
    )
    assert len(result["actions"]) == 3
    assert result["diff"]["before"]["NodePool demo/gpu-pool"]["labels"] == {"a": "1"}
    assert result["diff"]["after"]["NodePool demo/gpu-pool"]["labels"] == {"a": "1", "b": "2"}
    config = cluster.pool("gpu-pool")["config"]
    assert config["labels"] == {"a": "1", "b": "2"}
    assert config["resourceLabels"].items() >= {"a": "1", "b": "2"}.items()
    assert config["tags"] == ["a", "b"]


FILLED_IN = {
    "C40-driver-version": ({"accelerators": [{"type": "nvidia-l4", "count": 1}]}, "accelerators"),
    "C40-gpu-taint": ({"taints": [{"key": "k", "value": "v"}]}, "taints"),
    "C40-disk-scopes-and-image": ({}, "diskSizeGb"),
    "C40-resource-labels": ({"resource_labels": {"cost": "ml"}}, "resourceLabels"),
    "C40-networks-of-a-profile": ({"network": {"accelerator_profile": "auto"}}, ""),
}


@pytest.mark.parametrize(("stated", "field"), FILLED_IN.values(), ids=FILLED_IN)
def test_what_the_server_fills_in_is_no_difference(lab, stated, field):
    lab.run("gke_cluster", name="demo", dataplane_v2=True)
    wanted = {"name": "pool", "machine_type": "g2-standard-8", **stated}
    wanted.setdefault("accelerators", [{"type": "nvidia-l4", "count": 1}])
    made = pools(lab, wanted)
    assert (made["failed"], made["notes"]) == (False, []), made
    assert not field or lab.pool("pool")["config"][field]
    before = lab.writes
    again = pools(lab, wanted)
    assert (again["changed"], again["actions"]) == (False, [])
    assert lab.writes == before


def test_C39_removing_is_asked_for_by_name(cluster):  # noqa: N802 - field case
    pools(cluster, {**GPU_POOL, "labels": {"a": "1", "b": "2"}})
    asked = {"name": "gpu-pool", "remove": {"labels": ["a"], "taints": ["nvidia.com/none"]}}
    assert pools(cluster, asked)["changed"]
    assert cluster.pool("gpu-pool")["config"]["labels"] == {"b": "2"}
    assert not pools(cluster, asked)["changed"]


def test_recreation_is_refused_with_the_list_and_done_when_allowed(cluster):
    pools(cluster, GPU_POOL)
    wanted = {**GPU_POOL, "spot": False, "labels": {"new": "label"}}
    before = cluster.writes
    refused = pools(cluster, wanted, CPU_POOL)
    assert refused["reason"] == "NeedsRecreation"
    assert refused["recreation"] == ["spot"]
    assert "capacity may not come back" in refused["msg"]
    assert cluster.writes == before  # the other pool waits for a decision too
    done = pools(cluster, wanted, recreate=True)
    assert done["actions"] == ["delete NodePool demo/gpu-pool", "create NodePool demo/gpu-pool"]
    now = cluster.pool("gpu-pool")
    assert "spot" not in now["config"]
    assert now["config"]["labels"].keys() >= {"new", "cloud.google.com/gke-nvidia-gpu-dra-driver"}
    assert not pools(cluster, wanted)["changed"]


def test_C43_sizes_are_reported_in_total(cluster):  # noqa: N802 - field case
    wanted = {**CPU_POOL}
    del wanted["locations"]
    planned = pools(cluster, wanted, check_mode=True)
    assert planned["node_pools"][0]["nodes"] == {"minimum": 3, "initial": 3, "maximum": 6}
    assert pools(cluster, wanted)["node_pools"][0]["nodes"]["maximum"] == 6


FIXED_POOL = {"name": "fixed-pool", "machine_type": "n2-standard-4", "initial_node_count": 1}


def machines(lab, name: str) -> list[int]:
    return lab.google.group_sizes(lab.pool(name))


def test_C43_a_pool_without_autoscaling_is_resized_in_place(cluster):  # noqa: N802 - field case
    pools(cluster, FIXED_POOL)
    wanted = {**FIXED_POOL, "initial_node_count": 2}
    planned = pools(cluster, wanted, check_mode=True)
    assert machines(cluster, "fixed-pool") == [1, 1, 1]
    result = pools(cluster, wanted)
    assert (result["failed"], result["actions"]) == (False, planned["actions"])
    assert result["node_pools"][0]["nodes"]["initial"] == 6
    assert machines(cluster, "fixed-pool") == [2, 2, 2]
    before = cluster.writes
    assert not pools(cluster, wanted)["changed"]
    assert cluster.writes == before


def test_C43_a_resize_by_hand_is_seen(cluster):  # noqa: N802 - field case
    pools(cluster, FIXED_POOL)
    path = cluster.google.pool_name("us-central1", "demo", "fixed-pool")
    cluster.google.start("set_node_pool_size", path, {"nodeCount": 3})
    cluster.clock.sleep(600)
    assert pools(cluster, FIXED_POOL)["changed"]
    assert machines(cluster, "fixed-pool") == [1, 1, 1]


def test_C43_the_size_an_autoscaler_gave_is_no_difference(cluster):  # noqa: N802 - field case
    pools(cluster, CPU_POOL)
    path = cluster.google.pool_name("us-central1", "demo", "cpu-pool")
    cluster.google.start("set_node_pool_size", path, {"nodeCount": 2})
    cluster.clock.sleep(600)
    assert not pools(cluster, CPU_POOL)["changed"]
    assert machines(cluster, "cpu-pool") == [2]


def test_C43_without_the_right_to_look_the_count_of_the_creation_counts(cluster):  # noqa: N802 - field case
    pools(cluster, FIXED_POOL)
    cluster.fault("permission-denied", permission="compute.instanceGroupManagers.get")
    assert not pools(cluster, FIXED_POOL)["changed"]
    assert pools(cluster, {**FIXED_POOL, "initial_node_count": 2}, check_mode=True)["changed"]


FAILURES = {
    "C42-stockout": (("stockout", {"pool": "gpu-pool"}), "stockout", True),
    "C42-quota-before": (
        ("quota", {"metric": "PREEMPTIBLE_NVIDIA_L4_GPUS", "limit": 0}),
        "quota",
        False,
    ),
    "C42-quota-late": (
        ("quota", {"metric": "PREEMPTIBLE_NVIDIA_L4_GPUS", "limit": 0, "late": True, "pool": "gpu-pool"}),
        "quota",
        True,
    ),
    "permission": (("permission-denied", {"permission": "container.clusters.update"}), "permission", False),
    "not-enabled": (("service-disabled", {"service": "container.googleapis.com"}), "not_enabled", False),
    "internal-error": (("operation-fails", {"pool": "gpu-pool", "type": "CREATE_NODE_POOL"}), "other", True),
}


@pytest.mark.parametrize(("fault", "kind", "stays"), FAILURES.values(), ids=FAILURES)
def test_a_failed_creation_is_a_failure_of_its_kind(cluster, fault, kind, stays):
    cluster.fault(fault[0], **fault[1])
    result = pools(cluster, GPU_POOL, CPU_POOL)
    assert result["failed"]
    assert result["error_kind"] == kind
    cluster.cloud.faults.clear()
    found = cluster.pool("gpu-pool")
    assert (found is not None) == stays
    if kind not in ("permission", "not_enabled"):
        gpu, cpu = result["node_pools"]
        assert (gpu["error_kind"], gpu["degraded"]) == (kind, True)
        assert (cpu["status"], cpu["degraded"]) == ("RUNNING", False)  # the other pool was made
        assert result["changed"]


def test_C42_a_stocked_out_pool_can_be_kept_and_is_adopted(cluster):  # noqa: N802 - field case
    cluster.fault("stockout", pool="gpu-pool")
    kept = pools(cluster, GPU_POOL, CPU_POOL, on_error="keep")
    assert (kept["failed"], kept["changed"], kept["degraded"]) == (False, True, True)
    assert kept["error_kind"] == "stockout"
    again = pools(cluster, GPU_POOL, CPU_POOL, on_error="keep")
    assert (again["failed"], again["changed"], again["degraded"]) == (False, False, True)
    strict = pools(cluster, GPU_POOL, CPU_POOL)
    assert (strict["failed"], strict["error_kind"], strict["changed"]) == (True, "stockout", False)
    cluster.cloud.faults.clear()
    cluster.clock.sleep(600)
    cluster.clock.sleep(600)
    recovered = pools(cluster, GPU_POOL, CPU_POOL)
    assert (recovered["failed"], recovered["changed"], recovered["degraded"]) == (False, False, False)


def test_C42_a_stocked_out_pool_can_be_deleted(cluster):  # noqa: N802 - field case
    cluster.fault("stockout", pool="gpu-pool")
    result = pools(cluster, GPU_POOL, on_error="delete")
    assert (result["failed"], result["error_kind"]) == (True, "stockout")
    assert result["node_pools"][0]["status"] == "ABSENT"
    assert cluster.pool("gpu-pool") is None


def test_C41_maintenance_is_waited_for_by_name(cluster):  # noqa: N802 - field case
    cluster.cloud.faults.set("maintenance", remaining=1, seconds=300)
    started = cluster.clock.monotonic()
    result = pools(cluster, CPU_POOL)
    assert (result["failed"], result["changed"]) == (False, True)
    assert cluster.clock.monotonic() - started > 300


def test_C41_more_pools_than_gke_does_at_once(cluster):  # noqa: N802 - field case
    many = [{**CPU_POOL, "name": f"pool-{number}"} for number in range(7)]
    result = pools(cluster, *many)
    assert not result["failed"]
    assert {pool["status"] for pool in result["node_pools"]} == {"RUNNING"}


@pytest.mark.parametrize("code", [429, 500, 503])
def test_C41_a_storm_of_errors_is_ridden_out(cluster, code):  # noqa: N802 - field case
    cluster.cloud.faults.set("http-error", remaining=4, code=code, method="container.projects")
    result = pools(cluster, CPU_POOL)
    assert (result["failed"], result["changed"]) == (False, True)
    assert len(result["operations"]) == 1


def test_a_real_refusal_is_not_tried_again(cluster):
    method = "container.projects.locations.clusters.nodePools.create"
    cluster.fault("http-error", code=403, method=method)
    cluster.server.requests.reset()
    result = pools(cluster, CPU_POOL)
    assert (result["failed"], result["error_kind"]) == (True, "permission")
    assert cluster.server.requests.by_method[method] == 1


def test_out_of_time_names_the_operation_and_the_next_run_takes_it_over(cluster):
    late = pools(cluster, CPU_POOL, timeout_seconds=10)
    assert (late["failed"], late["error_kind"]) == (True, "timeout")
    [operation] = late["operations"]
    assert operation in late["msg"]
    before = cluster.writes
    result = pools(cluster, CPU_POOL)
    assert (result["failed"], result["node_pools"][0]["status"]) == (False, "RUNNING")
    assert cluster.writes == before


def test_an_operation_that_is_forgotten_is_judged_by_the_pool(cluster):
    cluster.cloud.faults.set("operation-lost", type="CREATE_NODE_POOL")
    result = pools(cluster, CPU_POOL)
    assert (result["failed"], result["node_pools"][0]["status"]) == (False, "RUNNING")
    cluster.fault("stockout", pool="gpu-pool")
    broken = pools(cluster, GPU_POOL)
    assert (broken["failed"], broken["error_kind"]) == (True, "stockout")


def test_absent_then_nothing_to_do(cluster):
    pools(cluster, GPU_POOL, CPU_POOL)
    before = cluster.writes
    planned = pools(cluster, {"name": "gpu-pool"}, state="absent", check_mode=True)
    assert planned["actions"] == ["delete NodePool demo/gpu-pool"]
    assert cluster.writes == before
    gone = pools(cluster, {"name": "gpu-pool"}, state="absent")
    assert (gone["failed"], gone["changed"]) == (False, True)
    assert cluster.pool("gpu-pool") is None
    assert cluster.pool("cpu-pool") is not None
    assert not pools(cluster, {"name": "gpu-pool"}, state="absent")["changed"]


def test_absent_without_a_cluster_is_met(lab):
    result = pools(lab, {"name": "gpu-pool"}, state="absent")
    assert (result["failed"], result["changed"]) == (False, False)


@pytest.mark.parametrize(
    ("pool", "problem"),
    [
        pytest.param({"name": "Pool"}, "lower-case", id="name"),
        pytest.param(
            {"name": "p", "spot": True, "flex_start": True}, "exclude each other", id="spot-and-flex-start"
        ),
        pytest.param({"name": "p", "locations": ["europe-west4-a"]}, "not in us-central1", id="foreign-zone"),
        pytest.param({"name": "p", "labels": {"x": True}}, "quote it", id="label-not-text"),
        pytest.param({"name": "p", "version": "v1.36"}, "not a GKE version", id="version"),
        pytest.param(
            {"name": "p", "autoscaling": {"max_node_count": 2, "total_max_node_count": 4}},
            "exclude each other",
            id="C43-two-sorts-of-limits",
        ),
    ],
)
def test_bad_input_is_refused_before_any_call(cluster, pool, problem):
    cluster.server.requests.reset()
    result = pools(cluster, pool)
    assert result["reason"] == "InvalidInput"
    assert problem in result["msg"]
    assert cluster.server.requests.reads == cluster.writes == 0


def test_a_version_that_is_not_offered_is_refused_with_what_is(cluster):
    result = pools(cluster, {**CPU_POOL, "version": "1.36.0-gke.999999"})
    assert (result["error_kind"], result["reason"]) == ("version", "VersionNotOffered")
    assert all(version.startswith("1.36") for version in result["offered"])
