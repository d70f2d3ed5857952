# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays the containers of vLLM pods: start, load, serve, or die; port-forward and logs reach them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core import quantity
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    NODES,
    PODS,
    NotFound,
    Resource,
)

from ..hardware.drivers import accelerator_count
from ..hardware.machines import ACCELERATOR
from ..hardware.pod_status import RUNNING, STARTING, State, back_off, crashed, restarts_of
from ..hardware.status_writer import write_status
from ..pod_logs import PodLogs
from ..pulls import Pulls
from ..store import Change, Key, key_of
from ..work import Context, Work
from .engine import Engine
from .openai_api import Server
from .ports import Ports
from .startup import Hardware, Plan, is_model_server, lines, plan, settings_of

PORT_FORWARDS = Resource("kwok.x-k8s.io", "v1alpha1", "portforwards", "PortForward")
MANAGER = "inference.dra-lab"


@dataclass
class Playing:
    """One pod's model server, or its corpse."""

    container: str
    plan: Plan
    server: Server | None
    port: int
    probed: bool
    restarts: int = 0


class ModelServers:
    """All vLLM pods of the lab."""

    def __init__(self, context: Context, logs: PodLogs, pulls: Pulls) -> None:
        self._context = context
        self._logs = logs
        self._pulls = pulls
        self._ports = Ports()
        self._playing: dict[str, Playing] = {}
        self.work: Work[Key] = Work(context, self._reconcile)
        context.store.listen(self._changed)
        pulls.told.append(self.work.add)

    def stop(self) -> None:
        self._ports.stop()

    def _changed(self, change: Change) -> None:
        if change.resource is not PODS or not any(map(is_model_server, containers(change.object))):
            return
        if change.gone:
            self._end(change.object)
        else:
            self.work.add(key_of(change.object))

    def _reconcile(self, key: Key) -> None:
        namespace, name = key
        pod = self._context.store.get(PODS, name, namespace)
        if pod is None or "deletionTimestamp" in pod["metadata"]:
            return
        if not any(map(is_model_server, containers(pod))):
            return  # pulls are told about every pod
        if not pod.get("status", {}).get("startTime"):
            return  # kwok has not prepared it yet
        if self._pulls.waits(pod):
            return
        uid = pod["metadata"]["uid"]
        playing = self._playing.get(uid)
        if playing is None:
            playing = self._begin(pod)
            if playing is None:
                self.work.add_after(1.0, key)
                return
            self._playing[uid] = playing
        self._show(pod, playing)

    def _begin(self, pod: Mapping[str, Any]) -> Playing | None:
        """Start the container; None while what it got is not known yet."""
        node = self._context.store.get(NODES, pod["spec"]["nodeName"])
        claims = [self._claim(pod, name) for name in claim_names(pod)]
        if node is None or None in claims:
            return None
        container = next(filter(is_model_server, containers(pod)))
        found = plan(settings_of(container), hardware_of(pod, node, [each for each in claims if each]))
        self._logs.write(pod, *lines(found))
        if found.dies_with:
            self._context.say(f"pod {pod['metadata']['name']} dies: {found.dies_with}")
            dead = Playing(container["name"], found, None, 0, probed=False, restarts=restarts_of(pod))
            self._start_again_later(pod, dead)
            return dead
        return self._serve(pod, container, found)

    def _start_again_later(self, pod: Mapping[str, Any], dead: Playing) -> None:
        """Have a container that ended started again after its back-off; it will end again."""
        uid, key = pod["metadata"]["uid"], key_of(dict(pod))

        def again() -> None:
            if self._playing.get(uid) is dead:
                dead.restarts += 1
                self._logs.write(pod, *lines(dead.plan))
                self.work.add(key)
                self._start_again_later(pod, dead)

        self._context.loop.after(back_off(dead.restarts + 1), again)

    def _serve(self, pod: Mapping[str, Any], container: Mapping[str, Any], found: Plan) -> Playing:
        meta, key = pod["metadata"], key_of(dict(pod))
        clock = self._context.loop.clock
        server = Server(Engine(found, clock), lambda line: self._logs.write(pod, line))
        port = self._ports.open(server.serve)
        forward = forward_object(meta, port)
        self._context.api.apply(PORT_FORWARDS, forward, meta["namespace"], MANAGER, force=True)
        # A lab that was restarted finds servers that had loaded long ago.
        seconds = 0.0 if was_ready(pod) else found.profile.load_seconds(found.model)
        self._context.loop.after(seconds, lambda: self._loaded(server, key))
        probed = "readinessProbe" in container or "startupProbe" in container
        return Playing(container["name"], found, server, port, probed)

    def _loaded(self, server: Server, key: Key) -> None:
        server.ready = True
        self.work.add(key)

    def _show(self, pod: Mapping[str, Any], playing: Playing) -> None:
        """Write the pod's status: ready with its model where a probe asks, at once where none does."""
        state: State
        if playing.server is None:
            state = crashed(playing.plan.dies_with, playing.restarts)
        else:
            state = RUNNING if playing.server.ready or not playing.probed else STARTING
        write_status(self._context, pod, {playing.container: state})

    def _end(self, pod: Mapping[str, Any]) -> None:
        meta = pod["metadata"]
        playing = self._playing.pop(meta["uid"], None)
        if playing is None:
            return
        if playing.port:
            self._ports.close(playing.port)
            with suppress(NotFound):
                self._context.api.delete(PORT_FORWARDS, meta["name"], meta["namespace"])

    def _claim(self, pod: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
        return self._context.store.get(CLAIMS, name, pod["metadata"]["namespace"])

    def view(self) -> list[dict[str, Any]]:
        """Return the servers there are, for ``dra-lab status``."""
        return [
            {
                "model": each.plan.settings.name,
                "hardware": each.plan.profile.name,
                "port": each.port,
                "ready": bool(each.server and each.server.ready),
                "dies_with": each.plan.dies_with,
            }
            for each in self._playing.values()
        ]


def containers(pod: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list(pod.get("spec", {}).get("containers") or ())


def was_ready(pod: Mapping[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def claim_names(pod: Mapping[str, Any]) -> list[str]:
    """Return the names of a pod's claims, generated or named; an entry without a name needs none."""
    generated = {
        each["name"]: each.get("resourceClaimName", "")
        for each in pod.get("status", {}).get("resourceClaimStatuses") or ()
    }
    found = [
        each.get("resourceClaimName") or generated.get(each["name"], "")
        for each in pod["spec"].get("resourceClaims") or ()
    ]
    extended = pod.get("status", {}).get("extendedResourceClaimStatus", {})
    return [name for name in [*found, extended.get("resourceClaimName", "")] if name]


def hardware_of(
    pod: Mapping[str, Any], node: Mapping[str, Any], claims: Iterable[Mapping[str, Any]]
) -> Hardware:
    """Return what a pod got: by its claims, by the device plugin, else the CPUs of its node."""
    gpus, cpus = 0, 0
    for claim in claims:
        for result in claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ()):
            if result["driver"] == "gpu.nvidia.com":
                gpus += 1
            elif result["driver"] == "dra.cpu":
                consumed = result.get("consumedCapacity", {}).get("dra.cpu/cpu", "1")
                cpus += quantity.parse(consumed).whole
    if not gpus and not any(claim_names(pod)):
        gpus = plugin_gpus(pod)
    accelerator = node["metadata"].get("labels", {}).get(ACCELERATOR, "")
    whole = int(node["status"].get("capacity", {}).get("cpu", "1").removesuffix("m") or 1)
    return Hardware(accelerator, min(gpus, accelerator_count(node) or gpus), cpus or whole)


def plugin_gpus(pod: Mapping[str, Any]) -> int:
    """Return how many GPUs a pod asked of the device plugin."""
    return sum(
        int((each.get("resources", {}).get("limits") or {}).get("nvidia.com/gpu", 0))
        for each in containers(pod)
    )


def forward_object(meta: Mapping[str, Any], port: int) -> dict[str, Any]:
    """Return the kwok object that sends every port-forward of a pod to a port of this machine."""
    target = {"target": {"address": "127.0.0.1", "port": port}}
    return {"metadata": {"name": meta["name"]}, "spec": {"forwards": [target]}}
