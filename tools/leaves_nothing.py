# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a command that makes and removes a kind cluster; fail if the machine is afterwards not as before.

``leaves_nothing.py COMMAND…`` shows what the command prints and ends with its status, or with 1 and a
sentence for each kind of thing that was left. Images in the cache may stay.
"""

from __future__ import annotations

import subprocess
import sys

from ansible_collections.inference.dra.lab.kind import traces
from ansible_collections.inference.dra.lab.kind.cluster import home


def main(command: list[str]) -> int:
    """Return the command's status, or 1 if it left anything."""
    before = traces.look(home())
    status = subprocess.run(command, check=False).returncode
    left = traces.differences(before, traces.look(home()))
    counts = ", ".join(f"{len(found)} {kind}" for kind, found in before.items())
    print("\n".join(left) if left else f"Nothing was left; compared were {counts}.", flush=True)
    return status or int(bool(left))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
