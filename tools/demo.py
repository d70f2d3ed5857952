# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the main job on the lab, from nothing to a report: the lab's programs, then ``site.yml``,
the scale demo and traffic.

What ran before is used again: with the programs built and the lab up, only what changed is done.
"""

from __future__ import annotations

import subprocess
import sys
import time

import snapshot

OUTPUT = snapshot.ROOT / "build" / "demo"
REPORTS = [OUTPUT / name for name in ("report.html", "report.json")]
ON_THE_LAB = [
    "ansible-playbook",
    "--inventory",
    "inventories/lab",
    "--extra-vars",
    f"inference_output={OUTPUT}",
]
STAGES = (
    ("the lab's programs", ["dra-lab", "binaries"]),
    ("the main job", [*ON_THE_LAB, "site.yml"]),
    ("the scale demo", [*ON_THE_LAB, "playbooks/scale_demo.yml"]),
    ("the traffic", [*ON_THE_LAB, "playbooks/traffic.yml"]),
    ("the report", [*ON_THE_LAB, "playbooks/report.yml"]),
)


def main() -> int:
    """Return 0 when the main job ended well and has written its report."""
    began = time.time()
    for name, command in STAGES:
        started = time.monotonic()
        environment = snapshot.tool_environment()
        status = subprocess.run(command, check=False, cwd=snapshot.ROOT, env=environment).returncode
        if status:
            print(f"{name}: `{' '.join(command)}` ended with status {status}; see above.", file=sys.stderr)
            return 1
        print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)
    missing = [path for path in REPORTS if not path.exists() or path.stat().st_mtime < began]
    for path in REPORTS:
        name = path.relative_to(snapshot.ROOT)
        print(f"no report was written: {name}" if path in missing else f"report: {name}")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
