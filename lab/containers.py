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
from pathlib import Path
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    PODS,
    SERVICE_ACCOUNTS,
    Kubernetes,
)

from .hardware.drivers import image_name
from .processes import Processes, Program
from .store import Change
from .work import Context, Work

IMAGE = "image-configurator"
MODULE = "ansible_collections.inference.dra.controllers.image_configurator"
PREFIX = "pod-"
TOKEN_SECONDS = 24 * 3600

Pod = Mapping[str, Any]


class Containers:
    """Keeps one process per running pod of the image configurator.

    :param processes: of the lab's state directory, so that ``dra-lab down`` ends these as well.
    """

    def __init__(self, context: Context, processes: Processes, directory: Path) -> None:
        self._context = context
        self._processes = processes
        self._directory = directory
        self._work = Work[str](context, self._reconcile)
        self._pods: dict[str, Pod] = {}
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
        elif not self._processes.alive(name):
            self._start(name, pod)

    def _start(self, name: str, pod: Pod) -> None:
        namespace = pod["metadata"]["namespace"]
        container = container_of(pod)
        assert container is not None  # noqa: S101 - only such pods are known here
        kubeconfig = self._directory / f"{name}.kubeconfig"
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_text(json.dumps(self._kubeconfig(namespace, pod["spec"]["serviceAccountName"])))
        words = [word for word in container.get("args", ["run"]) if not word.startswith("--http=")]
        argv = [sys.executable, "-m", MODULE, *words, "--kubeconfig", str(kubeconfig)]
        self._context.say(f"starting {name}")
        self._processes.start(Program(name, [*argv, "--lease-namespace", namespace]))

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
