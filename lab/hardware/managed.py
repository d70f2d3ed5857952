# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What GKE installs in a cluster by itself: the managed DRANET driver and its device classes.

Source: GKE documentation on managed DRANET: with Dataplane V2, from 1.34.1-gke.1829001, DaemonSet
``networking-dra-driver`` in ``gke-managed-networking-dra-driver``, classes ``mrdma.google.com`` and
``netdev.google.com``. The classes' selectors are not public; these are the lab's, guarded with ``has``.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    DAEMON_SETS,
    DEVICE_CLASSES,
    NAMESPACES,
)

from ..google.cloud import Cloud
from ..work import Context, Work

NAMESPACE = "gke-managed-networking-dra-driver"
NAME = "networking-dra-driver"
NODE_LABEL = "cloud.google.com/gke-networking-dra-driver"
MANAGER = "inference.dra-lab"
RDMA = "has(device.attributes['dra.net'].rdma) && device.attributes['dra.net'].rdma"


class Managed:
    """Installs GKE's own parts once a cluster asks for them."""

    def __init__(self, context: Context, cloud: Cloud) -> None:
        self._context = context
        self._cloud = cloud
        self._installed = False
        self.work: Work[str] = Work(context, lambda _key: self._reconcile())
        cloud.listeners.append(lambda _change: context.loop.post(lambda: self.work.add("dranet")))

    def _reconcile(self) -> None:
        wanted = self._wanted()
        if self._installed or not wanted:
            self._installed = wanted  # what the last cluster had is gone with it
            return
        api = self._context.api
        api.apply(NAMESPACES, {"metadata": {"name": NAMESPACE}}, field_manager=MANAGER, force=True)
        for name, expression in (("mrdma.google.com", RDMA), ("netdev.google.com", f"!({RDMA})")):
            api.apply(DEVICE_CLASSES, device_class(name, expression), field_manager=MANAGER, force=True)
        api.apply(DAEMON_SETS, daemon_set(), NAMESPACE, MANAGER, force=True)
        self._installed = True
        self._context.say("managed DRANET installed")

    def _wanted(self) -> bool:
        """Return whether any cluster has Dataplane V2."""
        with self._cloud.lock:
            return any(
                cluster.message.get("networkConfig", {}).get("datapathProvider") == "ADVANCED_DATAPATH"
                for cluster in self._cloud.state.clusters.values()
            )


def device_class(name: str, expression: str) -> dict[str, Any]:
    selectors = [f"device.driver == 'dra.net' && ({expression})"]
    return {
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": each}} for each in selectors]},
    }


def daemon_set() -> dict[str, Any]:
    labels = {"k8s-app": NAME}
    return {
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeSelector": {NODE_LABEL: "true"},
                    "tolerations": [{"operator": "Exists"}],
                    "hostNetwork": True,
                    "containers": [{"name": NAME, "image": f"gke.gcr.io/{NAME}:managed"}],
                },
            },
        },
    }
