# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module is in an action group exactly when it takes that group's connection options."""

from __future__ import annotations

import pytest
import yaml

# One option per group that no module would have for another reason.
SIGN = {"kubernetes": "api_key", "google": "auth_kind"}


@pytest.fixture(scope="module")
def groups(root):
    return yaml.safe_load((root / "meta/runtime.yml").read_text())["action_groups"]


@pytest.mark.parametrize("group", SIGN)
def test_members_are_the_modules_with_its_options(group, groups, modules):
    takes = [name for name, module in modules.items() if SIGN[group] in module["doc"]["options"]]
    assert sorted(groups[group]) == sorted(takes)


def test_there_is_no_other_group(groups):
    assert set(groups) == set(SIGN)


def test_modules_say_which_groups_they_are_in(groups, modules):
    wrong = {}
    for name, module in modules.items():
        belongs = {f"inference.dra.{group}" for group, members in groups.items() if name in members}
        said = module["doc"].get("attributes", {}).get("action_group", {}).get("membership", [])
        said = {said} if isinstance(said, str) else set(said)
        if belongs != said:
            wrong[name] = f"is in {sorted(belongs)}, its attributes say {sorted(said)}"
    assert wrong == {}
