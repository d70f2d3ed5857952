# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every recorded refusal and failed operation has its kind, and only the right ones are tried again."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.operations import (
    container_operation,
    health,
    longrunning_operation,
    named_operation,
    refusal_kind,
    worth_another_try,
)

STOCKOUT = (
    "Google Compute Engine: Not all instances running in IGM after 35m4s. Expected 1, running 0, "
    "transitioning 1. Current errors: [GCE_STOCKOUT]: Instance 'gke-demo-1' creation failed: The zone "
    "'projects/p/zones/us-central1-a' does not have enough resources available to fulfill the request."
)
LATE_QUOTA = (
    "Google Compute Engine: Not all instances running in IGM. Current errors: [GCE_QUOTA_EXCEEDED]: "
    "Instance 'gke-demo-1' creation failed: Quota 'IN_USE_ADDRESSES' exceeded. Limit: 8.0 in region "
    "us-central1."
)
EARLY_QUOTA = (
    'Insufficient regional quota to satisfy request: resource "PREEMPTIBLE_NVIDIA_L4_GPUS": request requires '
    "'1.0' and is short '1.0'."
)
BUSY = "Cluster is running incompatible operation operation-1767225600000-0a1b2c3d."
OLD_BUSY = (
    "Operation operation-1-2 is currently creating a node pool for cluster demo. Please wait and try again "
    "once it is done."
)
TOO_MANY = 'Too many operations: cluster "demo" hits the concurrent operations quota 5.'
DISABLED = "Kubernetes Engine API has not been used in project 1 before or it is disabled."

REFUSALS = {
    "C41-busy": (400, "CLUSTER_ALREADY_HAS_OPERATION", BUSY, "conflict", True),
    "C41-busy-without-a-reason": (400, "", BUSY, "conflict", True),
    "C41-busy-in-the-older-words": (400, "", OLD_BUSY, "conflict", True),
    "C41-too-many-operations": (429, "", TOO_MANY, "conflict", True),
    "C41-too-many-requests": (429, "RATE_LIMIT_EXCEEDED", "Resource has been exhausted.", "quota", True),
    "C41-another-precondition": (400, "", "Node pool must have at least one zone.", "invalid", False),
    "C41-other-400": (400, "", "Invalid value for field config.machineType.", "invalid", False),
    "C42-quota-before-creation-is-no-permission": (403, "", EARLY_QUOTA, "quota", False),
    "C42-project-quota": (403, "", "Insufficient project quota: GPUS_ALL_REGIONS", "quota", False),
    "C41-permission": (
        403,
        "IAM_PERMISSION_DENIED",
        'Required "container.clusters.create"',
        "permission",
        False,
    ),
    "api-off": (403, "SERVICE_DISABLED", DISABLED, "not_enabled", False),
    "api-off-without-a-reason": (403, "", DISABLED, "not_enabled", False),
    "unauthenticated": (401, "", "Request had invalid authentication credentials.", "permission", False),
    "version": (400, "", 'Master version "1.14.7-gke.10" is unsupported.', "version", False),
    "C42-exists": (409, "", "Already exists: projects/p/…/nodePools/gpu-pool.", "conflict", False),
    "stale-labels": (412, "", "Labels could not be set due to fingerprint mismatch.", "conflict", False),
    "missing": (404, "", "Not found: projects/p/…/clusters/demo.", "not_found", False),
    "unavailable": (503, "", "The service is currently unavailable.", "unavailable", True),
    "internal": (500, "", "Internal error encountered.", "unavailable", True),
}


@pytest.mark.parametrize(("status", "reason", "message", "kind", "again"), REFUSALS.values(), ids=REFUSALS)
def test_refusal(status, reason, message, kind, again):
    assert refusal_kind(status, reason, message) == kind
    assert worth_another_try(status, reason, message) is again


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (BUSY, "operation-1767225600000-0a1b2c3d"),
        (OLD_BUSY, "operation-1-2"),
        (TOO_MANY, ""),
        ("operation failed", ""),
    ],
    ids=["C41-named", "C41-named-in-the-older-words", "C41-unnamed", "a-word"],
)
def test_the_operation_in_the_way(message, name):
    assert named_operation(message) == name


def operation(**more) -> dict:
    link = "https://container.googleapis.com/v1/projects/1/zones/us-central1/clusters/demo/nodePools/gpu-pool"
    return {
        "name": "operation-1",
        "operationType": "CREATE_NODE_POOL",
        "status": "DONE",
        "targetLink": link,
        **more,
    }


OPERATIONS = {
    "running": ({"status": "RUNNING"}, False, "other"),
    "done": ({}, False, "other"),
    "C42-stockout": ({"error": {"code": 8, "message": STOCKOUT}}, True, "stockout"),
    "C42-stockout-by-condition": (
        {
            "error": {"code": 8, "message": "failed"},
            "nodepoolConditions": [{"code": "GCE_STOCKOUT", "message": "none"}],
        },
        True,
        "stockout",
    ),
    "C42-late-quota": ({"error": {"code": 8, "message": LATE_QUOTA}}, True, "quota"),
    "C42-exhausted-without-words": ({"error": {"code": 8, "message": "failed"}}, True, "quota"),
    "C42-status-message-alone": ({"statusMessage": STOCKOUT}, True, "stockout"),
    "permission": ({"error": {"code": 7, "message": "denied"}}, True, "permission"),
    "internal": ({"error": {"code": 13, "message": "Internal error."}}, True, "other"),
}


@pytest.mark.parametrize(("more", "failed", "kind"), OPERATIONS.values(), ids=OPERATIONS)
def test_operation(more, failed, kind):
    found = container_operation(operation(**more))
    assert (found.failed, found.kind) == (failed, kind)
    assert found.done == (more.get("status") != "RUNNING")
    assert found.target == "clusters/demo/nodePools/gpu-pool"


def test_repository_operations_have_the_other_shape():
    name = "projects/p/locations/l/operations/1"
    assert not longrunning_operation({"name": name}).done
    failed = longrunning_operation({"name": name, "done": True, "error": {"code": 13, "message": "no"}})
    assert (failed.done, failed.failed, failed.message) == (True, True, "no")


def test_progress_is_text():
    metrics = [{"name": "nodes total", "intValue": "2"}, {"name": "nodes done", "intValue": "1"}]
    found = container_operation(operation(status="RUNNING", progress={"metrics": metrics}))
    assert found.progress == "nodes total 2, nodes done 1"


HEALTH = {
    "running": ({"status": "RUNNING"}, (True, False, False, "other")),
    "C42-running-with-old-conditions": (
        {"status": "RUNNING", "conditions": [{"code": "GCE_STOCKOUT"}]},
        (True, False, False, "other"),
    ),
    "C42-stocked-out": (
        {"status": "ERROR", "statusMessage": STOCKOUT},
        (True, True, True, "stockout"),
    ),
    "C42-half-there": (
        {"status": "RUNNING_WITH_ERROR", "conditions": [{"code": "GCE_QUOTA_EXCEEDED"}]},
        (True, True, False, "quota"),
    ),
    "being-made": ({"status": "PROVISIONING"}, (False, False, False, "other")),
    "a-status-of-the-future": ({"status": "NAPPING"}, (True, False, False, "other")),
}


@pytest.mark.parametrize(("live", "expected"), HEALTH.values(), ids=HEALTH)
def test_health(live, expected):
    found = health(live)
    assert (found.settled, found.degraded, found.broken, found.kind) == expected
