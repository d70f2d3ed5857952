# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What describes clusters and node pools in more than one module."""

from __future__ import annotations


class ModuleDocFragment:
    NODE_POOLS = r"""
options:
  node_pools:
    description:
      - The node pools. They are created and changed side by side as far as GKE allows it.
      - An option that is not stated is left as it is, and on creation left to GKE.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the node pool.
        type: str
        required: true
      machine_type:
        description: Machine type, such as V(g2-standard-8). A change replaces the nodes.
        type: str
      disk_type:
        description: Type of the boot disk, such as V(pd-balanced). A change replaces the nodes.
        type: str
      disk_size_gb:
        description: Size of the boot disk in GB. A change replaces the nodes.
        type: int
      image_type:
        description: Node image. A change replaces the nodes.
        type: str
        choices: [cos_containerd, ubuntu_containerd]
      service_account:
        description: Service account of the nodes. Fixed at creation.
        type: str
      oauth_scopes:
        description: OAuth scopes of the nodes. Fixed at creation.
        type: list
        elements: str
      version:
        description:
          - Kubernetes version of the nodes, such as V(1.36), V(1.36.0) or V(1.36.0-gke.100), or V(-) for that of the control plane.
          - It is met by every version that begins with it. Nodes that are newer are left as they are.
        type: str
      spot:
        description: Whether the machines are spot machines. Fixed at creation.
        type: bool
      flex_start:
        description: Whether the machines come from the flex-start queue.
        type: bool
      max_run_duration_seconds:
        description: How long a machine may run, in seconds.
        type: int
      queued_provisioning:
        description: Whether machines are made only for provisioning requests.
        type: bool
      accelerators:
        description: The accelerator of each node; one entry. Type, count and sharing are fixed at creation.
        type: list
        elements: dict
        suboptions:
          type:
            description: Type, such as V(nvidia-l4).
            type: str
            required: true
          count:
            description: Number per node.
            type: int
            default: 1
          gpu_driver_version:
            description:
              - Which kernel driver GKE installs. V(disabled) leaves it to a DaemonSet, as a DRA driver of one's own wants it.
              - GKE installs its default driver where this is not given. Then any live value is left as it is.
            type: str
            choices: [disabled, default, latest]
          gpu_partition_size:
            description: Size of the partitions of the GPU, such as V(1g.5gb).
            type: str
          gpu_sharing_strategy:
            description: How clients share a GPU.
            type: str
            choices: [time-sharing, mps]
          max_shared_clients_per_gpu:
            description: How many clients share a GPU.
            type: int
      reservation:
        description: Which reservations the machines are taken from. Fixed at creation.
        type: dict
        suboptions:
          affinity:
            description: Kind of the reservations.
            type: str
            required: true
            choices: [none, any, specific, any_then_fail]
          names:
            description: Names of the reservations, for V(specific).
            type: list
            elements: str
      initial_node_count:
        description:
          - Number of nodes B(per zone) when the pool is created; one where it is not given.
          - A pool without autoscaling is resized to it. With autoscaling it is ignored after the creation.
        type: int
      autoscaling:
        description:
          - Limits of the autoscaler, per zone or for all zones together, not both. Stating one kind ends the other.
          - The size that the autoscaler gave the pool is never a difference.
        type: dict
        suboptions:
          enabled:
            description: Whether the pool is scaled automatically.
            type: bool
            default: true
          min_node_count:
            description: Smallest size B(per zone).
            type: int
          max_node_count:
            description: Largest size B(per zone).
            type: int
          total_min_node_count:
            description: Smallest size in all zones together.
            type: int
          total_max_node_count:
            description: Largest size in all zones together.
            type: int
          location_policy:
            description: Whether zones are kept in balance, or any zone that has machines is taken.
            type: str
            choices: [balanced, any]
      locations:
        description: The zones of the pool, all of them. Those of the cluster where it is not given.
        type: list
        elements: str
      labels:
        description: Kubernetes labels of the nodes. Labels that are not named here are kept.
        type: dict
      taints:
        description: Kubernetes taints of the nodes. Taints that are not named here are kept, the one of GKE for GPUs too.
        type: list
        elements: dict
        suboptions:
          key:
            description: Key.
            type: str
            required: true
          value:
            description: Value.
            type: str
            default: ''
          effect:
            description: Effect.
            type: str
            choices: [NoSchedule, PreferNoSchedule, NoExecute]
            default: NoSchedule
      resource_labels:
        description: Labels of the machines at Compute Engine. Labels that are not named here are kept.
        type: dict
      tags:
        description: Network tags of the machines. Tags that are not named here are kept.
        type: list
        elements: str
      remove:
        description: What to take away. Nothing is taken away that is not named here.
        type: dict
        suboptions:
          labels:
            description: Keys of labels.
            type: list
            elements: str
          taints:
            description: Keys of taints, whatever their effect.
            type: list
            elements: str
          resource_labels:
            description: Keys of resource labels.
            type: list
            elements: str
          tags:
            description: Network tags.
            type: list
            elements: str
      workload_metadata:
        description: Which metadata server pods see. V(gke_metadata) is needed for workload identity. A change replaces the nodes.
        type: str
        choices: [gke_metadata, gce_metadata]
      gvnic:
        description: Whether the machines have the virtual network card gVNIC. A change replaces the nodes.
        type: bool
      max_pods_per_node:
        description: Largest number of pods per node. Fixed at creation.
        type: int
      management:
        description: What GKE does by itself.
        type: dict
        suboptions:
          auto_repair:
            description: Whether unhealthy nodes are replaced.
            type: bool
          auto_upgrade:
            description: Whether nodes are upgraded.
            type: bool
      upgrade:
        description: How nodes are replaced.
        type: dict
        suboptions:
          max_surge:
            description: How many nodes may be added meanwhile.
            type: int
          max_unavailable:
            description: How many nodes may be missing meanwhile.
            type: int
      placement:
        description: Where machines are placed. Fixed at creation.
        type: dict
        suboptions:
          type:
            description: Kind of the placement.
            type: str
            choices: [compact]
          policy_name:
            description: Name of a resource policy of Compute Engine, such as a workload policy for TPUs.
            type: str
          tpu_topology:
            description: TPU topology, such as V(2x4).
            type: str
      network:
        description: Networks of the nodes. Fixed at creation.
        type: dict
        suboptions:
          accelerator_profile:
            description: Network profile of the accelerators. V(auto) makes the networks that DRANET needs.
            type: str
          private_nodes:
            description: Whether the nodes have internal addresses only.
            type: bool
          node_networks:
            description: Further networks of the nodes.
            type: list
            elements: dict
            suboptions:
              network:
                description: Network.
                type: str
                required: true
              subnetwork:
                description: Subnetwork.
                type: str
                required: true
          pod_networks:
            description: Further networks of the pods.
            type: list
            elements: dict
            suboptions:
              subnetwork:
                description: Subnetwork.
                type: str
                required: true
              pod_range:
                description: Name of the secondary address range for the pods.
                type: str
                required: true
              max_pods_per_node:
                description: Largest number of pods per node on this network.
                type: int
"""

    CLUSTER = r"""
options:
  version:
    description:
      - Kubernetes version of the control plane, such as V(1.36), V(1.36.0) or V(1.36.0-gke.100), V(latest), or V(-) for GKE's default.
      - It is resolved to the newest version on offer in the release channel, and met by every version that begins with it.
      - A cluster that is newer is left as it is, because GKE upgrades by itself and does not go back.
    type: str
  release_channel:
    description: Release channel, or V(none).
    type: str
    choices: [none, rapid, regular, stable, extended]
  labels:
    description: Labels of the cluster at Google, not of Kubernetes. Labels that are not named here are kept.
    type: dict
  locations:
    description: Zones of the nodes, all of them.
    type: list
    elements: str
  network:
    description: Network. Fixed at creation.
    type: str
  subnetwork:
    description: Subnetwork. Fixed at creation.
    type: str
  dataplane_v2:
    description: Whether the cluster has GKE Dataplane V2, which the RDMA networks of DRANET need. Fixed at creation.
    type: bool
  multi_networking:
    description: Whether nodes may have further networks. Fixed at creation.
    type: bool
  gateway_api:
    description: Which Gateway API resources GKE installs.
    type: str
    choices: [disabled, standard, experimental]
  workload_identity:
    description: Whether pods can act as service accounts, through the workload pool of the project.
    type: bool
  addons:
    description: Add-ons.
    type: dict
    suboptions:
      gcs_fuse:
        description: Whether buckets can be mounted (Cloud Storage FUSE CSI driver).
        type: bool
      ray:
        description: Whether GKE runs the Ray operator.
        type: bool
      slice_controller:
        description: Whether GKE runs the TPU slice controller.
        type: bool
  monitoring:
    description: Monitoring.
    type: dict
    suboptions:
      managed_prometheus:
        description: Whether GKE collects metrics with Managed Service for Prometheus.
        type: bool
      auto_monitoring:
        description: Whether known workloads are monitored by themselves. V(all) needs managed Prometheus.
        type: str
        choices: [none, all]
      components:
        description: Components whose metrics are collected, such as V(SYSTEM_COMPONENTS). Others that are on stay on.
        type: list
        elements: str
        choices: [SYSTEM_COMPONENTS, APISERVER, SCHEDULER, CONTROLLER_MANAGER, STORAGE, HPA, POD, DAEMONSET,
                  DEPLOYMENT, STATEFULSET, CADVISOR, KUBELET, DCGM, JOBSET]
  managed_otel_scope:
    description: What GKE's managed OpenTelemetry does.
    type: str
    choices: [none, collection_and_instrumentation_components]
  endpoints:
    description: How the control plane is reached.
    type: dict
    suboptions:
      dns_external_traffic:
        description: Whether the DNS endpoint can be reached from outside the network.
        type: bool
      ip:
        description: Whether the control plane has addresses.
        type: bool
  autoscaling:
    description: What the autoscaler may do for the whole cluster.
    type: dict
    suboptions:
      node_auto_provisioning:
        description: Whether GKE makes node pools by itself.
        type: bool
      resource_limits:
        description: How much it may make, all limits of it.
        type: list
        elements: dict
        suboptions:
          resource_type:
            description: What is limited, such as V(cpu), V(memory) in GB, or V(nvidia-l4).
            type: str
            required: true
          minimum:
            description: Smallest amount.
            type: int
          maximum:
            description: Largest amount.
            type: int
            required: true
      profile:
        description: How eager it is to remove nodes.
        type: str
        choices: [balanced, optimize_utilization]
      default_compute_class:
        description: Whether the compute class named default is used for pods without one.
        type: bool
  default_pool:
    description: The node pool named default-pool. It acts at creation only.
    type: dict
    suboptions:
      initial_node_count:
        description: Number of nodes B(per zone).
        type: int
        default: 1
      machine_type:
        description: Machine type.
        type: str
      disk_size_gb:
        description: Size of the boot disk in GB.
        type: int
      spot:
        description: Whether the machines are spot machines.
        type: bool
"""
