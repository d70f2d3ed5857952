# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``kubectl logs`` shows of pods whose containers are not run: what the lab did in their place."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    PODS,
    NotFound,
    Resource,
)

from .store import Change
from .work import Context

LOGS = Resource("kwok.x-k8s.io", "v1alpha1", "logs", "Logs")
CLUSTER_LOGS = Resource("kwok.x-k8s.io", "v1alpha1", "clusterlogs", "ClusterLogs", namespaced=False)
MANAGER = "inference.dra-lab"
SILENT = (
    "This container is not run: the lab shows its pod as Running and does nothing else for it. Logs have "
    "the model servers, the DRA drivers and the image configurator (docs/lab.md)."
)

Pod = Mapping[str, Any]


class PodLogs:
    """One file per pod, in the format of the container runtime interface, which kwok reads.

    :param directory: where the files lie.
    """

    def __init__(self, context: Context, directory: Path) -> None:
        self._context = context
        self._directory = directory
        context.store.listen(self._changed)

    def install(self) -> None:
        """Have one sentence shown for every pod that has no log of its own."""
        file = self._directory / "silent.log"
        if not file.exists():
            self._append(file, SILENT)
        spec = {"selector": {}, "logs": [{"logsFile": str(file)}]}
        body = {"metadata": {"name": "silent"}, "spec": spec}
        self._context.kube.apply(CLUSTER_LOGS, body, field_manager=MANAGER, force=True)

    def write(self, pod: Pod, *lines: str) -> None:
        """Add lines to the log of a pod."""
        file = self.file(pod)
        if not file.exists():
            self.show(pod, file)
        self._append(file, *lines)

    def show(self, pod: Pod, file: Path) -> None:
        """Have a file shown as the log of a pod; of a container that ended it is the earlier log as well."""
        meta = pod["metadata"]
        log = {"logsFile": str(file), "previousLogsFile": str(file), "follow": True}
        body = {"metadata": {"name": meta["name"]}, "spec": {"logs": [log]}}
        self._context.api.apply(LOGS, body, meta["namespace"], MANAGER, force=True)

    def file(self, pod: Pod) -> Path:
        meta = pod["metadata"]
        return self._directory / f"{meta['namespace']}_{meta['name']}_{meta['uid']}.log"

    def _append(self, file: Path, *lines: str) -> None:
        now = self._context.loop.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        self._directory.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as opened:
            opened.writelines(f"{now} stdout F {line}\n" for line in lines)

    def _changed(self, change: Change) -> None:
        if change.resource is PODS and change.gone and self.file(change.object).exists():
            self.file(change.object).unlink()
            self.forget(change.object)

    def forget(self, pod: Pod) -> None:
        """Take back what ``show`` did."""
        meta = pod["metadata"]
        with suppress(NotFound):
            self._context.api.delete(LOGS, meta["name"], meta["namespace"])
