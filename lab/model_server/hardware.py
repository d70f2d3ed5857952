# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a container sees of the devices of its claim: device nodes and environment, nothing else; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..serving.startup import Hardware, Plan, Settings, plan
from ..standin_driver.claims import ACCELERATOR_VARIABLE
from ..standin_driver.prepared import VARIABLE as CPU_SET
from ..standin_driver.prepared import cpus_of_list

GPU_NODE = re.compile(r"nvidia\d+")


def hardware(device_nodes: Iterable[str], environment: Mapping[str, str]) -> Hardware:
    """Return what the container got.

    :param device_nodes: the names below /dev.
    :param environment: the container's environment; CPUs show in ``DRA_CPUSET_<claim UID>``.
    """
    cpus: set[int] = set()
    for name, value in environment.items():
        if name.startswith(CPU_SET):
            cpus |= cpus_of_list(value)
    gpus = sum(1 for name in device_nodes if GPU_NODE.fullmatch(name))
    return Hardware(environment.get(ACCELERATOR_VARIABLE, ""), gpus, len(cpus))


def plan_here(settings: Settings, got: Hardware) -> Plan:
    """Return how the server runs on this hardware, or the words it ends with.

    A real CPU build would serve beside a GPU without noticing. This one refuses, so that an image on the
    wrong hardware can't go unseen.
    """
    found = plan(settings, got)
    if settings.build == "cpu" and got.gpus:
        words = f"RuntimeError: this image serves on CPUs, and the container has {got.gpus} GPU(s)"
        return Plan(settings, found.model, found.profile, words)
    if settings.build == "cpu" and not got.cpus:
        words = "RuntimeError: this image serves on CPUs of a claim, and the container has no DRA_CPUSET_*"
        return Plan(settings, found.model, found.profile, words)
    return found
