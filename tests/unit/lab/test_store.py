# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab remembers of the cluster."""

from __future__ import annotations

from ansible_collections.inference.dra.lab.store import Store
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import NODES, PODS


def obj(name, version):
    return {"metadata": {"name": name, "resourceVersion": version}}


def recorded():
    store, seen = Store(), []
    store.listen(lambda change: seen.append((change.object["metadata"]["name"], change.gone)))
    return store, seen


def test_a_list_adds_changes_and_removes():
    store, seen = recorded()
    store.replace(NODES, [obj("a", "1"), obj("b", "1")])
    store.replace(NODES, [obj("b", "1"), obj("c", "1")])
    assert seen == [("a", False), ("b", False), ("a", True), ("c", False)]
    assert {each["metadata"]["name"] for each in store.all(NODES)} == {"b", "c"}


def test_the_same_version_is_no_news():
    store, seen = recorded()
    store.replace(NODES, [])
    store.put(NODES, obj("a", "1"))
    store.put(NODES, obj("a", "1"))
    assert len(seen) == 1


def test_before_the_first_list_nothing_is_known():
    store, seen = recorded()
    store.put(PODS, obj("early", "1"))
    assert not store.knows(PODS)
    assert seen == []
    store.replace(PODS, [])
    assert store.knows(PODS)


def test_what_is_gone_twice_is_told_once():
    store, seen = recorded()
    store.replace(NODES, [obj("a", "1")])
    store.put(NODES, obj("a", "2"), gone=True)
    store.put(NODES, obj("a", "2"), gone=True)
    assert seen == [("a", False), ("a", True)]
