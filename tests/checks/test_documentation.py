# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every module and role renders, and says what a user must be able to rely on."""

from __future__ import annotations

import pytest
import yaml

ATTRIBUTES = {"check_mode", "diff_mode", "idempotent"}


def test_every_module_states_its_attributes(modules):
    silent = {
        name: sorted(ATTRIBUTES - set(module["doc"].get("attributes", {})))
        for name, module in modules.items()
        if ATTRIBUTES - set(module["doc"].get("attributes", {}))
    }
    assert silent == {}


def test_every_module_has_examples_and_documents_its_result(modules):
    silent = [name for name, module in modules.items() if not module["examples"] or not module["return"]]
    assert silent == []


def test_examples_use_full_names(modules):
    wrong = []
    for name, module in modules.items():
        for task in yaml.safe_load(module["examples"]):
            tasks = task.get("tasks", [task])
            if not any(f"inference.dra.{name}" in entry for entry in tasks):
                wrong.append(f"{name}: {task.get('name')}")
    assert wrong == []


def described(options):
    for name, option in (options or {}).items():
        yield name, bool(option.get("description"))
        yield from described(option.get("options"))


def test_every_role_option_is_described(roles):
    silent = [
        f"{role} {entry}: {option}"
        for role, documentation in roles.items()
        for entry, spec in documentation["entry_points"].items()
        for option, present in described(spec.get("options"))
        if not present
    ]
    assert silent == []


def test_every_role_has_an_argument_spec(root):
    roles = [path for path in (root / "roles").iterdir() if path.is_dir()]
    assert [path.name for path in roles if not (path / "meta/argument_specs.yml").exists()] == []


@pytest.mark.parametrize("kind", ["module", "role", "filter"])
def test_it_renders(kind, documented):
    documented(kind)
