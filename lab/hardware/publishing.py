# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Publishes a node's devices exactly while its driver could: label, DaemonSet pod, kernel driver, slice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    NODES,
    PODS,
    SLICES,
    Conflict,
    NotFound,
)

from ..faults import Kind
from ..loop import Timer
from ..pod_logs import PodLogs
from ..pulls import Pulls
from ..store import Change, Key, key_of
from ..work import Context, Work
from . import delays
from .devices import PCIE_ROOT, Device
from .drivers import (
    BY_NAME,
    Container,
    Driver,
    accelerator_count,
    drivers_of,
    half_way,
    has_managed_kernel_driver,
    is_installer,
    is_running,
    slices,
)
from .machines import ACCELERATOR, NO_DEVICE_PLUGIN
from .nodes import is_ready
from .pod_status import RUNNING, STARTING, WAITING, State, crashed
from .status_writer import write_status

FAULTS = (
    Kind("driver-crash", "a DRA driver stops on a node; its slices go 30 s later", ("driver", "node")),
    Kind("half-generation", "a driver is caught between two generations of its pool", ("driver", "node")),
    Kind("attribute-missing", "devices lack an attribute", ("driver", "node"), {"attribute": PCIE_ROOT}),
    Kind("condition-never", "devices wait for a binding condition that never comes", ("driver", "node")),
    Kind("condition-fails", "devices wait for a binding condition, and it fails", ("driver", "node")),
)
NEVER, FAILS = "lab.inference.dra/prepared", "lab.inference.dra/preparation-failed"
"""The binding condition of devices under the last two faults, and its opposite (KEP-5007)."""

IMEX_MACHINES = frozenset({"nvidia-gb200", "nvidia-gb300"})
"""Machines whose kernel driver knows IMEX channels, without which compute-domains exits."""
NO_IMEX = "error: device class nvidia-caps-imex-channels not found in /proc/devices"

Pair = tuple[str, str]
"""Node name and driver name."""


class Publishing:
    """All DRA drivers of all nodes of the lab."""

    def __init__(self, context: Context, logs: PodLogs, pulls: Pulls) -> None:
        self._context = context
        self._logs = logs
        self._pulls = pulls
        self._pods: dict[str, dict[Key, dict[str, Any]]] = defaultdict(dict)
        self._slices: dict[Pair, dict[str, dict[str, Any]]] = defaultdict(dict)
        self._timers: dict[Pair, tuple[str, Timer]] = {}
        self._up: set[Pair] = set()
        self._down: set[Pair] = set()
        self._kernel: set[str] = set()
        self._installing: set[str] = set()
        self.work: Work[str] = Work(context, self._reconcile)
        context.faults.offer(*FAULTS)
        context.faults.listen(lambda _fault, _on: context.loop.post(self.look))
        context.store.listen(self._changed)
        pulls.told.append(lambda _key: self.look())

    def look(self) -> None:
        """Bring every node into order."""
        for node in self._context.store.all(NODES):
            self.work.add(node["metadata"]["name"])

    def _changed(self, change: Change) -> None:
        obj = change.object
        if change.resource is NODES:
            self.work.add(obj["metadata"]["name"])
        elif change.resource is PODS:
            self._take_pod(change)
        elif change.resource is SLICES and obj["spec"]["driver"] in BY_NAME:
            node = obj["spec"].get("nodeName", "")
            known = self._slices[(node, obj["spec"]["driver"])]
            if change.gone:
                known.pop(obj["metadata"]["name"], None)
            else:
                known[obj["metadata"]["name"]] = obj
            self.work.add(node)

    def _take_pod(self, change: Change) -> None:
        pod = change.object
        node = pod["spec"].get("nodeName")
        if not node or not (is_installer(pod) or any(drivers_of(pod))):
            return
        if change.gone:
            self._pods[node].pop(key_of(pod), None)
        else:
            self._pods[node][key_of(pod)] = pod
        self.work.add(node)

    def _reconcile(self, name: str) -> None:
        if not (self._context.store.knows(PODS) and self._context.store.knows(SLICES)):
            self.work.add_after(1.0, name)
            return
        node = self._context.store.get(NODES, name)
        if node is None:
            return
        for pod in list(self._pods.get(name, {}).values()):
            self._show(node, pod)
        self._offer_plugin_gpus(node)
        running = self._running(node)
        for driver in BY_NAME.values():
            self._keep(node, driver, running.get(driver.name))

    def _running(self, node: Mapping[str, Any]) -> dict[str, Container]:
        """Return the drivers that could work on a node now, with their containers."""
        name = node["metadata"]["name"]
        pods = self._pods.get(name, {}).values()
        found: dict[str, Container] = {}
        for pod in pods:
            if not is_running(pod):
                continue
            for driver, container in drivers_of(pod):
                if driver.needs_kernel_driver and not self.has_kernel_driver(node):
                    continue
                if self._context.faults.peek("driver-crash", driver=driver.name, node=name):
                    continue
                found[driver.name] = container
        return found

    def _show(self, node: Mapping[str, Any], pod: Mapping[str, Any]) -> None:
        """Write the status that the driver's pod would have; kwok has started the others."""
        started = pod.get("status", {}).get("startTime")
        if not started or "deletionTimestamp" in pod["metadata"] or self._pulls.waits(pod):
            return
        facts = {"node": node["metadata"]["name"]}
        states: dict[str, State] = {}
        begun = self._logs.file(pod).exists()
        for driver, container in drivers_of(pod):
            if not begun:
                self._logs.write(pod, f"driver {driver.name} on node {facts['node']}, played by the lab")
            if driver.needs_kernel_driver:
                states |= plugin_states(node, pod, has_driver=self.has_kernel_driver(node))
            if self._context.faults.peek("driver-crash", driver=driver.name, **facts):
                states[container["name"]] = crashed("stopped by an ordered fault")
        if states or self._is_crashed(pod):
            write_status(self._context, pod, states)

    @staticmethod
    def _is_crashed(pod: Mapping[str, Any]) -> bool:
        return any("waiting" in each["state"] for each in pod["status"].get("containerStatuses", ()))

    def _offer_plugin_gpus(self, node: Mapping[str, Any]) -> None:
        """Let GKE's own device plugin offer the GPUs where its label does not switch it off."""
        count = accelerator_count(node)
        labels = node["metadata"].get("labels", {})
        if not labels.get("cloud.google.com/gke-gpu") or NO_DEVICE_PLUGIN in labels:
            return
        offered = node["status"].get("allocatable", {}).get("nvidia.com/gpu")
        if not is_ready(dict(node)) or offered == str(count) or not self.has_kernel_driver(node):
            return
        amount = {"nvidia.com/gpu": str(count)}
        patch = {"status": {"allocatable": amount, "capacity": amount}}
        name = node["metadata"]["name"]
        with suppress(NotFound):
            changed = self._context.api.merge_patch(NODES, name, patch, subresource="status")
            self._context.store.put(NODES, changed)

    def has_kernel_driver(self, node: Mapping[str, Any]) -> bool:
        """Return whether the NVIDIA kernel driver is loaded; once installed it stays until the node goes."""
        name = node["metadata"]["name"]
        if has_managed_kernel_driver(node) or name in self._kernel:
            return True
        pods = self._pods.get(name, {}).values()
        if name not in self._installing and any(is_installer(pod) and is_running(pod) for pod in pods):
            self._installing.add(name)
            self._context.loop.after(delays.KERNEL_DRIVER, lambda: self._installed(name))
        return False

    def _installed(self, name: str) -> None:
        self._installing.discard(name)
        self._kernel.add(name)
        self.work.add(name)

    def _keep(self, node: Mapping[str, Any], driver: Driver, container: Container | None) -> None:
        """Have one driver's slices on one node while it runs, and for 30 s after its end."""
        pair = (node["metadata"]["name"], driver.name)
        if container is None:
            self._up.discard(pair)
            if not self._slices.get(pair):
                self._forget(pair)
            elif pair in self._down:
                self._publish(pair, [])
            else:
                self._later(pair, "remove", delays.SLICE_REMOVAL)
            return
        self._down.discard(pair)
        if pair in self._up or self._slices.get(pair):
            self._forget(pair)
            self._up.add(pair)
            self._publish(pair, self._wanted(node, driver, container))
        else:
            self._later(pair, "start", delays.DRIVER_START)

    def _wanted(self, node: Mapping[str, Any], driver: Driver, container: Container) -> list[dict[str, Any]]:
        facts = {"node": node["metadata"]["name"], "driver": driver.name}
        found = driver.devices(node, container)
        missing = self._context.faults.peek("attribute-missing", **facts)
        if missing:
            found = [without(device, missing["attribute"]) for device in found]
        if any(self._context.faults.peek(kind, **facts) for kind in ("condition-never", "condition-fails")):
            found = [gated(device) for device in found]
        if self._context.faults.peek("half-generation", **facts):
            return half_way(driver.name, node, found)
        return slices(driver.name, node, found)

    def _later(self, pair: Pair, what: str, seconds: float) -> None:
        if pair in self._timers and self._timers[pair][0] == what:
            return
        self._forget(pair)
        self._timers[pair] = (
            what,
            self._context.loop.after(seconds, lambda: self._due(pair, what)),
        )

    def _forget(self, pair: Pair) -> None:
        waiting = self._timers.pop(pair, None)
        if waiting:
            waiting[1].cancel()

    def _due(self, pair: Pair, what: str) -> None:
        self._timers.pop(pair, None)
        if what == "start":
            self._up.add(pair)
        else:
            self._down.add(pair)
        self.work.add(pair[0])

    def _publish(self, pair: Pair, wanted: list[dict[str, Any]]) -> None:
        """Make the driver's slices of this node be exactly the wanted ones."""
        known = self._slices[pair]
        names = {each["metadata"]["name"] for each in wanted}
        # What goes, goes first: a deletion does not wake pods that wait, a new slice does.
        for name in [name for name in known if name not in names]:
            self._delete(known[name])
        for each in wanted:
            found = known.get(each["metadata"]["name"])
            if found is None:
                self._create(each)
            elif found["spec"] != each["spec"]:
                self._delete(found)
                self._create(each)

    def _create(self, wanted: dict[str, Any]) -> None:
        try:
            self._context.store.put(SLICES, self._context.api.create(SLICES, wanted))
        except Conflict:
            return
        text = f"slice {wanted['metadata']['name']} published, devices: {len(wanted['spec']['devices'])}"
        self._context.say(text)
        for pod in list(self._pods.get(wanted["spec"]["nodeName"], {}).values()):
            if any(driver.name == wanted["spec"]["driver"] for driver, _unused in drivers_of(pod)):
                self._logs.write(pod, text)

    def _delete(self, found: dict[str, Any]) -> None:
        with suppress(NotFound):
            self._context.api.delete(SLICES, found["metadata"]["name"])
        self._context.store.put(SLICES, found, gone=True)


def plugin_states(node: Mapping[str, Any], pod: Mapping[str, Any], *, has_driver: bool) -> dict[str, State]:
    """Return what the containers of NVIDIA's plugin do on a node.

    Without a kernel driver its init container waits for ever, no error shown; with one, the
    compute-domains container ends at once on machines without IMEX channels
    (kubernetes-sigs/dra-driver-nvidia-gpu v0.4.1, kubelet-plugin-prestart.sh and issue #1264).
    """
    spec = pod["spec"]
    if not has_driver:
        waiting = {each["name"]: WAITING for each in spec.get("containers") or ()}
        return waiting | {each["name"]: STARTING for each in spec.get("initContainers") or ()}
    accelerator = node["metadata"].get("labels", {}).get(ACCELERATOR, "")
    states = {each["name"]: RUNNING for each in spec.get("containers") or ()}
    if "compute-domains" in states and accelerator not in IMEX_MACHINES:
        states["compute-domains"] = crashed(NO_IMEX)
    return states


def without(device: Device, attribute: str) -> Device:
    kept = {name: value for name, value in device["attributes"].items() if name != attribute}
    return device | {"attributes": kept}


def gated(device: Device) -> Device:
    """Return the device with a binding condition that nobody but an ordered fault ever answers."""
    return device | {"bindingConditions": [NEVER], "bindingFailureConditions": [FAILS]}
