# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From allocation to condition with many pods at once, and memory; an observer of the claims takes the time.

Twice: as a cluster comes, where the scheduler and the controllers have their default request rates; and
without those limits, all pods and claims there before the gating slice is, so that the scheduler allocates
as fast as it can.
"""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path

import pytest
import yaml

from ansible_collections.inference.dra.controllers.image_configurator.gating_slice import unpublish
from ansible_collections.inference.dra.lab.processes import Program
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    PODS,
)

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(
        "INFERENCE_DRA_LONG_TESTS" not in os.environ,
        reason="numbers of a busy machine mean nothing; set INFERENCE_DRA_LONG_TESTS",
    ),
]


class Observer:
    """Notes when each claim was allocated and when its condition came, as a watch shows it."""

    def __init__(self, api, namespace, kit):
        self.allocated, self.answered = {}, {}
        self._changed = threading.Condition()
        threading.Thread(target=self._watch, args=(api, namespace, kit), daemon=True).start()

    def _watch(self, api, namespace, kit):
        for claim in kit.changes(api, CLAIMS, namespace):
            now, name, status = time.monotonic(), claim["metadata"]["name"], claim.get("status", {})
            if "allocation" in status:
                self.allocated.setdefault(name, now)
            if any(entry["driver"] == kit.GATE.driver for entry in status.get("devices", [])):
                with self._changed:
                    self.answered.setdefault(name, now)
                    self._changed.notify_all()

    def until(self, number, seconds):
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.answered) >= number, seconds), len(self.answered)

    def seconds(self):
        """Return the seconds from allocation to condition, ascending."""
        return sorted(self.answered[name] - self.allocated[name] for name in self.answered)

    def span(self):
        """Return the seconds from the first allocation to the last, and to the last condition."""
        first = min(self.allocated.values())
        return max(self.allocated.values()) - first, max(self.answered.values()) - first


def replace(plane, name, *more, drop=""):
    """Restart a component with other arguments."""
    (program,) = [p for p in plane.programs() if p.name == name]
    plane.processes.stop([name])
    kept = [argument for argument in program.argv if not (drop and argument.startswith(drop))]
    plane.processes.start(Program(name, [*kept, *more], program.environment))


@pytest.fixture
def default_rates(plane, tmp_path):
    """Give scheduler and controllers their own default rates for a test: 50 and 20 requests a second."""
    (program,) = [p for p in plane.programs() if p.name == "kube-scheduler"]
    (flag,) = [argument for argument in program.argv if argument.startswith("--config=")]
    config = yaml.safe_load(Path(flag.removeprefix("--config=")).read_text())
    for option in ("qps", "burst"):
        del config["clientConnection"][option]
    path = tmp_path / "scheduler.yaml"
    path.write_text(yaml.safe_dump(config))
    replace(plane, "kube-scheduler", f"--config={path}", drop="--config=")
    replace(plane, "kube-controller-manager", drop="--kube-api-")
    yield
    replace(plane, "kube-scheduler")
    replace(plane, "kube-controller-manager")


def told(what, observer, replica):
    """Print what was measured; return the median and the 99th percentile in seconds."""
    latencies, (allocated, done) = observer.seconds(), observer.span()
    p50, p99 = (latencies[int(len(latencies) * share)] for share in (0.5, 0.99))
    print(
        f"{what}: allocation to condition p50 {p50 * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms; "
        f"scheduler {allocated:.1f} s, all conditions {done:.1f} s; "
        f"peak memory {peak_megabytes(replica.process):.0f} MB"
    )
    return p50, p99


def peak_megabytes(process):
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", text)[1]) / 1024


@pytest.mark.usefixtures("default_rates")
def test_fifty_pods_as_a_cluster_comes(workload, start, kit):
    workload.template(gpu_first=False)
    replica = start("--lease-seconds=15")
    assert replica.leads.wait(20)
    observer = Observer(workload.api, workload.namespace, kit)
    for n in range(50):
        workload.pod(f"p{n}")
    observer.until(50, 60)
    p50, p99 = told("50 pods, default rates", observer, replica)
    assert p99 <= 0.1, (p50, p99)


@pytest.mark.parametrize(
    ("number", "budget"),
    [(50, {"peak": 80}), (1000, {"done": 20.0, "peak": 80}), (5000, {"peak": 80})],
    ids=["50", "1000", "5000"],
)
def test_pods_at_once(workload, start, kit, number, budget):
    api = workload.api
    unpublish(api, kit.GATE)
    workload.template(gpu_first=False)
    for n in range(number):
        workload.pod(f"p{n}")
    workload.claims(lambda known: len(known) == number, 300 + number / 5)
    observer = Observer(api, workload.namespace, kit)
    replica = start("--lease-seconds=15")
    observer.until(number, 300 + number / 5)
    told(f"{number} pods, no rate limits", observer, replica)
    assert all(kit.image(pod) == kit.IMAGES["cpu"] for pod in api.list(PODS, workload.namespace))
    measured = {"done": observer.span()[1], "peak": peak_megabytes(replica.process)}
    assert {name: value for name, value in measured.items() if value > budget.get(name, value)} == {}
