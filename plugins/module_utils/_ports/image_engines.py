# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Docker and Podman: build a context, push the image.

Credentials are given to the program in a file of its own that exists while it runs, so that they are neither
on a command line nor left in the user's configuration.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._core.image_references import DOCKER_HUB, Reference
from . import image_context
from .image_context import Context

HUB_LOGIN = "https://index.docker.io/v1/"
"""What Docker Hub is called in configurations, for historical reasons."""
LAST_LINES = 15
SHOWN_LINES = 3
DENIED = ("denied", "unauthorized", "authentication required", "forbidden", "403", "401")


class EngineMissing(Exception):
    """The program of an engine is not there, or what it talks to does not answer."""


class BuildFailed(Exception):
    """An engine could not build or push.

    :param attempted: what it was doing.
    :param lines: the last lines of what it said, without secrets.
    :param denied: whether the registry refused the push.
    """

    def __init__(self, attempted: str, lines: Sequence[str], *, denied: bool = False) -> None:
        super().__init__(f"{attempted}: {' | '.join(lines[-SHOWN_LINES:]) or 'it said nothing'}")
        self.attempted = attempted
        self.lines = list(lines)
        self.denied = denied


@dataclass(frozen=True)
class Ended:
    """How a program ended and what it said."""

    status: int
    said: str


RunProgram = Callable[[Sequence[str], Mapping[str, str], float], Ended]


def run_program(command: Sequence[str], environment: Mapping[str, str], seconds: float) -> Ended:
    """Run a program and return how it ended.

    :raises EngineMissing: where there is no such program.
    :raises BuildFailed: where it takes longer than ``seconds``.
    """
    try:
        # AnsibleModule.run_command knows no time limit.
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            command,
            check=False,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
        )
    except FileNotFoundError:
        raise EngineMissing(f"there is no `{command[0]}` on PATH") from None
    except subprocess.TimeoutExpired as error:
        said = last_lines((error.stdout or b"").decode(errors="replace"))
        raise BuildFailed(f"`{' '.join(command[:2])}` did not end within {seconds:.0f} s", said) from None
    return Ended(done.returncode, done.stdout.decode(errors="replace"))


def last_lines(said: str, secrets: Sequence[str] = ()) -> list[str]:
    """Return the end of what a program said, with every secret taken out."""
    for secret in filter(None, secrets):
        said = said.replace(secret, "********")
    return [line.strip() for line in said.splitlines() if line.strip()][-LAST_LINES:]


class LocalEngine:
    """``docker`` or ``podman`` on this machine; both take the same commands."""

    def __init__(
        self, program: str, seconds: float, login: tuple[str, str] | None, run: RunProgram = run_program
    ) -> None:
        self._program = program
        self._seconds = seconds
        self._login = login
        self._run = run

    def require(self) -> None:
        """Return where the engine works.

        :raises EngineMissing: where it does not, with what it says.
        """
        ended = self._run([self._program, "version"], {}, 60.0)
        if ended.status != 0:
            said = " | ".join(last_lines(ended.said)[-2:])
            raise EngineMissing(f"`{self._program} version` ended with status {ended.status}: {said}")

    def build_and_push(
        self, context: Context, image: Reference, build_args: Mapping[str, str], platform: str
    ) -> None:
        """Build the context for a platform and push it under the image's tag.

        :raises BuildFailed: with the last lines of the program.
        """
        with self._environment(image.host) as environment, tempfile.TemporaryDirectory() as scratch:
            # A copy: the program would follow other rules than ours about what is ignored.
            image_context.copy(context, Path(scratch))
            command = [
                "build",
                "--platform",
                platform,
                "--tag",
                str(image),
                "--file",
                f"{scratch}/Dockerfile",
            ]
            for name, value in sorted(build_args.items()):
                command += ["--build-arg", f"{name}={value}"]
            self._do(f"building {image} with {self._program}", [*command, scratch], environment)
            self._do(f"pushing {image} with {self._program}", ["push", str(image)], environment)

    def _do(self, attempted: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        ended = self._run([self._program, *arguments], environment, self._seconds)
        if ended.status != 0:
            secrets = [self._login[1], _auth(self._login)] if self._login else []
            lines = last_lines(ended.said, secrets)
            pushing = arguments[0] == "push"
            said = " ".join(lines).lower()
            raise BuildFailed(attempted, lines, denied=pushing and any(word in said for word in DENIED))

    @contextlib.contextmanager
    def _environment(self, host: str) -> Iterator[dict[str, str]]:
        """Give the variables that make the program use our credentials; none where there are none."""
        if not self._login:
            yield {}
            return
        with tempfile.TemporaryDirectory() as scratch:
            directory = Path(scratch)
            own = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
            for name in ("contexts", "cli-plugins", "buildx"):
                if (own / name).exists():
                    (directory / name).symlink_to(own / name)
            path = directory / "config.json"
            path.touch(mode=0o600)
            path.write_text(json.dumps(with_login(_configuration(own / "config.json"), host, self._login)))
            yield {"DOCKER_CONFIG": scratch, "REGISTRY_AUTH_FILE": str(path)}


def with_login(configuration: Mapping[str, Any], host: str, login: tuple[str, str]) -> dict[str, Any]:
    """Return a Docker configuration in which a registry has this login and all others keep theirs."""
    host = HUB_LOGIN if host == DOCKER_HUB else host
    helpers = {
        name: value for name, value in (configuration.get("credHelpers") or {}).items() if name != host
    }
    store = configuration.get("credsStore")
    kept = {key: value for key, value in configuration.items() if key not in ("credsStore", "credHelpers")}
    if store:
        # A store answers for every registry, also for one that has a login here; so it is named one by one.
        helpers = {name: store for name in configuration.get("auths") or () if name != host} | helpers
    auths = {**(configuration.get("auths") or {}), host: {"auth": _auth(login)}}
    return {**kept, "auths": auths, "credHelpers": helpers}


def _configuration(path: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(path.read_text())
        return found if isinstance(found, dict) else {}
    return {}


def _auth(login: tuple[str, str]) -> str:
    return base64.b64encode(":".join(login).encode()).decode()
