# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The builders say what gcloud says: recorded gcloud requests are the oracle, up to its own defaults.

Not a difference, because gcloud adds it client-side or a proto3 client leaves it off the wire: zero
values, empty messages, the default OAuth scopes, management true/true, a surge of one, cluster labels
copied to the default pool, and the object's own name at the top of the body.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.cloud import artifactregistry_v1, container_v1
from google.protobuf import json_format

from ansible_collections.inference.dra.plugins.module_utils._core import (
    clusters,
    node_pools,
    repositories,
    workload_policies,
)

RECORDED = Path(__file__).resolve().parents[4] / "shared" / "golden" / "gcloud"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not RECORDED.is_dir(), reason="recorded gcloud requests are not beside it"),
]
GCLOUD_SCOPES = 6
ON = {"enabled": True}
DRA_LABELS = {
    "cloud.google.com/gke-networking-dra-driver": "true",
    "goog-gke-accelerator-type": "nvidia-h200-141gb",
    "nvidia.com/gpu.present": "true",
    "cloud.google.com/gke-nvidia-gpu-dra-driver": "true",
    "gke-no-default-nvidia-gpu-device-plugin": "true",
}
COMPUTE_CLASS = {"cloud.google.com/compute-class": "fungible-gpu-cpu"}
CLASS_TAINT = [
    {
        "key": "cloud.google.com/compute-class",
        "value": "fungible-gpu-cpu",
        "effect": "NoSchedule",
    }
]
GUIDE_A_SIZE = {**ON, "min_node_count": 0, "max_node_count": 2}
H200 = {"type": "nvidia-h200-141gb", "count": 8, "gpu_driver_version": "disabled"}
GUIDE_B_POOL = {
    "name": "a3u-dra-pool-1",
    "machine_type": "a3-ultragpu-8g",
    "accelerators": [H200],
    "initial_node_count": 2,
    "spot": True,
    "labels": DRA_LABELS,
}
L4 = {"type": "nvidia-l4", "count": 1}
EXTRA = {"name": "extra-pool", "initial_node_count": 1}
G2 = {**EXTRA, "machine_type": "g2-standard-8"}

POOLS_CREATED = {
    "a-nodepool-create-gpu-pool": {
        "name": "gpu-pool",
        "machine_type": "g2-standard-8",
        "accelerators": [{**L4, "gpu_driver_version": "disabled"}],
        "initial_node_count": 1,
        "autoscaling": GUIDE_A_SIZE,
        "locations": ["us-central1-a"],
        "labels": COMPUTE_CLASS
        | {
            "gke-no-default-nvidia-gpu-device-plugin": "true",
            "nvidia.com/gpu.present": "true",
            "cloud.google.com/gke-nvidia-gpu-dra-driver": "true",
        },
        "taints": CLASS_TAINT,
        "spot": True,
    },
    "a-nodepool-create-cpu-pool": {
        "name": "cpu-pool",
        "machine_type": "n2-standard-16",
        "initial_node_count": 0,
        "autoscaling": GUIDE_A_SIZE,
        "locations": ["us-central1-a"],
        "labels": COMPUTE_CLASS | {"cloud.google.com/gke-cpu-dra-driver": "true"},
        "taints": CLASS_TAINT,
        "spot": True,
    },
    "b-nodepool-create-without-profile-ga": GUIDE_B_POOL,
    "b-nodepool-create-without-profile": GUIDE_B_POOL,
    "b-nodepool-create-tpu": {
        "name": "tpu-pool",
        "machine_type": "tpu7x-standard-4t",
        "initial_node_count": 16,
        "locations": ["us-central1-a"],
        "placement": {"policy_name": "tpu-policy"},
        "reservation": {"affinity": "specific", "names": ["tpu-reservation"]},
    },
    "x-nodepool-create-total-autoscaling": {
        **EXTRA,
        "autoscaling": {
            **ON,
            "total_min_node_count": 0,
            "total_max_node_count": 6,
            "location_policy": "any",
        },
    },
    "x-nodepool-create-gpu-latest-driver": {
        **G2,
        "accelerators": [{**L4, "gpu_driver_version": "latest"}],
    },
    "x-nodepool-create-gpu-no-driver-choice": {**G2, "accelerators": [L4]},
    "x-nodepool-create-gpu-sharing": {
        **G2,
        "accelerators": [{**L4, "gpu_sharing_strategy": "time-sharing", "max_shared_clients_per_gpu": 2}],
    },
    "x-nodepool-create-taints": {
        **EXTRA,
        "taints": [
            {"key": "a", "value": "1", "effect": "NoSchedule"},
            {"key": "b", "value": "2", "effect": "PreferNoSchedule"},
            {"key": "c", "value": "3", "effect": "NoExecute"},
        ],
        "labels": {"k": "v"},
        "resource_labels": {"cost": "ml"},
        "tags": ["web"],
    },
    "x-nodepool-create-disk": {
        **EXTRA,
        "disk_size_gb": 200,
        "disk_type": "pd-ssd",
        "image_type": "cos_containerd",
        "service_account": "nodes@test-project.iam.gserviceaccount.com",
        "gvnic": True,
        "workload_metadata": "gke_metadata",
        "max_pods_per_node": 64,
        "oauth_scopes": ["https://www.googleapis.com/auth/cloud-platform"],
    },
    "x-nodepool-create-flex-start": {
        **EXTRA,
        "initial_node_count": 0,
        "machine_type": "a3-ultragpu-8g",
        "accelerators": [H200],
        "flex_start": True,
        "max_run_duration_seconds": 3600,
        "autoscaling": {**ON, "total_max_node_count": 2},
        "reservation": {"affinity": "none"},
        "management": {"auto_repair": False, "auto_upgrade": True},
    },
    "x-nodepool-create-placement": {
        **EXTRA,
        "initial_node_count": 2,
        "machine_type": "a3-ultragpu-8g",
        "placement": {"type": "compact"},
        "reservation": {"affinity": "any"},
    },
    "x-nodepool-create-multi-network": {
        **EXTRA,
        "network": {
            "node_networks": [{"network": "net-1", "subnetwork": "sub-1"}],
            "pod_networks": [{"subnetwork": "sub-1", "pod_range": "pods-1", "max_pods_per_node": 8}],
            "private_nodes": True,
        },
    },
    "x-nodepool-create-upgrade-settings": {
        **EXTRA,
        "upgrade": {"max_surge": 0, "max_unavailable": 2},
        "management": {"auto_repair": False, "auto_upgrade": False},
    },
    "x-nodepool-create-zonal": EXTRA,
}

DEMO = {"name": "demo"}
ONE = {**DEMO, "default_pool": {"initial_node_count": 1}}
THREE = {**DEMO, "default_pool": {"initial_node_count": 3}}
CLUSTERS_CREATED = {
    "a-cluster-create": {
        **ONE,
        "version": "1.36.0-gke.100",
        "labels": {"created-by": "ai-on-gke", "guide": "gpu-cpu-fungibility"},
    },
    "b-cluster-create-without-otel": {**THREE, "dataplane_v2": True},
    "x-cluster-create-minimal": THREE,
    "x-cluster-create-zonal": ONE,
    "x-cluster-create-features": {
        **DEMO,
        "default_pool": {"initial_node_count": 1, "machine_type": "e2-standard-4"},
        "locations": ["us-central1-a", "us-central1-b"],
        "release_channel": "rapid",
        "gateway_api": "standard",
        "workload_identity": True,
        "addons": {"gcs_fuse": True, "ray": True},
        "monitoring": {
            "managed_prometheus": True,
            "auto_monitoring": "all",
            "components": ["SYSTEM_COMPONENTS", "DCGM"],
        },
    },
    "x-cluster-create-autoscaling": {
        **ONE,
        "autoscaling": {
            "node_auto_provisioning": True,
            "resource_limits": [
                {"resource_type": "cpu", "maximum": 64},
                {"resource_type": "memory", "maximum": 256},
                {"resource_type": "nvidia-l4", "maximum": 4},
            ],
            "profile": "optimize_utilization",
            "default_compute_class": True,
        },
    },
    "x-cluster-create-multi-network": {**ONE, "dataplane_v2": True, "multi_networking": True},
    "x-cluster-create-dns-access": {
        **ONE,
        "endpoints": {"dns_external_traffic": True, "ip": False},
    },
}

POOL_UPDATES = {
    "x-nodepool-update-locations": {"locations": ["us-central1-a", "us-central1-b"]},
    "x-nodepool-update-machine-type": {"machine_type": "g2-standard-12"},
    "x-nodepool-update-disk": {
        "machine_type": "g2-standard-12",
        "disk_type": "pd-ssd",
        "disk_size_gb": 200,
    },
    "x-nodepool-update-workload-metadata": {"workload_metadata": "gke_metadata"},
    "x-nodepool-update-management": {"management": {"auto_repair": False}},
    "x-nodepool-update-surge": {"upgrade": {"max_surge": 2, "max_unavailable": 1}},
    "x-nodepool-update-gvnic": {"gvnic": True},
    "x-nodepool-update-tags": {"tags": ["web", "db"]},
    "x-nodepool-update-autoscaling": {"autoscaling": {**ON, "max_node_count": 3}},
    "x-nodepool-update-autoscaling-off": {"autoscaling": {"enabled": False}},
    "x-cluster-upgrade-pool": {"version": "1.36.0-gke.200"},
}

CLUSTER_UPDATES = {
    "b-cluster-update-gateway-api": {"gateway_api": "standard"},
    "b-cluster-update-monitoring": {"monitoring": {"managed_prometheus": True, "auto_monitoring": "all"}},
    "x-cluster-update-addons": {"addons": {"gcs_fuse": True}},
    "x-cluster-update-release-channel": {"release_channel": "rapid"},
    "x-cluster-update-workload-identity": {"workload_identity": True},
    "x-cluster-update-monitoring-components": {"monitoring": {"components": ["SYSTEM_COMPONENTS", "DCGM"]}},
    "x-cluster-update-prometheus-off": {"monitoring": {"managed_prometheus": False}},
    "x-cluster-update-auto-monitoring-alone": {"monitoring": {"auto_monitoring": "all"}},
    "x-cluster-update-autoprovisioning": {
        "autoscaling": {
            "node_auto_provisioning": True,
            "resource_limits": [
                {"resource_type": "cpu", "maximum": 64},
                {"resource_type": "memory", "maximum": 256},
            ],
        }
    },
    "x-cluster-update-default-compute-class": {"autoscaling": {"default_compute_class": True}},
    "x-cluster-update-autoscaling-profile": {"autoscaling": {"profile": "optimize_utilization"}},
    "x-cluster-update-node-locations": {"locations": ["us-central1-a", "us-central1-b"]},
}


def recorded(case: str) -> dict:
    requests = json.loads((RECORDED / f"{case}.json").read_text())["requests"]
    return next(request["body"] for request in requests if request["method"] != "GET")


def described(case: str) -> dict:
    return json.loads(json.loads((RECORDED / f"{case}.json").read_text())["stdout"])


def without_gcloud_defaults(value):
    """Return the value less zeros, empties and what gcloud adds to every request."""
    if isinstance(value, list):
        return [without_gcloud_defaults(item) for item in value]
    if not isinstance(value, dict):
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    kept = {}
    for key, item in value.items():
        usual = (
            (key == "oauthScopes" and len(item) == GCLOUD_SCOPES)
            or (key == "management" and item == {"autoRepair": True, "autoUpgrade": True})
            or (key == "upgradeSettings" and item == {"maxSurge": 1})
            or key in ("parent", "mode")
        )
        plain = None if usual else without_gcloud_defaults(item)
        if plain not in (None, "", {}, [], False, "0"):
            kept[key] = sorted(plain) if key in ("enableComponents", "tags") else plain
    return kept


def parsed(message: dict, kind) -> dict:
    """Return the message as the official client understands it; refused where it does not know a field."""
    return json_format.MessageToDict(json_format.ParseDict(message, kind.pb(kind())))


@pytest.mark.parametrize("case", POOLS_CREATED)
def test_pool_creation_equals_gcloud(case):
    ours = node_pools.message(POOLS_CREATED[case])
    assert without_gcloud_defaults(parsed(ours, container_v1.NodePool)) == without_gcloud_defaults(
        parsed(recorded(case)["nodePool"], container_v1.NodePool)
    )


def test_guide_b_profile_is_beside_what_the_recorded_gcloud_could_say():
    with_profile = {**GUIDE_B_POOL, "network": {"accelerator_profile": "auto"}}
    ours = parsed(node_pools.message(with_profile), container_v1.NodePool)
    assert ours.pop("networkConfig") == {"acceleratorNetworkProfile": "auto"}
    assert ours == parsed(node_pools.message(GUIDE_B_POOL), container_v1.NodePool)


@pytest.mark.parametrize("case", CLUSTERS_CREATED)
def test_cluster_creation_equals_gcloud(case):
    theirs = recorded(case)["cluster"]
    theirs["nodePools"][0]["config"].pop("resourceLabels", None)
    theirs.pop("ipAllocationPolicy", None)
    for addon in (
        "horizontalPodAutoscaling",
        "httpLoadBalancing",
        "kubernetesDashboard",
        "networkPolicyConfig",
    ):
        theirs.get("addonsConfig", {}).pop(addon, None)
    ours = clusters.message(CLUSTERS_CREATED[case], "test-project")
    assert without_gcloud_defaults(parsed(ours, container_v1.Cluster)) == without_gcloud_defaults(
        parsed(theirs, container_v1.Cluster)
    )


@pytest.mark.parametrize("case", POOL_UPDATES)
def test_pool_update_equals_gcloud(case):
    live = described("x-nodepool-describe")
    plan = node_pools.plan("demo", {"name": "gpu-pool", **POOL_UPDATES[case]}, live)
    assert plan.recreation == ()
    [step] = plan.steps
    theirs = recorded(case)
    theirs.pop("name", None)
    if "update" in theirs:  # gcloud goes through the cluster for these
        update = theirs["update"]
        version = update.get("desiredNodeVersion")
        theirs = (
            {"nodeVersion": "1.36.0-gke.200"}
            if version
            else {"autoscaling": update["desiredNodePoolAutoscaling"]}
        )
        policy = theirs.get("autoscaling", {})
        if policy.get("locationPolicy") == "LOCATION_POLICY_UNSPECIFIED":
            del policy["locationPolicy"]
    assert without_gcloud_defaults(step.request) == without_gcloud_defaults(theirs)


def test_removing_a_pool_label_equals_gcloud_clearing_the_only_one():
    live = described("x-nodepool-describe")
    [step] = node_pools.plan("demo", {"name": "gpu-pool"}, live, {"labels": ["old"]}).steps
    assert step.request == {"labels": {"labels": {}}}


@pytest.mark.parametrize("case", CLUSTER_UPDATES)
def test_cluster_update_equals_gcloud(case):
    live = described("x-cluster-describe")
    plan = clusters.plan("test-project", {**DEMO, **CLUSTER_UPDATES[case]}, live)
    assert plan.recreation == ()
    [step] = plan.steps
    theirs = recorded(case)["update"]
    if "MonitoringConfig" in next(iter(theirs)) and "components" in case:
        # gcloud counts on a merge; we send back the half of the message that is there already.
        theirs["desiredMonitoringConfig"] |= live["monitoringConfig"]
    assert without_gcloud_defaults(step.request["update"]) == without_gcloud_defaults(theirs)
    parsed(step.request["update"], container_v1.ClusterUpdate)


def test_switching_prometheus_off_still_sends_the_enclosing_message():
    live = described("x-cluster-describe")
    wanted = {**DEMO, "monitoring": {"managed_prometheus": False}}
    [step] = clusters.plan("test-project", wanted, live).steps
    sent = parsed(step.request["update"], container_v1.ClusterUpdate)
    assert sent == {"desiredMonitoringConfig": {"managedPrometheusConfig": {}}}


def test_cluster_labels_are_merged_where_gcloud_would_replace():
    live = described("x-cluster-describe")
    [step] = clusters.plan("test-project", {**DEMO, "labels": {"env": "test"}}, live).steps
    assert step.call == "set_labels"
    assert step.request == {
        "resourceLabels": {"team": "ml", "env": "test"},
        "labelFingerprint": "a9dc16a7",
    }


@pytest.mark.parametrize(
    ("case", "options"),
    [
        pytest.param(
            "a-repository-create",
            {"format": "docker", "description": "DRA Drivers Repository"},
            id="guide-a",
        ),
        pytest.param(
            "x-repository-create-options",
            {"format": "docker", "labels": {"team": "ml"}, "immutable_tags": True},
            id="options",
        ),
    ],
)
def test_repository_creation_equals_gcloud(case, options):
    theirs = recorded(case)
    del theirs["name"]
    ours = repositories.message({"name": "dra-drivers", **options})
    parsed(ours, artifactregistry_v1.Repository)
    assert without_gcloud_defaults(ours) == without_gcloud_defaults(theirs)


def test_workload_policy_creation_equals_gcloud():
    theirs = recorded("b-workload-policy-create-without-mode")
    del theirs["region"]  # part of the path
    options = {"name": "tpu-policy", "type": "high_throughput", "accelerator_topology": "4x4x4"}
    assert workload_policies.message(options) == theirs
