# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod's status follows its containers."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.lab.hardware.pod_status import (
    STARTING,
    WAITING,
    State,
    back_off,
    crashed,
    status,
)
from ansible_collections.inference.dra.lab.hardware.publishing import plugin_states

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
POD = {
    "spec": {
        "initContainers": [{"name": "init", "image": "i"}],
        "containers": [{"name": "compute-domains", "image": "i"}, {"name": "gpus", "image": "i"}],
    },
    "status": {"conditions": [{"type": "PodScheduled", "status": "True"}]},
}


def ready(found):
    return {each["type"]: each["status"] for each in found["conditions"]}["Ready"]


def machine(accelerator):
    return {"metadata": {"labels": {"cloud.google.com/gke-accelerator": accelerator}}}


@pytest.mark.parametrize(
    ("states", "phase", "is_ready"),
    [
        pytest.param({}, "Running", "True", id="all-run"),
        pytest.param(
            {"init": STARTING, "gpus": WAITING, "compute-domains": WAITING}, "Pending", "False", id="init"
        ),
        pytest.param({"gpus": STARTING}, "Running", "False", id="not-ready-yet"),
        pytest.param({"gpus": crashed("boom")}, "Running", "False", id="crash-loop"),
    ],
)
def test_phase_and_readiness(states, phase, is_ready):
    found = status(POD, states, NOW)
    assert found["phase"] == phase
    assert ready(found) == is_ready


def test_what_is_written_already_is_not_written_again():
    states = {"gpus": crashed("boom")}
    pod = {**POD, "status": POD["status"] | status(POD, states, NOW)}
    assert status(pod, states, LATER) is None


def test_times_and_restarts_survive_recovery():
    pod = {**POD, "status": POD["status"] | status(POD, {"gpus": crashed("boom")}, NOW)}
    found = status(pod, {}, LATER)
    gpus = next(each for each in found["containerStatuses"] if each["name"] == "gpus")
    assert gpus["restartCount"] == 1
    assert gpus["lastState"]["terminated"]["message"] == "boom"
    assert gpus["state"]["running"]["startedAt"] == LATER
    assert "PodScheduled" in {each["type"] for each in found["conditions"]}


@pytest.mark.parametrize(
    ("accelerator", "has_driver", "doing"),
    [
        pytest.param("nvidia-l4", False, {"init": "running", "gpus": "waiting"}, id="C26-no-kernel-driver"),
        pytest.param("nvidia-l4", True, {"gpus": "running", "compute-domains": "crashed"}, id="no-imex"),
        pytest.param("nvidia-gb200", True, {"gpus": "running", "compute-domains": "running"}, id="imex"),
    ],
)
def test_gpu_plugin(accelerator, has_driver, doing):
    found = plugin_states(machine(accelerator), POD, has_driver=has_driver)
    assert {name: found[name].doing for name in doing} == doing


def test_a_container_that_waits_says_what_for():
    waits = {"gpus": State("waiting", reason="ErrImagePull", message="not found")}
    found = status(POD, {**waits, "compute-domains": WAITING}, NOW)
    assert found["phase"] == "Pending"
    states = {each["name"]: each["state"] for each in found["containerStatuses"]}
    assert states["gpus"] == {"waiting": {"reason": "ErrImagePull", "message": "not found"}}


def test_a_container_that_ends_again_has_ended_later():
    first = POD | {"status": POD["status"] | status(POD, {"gpus": crashed("died")}, NOW)}
    again = status(first, {"gpus": crashed("died", 2)}, LATER)
    (gpus,) = [each for each in again["containerStatuses"] if each["name"] == "gpus"]
    assert (gpus["restartCount"], gpus["lastState"]["terminated"]["finishedAt"]) == (2, LATER)


@pytest.mark.parametrize(("failures", "seconds"), [(1, 10), (2, 20), (5, 160), (6, 300), (50, 300)])
def test_the_back_off_doubles_up_to_five_minutes(failures, seconds):
    assert back_off(failures) == seconds
