# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long after the last condition was written a wait ends; polling would take half its period and more."""

from __future__ import annotations

import math
import threading
import time

import pytest

from ansible_collections.inference.dra.plugins.module_utils._glue.waiting import wait, wait_spec
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock
from ansible_collections.inference.dra.tests.integration.claims.scene import CPU, Service, furnish

pytestmark = pytest.mark.lab

SAMPLES = 40
PATIENCE = 30.0


class Wait(threading.Thread):
    """A wait for a claim to be ready; ``sees`` is set once it has seen the claim allocated."""

    def __init__(self, kubeconfig: str, namespace: str, claim: str) -> None:
        super().__init__()
        self.sees = threading.Event()
        self.ended = math.inf
        given = {"kubeconfig": kubeconfig, "namespace": namespace, "names": [claim], "timeout_seconds": 60}
        self._params = {name: option.get("default") for name, option in wait_spec().items()} | given
        self.start()

    def run(self) -> None:
        wait(self._params, SystemClock(), lambda _line: self.sees.set(), check_mode=False)
        self.ended = time.monotonic()


def test_wait_reaction(make_control_plane, measured):
    plane = make_control_plane()
    service = Service.of(plane, "reaction")
    furnish(service.api)
    reactions = []
    for number in range(SAMPLES):
        service.create(1, CPU, name=f"sample-{number}")
        (claim,) = service.allocated(1)
        waiting = Wait(str(plane.kubeconfig), service.namespace, claim["metadata"]["name"])
        assert waiting.sees.wait(PATIENCE)
        service.open_gate(claim)
        written = time.monotonic()
        waiting.join(PATIENCE)
        reactions.append(waiting.ended - written)
        service.delete()
    reactions.sort()
    ninety_five = reactions[math.ceil(0.95 * SAMPLES) - 1]
    print(f"reaction of {SAMPLES} waits: median {reactions[SAMPLES // 2]:.3f} s, p95 {ninety_five:.3f} s")
    measured("reaction of a wait, 95th percentile", round(max(0.0, ninety_five), 3), "s", budget=0.2)
