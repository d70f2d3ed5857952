# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of ``make test``: what each is for and which commands it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import bootstrap
import snapshot

Commands = list[list[str]]
PYTHON = sys.executable
FLOOR = str(snapshot.ROOT / ".venv-floor" / "bin" / "python")
SHARED_CODE = "plugins.module_utils"
TYPED = (f"{SHARED_CODE}._core", f"{SHARED_CODE}._ports", f"{SHARED_CODE}._glue", "lab", "controllers")
NO_TEST_YET = [PYTHON, "-c", "raise SystemExit(5)"]  # pytest's own status for it


@dataclass(frozen=True)
class Step:
    """One check.

    :param about: what a green result means, in a few words.
    :param commands: returns the commands; the step holds if all of them return 0.
    :param weight: seconds it took on two cores when last looked at; only orders the work.
    :param directory: returns where the commands run; the checkout by default.
    :param pytest: whether status 5 means "no test yet".
    :param obstacle: returns why this machine cannot do it, or an empty text.
    :param wanted_in_ci: whether an obstacle fails in CI instead of being a reason to skip.
    """

    name: str
    about: str
    commands: Callable[[], Commands]
    weight: int = 1
    directory: Callable[[], Path] = lambda: snapshot.ROOT
    environment: Mapping[str, str] = field(default_factory=dict)
    pytest: bool = False
    obstacle: Callable[[], str] = lambda: ""
    wanted_in_ci: bool = True


def old_python() -> str:
    """Return the obstacle for tools that no longer run on the oldest supported Python."""
    return "" if sys.version_info >= (3, 12) else "its tool needs Python 3.12 or newer"


def no_floor() -> str:
    if sys.version_info[:2] == bootstrap.OLDEST:
        return "the other environment is as old"
    return "" if Path(FLOOR).exists() else "no Python {}.{} on this machine".format(*bootstrap.OLDEST)


def mypy() -> Commands:
    command = [PYTHON, "-m", "mypy", "--config-file", str(snapshot.ROOT / "pyproject.toml")]
    for package in TYPED:
        if (snapshot.ROOT / package.replace(".", "/")).is_dir():
            command += ["-p", f"ansible_collections.inference.dra.{package}"]
    return [command]


def tests(*folders: str, python: str = PYTHON, without: str = "") -> Callable[[], Commands]:
    """Return the pytest run over those of the folders that exist."""
    left_out = [f"--ignore={without}"] if without else []

    def commands() -> Commands:
        present = [folder for folder in folders if (snapshot.ROOT / folder).is_dir()]
        return [[python, "-m", "pytest", *left_out, *present] if present else NO_TEST_YET]

    return commands


def tool(name: str, *arguments: str) -> Callable[[], Commands]:
    return lambda: [[PYTHON, str(snapshot.ROOT / "tools" / f"{name}.py"), *arguments]]


def program(*commands: str) -> Callable[[], Commands]:
    return lambda: [command.split() for command in commands]


def no_containers() -> str:
    """Return why no cluster of real kubelets can run here."""
    from ansible_collections.inference.dra.lab.kind.cluster import (  # noqa: PLC0415 - needs `make setup`
        Clusters,
        home,
    )

    return old_python() or Clusters(home(), lambda _line: None).obstacle()


def molecule(*scenarios: str) -> Callable[[], Commands]:
    return lambda: [["molecule", "test", "--scenario-name", name] for name in scenarios]


def molecule_on_kind(scenario: str) -> Callable[[], Commands]:
    """Return the scenario's run, which also fails if the machine is afterwards not as before."""
    return lambda: [[*tool("leaves_nothing")()[0], *molecule(scenario)()[0]]]


def collection_root() -> Path:
    """Return the directory that holds ``ansible_collections``; mypy resolves the packages from there."""
    return Path(bootstrap.link_tree())


def link() -> Path:
    """Return the checkout under its collection name."""
    return collection_root() / "ansible_collections" / "inference" / "dra"


RUFF = program("ruff check --quiet --output-format concise .", "ruff format --check .")
ANSIBLE_LINT = program("ansible-lint --offline --strict")
PLUGIN_DOCS = program("antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs self .")
ON_THE_LAB = ("tests/faults", "tests/conformance", "tests/integration")
# What compares the whole machine before and after suffers no company.
ALONE = "tests/integration/kind"
OLDEST = "unit tests, oldest Python and ansible-core"

LIST = (
    Step("ruff", "Python lint and format", RUFF),
    Step("mypy", "strict types", mypy, weight=20, directory=collection_root),
    Step("yamllint", "YAML", program("yamllint --strict ."), weight=2),
    Step("ansible-lint", "Ansible content, profile production", ANSIBLE_LINT, weight=15, obstacle=old_python),
    Step("changelog", "changelog fragments", program("antsibull-changelog lint")),
    Step(
        "plugin-docs",
        "pages of modules and roles",
        PLUGIN_DOCS,
        weight=15,
        directory=link,
        # The linter copies what git lists; .venv, which holds the dependencies, must not count as our tree.
        environment={"GIT_CEILING_DIRECTORIES": str(snapshot.ROOT)},
        obstacle=old_python,
    ),
    Step("checks", "rules of this repository", tests("tests/checks"), weight=8, pytest=True),
    Step("sanity", "ansible-test sanity, nothing ignored", tool("sanity"), weight=60),
    Step("docs", "documentation, without warnings", tool("docs"), weight=30, obstacle=old_python),
    Step("build", "archive and the importer's checks", tool("package"), weight=20, obstacle=old_python),
    Step("unit", "unit tests", tests("tests/unit"), weight=31, pytest=True),
    Step("unit-floor", OLDEST, tests("tests/unit", python=FLOOR), weight=30, pytest=True, obstacle=no_floor),
    Step("programs", "the lab's programs", program("dra-lab binaries"), weight=1000),
    Step(
        "molecule",
        "molecule: check mode, and the whole story on a lab",
        molecule("check-mode", "lab"),
        weight=200,
        obstacle=old_python,
    ),
    Step(
        "molecule-kind",
        "molecule: the whole story on real kubelets",
        molecule_on_kind("kind"),
        weight=600,
        obstacle=no_containers,
        wanted_in_ci=False,
    ),
    Step(
        "molecule-kind-faults",
        "molecule: what breaks on real kubelets, diagnosed",
        molecule_on_kind("kind-faults"),
        weight=500,
        obstacle=no_containers,
        wanted_in_ci=False,
    ),
    Step(
        "kind",
        "what runs on kind, and what it leaves",
        tests(ALONE),
        pytest=True,
        obstacle=no_containers,
        wanted_in_ci=False,
    ),
    Step("conformance", "our rules against the real scheduler", tests("tests/conformance"), pytest=True),
    Step("integration", "modules and roles on the lab", tests("tests/integration"), pytest=True),
    Step("faults", "the same under faults", tests("tests/faults"), pytest=True),
    Step(
        "last",
        "repository rules and all lab tests",
        tests("tests/checks", *ON_THE_LAB, without=ALONE),
        pytest=True,
    ),
)
STEPS = {step.name: step for step in LIST}
