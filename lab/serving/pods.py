# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays the containers of vLLM pods: start, load, serve, or die; port-forward and logs reach them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
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
from ..hardware.pod_status import RUNNING, STARTING, State, crashed, status
from ..store import Change, Key, key_of
from ..work import Context, Work
from .engine import Engine
from .openai_api import Server
from .ports import Ports
from .startup import Hardware, Plan, is_model_server, lines, plan, settings_of

PORT_FORWARDS = Resource("kwok.x-k8s.io", "v1alpha1", "portforwards", "PortForward")
LOGS = Resource("kwok.x-k8s.io", "v1alpha1", "logs", "Logs")
MANAGER = "inference.dra-lab"


@dataclass
class Playing:
    """One pod's model server, or its corpse."""

    container: str
    plan: Plan
    server: Server | None
    port: int
    log: Path
    probed: bool


class ModelServers:
    """All vLLM pods of the lab.

    :param directory: where the pods' logs lie, one file each.
    """

    def __init__(self, context: Context, directory: Path) -> None:
        self._context = context
        self._directory = directory
        self._ports = Ports()
        self._playing: dict[str, Playing] = {}
        self.work: Work[Key] = Work(context, self._reconcile)
        context.store.listen(self._changed)

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
        if not pod.get("status", {}).get("startTime"):
            return  # kwok has not prepared it yet
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
        meta = pod["metadata"]
        log = self._directory / f"{meta['namespace']}_{meta['name']}_{meta['uid']}.log"
        self._write(log, lines(found))
        self._context.api.apply(LOGS, logs_object(meta, log), meta["namespace"], MANAGER, force=True)
        if found.dies_with:
            self._context.say(f"pod {meta['name']} dies: {found.dies_with}")
            return Playing(container["name"], found, None, 0, log, probed=False)
        return self._serve(pod, container, found, log)

    def _serve(self, pod: Mapping[str, Any], container: Mapping[str, Any], found: Plan, log: Path) -> Playing:
        meta, key = pod["metadata"], key_of(dict(pod))
        server = Server(Engine(found, self._context.loop.clock), lambda line: self._write(log, [line]))
        port = self._ports.open(server.serve)
        forward = forward_object(meta, port)
        self._context.api.apply(PORT_FORWARDS, forward, meta["namespace"], MANAGER, force=True)
        # A lab that was restarted finds servers that had loaded long ago.
        seconds = 0.0 if was_ready(pod) else found.profile.load_seconds(found.model)
        self._context.loop.after(seconds, lambda: self._loaded(server, key))
        probed = "readinessProbe" in container or "startupProbe" in container
        return Playing(container["name"], found, server, port, log, probed)

    def _loaded(self, server: Server, key: Key) -> None:
        server.ready = True
        self.work.add(key)

    def _show(self, pod: Mapping[str, Any], playing: Playing) -> None:
        """Write the pod's status: ready with its model where a probe asks, at once where none does."""
        state: State
        if playing.server is None:
            state = crashed(playing.plan.dies_with)
        else:
            state = RUNNING if playing.server.ready or not playing.probed else STARTING
        now = self._context.loop.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        patch = status(pod, {playing.container: state}, now)
        if patch:
            meta = pod["metadata"]
            with suppress(NotFound):
                changed = self._context.api.merge_patch(
                    PODS, meta["name"], {"status": patch}, meta["namespace"], subresource="status"
                )
                self._context.store.put(PODS, changed)

    def _end(self, pod: Mapping[str, Any]) -> None:
        meta = pod["metadata"]
        playing = self._playing.pop(meta["uid"], None)
        if playing is None:
            return
        if playing.port:
            self._ports.close(playing.port)
        playing.log.unlink(missing_ok=True)
        for resource in (PORT_FORWARDS, LOGS):
            with suppress(NotFound):
                self._context.api.delete(resource, meta["name"], meta["namespace"])

    def _claim(self, pod: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
        return self._context.store.get(CLAIMS, name, pod["metadata"]["namespace"])

    def _write(self, log: Path, texts: Iterable[str]) -> None:
        """Append lines in the format of the container runtime interface, which kwok reads."""
        now = self._context.loop.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        self._directory.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8") as file:
            file.writelines(f"{now} stdout F {text}\n" for text in texts)

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


def logs_object(meta: Mapping[str, Any], log: Path) -> dict[str, Any]:
    return {
        "metadata": {"name": meta["name"]},
        "spec": {"logs": [{"logsFile": str(log), "follow": True}]},
    }
