# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles converge through modules: no shell, short entry files, tags that choose their tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SHELLS = {"command", "expect", "raw", "script", "shell", "win_command", "win_shell"}
ENTRY_LINES = 60
TASK_FILES = sorted(
    path
    for folder in ("roles/*/tasks", "roles/*/handlers", "playbooks")
    for path in ROOT.glob(f"{folder}/**/*.yml")
) + sorted(ROOT.glob("site.yml"))


class Lenient(yaml.SafeLoader):
    """Reads Ansible's own tags, such as ``!vault``, as plain values."""


Lenient.add_multi_constructor("!", lambda loader, _suffix, node: loader.construct_scalar(node))


def keys(value):
    """Yield every key at any depth (in blocks, plays, handlers), except a container's fields."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not (key == "command" and "image" in value):
                yield str(key)
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def shells_in(text):
    """Return the modules named in a task file that would start a program through a shell or by itself."""
    return [name for name in keys(yaml.load(text, Loader=Lenient)) if name.split(".")[-1] in SHELLS]


def test_no_task_shells_out():
    found = {str(path.relative_to(ROOT)): shells_in(path.read_text()) for path in TASK_FILES}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "task",
    ["- ansible.builtin.shell: ls", "- block:\n    - command: ls", "- hosts: x\n  tasks:\n    - raw: ls"],
    ids=["full-name", "in-a-block", "in-a-play"],
)
def test_a_shell_is_seen(task):
    assert shells_in(task)


def test_the_command_of_a_container_is_none():
    assert shells_in("- x.y.apply:\n    spec: {containers: [{image: a, command: [b]}]}") == []


def entry_files():
    for spec in sorted(ROOT.glob("roles/*/meta/argument_specs.yml")):
        for name in yaml.safe_load(spec.read_text())["argument_specs"]:
            yield spec.parent.parent / "tasks" / f"{name}.yml"


def test_an_entry_file_can_be_read_at_a_glance():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in entry_files()}
    long = {path: lines for path, lines in lengths.items() if lines > ENTRY_LINES}
    assert long == {}, "move the work into files that these include"


def untagged(tasks, role, inherited=frozenset()):
    """Yield the names of tasks that neither the tag of their role nor ``always`` chooses."""
    for task in tasks:
        own = task.get("tags", [])
        tags = inherited | ({own} if isinstance(own, str) else set(own))
        inner = [each for part in ("block", "rescue", "always") for each in task.get(part, ())]
        if inner:
            yield from untagged(inner, role, tags)
        elif not tags & {role, "always"}:
            yield task.get("name", task)


def test_the_tag_of_a_role_chooses_its_tasks():
    missed = {
        str(path.relative_to(ROOT)): [*untagged(yaml.load(path.read_text(), Loader=Lenient), path.parts[-3])]
        for path in sorted(ROOT.glob("roles/*/tasks/*.yml"))
    }
    assert {path: names for path, names in missed.items() if names} == {}


@pytest.mark.parametrize(
    ("task", "seen"),
    [
        ("- {name: a}", ["a"]),
        ("- {name: a, tags: other}", ["a"]),
        ("- {name: a, tags: always}", []),
        ("- {tags: [r], block: [{name: a}], rescue: [{name: b}]}", []),
        ("- {block: [{name: a, tags: [r]}], rescue: [{name: b}], always: [{name: c}]}", ["b", "c"]),
    ],
    ids=["none", "another", "always", "of-the-block", "of-a-part-of-the-block"],
)
def test_a_task_without_the_tag_is_seen(task, seen):
    assert [*untagged(yaml.safe_load(task), "r")] == seen
