# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated Google whose clock moves only by hand, and short words for asking it."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from ansible_collections.inference.dra.lab.google.cloud import Cloud
from ansible_collections.inference.dra.lab.google.routes import Request
from ansible_collections.inference.dra.lab.google.schema import Schemas, documents
from ansible_collections.inference.dra.lab.google.server import fulfil
from ansible_collections.inference.dra.lab.google.service import Service
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import ManualClock

REGION = "/v1/projects/test-project/locations/us-central1"
CLUSTER = REGION + "/clusters/demo"
POOLS = CLUSTER + "/nodePools"
COMPUTE = "/compute/v1/projects/test-project"
LONG = 10_000.0

GPU_POOL = {
    "name": "gpu-pool",
    "initialNodeCount": 1,
    "locations": ["us-central1-a"],
    "autoscaling": {"enabled": True, "minNodeCount": 0, "maxNodeCount": 2},
    "config": {
        "machineType": "g2-standard-8",
        "spot": True,
        "accelerators": [
            {
                "acceleratorType": "nvidia-l4",
                "acceleratorCount": "1",
                "gpuDriverInstallationConfig": {"gpuDriverVersion": "INSTALLATION_DISABLED"},
            }
        ],
        "labels": {"cloud.google.com/compute-class": "fungible"},
        "taints": [{"key": "cloud.google.com/compute-class", "value": "fungible", "effect": "NO_SCHEDULE"}],
    },
}


def new_clock() -> ManualClock:
    return ManualClock(datetime(2026, 1, 1, tzinfo=timezone.utc))


class Google:
    """A service and its cloud; requests answer (status, body)."""

    def __init__(self, **options) -> None:
        self.clock = options.pop("clock", None) or new_clock()
        self.cloud = Cloud(self.clock, project="test-project", **options)
        self.faults = self.cloud.faults
        self.service = Service(self.cloud, Schemas(documents()))

    def ask(self, method, path, body=None, **query):
        return self.service.answer(Request(method, path, query, body))

    def get(self, path, **query):
        status, answer = self.ask("GET", path, **query)
        assert status == 200, answer
        return answer

    def change(self, method, path, body=None, **query):
        """Send a change that is accepted and let it come to its end; return its operation."""
        status, answer = self.ask(method, path, body, **query)
        assert status == 200, answer
        return self.ended(answer)

    def refused(self, method, path, body=None, **query):
        """Send a change that is refused; return (HTTP status, error)."""
        status, answer = self.ask(method, path, body, **query)
        assert status >= 400, answer
        return status, answer["error"]

    def ended(self, operation):
        name = operation["name"].rpartition("/")[2]
        self.wait()
        return self.get(f"{REGION}/operations/{name}")

    def wait(self, seconds=LONG, machines=True):
        """Let time pass; every machine that zones give becomes ready at once."""
        if machines:
            fulfil(self.cloud)
        self.clock.sleep(seconds)
        if machines:
            fulfil(self.cloud)
        self.service.api.settle()

    def create_cluster(self, **more):
        pool = {"name": "default-pool", "initialNodeCount": 1}
        body = {"cluster": {"name": "demo", "nodePools": [pool], **more}}
        return self.change("POST", REGION + "/clusters", body)

    def create_pool(self, **more):
        return self.change("POST", POOLS, {"nodePool": GPU_POOL | more})

    def pool(self, name="gpu-pool"):
        return self.get(f"{POOLS}/{name}")


@pytest.fixture
def make_google():
    """Return the class, for tests that need options or a second one."""
    return Google


@pytest.fixture
def google() -> Google:
    return Google()


@pytest.fixture
def demo(google) -> Google:
    """A Google with the cluster ``demo`` in it."""
    google.create_cluster()
    return google


@pytest.fixture
def gpu(demo) -> Google:
    """A Google with ``demo`` and its ``gpu-pool``."""
    demo.create_pool()
    return demo
