# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The main job while things break, as one story: each run ends with the right words and status, and the
next one, with the fault gone, goes on from there."""

from __future__ import annotations

import json
import re
import threading

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIM_TEMPLATES,
    CLAIMS,
    DEPLOYMENTS,
    PODS,
    SECRETS,
    SLICES,
)

from .conftest import Kill

pytestmark = pytest.mark.lab

NO_DRIVER = re.compile(r"default/(\S+): pending; error DriverPodNotReady: ")


def said(ended) -> str:
    """Return what a playbook printed, without line breaks."""
    return " ".join(ended.output.split())


def demo(bench, *steps: int, seconds: int = 600):
    return bench.play(
        "playbooks/scale_demo.yml", inference_demo_steps=list(steps), scale_demo_timeout_seconds=seconds
    )


def served_by(bench) -> dict[str, int]:
    """Return how many replicas each alternative had at the end of the last recorded step."""
    return json.loads((bench.output / "report.json").read_text())["steps"][-1]["alternatives"]


def test_01_a_quota_that_is_too_small_is_refused_before_anything_is_made(bench):
    with bench.fault("quota", metric="GPUS_ALL_REGIONS", limit=0):
        ended = bench.play("site.yml")
    assert (ended.status, ended.changed) == (2, 0), ended.output
    assert "QuotaShort" in said(ended)
    assert "GPUS_ALL_REGIONS: 0 of 0 free" in said(ended)


def test_02_a_pool_without_stock_is_named_and_the_service_comes_up(bench):
    bench.order("set", "stockout", "pool=gpu-pool")
    ended = bench.play("site.yml")
    assert ended.status == 0, ended.output
    assert "gpu-pool: stockout. Google Compute Engine: Not all instances running" in said(ended)


def test_03_without_gpus_replicas_get_cpus_and_the_diagnosis_says_why(bench):
    ended = demo(bench, 1, 2)
    assert ended.status == 0, ended.output
    assert served_by(bench) == {"cpu": 2}
    ended = bench.play("playbooks/diagnose.yml")
    assert ended.status == 0, ended.output
    assert said(ended).count("running on cpu") == 2


def test_04_with_stock_again_replicas_return_to_gpus(bench):
    bench.order("clear")
    bench.until(SLICES, lambda slices: "gpu.nvidia.com" in {each["spec"]["driver"] for each in slices})
    ended = bench.play("playbooks/return_to_gpu.yml")
    assert ended.status == 0, ended.output
    replaced = {claim["metadata"]["name"] for claim in bench.api.list(CLAIMS, "default")}
    assert len(replaced) == 2
    drivers = sorted(
        result["driver"]
        for claim in bench.api.list(CLAIMS, "default")
        for result in claim["status"]["allocation"]["devices"]["results"]
    )
    assert "gpu.nvidia.com" in drivers


def test_05_a_preemption_in_the_middle_of_the_demo_is_made_good(bench):
    """The machine goes as soon as a third replica is there, and the record says so."""

    def preempt() -> None:
        bench.until(PODS, lambda pods: len(pods) > 2)
        bench.order("set", "preemption", "pool=cpu-pool", "remaining=1")

    thread = threading.Thread(target=preempt)
    thread.start()
    ended = demo(bench, 4)
    thread.join()
    assert ended.status == 0, ended.output
    assert sum(served_by(bench).values()) == 4
    record = json.loads((bench.output / "record.json").read_text())
    gone = {
        verdict["subject"] for verdict in record["steps"][-1]["verdicts"] if verdict["reason"] == "NodeGone"
    }
    assert len(gone) == 1, record["steps"][-1]["verdicts"]
    assert "cpu-pool" in gone.pop()
    bench.order("clear")


def test_06_a_condition_that_fails_ends_the_demo_at_once_and_by_name(bench):
    bench.scale(2)
    with bench.fault("condition-fails", driver="*"):
        ended = demo(bench, 3)
    assert ended.status == 2, ended.output
    assert "lab.inference.dra/preparation-failed" in said(ended)
    assert "TimedOut" not in said(ended)


def test_07_a_driver_that_does_not_come_ends_demo_and_setup_and_is_named(bench):
    bench.scale(1)
    with bench.fault("driver-crash", driver="*"):
        ended = demo(bench, 3, seconds=30)
        assert (ended.status, ended.failed) == (2, 1), ended.output
        assert "3 replicas: Waiting for claims to be running: " in said(ended)
        for words in (said(ended), said(bench.play("playbooks/diagnose.yml"))):
            assert len(set(NO_DRIVER.findall(words))) == 2, words
            assert "it ended before (Error, exit code 1: stopped by an ordered fault)" in words
        ended = bench.play("site.yml", "--tags", "dra_drivers", dra_drivers_devices_timeout_seconds=5)
        assert (ended.status, ended.failed) == (2, 1), ended.output
        assert "Verifying resource slices: " in said(ended)
        assert "stopped by an ordered fault" in said(ended)
    ended = bench.play("playbooks/report.yml")
    assert ended.status == 0, ended.output
    report = json.loads((bench.output / "report.json").read_text())
    assert sum(served_by(bench).values()) == report["steps"][-1]["replicas"] == 3
    assert "DriverPodNotReady" in {verdict["reason"] for verdict in report["verdicts"]}


def test_08_an_image_that_nobody_pushed_is_named(bench):
    registry = bench.connection()["lab_connection"]["registry"]
    nowhere = f"{registry}/lab-project/dra-drivers/vllm-gemma4-cpu:v0"
    wrong = {"inference_image_references": {"gpu": nowhere, "cpu": nowhere}}
    ended = bench.play("site.yml", "--tags", "vllm", **wrong)
    assert ended.status == 0, ended.output
    ended = demo(bench, 1, seconds=60)
    assert ended.status == 2, ended.output
    ended = bench.play("playbooks/diagnose.yml")
    assert (ended.status, ended.failed) == (2, 1), ended.output
    assert "ImagePullFailed" in said(ended)


def half_done(record: dict) -> bool:
    return record["metadata"].get("labels", {}).get("status", "").startswith("pending-")


def is_configurator(deployment: dict) -> bool:
    return deployment["metadata"]["name"] == "image-configurator"


KILLS = (
    Kill("Have the images"),
    Kill("vllm-gemma4-"),
    Kill("Have the node pools"),
    Kill("Have dra.cpu", SECRETS, half_done),
    Kill("Have the controller, its rights", DEPLOYMENTS, is_configurator),
    Kill("Have the ComputeClass"),
    Kill("Have the claim template, the Deployment and the Service", CLAIM_TEMPLATES),
)
# Nobody else's helm is at the lab, so what a killed one left need not be waited for long.
ALONE = {"dra_drivers_timeout_seconds": 5}


def test_09_a_run_killed_anywhere_is_finished_by_the_next(bench):
    """Each run passes the point at which the one before it was killed, and is killed at the next."""
    assert bench.play("playbooks/teardown.yml").status == 0
    for kill in KILLS:
        bench.kill_at(kill, "site.yml", **ALONE)
    ended = bench.play("site.yml", **ALONE)
    assert ended.status == 0, ended.output
    ended = bench.play("site.yml")
    assert (ended.status, ended.changed) == (0, 0), ended.output


def test_10_teardown_leaves_nothing_also_where_one_was_killed_before(bench):
    bench.kill_at(Kill("Have no drivers"), "playbooks/teardown.yml")
    ended = bench.play("playbooks/teardown.yml")
    assert ended.status == 0, ended.output
    assert "Nothing is left" in ended.output
