# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cluster could leave on a machine: looked at before and after, and compared."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from . import docker
from .host import FIREWALLS, docker_cgroups

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
# Settings of an interface go and come with it; interfaces are compared by themselves.
OF_INTERFACES = (".br-", ".veth")
PROGRAMS = ("dockerd", "containerd", "containerd-shim", "containerd-shim-runc-v2", "kubelet", "kind")
RECORDS = ("host.json", "run", "clusters/*")

Traces = Mapping[str, list[str]]


def look(home: Path) -> Traces:
    """Return what a cluster could leave behind, by kind.

    :param home: the directory with the clusters' records and a private daemon's socket.
    """
    here = docker.find(home)
    return {
        "kernel settings": _settings(),
        "interfaces": sorted(line.split()[0] for line in _printed("ip", "-brief", "link")),
        "routes": sorted(_printed("ip", "route")),
        "mounts": sorted(line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()),
        "firewall rules": _rules(),
        "control groups": docker_cgroups(),
        "processes": running_programs(_printed("ps", "-eo", "stat=,comm=")),
        "containers": here.run("ps", "--all", "--quiet").split() if here else [],
        "networks": here.run("network", "ls", "--quiet").split() if here else [],
        "records": sorted(str(path) for pattern in RECORDS for path in home.glob(pattern)),
    }


def differences(before: Traces, after: Traces) -> list[str]:
    """Return a sentence for each kind that is not as before.

    A kernel setting that is new came with a module, has its default, and is no difference.
    """
    known = {line.partition(" =")[0] for line in before["kernel settings"]}
    found = []
    for kind, was in before.items():
        now = after[kind]
        if kind == "kernel settings":
            now = [line for line in now if line.partition(" =")[0] in known]
        gone, new = _more(was, now), _more(now, was)
        if gone or new:
            parts = [f"new are {', '.join(new)}"] if new else []
            parts += [f"gone are {', '.join(gone)}"] if gone else []
            found.append(f"Of the {kind}, {'; '.join(parts)}.")
    return found


def running_programs(lines: list[str]) -> list[str]:
    """Return those of Docker's and Kubernetes' programs that run; a zombie does not."""
    states = [line.split(maxsplit=1) for line in lines]
    return sorted(name for state, name in states if name in PROGRAMS and state[0] not in "ZX")


def _more(these: list[str], those: list[str]) -> list[str]:
    """Return what is in the first list, as often as it is not in the second."""
    return sorted((Counter(these) - Counter(those)).elements())


def _settings() -> list[str]:
    if os.geteuid() != 0:
        return []  # only root can put them back
    without = (*MOVING, *OF_INTERFACES)
    return [line for line in _printed("sysctl", "-a") if not any(word in line for word in without)]


def _rules() -> list[str]:
    rules = [line.partition(" [")[0] for name in FIREWALLS for line in _printed(f"{name}-save")]
    # A table shows with its empty chains once somebody has looked at it.
    return [line for line in rules if line.startswith("-") or (line[:1] == ":" and "ACCEPT" not in line)]


def _printed(*command: str) -> list[str]:
    if shutil.which(command[0]) is None:
        return []
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.splitlines()
