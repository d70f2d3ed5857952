# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every test may ask for: recorded material, a control plane of its own, a fresh namespace."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from ansible_collections.inference.dra.lab.binaries import Binaries
from ansible_collections.inference.dra.lab.control_plane import ControlPlane
from ansible_collections.inference.dra.lab.errors import LabError
from ansible_collections.inference.dra.lab.state import free_ports, port_registry
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    NAMESPACES,
    SERVICE_ACCOUNTS,
    Kubernetes,
)

CHECKOUT = Path(__file__).resolve().parent.parent
SCHEDULER = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}
numbers = itertools.count(1)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Recorded upstream material beside the checkout; the project works without it."""
    path = CHECKOUT.parent / "shared"
    if not path.is_dir():
        pytest.skip("no recorded upstream material beside the checkout")
    return path


@pytest.fixture(scope="session")
def lab_binaries() -> dict[str, Path]:
    try:
        return Binaries.from_environment().require()
    except LabError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def make_control_plane(lab_binaries, tmp_path_factory):
    """Return a function that starts a control plane; all of them end with the test session."""
    running = []

    def make(scheduler_config=None, feature_gates=None) -> ControlPlane:
        directory = tmp_path_factory.mktemp("control-plane")
        with port_registry() as taken:
            # The lock is held until the ports are bound, so that no other session takes them.
            plane = ControlPlane(
                directory,
                free_ports(taken),
                lab_binaries,
                scheduler_config,
                feature_gates=feature_gates,
            )
            running.append(plane)
            plane.up()
        return plane

    yield make
    for plane in running:
        plane.down()


@pytest.fixture(scope="session")
def control_plane(make_control_plane) -> ControlPlane:
    """One control plane for all tests of a session: use a namespace and names of your own."""
    return make_control_plane()


@pytest.fixture
def api(control_plane) -> Kubernetes:
    return Kubernetes.connect({"kubeconfig": str(control_plane.kubeconfig)})


@pytest.fixture
def namespace(api) -> str:
    """A namespace that no other test uses."""
    name = f"test-{next(numbers)}"
    api.create(NAMESPACES, {"metadata": {"name": name}})
    # Without its account the namespace takes no pods; the controllers make it a moment later.
    for seen in api.within(Deadline(SystemClock(), 10)).follow(SERVICE_ACCOUNTS, name):
        if seen:
            break
    return name
