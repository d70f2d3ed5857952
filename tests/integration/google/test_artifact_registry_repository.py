# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""artifact_registry_repository against the lab's Google."""

from __future__ import annotations

import pytest

WANTED = {"name": "dra-drivers", "description": "DRA Drivers Repository", "labels": {"team": "ml"}}


def repository(lab, **options) -> dict:
    return lab.run("artifact_registry_repository", **options)


def test_create_change_and_delete(lab):
    planned = repository(lab, **WANTED, check_mode=True)
    assert (planned["changed"], lab.writes) == (True, 0)
    first = repository(lab, **WANTED)
    assert (first["failed"], first["changed"]) == (False, True)
    assert first["registry"] == "us-central1-docker.pkg.dev/test-project/dra-drivers"
    before = lab.writes
    assert not repository(lab, **WANTED)["changed"]
    assert lab.writes == before
    changed = repository(lab, name="dra-drivers", description="new", labels={"a": "b"}, immutable_tags=True)
    assert len(changed["actions"]) == 1
    live = lab.google.repository("us-central1", "dra-drivers")
    assert live["description"] == "new"
    assert live["labels"] == {"team": "ml", "a": "b"}
    assert live["dockerConfig"] == {"immutableTags": True}
    gone = repository(lab, name="dra-drivers", state="absent")
    assert (gone["failed"], gone["changed"]) == (False, True)
    assert not repository(lab, name="dra-drivers", state="absent")["changed"]


def test_the_format_is_fixed(lab):
    repository(lab, **WANTED)
    result = repository(lab, **WANTED, format="python")
    assert (result["reason"], result["recreation"]) == ("NeedsRecreation", ["format"])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        pytest.param({"name": "Drivers"}, "lower-case", id="name"),
        pytest.param({"name": "d", "format": "python", "immutable_tags": True}, "format docker", id="tags"),
    ],
)
def test_bad_input_is_refused_before_any_call(lab, options, problem):
    result = repository(lab, **options)
    assert (result["reason"], result["error_kind"]) == ("InvalidInput", "invalid")
    assert problem in result["msg"]
    assert lab.server.requests.reads == lab.writes == 0


def test_a_disabled_api_is_named(lab):
    lab.fault("service-disabled", service="artifactregistry.googleapis.com")
    result = repository(lab, **WANTED)
    assert (result["failed"], result["error_kind"]) == (True, "not_enabled")
