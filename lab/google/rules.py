# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What GKE refuses in a cluster or node pool before it makes anything.

Every check raises :class:`ApiError` with Google's status; the sentences that are known from public
reports are used word for word, the others say what the API reference says. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from . import defaults, places
from .catalogue import MACHINE_TYPES, MachineType
from .errors import ApiError, invalid

Json = Mapping[str, Any]

NAME = re.compile(r"[a-z](?:[-a-z0-9]{0,38}[a-z0-9])?")
LABEL_KEY = re.compile(r"[a-z][-_a-z0-9]{0,62}")
LABEL_VALUE = re.compile(r"[-_a-z0-9]{0,63}")
NODE_LABEL = re.compile(
    r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?"
)
NODE_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?)?")
MAX_NODES_PER_POOL_ZONE = 1000


def location(name: str) -> None:
    if not places.region_of(name):
        raise invalid(f'Location "{name}" does not exist.')


def resource_name(name: str, field: str) -> None:
    if not NAME.fullmatch(name):
        raise invalid(
            f'Invalid value for field "{field}": "{name}". Must be a match of regex '
            "'(?:[a-z](?:[-a-z0-9]{0,38}[a-z0-9])?)'."
        )


def version(wanted: str, channel: str, kind: str = "Master") -> str:
    """Return the full version; ``kind`` is the word Google's refusal begins with."""
    resolved = places.resolve_version(wanted, channel)
    if not resolved:
        raise invalid(f'{kind} version "{wanted}" is unsupported.')
    return resolved


def node_version(wanted: str, master: str) -> str:
    """Return the full version of nodes, which is never ahead of the control plane's."""
    resolved = version(wanted, "", "Node") if wanted not in ("", "-", "latest") else master
    if places.order(resolved) > places.order(master):
        raise invalid(f'Node version "{resolved}" must not be newer than the master version "{master}".')
    return resolved


def resource_labels(labels: Mapping[str, str]) -> None:
    for key, value in labels.items():
        if not LABEL_KEY.fullmatch(key) or not LABEL_VALUE.fullmatch(value):
            raise invalid(
                f'Invalid resource label "{key}={value}": keys and values may contain only '
                "lowercase letters, digits, underscores and hyphens, up to 63 characters."
            )


def node_zones(zones: Iterable[str], cluster_location: str) -> None:
    region = places.region_of(cluster_location)
    for zone in zones:
        if not places.is_zone(zone):
            raise invalid(f'Location "{zone}" does not exist.')
        if places.region_of(zone) != region:
            raise invalid(f'Zone "{zone}" is not in region "{region}" of the cluster.')


def new_cluster(cluster: Json, where: str) -> None:
    """Check what a cluster asks for, its node pools excepted."""
    resource_name(cluster.get("name", ""), "cluster.name")
    resource_labels(cluster.get("resourceLabels", {}))
    node_zones(cluster.get("locations", ()), where)
    if "nodePools" in cluster and cluster.get("initialNodeCount"):
        raise invalid("Cluster.initial_node_count and cluster.node_pools cannot be both set.")
    names = [pool.get("name", "") for pool in cluster.get("nodePools", ())]
    if len(names) != len(set(names)):
        raise invalid("Node pool names must be unique within a cluster.")
    multi = cluster.get("networkConfig", {})
    if multi.get("enableMultiNetworking") and not dataplane_v2(cluster):
        raise invalid("Multi-networking requires Dataplane V2 (datapath_provider).")


def dataplane_v2(cluster: Json) -> bool:
    provider = cluster.get("networkConfig", {}).get("datapathProvider")
    return provider == "ADVANCED_DATAPATH" or bool(cluster.get("autopilot", {}).get("enabled"))


def new_pool(pool: Json, cluster: Json) -> None:
    """Check what a node pool asks for against its cluster and against what its zones have."""
    resource_name(pool.get("name", ""), "node_pool.name")
    zones = pool.get("locations") or cluster["locations"]
    node_zones(zones, cluster["location"])
    config = pool.get("config", {})
    machine = machine_type(config, zones)
    accelerators(config, machine, zones)
    provisioning(config)
    node_metadata(config)
    node_count(pool.get("initialNodeCount", 0))
    if pool.get("autoscaling"):
        autoscaling(pool["autoscaling"])
    if pool.get("networkConfig", {}).get("acceleratorNetworkProfile") and not dataplane_v2(cluster):
        raise invalid("Accelerator network profile requires a cluster with Dataplane V2.")


def machine_type(config: Json, zones: Iterable[str]) -> MachineType:
    """Return the machine type, which every zone must offer."""
    name = config.get("machineType") or defaults.MACHINE_TYPE
    machine = MACHINE_TYPES.get(name)
    for zone in zones:
        offered = places.OFFERED.get(zone, ())
        if machine is None or any(item.type not in offered for item in machine.accelerators):
            raise invalid(f'Invalid machine type "{name}" in zone "{zone}": GCE_NOT_FOUND')
    return MACHINE_TYPES[name]


def accelerators(config: Json, machine: MachineType, zones: Iterable[str]) -> None:
    wanted = defaults.attached(config)
    for item in wanted:
        for zone in zones:
            if item.type not in places.GPU_MODELS or item.type not in places.OFFERED.get(zone, ()):
                raise invalid(f'Accelerator type "{item.type}" does not exist in zone {zone}.')
        if item.count < 1:
            raise invalid("Accelerator count must be greater than zero.")
    if not wanted:
        return
    if not config.get("machineType"):
        raise invalid(
            f"Cannot use default machine type ({defaults.MACHINE_TYPE}) with GPUs; choose a "
            "different machine type."
        )
    built_in = {item.type: item.count for item in machine.accelerators}
    for item in wanted:
        attachable = machine.family == "n1" and item.type in places.ATTACHABLE
        if item.type not in built_in and not attachable:
            raise invalid(f"[{machine.name}, {item.type}] features are not compatible for creating instance.")
        if item.type in built_in and item.count != built_in[item.type]:
            raise invalid(
                f"Machine type {machine.name} comes with {built_in[item.type]} {item.type}; "
                f"requested accelerator count is {item.count}."
            )


def provisioning(config: Json) -> None:
    chosen = [name for name in ("spot", "preemptible", "flexStart") if config.get(name)]
    if len(chosen) > 1:
        raise invalid(f"{chosen[0]} and {chosen[1]} cannot be both set to true.")


def node_metadata(config: Json) -> None:
    """Check Kubernetes labels and taints and GCE labels of a node config."""
    resource_labels(config.get("resourceLabels", {}))
    node_labels(config.get("labels", {}))
    taints(config.get("taints", ()))


def node_labels(labels: Mapping[str, str]) -> None:
    for key, value in labels.items():
        if not NODE_LABEL.fullmatch(key) or not NODE_LABEL_VALUE.fullmatch(value):
            raise invalid(f'Invalid node label "{key}={value}".')


def taints(items: Iterable[Json]) -> None:
    seen: set[tuple[str, str]] = set()
    for taint in items:
        key, effect = taint.get("key", ""), taint.get("effect", "EFFECT_UNSPECIFIED")
        if not NODE_LABEL.fullmatch(key) or not NODE_LABEL_VALUE.fullmatch(taint.get("value", "")):
            raise invalid(f'Invalid node taint "{key}={taint.get("value", "")}".')
        if effect == "EFFECT_UNSPECIFIED":
            raise invalid(f'Node taint "{key}" has no effect.')
        if (key, effect) in seen:
            raise invalid(f'Node taint "{key}" with effect {effect} is given twice.')
        seen.add((key, effect))


def node_count(count: int) -> None:
    if not 0 <= count <= MAX_NODES_PER_POOL_ZONE:
        raise invalid(f"Node count {count} is invalid: must be between 0 and {MAX_NODES_PER_POOL_ZONE}.")


def autoscaling(wanted: Json, before: Json | None = None) -> None:
    """Check autoscaling limits.

    :param before: what the pool has now. gcloud sends the limits of the other kind along when it
        switches from per-zone to whole-pool limits; only a limit that is new counts as wanted.
    """
    if not wanted.get("enabled"):
        return
    before = before or {}
    zonal = {
        name: wanted[name]
        for name in ("minNodeCount", "maxNodeCount")
        if wanted.get(name) and wanted[name] != before.get(name)
    }
    total = {name: wanted[name] for name in ("totalMinNodeCount", "totalMaxNodeCount") if wanted.get(name)}
    prefix = "Node_pool_autoscaling"
    if zonal and total:
        raise invalid(f"{prefix}.max_node_count and {prefix}.total_max_node_count cannot be both set.")
    if not wanted.get("maxNodeCount") and not wanted.get("totalMaxNodeCount"):
        raise invalid(
            f"{prefix}.max_node_count and {prefix}.total_max_node_count cannot be both set to zero."
        )
    kind = ("totalMinNodeCount", "totalMaxNodeCount") if total else ("minNodeCount", "maxNodeCount")
    least, most = (wanted.get(name, 0) for name in kind)
    if least < 0 or least > most:
        words = ("total_" if total else "") + "m{}_node_count"
        raise invalid(
            f"{prefix}.{words.format('in')} ({least}) must not be greater than "
            f"{prefix}.{words.format('ax')} ({most})."
        )


def fresh(etag: str, current: str, resource: str) -> None:
    """Refuse a change that was made from an older state of the resource."""
    if etag and etag != current:
        raise ApiError(
            "ABORTED", f"Etag mismatch for {resource}: the resource was changed since it was read."
        )
