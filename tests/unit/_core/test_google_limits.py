# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every limit of Google's is refused here first, in words that name the option."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.google_limits import (
    cluster_problems,
    node_pool_problems,
    repository_problems,
)

ON = {"enabled": True}
LONG = "a" * 64

POOLS = {
    "nothing-said": ({}, None),
    "name-too-long": ({"name": "a" * 41}, "name"),
    "name-ends-in-a-hyphen": ({"name": "pool-"}, "name"),
    "version-with-a-v": ({"version": "v1.36"}, "version"),
    "version-of-the-control-plane": ({"version": "-"}, None),
    "zone-of-another-region": ({"locations": ["europe-west4-a"]}, "not in us-central1"),
    "no-zone": ({"locations": ["us-central1"]}, "not a zone"),
    "zone-twice": ({"locations": ["us-central1-a", "us-central1-a"]}, "twice"),
    "label-of-kubernetes": ({"labels": {"kubernetes.io/x": "1"}}, "GKE sets labels"),
    "label-below-kubernetes": ({"labels": {"node.kubernetes.io/x": "1"}}, "GKE sets labels"),
    "label-of-gke-for-users": ({"labels": {"cloud.google.com/compute-class": "x"}}, None),
    "label-key": ({"labels": {"-x": "1"}}, "not a key"),
    "label-value": ({"labels": {"x": "a b"}}, "not a label value"),
    "label-value-too-long": ({"labels": {"x": LONG}}, "not a label value"),
    "label-not-text": ({"labels": {"x": True}}, "quote it"),
    "resource-label-case": ({"resource_labels": {"X": "y"}}, "lower-case"),
    "resource-label-not-text": ({"resource_labels": {"x": 1}}, "quote it"),
    "too-many-resource-labels": ({"resource_labels": {f"k{n}": "" for n in range(65)}}, "65 labels"),
    "taint-twice": ({"taints": [{"key": "a", "value": v, "effect": "NoSchedule"} for v in "12"]}, "twice"),
    "taint-with-two-effects": (
        {"taints": [{"key": "a", "value": "1", "effect": e} for e in ("NoSchedule", "NoExecute")]},
        None,
    ),
    "C43-both-sorts-of-limits": (
        {"autoscaling": {**ON, "max_node_count": 1, "total_max_node_count": 1}},
        "exclude each other",
    ),
    "C43-minimum-above-maximum": (
        {"autoscaling": {**ON, "min_node_count": 2, "max_node_count": 1}},
        "is above",
    ),
    "C43-maximum-zero": ({"autoscaling": {**ON, "max_node_count": 0}}, "1 or more"),
    "C43-limits-while-off": ({"autoscaling": {"enabled": False, "max_node_count": 1}}, "without autoscaling"),
    "C43-initial-above-maximum": (
        {"initial_node_count": 3, "autoscaling": {**ON, "max_node_count": 2}},
        "is above",
    ),
    "two-accelerators": ({"accelerators": [{"type": "a", "count": 1}] * 2}, "one type"),
    "no-card": ({"accelerators": [{"type": "a", "count": 0}]}, "1 or more"),
    "sharing-without-clients": (
        {"accelerators": [{"type": "a", "count": 1, "gpu_sharing_strategy": "mps"}]},
        "go together",
    ),
    "one-client": (
        {
            "accelerators": [
                {"type": "a", "count": 1, "gpu_sharing_strategy": "mps", "max_shared_clients_per_gpu": 1}
            ]
        },
        "2 to 48",
    ),
    "spot-and-flex-start": ({"spot": True, "flex_start": True}, "exclude each other"),
    "flex-start-and-reservation": (
        {"flex_start": True, "reservation": {"affinity": "any"}},
        "cannot use a reservation",
    ),
    "spot-and-specific-reservation": (
        {"spot": True, "reservation": {"affinity": "specific", "names": ["r"]}},
        "spot machines",
    ),
    "specific-without-names": ({"reservation": {"affinity": "specific"}}, "needs reservation.names"),
    "names-without-specific": ({"reservation": {"affinity": "any", "names": ["r"]}}, "needs reservation"),
    "two-placements": ({"placement": {"type": "compact", "policy_name": "p"}}, "exclude each other"),
    "topology": ({"placement": {"tpu_topology": "4-4"}}, "not a topology"),
    "profile-beside-networks": (
        {
            "network": {
                "accelerator_profile": "auto",
                "node_networks": [{"network": "n", "subnetwork": "s"}],
            }
        },
        "brings its own",
    ),
    "few-pods": ({"max_pods_per_node": 7}, "8 to 256"),
    "small-disk": ({"disk_size_gb": 9}, "10 or more"),
    "long-run": ({"max_run_duration_seconds": 604801}, "7 days"),
    "no-way-to-upgrade": ({"upgrade": {"max_surge": 0, "max_unavailable": 0}}, "cannot both be 0"),
    "large-upgrade": ({"upgrade": {"max_surge": 20, "max_unavailable": 1}}, "at most 20"),
}


@pytest.mark.parametrize(("options", "problem"), POOLS.values(), ids=POOLS)
def test_node_pool(options, problem):
    problems = node_pool_problems({"name": "pool", **options}, "us-central1")
    assert len(problems) == (0 if problem is None else 1), problems
    assert problem is None or problem in problems[0]


CLUSTERS = {
    "nothing-said": ({}, "us-central1", None),
    "zonal": ({"locations": ["us-central1-b"]}, "us-central1-a", None),
    "location": ({}, "mars", "neither a region"),
    "labels": ({"labels": {"A": "b"}}, "us-central1", "lower-case"),
    "auto-monitoring": (
        {"monitoring": {"managed_prometheus": False, "auto_monitoring": "all"}},
        "us-central1",
        "needs monitoring.managed_prometheus",
    ),
    "multi-networking": (
        {"multi_networking": True, "dataplane_v2": False},
        "us-central1",
        "needs dataplane_v2",
    ),
    "resource-limit": (
        {"autoscaling": {"resource_limits": [{"resource_type": "cpu", "minimum": 2, "maximum": 1}]}},
        "us-central1",
        "minimum above its maximum",
    ),
}


@pytest.mark.parametrize(("options", "location", "problem"), CLUSTERS.values(), ids=CLUSTERS)
def test_cluster(options, location, problem):
    problems = cluster_problems({"name": "demo", **options}, location)
    assert len(problems) == (0 if problem is None else 1), problems
    assert problem is None or problem in problems[0]


@pytest.mark.parametrize(
    ("options", "location", "problem"),
    [
        ({"name": "images"}, "us", None),
        ({"name": "Images"}, "us-central1", "name"),
        ({"name": "images", "format": "python", "immutable_tags": True}, "us-central1", "format docker"),
        ({"name": "images"}, "moon", "neither a region"),
    ],
    ids=["multi-region", "name", "tags", "location"],
)
def test_repository(options, location, problem):
    problems = repository_problems(options, location)
    assert len(problems) == (0 if problem is None else 1), problems
    assert problem is None or problem in problems[0]
