# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one kind of container that really runs in a lab: the image configurator.

A pod of its Deployment that kwok shows Running gets a process of this machine, under a token of the
pod's own ServiceAccount. So it has exactly the rights that were installed, and a missing verb shows.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    PODS,
    SERVICE_ACCOUNTS,
    Kubernetes,
)

from .hardware.drivers import image_name
from .hardware.pod_status import RUNNING, State, back_off, crashed, restarts_of
from .hardware.status_writer import write_status
from .pod_logs import PodLogs
from .processes import Processes, Program, when_ended
from .store import Change
from .work import Context, Work

IMAGE = "image-configurator"
MODULE = "ansible_collections.inference.dra.controllers.image_configurator"
RUNNER = "ansible_collections.inference.dra.lab.container_main"
PREFIX = "pod-"
TOKEN_SECONDS = 24 * 3600

Pod = Mapping[str, Any]


class Containers:
    """Keeps one process per running pod of the image configurator.

    :param processes: of the lab's state directory, so that ``dra-lab down`` ends these as well.
    """

    def __init__(self, context: Context, processes: Processes, directory: Path, logs: PodLogs) -> None:
        self._context = context
        self._logs = logs
        self._processes = processes
        self._directory = directory
        self._work = Work[str](context, self._reconcile)
        self._pods: dict[str, Pod] = {}
        self._watched: set[int] = set()
        self._backing_off: set[str] = set()
        for left in processes.names():
            if left.startswith(PREFIX):
                self._work.add(left)
        context.store.listen(self._hear)

    def _hear(self, change: Change) -> None:
        if change.resource != PODS or container_of(change.object) is None:
            return
        name = process_name(change.object)
        if change.gone:
            self._pods.pop(name, None)
            self._logs.forget(change.object)
        else:
            self._pods[name] = change.object
        self._work.add(name)

    def _reconcile(self, name: str) -> None:
        if not self._context.store.knows(PODS):
            self._work.add_after(1.0, name)
            return
        pod = self._pods.get(name)
        if pod is None or not is_running(pod):
            if self._processes.alive(name):
                self._context.say(f"ending {name}")
            self._processes.stop([name])
            return
        if not self._processes.alive(name) and name not in self._backing_off:
            self._start(name, pod)
        self._watch(name)

    def _watch(self, name: str) -> None:
        """Hear of the process's end, once."""
        pid = self._processes.pid(name)
        if pid and pid not in self._watched:
            self._watched.add(pid)
            when_ended(pid, lambda: self._context.loop.post(lambda: self._ended(name, pid)))

    def _ended(self, name: str, pid: int) -> None:
        """Start a container that ended again after its back-off, as a kubelet does."""
        self._watched.discard(pid)
        pod = self._pods.get(name)
        if pod is None or not is_running(pod) or self._processes.alive(name):
            return
        restarts = restarts_of(pod) + 1
        self._context.say(f"{name} has ended")
        self._backing_off.add(name)
        self._show(pod, crashed("the process has ended", restarts))
        self._context.loop.after(back_off(restarts), lambda: self._start_again(name, restarts))

    def _start_again(self, name: str, restarts: int) -> None:
        self._backing_off.discard(name)
        pod = self._pods.get(name)
        if pod is not None and is_running(pod):
            self._show(pod, replace(RUNNING, restarts=restarts))
            self._work.add(name)

    def _show(self, pod: Pod, state: State) -> None:
        container = container_of(pod)
        if container:
            write_status(self._context, pod, {container["name"]: state})

    def _start(self, name: str, pod: Pod) -> None:
        namespace = pod["metadata"]["namespace"]
        container = container_of(pod)
        assert container is not None  # noqa: S101 - only such pods are known here
        kubeconfig = self._directory / f"{name}.kubeconfig"
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_text(json.dumps(self._kubeconfig(namespace, pod["spec"]["serviceAccountName"])))
        words = [word for word in container.get("args", ["run"]) if not word.startswith("--http=")]
        argv = [sys.executable, "-m", RUNNER, MODULE, *words, "--kubeconfig", str(kubeconfig)]
        self._context.say(f"starting {name}")
        self._processes.start(Program(name, [*argv, "--lease-namespace", namespace]))
        self._logs.show(pod, self._processes.log(name))

    def _kubeconfig(self, namespace: str, account: str) -> dict[str, Any]:
        """Return a kubeconfig with a token of the account, as kubelet would mount one."""
        path = SERVICE_ACCOUNTS.path(namespace, account, "token")
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS},
        }
        token = self._context.api.request("POST", path, body)["status"]["token"]
        return kubeconfig_of(self._context.kube, namespace, account, token)


def kubeconfig_of(kube: Kubernetes, namespace: str, account: str, token: str) -> dict[str, Any]:
    connection = kube.connection
    cluster = {"server": connection.host}
    if connection.ca_data:
        cluster["certificate-authority-data"] = base64.b64encode(connection.ca_data.encode()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab",
        "clusters": [{"name": "lab", "cluster": cluster}],
        "users": [{"name": account, "user": {"token": token}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": account, "namespace": namespace}}],
    }


def container_of(pod: Pod) -> Mapping[str, Any] | None:
    """Return the pod's image configurator, ``None`` where it has none."""
    containers: Sequence[Mapping[str, Any]] = pod.get("spec", {}).get("containers", ())
    return next((each for each in containers if image_name(each) == IMAGE), None)


def is_running(pod: Pod) -> bool:
    deleted = "deletionTimestamp" in pod["metadata"]
    return not deleted and pod.get("status", {}).get("phase") == "Running"


def process_name(pod: Pod) -> str:
    return f"{PREFIX}{pod['metadata']['namespace']}-{pod['metadata']['name']}"
