# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replicas that fell back to CPUs return to the GPUs when there are any again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from ansible_collections.inference.dra.lab import faults_client
from ansible_collections.inference.dra.lab.errors import LabError
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import PODS, SLICES

from .conftest import Bench, is_ready

pytestmark = pytest.mark.lab

GPU_DRIVER = "gpu.nvidia.com"


def alternatives(bench: Bench) -> list[str]:
    """Return what the replicas run on, by the image that they were given."""
    return sorted(
        each["spec"]["containers"][0]["image"].rpartition("-")[2].partition(":")[0].partition("@")[0]
        for each in bench.api.list(PODS, "default")
    )


def uids(bench: Bench) -> set[str]:
    return {each["metadata"]["uid"] for each in bench.api.list(PODS, "default")}


def has_gpus(slices: list[dict]) -> bool:
    return any(each["spec"]["driver"] == GPU_DRIVER for each in slices)


def on_cpus(pod: dict) -> bool:
    return "-cpu-pool-" in pod["spec"].get("nodeName", "")


@pytest.fixture(scope="module")
def fallen_back(served) -> Iterator[Bench]:
    """Both replicas on CPUs: the GPU's machine was taken away, and there is no other to be had."""
    faults_client.set_one(served.lab, "stockout", ["pool=gpu-pool", "on=any"])
    try:
        faults_client.set_one(served.lab, "preemption", ["pool=gpu-pool", "count=1"])
        served.until(SLICES, lambda slices: not has_gpus(slices))
        served.until(PODS, lambda pods: [is_ready(each) and on_cpus(each) for each in pods] == [True, True])
        yield served
    finally:
        # A test has cleared it where all went well.
        with contextlib.suppress(LabError):
            faults_client.clear(served.lab, "stockout")


def test_01_with_no_gpu_to_be_had_nothing_is_done_and_it_says_why(fallen_back):
    assert alternatives(fallen_back) == ["cpu", "cpu"]
    before = uids(fallen_back)
    ended = fallen_back.play("playbooks/return_to_gpu.yml")
    assert (ended.status, ended.changed) == (0, 0), ended.output
    assert "no earlier alternative is free: gpu: no node has its devices" in " ".join(ended.output.split())
    assert uids(fallen_back) == before


def test_02_check_mode_shows_who_would_return_once_the_stockout_is_over(fallen_back):
    faults_client.clear(fallen_back.lab, "stockout")
    fallen_back.until(SLICES, has_gpus)
    before = uids(fallen_back)
    ended = fallen_back.play("playbooks/return_to_gpu.yml", check=True)
    assert ended.status == 0, ended.output
    assert ended.output.count("on cpu -> gpu, not done") == 1
    assert uids(fallen_back) == before


def test_03_one_returns_and_the_other_stays_where_it_is(fallen_back):
    before = uids(fallen_back)
    ended = fallen_back.play("playbooks/return_to_gpu.yml")
    assert ended.status == 0, ended.output
    assert alternatives(fallen_back) == ["cpu", "gpu"]
    assert len(uids(fallen_back) & before) == 1
    assert "DeviceInUse" in ended.output


def test_04_a_second_run_changes_nothing(fallen_back):
    before = uids(fallen_back)
    ended = fallen_back.play("playbooks/return_to_gpu.yml")
    assert (ended.status, ended.changed) == (0, 0), ended.output
    assert uids(fallen_back) == before
