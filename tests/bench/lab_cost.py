# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the processes of a lab cost, from the kernel's own books: memory by PSS, processor time by jiffies.

Neither depends on what else the machine does.
"""

from __future__ import annotations

import os
from pathlib import Path

from ansible_collections.inference.dra.lab.processes import Processes
from ansible_collections.inference.dra.lab.state import Lab

TICKS = os.sysconf("SC_CLK_TCK")


def processes_of(lab: Lab) -> dict[str, int]:
    """Return the ids of all running processes of a lab by name."""
    processes = Processes(lab.directory)
    found = {name: processes.pid(name) for name in processes.names()}
    return {name: pid for name, pid in found.items() if pid is not None}


def megabytes(lab: Lab) -> dict[str, float]:
    """Return the proportional set size of each process: shared pages are divided among their users."""
    return {name: pss(pid) / 1024 for name, pid in processes_of(lab).items()}


def pss(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise AssertionError(f"the kernel has no Pss of process {pid}")


def processor_seconds(lab: Lab) -> dict[str, float]:
    """Return the processor time that each process has used so far."""
    return {name: used(pid) for name, pid in processes_of(lab).items()}


def used(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
