# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copy the working tree to where ansible-test and the importer want it.

``ansible-test`` insists on running inside ``…/ansible_collections/inference/dra`` and asks git which
files there are. The copy holds what git would commit (tracked and new files, without ignored ones),
so a stray file of the checkout can neither break nor save a check.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import bootstrap
import yaml

ROOT = Path(bootstrap.ROOT)


def working_files() -> list[Path]:
    """Return the files git would commit, relative to the checkout."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [Path(name) for name in sorted(set(listed.split("\0"))) if name and (ROOT / name).exists()]


def lay(purpose: str) -> Path:
    """Make a fresh copy named after what it is for, with the dependencies beside it; return its path."""
    tree = Path(bootstrap.cache_home()) / "snapshots" / purpose / Path(bootstrap.link_tree()).name
    collections = tree / "ansible_collections"
    shutil.rmtree(tree, ignore_errors=True)
    copy = collections / "inference" / "dra"
    for name in working_files():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    subprocess.run(["git", "init", "--quiet"], cwd=copy, check=True)
    for dependency in yaml.safe_load((ROOT / "galaxy.yml").read_text())["dependencies"]:
        namespace, name = dependency.split(".")
        (collections / namespace).mkdir(exist_ok=True)
        (collections / namespace / name).symlink_to(installed_collections() / namespace / name)
    return copy


def installed_collections() -> Path:
    """Return where PyPI's ``ansible`` put the collections this one depends on."""
    found = importlib.util.find_spec("ansible")
    if found is None or found.origin is None:
        raise SystemExit("ansible is not installed in this environment; run `make setup`.")
    return Path(found.origin).parent.parent / "ansible_collections"


def tool_environment() -> dict[str, str]:
    """Return the environment variables for this environment's own programs."""
    programs = Path(sys.executable).parent
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PY_COLORS": "0", "NO_COLOR": "1"}
