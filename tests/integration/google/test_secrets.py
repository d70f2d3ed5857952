# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An access token shows nowhere: neither at -vvvv, nor in a failure, nor in a diff."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import ansible_collections.inference.dra as collection

SECRET = "ya29.a-token-that-nobody-may-see"
WHERE = {"project": "test-project", "location": "us-central1"}
TASKS = {
    "gke_cluster": {**WHERE, "name": "demo", "labels": {"team": "ml"}},
    "gke_cluster_info": {**WHERE, "name": "demo", "user": "token", "path": "kubeconfig"},
    "gke_node_pool": {**WHERE, "cluster": "demo", "node_pools": [{"name": "pool", "spot": True}]},
    "gke_workload_policy": {**WHERE, "name": "policy", "type": "high_availability"},
    "gke_preflight": {
        **WHERE,
        "cluster": "demo",
        "node_pools": [{"name": "pool", "machine_type": "n2-standard-17"}],
    },
    "artifact_registry_repository": {**WHERE, "name": "images", "description": "text"},
}


@pytest.fixture
def shown(lab, tmp_path):
    """Return a function that runs all tasks as a play and returns everything that was printed."""
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(Path(collection.__path__[0]).parents[2]),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "GCP_ACCESS_TOKEN": SECRET,
        "GKE_API_ENDPOINT": lab.endpoint,
    }
    tasks = [{f"inference.dra.{name}": options, "ignore_errors": True} for name, options in TASKS.items()]
    playbook = tmp_path / "play.yml"
    playbook.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))

    def run(*flags):
        command = [Path(sys.executable).parent / "ansible-playbook", playbook, "-vvvv", "--diff", *flags]
        done = subprocess.run(
            command, check=False, env=environment, cwd=tmp_path, capture_output=True, text=True
        )
        return done.stdout + done.stderr

    return run


def test_where_all_goes_well(shown):
    printed = shown("--check")
    assert printed.count("TASK [") == len(TASKS), printed[-2000:]
    assert "create Cluster demo" in printed
    assert SECRET not in printed


def test_where_google_refuses(lab, shown):
    lab.fault("http-error", code=403, method="")
    printed = shown("--check")
    assert printed.count('"error_kind": "permission"') >= 4, printed[-2000:]
    assert SECRET not in printed
