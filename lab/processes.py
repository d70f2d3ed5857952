# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's processes: started detached, remembered by id and start time, ended by id only.

The start time from ``/proc`` tells our process from a later one that got the same id, so nothing
that the lab did not start is ever signalled.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from .errors import LabError

STOP_SECONDS = 10.0
POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Program:
    """What to run under which name; its output goes to the log file of that name."""

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


class Processes:
    """The processes recorded in one lab's state directory."""

    def __init__(self, directory: Path) -> None:
        self.pids = directory / "pids"
        self.logs = directory / "logs"

    def start(self, program: Program) -> None:
        """Start a program in its own session, unless it is running."""
        if self.alive(program.name):
            return
        self.pids.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(parents=True, exist_ok=True)
        log, append = str(self.log(program.name)), os.O_WRONLY | os.O_CREAT | os.O_APPEND
        # Not subprocess: these outlive us, so there is nobody who would wait for them.
        pid = os.posix_spawn(
            program.argv[0],
            list(program.argv),
            os.environ | dict(program.environment),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, log, append, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )
        self.adopt(program.name, pid)

    def adopt(self, name: str, pid: int) -> None:
        """Remember a process that something else started for us."""
        self.pids.mkdir(parents=True, exist_ok=True)
        (self.pids / name).write_text(f"{pid} {start_time(pid)}\n")

    def alive(self, name: str) -> bool:
        return self.pid(name) is not None

    def pid(self, name: str) -> int | None:
        """Return the id of the running process of that name, ``None`` where it is not running."""
        try:
            pid, started = (self.pids / name).read_text().split()
        except (FileNotFoundError, ValueError):
            return None
        return int(pid) if start_time(int(pid)) == started != "" else None

    def names(self) -> list[str]:
        return sorted(path.name for path in self.pids.glob("*"))

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def signal(self, name: str, number: signal.Signals) -> None:
        pid = self.pid(name)
        if pid is None:
            raise LabError(f"The lab's {name} is not running; `dra-lab up` starts it again.")
        os.kill(pid, number)

    def stop(self, names: Sequence[str]) -> None:
        """End the named processes together: ask first, then kill what is left after ten seconds."""
        waiting = {name: pid for name in names if (pid := self.pid(name)) is not None}
        for pid in waiting.values():
            os.kill(pid, signal.SIGCONT)  # a paused process can't hear the request to end
            os.kill(pid, signal.SIGTERM)
        limit = time.monotonic() + STOP_SECONDS
        while any(self.alive(name) for name in waiting) and time.monotonic() < limit:
            time.sleep(POLL_SECONDS)
        for name, pid in waiting.items():
            if self.alive(name):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):  # an earlier process of the lab started it
                os.waitpid(pid, os.WNOHANG)
        for name in names:
            (self.pids / name).unlink(missing_ok=True)


def when_ended(pid: int, then: Callable[[], None]) -> None:
    """Have ``then`` called, in a thread of its own, when a process has ended; at once where it has."""

    def wait() -> None:
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            select.select([descriptor], [], [])
            os.close(descriptor)
        with suppress(ChildProcessError):  # another process of the lab started it
            os.waitpid(pid, os.WNOHANG)
        then()

    threading.Thread(target=wait, name=f"end-of-{pid}", daemon=True).start()


def start_time(pid: int) -> str:
    """Return the kernel's start time of a process, empty where none of that id lives.

    A process that ended but was not collected yet (a zombie) does not live.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    fields = stat[stat.rindex(")") + 2 :].split()
    state, started = fields[0], fields[19]
    return "" if state in "ZX" else started
