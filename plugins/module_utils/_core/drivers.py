# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which DaemonSet runs the driver of a device class, and why it publishes nothing for a node.

Nothing in the API leads from a driver's name to its DaemonSet. Either somebody names it, or class and
DaemonSet came with one Helm release, which both then carry in their annotations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .claims import DeviceClass
from .driver_chain import BrokenLink, Publisher
from .nodes import Node
from .objects import Metadata
from .pods import Pod
from .workloads import Name

_RELEASE = ("meta.helm.sh/release-namespace", "meta.helm.sh/release-name")
_PLUGINS = "/var/lib/kubelet/plugins"
"""Below this the kubelet meets its plugins: a DaemonSet of a driver mounts it from the host."""


@dataclass(frozen=True)
class Drivers:
    """The DaemonSets of a cluster.

    :param named: the DaemonSet of a driver, by the driver's name, as far as somebody said so.
    """

    publishers: Mapping[Name, Publisher]
    named: Mapping[str, Name] = field(default_factory=dict)

    @classmethod
    def of(
        cls, objects: Iterable[Any], pods: Iterable[Pod], named: Mapping[str, Name] | None = None
    ) -> Drivers:
        """Return the drivers of ``apps/v1`` DaemonSet mappings and the cluster's pods.

        :raises MalformedObjects: where a field has a type the API never gives it.
        """
        own: dict[str, list[Pod]] = {}
        for pod in pods:
            own.setdefault(pod.meta.owner[2], []).append(pod)
        found = [Publisher.of(each, own.get(each["metadata"].get("uid", ""), ())) for each in objects]
        return cls(
            {(each.daemon_set.meta.namespace, each.daemon_set.meta.name): each for each in found},
            named or {},
        )

    def broken_link(
        self, device_class: DeviceClass, drivers: Collection[str], node: Node
    ) -> BrokenLink | None:
        """Return why no driver of the class is ready on the node; None where one is, or nobody knows."""
        names = [self.named[each] for each in sorted(drivers) if each in self.named]
        absent = [each for each in names if each not in self.publishers]
        if absent:
            return BrokenLink(
                "DriverMissing", f"DaemonSet {'/'.join(absent[0])} does not exist", "install the driver"
            )
        found = [self.publishers[each] for each in names] or self._of_release(device_class)
        # Pods of other namespaces may not be read, or not be in the dump.
        found = [each for each in found if each.pods or not each.daemon_set.current]
        links = [each.broken_link(node) for each in found]
        return None if None in links else next(iter(links), None)

    def _of_release(self, device_class: DeviceClass) -> list[Publisher]:
        """Return the DaemonSets that came with the class; of several those that are the kubelet's plugins."""
        release = _release(device_class.meta)
        if release is None:
            return []
        found = [each for each in self.publishers.values() if _release(each.daemon_set.meta) == release]
        return [each for each in found if _is_plugin(each)] or found


def _release(meta: Metadata) -> tuple[str, ...] | None:
    values = tuple(meta.annotations.get(each, "") for each in _RELEASE)
    return values if all(values) else None


def _is_plugin(publisher: Publisher) -> bool:
    volumes = publisher.template.spec.get("volumes") or ()
    paths = [str((each.get("hostPath") or {}).get("path") or "") for each in volumes]
    return any(each.startswith(_PLUGINS) for each in paths)
