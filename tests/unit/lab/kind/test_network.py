# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod network of built nodes: every node knows a way to the pods of every other."""

from __future__ import annotations

import json

from ansible_collections.inference.dra.lab.kind.network import addresses, commands, configuration


def node(name, address="", pods=""):
    listed = [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": "fc00::1"}]
    if address:
        listed.append({"type": "InternalIP", "address": address})
    return {
        "metadata": {"name": name},
        "spec": {"podCIDR": pods} if pods else {},
        "status": {"addresses": listed},
    }


NODES = [node("a", "172.18.0.2", "10.244.0.0/24"), node("b", "172.18.0.3", "10.244.1.0/24")]


def test_nodes_without_pod_range_or_address_are_not_there_yet():
    found = addresses([*NODES, node("c", "172.18.0.4"), node("d", pods="10.244.2.0/24")])
    assert [(each.name, each.address, each.pods) for each in found] == [
        ("a", "172.18.0.2", "10.244.0.0/24"),
        ("b", "172.18.0.3", "10.244.1.0/24"),
    ]


def test_a_node_gets_routes_to_the_others_and_none_to_itself():
    first, second = addresses(NODES)
    script = commands(first, [first, second])
    assert "ip route replace 10.244.1.0/24 via 172.18.0.3" in script
    assert "10.244.0.0/24 via" not in script


def test_the_configuration_comes_last_and_in_one_step_because_it_makes_the_node_ready():
    first, second = addresses(NODES)
    assert commands(first, [first, second]).rpartition(" && ")[2].startswith("mv ")


def test_pods_get_addresses_of_their_nodes_range():
    found = json.loads(configuration(addresses(NODES)[1]))
    assert found["plugins"][0]["ipam"]["ranges"] == [[{"subnet": "10.244.1.0/24"}]]
