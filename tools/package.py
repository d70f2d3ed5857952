# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the collection's archive into ``build/`` and put it through Galaxy's importer.

The importer is what Galaxy itself runs on an upload. Its lint and documentation checks work offline;
its container run of ansible-test is left out, because ``make sanity`` does the same without one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile

import snapshot

OUTPUT = snapshot.ROOT / "build"
COMPLAINT = re.compile(r"^(ERROR|WARNING): .*", re.MULTILINE)


def main() -> int:
    """Return 0 when the archive is built and the importer has nothing to complain about."""
    environment = snapshot.tool_environment()
    build = ["ansible-galaxy", "collection", "build", "--force", "--output-path", str(OUTPUT)]
    subprocess.run(build, check=True, cwd=snapshot.lay("build"), env=environment)
    archive = max(OUTPUT.glob("inference-dra-*.tar.gz"), key=lambda path: path.stat().st_mtime)
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [sys.executable, "-m", "galaxy_importer.main", str(archive)],
            check=False,
            cwd=scratch,
            env=environment | {"GALAXY_IMPORTER_CHECK_REQUIRED_TAGS": "true", "HOME": os.environ["HOME"]},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    print(done.stdout)
    return 1 if done.returncode or COMPLAINT.search(done.stdout) else 0


if __name__ == "__main__":
    sys.exit(main())
