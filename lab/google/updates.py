# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How an update changes a cluster or node pool message. Pure: messages in, messages out.

Sources: ``ClusterUpdate`` and ``UpdateNodePoolRequest`` of container v1; which fields may change at
all follows from which of them have an update field.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from . import defaults, rules
from .errors import invalid

Json = dict[str, Any]

# desired field -> path in Cluster, where the name does not say it.
CLUSTER_PATHS: Mapping[str, tuple[str, ...]] = {
    "desiredClusterAutoscaling": ("autoscaling",),
    "desiredGatewayApiConfig": ("networkConfig", "gatewayApiConfig"),
    "desiredDnsConfig": ("networkConfig", "dnsConfig"),
    "desiredDefaultSnatStatus": ("networkConfig", "defaultSnatStatus"),
    "desiredServiceExternalIpsConfig": ("networkConfig", "serviceExternalIpsConfig"),
    "desiredPrivateIpv6GoogleAccess": ("networkConfig", "privateIpv6GoogleAccess"),
    "desiredEnableMultiNetworking": ("networkConfig", "enableMultiNetworking"),
    "desiredEnableFqdnNetworkPolicy": ("networkConfig", "enableFqdnNetworkPolicy"),
    "desiredEnableCiliumClusterwideNetworkPolicy": (
        "networkConfig",
        "enableCiliumClusterwideNetworkPolicy",
    ),
    "desiredInTransitEncryptionConfig": ("networkConfig", "inTransitEncryptionConfig"),
    "desiredNetworkPerformanceConfig": ("networkConfig", "networkPerformanceConfig"),
}
# Fields of a cluster that only its creation sets although ClusterUpdate knows them.
CREATE_ONLY = ("desiredDatapathProvider", "desiredStackType")
# Fields that only qualify another one.
QUALIFIERS = ("desiredNodePoolId", "desiredImage", "desiredImageProject", "etag")

# UpdateNodePoolRequest: which fields may travel together, and where they go in NodePool.
POOL_CONCERNS: Mapping[str, tuple[str, ...]] = {
    "nodeVersion": ("nodeVersion", "imageType", "image", "imageProject"),
    "imageType": ("nodeVersion", "imageType", "image", "imageProject"),
    "machineType": ("machineType", "diskType", "diskSizeGb", "bootDisk"),
    "diskType": ("machineType", "diskType", "diskSizeGb", "bootDisk"),
    "diskSizeGb": ("machineType", "diskType", "diskSizeGb", "bootDisk"),
    "bootDisk": ("machineType", "diskType", "diskSizeGb", "bootDisk"),
}
POOL_ADDRESS = ("name", "projectId", "zone", "clusterId", "nodePoolId", "etag")
# Changes that new nodes must be made for; the others reach running nodes.
RECREATING = frozenset(
    "nodeVersion imageType machineType diskType diskSizeGb bootDisk accelerators kubeletConfig "
    "linuxNodeConfig gcfsConfig gvnic fastSocket confidentialNodes workloadMetadataConfig "
    "loggingConfig containerdConfig nodeNetworkConfig storagePools".split()
)
# Of the pool itself, not of its node config.
POOL_LEVEL = frozenset(
    "upgradeSettings queuedProvisioning nodeDrainConfig maintenancePolicy locations".split()
)


def merge(into: Json, change: Mapping[str, Any]) -> Json:
    """Return ``into`` with the messages of ``change`` merged in; lists and scalars are replaced."""
    merged = dict(into)
    for key, value in change.items():
        old = merged.get(key)
        both = isinstance(value, dict) and isinstance(old, dict)
        merged[key] = merge(old, value) if both and old is not None else deepcopy(value)
    return merged


def cluster_concern(update: Mapping[str, Any]) -> str:
    """Return the one field an update changes; GKE takes one per request."""
    concerns = [name for name in update if name not in QUALIFIERS]
    if not concerns:
        raise invalid("Must provide an update.")
    if len(concerns) > 1:
        raise invalid(f"Only one update can be applied per request; got {', '.join(concerns)}.")
    if concerns[0] in CREATE_ONLY:
        raise invalid(f"{concerns[0]} cannot be changed after the cluster is created.")
    return concerns[0]


def updated_cluster(cluster: Json, concern: str, value: Any) -> Json:
    """Return the cluster after the change of one concern."""
    result = deepcopy(cluster)
    name = concern.removeprefix("desired")
    path = CLUSTER_PATHS.get(concern, (name[0].lower() + name[1:],))
    target = result
    for step in path[:-1]:
        target = target.setdefault(step, {})
    old = target.get(path[-1])
    if isinstance(value, dict) and isinstance(old, dict):
        target[path[-1]] = merge(old, value)
    else:
        target[path[-1]] = deepcopy(value)
    return result


def pool_concern(request: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields a node pool update changes; they must belong together."""
    fields = [name for name in request if name not in POOL_ADDRESS]
    if not fields:
        raise invalid("Must provide an update.")
    allowed = POOL_CONCERNS.get(fields[0], (fields[0],))
    for field in fields[1:]:
        if field not in allowed:
            raise invalid(
                f"Only one update can be applied per request; {fields[0]} and {field} cannot be "
                "changed together."
            )
    return tuple(fields)


def updated_pool(pool: Json, cluster: Json, request: Mapping[str, Any]) -> Json:
    """Return the node pool after an update request, checked like a new one."""
    fields = pool_concern(request)
    result = deepcopy(pool)
    for field in fields:
        _apply(result, cluster, field, request[field])
    zones = result["locations"]
    rules.node_zones(zones, cluster["location"])
    config = result["config"]
    machine = rules.machine_type(config, zones)
    rules.accelerators(config, machine, zones)
    rules.node_metadata(config)
    return result


def _apply(pool: Json, cluster: Json, field: str, value: Any) -> None:
    """Put one field of an UpdateNodePoolRequest into the pool."""
    config = pool["config"]
    if field == "nodeVersion":
        pool["version"] = rules.node_version(value, cluster["currentMasterVersion"])
    elif field == "labels":
        config["labels"] = dict(value.get("labels", {}))
    elif field == "resourceLabels":
        managed = {key: old for key, old in config["resourceLabels"].items() if "goog-" in key}
        config["resourceLabels"] = {**value.get("labels", {}), **managed}
    elif field == "taints":
        config["taints"] = deepcopy(value.get("taints", []))
    elif field == "tags":
        config["tags"] = list(value.get("tags", []))
    elif field == "accelerators":
        config["accelerators"] = _new_drivers(config, value)
    elif field in ("diskSizeGb", "diskType"):
        config[field] = int(value) if field == "diskSizeGb" else value
        boot = {"diskType": config["diskType"], "sizeGb": str(config["diskSizeGb"])}
        config["bootDisk"] = {**config.get("bootDisk", {}), **boot}
    elif field == "nodeNetworkConfig":
        pool["networkConfig"] = merge(pool.get("networkConfig", {}), value)
    elif field in POOL_LEVEL:
        old = pool.get(field, {})
        pool[field] = merge(old, value) if isinstance(value, dict) else deepcopy(value)
    else:
        old = config.get(field, {})
        both = isinstance(value, dict) and isinstance(old, dict)
        config[field] = merge(old, value) if both else deepcopy(value)


def _new_drivers(config: Json, wanted: list[Json]) -> list[Json]:
    """Return the accelerators with new driver settings; what they are cannot change."""
    if defaults.attached(config) != defaults.attached({"accelerators": wanted}):
        raise invalid("The accelerator type and count of a node pool cannot be changed.")
    return [merge(old, new) for old, new in zip(config.get("accelerators", []), wanted, strict=True)]
