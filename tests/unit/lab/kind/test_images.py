# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images are tagged by what is in them, and what a Dockerfile copies is all that its program imports."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ansible_collections.inference.dra.lab.errors import LabError
from ansible_collections.inference.dra.lab.kind import debian, images
from ansible_collections.inference.dra.lab.kind.node_image import sandbox_image

ROOT = images.COLLECTION
NAME = "ansible_collections.inference.dra."
PROGRAMS = {
    "lab/standin_driver/Dockerfile": "lab/standin_driver/__main__.py",
    "lab/model_server/Dockerfile": "lab/model_server/__main__.py",
    "controllers/image_configurator/Dockerfile": "controllers/image_configurator/__main__.py",
}


def imported(path):
    """Return the collection's files that a file imports, with the packages around them."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [
                alias.name.removeprefix(NAME).split(".")
                for alias in node.names
                if alias.name.startswith(NAME)
            ]
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            if node.level or (node.module or "").startswith(NAME):
                base += (node.module or "").removeprefix(NAME).split(".") if node.module else []
                names = [base, *([*base, alias.name] for alias in node.names)]
        for parts in names:
            for end in range(1, len(parts) + 1):
                for found in (
                    ROOT.joinpath(*parts[:end], "__init__.py"),
                    ROOT.joinpath(*parts[:end]).with_suffix(".py"),
                ):
                    if found.is_file():
                        yield found


def closure(path):
    todo, seen = [path], set()
    while todo:
        here = todo.pop()
        if here not in seen:
            seen.add(here)
            todo += imported(here)
    return seen


@pytest.mark.parametrize("dockerfile", sorted(PROGRAMS))
def test_a_dockerfile_copies_everything_its_program_imports(dockerfile):
    copied = images.copied((ROOT / dockerfile).read_text())
    missing = [
        str(path.relative_to(ROOT))
        for path in closure(ROOT / PROGRAMS[dockerfile])
        if not any(path == each or each in path.parents for each in copied)
    ]
    assert missing == []


def test_copied_files_are_read_over_continued_lines_and_not_from_other_stages():
    text = "FROM x\nCOPY --from=packages /packages /packages\nCOPY LICENSE \\\n     galaxy.yml ./\n"
    assert [path.name for path in images.copied(text)] == ["LICENSE", "galaxy.yml"]


def test_every_image_has_a_reference_of_its_own_and_keeps_it():
    first = images.references()
    assert len(set(first.values())) == len(images.IMAGES)
    assert images.references() == first


def test_a_changed_file_changes_the_tag(tmp_path):
    (tmp_path / "a").write_text("1")
    before = debian.digest(debian.read_tree(tmp_path))
    (tmp_path / "a").write_text("2")
    assert debian.digest(debian.read_tree(tmp_path)) != before


def test_the_pause_image_is_the_one_of_kind_s_configuration():
    assert sandbox_image('  sandbox_image = "registry.k8s.io/pause:3.10"\n') == "registry.k8s.io/pause:3.10"
    with pytest.raises(LabError, match="its layout has changed"):
        sandbox_image("version = 3\n")


def test_too_little_disk_is_said_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(debian, "DISK_BYTES", 1 << 60)
    with pytest.raises(LabError, match="set DRA_LAB_CACHE to another disk"):
        debian.require_disk(Path(tmp_path))


@pytest.mark.parametrize(
    ("uid", "program", "words"),
    [
        pytest.param(0, None, "debootstrap; it is not installed", id="no-debootstrap"),
        pytest.param(1000, "/usr/sbin/debootstrap", "debootstrap; this is not root", id="not-root"),
    ],
)
def test_without_a_registry_images_need_root_and_debootstrap(tmp_path, monkeypatch, uid, program, words):
    class Nothing:
        def has_image(self, reference):
            return False

    monkeypatch.setattr(debian.shutil, "which", lambda _name, path: program)
    monkeypatch.setattr(debian.os, "geteuid", lambda: uid)
    with pytest.raises(LabError, match=words):
        debian.debootstrapped(Nothing(), debian.NODE_BASE, tmp_path, lambda _line: None)
