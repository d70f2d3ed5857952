# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The arrows of the architecture: who may import whom.

playbooks → roles → modules → ``_glue`` → ``_core`` and ``_ports``; ``lab`` and ``controllers`` use
``_core`` and ``_ports``; the lab also uses what the controllers know of Kubernetes, and nobody uses the
lab. Read from the source, so that an import inside a function counts as well.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import bootstrap
import pytest

ROOT = Path(__file__).resolve().parents[2]
COLLECTION = "ansible_collections.inference.dra"
UTILS = "plugins/module_utils"
CORE, PORTS, GLUE = f"{UTILS}/_core", f"{UTILS}/_ports", f"{UTILS}/_glue"
PLUGIN_UTILS = "plugins/plugin_utils"
ANSIBLE = "ansible"
LIBRARIES = "any library"

MAY_IMPORT = {
    CORE: {CORE},
    PORTS: {CORE, PORTS, LIBRARIES},
    GLUE: {CORE, PORTS, GLUE, ANSIBLE, LIBRARIES},
    "plugins/modules": {CORE, PORTS, GLUE, ANSIBLE},
    "plugins/action": {CORE, PORTS, GLUE, "plugins/modules", PLUGIN_UTILS, ANSIBLE},
    PLUGIN_UTILS: {CORE, ANSIBLE},
    "plugins/filter": {CORE, GLUE, ANSIBLE},
    "plugins/doc_fragments": set(),
    "lab": {CORE, PORTS, "lab", "controllers", LIBRARIES},
    "controllers": {CORE, PORTS, "controllers", LIBRARIES},
}
# The one library the rules need, the expression language of DRA selectors, is loaded in one place,
# inside a function: a user without such selectors does not need it.
CORE_LIBRARY = "celpy"
# What reaches outside or reads a clock. Rules get their time and their objects as arguments.
OUTSIDE = {
    "asyncio", "http", "io", "logging", "multiprocessing", "os", "pathlib", "random", "shutil", "socket",
    "ssl", "subprocess", "tempfile", "threading", "time", "urllib.request",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input", "now", "utcnow", "today"}


def layer_of(path):
    return next((name for name in MAY_IMPORT if path.as_posix().startswith(f"{name}/")), None)


def sources():
    for layer in MAY_IMPORT:
        for path in sorted((ROOT / layer).rglob("*.py")):
            yield path.relative_to(ROOT)


def imported(path, tree):
    """Yield (line, dotted name) of each import; relative ones are made absolute."""
    package = [COLLECTION, *path.with_suffix("").parts][:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1]
                module = ".".join([*base, *([node.module] if node.module else [])])
            else:
                module = node.module
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


def target_of(name):
    """Return what an import reaches: a layer, ansible, the standard library (None) or a library."""
    if name.startswith(f"{COLLECTION}."):
        inside = Path(name.removeprefix(f"{COLLECTION}.").replace(".", "/"))
        return layer_of(inside / "x") or str(inside)
    top = name.split(".")[0]
    if top in sys.stdlib_module_names or top == "__future__":
        return None
    return ANSIBLE if top == ANSIBLE else LIBRARIES


def violations(path, source):
    """Return one sentence per import of ``path`` that goes against the arrows."""
    layer = layer_of(path)
    found = []
    for line, name in imported(path, ast.parse(source)):
        target = target_of(name)
        if target is None or target in MAY_IMPORT[layer]:
            continue
        if layer == CORE and name.split(".")[0] == CORE_LIBRARY:
            continue
        found.append(f"{path}:{line}: {layer} must not import {name} ({target})")
    return found


def test_imports_follow_the_arrows():
    assert [line for path in sources() for line in violations(path, (ROOT / path).read_text())] == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (f"{CORE}/x.py", "from .._ports import clock"),
        (f"{CORE}/x.py", "import yaml"),
        (f"{CORE}/x.py", f"from {COLLECTION}.lab.store import Store"),
        (f"{PORTS}/x.py", "from ansible.module_utils.basic import AnsibleModule"),
        (f"{PORTS}/x.py", "from .._glue import result"),
        ("plugins/modules/x.py", "import requests"),
        ("plugins/modules/x.py", f"from {COLLECTION}.lab import cli"),
        ("lab/x.py", "from ansible.plugins.action import ActionBase"),
        ("lab/x.py", f"from {COLLECTION}.plugins.module_utils._glue import result"),
        ("controllers/a/x.py", "from ...lab import store"),
    ],
    ids=lambda value: value.replace("/", "."),
)
def test_a_wrong_arrow_is_seen(path, line):
    assert violations(Path(path), f"def f():\n    {line}\n")


def impurities(path, source):
    found = []
    tree = ast.parse(source)
    for line, name in imported(path, tree):
        parts = name.split(".")
        if {parts[0], ".".join(parts[:2])} & OUTSIDE:
            found.append(f"{path}:{line}: imports {name}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if called in IMPURE_CALLS:
                found.append(f"{path}:{node.lineno}: calls {called}()")
    return found


def test_rules_reach_nothing_outside():
    rules = [path for path in sources() if layer_of(path) == CORE]
    assert [line for path in rules for line in impurities(path, (ROOT / path).read_text())] == []


@pytest.mark.parametrize("line", ["import time", "from os import environ", "open('x')", "datetime.now()"])
def test_an_impure_rule_is_seen(line):
    assert impurities(Path(f"{CORE}/x.py"), line)


def test_the_expression_library_is_loaded_in_one_file_and_late():
    loading = {}
    for path in sources():
        if layer_of(path) != CORE:
            continue
        tree = ast.parse((ROOT / path).read_text())
        names = [name for _line, name in imported(path, tree) if name.split(".")[0] == CORE_LIBRARY]
        if names:
            loading[str(path)] = tree
    assert len(loading) <= 1, f"{sorted(loading)} all load {CORE_LIBRARY}"
    for path, tree in loading.items():
        early = [
            node.lineno
            for node in tree.body
            if isinstance(node, (ast.Import, ast.ImportFrom)) and CORE_LIBRARY in ast.unparse(node)
        ]
        assert not early, f"{path} loads {CORE_LIBRARY} whenever it is imported, lines {early}"


IMPORT_ALL = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    importlib.import_module(name)
"""


def test_rules_import_without_any_installed_package():
    rules = [path.with_suffix("") for path in sources() if layer_of(path) == CORE and path.stem != "__init__"]
    names = [".".join([COLLECTION, *path.parts]) for path in rules]
    link = bootstrap.link_tree()
    command = [sys.executable, "-I", "-S", "-c", IMPORT_ALL, link, *names]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


IMPORT_WITHOUT_LIBRARIES = """
import importlib, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in {*sys.stdlib_module_names, "ansible", "ansible_collections"}:
            raise ModuleNotFoundError(f"no library is installed: {name}", name=name)

sys.meta_path.insert(0, Refuse())
failed = False
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        failed = True
        print(name.removeprefix("ansible_collections.inference.dra."), error, file=sys.stderr)
sys.exit(failed)
"""


def test_modules_import_without_client_libraries():
    """A module must start where a library is missing, to say which; ansible-test demands it as well."""
    layers = {"plugins/modules", CORE, PORTS, GLUE}
    paths = [
        path.with_suffix("") for path in sources() if layer_of(path) in layers and path.stem != "__init__"
    ]
    names = [".".join([COLLECTION, *path.parts]) for path in paths]
    command = [sys.executable, "-c", IMPORT_WITHOUT_LIBRARIES, *names]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
