# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of node pools and clusters, as Ansible checks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.clusters import (
    AUTO_MONITORING_SCOPES,
    AUTOSCALING_PROFILES,
    CHANNELS,
    GATEWAY_CHANNELS,
    MONITORING_COMPONENTS,
    OTEL_SCOPES,
)
from ansible_collections.inference.dra.plugins.module_utils._core.fields import TAINT_EFFECTS
from ansible_collections.inference.dra.plugins.module_utils._core.node_pool_fields import (
    AFFINITIES,
    DRIVER_VERSIONS,
    IMAGE_TYPES,
    LOCATION_POLICIES,
    METADATA_MODES,
    PLACEMENT_TYPES,
    SHARING_STRATEGIES,
)

Spec = dict[str, Any]
TEXT: Spec = {"type": "str"}
NUMBER: Spec = {"type": "int"}
SWITCH: Spec = {"type": "bool"}
TEXTS: Spec = {"type": "list", "elements": "str"}
MAP: Spec = {"type": "dict"}


def _one_of(words: Mapping[str, str]) -> Spec:
    return {"type": "str", "choices": list(words)}


def _group(**options: Spec) -> Spec:
    return {"type": "dict", "options": options}


def _list_of(**options: Spec) -> Spec:
    return {"type": "list", "elements": "dict", "options": options}


def node_pool_options() -> Spec:
    """Return the options of one node pool."""
    return {
        "name": {**TEXT, "required": True},
        "machine_type": TEXT,
        "disk_type": TEXT,
        "disk_size_gb": NUMBER,
        "image_type": _one_of(IMAGE_TYPES),
        "service_account": TEXT,
        "oauth_scopes": TEXTS,
        "version": TEXT,
        "spot": SWITCH,
        "flex_start": SWITCH,
        "max_run_duration_seconds": NUMBER,
        "queued_provisioning": SWITCH,
        "accelerators": _list_of(
            type={**TEXT, "required": True},
            count={**NUMBER, "default": 1},
            gpu_driver_version=_one_of(DRIVER_VERSIONS),
            gpu_partition_size=TEXT,
            gpu_sharing_strategy=_one_of(SHARING_STRATEGIES),
            max_shared_clients_per_gpu=NUMBER,
        ),
        "reservation": _group(affinity={**_one_of(AFFINITIES), "required": True}, names=TEXTS),
        "initial_node_count": NUMBER,
        "autoscaling": _group(
            enabled={**SWITCH, "default": True},
            min_node_count=NUMBER,
            max_node_count=NUMBER,
            total_min_node_count=NUMBER,
            total_max_node_count=NUMBER,
            location_policy=_one_of(LOCATION_POLICIES),
        ),
        "locations": TEXTS,
        "labels": MAP,
        "taints": _list_of(
            key={**TEXT, "required": True, "no_log": False},
            value={**TEXT, "default": ""},
            effect={**_one_of(TAINT_EFFECTS), "default": "NoSchedule"},
        ),
        "resource_labels": MAP,
        "tags": TEXTS,
        "remove": _group(labels=TEXTS, taints=TEXTS, resource_labels=TEXTS, tags=TEXTS),
        "workload_metadata": _one_of(METADATA_MODES),
        "gvnic": SWITCH,
        "max_pods_per_node": NUMBER,
        "management": _group(auto_repair=SWITCH, auto_upgrade=SWITCH),
        "upgrade": _group(max_surge=NUMBER, max_unavailable=NUMBER),
        "placement": _group(type=_one_of(PLACEMENT_TYPES), policy_name=TEXT, tpu_topology=TEXT),
        "network": _group(
            accelerator_profile=TEXT,
            private_nodes=SWITCH,
            node_networks=_list_of(network={**TEXT, "required": True}, subnetwork={**TEXT, "required": True}),
            pod_networks=_list_of(
                subnetwork={**TEXT, "required": True},
                pod_range={**TEXT, "required": True},
                max_pods_per_node=NUMBER,
            ),
        ),
    }


def cluster_options() -> Spec:
    """Return the options that describe a cluster, less its name and location."""
    return {
        "version": TEXT,
        "release_channel": _one_of(CHANNELS),
        "labels": MAP,
        "remove_labels": TEXTS,
        "locations": TEXTS,
        "network": TEXT,
        "subnetwork": TEXT,
        "dataplane_v2": SWITCH,
        "multi_networking": SWITCH,
        "gateway_api": _one_of(GATEWAY_CHANNELS),
        "workload_identity": SWITCH,
        "addons": _group(gcs_fuse=SWITCH, ray=SWITCH, slice_controller=SWITCH),
        "monitoring": _group(
            managed_prometheus=SWITCH,
            auto_monitoring=_one_of(AUTO_MONITORING_SCOPES),
            components={**TEXTS, "choices": list(MONITORING_COMPONENTS)},
        ),
        "managed_otel_scope": _one_of(OTEL_SCOPES),
        "endpoints": _group(dns_external_traffic=SWITCH, ip=SWITCH),
        "autoscaling": _group(
            node_auto_provisioning=SWITCH,
            resource_limits=_list_of(
                resource_type={**TEXT, "required": True},
                minimum=NUMBER,
                maximum={**NUMBER, "required": True},
            ),
            profile=_one_of(AUTOSCALING_PROFILES),
            default_compute_class=SWITCH,
        ),
        "default_pool": _group(
            initial_node_count={**NUMBER, "default": 1}, machine_type=TEXT, disk_size_gb=NUMBER, spot=SWITCH
        ),
    }


def alternative_options() -> Spec:
    """Return the options of one alternative of a claim, as far as pools are concerned."""
    return {
        "name": {**TEXT, "required": True},
        "driver": {**TEXT, "required": True},
        "device_class": {**TEXT, "required": True},
        "node_pool": {**TEXT, "required": True},
        "count": {**NUMBER, "default": 1},
        "cpus": {**NUMBER, "default": 0},
        "numa_groups": {**NUMBER, "default": 1},
        "selectors": TEXTS,
    }
