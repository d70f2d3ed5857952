# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command ``dra-lab``: up, down, status, env, logs, fault, binaries."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from . import faults_client, lifecycle
from .binaries import Binaries, cache_home
from .errors import LabError
from .processes import Processes
from .state import DEFAULT_PROJECT, DEFAULT_SPEED, Lab, Wishes

OK, FAILED, NOT_RUNNING = 0, 1, 3
SOURCES = Path(__file__).resolve().parent.parent


def say(line: str) -> None:
    """Print progress where it does not mix with what a caller evaluates."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - a command prints


def answer(line: str) -> None:
    print(line)  # noqa: T201 - a command prints


def command_up(options: argparse.Namespace) -> int:
    started = time.monotonic()
    lab = lifecycle.up(
        options.name,
        Wishes(options.speed, options.project, seed=options.seed, optimistic=options.optimistic),
        say,
    )
    seconds = time.monotonic() - started
    if options.json:
        answer(json.dumps(description(lab)))
        return OK
    answer(
        f"lab {lab.name} is up ({seconds:.1f} s): kubectl --kubeconfig {lab.kubeconfig}, "
        f"Google at {lab.url('google')}, images at 127.0.0.1:{lab.ports['registry']}, "
        f"clock {lab.speed:g} times as fast"
    )
    return OK


def description(lab: Lab) -> dict[str, object]:
    """Return what a program needs to talk to the lab."""
    return {
        "name": lab.name,
        "running": lifecycle.is_whole(lab),
        "kubeconfig": str(lab.kubeconfig),
        "google_endpoint": lab.url("google"),
        "admin_endpoint": lab.url("admin"),
        "registry": f"127.0.0.1:{lab.ports['registry']}",
        "project": lab.project,
        "speed": lab.speed,
        "directory": str(lab.directory),
        "sources": str(SOURCES),
    }


def command_down(options: argparse.Namespace) -> int:
    answer(f"lab {options.name} is {'down' if lifecycle.down(options.name) else 'not there: nothing to do'}")
    return OK


def command_status(options: argparse.Namespace) -> int:
    lab = lifecycle.required(options.name)
    parts = lifecycle.parts(lab)
    running = lifecycle.is_whole(lab)
    if options.json:
        answer(json.dumps(description(lab) | {"processes": {part.name: part.pid for part in parts}}))
    else:
        answer(f"lab {lab.name}: {'up' if running else 'not whole; `dra-lab up` repairs it'}")
        for part in parts:
            answer(f"  {part.name:26}{f'process {part.pid}' if part.pid else 'not running'}")
    return OK if running else NOT_RUNNING


def command_env(options: argparse.Namespace) -> int:
    lab = lifecycle.required(options.name)
    for name, value in sorted(lifecycle.environment(lab).items()):
        answer(f"export {name}={shlex.quote(value)}")
    answer(f'export PATH={shlex.quote(str(lab.directory / "bin"))}:"$PATH"')
    return OK


def command_logs(options: argparse.Namespace) -> int:
    processes = Processes(lifecycle.required(options.name).directory)
    known = sorted(path.stem for path in processes.logs.glob("*.log"))
    if options.part not in known:
        raise LabError(f"The lab has no log of {options.part!r}; it has {', '.join(known) or 'none yet'}.")
    lines = processes.log(options.part).read_text(errors="replace").splitlines()
    for line in lines[-options.lines :]:
        answer(line)
    return OK


def command_fault(options: argparse.Namespace) -> int:
    lab = lifecycle.required(options.name)
    if options.action == "list":
        for line in faults_client.listed(lab):
            answer(line)
    elif options.action == "set":
        answer(faults_client.set_one(lab, options.kind, options.parameters))
    else:
        answer(faults_client.clear(lab, options.which))
    return OK


def command_binaries(_options: argparse.Namespace) -> int:
    binaries = Binaries.from_environment(say)
    binaries.ensure()
    answer(f"the lab's programs are in {cache_home() / 'bin'}")
    return OK


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    top = argparse.ArgumentParser(prog="dra-lab", description="A GKE on one machine.")
    commands = top.add_subparsers(dest="command", required=True)

    def command(name: str, run: object, about: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=about, description=about)
        added.add_argument("--name", default=os.environ.get("DRA_LAB_NAME", "default"), help="which lab")
        added.set_defaults(run=run)
        return added

    up = command("up", command_up, "start a lab, or repair it")
    up.add_argument("--speed", type=float, default=DEFAULT_SPEED, help="simulated seconds per second")
    up.add_argument("--project", default=DEFAULT_PROJECT, help="the project that the lab's Google knows")
    up.add_argument("--seed", type=int, default=0, help="of everything random; fixed when it is made")
    up.add_argument(
        "--optimistic",
        action="store_true",
        help="let the autoscaler grow empty pools for drivers that GKE predicts no slices of",
    )
    up.add_argument("--json", action="store_true", help="for programs")
    command("down", command_down, "end a lab and remove everything it made")
    status = command("status", command_status, "what runs")
    status.add_argument("--json", action="store_true", help="for programs")
    command("env", command_env, "shell variables for kubectl, helm, gcloud and ansible")
    logs = command("logs", command_logs, "the last lines of a part's log")
    logs.add_argument("part", help="for example kube-scheduler or daemon")
    logs.add_argument("--lines", type=int, default=50, help="how many")
    fault = command("fault", command_fault, "things that go wrong, on order")
    actions = fault.add_subparsers(dest="action", required=True)
    actions.add_parser("list", help="faults that are on, and all kinds")
    setting = actions.add_parser("set", help="switch one on")
    setting.add_argument("kind", help="as `list` shows it")
    setting.add_argument(
        "parameters",
        nargs="*",
        metavar="name=value",
        help="what it is limited to, as `list` shows; remaining=N: so often, then it is off",
    )
    clearing = actions.add_parser("clear", help="switch off")
    clearing.add_argument("which", nargs="?", default="", help="an id or a kind; all without it")
    command("binaries", command_binaries, "get the programs a lab needs")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; an expected failure is one sentence and status 1."""
    options = parser().parse_args(arguments)
    try:
        status: int = options.run(options)
    except LabError as error:
        say(f"dra-lab: {error}")
        return FAILED
    return status


if __name__ == "__main__":
    sys.exit(main())
