# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is begun without waiting ends as if it had been waited for all along, the failures among it."""

from __future__ import annotations

import pytest

from .test_gke_node_pool import CPU_POOL, FAILURES, GPU_POOL, pools


def have_cluster(lab, **options) -> dict:
    return lab.run("gke_cluster", name="demo", **options)


def test_a_cluster_is_begun_and_followed(lab):
    started = lab.clock.monotonic()
    begun = have_cluster(lab, wait=False)
    assert lab.clock.monotonic() == started
    assert (begun["changed"], begun["cluster"]["status"], begun["degraded"]) == (True, "PROVISIONING", False)
    assert begun["actions"] == ["create Cluster demo"]
    assert (len(begun["operations"]), begun["notes"]) == (1, [])
    writes = lab.writes
    again = have_cluster(lab, wait=False)
    assert (again["changed"], again["cluster"]["status"], lab.writes) == (False, "PROVISIONING", writes)
    followed = have_cluster(lab)
    assert (followed["changed"], followed["cluster"]["status"], lab.writes) == (False, "RUNNING", writes)


def test_a_cluster_that_fails_after_it_was_begun_fails_the_run_that_waits(lab):
    have_cluster(lab, wait=False)
    lab.fault("operation-fails", type="CREATE_CLUSTER", cluster="demo", message="no subnet has room")
    followed = have_cluster(lab)
    assert followed["failed"]
    assert "no subnet has room" in followed["msg"]


def test_an_update_is_seen_through_and_done_once(lab):
    versions = lab.google.server_config("us-central1")["validMasterVersions"]
    have_cluster(lab, version=versions[-1])
    wanted = {"labels": {"team": "ml"}, "gateway_api": "standard", "version": versions[0]}
    planned = have_cluster(lab, check_mode=True, **wanted)
    assert len(planned["actions"]) == 3
    begun = have_cluster(lab, wait=False, **wanted)
    assert begun["actions"] == planned["actions"]
    writes = lab.writes
    assert (have_cluster(lab, **wanted)["changed"], lab.writes) == (False, writes)


def test_an_update_that_fails_fails_the_run_that_does_not_wait(cluster):
    pools(cluster, CPU_POOL)
    cluster.fault("operation-fails", pool="cpu-pool", message="upgrade went wrong")
    result = pools(cluster, {**CPU_POOL, "machine_type": "n2-standard-32"}, wait=False)
    assert result["failed"]
    assert "upgrade went wrong" in result["msg"]


def test_recreation_carries_over_what_nobody_named(cluster):
    pools(cluster, {**GPU_POOL, "labels": {"kept": "yes"}})
    changed = {key: value for key, value in GPU_POOL.items() if key != "labels"} | {"spot": False}
    begun = pools(cluster, changed, wait=False, recreate=True)
    assert begun["node_pools"][0]["status"] == "PROVISIONING"
    pools(cluster, changed, recreate=True)
    assert cluster.pool("gpu-pool")["config"]["labels"]["kept"] == "yes"


def test_a_deletion_is_begun_and_followed(cluster):
    begun = have_cluster(cluster, state="absent", wait=False)
    assert (begun["changed"], begun["cluster"]["status"]) == (True, "STOPPING")
    writes = cluster.writes
    assert have_cluster(cluster, state="absent")["cluster"]["status"] == "ABSENT"
    assert (cluster.cluster(), cluster.writes) == (None, writes)


def test_check_mode_begins_nothing(lab):
    result = have_cluster(lab, wait=False, check_mode=True)
    assert (result["changed"], result["actions"]) == (True, ["create Cluster demo"])
    assert lab.writes == 0


def test_pools_are_begun_and_followed(cluster):
    started = cluster.clock.monotonic()
    begun = pools(cluster, GPU_POOL, CPU_POOL, wait=False)
    assert cluster.clock.monotonic() == started
    assert [pool["status"] for pool in begun["node_pools"]] == ["PROVISIONING", "PROVISIONING"]
    assert begun["actions"] == ["create NodePool demo/gpu-pool", "create NodePool demo/cpu-pool"]
    assert not begun["degraded"]
    writes = cluster.writes
    assert not pools(cluster, GPU_POOL, CPU_POOL, wait=False)["changed"]
    followed = pools(cluster, GPU_POOL, CPU_POOL)
    assert [pool["status"] for pool in followed["node_pools"]] == ["RUNNING", "RUNNING"]
    assert (followed["changed"], followed["notes"], cluster.writes) == (False, [], writes)


def test_pools_wait_for_the_cluster_that_was_begun(lab):
    have_cluster(lab, wait=False)
    begun = pools(lab, CPU_POOL, wait=False)
    assert lab.cluster()["status"] == "RUNNING"
    assert begun["node_pools"][0]["status"] == "PROVISIONING"


@pytest.mark.parametrize("ended", [False, True], ids=["still-runs", "has-ended"])
@pytest.mark.parametrize("on_error", ["fail", "keep", "delete"])
@pytest.mark.parametrize(
    ("fault", "kind", "stays"),
    [value for value in FAILURES.values() if value[2]],
    ids=[name for name, value in FAILURES.items() if value[2]],
)
def test_a_creation_that_fails_after_it_was_begun_is_judged_as_any_other(  # noqa: PLR0917 - a table
    cluster, fault, kind, stays, on_error, ended
):
    cluster.fault(fault[0], **fault[1])
    begun = pools(cluster, GPU_POOL, CPU_POOL, wait=False, on_error=on_error)
    assert not begun["failed"]
    if ended:
        cluster.clock.sleep(3600)
    followed = pools(cluster, GPU_POOL, CPU_POOL, on_error=on_error)
    assert (followed["failed"], followed["error_kind"]) == (on_error != "keep", kind)
    gpu, cpu = followed["node_pools"]
    assert (gpu["error_kind"], gpu["degraded"], gpu["message"] != "") == (kind, True, True)
    assert (cpu["status"], cpu["degraded"]) == ("RUNNING", False)
    assert (cluster.pool("gpu-pool") is None) == (on_error == "delete")
    if on_error != "keep":
        assert followed["msg"].startswith("create NodePool demo/gpu-pool: ")


def test_a_pools_deletion_is_begun_and_followed(cluster):
    pools(cluster, CPU_POOL)
    begun = pools(cluster, CPU_POOL, state="absent", wait=False)
    assert (begun["changed"], begun["failed"]) == (True, False)
    assert [pool["status"] for pool in begun["node_pools"]] == ["STOPPING"]
    writes = cluster.writes
    pools(cluster, CPU_POOL, state="absent")
    assert (cluster.pool("cpu-pool"), cluster.writes) == (None, writes)
