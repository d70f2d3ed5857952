# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab's whole life: up (or repaired), looked at, down without a trace."""

from __future__ import annotations

import secrets
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, SystemClock

from . import chart_registry, state
from .binaries import Binaries, Say
from .control_plane import COMPONENTS, ControlPlane
from .errors import LabError
from .processes import Processes, Program
from .state import Lab, Wishes, is_free

PARTS = (*COMPONENTS, "registry", "daemon")
STARTED_SECONDS = 20.0
AUTH_PLUGIN = """#!/bin/sh
# client.authentication.k8s.io/v1beta1, what gcloud's kubeconfig asks its plugin for
printf '{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",'
printf '"status":{{"token":"%s"}}}}' "$(cat '{token_file}')"
"""


@dataclass(frozen=True)
class Part:
    """One process of a lab and whether it runs."""

    name: str
    pid: int | None


def up(name: str, wishes: Wishes, say: Say) -> Lab:
    """Start a lab, or what is not running of it, and return it once everything answers.

    A lab that is up stays as it is; ``wishes`` count when it is made.
    """
    binaries = Binaries.from_environment(say).require()
    lab = state.load(name) or state.create(name, wishes)
    control_plane = ControlPlane(lab.directory, lab.ports, binaries, admin_token=token(lab))
    control_plane.up()
    lay_programs(lab, binaries)
    processes = control_plane.processes
    has_charts = processes.alive("registry")
    beside = services(lab, binaries)
    for program, _role in beside:
        processes.start(program)
    for program, role in beside:
        wait_listening(processes, program.name, lab.ports[role])
        if program.name == "registry" and not has_charts:
            chart_registry.push(lab, binaries)  # while the other one still starts
    return lab


def services(lab: Lab, binaries: Mapping[str, Path]) -> list[tuple[Program, str]]:
    """Return what runs beside the control plane, each with the role of the port it answers on."""
    images = lab.directory / "images"
    images.mkdir(exist_ok=True)
    registry = [str(binaries["crane"]), "registry", "serve", "--disk", str(images)]
    registry += ["--address", f"127.0.0.1:{lab.ports['registry']}"]
    daemon = [sys.executable, "-m", "ansible_collections.inference.dra.lab.service", str(lab.directory)]
    return [(Program("registry", registry), "registry"), (Program("daemon", daemon), "google")]


def wait_listening(processes: Processes, name: str, port: int) -> None:
    clock = SystemClock()
    deadline = Deadline(clock, STARTED_SECONDS)
    while is_free(port):
        if deadline.expired or not processes.alive(name):
            log = processes.log(name)
            last = log.read_text(errors="replace").strip().splitlines()[-1:] if log.exists() else []
            raise LabError(
                f"The lab's {name} did not begin to answer on port {port}: "
                f"{last[0] if last else 'it printed nothing'} (whole log: {log})."
            )
        clock.sleep(0.02)


def token(lab: Lab) -> str:
    """Return the lab's Google access token; to its API server it is the cluster's owner."""
    if not lab.token_file.exists():
        lab.token_file.touch(mode=0o600)
        lab.token_file.write_text(f"ya29.{secrets.token_urlsafe(24)}\n")
    return lab.token_file.read_text().strip()


def lay_programs(lab: Lab, binaries: Mapping[str, Path]) -> None:
    """Lay a directory for PATH, so that this lab's kubectl and helm are the ones that fit it.

    The kubeconfig that gcloud writes names an exec plugin; here it answers with the lab's token.
    """
    directory = lab.directory / "bin"
    directory.mkdir(exist_ok=True)
    for name in ("kubectl", "helm", "crane"):
        link = directory / name
        link.unlink(missing_ok=True)
        link.symlink_to(binaries[name])
    plugin = directory / "gke-gcloud-auth-plugin"
    plugin.write_text(AUTH_PLUGIN.format(token_file=lab.token_file))
    plugin.chmod(0o755)


def down(name: str) -> bool:
    """End a lab and remove its directory; return whether there was one."""
    directory = state.directory_of(name)
    if not directory.exists():
        return False
    processes = Processes(directory)
    processes.stop(["daemon"])  # first, or it would start again what ends next
    processes.stop([name for name in processes.names() if name not in COMPONENTS])
    ControlPlane(directory, {}, {}).down()
    shutil.rmtree(directory)
    return True


def parts(lab: Lab) -> list[Part]:
    """Return the processes of a lab, those that others need first."""
    processes = Processes(lab.directory)
    return [Part(name, processes.pid(name)) for name in PARTS]


def is_whole(lab: Lab) -> bool:
    """Return whether every process of the lab runs."""
    processes = Processes(lab.directory)
    return all(processes.alive(name) for name in PARTS)


def required(name: str) -> Lab:
    lab = state.load(name)
    if lab is None:
        raise LabError(f"There is no lab {name!r} on this machine; `dra-lab up --name {name}` makes it.")
    return lab


def environment(lab: Lab) -> dict[str, str]:
    """Return the variables that make kubectl, helm, gcloud and ansible talk to this lab."""
    from .google.environment import environment as google  # noqa: PLC0415 - not needed to start or stop

    return {
        "KUBECONFIG": str(lab.kubeconfig),
        "K8S_AUTH_KUBECONFIG": str(lab.kubeconfig),
        "DRA_LAB_NAME": lab.name,
        "DRA_LAB_REGISTRY": f"127.0.0.1:{lab.ports['registry']}",
        **google(lab.url("google"), lab.project, str(lab.token_file)),
    }
