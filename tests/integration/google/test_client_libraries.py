# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Google's client libraries are for changes: whoever has nothing to change pays for no import of them."""

from __future__ import annotations

import sys

import pytest

CLUSTER = {"name": "fungible", "location": "us-central1"}
REPOSITORY = {"name": "dra-drivers"}


@pytest.fixture
def no_libraries(lab, monkeypatch):
    """Everything is there already, and the libraries can't be imported any more."""
    lab.run("gke_cluster", **CLUSTER)
    lab.run("artifact_registry_repository", **REPOSITORY)
    for library in ("google.cloud.container_v1", "google.cloud.artifactregistry_v1"):
        monkeypatch.setitem(sys.modules, library, None)


@pytest.mark.parametrize(
    ("module", "options"),
    [("gke_cluster", CLUSTER), ("artifact_registry_repository", REPOSITORY), ("gke_cluster_info", CLUSTER)],
)
@pytest.mark.usefixtures("no_libraries")
def test_nothing_to_change_needs_none(lab, module, options):
    result = lab.run(module, **options)
    assert (result["failed"], result.get("changed", False)) == (False, False), result


@pytest.mark.parametrize(
    ("module", "options", "package"),
    [
        ("gke_cluster", {**CLUSTER, "labels": {"team": "ml"}}, "google-cloud-container"),
        (
            "artifact_registry_repository",
            {**REPOSITORY, "description": "new"},
            "google-cloud-artifact-registry",
        ),
    ],
)
@pytest.mark.usefixtures("no_libraries")
def test_a_change_names_the_one_that_is_missing(lab, module, options, package):
    result = lab.run(module, **options)
    assert result["failed"]
    assert f"{package} is needed" in result["msg"]
