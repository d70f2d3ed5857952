# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod network of a cluster whose node image has no network plugin: one route per pair of nodes.

kindnet's image can't be had without a registry. Nodes of one kind cluster share a bridge, so a ``ptp``
interface per pod and a route to every other node's pod range are a whole network; there is no
NetworkPolicy. The nodes are told once, from outside, when their pod ranges are known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .docker import Docker

CONFIGURATION = "/etc/cni/net.d/10-routes.conflist"


@dataclass(frozen=True)
class NodeAddress:
    """Where one node and its pods are."""

    name: str
    address: str
    pods: str


def addresses(nodes: Iterable[Mapping[str, Any]]) -> list[NodeAddress]:
    """Return the addresses of the nodes that have a pod range already."""
    found = []
    for node in nodes:
        internal = [
            each["address"]
            for each in node.get("status", {}).get("addresses", ())
            if each["type"] == "InternalIP" and ":" not in each["address"]
        ]
        pods = node["spec"].get("podCIDR", "")
        if internal and pods:
            found.append(NodeAddress(node["metadata"]["name"], internal[0], pods))
    return found


def configuration(node: NodeAddress) -> str:
    """Return the CNI configuration of one node."""
    ranges = [[{"subnet": node.pods}]]
    ipam = {
        "type": "host-local",
        "dataDir": "/run/cni-ipam",
        "routes": [{"dst": "0.0.0.0/0"}],
        "ranges": ranges,
    }
    return json.dumps(
        {
            "cniVersion": "1.0.0",
            "name": "routes",
            "plugins": [
                {"type": "ptp", "ipMasq": False, "ipam": ipam},
                {"type": "portmap", "capabilities": {"portMappings": True}},
            ],
        }
    )


def commands(node: NodeAddress, nodes: Iterable[NodeAddress]) -> str:
    """Return the shell commands that connect a node, the configuration last: it makes the node Ready."""
    routes = [f"ip route replace {each.pods} via {each.address}" for each in nodes if each.name != node.name]
    written = f"cat > {CONFIGURATION}.new && mv {CONFIGURATION}.new {CONFIGURATION}"
    return " && ".join(["sysctl -qw net.ipv4.ip_forward=1", *routes, written])


def connect(docker: Docker, nodes: list[NodeAddress]) -> None:
    """Give every node its routes and its configuration; nothing changes where that is done already."""
    for node in nodes:
        script = commands(node, nodes)
        docker.run(
            "exec", "--interactive", node.name, "sh", "-ec", script, stdin=configuration(node).encode()
        )
