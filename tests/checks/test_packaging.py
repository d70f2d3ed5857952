# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said in two files says the same in both, and an unreleased change has its line in the changelog."""

from __future__ import annotations

import subprocess
import tomllib

import yaml

USERS_SEE = ("plugins/", "roles/", "playbooks/")


def read(root, name):
    return yaml.safe_load((root / name).read_text())


def requirements(path):
    lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
    return {line for line in lines if line and not line.startswith("-")}


def test_collections_to_install_are_the_dependencies(root):
    wanted = {entry["name"]: entry["version"] for entry in read(root, "requirements.yml")["collections"]}
    assert wanted == read(root, "galaxy.yml")["dependencies"]


def test_an_execution_environment_gets_what_a_checkout_gets(root):
    built = requirements(root / "meta/ee-requirements.txt")
    assert built <= requirements(root / "requirements/runtime.in")


def test_the_version_is_the_same_everywhere(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["version"] == read(root, "galaxy.yml")["version"]


def test_an_unreleased_version_has_a_changelog_fragment(root):
    version = read(root, "galaxy.yml")["version"]
    changelog = root / "changelogs/changelog.yaml"
    released = read(root, "changelogs/changelog.yaml")["releases"] if changelog.exists() else {}
    assert version in released or list((root / "changelogs/fragments").glob("*.yml"))


def git(root, *arguments):
    return subprocess.run(["git", *arguments], check=False, cwd=root, capture_output=True, text=True)


def test_a_change_that_users_see_has_a_changelog_fragment(root):
    """Compares with where this line of work left the published branch, where the clone knows one."""
    base = git(root, "merge-base", "HEAD", "origin/main")
    if base.returncode:
        return
    changed = git(root, "diff", "--name-only", base.stdout.strip()).stdout.splitlines()
    seen = [name for name in changed if name.startswith(USERS_SEE)]
    told = [name for name in changed if name.startswith("changelogs/")]
    assert not seen or told, f"{seen[:3]} changed; add changelogs/fragments/<topic>.yml"


def test_sanity_ignores_nothing(root):
    assert list((root / "tests/sanity").glob("ignore*")) == []


def test_lint_skips_nothing(root):
    lint = read(root, ".ansible-lint")
    assert lint["profile"] == "production"
    assert [lint[name] for name in ("skip_list", "warn_list")] == [[], []]
    assert not (root / ".ansible-lint-ignore").exists()
