# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The versions that a platform's objects state."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.platform_versions import (
    charts_of_drivers,
    kubelets,
)

CHARTS = {
    "a driver's": ("dra-driver-cpu-0.2.0", {"dra-driver-cpu": "0.2.0"}),
    "the older name": ("nvidia-dra-driver-gpu-25.12.0", {"nvidia-dra-driver-gpu": "25.12.0"}),
    "not yet released": ("dra-driver-cpu-0.3.0-rc.1", {"dra-driver-cpu": "0.3.0-rc.1"}),
    "with a v": ("dra-driver-noop-v0.1.0", {"dra-driver-noop": "v0.1.0"}),
    "another program's": ("node-exporter-4.1.0", {}),
    "no version": ("dra-driver-cpu", {}),
    "none": ("", {}),
}


@pytest.mark.parametrize(("label", "expected"), CHARTS.values(), ids=CHARTS)
def test_chart(label, expected):
    assert charts_of_drivers([{"metadata": {"labels": {"helm.sh/chart": label}}}]) == expected


def test_daemon_set_without_labels():
    assert charts_of_drivers([{"metadata": {}}, {}]) == {}


def test_kubelets_each_once():
    nodes = [{"status": {"nodeInfo": {"kubeletVersion": each}}} for each in ("v2", "v1", "v2", "")]
    assert kubelets([*nodes, {"status": {}}]) == ["v1", "v2"]
