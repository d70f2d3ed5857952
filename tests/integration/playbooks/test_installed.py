# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection from its archive, as users have it: in an empty folder, playbooks by their full names.

The interpreter has this environment's packages, but not its link to the checkout.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ansible_collections.inference.dra.tests.integration.lab.labs import dra_lab

from .conftest import PROGRAMS, ROOT, Ended, ended

pytestmark = pytest.mark.lab

PACKAGES = Path(sysconfig.get_paths()["purelib"])
FULL_NAME = Path("ansible_collections") / "inference" / "dra"
TASK_PATH = re.compile(r"^task path: (.+):\d+$", re.MULTILINE)


@dataclass(frozen=True)
class Installed:
    """A folder with the installed collection, an inventory of one's own, and a name for its lab."""

    folder: Path
    lab: str

    @property
    def collections(self) -> Path:
        return self.folder / "collections"

    @property
    def inventory(self) -> Path:
        return self.folder / "own" / "inventories" / "lab"

    @property
    def output(self) -> Path:
        """Where this inventory has playbooks write."""
        return self.folder / "own" / "build" / "lab"

    def start(self, program: str, *words: str) -> subprocess.Popen[str]:
        """Begin a program of ansible-core in an empty folder, with nothing of the checkout in sight."""
        own = {
            name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHON"))
        }
        paths = os.pathsep.join([str(self.collections), str(PACKAGES)])
        return subprocess.Popen(
            [str(self.folder / "python" / "bin" / "python"), str(PROGRAMS / program), *words],
            cwd=self.folder / "empty",
            env={
                **own,
                "ANSIBLE_COLLECTIONS_PATH": paths,
                "ANSIBLE_COLLECTIONS_SCAN_SYS_PATH": "false",
                "ANSIBLE_NOCOLOR": "1",
                "PYTHONPATH": str(
                    PACKAGES
                ),  # read after site-packages' .pth files would have been: it has none
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def play(self, playbook: str, *options: str, **variables: object) -> Ended:
        """Run a playbook of the collection by its full name."""
        given = json.dumps({"lab_name": self.lab, **variables})
        words = ["--inventory", str(self.inventory), f"inference.dra.{playbook}", "--extra-vars", given]
        return ended(self.start("ansible-playbook", *words, *options))


def build(folder: Path) -> Path:
    """Build the archive from what git would commit, as ``make build`` does; return its path."""
    tree = subprocess.run(
        [sys.executable, "-c", "import snapshot; print(snapshot.lay('installed'))"],
        cwd=ROOT / "tools",
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    command = [str(PROGRAMS / "ansible-galaxy"), "collection", "build", "--output-path", str(folder)]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)
    (archive,) = folder.glob("inference-dra-*.tar.gz")
    return archive


@pytest.fixture(scope="module")
def installed(lab_binaries, tmp_path_factory) -> Iterator[Installed]:
    made = Installed(tmp_path_factory.mktemp("installed"), f"itest-installed-{os.getpid()}")
    (made.folder / "empty").mkdir()
    venv.create(made.folder / "python", symlinks=True)
    archive = build(made.folder)
    words = ["collection", "install", "--offline", "--no-deps", "--collections-path", str(made.collections)]
    with made.start("ansible-galaxy", *words, str(archive)) as installing:
        output, _errors = installing.communicate()
    assert installing.returncode == 0, output
    # The inventories share files by links; a copy of one has them all.
    shutil.copytree(made.collections / FULL_NAME / "inventories" / "lab", made.inventory)
    try:
        yield made
    finally:
        dra_lab("down", "--name", made.lab)


def test_01_setup_starts_a_lab_of_the_installed_files(installed):
    ended = installed.play("setup")
    assert ended.status == 0, ended.output
    status = json.loads(dra_lab("status", "--json", "--name", installed.lab).stdout)
    daemon = Path(f"/proc/{status['processes']['daemon']}")
    assert (daemon / "cmdline").read_text().startswith(f"{installed.folder}/python/bin/python")
    assert f"PYTHONPATH={installed.collections}" in (daemon / "environ").read_text()


def test_02_a_second_setup_changes_nothing(installed):
    ended = installed.play("setup")
    assert (ended.status, ended.changed) == (0, 0), ended.output


def test_03_the_demo_and_its_report(installed):
    ended = installed.play("scale_demo", inference_demo_steps=[2])
    assert ended.status == 0, ended.output
    report = json.loads((installed.output / "report.json").read_text())
    assert sum(report["steps"][-1]["alternatives"].values()) == 2
    assert report["versions"]["inference.dra"]


def test_04_diagnosis_runs_nothing_but_what_was_installed(installed):
    ended = installed.play("diagnose", "-vv")
    assert ended.status == 0, ended.output
    assert ended.output.count("running on ") == 2
    paths = {Path(path) for path in TASK_PATH.findall(ended.output)}
    assert paths
    assert all(path.is_relative_to(installed.collections / FULL_NAME) for path in paths), paths


def test_05_traffic_and_the_report_of_it(installed):
    ended = installed.play("traffic", traffic_requests=1, traffic_max_tokens=4)
    assert ended.status == 0, ended.output
    (installed.output / "report.json").unlink()
    ended = installed.play("report")
    assert ended.status == 0, ended.output
    report = json.loads((installed.output / "report.json").read_text())
    measured = {each["alternative"] for each in report["traffic"]["alternatives"]}
    assert measured == {"gpu", "cpu"}


@pytest.mark.parametrize(
    ("playbook", "why"),
    [
        ("rollout", "every replica is of the present template"),
        ("return_to_gpu", "no earlier alternative is free"),
    ],
    ids=["rollout", "return_to_gpu"],
)
def test_06_nothing_is_replaced_where_there_is_no_reason_to(installed, playbook, why):
    ended = installed.play(playbook, inference_replicas=2)
    assert ended.status == 0, ended.output
    assert why in " ".join(ended.output.split())
    assert " -> " not in ended.output


def test_07_teardown_leaves_nothing_not_even_the_lab(installed):
    ended = installed.play("teardown", teardown_lab=True)
    assert ended.status == 0, ended.output
    assert "Nothing is left" in ended.output
    assert dra_lab("status", "--name", installed.lab).returncode != 0
