# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Things that happen to machines and to the control plane when they are ordered."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any, Protocol

from ansible_collections.inference.dra.controllers.image_configurator.claim_status import ClaimStatus
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    NODES,
    PODS,
    NotFound,
)

from ..errors import LabError
from ..faults import Fault, Kind
from ..google.cloud import Cloud
from ..store import Change, Key, key_of
from ..work import Context, Work
from . import delays, machines
from .drivers import owner_kind
from .nodes import Nodes, group_of
from .publishing import FAILS

FAULTS = (
    Kind(
        "preemption",
        "spot machines are taken away at once, and replaced while there are any",
        ("node", "pool"),
        {"count": 1},
    ),
    Kind(
        "api-server-restart",
        "the API server stops, and starts again after this many real seconds",
        (),
        {"seconds": 3.0},
    ),
    Kind(
        "controller-paused",
        "a process of the lab stands still: kube-scheduler, kube-controller-manager, pod-… ",
        ("process",),
    ),
)
EVERY_CONFIGURATOR = "pod-*image-configurator*"
# What a graceful node shutdown writes on the pods it ends (kubernetes nodeshutdown manager).
SHUTDOWN = {
    "phase": "Failed",
    "reason": "Terminated",
    "message": "Pod was terminated in response to imminent node shutdown.",
}


class ControlPlane(Protocol):
    """The processes beside this one."""

    def names(self) -> list[str]:
        """Return the names of the processes there are."""

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to one process."""

    def restart(self, name: str, after_seconds: float) -> None:
        """End one process and start it again after so many real seconds."""


class Incidents:
    """Carries out the ordered incidents.

    :param control_plane: None where the lab did not start the control plane and cannot touch it.
    """

    def __init__(
        self, context: Context, cloud: Cloud, nodes: Nodes, control_plane: ControlPlane | None
    ) -> None:
        self._context = context
        self._cloud = cloud
        self._nodes = nodes
        self._control_plane = control_plane
        self._statuses = ClaimStatus(context.api, "inference.dra-lab-fault")
        self.gone: Work[str] = Work(context, self._take_away)
        self.failing: Work[Key] = Work(context, self._fail)
        context.faults.offer(*FAULTS)
        context.faults.listen(self._ordered)
        context.store.listen(self._changed)

    def _ordered(self, fault: Fault, on: bool) -> None:  # noqa: FBT001 - a listener's signature
        if fault.kind == "preemption" and on:
            self._preempt(fault)
        elif fault.kind == "api-server-restart" and on:
            self._restart(fault)
        elif fault.kind == "controller-paused":
            self._pause(fault) if on else self._resume(fault)
        elif fault.kind == "condition-fails" and on:
            for claim in self._context.store.all(CLAIMS):
                self.failing.add(key_of(claim))

    # Spot preemption

    def _preempt(self, fault: Fault) -> None:
        nodes = [node for node in self._context.store.all(NODES) if self._may_go(node, fault)]
        if not nodes:
            raise LabError("preempt: no spot node of the lab fits; `kubectl get nodes` shows what there is")
        chosen = self._context.chance.sample(nodes, min(fault["count"], len(nodes)))
        for node in chosen:
            name = node["metadata"]["name"]
            self._context.say(f"node {name} is preempted")
            self._shut_down(name)
            self.gone.add_after(delays.SPOT_NOTICE, name)

    def _may_go(self, node: Mapping[str, Any], fault: Fault) -> bool:
        labels = node["metadata"].get("labels", {})
        facts = {"node": node["metadata"]["name"], "pool": labels.get(machines.NODE_POOL, "")}
        return machines.SPOT in labels and all(
            fnmatchcase(facts[name], fault.parameters[name]) for name in facts if name in fault.parameters
        )

    def _shut_down(self, node: str) -> None:
        """End the node's pods as a graceful shutdown does: they stay behind, Failed."""
        for pod in self._context.store.all(PODS):
            if pod["spec"].get("nodeName") == node and owner_kind(pod) != "DaemonSet":
                meta = pod["metadata"]
                with suppress(NotFound):
                    self._context.api.merge_patch(
                        PODS, meta["name"], {"status": SHUTDOWN}, meta["namespace"], subresource="status"
                    )

    def _take_away(self, name: str) -> None:
        """Let the machine be gone; its group still wants one, so another comes while there are any."""
        node = self._context.store.get(NODES, name)
        if node is None:
            return
        group = group_of(node)
        with suppress(NotFound):
            self._context.api.delete(NODES, name)
        self._context.store.put(NODES, node, gone=True)
        if group:
            with suppress(LookupError):
                self._cloud.delete_instance(*group, name, "preemption")

    # The control plane

    def _plane(self) -> ControlPlane:
        if self._control_plane is None:
            raise LabError("this lab did not start its control plane, so it cannot stop parts of it")
        return self._control_plane

    def _restart(self, fault: Fault) -> None:
        plane, seconds = self._plane(), fault["seconds"]
        # In a thread of its own: the lab's thread must see the outage, not wait for its end.
        threading.Thread(target=plane.restart, args=("kube-apiserver", seconds), daemon=True).start()

    def _pause(self, fault: Fault) -> None:
        names = self._processes(fault)
        if not names:
            raise LabError(f"pause: no such process; there are {', '.join(self._plane().names())}")
        for name in names:
            self._plane().signal(name, signal.SIGSTOP)

    def _resume(self, fault: Fault) -> None:
        for name in self._processes(fault):
            with suppress(LabError):  # it has ended meanwhile
                self._plane().signal(name, signal.SIGCONT)

    def _processes(self, fault: Fault) -> list[str]:
        pattern = fault.parameters.get("process", EVERY_CONFIGURATOR)
        return [name for name in self._plane().names() if fnmatchcase(name, pattern) and name != "daemon"]

    # Binding conditions

    def _changed(self, change: Change) -> None:
        if change.resource is CLAIMS and not change.gone:
            self.failing.add(key_of(change.object))

    def _fail(self, key: Key) -> None:
        """Write the failure condition on the allocated devices that an ordered fault makes fail."""
        namespace, name = key
        claim = self._context.store.get(CLAIMS, name, namespace) or {}
        allocation = claim.get("status", {}).get("allocation", {})
        written = {
            (each["driver"], each["pool"], each["device"])
            for each in claim.get("status", {}).get("devices") or ()
        }
        devices = [
            device_status(result, self._context.timestamp)
            for result in allocation.get("devices", {}).get("results", ())
            if FAILS in result.get("bindingFailureConditions", ())
            and (result["driver"], result["pool"], result["device"]) not in written
            and self._context.faults.peek("condition-fails", driver=result["driver"], node=result["pool"])
        ]
        if devices:
            with suppress(NotFound):
                self._statuses.write_devices(namespace, name, claim["metadata"]["uid"], devices)


def device_status(result: Mapping[str, Any], now: str) -> dict[str, Any]:
    """Return the status entry that says: preparing this device failed."""
    found = {name: result[name] for name in ("driver", "pool", "device", "shareID") if name in result}
    condition = {
        "type": FAILS,
        "status": "True",
        "reason": "OrderedFault",
        "message": "the lab was told to let this device fail",
        "lastTransitionTime": now,
    }
    return {**found, "conditions": [condition]}
