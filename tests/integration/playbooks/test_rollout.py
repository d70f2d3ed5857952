# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A new image, one replica after the other, each on the device of its predecessor."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
)

from .conftest import Bench

pytestmark = pytest.mark.lab

NEW = {"gpu": "registry.example.com/vllm-gpu:2", "cpu": "registry.example.com/vllm-cpu:2"}
WANTED = {"inference_replicas": 2, "vllm_min_available": 1, "inference_image_references": NEW}


def devices(bench: Bench) -> list[tuple[str, str]]:
    """Return the hardware that is given out: alternative and pool of each claim."""
    results = [
        result
        for claim in bench.api.list(CLAIMS, "default")
        for result in claim["status"]["allocation"]["devices"]["results"]
    ]
    return sorted(
        (each["request"], each["pool"]) for each in results if each["request"].startswith("device/")
    )


def images(bench: Bench) -> list[str]:
    return sorted(each["spec"]["containers"][0]["image"] for each in bench.api.list(PODS, "default"))


def deployment(bench: Bench) -> dict:
    return bench.api.get(DEPLOYMENTS, "vllm-fungible", "default")


def state(bench: Bench) -> tuple[int, set[str]]:
    """Return what every write to the Deployment or its pods changes."""
    pods = {each["metadata"]["uid"] for each in bench.api.list(PODS, "default")}
    return deployment(bench)["metadata"]["generation"], pods


@pytest.fixture(scope="module")
def before(served) -> list[tuple[str, str]]:
    """The devices before anything is rolled out."""
    return devices(served)


def test_01_check_mode_shows_the_plan_and_changes_nothing(served, before):
    unchanged = state(served)
    ended = served.play("playbooks/rollout.yml", check=True, **WANTED)
    assert ended.status == 0, ended.output
    assert ended.output.count("not done") == 2
    assert ended.output.index("on cpu -> cpu, not done") < ended.output.index("on gpu -> gpu, not done")
    assert state(served) == unchanged


def test_02_a_budget_that_allows_nothing_ends_it_with_the_old_replicas_serving(served, before):
    pods = state(served)[1]
    ended = served.play(
        "playbooks/rollout.yml", **{**WANTED, "vllm_min_available": 2, "rollout_timeout_seconds": 2}
    )
    assert (ended.status, ended.failed) == (2, 1), ended.output
    assert "could not be evicted within 2 s" in " ".join(ended.output.split())
    assert "disruption budget" in ended.output
    assert state(served)[1] == pods
    assert deployment(served)["spec"]["paused"]


def test_03_run_again_it_replaces_each_on_the_device_of_its_predecessor(served, before):
    ended = served.play("playbooks/rollout.yml", **WANTED)
    assert ended.status == 0, ended.output
    assert images(served) == sorted(NEW.values())
    # A second CPU node stands by, and any CPU is as good as another; there is one GPU.
    assert [request for request, _pool in devices(served)] == ["device/cpu", "device/gpu"]
    assert devices(served)[-1] == before[-1]
    assert not deployment(served)["spec"].get("paused")
    assert len(list(served.api.list(REPLICA_SETS, "default"))) == 1


def test_04_a_second_run_changes_nothing(served, before):
    unchanged = state(served)
    ended = served.play("playbooks/rollout.yml", **WANTED)
    assert (ended.status, ended.changed) == (0, 0), ended.output
    assert state(served) == unchanged


def test_05_nor_does_the_main_job_with_its_own_strategy(served, before):
    pods = state(served)[1]
    ended = served.play("site.yml", "--tags", "vllm", **WANTED)
    assert (ended.status, ended.changed) == (0, 0), ended.output
    assert state(served)[1] == pods
