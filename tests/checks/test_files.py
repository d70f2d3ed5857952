# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every file: the licence header, a readable length, nothing of the machine it was made on."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import snapshot

ROOT = snapshot.ROOT


def read_all():
    """Return the text of every file that has one, by path."""
    found = {}
    for path in snapshot.working_files():
        with contextlib.suppress(UnicodeDecodeError):
            found[path] = (ROOT / path).read_text()
    return found


TEXTS = read_all()
PYTHON = {path: text for path, text in TEXTS.items() if path.suffix == ".py"}
# A test file is mostly tables of cases, which read best in one piece.
CODE_LINES, TEST_LINES = 400, 950
# A longer file needs a reason here.
LONGER: dict[str, str] = {
    "plugins/module_utils/_core/claims.py": "one API type: who looks for a field of a claim finds it here",
}
HEADER = """\
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""
DOCUMENTATION = {"DOCUMENTATION", "EXAMPLES", "RETURN"}


def without_interpreter(text):
    return text.split("\n", 1)[1] if text.startswith("#!") else text


def test_python_starts_with_the_header():
    wrong = [
        str(path)
        for path, text in PYTHON.items()
        if text and not without_interpreter(text).startswith(HEADER)
    ]
    assert wrong == []


def says_what_it_is_for(text):
    tree = ast.parse(text)
    names = {getattr(target, "id", "") for node in tree.body for target in getattr(node, "targets", [])}
    return bool(ast.get_docstring(tree)) or "DOCUMENTATION" in names


def test_python_says_what_it_is_for():
    silent = [str(path) for path, text in PYTHON.items() if text and not says_what_it_is_for(text)]
    assert silent == []


def running_lines(text):
    """Return the number of lines without a module's embedded documentation, which is as long as it is."""
    embedded = 0
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in DOCUMENTATION:
            embedded += node.end_lineno - node.lineno + 1
    return len(text.splitlines()) - embedded


def test_python_files_are_of_readable_length():
    lengths = {path: running_lines(text) for path, text in PYTHON.items() if str(path) not in LONGER}
    limits = {path: TEST_LINES if path.parts[0] == "tests" else CODE_LINES for path in lengths}
    long = {str(path): lines for path, lines in lengths.items() if lines > limits[path]}
    assert long == {}, "split them by what they are about"


def configured_hosts():
    """Return the hosts that this machine's package clients are pointed at, without the public ones."""
    pip = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], check=False, capture_output=True, text=True
    )
    clients = re.compile("INDEX|PROXY|REGISTRY", re.IGNORECASE)
    settings = pip.stdout + " ".join(value for name, value in os.environ.items() if clients.search(name))
    hosts = {urlsplit(url).hostname for url in re.findall(r"https?://[^\s'\",|]+", settings)}
    public = {
        "pypi.org",
        "files.pythonhosted.org",
        "proxy.golang.org",
        "registry.npmjs.org",
        "sum.golang.org",
    }
    return {host for host in hosts if host and host not in public and host not in {"localhost", "127.0.0.1"}}


def test_no_file_names_a_host_of_the_machine_it_was_made_on():
    hosts = configured_hosts()
    found = [f"{path}: {host}" for path, text in TEXTS.items() for host in hosts if host in text]
    assert found == []


# GKE keeps its own files in a directory below /home; that is no person.
HOMES = re.compile(r"(?<![\w.$}~])/(?:home|Users)/(?!kubernetes\b|runner\b|nonroot\b)[a-z][\w.-]*")


def test_no_file_names_a_path_of_the_machine_it_was_made_on():
    here = {str(ROOT), str(Path(snapshot.bootstrap.cache_home()))}
    found = []
    for path, text in TEXTS.items():
        found += [f"{path}: {place}" for place in here if place in text]
        found += [f"{path}: {home}" for home in HOMES.findall(text)]
    assert found == []
