# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role dra_drivers applies over the charts, rendered by Ansible itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROLE = Path(__file__).resolve().parents[3] / "roles" / "dra_drivers"
GPU = {
    "name": "gpu",
    "device_class": "gpu.nvidia.com",
    "node_selector": {"nvidia.com/gpu.present": "true"},
    "image": {"reference": "example.com/gpu:1"},
}
PLAY = """
- hosts: localhost
  gather_facts: false
  vars_files: ["{{ role }}/defaults/main.yml", "{{ role }}/vars/main.yml"]
  tasks:
    - ansible.builtin.set_fact:
        said: "{{ said | default([]) + [__dra_drivers_cpu_daemon_set.spec.template.spec] }}"
      vars: {dra_drivers_plan: "{{ item | inference.dra.inference_plan({}) }}"}
      loop: "{{ cases }}"
    - ansible.builtin.copy:
        content: "{{ {'cpus': said, 'installer': __dra_drivers_installer} | to_json }}"
        dest: "{{ output }}"
        mode: "0600"
      vars: {dra_drivers_installer: ""}
"""


def cpus(name: str, **fields) -> dict:
    return {"name": name, "device_class": "dra.cpu", "image": {"reference": "example.com/cpu:1"}, **fields}


def pool(name: str) -> dict:
    return {"name": name, "machine_type": "n2-standard-16", "max_nodes": 2}


def term(**labels: str) -> dict:
    return {
        "matchExpressions": [
            {"key": key, "operator": "In", "values": [value]} for key, value in labels.items()
        ]
    }


POOL = "cloud.google.com/gke-nodepool"
NODES = {
    "node-pool": ([cpus("cpu", node_pool=pool("cpu-pool"))], [term(**{POOL: "cpu-pool"})]),
    "labels": ([cpus("cpu", node_selector={"a/b": "c", "d": "e"})], [term(**{"a/b": "c", "d": "e"})]),
    "either-of-two": (
        [cpus("big", node_pool=pool("big-pool")), cpus("small", node_selector={"a": "b"})],
        [term(**{POOL: "big-pool"}), term(a="b")],
    ),
    "two-with-the-same": (
        [cpus("many", node_selector={"a": "b"}), cpus("few", node_selector={"a": "b"})],
        [term(a="b")],
    ),
    "any-node": ([cpus("cpu")], None),
    "any-node-beside-some": ([cpus("many", node_selector={"a": "b"}), cpus("few")], None),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> dict:
    """What the role's variables say for every case: filters of collections need Ansible's own loader."""
    folder = tmp_path_factory.mktemp("dra_drivers")
    output = folder / "said.json"
    cases = [[GPU, *alternatives] for alternatives, _terms in NODES.values()]
    (folder / "play.yml").write_text(PLAY)
    given = {
        "role": str(ROLE),
        "cases": cases,
        "output": str(output),
        "ansible_python_interpreter": sys.executable,
    }
    (folder / "given.json").write_text(json.dumps(given))
    program = Path(sys.executable).parent / "ansible-playbook"
    command = [
        program,
        "-i",
        "localhost,",
        "-c",
        "local",
        folder / "play.yml",
        "-e",
        f"@{folder / 'given.json'}",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(output.read_text())
    return found | {"cpus": dict(zip(NODES, found["cpus"], strict=True))}


@pytest.mark.parametrize("case", NODES)
def test_the_cpu_driver_goes_where_the_alternatives_with_cpus_are(said, case):
    _alternatives, terms = NODES[case]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    assert said["cpus"][case] == {"affinity": {"nodeAffinity": required} if terms else {}}


def test_without_an_installer_none_of_its_objects_is_applied_or_removed(said):
    assert said["installer"] == [{"apiVersion": "v1", "kind": "List", "items": []}]
