# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults are known, typed, narrowed, counted and reversible."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.lab.errors import LabError
from ansible_collections.inference.dra.lab.faults import Faults, Kind


@pytest.fixture
def faults():
    found = Faults()
    found.offer(Kind("crash", "a driver stops", ("driver", "node"), {"after": 1.5, "loud": False}))
    return found


@pytest.mark.parametrize(
    ("narrowed", "hit"),
    [
        pytest.param({}, True, id="everything"),
        pytest.param({"node": "gke-a-*"}, True, id="pattern"),
        pytest.param({"node": "gke-b-*"}, False, id="another-node"),
        pytest.param({"driver": "dra.cpu", "node": "gke-a-1"}, True, id="both"),
        pytest.param({"driver": "dra.net", "node": "gke-a-1"}, False, id="another-driver"),
    ],
)
def test_narrowing(faults, narrowed, hit):
    faults.set("crash", **narrowed)
    assert (faults.peek("crash", driver="dra.cpu", node="gke-a-1") is not None) is hit


def test_set_list_and_clear_are_told(faults):
    told = []
    faults.listen(lambda fault, on: told.append((fault.id, on)))
    name = faults.set("crash", node="n1", after="3")
    assert faults.list() == [
        {
            "id": name,
            "kind": "crash",
            "parameters": {"node": "n1", "after": 3.0, "loud": False},
            "remaining": None,
            "hits": 0,
        }
    ]
    assert faults.clear(name) == 1
    assert faults.list() == []
    assert told == [(name, True), (name, False)]


def test_a_limited_fault_is_used_up(faults):
    faults.set("crash", remaining="2")  # text, as commands give it
    assert [faults.take("crash") is not None for _unused in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        pytest.param("crush", {}, "choose one of crash", id="kind"),
        pytest.param("crash", {"nod": "n1"}, "unknown parameter nod; it takes driver, node", id="name"),
        pytest.param("crash", {"after": "soon"}, "after is 'soon', expected float", id="type"),
        pytest.param("crash", {"loud": "perhaps"}, "expected bool", id="truth"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(faults, kind, parameters, message):
    with pytest.raises(LabError, match=message):
        faults.set(kind, **parameters)


def test_clearing_by_kind_and_all(faults):
    faults.set("crash")
    faults.set("crash")
    assert faults.clear("crash") == 2
    faults.set("crash")
    assert faults.clear() == 1
    assert faults.clear() == 0
