# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one process in which everything simulated lives: machines, drivers, autoscaler, model servers."""

from __future__ import annotations

import random
import signal
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    COMPUTE_CLASSES,
    DEVICE_CLASSES,
    NODES,
    PODS,
    SLICES,
    Kubernetes,
)

from . import state
from .admin import AdminServer
from .autoscaler import crd
from .autoscaler.autoscaler import Autoscaler, Settings
from .control_plane import ControlPlane as LabControlPlane
from .emptying import Emptying
from .google.cloud import Cloud
from .hardware import stages
from .hardware.incidents import ControlPlane, Incidents
from .hardware.managed import Managed
from .hardware.nodes import Nodes, is_ready
from .hardware.publishing import Publishing
from .loop import Loop
from .pod_logs import PodLogs
from .processes import Processes
from .pulls import Pulls
from .serving.pods import ModelServers
from .store import Store, watch
from .work import Context, Say

WATCHED = (NODES, PODS, SLICES, CLAIMS, DEVICE_CLASSES, COMPUTE_CLASSES)


class LabProcesses:
    """The processes of a lab that ``dra-lab up`` started, as faults reach them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._processes = Processes(directory)

    def names(self) -> list[str]:
        return self._processes.names()

    def signal(self, name: str, number: signal.Signals) -> None:
        self._processes.signal(name, number)

    def restart(self, name: str, after_seconds: float) -> None:
        LabControlPlane(self._directory, {}, {}).restart(name, after_seconds)


@dataclass
class Daemon:
    """All components of one lab, put together; ``loop.run()`` makes it live."""

    context: Context
    nodes: Nodes
    publishing: Publishing
    autoscaler: Autoscaler
    model_servers: ModelServers
    incidents: Incidents
    managed: Managed
    emptying: Emptying
    logs: PodLogs
    own_images: str
    admin: AdminServer | None

    @property
    def loop(self) -> Loop:
        return self.context.loop

    def prepare(self) -> None:
        """Install what the lab itself needs in Kubernetes; before the first cluster."""
        crd.install(self.context.kube)
        stages.install(self.context.kube, lab_plays=True, own_images=self.own_images)
        self.logs.install()
        self.emptying.remember()

    def run(self) -> None:
        """Work until the loop is stopped."""
        watch(self.context.kube, WATCHED, self.context.store, self.loop)
        self.loop.post(self.nodes.look)
        self.loop.post(lambda: self.managed.work.add("dranet"))
        if self.admin:
            self.admin.start()
        self.loop.run()
        if self.admin:
            self.admin.stop()
        self.model_servers.stop()

    def status(self) -> dict[str, Any]:
        """Return what the lab holds: nodes, back-offs, model servers, faults."""
        nodes = list(self.context.store.all(NODES))
        return {
            "speed": self.loop.speed,
            "nodes": {"all": len(nodes), "ready": sum(map(is_ready, nodes))},
            "slices": sum(1 for _unused in self.context.store.all(SLICES)),
            "autoscaler": self.autoscaler.view(),
            "model_servers": self.model_servers.view(),
        }


def build(
    auth: Mapping[str, Any],
    cloud: Cloud,
    *,
    speed: float,
    seed: int = 0,
    clock: Clock | None = None,
    say: Say = lambda _line: None,
    autoscaling: Settings | None = None,
    directory: Path | None = None,
    admin_port: int | None = None,
    control_plane: ControlPlane | None = None,
) -> Daemon:
    """Return a daemon for the cluster that ``auth`` leads to (kubernetes.core's option names).

    :param speed: simulated seconds per real second.
    :param seed: of everything random; the same seed and the same events give the same names.
    :param autoscaling: how the autoscaler differs from GKE's, if at all.
    :param directory: the lab's own: the logs of simulated containers lie there, and from what is kept
        there come the next two where they are not given. Without one, a temporary directory.
    :param admin_port: where faults are ordered, 0 for a free port; None for nowhere.
    :param control_plane: the processes that faults may stop and pause, where the lab started them.
    """
    time = clock or SystemClock()
    lab = state.read(directory) if directory else None
    if lab and directory:
        admin_port = lab.ports["admin"] if admin_port is None else admin_port
        control_plane = control_plane or LabProcesses(directory)
    context = Context(
        kube=Kubernetes.connect(auth, time),
        store=Store(),
        loop=Loop(time, speed, lambda error: say(f"unexpected: {error!r}")),
        faults=cloud.faults,
        say=say,
        chance=random.Random(seed),  # noqa: S311 - a simulation
    )
    nodes = Nodes(context, cloud)
    logs = PodLogs(context, (directory or Path(tempfile.mkdtemp(prefix="dra-lab-"))) / "pods")
    own_images = f"{cloud.registry}/{cloud.project}/" if cloud.registry else ""
    pulls = Pulls(context, own_images)
    built = Daemon(
        context,
        nodes,
        Publishing(context, logs, pulls),
        Autoscaler(context, cloud, nodes, autoscaling),
        ModelServers(context, logs, pulls),
        Incidents(context, cloud, nodes, control_plane),
        Managed(context, cloud),
        Emptying(context, cloud, directory / "before.json" if directory else None),
        logs,
        own_images,
        None,
    )
    if admin_port is not None:
        built.admin = AdminServer(admin_port, context.loop, context.faults, built.status)
    return built
