# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a lab keeps what it is: one directory per name, one JSON file with its ports."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from .errors import LabError

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?")
PORT_ROLES = (
    "apiserver",
    "etcd",
    "etcd_peer",
    "scheduler",
    "controller_manager",
    "kwok",
    "registry",
    "google",
    "admin",
    "serving",
)
FIRST_PORT, LAST_PORT = 20100, 32000
DEFAULT_SPEED = 20.0
DEFAULT_PROJECT = "lab-project"


def labs_home() -> Path:
    """Return the directory of all labs (``DRA_LAB_STATE``, else XDG's state directory)."""
    explicit = os.environ.get("DRA_LAB_STATE")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "inference-dra" / "labs"


@dataclass(frozen=True)
class Wishes:
    """What a lab is made with and keeps.

    :param speed: simulated seconds per real second.
    :param project: the project that its Google knows.
    :param seed: of everything random.
    :param optimistic: whether the autoscaler grows empty pools for drivers that GKE predicts nothing of.
    """

    speed: float = DEFAULT_SPEED
    project: str = DEFAULT_PROJECT
    seed: int = 0
    optimistic: bool = False


@dataclass(frozen=True)
class Lab:
    """One lab: its directory, its ports, and what it was made with."""

    directory: Path
    ports: dict[str, int]
    speed: float = DEFAULT_SPEED
    project: str = DEFAULT_PROJECT
    seed: int = 0
    optimistic: bool = False

    @property
    def name(self) -> str:
        return self.directory.name

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    @property
    def token_file(self) -> Path:
        return self.directory / "google-token"

    def url(self, role: str) -> str:
        return f"http://127.0.0.1:{self.ports[role]}"

    def save(self) -> None:
        body = asdict(self) | {"directory": str(self.directory)}
        path = self.directory / "lab.json"
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(body, indent=2) + "\n")
        fresh.replace(path)


def directory_of(name: str) -> Path:
    if not NAME.fullmatch(name):
        raise LabError(
            f"A lab can't be called {name!r}: small letters, digits and inner hyphens, 32 at most."
        )
    return labs_home() / name


def load(name: str) -> Lab | None:
    """Return the lab of that name as its state directory describes it, ``None`` where there is none."""
    return read(directory_of(name))


def read(directory: Path) -> Lab | None:
    """Return the lab in a state directory, ``None`` where there is none."""
    try:
        body = json.loads((directory / "lab.json").read_text())
        return Lab(**(body | {"directory": directory}))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise LabError(
            f"The state of a lab in {directory} can't be read ({error}). "
            f"`dra-lab down --name {directory.name}` removes it."
        ) from error


def create(name: str, wishes: Wishes) -> Lab:
    """Make the state directory of a new lab and give it ports that nothing else uses."""
    directory = directory_of(name)
    with port_registry() as taken:
        lab = Lab(directory, free_ports(taken), **asdict(wishes))
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(0o700)
        lab.save()
    return lab


@contextlib.contextmanager
def port_registry() -> Iterator[set[int]]:
    """Hold the lock over all labs and yield the ports that they have reserved, running or not."""
    home = labs_home()
    home.mkdir(parents=True, exist_ok=True)
    with (home / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        taken: set[int] = set()
        for path in home.glob("*/lab.json"):
            with contextlib.suppress(ValueError, KeyError):
                taken.update(json.loads(path.read_text())["ports"].values())
        yield taken


def free_ports(taken: set[int]) -> dict[str, int]:
    for first in range(FIRST_PORT, LAST_PORT, len(PORT_ROLES)):
        block = range(first, first + len(PORT_ROLES))
        if not taken.intersection(block) and all(is_free(port) for port in block):
            return dict(zip(PORT_ROLES, block, strict=True))
    raise LabError(f"No ten neighbouring free ports between {FIRST_PORT} and {LAST_PORT} on 127.0.0.1.")


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
