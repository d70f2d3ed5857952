# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one process in which everything simulated lives: machines, drivers, autoscaler, model servers."""

from __future__ import annotations

import random
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

from .autoscaler import crd
from .autoscaler.autoscaler import Autoscaler, Settings
from .faults import Faults
from .google.cloud import Cloud
from .hardware import stages
from .hardware.nodes import Nodes
from .hardware.publishing import Publishing
from .loop import Loop
from .serving.pods import ModelServers
from .store import Store, watch
from .work import Context, Say

WATCHED = (NODES, PODS, SLICES, CLAIMS, DEVICE_CLASSES, COMPUTE_CLASSES)


@dataclass
class Daemon:
    """All components of one lab, put together; ``loop.run()`` makes it live."""

    context: Context
    nodes: Nodes
    publishing: Publishing
    autoscaler: Autoscaler
    model_servers: ModelServers

    @property
    def loop(self) -> Loop:
        return self.context.loop

    def run(self) -> None:
        """Work until the loop is stopped."""
        crd.install(self.context.kube)
        stages.install(self.context.kube, lab_plays=True)
        watch(self.context.kube, WATCHED, self.context.store, self.loop)
        self.loop.post(self.nodes.look)
        self.loop.run()
        self.model_servers.stop()


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
) -> Daemon:
    """Return a daemon for the cluster that ``auth`` leads to (kubernetes.core's option names).

    :param speed: simulated seconds per real second.
    :param seed: of everything random; the same seed and the same events give the same names.
    :param autoscaling: how the autoscaler differs from GKE's, if at all.
    :param directory: where the logs of simulated containers lie; without one, in a temporary one.
    """
    time = clock or SystemClock()
    context = Context(
        kube=Kubernetes.connect(auth, time),
        store=Store(),
        loop=Loop(time, speed),
        faults=Faults(),
        say=say,
        chance=random.Random(seed),  # noqa: S311 - a simulation
    )
    nodes = Nodes(context, cloud)
    logs = (directory or Path(tempfile.mkdtemp(prefix="dra-lab-"))) / "pods"
    return Daemon(
        context,
        nodes,
        Publishing(context),
        Autoscaler(context, cloud, nodes, autoscaling),
        ModelServers(context, logs),
    )
