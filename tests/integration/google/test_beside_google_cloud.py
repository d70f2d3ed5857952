# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Five differences that google.cloud's module cannot see and ours changes (C44).

Its address is a constant, so only its comparison is run, on the pool that the lab's Google shows: its
``is_different`` compares the wrapped request with the unwrapped answer (google.cloud#197). Where a later
release sees a difference, this test fails and the documentation has to change.
"""

from __future__ import annotations

import json
from importlib import resources
from types import SimpleNamespace

import pytest

theirs = pytest.importorskip("ansible_collections.google.cloud.plugins.modules.gcp_container_node_pool")
SEEN_WITH = "1.15.0"

POOL = {
    "name": "pool",
    "machine_type": "n2-standard-4",
    "disk_size_gb": 100,
    "initial_node_count": 1,
    "locations": ["us-central1-a"],
    "autoscaling": {"min_node_count": 0, "max_node_count": 2},
    "labels": {"team": "ml"},
    "management": {"auto_repair": True, "auto_upgrade": True},
}
DRIFTS = {
    "machine-type": ({"machine_type": "n2-standard-8"}, {"config": {"machine_type": "n2-standard-8"}}),
    "disk-size": ({"disk_size_gb": 200}, {"config": {"disk_size_gb": 200}}),
    "labels": ({"labels": {"team": "web"}}, {"config": {"labels": {"team": "web"}}}),
    "maximum": (
        {"autoscaling": {"min_node_count": 0, "max_node_count": 3}},
        {"autoscaling": {"enabled": True, "min_node_count": 0, "max_node_count": 3}},
    ),
    "repair": (
        {"management": {"auto_repair": False, "auto_upgrade": True}},
        {"management": {"auto_repair": False, "auto_upgrade": True}},
    ),
}


def their_params(drift: dict) -> dict:
    config = {
        "machine_type": POOL["machine_type"],
        "disk_size_gb": POOL["disk_size_gb"],
        "labels": POOL["labels"],
        **drift.get("config", {}),
    }
    return {
        "name": POOL["name"],
        "initial_node_count": 1,
        "config": config,
        "autoscaling": drift.get("autoscaling") or {"enabled": True, **POOL["autoscaling"]},
        "management": drift.get("management") or POOL["management"],
        "version": None,
        "max_pods_constraint": None,
        "cluster": {"name": "demo"},
        "location": "us-central1",
        "project": "test-project",
    }


@pytest.mark.parametrize(("ours", "drift"), DRIFTS.values(), ids=[f"C44-{name}" for name in DRIFTS])
def test_theirs_says_ok_ours_changes(cluster, ours, drift):
    made = cluster.run("gke_node_pool", cluster="demo", node_pools=[POOL])
    assert not made["failed"], made
    module = SimpleNamespace(params=their_params(drift))
    assert theirs.is_different(module, cluster.pool("pool")) is False
    result = cluster.run("gke_node_pool", cluster="demo", node_pools=[{**POOL, **ours}])
    assert (result["failed"], result["changed"], len(result["actions"])) == (False, True, 1)


def test_the_release_this_was_seen_with():
    manifest = resources.files("ansible_collections.google.cloud") / "MANIFEST.json"
    version = json.loads(manifest.read_text())["collection_info"]["version"]
    assert version == SEEN_WITH, f"google.cloud is {version} now: look again and document it"
