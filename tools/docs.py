# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the documentation into ``build/docs``: the pages of ``docs/`` and one per module, role and filter.

Any warning of Sphinx, and any reference that leads nowhere, is an error.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import snapshot

SOURCE = snapshot.ROOT / "build" / "docs-source"
TARGET = snapshot.ROOT / "build" / "docs"


def main() -> int:
    """Return 0 when every page was written without a warning."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(snapshot.ROOT / "docs", SOURCE)
    reference = SOURCE / "reference"
    reference.mkdir(mode=0o755)
    collection = ["antsibull-docs", "collection", "--use-current", "--fail-on-error", "--squash-hierarchy"]
    sphinx = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"]
    for command in (
        [*collection, "--dest-dir", str(reference), "inference.dra"],
        [*sphinx, "--fresh-env", str(SOURCE), str(TARGET)],
    ):
        done = subprocess.run(command, check=False, cwd=snapshot.ROOT, env=snapshot.tool_environment())
        if done.returncode:
            return done.returncode
    print(f"documentation: {Path(TARGET / 'index.html').relative_to(snapshot.ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
