# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Google modules against the lab's Google server, on a clock that both share: no test waits."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from datetime import datetime, timezone

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.inference.dra.lab.google.cloud import Cloud
from ansible_collections.inference.dra.lab.google.server import GoogleServer, fulfil
from ansible_collections.inference.dra.plugins.module_utils._glue.google import run_google
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import ManualClock
from ansible_collections.inference.dra.plugins.module_utils._ports.google import Google
from ansible_collections.inference.dra.plugins.module_utils._ports.google_access import access

MODULES = "ansible_collections.inference.dra.plugins.modules"
PROJECT = "test-project"
LOCATION = "us-central1"


class Ended(BaseException):
    """How a module ends; no ``except Exception`` may swallow it."""

    def __init__(self, result: dict, *, failed: bool) -> None:
        super().__init__(result.get("msg", ""))
        self.result = {**result, "failed": failed}


class FakeModule:
    def __init__(self, params: dict, *, check_mode: bool) -> None:
        self.params = params
        self.check_mode = check_mode
        self.logged: list[str] = []

    def exit_json(self, **result):
        raise Ended(result, failed=False)

    def fail_json(self, msg, **result):
        raise Ended({"msg": msg, **result}, failed=True)

    def log(self, text):
        self.logged.append(text)


class LabClock(ManualClock):
    """While the module sleeps, the lab's operations go on and its machines come up."""

    cloud: Cloud

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        with self.cloud.lock:
            self.cloud.advance()
            fulfil(self.cloud)
            self.cloud.advance()


@dataclass
class Lab:
    server: GoogleServer
    cloud: Cloud
    clock: LabClock
    google: Google

    @property
    def endpoint(self) -> str:
        return self.server.endpoint

    @property
    def writes(self) -> int:
        return self.server.requests.writes

    def run(self, module_name: str, /, check_mode: bool = False, **options) -> dict:
        """Return the result of a module, ``failed`` included."""
        module = importlib.import_module(f"{MODULES}.{module_name}")
        params = {"project": PROJECT, "api_endpoint": self.endpoint, "location": LOCATION, **options}
        params = json.loads(json.dumps(params))  # the validator fills it in
        checked = ArgumentSpecValidator(module.argument_spec()).validate(params)
        assert not checked.error_messages, checked.error_messages
        fake = FakeModule(checked.validated_parameters, check_mode=check_mode)
        with pytest.raises(Ended) as ended:
            run_google(fake, module.WORK, self.clock)
        return ended.value.result

    def fault(self, kind: str, **parameters) -> None:
        self.cloud.faults.set(kind, **parameters)

    def cluster(self, name: str = "demo") -> dict | None:
        return self.google.cluster(LOCATION, name)

    def pool(self, name: str) -> dict | None:
        pools = (self.cluster() or {}).get("nodePools", ())
        return next((pool for pool in pools if pool["name"] == name), None)


@pytest.fixture
def lab():
    clock = LabClock(datetime(2026, 8, 1, tzinfo=timezone.utc))
    cloud = Cloud(clock, project=PROJECT)
    clock.cloud = cloud
    server = GoogleServer(cloud).start()
    yield Lab(server, cloud, clock, Google(access({"project": PROJECT, "api_endpoint": server.endpoint})))
    server.stop()


@pytest.fixture
def cluster(lab):
    """The lab with one small cluster in it, made without our modules."""
    body = {
        "cluster": {
            "name": "demo",
            "initialClusterVersion": "1.36",
            "nodePools": [{"name": "default-pool", "initialNodeCount": 1}],
        }
    }
    lab.google.start("create_cluster", lab.google.place(LOCATION), body)
    while lab.cluster()["status"] != "RUNNING":
        lab.clock.sleep(60)
    return lab
