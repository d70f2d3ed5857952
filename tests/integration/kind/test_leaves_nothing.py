# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster of real kubelets, made and removed: the machine is afterwards as it was before."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ansible_collections.inference.dra.lab.kind import docker
from ansible_collections.inference.dra.lab.kind.cluster import Clusters, home
from ansible_collections.inference.dra.lab.kind.host import FIREWALLS, docker_cgroups
from ansible_collections.inference.dra.lab.kind.workers import Worker
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import NODES

NAME = "leaves-nothing"
# Counters and sizes that change by themselves, and what the kernel adjusts to its load.
MOVING = (
    "random",
    "dentry",
    "inode",
    "file-nr",
    "aio-nr",
    "pty.nr",
    "ns_last_pid",
    "nr_open",
    "keys",
    "tcp_mem",
    "quota.syncs",
    "conntrack_count",
    "udp_mem",
    "gc_stats",
    "perf_event_max_sample_rate",
)
PROGRAMS = ("dockerd", "containerd", "containerd-shim", "containerd-shim-runc-v2", "kubelet", "kind")


@pytest.fixture
def clusters(docker_alone):
    found = Clusters(home(), print)
    reason = found.obstacle()
    if reason:
        pytest.skip(reason)
    if found.names():
        pytest.skip(f"the kind cluster {found.names()[0]} is there; the machine would not be as before")
    yield found
    found.down(NAME)


def printed(*command):
    if shutil.which(command[0]) is None:
        return []
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.splitlines()


def machine():
    """Return what a cluster could leave behind, by kind."""
    # Only root can put kernel settings back.
    settings = printed("sysctl", "-a") if os.geteuid() == 0 else []
    settings = [line for line in settings if not any(word in line for word in MOVING)]
    rules = [line.partition(" [")[0] for name in FIREWALLS for line in printed(f"{name}-save")]
    # A table shows with its empty chains once somebody has looked at it.
    rules = [line for line in rules if line.startswith("-") or (line[:1] == ":" and "ACCEPT" not in line)]
    here = docker.find(home())
    return {
        "sysctls": sorted(line for line in settings if ".br-" not in line and ".veth" not in line),
        "interfaces": sorted(line.split()[0] for line in printed("ip", "-brief", "link")),
        "routes": sorted(printed("ip", "route")),
        "mounts": sorted(line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()),
        "rules": rules,
        "cgroups": docker_cgroups(),
        "processes": sorted(set(printed("ps", "-eo", "comm=")) & set(PROGRAMS)),
        "containers": here.run("ps", "--all", "--quiet").split() if here else [],
        "networks": here.run("network", "ls", "--quiet").split() if here else [],
    }


def left_behind(before, after):
    """Return what differs, by kind; a kernel setting that is new came with a module and has its default."""
    names = {line.partition(" =")[0] for line in before["sysctls"]}
    after["sysctls"] = [line for line in after["sysctls"] if line.partition(" =")[0] in names]
    return {
        kind: (sorted(set(before[kind]) - set(after[kind])), sorted(set(after[kind]) - set(before[kind])))
        for kind in before
        if before[kind] != after[kind]
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
        assert left_behind(before, machine()) == {}
