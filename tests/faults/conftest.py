# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab whose simulated half hours pass in seconds, and the faults it can be told to have."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    DEPLOYMENTS,
    PODS,
    Resource,
)
from ansible_collections.inference.dra.tests.integration.lab.labs import dra_lab, running_lab
from ansible_collections.inference.dra.tests.integration.playbooks.conftest import (
    Bench,
    is_ready,
)
from ansible_collections.inference.dra.tests.watched import seen

SPEED = "100"  # GKE gives up on a stocked-out pool after 35 minutes


@dataclass(frozen=True)
class Kill:
    """A point of a run: a task begins and, where a kind is given, such an object is there."""

    task: str
    kind: Resource | None = None
    amid: Callable[[dict], bool] = lambda _object: True


@dataclass(frozen=True)
class FaultyBench(Bench):
    """A lab that faults can be ordered from, as users order them."""

    @contextmanager
    def fault(self, kind: str, **settings: object) -> Iterator[None]:
        """Have the fault on, until the block ends."""
        self.order("set", kind, *(f"{key}={value}" for key, value in settings.items()))
        try:
            yield
        finally:
            self.order("clear")

    def kill_at(self, kill: Kill, playbook: str, **variables: object) -> None:
        """Run a playbook, and kill it with all that it started at that point."""
        process = self.start(playbook, **variables)
        assert process.stdout
        with process:
            try:
                found = any(kill.task in line for line in process.stdout)
                if found and kill.kind:
                    seen(self.api, kill.kind, lambda objects: any(map(kill.amid, objects)), kill.task)
            finally:
                os.killpg(process.pid, signal.SIGKILL)
        assert found, f"no task {kill.task}"

    def scale(self, replicas: int) -> None:
        """Have so many replicas, and return when all of them serve."""
        wanted = {"spec": {"replicas": replicas}}
        self.api.merge_patch(DEPLOYMENTS, "vllm-fungible", wanted, "default")
        self.until(PODS, lambda pods: len(pods) == replicas and all(map(is_ready, pods)))

    def order(self, *words: str) -> None:
        done = dra_lab("fault", "--name", self.lab.name, *words)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def bench(lab_binaries, tmp_path_factory) -> Iterator[FaultyBench]:
    with running_lab("ftest", "--speed", SPEED) as lab:
        yield FaultyBench(lab, tmp_path_factory.mktemp("output"))
