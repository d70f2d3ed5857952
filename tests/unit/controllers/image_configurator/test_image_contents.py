# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The image holds what the program imports: its files alone, with its two packages, start."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import urllib3
import yaml

from ansible_collections.inference.dra.controllers.image_configurator.version import COLLECTION, version

PACKAGE = "ansible_collections.inference.dra.controllers.image_configurator"
DOCKERFILE = COLLECTION / "controllers" / "image_configurator" / "Dockerfile"


def copied(text):
    """Yield (pattern, destination) of every COPY from the build context."""
    for line in re.sub(r"\\\n", " ", text).splitlines():
        words = line.split()
        if words[:1] == ["COPY"] and not words[1].startswith("--"):
            yield from ((source, words[-1]) for source in words[1:-1])


def test_files_of_the_image_are_enough(tmp_path):
    root = tmp_path / "ansible_collections" / "inference" / "dra"
    for pattern, destination in copied(DOCKERFILE.read_text()):
        (root / destination).mkdir(parents=True, exist_ok=True)
        for source in COLLECTION.glob(pattern):
            shutil.copy(source, root / destination)
    packages = {str(Path(module.__file__).parents[1]) for module in (urllib3, yaml)}
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-m",
            "ansible_collections.inference.dra.controllers.image_configurator",
            "--version",
        ],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join([str(tmp_path), *packages])},
    )
    assert (done.returncode, done.stdout.strip()) == (0, version()), done.stderr


def test_image_is_pinned_by_argument_and_not_root():
    text = DOCKERFILE.read_text()
    assert re.findall(r"^FROM (\S+)", text, re.MULTILINE) == ["${PACKAGES_BASE}", "${BASE}"]
    assert "ARG PACKAGES_BASE=${BASE}" in text
    assert "USER 65532" in text
