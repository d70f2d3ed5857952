# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane of its own, because nodes, slices and classes are the whole cluster's."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import Kubernetes
from ansible_collections.inference.dra.tests.integration.claims.scene import Service, furnish


@pytest.fixture(scope="session")
def control_plane(make_control_plane):
    plane = make_control_plane()
    furnish(Kubernetes.connect({"kubeconfig": str(plane.kubeconfig)}))
    return plane


@pytest.fixture
def service(api, namespace):
    made = Service(api, namespace)
    yield made
    made.delete()


@pytest.fixture
def kubeconfig(control_plane) -> str:
    return str(control_plane.kubeconfig)
