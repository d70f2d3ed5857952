# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node pool options and their places in the NodePool message.

Source: the container v1 API (NodePool, NodeConfig, UpdateNodePoolRequest); a field without a concern is
one that UpdateNodePool does not carry. Counts are per zone unless the option says ``total``.
"""

from __future__ import annotations

from .fields import Field

DRIVER_VERSIONS = {"disabled": "INSTALLATION_DISABLED", "default": "DEFAULT", "latest": "LATEST"}
SHARING_STRATEGIES = {"time-sharing": "TIME_SHARING", "mps": "MPS"}
LOCATION_POLICIES = {"balanced": "BALANCED", "any": "ANY"}
METADATA_MODES = {"gke_metadata": "GKE_METADATA", "gce_metadata": "GCE_METADATA"}
IMAGE_TYPES = {"cos_containerd": "COS_CONTAINERD", "ubuntu_containerd": "UBUNTU_CONTAINERD"}
PLACEMENT_TYPES = {"compact": "COMPACT"}
AFFINITIES = {
    "none": "NO_RESERVATION",
    "any": "ANY_RESERVATION",
    "specific": "SPECIFIC_RESERVATION",
    "any_then_fail": "ANY_RESERVATION_THEN_FAIL",
}
RESERVATION_NAME = "compute.googleapis.com/reservation-name"
NODE_NETWORK = {"network": "network", "subnetwork": "subnetwork"}
POD_NETWORK = {
    "subnetwork": "subnetwork",
    "pod_range": "secondaryPodRange",
    "max_pods_per_node": "maxPodsPerNode.maxPodsPerNode",
}

FIELDS: tuple[Field, ...] = (
    Field("initial_node_count", "initialNodeCount", "size", "number"),
    Field("version", "version", "version"),
    Field("machine_type", "config.machineType", "machine"),
    Field("disk_type", "config.diskType", "machine"),
    Field("disk_size_gb", "config.diskSizeGb", "machine", "number"),
    Field("image_type", "config.imageType", "image_type", "enum", IMAGE_TYPES),
    Field("service_account", "config.serviceAccount"),
    Field("oauth_scopes", "config.oauthScopes", kind="set"),
    Field("spot", "config.spot", kind="switch"),
    Field("flex_start", "config.flexStart", "flex_start", "switch", since="2.57.0"),
    Field("max_run_duration_seconds", "config.maxRunDuration", "max_run_duration", "seconds"),
    Field("queued_provisioning", "queuedProvisioning.enabled", "queued_provisioning", "switch"),
    Field("accelerators.0.type", "config.accelerators.0.acceleratorType"),
    Field("accelerators.0.count", "config.accelerators.0.acceleratorCount", kind="number"),
    Field("accelerators.0.gpu_partition_size", "config.accelerators.0.gpuPartitionSize"),
    Field(
        "accelerators.0.gpu_driver_version",
        "config.accelerators.0.gpuDriverInstallationConfig.gpuDriverVersion",
        "driver",
        "enum",
        DRIVER_VERSIONS,
    ),
    Field(
        "accelerators.0.gpu_sharing_strategy",
        "config.accelerators.0.gpuSharingConfig.gpuSharingStrategy",
        kind="enum",
        words=SHARING_STRATEGIES,
    ),
    Field(
        "accelerators.0.max_shared_clients_per_gpu",
        "config.accelerators.0.gpuSharingConfig.maxSharedClientsPerGpu",
        kind="number",
    ),
    Field(
        "reservation.affinity",
        "config.reservationAffinity.consumeReservationType",
        kind="enum",
        words=AFFINITIES,
    ),
    Field("reservation.names", "config.reservationAffinity.values", kind="set"),
    Field("locations", "locations", "locations", "set"),
    Field("taints", "config.taints", "taints", "taints"),
    Field("labels", "config.labels", "labels", "map"),
    Field("resource_labels", "config.resourceLabels", "resource_labels", "map"),
    Field("tags", "config.tags", "tags", "set", merges=True),
    Field(
        "workload_metadata",
        "config.workloadMetadataConfig.mode",
        "workload_metadata",
        "enum",
        METADATA_MODES,
    ),
    Field("gvnic", "config.gvnic.enabled", "gvnic", "switch"),
    Field("max_pods_per_node", "maxPodsConstraint.maxPodsPerNode", kind="number"),
    Field("autoscaling.enabled", "autoscaling.enabled", "autoscaling", "switch"),
    Field("autoscaling.min_node_count", "autoscaling.minNodeCount", "autoscaling", "number"),
    Field("autoscaling.max_node_count", "autoscaling.maxNodeCount", "autoscaling", "number"),
    Field("autoscaling.total_min_node_count", "autoscaling.totalMinNodeCount", "autoscaling", "number"),
    Field("autoscaling.total_max_node_count", "autoscaling.totalMaxNodeCount", "autoscaling", "number"),
    Field(
        "autoscaling.location_policy",
        "autoscaling.locationPolicy",
        "autoscaling",
        "enum",
        LOCATION_POLICIES,
    ),
    Field("management.auto_repair", "management.autoRepair", "management", "switch"),
    Field("management.auto_upgrade", "management.autoUpgrade", "management", "switch"),
    Field("upgrade.max_surge", "upgradeSettings.maxSurge", "upgrade", "number"),
    Field("upgrade.max_unavailable", "upgradeSettings.maxUnavailable", "upgrade", "number"),
    Field("placement.type", "placementPolicy.type", kind="enum", words=PLACEMENT_TYPES),
    Field("placement.policy_name", "placementPolicy.policyName"),
    Field("placement.tpu_topology", "placementPolicy.tpuTopology"),
    Field("network.accelerator_profile", "networkConfig.acceleratorNetworkProfile", since="2.65.0"),
    Field("network.private_nodes", "networkConfig.enablePrivateNodes", kind="switch"),
    Field(
        "network.node_networks",
        "networkConfig.additionalNodeNetworkConfigs",
        kind="entries",
        words=NODE_NETWORK,
    ),
    Field(
        "network.pod_networks",
        "networkConfig.additionalPodNetworkConfigs",
        kind="entries",
        words=POD_NETWORK,
    ),
)
