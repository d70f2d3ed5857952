# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run all of ansible-test's sanity tests on a fresh copy of the working tree, without a container.

``ansible-test`` makes its own virtual environments and, for pip in them, downloads a script that not
every network reaches. Python carries pip already (``ensurepip``), so where the script is not in
ansible-test's cache, a two-line script of the expected name is put there.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import snapshot

BOOTSTRAP = "import ensurepip\n\nensurepip.bootstrap(upgrade=True)\n"


def provide_pip() -> None:
    """Put the script where ansible-test looks before it downloads; an existing one stays."""
    packages = snapshot.installed_collections().parent
    source = packages / "ansible_test" / "_internal" / "python_requirements.py"
    wanted = re.search(r"pip='([0-9.]+)'", source.read_text())
    if wanted is None:
        return  # another ansible-core: it says itself which script it lacks
    cached = Path.home() / ".ansible/test/cache" / f"get_pip_{wanted[1].replace('.', '_')}.py"
    if not cached.exists():
        cached.parent.mkdir(parents=True, exist_ok=True)
        cached.write_text(BOOTSTRAP)


def main() -> int:
    """Run the tests named on the command line, or all of them."""
    provide_pip()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    command = ["ansible-test", "sanity", "--venv", "--python", python, "--color", "no"]
    command += [f"--test={name}" for name in sys.argv[1:]]
    copy = snapshot.lay("sanity")
    return subprocess.run(command, cwd=copy, env=snapshot.tool_environment(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
