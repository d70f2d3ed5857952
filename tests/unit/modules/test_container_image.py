# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""container_image as Ansible runs it: its argument spec, the examples, and its one way to fail."""

from __future__ import annotations

import importlib

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from .in_process import MODULES, run_module

MODULE = importlib.import_module(f"{MODULES}.container_image")


@pytest.mark.parametrize("task", yaml.safe_load(MODULE.EXAMPLES), ids=lambda task: task["name"].split()[0])
def test_examples_are_valid(task):
    checked = ArgumentSpecValidator(MODULE.argument_spec()).validate(task["inference.dra.container_image"])
    assert checked.error_messages == []


def test_a_refusal_is_a_result(tmp_path):
    result = run_module("container_image", name="server:latest", context=str(tmp_path), password="x-y-z")
    assert (result["failed"], result["reason"]) == (True, "InvalidInput")
    assert "Building server:latest with docker: 'server:latest' has a tag or digest" in result["msg"]
    assert "x-y-z" not in str(result)


def test_the_password_is_never_logged():
    spec = MODULE.argument_spec()
    assert [name for name, option in spec.items() if "password" in name and not option.get("no_log")] == []
