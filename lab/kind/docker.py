# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Docker: the daemon that is there, or a private one that is started, stopped and leaves nothing.

A private daemon has its own socket, data and pid file below the cache, no default bridge, and none of
the machine's Docker configuration. It keeps its images between runs, which is what makes a second
cluster quick.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, Deadline, SystemClock

from ..binaries import Say
from ..errors import LabError
from ..processes import Processes, Program

DAEMON = "dockerd"
STARTED_SECONDS = 120.0
CONTROLLERS = ("cpu", "cpuset", "memory", "pids")
CAP_SYS_RESOURCE = 24
RUNTIME = "without-sys-resource"


@dataclass(frozen=True)
class Docker:
    """A Docker that answers.

    :param program: the command line client.
    :param environment: what has to be in the environment of every program that talks to the daemon.
    :param private: whether the daemon was started by us.
    """

    program: Path
    environment: Mapping[str, str]
    private: bool

    def run(self, *arguments: str, stdin: bytes | None = None) -> str:
        """Return what ``docker ARGUMENTS`` printed; an error is its last line as a sentence."""
        done = subprocess.run(
            [str(self.program), *arguments],
            check=False,
            env=os.environ | dict(self.environment),
            input=stdin,
            capture_output=True,
        )
        if done.returncode != 0:
            said = last_line(done.stderr.decode(errors="replace"))
            raise LabError(f"`docker {' '.join(arguments[:3])} …` failed: {said}")
        return done.stdout.decode(errors="replace").strip()

    @contextlib.contextmanager
    def feed(self, *arguments: str) -> Iterator[IO[bytes]]:
        """Start ``docker ARGUMENTS`` and give its standard input, for archives that don't fit into memory."""
        process = subprocess.Popen(
            [str(self.program), *arguments],
            env=os.environ | dict(self.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert process.stdin  # noqa: S101 - opened above
        assert process.stderr  # noqa: S101 - opened above
        with process.stderr as errors:
            try:
                with process.stdin as pipe:
                    yield pipe
            except BrokenPipeError:
                pass  # it ended early; its status and its last line say why
            said = errors.read().decode(errors="replace")
        if process.wait() != 0:
            raise LabError(f"`docker {' '.join(arguments[:3])} …` failed: {last_line(said)}")

    @contextlib.contextmanager
    def save(self, images: Sequence[str]) -> Iterator[IO[bytes]]:
        """Give the archive of images as a stream."""
        process = subprocess.Popen(
            [str(self.program), "save", *images],
            env=os.environ | dict(self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout  # noqa: S101 - opened above
        with process.stdout as pipe:
            yield pipe
        if process.wait() != 0:
            raise LabError(f"`docker save {' '.join(images)}` failed with status {process.returncode}.")

    def answers(self) -> bool:
        try:
            self.run("version", "--format", "{{.Server.Version}}")
        except LabError:
            return False
        return True

    def has_image(self, reference: str) -> bool:
        return bool(self.run("image", "ls", "--quiet", reference))

    def pull(self, reference: str) -> bool:
        """Return whether the image is here, or could be pulled."""
        if self.has_image(reference):
            return True
        try:
            self.run("pull", "--quiet", reference)
        except LabError:
            return False
        return True


def last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"


class Daemon:
    """The private daemon of one home directory."""

    def __init__(self, home: Path, clock: Clock | None = None) -> None:
        self._home = home
        self._run = home / "run"
        self._processes = Processes(self._run)
        self._clock = clock or SystemClock()

    def docker(self, program: Path) -> Docker:
        environment = {
            "DOCKER_HOST": f"unix://{self._run / 'docker.sock'}",
            "DOCKER_CONFIG": str(self._run / "client"),
            "DOCKER_BUILDKIT": "0",  # the builder inside the daemon; no plugin needed
        }
        return Docker(program, environment, private=True)

    @property
    def running(self) -> bool:
        return self._processes.alive(DAEMON)

    def start(self, program: Path) -> Docker:
        """Start the daemon unless it runs; return a client of it."""
        docker = self.docker(program)
        if not self.running:
            self._run.mkdir(parents=True, exist_ok=True)
            settings = self._run / "daemon.json"
            settings.write_text("{}\n")  # not the machine's own /etc/docker/daemon.json
            self._processes.start(Program(DAEMON, self._arguments(settings)))
        deadline = Deadline(self._clock, STARTED_SECONDS)
        while not docker.answers():
            if deadline.expired or not self.running:
                log = self._processes.log(DAEMON)
                said = last_line(log.read_text(errors="replace")) if log.exists() else "it printed nothing"
                self.stop()
                raise LabError(f"A private dockerd did not start: {said} (whole log: {log}).")
            self._clock.sleep(0.1)
        return docker

    def _arguments(self, settings: Path) -> list[str]:
        program = daemon_program() or DAEMON
        arguments = [
            *(program, "--config-file", str(settings), "--host", f"unix://{self._run / 'docker.sock'}"),
            *("--data-root", str(self._home / "docker"), "--exec-root", str(self._run / "exec")),
            *("--pidfile", str(self._run / "docker.pid"), "--bridge", "none"),
        ]
        if not has_capability(CAP_SYS_RESOURCE):
            wrapper = self._run / "runc"
            shutil.copyfile(Path(__file__).parent / "files" / f"runc-{RUNTIME}", wrapper)
            wrapper.chmod(0o755)
            arguments += ["--add-runtime", f"{RUNTIME}={wrapper}", "--default-runtime", RUNTIME]
        return arguments

    def stop(self) -> bool:
        """End the daemon; return whether it ran. Its images stay for the next time."""
        ran = self.running
        self._processes.stop([DAEMON])
        shutil.rmtree(self._run, ignore_errors=True)
        return ran


def find(home: Path) -> Docker | None:
    """Return the Docker that answers: the private one where it runs, else the machine's; start nothing."""
    program = shutil.which("docker")
    if program is None:
        return None
    daemon = Daemon(home)
    if daemon.running:
        return daemon.docker(Path(program))
    here = Docker(Path(program), {"DOCKER_BUILDKIT": "0"}, private=False)
    return here if here.answers() else None


def connect(home: Path, say: Say = lambda _line: None) -> Docker:
    """Return the Docker that answers, starting a private daemon where none does and that is possible."""
    found = find(home)
    if found is not None:
        return found
    reason = obstacle(home)
    if reason:
        raise LabError(reason)
    say("no Docker daemon answers: starting a private one")
    return Daemon(home).start(Path(shutil.which("docker") or ""))


def obstacle(home: Path) -> str:
    """Return why no kind cluster can run on this machine, in a sentence; empty where one can."""
    if shutil.which("docker") is None:
        return "kind needs Docker, and there is no `docker` on PATH. Install it (Debian: docker.io)."
    if find(home):
        return ""
    if os.geteuid() != 0:
        return (
            "kind needs Docker: no daemon answers, and only root can start a private one. Start Docker and "
            "join the group docker, or run this as root."
        )
    if daemon_program() is None:
        return (
            "kind needs Docker: no daemon answers, and there is no dockerd to start. Install Docker "
            "(Debian: docker.io), or start it."
        )
    missing = missing_controllers()
    if missing:
        return (
            f"kind needs the cgroup controllers {', '.join(CONTROLLERS)}; this machine has no "
            f"{', '.join(missing)}. Mount them, or use a machine that has them."
        )
    return ""


def daemon_program() -> str | None:
    return shutil.which(DAEMON, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def missing_controllers(root: Path = Path("/sys/fs/cgroup")) -> list[str]:
    """Return the cgroup controllers that containers need and this machine does not offer."""
    unified = root / "cgroup.controllers"
    offered = set(unified.read_text().split()) if unified.exists() else set()
    if root.is_dir():
        offered |= {name for path in root.iterdir() if path.is_dir() for name in path.name.split(",")}
    return [name for name in CONTROLLERS if name not in offered]


def has_capability(number: int, status: Path = Path("/proc/self/status")) -> bool:
    """Return whether a capability is in this process's bounding set."""
    line = next(line for line in status.read_text().splitlines() if line.startswith("CapBnd:"))
    return bool(int(line.split()[1], 16) >> number & 1)
