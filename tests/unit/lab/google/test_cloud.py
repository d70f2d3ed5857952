# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Operations, machines and faults: what runs beside what, when it ends, and how it fails."""

from __future__ import annotations

import json

import pytest

from ansible_collections.inference.dra.lab.google.cloud import (
    Limits,
    MachineError,
    QuotaError,
    StockoutError,
)

REGION = "/v1/projects/test-project/locations/us-central1"
CLUSTER = REGION + "/clusters/demo"
POOLS = CLUSTER + "/nodePools"
GPU = POOLS + "/gpu-pool"
ZONE = "us-central1-a"


def operation(google, name):
    return google.get(f"{REGION}/operations/{name}")


def start_pool(google, name="p", **more):
    body = {"name": name, "initialNodeCount": 1, "locations": [ZONE], **more}
    status, answer = google.ask("POST", POOLS, {"nodePool": body})
    assert status == 200, answer
    return answer


# What may run side by side.


def test_different_pools_change_side_by_side_up_to_the_quota(demo):
    for index in range(5):
        start_pool(demo, f"p{index}")
    status, error = demo.refused("POST", POOLS, {"nodePool": {"name": "p5"}})
    assert (status, error["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert error["message"].startswith(
        'Too many operations: cluster "demo" hits the concurrent operations quota 5'
    )
    demo.wait()
    start_pool(demo, "p5")


CONFLICTS = {
    "cluster-update-beside-pool-create": ("PUT", CLUSTER, {"update": {"desiredMasterVersion": "-"}}),
    "cluster-delete-beside-pool-create": ("DELETE", CLUSTER, None),
    "same-pool-delete": ("DELETE", POOLS + "/p", None),
    "same-pool-size": ("POST", POOLS + "/p:setSize", {"nodeCount": 2}),
    "autoscaling-is-a-cluster-update": (
        "POST",
        POOLS + "/default-pool:setAutoscaling",
        {"autoscaling": {"enabled": True, "maxNodeCount": 2}},
    ),
}


@pytest.mark.parametrize(("method", "path", "body"), CONFLICTS.values(), ids=CONFLICTS.keys())
def test_conflicting_change_names_the_operation_in_the_way(demo, method, path, body):
    running = start_pool(demo)["name"]
    status, error = demo.refused(method, path, body)
    assert (status, error["status"]) == (400, "FAILED_PRECONDITION")
    assert error["message"] == f"Cluster is running incompatible operation {running}."
    assert error["details"] == [
        {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "CLUSTER_ALREADY_HAS_OPERATION",
            "domain": "container.googleapis.com",
        }
    ]


def test_pool_change_beside_cluster_update_is_refused(demo):
    demo.ask("PUT", CLUSTER, {"update": {"desiredReleaseChannel": {"channel": "RAPID"}}})
    assert demo.refused("POST", POOLS, {"nodePool": {"name": "p"}})[0] == 400


def test_gke_starts_an_operation_of_its_own(demo):
    demo.faults.set("maintenance", remaining=1, seconds=60)
    _status, error = demo.refused("POST", POOLS, {"nodePool": {"name": "p"}})
    name = error["message"].split()[-1].rstrip(".")
    assert operation(demo, name)["status"] == "RUNNING"
    demo.wait(61)
    assert operation(demo, name)["status"] == "DONE"
    start_pool(demo)


# Machines.


def test_pool_view(gpu):
    view = gpu.cloud.pools()[1]
    assert (view.project, view.location, view.cluster, view.name) == (
        "test-project",
        "us-central1",
        "demo",
        "gpu-pool",
    )
    assert view.sizes == view.wanted == {ZONE: 1}
    assert view.limits == Limits(True, 0, 2, False, "ANY")
    assert view.message["config"]["machineType"] == "g2-standard-8"


def test_operation_waits_for_every_zone(demo):
    name = start_pool(demo, locations=[ZONE, "us-central1-b"])["name"]
    demo.wait(machines=False)
    demo.cloud.observed("demo", "p", ZONE, 1)
    assert operation(demo, name)["status"] == "RUNNING"
    demo.cloud.observed("demo", "p", "us-central1-b", 1)
    assert operation(demo, name)["status"] == "DONE"


def test_new_machine_type_waits_for_machines_of_the_new_revision(gpu):
    _unused, started = gpu.ask("PUT", GPU, {"machineType": "g2-standard-12"})
    gpu.wait(machines=False)
    view = gpu.cloud.pools()[1]
    assert view.message["config"]["machineType"] == "g2-standard-12"
    gpu.cloud.observed("demo", "gpu-pool", ZONE, 1, revision=view.revision - 1)
    assert operation(gpu, started["name"])["status"] == "RUNNING"
    gpu.cloud.observed("demo", "gpu-pool", ZONE, 1, revision=view.revision)
    assert operation(gpu, started["name"])["status"] == "DONE"


def test_labels_reach_running_machines(gpu):
    before = gpu.cloud.pools()[1].revision
    gpu.change("PUT", GPU, {"labels": {"labels": {"k": "v"}}})
    assert gpu.cloud.pools()[1].revision == before


def test_autoscaler_resizes_without_an_operation(gpu):
    seen = []
    gpu.cloud.listeners.append(lambda change: seen.append((change.kind, change.name)))
    gpu.cloud.resize("demo", "gpu-pool", ZONE, 2, "autoscaler")
    assert gpu.cloud.pools()[1].sizes == {ZONE: 2}
    assert ("pool", "us-central1/demo/gpu-pool") in seen
    assert all(op["status"] == "DONE" for op in gpu.get(REGION + "/operations")["operations"])


def test_resize_of_a_zone_the_pool_does_not_have(gpu):
    with pytest.raises(MachineError, match="no zone us-central1-b"):
        gpu.cloud.resize("demo", "gpu-pool", "us-central1-b", 1, "autoscaler")


@pytest.mark.parametrize(("actor", "sizes"), [("autoscaler", {ZONE: 0}), ("preemption", {ZONE: 1})], ids=str)
def test_instance_goes_and_comes_back_unless_scaled_down(gpu, actor, sizes):
    gpu.cloud.delete_instance("demo", "gpu-pool", ZONE, "gke-demo-gpu-pool-1", actor)
    assert gpu.cloud.pools()[1].sizes == sizes


# Stock-outs.


def test_stockout_at_creation(demo):
    demo.faults.set("stockout", machine_type="g2-standard-8")
    failed = demo.create_pool()
    assert failed["status"] == "DONE"
    assert failed["error"]["code"] == 8
    assert failed["error"]["message"] == failed["statusMessage"]
    assert failed["statusMessage"].startswith(
        "Google Compute Engine: Not all instances running in IGM after 35m4s. Expected 1, "
        "running 0, transitioning 1. Current errors: [GCE_STOCKOUT]: Instance 'gke-demo-gpu-pool-"
    )
    assert (
        "The zone 'projects/test-project/zones/us-central1-a' does not have enough resources "
        "available to fulfill the request" in failed["statusMessage"]
    )
    assert failed["nodepoolConditions"][0]["code"] == "GCE_STOCKOUT"
    pool = demo.pool()
    assert pool["status"] == "ERROR"
    assert pool["conditions"][0]["canonicalCode"] == "RESOURCE_EXHAUSTED"


@pytest.mark.parametrize(
    ("parameters", "hits"),
    [
        pytest.param({"machine_type": "g2-*"}, True, id="pattern"),
        pytest.param({"machine_type": "n2-*"}, False, id="other-machine-type"),
        pytest.param({"provisioning": "spot"}, True, id="spot"),
        pytest.param({"provisioning": "on-demand"}, False, id="on-demand"),
        pytest.param({"zone": "us-central1-b"}, False, id="other-zone"),
        pytest.param({"pool": "gpu-pool", "cluster": "demo"}, True, id="pool"),
    ],
)
def test_stockout_is_narrowed(demo, parameters, hits):
    demo.faults.set("stockout", **parameters)
    assert ("error" in demo.create_pool()) is hits


def test_stockout_is_waited_for_as_long_as_google_tries(demo):
    demo.faults.set("stockout")
    name = start_pool(demo)["name"]
    demo.wait(2103)
    assert operation(demo, name)["status"] == "RUNNING"
    demo.wait(1)
    assert "error" in operation(demo, name)


def test_stocked_out_pool_recovers_when_machines_come_back(demo):
    demo.faults.set("stockout")
    demo.create_pool()
    assert demo.cloud.pools()[1].sizes == {ZONE: 0}
    demo.faults.clear()
    demo.wait()
    pool = demo.pool()
    assert pool["status"] == "RUNNING"
    assert "conditions" not in pool


def test_partial_stockout_leaves_a_pool_that_works_in_part(demo):
    demo.faults.set("stockout", zone="us-central1-b")
    answer = start_pool(demo, locations=[ZONE, "us-central1-b"])
    assert demo.ended(answer)["error"]["code"] == 8
    assert demo.pool("p")["status"] == "RUNNING_WITH_ERROR"


def test_empty_pool_is_created_in_a_stocked_out_zone(demo):
    demo.faults.set("stockout")
    assert "error" not in demo.ended(start_pool(demo, initialNodeCount=0))


def test_stockout_of_a_cluster_leaves_it_broken(google):
    google.faults.set("stockout", zone=ZONE)
    assert google.create_cluster()["clusterConditions"][0]["code"] == "GCE_STOCKOUT"
    assert google.get(CLUSTER)["status"] == "ERROR"
    google.change("DELETE", CLUSTER)


def test_stockout_at_scale_up_only(gpu):
    gpu.faults.set("stockout", pool="gpu-pool", on="scale-up")
    with pytest.raises(StockoutError, match="does not have enough resources"):
        gpu.cloud.resize("demo", "gpu-pool", ZONE, 2, "autoscaler")
    assert gpu.cloud.pools()[1].wanted == {ZONE: 1}
    gpu.cloud.resize("demo", "gpu-pool", ZONE, 0, "autoscaler")
    gpu.faults.clear("stockout")
    gpu.cloud.resize("demo", "gpu-pool", ZONE, 2, "autoscaler")


def test_stockout_on_creation_does_not_touch_scale_up(gpu):
    gpu.faults.set("stockout", on="create")
    gpu.cloud.resize("demo", "gpu-pool", ZONE, 2, "autoscaler")


def test_preempted_machine_does_not_come_back_during_a_stockout(gpu):
    gpu.faults.set("stockout")
    assert gpu.cloud.pools()[1].sizes == {ZONE: 1}
    gpu.cloud.delete_instance("demo", "gpu-pool", ZONE, "gke-demo-gpu-pool-1", "preemption")
    assert gpu.cloud.pools()[1].sizes == {ZONE: 0}


def test_setting_a_fault_tells_the_machines(gpu):
    seen = []
    gpu.cloud.listeners.append(lambda change: seen.append(change.kind))
    gpu.faults.clear(gpu.faults.set("stockout"))
    assert seen == ["fault", "fault"]


# Quota.


def test_quota_is_checked_before_anything_is_made(demo):
    demo.faults.set("quota", metric="PREEMPTIBLE_NVIDIA_L4_GPUS", limit=1)
    config = {"machineType": "g2-standard-8", "spot": True}
    body = {"name": "p", "initialNodeCount": 2, "locations": [ZONE], "config": config}
    status, error = demo.refused("POST", POOLS, {"nodePool": body})
    assert (status, error["status"]) == (403, "PERMISSION_DENIED")
    assert error["message"] == (
        'Insufficient regional quota to satisfy request: resource "PREEMPTIBLE_NVIDIA_L4_GPUS": '
        "request requires '2.0' and is short '1.0'. project has a quota of '1.0' with '1.0' "
        "available."
    )
    assert demo.refused("GET", POOLS + "/p")[0] == 404


def test_project_quota(demo):
    demo.faults.set("quota", metric="GPUS_ALL_REGIONS", limit=0)
    config = {"machineType": "g2-standard-8"}
    body = {"name": "p", "initialNodeCount": 1, "locations": [ZONE], "config": config}
    _unused, error = demo.refused("POST", POOLS, {"nodePool": body})
    assert error["message"].startswith("Insufficient project quota")


def test_quota_at_scale_up(gpu):
    gpu.faults.set("quota", metric="PREEMPTIBLE_NVIDIA_L4_GPUS", limit=1)
    with pytest.raises(QuotaError) as refusal:
        gpu.cloud.resize("demo", "gpu-pool", ZONE, 2, "autoscaler")
    assert str(refusal.value) == (
        "Quota 'PREEMPTIBLE_NVIDIA_L4_GPUS' exceeded. Limit: 1.0 in region us-central1."
    )


def test_quota_that_shows_only_later(demo):
    demo.faults.set("quota", metric="IN_USE_ADDRESSES", limit=8, late=True)
    failed = demo.create_pool()
    assert failed["error"]["code"] == 8
    assert failed["nodepoolConditions"][0]["code"] == "GCE_QUOTA_EXCEEDED"
    assert failed["statusMessage"].endswith(
        "creation failed: Quota 'IN_USE_ADDRESSES' exceeded. Limit: 8.0 in region us-central1."
    )


# Operations that go wrong.


def test_operation_fails(demo):
    demo.faults.set("operation-fails", type="CREATE_NODE_POOL", remaining=1)
    failed = demo.ended(start_pool(demo))
    assert failed["error"] == {"code": 13, "message": "Internal error."}
    assert demo.pool("p")["status"] == "RUNNING_WITH_ERROR"
    assert "error" not in demo.ended(start_pool(demo, "q"))


def test_failed_update_leaves_the_cluster_as_it_was(demo):
    demo.faults.set("operation-fails")
    demo.change("PUT", CLUSTER, {"update": {"desiredReleaseChannel": {"channel": "RAPID"}}})
    after = demo.get(CLUSTER)
    assert (after["status"], after["releaseChannel"]["channel"]) == ("RUNNING", "REGULAR")


def test_operation_is_stuck_until_the_fault_is_cleared(demo):
    demo.faults.set("operation-stuck", pool="p")
    answer = start_pool(demo)
    assert demo.ended(answer)["status"] == "RUNNING"
    demo.faults.clear()
    assert demo.ended(answer)["status"] == "DONE"


def test_operation_is_lost(demo):
    demo.faults.set("operation-lost", type="CREATE_NODE_POOL", remaining=2)
    name = start_pool(demo)["name"]
    for _unused in range(2):
        assert demo.refused("GET", f"{REGION}/operations/{name}")[0] == 404
    assert operation(demo, name)["name"] == name


# Going on after the process died.


def test_state_goes_on_from_its_json(gpu, make_google):
    gpu.faults.set("stockout", pool="p")
    started = start_pool(gpu)
    kept = json.loads(json.dumps(gpu.cloud.snapshot()))
    again = make_google(clock=gpu.clock, state=kept)
    assert again.cloud.snapshot() == gpu.cloud.snapshot()
    assert again.get(CLUSTER) == gpu.get(CLUSTER)
    assert again.faults.list() == gpu.faults.list()
    assert again.ended(started)["error"]["code"] == 8


def test_names_repeat_with_the_seed_and_never_within_a_cloud(gpu):
    names = [op["name"] for op in gpu.get(REGION + "/operations")["operations"]]
    assert len(set(names)) == len(names) == 2


def test_old_operations_are_forgotten(demo):
    for number in range(510):
        body = {"autoscaling": {"enabled": True, "maxNodeCount": 1 + number}}
        demo.ask("POST", POOLS + "/default-pool:setAutoscaling", body)
        demo.wait(100)
    assert len(demo.get(REGION + "/operations")["operations"]) <= 501
