# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""With a feature gate off a slice would hold no pod back: the controller publishes none, and says so."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import SLICES, Kubernetes

pytestmark = pytest.mark.lab
# The third gate, DRAResourceClaimDeviceStatus, can't be off alone: the API server ends with that.
LOST = {
    "DRADeviceBindingConditions": ["bindingConditions", "bindingFailureConditions"],
    "DRAConsumableCapacity": ["allowMultipleAllocations"],
}


@pytest.mark.parametrize("gate", LOST)
def test_a_gate_that_is_off_is_reported_and_nothing_is_published(make_control_plane, kit, gate):
    plane = make_control_plane(feature_gates={gate: False})
    api = Kubernetes.connect({"kubeconfig": str(plane.kubeconfig)})
    controller = kit.Controller(plane.kubeconfig, *kit.QUICK)
    try:
        said = controller.logged("slice not published")["error"]
        status, page = controller.page("/readyz")
        metrics = controller.page("/metrics")[1]
        assert not list(api.list(SLICES))
        assert controller.page("/healthz") == (200, "ok\n")  # a restart would not help
    finally:
        controller.kill()
        plane.down()
    assert f"would drop {', '.join(LOST[gate])}; turn on" in said
    assert gate in said
    assert (status, said in page) == (503, True)
    assert "image_configurator_slice_published 0" in metrics
