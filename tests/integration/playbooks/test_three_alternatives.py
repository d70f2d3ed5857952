# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three alternatives, two of them devices of one driver: replicas take them in their order."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import CLAIMS

from .conftest import ROOT

pytestmark = pytest.mark.lab

INVENTORY = ROOT / "inventories/gke_three/group_vars/all/alternatives.yml"
WANTED = yaml.safe_load(INVENTORY.read_text())
NO_H100 = re.compile(r"running on (?:l4|cpu) \(\S+\); \w+ (?:DeviceInUse|FreeAtTheTime): device/h100: ")
LARGEST = {"h100": 1, "l4": 2, "cpu": 2}


def test_01_setup(bench):
    ended = bench.play("site.yml", **WANTED)
    assert ended.status == 0, ended.output


def test_02_five_replicas_fill_them_as_predicted(bench):
    ended = bench.play("playbooks/scale_demo.yml", inference_demo_steps=[sum(LARGEST.values())], **WANTED)
    assert ended.status == 0, ended.output
    report = json.loads((bench.output / "report.json").read_text())
    (step,) = report["steps"]
    assert step["predicted"] == step["alternatives"] == LARGEST
    assert step["as_predicted"]
    assert "5 replicas: 1 on h100, 2 on l4, 2 on cpu" in " ".join(ended.output.split())
    for replica in report["replicas"]:
        name = replica["alternative"]
        driver, image = ("dra.cpu", "cpu") if name == "cpu" else ("gpu.nvidia.com", "gpu")
        assert replica["node_pool"] == f"{name}-pool"
        assert f"vllm-gemma4-{image}@sha256:" in replica["image"]
        assert all(device.startswith(f"{driver}/") for device in replica["devices"])
    # The inventory has no price for the H100, which the report says instead of taking it for free.
    assert report["cost"]["unpriced"] == ["h100"]


def test_03_each_claim_has_the_devices_that_its_alternative_asks_for(bench):
    requests = [
        result["request"]
        for claim in bench.api.list(CLAIMS, "default")
        for result in claim["status"]["allocation"]["devices"]["results"]
        if result["request"].startswith("device/")
    ]
    assert sorted(requests) == sorted(
        f"device/{name}" for name, count in LARGEST.items() for _unused in range(count)
    )


def test_04_the_diagnosis_says_why_nobody_has_an_earlier_one(bench):
    ended = bench.play("playbooks/diagnose.yml", **WANTED)
    assert ended.status == 0, ended.output
    said = " ".join(ended.output.split())
    assert {name: said.count(f"running on {name} ") for name in LARGEST} == LARGEST
    # The pools grow side by side: a node with CPUs may be there before the one with the H100.
    assert len(NO_H100.findall(said)) == LARGEST["l4"] + LARGEST["cpu"]
