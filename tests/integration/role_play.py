# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One entry point of one role, run against a control plane as a user's own playbook runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

import ansible_collections.inference.dra as collection

PLAY_SECONDS = 120


def play_role(kubeconfig: str, role: str, entry: str, *options: str, **variables: Any) -> tuple[int, str]:
    """Return the exit status and what was printed, its white space in one line."""
    include = {"name": f"inference.dra.{role}", "tasks_from": entry}
    play = {
        "hosts": "localhost",
        "gather_facts": False,
        "vars": {"ansible_python_interpreter": "{{ ansible_playbook_python }}"},
        "tasks": [{"ansible.builtin.include_role": include}],
    }
    environment = {
        **os.environ,
        "K8S_AUTH_KUBECONFIG": str(kubeconfig),
        "ANSIBLE_COLLECTIONS_PATH": str(Path(collection.__path__[0]).parents[2]),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_NOCOLOR": "1",
    }
    # Elsewhere than in the checkout, whose ansible.cfg names an inventory.
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "play.yml").write_text(yaml.safe_dump([play]))
        done = subprocess.run(
            [
                str(Path(sys.executable).parent / "ansible-playbook"),
                "play.yml",
                "-e",
                json.dumps(variables),
                *options,
            ],
            capture_output=True,
            text=True,
            env=environment,
            cwd=folder,
            check=False,
            timeout=PLAY_SECONDS,
        )
    return done.returncode, " ".join((done.stdout + done.stderr).split())
