# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of inference_replica_replace, and how it ends where there is no cluster."""

from __future__ import annotations

import pytest

from .in_process import run_module

GIVEN = {"namespace": "llm", "deployment": "vllm", "which": "outdated"}


def replace(**options):
    return run_module("inference_replica_replace", **{**GIVEN, **options})


@pytest.mark.parametrize("missing", GIVEN)
def test_what_is_meant_must_be_said(missing):
    given = {name: value for name, value in GIVEN.items() if name != missing}
    result = run_module("inference_replica_replace", **given)
    assert result["failed"]
    assert missing in result["msg"]


REFUSED = {
    "a kind of replica that there is not": (
        {"which": "oldest"},
        "must be one of: outdated, later_alternatives",
    ),
    "fewer than none": ({"max_replacements": -1}, "max_replacements is -1; a number of at least 0"),
    "less than no time": ({"timeout_seconds": -1}, "timeout_seconds is -1; a number of at least 0"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused_before_anything_is_asked(options, message):
    result = replace(**options)
    assert result["failed"]
    assert message in result["msg"]


@pytest.mark.parametrize("check_mode", [True, False])
def test_no_way_to_a_cluster(check_mode):
    result = replace(check_mode=check_mode, kubeconfig="nowhere/kubeconfig")
    assert (result["failed"], result["reason"]) == (True, "ConnectionFailed")
    assert "nowhere/kubeconfig" in result["msg"]
