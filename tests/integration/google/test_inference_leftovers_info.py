# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""inference_leftovers_info against the lab's Google; Kubernetes is out of reach here."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._glue.leftovers import leftovers
from ansible_collections.inference.dra.plugins.module_utils._glue.result import ModuleFailure
from ansible_collections.inference.dra.plugins.modules.inference_leftovers_info import argument_spec

from .conftest import LOCATION, PROJECT, FakeModule

PLAN = {
    "nodes": [{"alternative": "cpu", "node_pool": "default-pool"}],
    "prices": {"cpu": {"usd_per_hour": 0.254, "as_of": "2026-08"}},
}


@pytest.fixture
def look(lab, tmp_path):
    """Return a function that looks; there is no kubeconfig."""

    def look(*, check_mode: bool = False, **options) -> dict:
        defaults = {name: option.get("default") for name, option in argument_spec().items()}
        named = {
            "project": PROJECT,
            "api_endpoint": lab.endpoint,
            "kubeconfig": str(tmp_path / "none"),
            "plan": PLAN,
            "cluster": "demo",
            "location": LOCATION,
            "repository": "images",
        }
        return leftovers(FakeModule(defaults | named | options, check_mode=check_mode), lab.clock)

    return look


def reasons(result: dict) -> list[str]:
    return [each["reason"] for each in result["verdicts"]]


def test_nothing_is_left_where_nothing_was(look, lab):
    result = look()
    assert (result["clean"], result["leftovers"], result["usd_per_hour"]) == (True, [], "0.0000")
    assert reasons(result) == ["NothingLeft"]
    assert result["asked"] == ["cluster", "node pools", "operations", "repository"]
    assert lab.writes == 0


def test_a_cluster_is_left_with_its_pools_and_their_price(look, cluster):
    result = look()
    assert [(each["kind"], each["usd_per_hour"]) for each in result["leftovers"]] == [
        ("Cluster", None),
        ("NodePool", "0.7620"),
    ]
    assert result["leftovers"][1]["detail"] == "at most 3 nodes"
    assert result["unpriced"] == ["Cluster demo"]
    assert (result["clean"], result["worst"]) == (False, "error")


def test_a_cluster_that_cannot_be_reached_is_not_called_empty(look, cluster):
    unread = [each for each in look()["verdicts"] if each["reason"] == "NotReadable"]
    assert [each["status"] for each in unread] == ["warning"]
    assert "API server" in unread[0]["observed"]


def test_a_repository_alone_is_left(look, lab):
    assert lab.run("artifact_registry_repository", name="images")["changed"]
    result = look()
    assert [each["kind"] for each in result["leftovers"]] == ["Repository"]
    assert look(repository=None)["clean"]


def test_it_looks_again_only_as_long_as_it_may(look, cluster):
    for check_mode, most in ((True, 0.0), (False, 7.0)):
        before = cluster.clock.now()
        assert not look(check_mode=check_mode, wait_seconds=7)["clean"]
        assert (cluster.clock.now() - before).total_seconds() == pytest.approx(most, abs=0.5)


def test_a_deletion_under_way_is_not_the_end_of_it(look, cluster):
    cluster.google.start("delete_cluster", cluster.google.cluster_name(LOCATION, "demo"), {})
    result = look()
    assert "OperationRunning" in reasons(result)
    assert not result["clean"]


def test_a_question_that_cannot_be_asked_is_a_failure(look):
    with pytest.raises(ModuleFailure, match="Cluster demo"):
        look(location="nowhere/at/all")
