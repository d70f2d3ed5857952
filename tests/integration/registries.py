# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real registry of a test's own, served as the lab serves its."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from ansible_collections.inference.dra.lab.lifecycle import wait_listening
from ansible_collections.inference.dra.lab.processes import Processes, Program
from ansible_collections.inference.dra.lab.state import free_ports, port_registry


@contextlib.contextmanager
def running_registry(crane: Path, directory: Path) -> Iterator[str]:
    """Yield the address of a registry that keeps what it is given in the directory."""
    processes = Processes(directory)
    with port_registry() as taken:
        port = free_ports(taken)["registry"]
        host = f"127.0.0.1:{port}"
        command = [str(crane), "registry", "serve", "--disk", str(directory), "--address", host]
        processes.start(Program("registry", command))
        wait_listening(processes, "registry", port)
    try:
        yield host
    finally:
        processes.stop(["registry"])
