# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster of real kubelets, made and removed: the machine is afterwards as it was before."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.lab.kind import traces
from ansible_collections.inference.dra.lab.kind.cluster import Clusters, home
from ansible_collections.inference.dra.lab.kind.workers import Worker
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import NODES

NAME = "leaves-nothing"


@pytest.fixture
def clusters(docker_alone):
    found = Clusters(home(), print)
    reason = found.obstacle()
    if reason:
        pytest.skip(reason)
    if found.names():
        pytest.skip(f"the kind cluster {found.names()[0]} is there; the machine would not be as before")
    yield found
    found.down(NAME)


def test_up_and_down_twice(clusters):
    before = traces.look(home())
    for _unused in range(2):
        worker = Worker("pool", {"example.com/pool": "pool"}, [])
        assert clusters.up(NAME, [worker])[0] == f"created {NAME} with 1 workers"
        assert clusters.up(NAME, [worker]) == []
        nodes = [*clusters.api(NAME).list(NODES)]
        assert [node["metadata"]["labels"].get("example.com/pool") for node in nodes] == [None, "pool"]
        assert clusters.down(NAME)
        assert clusters.leftovers(NAME) == []
        assert clusters.down(NAME) == []
        assert traces.differences(before, traces.look(home())) == []
