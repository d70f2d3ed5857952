# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the checks of the repository share: its files as git would commit them, and its documentation."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import snapshot  # noqa: E402 - the tools become importable by the line above


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def files():
    """Return every file of the repository, relative to its root."""
    return snapshot.working_files()


@pytest.fixture(scope="session")
def documented():
    """Return a function that gives what ansible-doc knows of one kind of plugin: name → documentation."""

    def documentation(kind):
        names = {
            "module": [path.stem for path in ROOT.glob("plugins/modules/[!_]*.py")],
            "role": [path.parent.parent.name for path in ROOT.glob("roles/*/meta/argument_specs.yml")],
            "filter": [path.stem for path in ROOT.glob("plugins/filter/*.yml")],
        }[kind]
        if not names:
            return {}
        command = ["ansible-doc", "--json", "--type", kind]
        done = subprocess.run(
            [*command, *(f"inference.dra.{name}" for name in sorted(names))],
            check=False,
            cwd=ROOT,
            capture_output=True,
            text=True,
            env=snapshot.tool_environment(),
        )
        assert done.returncode == 0, done.stderr
        found = {name.removeprefix("inference.dra."): doc for name, doc in json.loads(done.stdout).items()}
        assert sorted(found) == sorted(names), f"ansible-doc leaves out some: {done.stderr}"
        return found

    return documentation


@pytest.fixture(scope="session")
def modules(documented):
    return documented("module")


@pytest.fixture(scope="session")
def roles(documented):
    return documented("role")
