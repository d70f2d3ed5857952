# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster of real kubelets, made and removed: the machine is afterwards as it was before."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ansible_collections.inference.dra.lab.kind import docker
from ansible_collections.inference.dra.lab.kind.cluster import Clusters, home
from ansible_collections.inference.dra.lab.kind.workers import Worker
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import NODES

NAME = "leaves-nothing"
# Counters and sizes that change by themselves.
MOVING = (
    "random",
    "dentry",
    "inode",
    "file-nr",
    "ns_last_pid",
    "nr_open",
    "keys",
    "tcp_mem",
    "quota.syncs",
    "conntrack_count",
    "udp_mem",
    "gc_stats",
)


@pytest.fixture
def clusters():
    reason = docker.obstacle(home())
    if reason:
        pytest.skip(reason)
    found = Clusters(home(), print)
    if found.names():
        pytest.skip(f"the kind cluster {found.names()[0]} is there; the machine would not be as before")
    yield found
    found.down(NAME)


def printed(*command):
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.splitlines()


def machine():
    """Return what a cluster could leave behind, by kind."""
    settings = [line for line in printed("sysctl", "-a") if not any(word in line for word in MOVING)]
    here = docker.find(home())
    return {
        "sysctls": sorted(line for line in settings if ".br-" not in line and ".veth" not in line),
        "interfaces": sorted(line.split()[0] for line in printed("ip", "-brief", "link")),
        "mounts": sorted(line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()),
        "rules": [
            line for name in ("iptables-save", "ip6tables-save") for line in printed(name) if line[:1] == "-"
        ],
        "containers": here.run("ps", "--all", "--quiet") if here else "",
        "networks": here.run("network", "ls", "--quiet") if here else "",
    }


def test_up_and_down_twice(clusters):
    before = machine()
    for _unused in range(2):
        worker = Worker("pool", {"example.com/pool": "pool"}, [])
        assert clusters.up(NAME, [worker])[0] == f"created {NAME} with 1 workers"
        assert clusters.up(NAME, [worker]) == []
        nodes = [*clusters.api(NAME).list(NODES)]
        assert [node["metadata"]["labels"].get("example.com/pool") for node in nodes] == [None, "pool"]
        assert clusters.down(NAME)
        assert clusters.leftovers(NAME) == []
        assert clusters.down(NAME) == []
    after = machine()
    assert {name: after[name] for name in after if after[name] != before[name]} == {}
