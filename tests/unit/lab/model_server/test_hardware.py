# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two flavours of the model server: each runs on its own hardware and refuses the other's."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.lab.model_server.hardware import hardware, plan_here
from ansible_collections.inference.dra.lab.serving.startup import Hardware, Settings

GPU_NODES = ["null", "nvidiactl", "nvidia0"]
CPUS = {"DRA_CPUSET_1234": "0-11"}
L4 = {"STANDIN_ACCELERATOR": "nvidia-l4", "NVIDIA_VISIBLE_DEVICES": "void"}


@pytest.mark.parametrize(
    ("nodes", "environment", "got"),
    [
        pytest.param(GPU_NODES, L4, Hardware("nvidia-l4", 1, 0), id="gpu"),
        pytest.param(["null"], CPUS, Hardware("", 0, 12), id="cpus"),
        pytest.param(["null", "nvidiactl"], {}, Hardware("", 0, 0), id="a-control-node-is-no-gpu"),
        pytest.param([], {"DRA_CPUSET_a": "0-3", "DRA_CPUSET_b": "8-9"}, Hardware("", 0, 6), id="two-claims"),
    ],
)
def test_a_container_is_told_by_its_devices_and_environment(nodes, environment, got):
    assert hardware(nodes, environment) == got


@pytest.mark.parametrize(
    ("build", "got", "dies_with"),
    [
        pytest.param("cuda", Hardware("nvidia-l4", 1, 0), "", id="gpu-image-on-a-gpu"),
        pytest.param("cuda", Hardware("", 0, 12), "Failed to infer device type", id="gpu-image-on-cpus"),
        pytest.param("cpu", Hardware("", 0, 12), "", id="cpu-image-on-cpus"),
        pytest.param("cpu", Hardware("nvidia-l4", 1, 0), "the container has 1 GPU", id="cpu-image-on-a-gpu"),
        pytest.param("cpu", Hardware(), "no DRA_CPUSET_", id="cpu-image-without-a-claim"),
    ],
)
def test_an_image_refuses_hardware_that_is_not_its_own(build, got, dies_with):
    found = plan_here(Settings(build=build), got).dies_with
    assert dies_with in found if dies_with else found == ""
