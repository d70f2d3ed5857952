# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several kinds kept current at once: what changes, what may only be listed, what may not be seen."""

from __future__ import annotations

import threading
from datetime import datetime, timezone

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, ManualClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    NODES,
    PODS,
    Kubernetes,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.watching import Watching
from ansible_collections.inference.dra.tests.watched import until

from .api_server import Answer, ApiServer, event, status

PATIENCE = 20.0
"""Seconds of real time for which an answer is held back at most."""


def listed(*names: str) -> Answer:
    items = [{"metadata": {"name": name, "uid": name}} for name in names]
    return Answer(body={"metadata": {"resourceVersion": "1"}, "items": items})


class ByPath(ApiServer):
    """Answers for each plural; the last is held back until the test is over, as a watch without news is."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.by_path: dict[str, list[Answer]] = {}
        super().__init__()

    def next(self, asked):
        self.asked.append(asked)
        answers = self.by_path[asked.path.rsplit("/", 1)[-1]]
        if len(answers) > 1:
            return answers.pop(0)
        self.over.wait(PATIENCE)
        return answers[0]


@pytest.fixture
def clock():
    return ManualClock(datetime(2026, 9, 1, tzinfo=timezone.utc))


@pytest.fixture
def server(clock):
    server = ByPath()
    yield server
    clock.sleep(100)  # the deadline passes, so that the threads end
    server.over.set()
    server.end()


@pytest.fixture
def watch(server, clock):
    def start(*resources, seconds=60.0) -> Watching:
        api = Kubernetes.connect({"host": server.url, "api_key": "x"}, clock, {})
        return Watching(api.within(Deadline(clock, seconds)), resources, "ns")

    return start


def names(watching: Watching, kind: str) -> set[str]:
    return {each["metadata"]["name"] for each in watching.objects().get(kind, ())}


def test_changes_are_laid_over_the_list(watch, server):
    server.by_path["pods"] = [
        listed("a", "b"),
        Answer(
            stream=[
                event("ADDED", "c", "2"),
                event("DELETED", "a", "3"),
                event("MODIFIED", "b", "4"),
                event("BOOKMARK", "none", "5"),
            ]
        ),
        Answer(stream=[]),
    ]
    watching = watch(PODS)
    until(watching, lambda: names(watching, "Pod") == {"b", "c"})
    (changed,) = [each for each in watching.objects()["Pod"] if each["metadata"]["name"] == "b"]
    assert changed["metadata"]["resourceVersion"] == "4"


def test_complete_once_every_kind_was_listed(watch, server):
    server.by_path["pods"] = [listed("a"), Answer(stream=[]), Answer(stream=[])]
    server.by_path["nodes"] = [listed(), Answer(stream=[]), Answer(stream=[])]
    watching = watch(PODS, NODES)
    until(watching, lambda: watching.is_complete)
    assert watching.objects().keys() == {"Pod", "Node"}
    assert {each.path for each in server.asked} == {"/api/v1/namespaces/ns/pods", "/api/v1/nodes"}


def test_kind_that_may_not_be_listed_is_named_and_holds_nothing_up(watch, server):
    server.by_path["resourceclaims"] = [status(403, "Forbidden"), status(403, "Forbidden")]
    server.by_path["pods"] = [listed("a"), Answer(stream=[]), Answer(stream=[])]
    watching = watch(PODS, CLAIMS)
    until(watching, lambda: watching.is_complete)
    assert watching.forbidden == {"resourceclaims"}
    assert "ResourceClaim" not in watching.objects()
    assert watching.failures["ResourceClaim"].status == 403


def test_kind_that_may_not_be_watched_is_listed_again(watch, server):
    server.by_path["pods"] = [
        listed("a"),
        status(403, "Forbidden"),
        listed("a", "b"),
        status(403, "Forbidden"),
        status(403, "Forbidden"),
    ]
    watching = watch(PODS)
    until(watching, lambda: names(watching, "Pod") == {"a", "b"})
    assert (watching.polled, watching.forbidden) == ({"pods"}, set())


def test_history_that_is_lost_is_listed_again(watch, server):
    server.by_path["pods"] = [
        listed("a"),
        status(410, "Expired"),
        listed("b"),
        Answer(stream=[]),
        Answer(stream=[]),
    ]
    watching = watch(PODS)
    until(watching, lambda: names(watching, "Pod") == {"b"})
    assert not watching.polled


def test_failure_is_kept_until_it_is_over(watch, server):
    server.by_path["pods"] = [
        status(404, "NotFound"),
        listed("a"),
        Answer(stream=[]),
        Answer(stream=[]),
    ]
    watching = watch(PODS)
    until(watching, lambda: names(watching, "Pod") == {"a"})
    assert not watching.failures


def test_waiting_without_a_change_ends(watch, server):
    server.by_path["pods"] = [listed("a"), Answer(stream=[]), Answer(stream=[])]
    watching = watch(PODS)
    until(watching, lambda: watching.is_complete)
    watching.wait(0)
    watching.wait(-1)
