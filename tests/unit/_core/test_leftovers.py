# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left and what it costs: nothing that exists is overlooked, nothing unknown is called gone."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core import leftovers
from ansible_collections.inference.dra.plugins.module_utils._core.operations import Operation

NOW = datetime(2026, 11, 30, 16, 1, 15, tzinfo=timezone.utc)
PRICES = leftovers.Prices({"gpu-pool": Decimal("0.341"), "cpu-pool": Decimal("0.254")})
PLAN = {
    "nodes": [
        {"alternative": "gpu", "node_pool": "gpu-pool"},
        {"alternative": "cpu", "node_pool": "cpu-pool"},
        {"alternative": "tpu", "node_pool": "tpu-pool"},
    ],
    "prices": {"gpu": {"usd_per_hour": 0.341}, "cpu": {"usd_per_hour": 0.254}},
}


def pool(name: str, **fields) -> dict:
    return {"name": name, "config": {}, "initialNodeCount": 1, "locations": ["us-central1-a"], **fields}


def growing(name: str, most: int) -> dict:
    return pool(name, autoscaling={"enabled": True, "minNodeCount": 0, "maxNodeCount": most})


def cluster(*pools: dict) -> dict:
    return {"name": "demo", "status": "RUNNING", "locations": ["us-central1-a"], "nodePools": list(pools)}


@pytest.mark.parametrize(
    ("live", "counted", "found"),
    [
        (None, None, []),
        (cluster(), {}, [("Cluster demo", None, "status RUNNING")]),
        (
            cluster(growing("gpu-pool", 2)),
            {"gpu-pool": 2},
            [("Cluster demo", None, "status RUNNING"), ("NodePool gpu-pool", "0.6820", "2 nodes")],
        ),
        (
            cluster(growing("gpu-pool", 2)),
            {},
            [("Cluster demo", None, "status RUNNING"), ("NodePool gpu-pool", "0.0000", "0 nodes")],
        ),
        (
            cluster(growing("gpu-pool", 3)),
            None,
            [("Cluster demo", None, "status RUNNING"), ("NodePool gpu-pool", "1.0230", "at most 3 nodes")],
        ),
        (
            cluster(pool("default-pool")),
            {"default-pool": 1},
            [("Cluster demo", None, "status RUNNING"), ("NodePool default-pool", None, "1 node")],
        ),
    ],
    ids=["absent", "no pools", "counted nodes", "empty pool", "not counted", "pool of no alternative"],
)
def test_cluster(live, counted, found):
    seen = leftovers.cluster_leftovers(live, PRICES, counted)
    assert [(each.subject, each.as_dict()["usd_per_hour"], each.detail) for each in seen] == found


def test_prices_lead_from_alternative_to_pool():
    assert leftovers.Prices.from_plan(PLAN) == PRICES
    assert leftovers.Prices.from_plan({}) == leftovers.Prices()


@pytest.mark.parametrize(
    ("target", "counts"),
    [
        ("clusters/demo", True),
        ("clusters/demo/nodePools/gpu-pool", True),
        ("clusters/demo-2", False),
        ("clusters/other/nodePools/demo", False),
    ],
    ids=["cluster", "its pool", "name that only begins so", "other cluster"],
)
def test_operation(target, counts):
    running = Operation("operation-1", "DELETE_CLUSTER", target)
    verdicts = leftovers.operation_verdicts([running], "demo")
    assert [each.reason for each in verdicts] == (["OperationRunning"] if counts else [])


def claim(name: str, *, held: str = "", asked: str = "", first: str = "") -> dict:
    requests = []
    if asked:
        requests.append({"name": "r", "exactly": {"deviceClassName": asked}})
    if first:
        requests.append({"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": first}]})
    status = {"allocation": {"devices": {"results": [{"driver": held}]}}} if held else {}
    return {
        "metadata": {"name": name, "namespace": "llm"},
        "spec": {"devices": {"requests": requests}},
        "status": status,
    }


@pytest.mark.parametrize(
    ("one", "ours"),
    [
        (claim("a", held="gpu.nvidia.com"), True),
        (claim("a", asked="dra.cpu"), True),
        (claim("a", first="dra.cpu"), True),
        (claim("a", held="dra.net", asked="dranet"), False),
        ({"metadata": {"name": "a", "namespace": "llm"}}, False),
    ],
    ids=["holds a device", "asks", "asks as an alternative", "of another driver", "empty"],
)
def test_claims_of_our_drivers(one, ours):
    found = leftovers.claims_of([one], ["gpu.nvidia.com"], ["dra.cpu"])
    assert bool(found) == ours


def test_what_keeps_an_object_is_said():
    body = claim("a")
    body["metadata"] |= {"deletionTimestamp": "2026-11-30T16:00:00Z", "finalizers": ["resource.k8s.io/x"]}
    (found,) = leftovers.object_leftovers("ResourceClaim", [body], NOW)
    assert found.verdict().sentence() == (
        "ResourceClaim llm/a: exists, being deleted for 75 s, held by resource.k8s.io/x"
    )


def test_a_release_counts_once_however_many_revisions_it_has():
    records = [
        {
            "metadata": {
                "name": f"sh.helm.release.v1.dra.v{revision}",
                "namespace": "kube-system",
                "labels": {"name": "dra", "owner": "helm"},
            }
        }
        for revision in (1, 2)
    ]
    assert [each.subject for each in leftovers.object_leftovers("Release", records, NOW)] == [
        "Release kube-system/dra"
    ]


def test_nodes_count_whether_ready_or_not():
    label = {"labels": {"cloud.google.com/gke-nodepool": "gpu-pool"}}
    nodes = [{"metadata": label}, {"metadata": label, "status": {}}, {"metadata": {}}]
    assert leftovers.count_nodes(nodes) == {"gpu-pool": 2}


def test_the_sum_and_what_is_beside_it():
    found = [
        *leftovers.cluster_leftovers(
            cluster(growing("gpu-pool", 2), growing("cpu-pool", 2)), PRICES, {"gpu-pool": 2, "cpu-pool": 1}
        ),
        *leftovers.repository_leftovers("images", {"sizeBytes": "7"}),
        *leftovers.repository_leftovers("gone", None),
        *leftovers.object_leftovers("ResourceClaim", [claim("a")], NOW),
    ]
    result = leftovers.summary(found)
    assert result["usd_per_hour"] == "0.9360"
    assert result["unpriced"] == ["Cluster demo", "Repository images"]
    assert [each["kind"] for each in result["leftovers"]] == [
        "Cluster", "NodePool", "NodePool", "Repository", "ResourceClaim",
    ]  # fmt: skip
