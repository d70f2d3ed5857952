# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One driver on one node: prepares claims for kubelet and keeps its devices published."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    NODES,
    SLICES,
    Kubernetes,
    KubernetesError,
    NotFound,
)

from ..google.catalogue import UnknownMachineType, machine_type
from ..hardware.devices import Device, cpu_set
from ..hardware.drivers import BY_NAME, arguments, half_way, slices
from . import protocol
from .claims import (
    CPU,
    GPU,
    Allocated,
    CannotPrepare,
    Edits,
    allocated,
    cdi_spec,
    choose_cpus,
    cpu_edits,
    gpu_edits,
)
from .faults import Fault, fault_of
from .prepared import Prepared

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
CRASHED = 1

RESPONSE = protocol.message(protocol.DRA, "NodePrepareResourcesResponse")
ONE_RESPONSE = protocol.message(protocol.DRA, "NodePrepareResourceResponse")
UNPREPARED = protocol.message(protocol.DRA, "NodeUnprepareResourcesResponse")
ONE_UNPREPARED = protocol.message(protocol.DRA, "NodeUnprepareResourceResponse")
DEVICE = protocol.message(protocol.DRA, "Device")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - a container's log


class Driver:
    """A driver under one name.

    :param words: the container's arguments, from which the mode of the CPU driver is read.
    :param leave: ends the process, for the fault ``crash``.
    """

    def __init__(
        self,
        name: str,
        node: str,
        api: Kubernetes,
        prepared: Prepared,
        clock: Clock,
        *,
        words: Sequence[str] = (),
        leave: Callable[[int], Any] = os._exit,
    ) -> None:
        self.name = name
        self._node = node
        self._api = api
        self._prepared = prepared
        self._clock = clock
        self._words = list(words)
        self._leave = leave
        self._one_at_a_time = threading.Lock()

    # What kubelet asks

    def prepare(self, request: Any, _context: Any) -> Any:
        """Answer NodePrepareResources: every claim gets devices or an error of its own."""
        answer = RESPONSE()
        for claim in request.claims:
            answer.claims[claim.uid].CopyFrom(self._prepare(claim))
        return answer

    def unprepare(self, request: Any, _context: Any) -> Any:
        """Answer NodeUnprepareResources; a claim that was never prepared is as good as undone."""
        answer = UNPREPARED()
        for claim in request.claims:
            self._prepared.remove(claim.uid)
            answer.claims[claim.uid].CopyFrom(ONE_UNPREPARED())
            say(f"{self.name}: {claim.namespace}/{claim.name} is released")
        return answer

    def _prepare(self, claim: Any) -> Any:
        name = f"{claim.namespace}/{claim.name}"
        try:
            node = self._api.get(NODES, self._node)
            self._play(fault_of(node, self.name), name)
            with self._one_at_a_time:
                devices = self._devices(claim, node)
        except (CannotPrepare, KubernetesError) as error:
            say(f"{self.name}: {name} is not prepared: {error}")
            return ONE_RESPONSE(error=f"{self.name} on {self._node} can't prepare {name}: {error}")
        say(
            f"{self.name}: {name} is prepared: {', '.join(each.device_name for each in devices) or 'nothing'}"
        )
        return ONE_RESPONSE(devices=devices)

    def _play(self, fault: Fault, claim: str) -> None:
        if fault.delay_seconds:
            self._clock.sleep(fault.delay_seconds)
        if fault.crash:
            say(f"{self.name}: crashes at {claim}, as ordered")
            self._leave(CRASHED)
        if fault.refuse:
            raise CannotPrepare("refused, as ordered by the node's annotation")

    def _devices(self, claim: Any, node: Mapping[str, Any]) -> list[Any]:
        found = self._api.get(CLAIMS, claim.name, claim.namespace)
        if found["metadata"]["uid"] != claim.uid:
            raise CannotPrepare(f"it is another claim now, with UID {found['metadata']['uid']}")
        mine = allocated(found, self.name, self._node if self.name in BY_NAME else "")
        if mine and not self._prepared.has(claim.uid):
            inject = self._edits(claim.uid, mine, node)
            if inject:
                self._prepared.write(claim.uid, cdi_spec(self.name, claim.uid, inject))
        injected = [self._prepared.device_id(claim.uid)] if self._prepared.has(claim.uid) else []
        return [
            DEVICE(
                # kubelet knows requests, not the subrequest behind the slash.
                request_names=[each.request.partition("/")[0]],
                pool_name=each.pool,
                device_name=each.device,
                cdi_device_ids=injected,
                share_id=each.share,
            )
            for each in mine
        ]

    def _edits(self, uid: str, mine: Sequence[Allocated], node: Mapping[str, Any]) -> Edits:
        if self.name == GPU:
            return gpu_edits(mine, node)
        return cpu_edits(uid, self._cpus(mine, node)) if self.name == CPU else {}

    def _cpus(self, mine: Sequence[Allocated], node: Mapping[str, Any]) -> list[int]:
        """Return the CPUs a claim gets: those of its devices, or as many as it consumes of its groups."""
        by_name = {device["name"]: device for device in self.devices(node)}
        given = arguments({"args": self._words})
        reserved = cpu_set(given.get("reserved-cpus", ""))
        usable = [cpu for cpu in range(cpus_of_machine(node)) if cpu not in reserved]
        chosen: list[int] = []
        for each in mine:
            attributes = by_name.get(each.device, {}).get("attributes", {})
            if "dra.cpu/cpuID" in attributes:
                chosen.append(attributes["dra.cpu/cpuID"]["int"])
            else:
                whole = attributes.get("dra.cpu/numCPUs", {}).get("int", 0)
                taken = self._prepared.taken_cpus() | set(chosen)
                chosen += choose_cpus(usable, taken, each.cpus or whole)
        return chosen

    # What everybody sees

    def devices(self, node: Mapping[str, Any]) -> list[Device]:
        """Return the node's devices; a driver that the lab's table does not know has none of its own."""
        known = BY_NAME.get(self.name)
        if known is None:
            return []
        capacity = {"cpu": str(cpus_of_machine(node))}
        machine = {**node, "status": {**node.get("status", {}), "capacity": capacity}}
        return known.devices(machine, {"args": self._words})

    def publish(self) -> None:
        """Make the driver's slices of this node be exactly what is wanted now."""
        node = self._api.get(NODES, self._node)
        found = self.devices(node)
        if fault_of(node, self.name).half_pool:
            wanted = half_way(self.name, node, found)
        else:
            wanted = slices(self.name, node, found) if found else []
        selector = f"spec.driver={self.name},spec.nodeName={self._node}"
        here = {each["metadata"]["name"]: each for each in self._api.list(SLICES, field_selector=selector)}
        names = {each["metadata"]["name"] for each in wanted}
        for name, old in here.items():
            new = next((each for each in wanted if each["metadata"]["name"] == name), None)
            if new is None or not holds(new["spec"], old["spec"]):
                self._delete(name)
        for each in wanted:
            found_here = here.get(each["metadata"]["name"])
            if found_here is None or not holds(each["spec"], found_here["spec"]):
                self._api.create(SLICES, each)
                count = len(each["spec"]["devices"])
                say(f"{self.name}: slice {each['metadata']['name']} with {count} devices")
        for name in set(here) - names:
            say(f"{self.name}: slice {name} is withdrawn")

    def _delete(self, name: str) -> None:
        try:
            self._api.delete(SLICES, name)
        except NotFound:
            return


def cpus_of_machine(node: Mapping[str, Any]) -> int:
    """Return the CPUs of the machine type that a node claims to be, else those it has."""
    try:
        return machine_type(node["metadata"].get("labels", {}).get(INSTANCE_TYPE, "")).cpus
    except UnknownMachineType:
        return int(node.get("status", {}).get("capacity", {}).get("cpu", "0"))


def holds(wanted: Any, found: Any) -> bool:
    """Return whether everything wanted is there; the API server adds defaults of its own."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(holds(wanted[key], found.get(key)) for key in wanted)
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(wanted) == len(found)
            and all(holds(a, b) for a, b in zip(wanted, found, strict=True))
        )
    return bool(wanted == found)
