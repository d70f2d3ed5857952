# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replicas that fell back to CPUs return to the GPUs when there are any again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import NODES, PODS

from .conftest import Bench, is_ready

pytestmark = pytest.mark.lab


def alternatives(bench: Bench) -> list[str]:
    """Return what the replicas run on, by the image that they were given."""
    return sorted(
        each["spec"]["containers"][0]["image"].rpartition("-")[2].partition(":")[0].partition("@")[0]
        for each in bench.api.list(PODS, "default")
    )


def uids(bench: Bench) -> set[str]:
    return {each["metadata"]["uid"] for each in bench.api.list(PODS, "default")}


def on_cpus(pod: dict) -> bool:
    return "-cpu-pool-" in pod["spec"].get("nodeName", "")


def offer_gpus(bench: Bench, *, offered: bool) -> None:
    for node in bench.api.list(NODES, label_selector="cloud.google.com/gke-nodepool=gpu-pool"):
        bench.api.merge_patch(NODES, node["metadata"]["name"], {"spec": {"unschedulable": not offered}})


@pytest.fixture(scope="module")
def fallen_back(served) -> Iterator[Bench]:
    """Both replicas on CPUs, because the GPU's node took no pods when one of them was made anew."""
    offer_gpus(served, offered=False)
    try:
        for pod in served.api.list(PODS, "default"):
            if not on_cpus(pod):
                served.api.delete(PODS, pod["metadata"]["name"], "default")
        served.until(PODS, lambda pods: [is_ready(each) and on_cpus(each) for each in pods] == [True, True])
        yield served
    finally:
        offer_gpus(served, offered=True)


def test_01_with_no_gpu_to_be_had_nothing_is_done_and_it_says_why(fallen_back):
    assert alternatives(fallen_back) == ["cpu", "cpu"]
    before = uids(fallen_back)
    ended = fallen_back.play("playbooks/return_to_gpu.yml")
    assert (ended.status, ended.changed) == (0, 0), ended.output
    assert "no earlier alternative is free: gpu: no node it may go to has its devices" in " ".join(
        ended.output.split()
    )
    assert uids(fallen_back) == before


def test_02_check_mode_shows_who_would_return_once_there_is_one(fallen_back):
    offer_gpus(fallen_back, offered=True)
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
