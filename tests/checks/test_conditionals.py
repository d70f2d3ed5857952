# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions are boolean as they stand; since ansible-core 2.19 a list or a text fails as one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from jinja2 import Environment, nodes

ROOT = Path(__file__).resolve().parents[2]
CONDITIONS = frozenset({"when", "that", "until", "failed_when", "changed_when", "break_when"})
FOLDERS = ("roles", "playbooks", "molecule")
# Keys of results that are true or false: Ansible's own, and those of the modules used here.
FACTS = frozenset({"changed", "failed", "skipped", "exists", "clean", "running", "ready", "api_found"})
MAGIC = frozenset({"ansible_check_mode", "ansible_diff_mode"})
WHOLE = re.compile(r"\s*\{\{(.*)\}\}\s*", re.DOTALL)


class Lenient(yaml.SafeLoader):
    """Reads Ansible's own tags, such as ``!vault``, as plain values."""


Lenient.add_multi_constructor("!", lambda loader, _suffix, node: loader.construct_scalar(node))


def task_files():
    return [ROOT / "site.yml", *(path for each in FOLDERS for path in sorted(ROOT.glob(f"{each}/**/*.yml")))]


def documents(path):
    return list(yaml.load_all(path.read_text(), Loader=Lenient))


def entries(value):
    """Yield every key at any depth with its value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key), inner
            yield from entries(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from entries(inner)


def conditions_in(value):
    """Yield every condition of a file's tasks, single ones and those of a list."""
    for key, inner in entries(value):
        if key in CONDITIONS:
            yield from inner if isinstance(inner, list) else [inner]


class Definitions:
    """What variables are, as far as files define them: argument specs, defaults, vars, facts."""

    def __init__(self, values):
        self.values = {}
        for key, inner in values:
            self.values.setdefault(key, []).append(inner)

    def is_boolean(self, name):
        """Return whether everything that defines the variable makes a boolean of it."""
        found = self.values.get(name, [])
        return name in MAGIC or (bool(found) and all(self._is_boolean(each) for each in found))

    def _is_boolean(self, value):
        if isinstance(value, dict):  # the entry of an argument spec
            return value.get("type") == "bool"
        template = WHOLE.fullmatch(value) if isinstance(value, str) else None
        return isinstance(value, bool) or (template is not None and is_boolean(template[1], self))


def is_boolean(condition, known):
    """Return whether a condition is true or false whatever its variables hold."""
    if isinstance(condition, bool):
        return True
    parsed = Environment(autoescape=True).parse("{{ (" + str(condition) + ") }}")
    (expression,) = parsed.body[0].nodes
    return _is_boolean(expression, known)


def _is_boolean(node, known):
    if isinstance(node, (nodes.Compare, nodes.Test, nodes.Not)):
        return True
    if isinstance(node, (nodes.And, nodes.Or)):
        return _is_boolean(node.left, known) and _is_boolean(node.right, known)
    if isinstance(node, nodes.Const):
        return isinstance(node.value, bool)
    if isinstance(node, nodes.Filter):
        defaults = [each.value for each in node.args if isinstance(each, nodes.Const)]
        return node.name == "bool" or (node.name == "default" and isinstance((defaults or [None])[0], bool))
    if isinstance(node, nodes.Getattr):
        return node.attr in FACTS
    return isinstance(node, nodes.Name) and known.is_boolean(node.name)


SAMPLES = {
    "C48-a-list": ("nodes", False),
    "C48-a-text": ("image.tag", False),
    "C48-a-mapping": ("plan | default({})", False),
    "C48-a-number": ("pods | length", False),
    "C48-one-side-is-a-list": ("enabled and nodes", False),
    "C48-undefined-anywhere": ("nobody_defines_it", False),
    "C48-length": ("nodes | length > 0", True),
    "C48-not-none": ("plan is not none", True),
    "C48-negation": ("not nodes", True),
    "C48-bool": ("text | bool", True),
    "C48-default": ("found | default(false)", True),
    "C48-a-flag": ("enabled", True),
    "C48-a-flag-made-of-others": ("wanted", True),
    "C48-a-result": ("answer.changed or answer.failed", True),
    "C48-literal": (True, True),
}
KNOWN = Definitions(
    [("enabled", {"type": "bool"}), ("wanted", "{{ enabled and nodes | length > 0 }}"), ("nodes", [])]
)


@pytest.mark.parametrize(("condition", "boolean"), SAMPLES.values(), ids=SAMPLES)
def test_what_counts_as_boolean(condition, boolean):
    assert is_boolean(condition, KNOWN) is boolean


def test_every_condition_is_boolean():
    read = {path: documents(path) for path in task_files()}
    known = Definitions(entry for each in read.values() for entry in entries(each))
    doubtful = {
        str(path.relative_to(ROOT)): [
            str(each) for each in conditions_in(found) if not is_boolean(each, known)
        ]
        for path, found in read.items()
    }
    assert {path: found for path, found in doubtful.items() if found} == {}


def test_broken_conditions_are_allowed_nowhere():
    settings = [ROOT / "ansible.cfg", ROOT / "Makefile", *ROOT.glob(".ci/*"), *ROOT.glob("tools/*.py")]
    told = [
        path.name for path in settings if path.is_file() and "broken_conditionals" in path.read_text().lower()
    ]
    assert told == []
