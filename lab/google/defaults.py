# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What GKE adds to a cluster or node pool that a request leaves open.

From the recorded answers in k8s-config-connector's mockgcp and Terraform's computed fields. Pure:
messages in, messages out.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from . import places
from .catalogue import MACHINE_TYPES, Accelerator, MachineType

Json = dict[str, Any]

MACHINE_TYPE = "e2-medium"
SCOPES = tuple(
    f"https://www.googleapis.com/auth/{scope}"
    for scope in (
        "devstorage.read_only",
        "logging.write",
        "monitoring",
        "service.management.readonly",
        "servicecontrol",
        "trace.append",
    )
)
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
TPU_TAINT = {"key": "google.com/tpu", "value": "present", "effect": "NO_SCHEDULE"}
PROVISIONING_LABEL = "goog-gke-node-pool-provisioning-model"
# Families whose boot disks can only be Hyperdisk, by GKE's own autoscaler (defaultDiskType).
HYPERDISK_FAMILIES = ("a4", "a4x", "c4", "c4a", "n4", "ct6e", "tpu7x")
# How many extra networks the automatic profile adds, by the NIC groups of GKE's own autoscaler
# (machinetypes/dranet.go).
PROFILE_NETWORKS: Mapping[str, int] = {
    "a3-highgpu-8g": 4,
    "a3-megagpu-8g": 8,
    "a3-ultragpu-8g": 9,
    "a4-highgpu-8g": 9,
    "a4x-highgpu-4g": 5,
    "a4x-maxgpu-4g-metal": 9,
    "ct6e-standard-1t": 1,
    "ct6e-standard-4t": 2,
    "ct6e-standard-8t": 4,
}


def fill(given: Json, defaults: Json, depth: int = 2) -> Json:
    """Return ``given`` with what it lacks; messages are looked into ``depth`` levels deep."""
    filled = dict(given)
    for key, value in defaults.items():
        if key not in filled:
            filled[key] = deepcopy(value)
        elif depth > 1 and isinstance(value, dict) and isinstance(filled[key], dict):
            filled[key] = fill(filled[key], value, depth - 1)
    return filled


def machine_of(config: Mapping[str, Any]) -> MachineType:
    return MACHINE_TYPES[config.get("machineType") or MACHINE_TYPE]


def attached(config: Mapping[str, Any]) -> tuple[Accelerator, ...]:
    """Return the accelerators a node config names."""
    return tuple(
        Accelerator(item.get("acceleratorType", ""), int(item.get("acceleratorCount", 0)))
        for item in config.get("accelerators", ())
    )


def is_spot(config: Mapping[str, Any]) -> bool:
    return bool(config.get("spot") or config.get("preemptible"))


def disk_type(machine: MachineType) -> str:
    hyperdisk = machine.family in HYPERDISK_FAMILIES or machine.name == "a3-ultragpu-8g"
    return "hyperdisk-balanced" if hyperdisk else "pd-balanced"


def node_config(given: Json, *, workload_pool: str = "") -> Json:
    """Return the node configuration as the server reports it."""
    machine = machine_of(given)
    disk = given.get("diskType") or disk_type(machine)
    size = given.get("diskSizeGb") or 100
    config = fill(
        given,
        {
            "machineType": MACHINE_TYPE,
            "diskSizeGb": size,
            "diskType": disk,
            "bootDisk": {"diskType": disk, "sizeGb": str(size)},
            "imageType": "COS_CONTAINERD",
            "serviceAccount": "default",
            "oauthScopes": list(SCOPES),
            "metadata": {"disable-legacy-endpoints": "true"},
            "shieldedInstanceConfig": {"enableIntegrityMonitoring": True},
            "effectiveCgroupMode": "EFFECTIVE_CGROUP_MODE_V2",
            "kubeletConfig": {"maxParallelImagePulls": 2},
            "loggingConfig": {"variantConfig": {"variant": "DEFAULT"}},
            "windowsNodeConfig": {},
        },
        depth=1,
    )
    if workload_pool:
        config.setdefault("workloadMetadataConfig", {"mode": "GKE_METADATA"})
    model = "spot" if config.get("spot") else "on-demand"
    config["resourceLabels"] = {**config.get("resourceLabels", {}), PROVISIONING_LABEL: model}
    gpus = accelerators(config, machine)
    if gpus:
        config["accelerators"] = gpus
    config["taints"] = managed_taints(config, machine)
    return {key: value for key, value in config.items() if value != [] or key != "taints"}


def accelerators(config: Json, machine: MachineType) -> list[Json]:
    """Return the GPUs of a node, with the driver GKE installs unless told not to (>= 1.30)."""
    items: list[Json] = deepcopy(config.get("accelerators", []))
    if not items and not machine.is_tpu:
        items = [
            {"acceleratorType": gpu.type, "acceleratorCount": str(gpu.count)} for gpu in machine.accelerators
        ]
    for item in items:
        item["acceleratorCount"] = str(item.get("acceleratorCount", 0))
        item.setdefault("gpuDriverInstallationConfig", {"gpuDriverVersion": "DEFAULT"})
    return items


def managed_taints(config: Json, machine: MachineType) -> list[Json]:
    """Return the wanted taints and the one that GKE puts on accelerator nodes."""
    taints: list[Json] = deepcopy(config.get("taints", []))
    managed = TPU_TAINT if machine.is_tpu else GPU_TAINT if config.get("accelerators") else None
    if managed and managed["key"] not in {taint.get("key") for taint in taints}:
        taints.append(dict(managed))
    return taints


def node_pool(given: Json, cluster: Mapping[str, Any], *, self_link: str, token: str) -> Json:
    """Return a new node pool as the server reports it.

    :param cluster: the message of its cluster.
    :param token: hexadecimal characters that make names of instance groups unique.
    """
    workload_pool = cluster.get("workloadIdentityConfig", {}).get("workloadPool", "")
    zones = given.get("locations") or list(cluster["locations"])
    project = self_link.partition("/projects/")[2].partition("/")[0]
    group = f"gke-{cluster['name']}-{given['name']}-{token[:8]}-grp"
    compute = "https://www.googleapis.com/compute/v1"
    pool = fill(
        given,
        {
            "config": {},
            "locations": zones,
            "version": cluster["currentMasterVersion"],
            "management": {"autoRepair": True, "autoUpgrade": True},
            "maxPodsConstraint": {"maxPodsPerNode": "110"},
            "podIpv4CidrSize": 24,
            "autoscaling": {},
            "upgradeSettings": {},
            "networkConfig": {},
        },
        depth=1,
    )
    # `-` and prefixes are resolved like a cluster's.
    pool["version"] = places.resolve_version(pool["version"]) or pool["version"]
    pool["config"] = node_config(pool["config"], workload_pool=workload_pool)
    pool["upgradeSettings"] = fill(pool["upgradeSettings"], {"strategy": "SURGE"})
    if not given.get("upgradeSettings"):
        pool["upgradeSettings"]["maxSurge"] = 1
    pool["autoscaling"] = autoscaling(pool["autoscaling"], spot=is_spot(pool["config"]))
    pool["networkConfig"] = network(pool, cluster, project, token)
    pool["selfLink"] = self_link
    pool["instanceGroupUrls"] = [
        f"{compute}/projects/{project}/zones/{zone}/instanceGroupManagers/{group}" for zone in zones
    ]
    return pool


def autoscaling(given: Json, *, spot: bool) -> Json:
    """Return the autoscaling of a pool; a policy is named only where it is on."""
    if not given.get("enabled"):
        return {}
    policy = given.get("locationPolicy")
    if policy in (None, "", "LOCATION_POLICY_UNSPECIFIED"):
        policy = "ANY" if spot else "BALANCED"
    return {**given, "locationPolicy": policy}


def network(pool: Mapping[str, Any], cluster: Mapping[str, Any], project: str, token: str) -> Json:
    """Return the network settings of a pool, with what the automatic profile adds to them."""
    name = cluster["name"]
    settings = fill(
        pool["networkConfig"],
        {
            "podRange": f"gke-{name}-pods-{cluster['id'][:8]}",
            "podIpv4CidrBlock": cluster["clusterIpv4Cidr"],
            "subnetwork": f"projects/{project}/regions/{places.region_of(cluster['location'])}/"
            f"subnetworks/{cluster['subnetwork']}",
        },
        depth=1,
    )
    if settings.get("acceleratorNetworkProfile"):
        count = PROFILE_NETWORKS.get(pool["config"]["machineType"], 0)
        names = [f"gke-{name}-{token[:8]}-net-{index}" for index in range(1, count + 1)]
        settings.setdefault(
            "additionalNodeNetworkConfigs",
            [{"network": item, "subnetwork": f"{item}-sub"} for item in names],
        )
    return settings


def cluster(given: Json, *, project: str, location: str, version: str, dns_endpoint: str) -> Json:
    """Return a new cluster as the server reports it, without pools, endpoint and identity."""
    region = places.region_of(location)
    channel = given.get("releaseChannel") or {"channel": places.DEFAULT_CHANNEL}
    network_name, subnetwork = given.get("network", "default"), given.get("subnetwork", "default")
    filled = fill(
        {key: value for key, value in given.items() if key != "nodePools"},
        {
            "locations": places.default_zones(location),
            "network": "default",
            "subnetwork": "default",
            "initialClusterVersion": version,
            "releaseChannel": channel,
            "clusterIpv4Cidr": "10.4.0.0/14",
            "servicesIpv4Cidr": "34.118.224.0/20",
            "ipAllocationPolicy": {"useIpAliases": True, "stackType": "IPV4"},
            "networkConfig": {
                "network": f"projects/{project}/global/networks/{network_name}",
                "subnetwork": f"projects/{project}/regions/{region}/subnetworks/{subnetwork}",
                "defaultSnatStatus": {},
                "gatewayApiConfig": {"channel": "CHANNEL_DISABLED"},
            },
            "addonsConfig": {
                "gcePersistentDiskCsiDriverConfig": {"enabled": True},
                "kubernetesDashboard": {"disabled": True},
                "networkPolicyConfig": {"disabled": True},
            },
            "loggingService": "logging.googleapis.com/kubernetes",
            "monitoringService": "monitoring.googleapis.com/kubernetes",
            "loggingConfig": {"componentConfig": {"enableComponents": ["SYSTEM_COMPONENTS", "WORKLOADS"]}},
            "monitoringConfig": {
                "componentConfig": {"enableComponents": ["SYSTEM_COMPONENTS"]},
                "managedPrometheusConfig": {"enabled": True},
            },
            "autoscaling": {"autoscalingProfile": "BALANCED"},
            "controlPlaneEndpointsConfig": {
                "dnsEndpointConfig": {"allowExternalTraffic": False},
                "ipEndpointsConfig": {"enabled": True, "enablePublicEndpoint": True},
            },
            "databaseEncryption": {"state": "DECRYPTED"},
            "defaultMaxPodsConstraint": {"maxPodsPerNode": "110"},
            "shieldedNodes": {"enabled": True},
            "masterAuth": {"clientCertificateConfig": {}},
        },
    )
    filled["controlPlaneEndpointsConfig"]["dnsEndpointConfig"]["endpoint"] = dns_endpoint
    filled["location"] = filled["zone"] = location
    filled["currentMasterVersion"] = filled["currentNodeVersion"] = version
    return filled


def strip(value: Any) -> Any:
    """Return a copy of a message without what proto3 leaves off the wire: 0, false, "", []."""
    if isinstance(value, dict):
        return {
            key: strip(item)
            for key, item in value.items()
            if item is not None and item is not False and item not in (0, "", [])
        }
    if isinstance(value, list):
        return [strip(item) for item in value]
    return value
