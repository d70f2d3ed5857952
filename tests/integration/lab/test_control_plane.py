# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane comes up, survives the death of any part, binds to loopback, leaves nothing."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from ansible_collections.inference.dra.lab.control_plane import COMPONENTS
from ansible_collections.inference.dra.lab.processes import start_time
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    NODES,
    PODS,
    Kubernetes,
)

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def plane(make_control_plane):
    return make_control_plane()


def sockets() -> list[tuple[str, int]]:
    """Return (address, port) of every TCP socket that listens on this machine, IPv4 and IPv6."""
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            if state == "0A":
                address, port = local.split(":")
                found.append((address, int(port, 16)))
    return found


def test_listens_on_loopback_only(plane):
    ours = set(plane.ports.values())
    addresses = {address for address, port in sockets() if port in ours}
    assert addresses == {"0100007F"}


@pytest.mark.parametrize("component", COMPONENTS)
def test_up_repairs_a_killed_component(plane, component):
    api = Kubernetes.connect({"kubeconfig": str(plane.kubeconfig)})
    name = f"survivor-{component}"
    api.create(NODES, {"metadata": {"name": name}})
    others = {other: plane.processes.pid(other) for other in COMPONENTS if other != component}

    plane.processes.signal(component, signal.SIGKILL)
    while plane.processes.alive(component):
        pass  # the kernel delivers the signal a moment later
    plane.up()

    assert plane.processes.alive(component)
    assert {other: plane.processes.pid(other) for other in others} == others
    assert api.get(NODES, name)["metadata"]["name"] == name


def test_a_pod_reaches_running_on_a_simulated_node(plane):
    clock = SystemClock()
    api = Kubernetes.connect({"kubeconfig": str(plane.kubeconfig)}).within(Deadline(clock, 30))
    node = {
        "metadata": {"name": "fake", "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }
    api.create(NODES, node)
    container = {"name": "main", "image": "example.invalid/none:1"}
    api.create(
        PODS,
        {"metadata": {"name": "probe"}, "spec": {"containers": [container], "nodeName": "fake"}},
        "default",
    )
    for seen in api.follow(PODS, "default", field_selector="metadata.name=probe"):
        pods = seen if isinstance(seen, list) else [seen.object]
        if any(pod.get("status", {}).get("phase") == "Running" for pod in pods):
            break


def test_down_leaves_no_process_and_no_file_but_logs(make_control_plane):
    plane = make_control_plane()
    pids = [plane.processes.pid(name) for name in COMPONENTS]

    plane.down()

    assert [start_time(pid) for pid in pids] == [""] * len(COMPONENTS)
    left = {path.relative_to(plane.directory).parts[0] for path in plane.directory.rglob("*")}
    assert left <= {"logs", "pids"}
    assert not list((plane.directory / "pids").iterdir())
