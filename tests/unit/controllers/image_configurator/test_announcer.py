# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events give way to claims, for a limited time."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from ansible_collections.inference.dra.controllers.image_configurator.announcer import (
    PATIENCE_SECONDS,
    Announcer,
)
from ansible_collections.inference.dra.controllers.image_configurator.contract import Gate
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import ManualClock

PODS = [{"namespace": "ns", "name": name, "uid": name} for name in ("p", "q")]


class Server:
    """Stands where the connection is; keeps what is written."""

    def __init__(self):
        self.written = []

    def within(self, _deadline):
        return self

    def create(self, _resource, body, namespace):
        self.written.append((namespace, body["involvedObject"]["name"]))


@pytest.fixture
def clock():
    return ManualClock(datetime(2026, 11, 30, tzinfo=timezone.utc))


def test_every_event_waits_for_its_own_rest_of_the_patience(clock):
    server, patience = Server(), []

    def give_way(seconds):
        patience.append(seconds)
        clock.sleep(1.5)

    announcer = Announcer(server, clock, Gate(), give_way)
    announcer.tell(PODS, "allocation", "Normal", "ImagePatched", "text")
    announcer.close()
    announcer.run()
    assert patience == [PATIENCE_SECONDS, PATIENCE_SECONDS - 1.5]
    assert server.written == [("ns", "p"), ("ns", "q")]


def test_what_waited_too_long_is_written_at_once(clock):
    patience = []
    announcer = Announcer(Server(), clock, Gate(), patience.append)
    announcer.tell(PODS[:1], "allocation", "Normal", "ImagePatched", "text")
    clock.sleep(60)
    announcer.close()
    announcer.run()
    assert patience == [0.0]
