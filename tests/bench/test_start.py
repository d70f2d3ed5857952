# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What starting costs: the way to the Kubernetes API in a module, and a lab."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from ansible_collections.inference.dra.lab import cli

UTILS = "ansible_collections.inference.dra.plugins.module_utils"
TIMES = 7


def import_seconds(*modules: str) -> float:
    """Return the least time that a fresh interpreter needs for these modules, less that for none."""
    return min(fresh(modules) for _unused in range(TIMES)) - min(fresh(()) for _unused in range(TIMES))


def fresh(modules) -> float:
    code = "import json, time\nbegan = time.perf_counter()\n"
    code += "".join(f"import {module}\n" for module in modules)
    code += "print(time.perf_counter() - began)"
    return float(
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    )


def test_way_to_the_kubernetes_api(measured):
    ours = import_seconds(f"{UTILS}._ports.kubernetes", "urllib3", "yaml")
    client = import_seconds("kubernetes.client")
    measured(
        "import of the Kubernetes port",
        round(ours, 3),
        "s",
        baseline="import kubernetes.client",
        baseline_value=round(client, 3),
    )


def test_modules_that_only_look(measured):
    bare = import_seconds("ansible.module_utils.basic")
    info = import_seconds(
        "ansible.module_utils.basic",
        "ansible_collections.inference.dra.plugins.modules.resource_claim_info",
        "urllib3",
        "yaml",
    )
    measured("import of resource_claim_info above a bare module", round(info - bare, 3), "s", budget=0.15)


@pytest.mark.lab
def test_lab_up(measured, lab_binaries, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DRA_LAB_STATE", str(tmp_path))
    assert lab_binaries
    began = time.monotonic()
    assert cli.main(["up", "--name", "bench", "--json"]) == 0
    seconds = time.monotonic() - began
    try:
        assert json.loads(capsys.readouterr().out)["running"]
        measured("lab up, programs there", round(seconds, 1), "s", budget=8)
    finally:
        cli.main(["down", "--name", "bench"])
