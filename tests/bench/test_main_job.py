# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The main job beside the tutorial's own commands: each side has a new lab of the same speed.

Both sides end their set-up when the Deployment is applied, and are then seen to have a ready replica.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIM_TEMPLATES,
    COMPUTE_CLASSES,
    DAEMON_SETS,
    DEPLOYMENTS,
    DEVICE_CLASSES,
    PODS,
    SECRETS,
)
from ansible_collections.inference.dra.tests.integration.lab.guide_a import (
    CLOUD,
    DRIVERS,
    GATE,
    INSTALLER,
    VARIABLES,
    WORKLOAD,
    Shell,
    lay_out,
)
from ansible_collections.inference.dra.tests.integration.lab.labs import running_lab
from ansible_collections.inference.dra.tests.integration.playbooks.conftest import (
    Bench,
    CountingProxy,
    is_ready,
)
from ansible_collections.inference.dra.tests.watched import seen

pytestmark = pytest.mark.lab

SHARE = 0.8
SET_UP = tuple(step.line for step in (*CLOUD, *DRIVERS, *WORKLOAD) if "noop" not in step.name)
"""What both sides do: the lab's inventory has no no-op driver, because simulated nodes need none."""
DELETE_CLUSTER = "gcloud container clusters delete ${CLUSTER_NAME} --location=${LOCATION}"
CLEAN_UP = (
    "kubectl delete -f deployment.yaml --cascade=foreground",
    "kubectl wait --for=delete resourceclaim --all --timeout=120s",
    "kubectl delete -f claim-template.yaml",
    "kubectl delete secret hf-secret",
    "kubectl delete -f compute-class.yaml",
    *(
        f"helm uninstall {name} --namespace=kube-system --wait"
        for name in ("dra-driver-nvidia-gpu", "dra-driver-cpu")
    ),
    f"kubectl delete -f {INSTALLER}",
    "kubectl delete -f image-configurator.yaml --cascade=foreground",
    f"kubectl delete resourceslice {GATE} --ignore-not-found",
    f"kubectl delete lease -n kube-system {GATE} --ignore-not-found",
    "kubectl get resourceclaims,resourceslices,deployments,daemonsets -A",
    *(
        f"gcloud container node-pools delete {name} --cluster=${{CLUSTER_NAME}} --location=${{LOCATION}}"
        for name in ("gpu-pool", "cpu-pool")
    ),
    DELETE_CLUSTER,
    "gcloud artifacts repositories delete dra-drivers --location=${LOCATION}",
    "gcloud container clusters list",
    "gcloud artifacts repositories list",
)
"""What ``teardown.yml`` does, as commands. The tutorial itself has only that which deletes the cluster."""
APPLIED = (CLAIM_TEMPLATES, COMPUTE_CLASSES, DAEMON_SETS, DEPLOYMENTS, DEVICE_CLASSES, SECRETS)


@dataclass(frozen=True)
class Typed:
    """Seconds that commands took, one after another; ``deletion`` is the tutorial's part of the clean-up."""

    setup: float
    clean_up: float
    deletion: float


@pytest.fixture(scope="module")
def typed(lab_binaries, tmp_path_factory) -> Typed:
    if shutil.which("gcloud") is None:
        pytest.skip("gcloud is not installed on this machine, so there is nothing to compare with")
    home = tmp_path_factory.mktemp("typed")
    lay_out(home)
    with running_lab("bench-typed") as lab:
        shell = Shell(lab, home)
        began = time.monotonic()
        for assignment in filter(None, VARIABLES):
            shell.remember(assignment)
        known = time.monotonic() - began
        setup = [seconds_of(shell, line) for line in SET_UP]
        seen(shell.api, PODS, one_is_ready, "a replica", namespace="default", seconds=180)
        clean_up = [seconds_of(shell, line) for line in CLEAN_UP]
        return Typed(known + sum(setup), sum(clean_up), clean_up[CLEAN_UP.index(DELETE_CLUSTER)])


def seconds_of(shell: Shell, line: str) -> float:
    began = time.monotonic()
    shell.type(line)
    seconds = time.monotonic() - began
    print(f"{seconds:5.1f} s  {line}")
    return seconds


def one_is_ready(pods: list[dict]) -> bool:
    return sum(map(is_ready, pods)) == 1


@pytest.fixture(scope="module")
def bench(lab_binaries, tmp_path_factory):
    """A lab with nothing on it, and no answers of other labs kept in the folder for temporary files."""
    with pytest.MonkeyPatch.context() as patch, running_lab("bench-job") as lab:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
        yield Bench(lab, tmp_path_factory.mktemp("output"))


@pytest.fixture
def google(bench):
    """The lab's Google behind a counter."""
    proxy = CountingProxy(bench.lab.url("google"))
    yield proxy
    proxy.stop()


def played(bench: Bench, playbook: str, **variables) -> tuple[float, int]:
    """Run a playbook, which has to succeed, and return its seconds and how many tasks changed something."""
    began = time.monotonic()
    ended = bench.play(playbook, **variables)
    seconds = time.monotonic() - began
    print(ended.output)
    assert ended.status == 0, ended.output
    return seconds, ended.changed


@pytest.fixture(scope="module")
def first_run(bench) -> float:
    seconds, _changed = played(bench, "site.yml")
    bench.until(PODS, one_is_ready)
    return seconds


def versions(bench: Bench) -> dict[tuple[str, ...], object]:
    """Return which version of what was asked for each object is at; what controllers observe is no part."""
    return {
        (kind.plural, each["metadata"].get("namespace", ""), each["metadata"]["name"]): each["metadata"].get(
            "generation", each["metadata"]["resourceVersion"]
        )
        for kind in APPLIED
        for each in bench.api.list(kind)
    }


def compared(measured, name: str, seconds: float, baseline: str, commands: float) -> None:
    """Keep a time beside that of commands, of which it may take a share."""
    measured(
        name,
        round(seconds, 1),
        "s",
        budget=round(SHARE * commands, 1),
        baseline=baseline,
        baseline_value=round(commands, 1),
    )


def test_01_first_run(typed, first_run, measured):
    compared(measured, "site.yml on nothing", first_run, "the tutorial's commands", typed.setup)


def test_02_nothing_to_do(bench, google, first_run, measured):
    before = versions(bench)
    seconds, changed = played(bench, "site.yml", **bench.connection(google_endpoint=google.endpoint))
    assert (changed, google.writes, versions(bench)) == (0, [], before)
    assert google.reads > 0
    measured("site.yml with nothing to do", round(seconds, 1), "s", budget=15)


def test_03_demo_with_report(bench, first_run, measured):
    seconds, _changed = played(bench, "playbooks/scale_demo.yml")
    assert (bench.output / "report.html").exists()
    measured("scale demo 1, 2, 4 with report", round(seconds, 1), "s", budget=90)


def test_04_teardown(typed, bench, first_run, measured):
    seconds, _changed = played(bench, "playbooks/teardown.yml")
    measured("the tutorial's clean-up, which only deletes the cluster", round(typed.deletion, 1), "s")
    compared(measured, "teardown.yml", seconds, "the same by commands", typed.clean_up)
