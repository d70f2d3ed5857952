# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process beside the control plane: the Google API and everything that it makes happen.

``python -m ansible_collections.inference.dra.lab.service DIRECTORY`` serves the lab whose state lies
in that directory, until it is told to end.
"""

from __future__ import annotations

import base64
import signal
import sys
from pathlib import Path

import yaml

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock

from . import daemon, state
from .autoscaler.autoscaler import Settings
from .containers import Containers
from .errors import LabError
from .google.cloud import Cloud, ControlPlane
from .google.server import GoogleServer
from .google.store import Store
from .processes import Processes
from .state import Lab


def say(line: str) -> None:
    """Write one line of the log."""
    sys.stdout.write(f"{SystemClock().now().isoformat(timespec='milliseconds')} {line}\n")
    sys.stdout.flush()


def control_plane(lab: Lab) -> ControlPlane:
    """Return the address and authority of the lab's API server, from its kubeconfig."""
    document = yaml.safe_load(lab.kubeconfig.read_text())
    cluster = document["clusters"][0]["cluster"]
    authority = lab.directory / "kwok" / "clusters" / "lab" / "pki" / "ca.crt"
    return ControlPlane(
        cluster["server"].removeprefix("https://"),
        base64.b64encode(authority.read_bytes()).decode(),
    )


def serve(lab: Lab) -> None:
    """Serve until SIGTERM; the state of Google outlives the process."""
    store = Store(lab.directory / "google.json")
    cloud = Cloud(
        SystemClock(),
        speed=lab.speed,
        seed=lab.seed,
        project=lab.project,
        control_plane=control_plane(lab),
        registry=f"127.0.0.1:{lab.ports['registry']}",
        state=store.load(),
    )
    machines = daemon.build(
        {"kubeconfig": str(lab.kubeconfig)},
        cloud,
        speed=lab.speed,
        seed=lab.seed,
        say=say,
        autoscaling=Settings(optimistic=lab.optimistic),
        directory=lab.directory,
    )
    machines.prepare()
    Containers(machines.context, Processes(lab.directory), lab.directory, machines.logs)
    google = GoogleServer(cloud, port=lab.ports["google"], store=store, say=say).start()
    signal.signal(signal.SIGTERM, lambda *_: machines.loop.stop())
    say(f"serving {google.endpoint}")
    machines.run()
    google.stop()


def main(arguments: list[str]) -> int:
    """Serve the lab in the directory that is the only argument."""
    directory = Path(arguments[0])
    lab = state.read(directory)
    if lab is None:
        raise LabError(f"{directory} holds no lab.")
    serve(lab)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
