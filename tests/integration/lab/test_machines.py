# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node pools become nodes, follow their pool, and go with it."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import NODES

from .conftest import GPU_LABELS, L4, REGION

pytestmark = pytest.mark.lab


def test_pool_becomes_ready_nodes_that_its_operation_waits_for(machines):
    pool = machines.pool("g2-standard-8", size=2, accelerators=[L4], spot=True, labels=GPU_LABELS)
    nodes = machines.wait_nodes(pool, 2)
    labels = nodes[0]["metadata"]["labels"]
    assert labels["cloud.google.com/gke-accelerator"] == "nvidia-l4"
    assert labels["cloud.google.com/gke-spot"] == "true"
    assert "nvidia.com/gpu" in {taint["key"] for taint in nodes[0]["spec"]["taints"]}
    assert nodes[0]["status"]["allocatable"]["cpu"] == "7910m"
    machines.until(
        lambda: machines.google.get_node_pool(REGION, "lab", pool)["status"] == "RUNNING",
        "the pool's operation",
    )


def test_labels_and_taints_change_in_place(machines):
    pool = machines.pool(labels={"old": "1"})
    (node,) = machines.wait_nodes(pool, 1)
    machines.google.update_node_pool(REGION, "lab", pool, {"labels": {"labels": {"new": "1"}}, "name": pool})
    machines.until(lambda: machines.nodes(pool)[0]["metadata"]["labels"].get("new") == "1", "the new label")
    (after,) = machines.ask(lambda: machines.nodes(pool))
    assert after["metadata"]["uid"] == node["metadata"]["uid"]
    assert "old" not in after["metadata"]["labels"]


def test_another_machine_type_replaces_the_nodes(machines):
    pool = machines.pool("e2-standard-4")
    (node,) = machines.wait_nodes(pool, 1)
    machines.google.update_node_pool(REGION, "lab", pool, {"machineType": "e2-standard-8", "name": pool})
    machines.until(
        lambda: [each["status"]["capacity"]["cpu"] for each in machines.nodes(pool)] == ["8"],
        "the new machine",
    )
    (after,) = machines.ask(lambda: machines.nodes(pool))
    assert after["metadata"]["uid"] != node["metadata"]["uid"]


def test_smaller_pool_and_deleted_pool_give_their_nodes_back(machines):
    pool = machines.pool(size=2)
    machines.wait_nodes(pool, 2)
    machines.until(lambda: idle(machines, pool), "the pool's operation")
    machines.google.set_size(REGION, "lab", pool, {"nodeCount": 1, "name": pool})
    machines.wait_nodes(pool, 1)
    machines.until(lambda: idle(machines, pool), "the pool's operation")
    machines.google.delete_node_pool(REGION, "lab", pool)
    machines.until(lambda: not machines.nodes(pool), "no node of the pool")


def idle(machines, pool):
    return machines.google.get_node_pool(REGION, "lab", pool)["status"] == "RUNNING"


def test_node_deleted_by_hand_is_replaced(machines):
    pool = machines.pool()
    (node,) = machines.wait_nodes(pool, 1)
    machines.kube.delete(NODES, node["metadata"]["name"])

    def others():
        return [each for each in machines.nodes(pool) if each["metadata"]["uid"] != node["metadata"]["uid"]]

    machines.until(others, "another node")
