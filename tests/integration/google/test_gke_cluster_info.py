# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gke_cluster_info against the lab's Google: state, connection, kubeconfig, and no secrets."""

from __future__ import annotations

import pytest
import yaml

CONTEXT = "gke_test-project_us-central1_demo"
SECRET = "ya29.secret"


def info(lab, **options) -> dict:
    return lab.run("gke_cluster_info", name="demo", **options)


def test_a_cluster_that_is_not_there(lab):
    result = info(lab)
    assert (result["failed"], result["changed"], result["exists"]) == (False, False, False)
    refused = info(lab, path="/nowhere/kubeconfig")
    assert (refused["failed"], refused["error_kind"]) == (True, "not_found")


def test_state_and_connection(cluster):
    result = info(cluster)
    assert result["cluster"]["status"] == "RUNNING"
    assert result["cluster"]["node_pools"][0]["nodes"] == {"minimum": 3, "initial": 3, "maximum": 3}
    live = cluster.cluster()
    assert result["connection"] == {
        "host": f"https://{live['endpoint']}",
        "ca_data": live["masterAuth"]["clusterCaCertificate"],
        "context": CONTEXT,
    }
    assert result["kubeconfig"]["current-context"] == CONTEXT
    assert cluster.writes == 1  # the fixture's own creation


def test_the_file_is_private_keeps_other_entries_and_settles(cluster, tmp_path):
    path = tmp_path / "sub" / "config"
    other = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "other", "cluster": {"server": "https://other"}}],
        "contexts": [{"name": "other", "context": {"cluster": "other", "user": "other"}}],
        "users": [{"name": "other", "user": {}}],
        "current-context": "other",
    }
    path.parent.mkdir()
    path.write_text(yaml.safe_dump(other))
    planned = info(cluster, path=str(path), check_mode=True)
    assert planned["changed"]
    assert yaml.safe_load(path.read_text()) == other
    assert info(cluster, path=str(path))["changed"]
    written = yaml.safe_load(path.read_text())
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry["name"] for entry in written["contexts"]] == ["other", CONTEXT]
    assert written["current-context"] == CONTEXT
    assert not info(cluster, path=str(path))["changed"]
    path.chmod(0o644)
    assert info(cluster, path=str(path))["changed"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_token_goes_into_the_file_and_nowhere_else(cluster, tmp_path):
    path = tmp_path / "config"
    options = {"user": "token", "access_token": SECRET}
    result = info(cluster, path=str(path), **options)
    assert SECRET in path.read_text()
    assert SECRET not in str(result)
    fresh = info(cluster, path=str(path), user="token", access_token=f"{SECRET}-2")
    assert not fresh["changed"]
    assert f"{SECRET}-2" in path.read_text()
    asked = info(cluster, return_token=True, **options)
    assert asked["kubeconfig"]["users"][0]["user"] == {"token": SECRET}
    nowhere = info(cluster, **options)
    assert nowhere["reason"] == "InvalidInput"


@pytest.mark.parametrize("content", ["- a list", "{broken"])
def test_a_file_that_is_no_kubeconfig_is_left_alone(cluster, tmp_path, content):
    path = tmp_path / "config"
    path.write_text(content)
    result = info(cluster, path=str(path))
    assert (result["failed"], result["error_kind"]) == (True, "invalid")
    assert path.read_text() == content
