# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the main job on the lab, from nothing to a report: programs, control plane, ``site.yml``.

What ran before is used again: with the lab up and its programs built, only the playbook runs.
"""

from __future__ import annotations

import subprocess
import sys
import time

import snapshot

REPORTS = [snapshot.ROOT / "build" / "demo" / name for name in ("report.html", "report.json")]
LAB_UP = ["dra-lab", "up"]
STAGES = (
    ("the lab's programs", ["dra-lab", "binaries"]),
    ("the lab", LAB_UP),
    ("the main job", ["ansible-playbook", "site.yml", "--inventory", "inventories/lab"]),
)


def succeeds(command: list[str]) -> bool:
    quiet = subprocess.DEVNULL
    done = subprocess.run(
        command, check=False, cwd=snapshot.ROOT, env=snapshot.tool_environment(), stdout=quiet, stderr=quiet
    )
    return done.returncode == 0


def main() -> int:
    """Return 0 when the main job ended well and its report is there."""
    if not (snapshot.ROOT / "site.yml").exists():
        print("The main job (site.yml) is not written yet; the lab is started and that is all.")
    began = time.time()
    for name, command in STAGES:
        if command is LAB_UP and succeeds(["dra-lab", "status"]):
            print("the lab: already up", flush=True)
            continue
        if command[0] == "ansible-playbook" and not (snapshot.ROOT / command[1]).exists():
            continue
        started = time.monotonic()
        status = subprocess.run(
            command, check=False, cwd=snapshot.ROOT, env=snapshot.tool_environment()
        ).returncode
        if status:
            print(f"{name}: `{' '.join(command)}` ended with status {status}; see above", file=sys.stderr)
            return 1
        print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)
    missing = [path for path in REPORTS if not path.exists() or path.stat().st_mtime < began]
    if missing:
        names = ", ".join(str(path.relative_to(snapshot.ROOT)) for path in missing)
        print(f"No report was written ({names}).", file=sys.stderr)
        return 1
    for path in REPORTS:
        print(f"report: {path.relative_to(snapshot.ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
