# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters and node pools over their life: defaults, updates, refusals, operations."""

from __future__ import annotations

import pytest

REGION = "/v1/projects/test-project/locations/us-central1"
CLUSTER = REGION + "/clusters/demo"
POOLS = CLUSTER + "/nodePools"
GPU = POOLS + "/gpu-pool"


def test_cluster_is_provisioning_until_its_machines_are_ready(google):
    pool = {"name": "default-pool", "initialNodeCount": 1}
    body = {"cluster": {"name": "demo", "nodePools": [pool]}}
    _unused, operation = google.ask("POST", REGION + "/clusters", body)
    assert operation["operationType"] == "CREATE_CLUSTER"
    assert operation["status"] == "RUNNING"
    google.wait(machines=False)
    before = google.get(CLUSTER)
    assert before["status"] == "PROVISIONING"
    assert "endpoint" not in before
    assert google.ended(operation)["status"] == "DONE"
    after = google.get(CLUSTER)
    assert after["status"] == "RUNNING"
    assert after["endpoint"] == "203.0.113.10"
    assert after["masterAuth"]["clusterCaCertificate"]
    assert after["currentNodeCount"] == 3


def test_operation_takes_its_time_even_when_machines_are_ready(google):
    pool = {"name": "default-pool", "initialNodeCount": 1}
    _unused, operation = google.ask(
        "POST", REGION + "/clusters", {"cluster": {"name": "demo", "nodePools": [pool]}}
    )
    google.wait(100.0)
    metrics = google.get(f"{REGION}/operations/{operation['name']}")["progress"]["metrics"]
    assert metrics == [
        {"name": "percent done", "intValue": "41"},
        {"name": "nodes total", "intValue": "3"},
        {"name": "nodes done", "intValue": "3"},
    ]
    google.wait(141.0)
    assert google.get(f"{REGION}/operations/{operation['name']}")["status"] == "DONE"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(("releaseChannel", "channel"), "REGULAR", id="channel"),
        pytest.param(("ipAllocationPolicy", "useIpAliases"), True, id="vpc-native"),
        pytest.param(("locations",), [f"us-central1-{z}" for z in "abc"], id="three-zones"),
        pytest.param(("monitoringConfig", "managedPrometheusConfig", "enabled"), True, id="prometheus"),
        pytest.param(("zone",), "us-central1", id="zone-is-the-region"),
    ],
)
def test_cluster_defaults(demo, path, expected):
    value = demo.get(CLUSTER)
    for step in path:
        value = value[step]
    assert value == expected


def test_pool_defaults(gpu):
    pool = gpu.pool()
    assert pool["status"] == "RUNNING"
    assert pool["management"] == {"autoRepair": True, "autoUpgrade": True}
    assert pool["maxPodsConstraint"] == {"maxPodsPerNode": "110"}
    assert pool["podIpv4CidrSize"] == 24
    assert pool["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 1}
    assert pool["autoscaling"] == {"enabled": True, "maxNodeCount": 2, "locationPolicy": "ANY"}
    config = pool["config"]
    assert (config["diskType"], config["diskSizeGb"]) == ("pd-balanced", 100)
    assert config["imageType"] == "COS_CONTAINERD"
    assert config["resourceLabels"] == {"goog-gke-node-pool-provisioning-model": "spot"}
    assert config["taints"][-1] == {
        "key": "nvidia.com/gpu",
        "value": "present",
        "effect": "NO_SCHEDULE",
    }


def test_gpu_driver_is_installed_unless_told_not_to(demo):
    config = {
        "machineType": "g2-standard-8",
        "accelerators": [{"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}],
    }
    demo.create_pool(config=config)
    installed = demo.pool()["config"]["accelerators"][0]["gpuDriverInstallationConfig"]
    assert installed == {"gpuDriverVersion": "DEFAULT"}


def test_network_profile_adds_networks(google):
    google.create_cluster(networkConfig={"datapathProvider": "ADVANCED_DATAPATH"})
    google.create_pool(
        config={"machineType": "a3-ultragpu-8g"},
        networkConfig={"acceleratorNetworkProfile": "auto"},
    )
    assert len(google.pool()["networkConfig"]["additionalNodeNetworkConfigs"]) == 9


def test_network_profile_needs_dataplane_v2(demo):
    body = {"name": "x", "networkConfig": {"acceleratorNetworkProfile": "auto"}}
    status, error = demo.refused("POST", POOLS, {"nodePool": body})
    assert status == 400
    assert "Dataplane V2" in error["message"]


CREATE_POOL_REFUSALS = {
    "unknown-machine-type": (
        {"config": {"machineType": "g9-standard-8"}},
        'Invalid machine type "g9-standard-8" in zone "us-central1-a": GCE_NOT_FOUND',
    ),
    "machine-type-not-in-zone": (
        {"config": {"machineType": "g2-standard-8"}, "locations": ["us-central1-f"]},
        'Invalid machine type "g2-standard-8" in zone "us-central1-f": GCE_NOT_FOUND',
    ),
    "accelerator-not-in-zone": (
        {
            "config": {
                "machineType": "n1-standard-8",
                "accelerators": [{"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}],
            },
            "locations": ["us-central1-f"],
        },
        'Accelerator type "nvidia-l4" does not exist in zone us-central1-f.',
    ),
    "gpu-on-default-machine": (
        {
            "config": {
                "accelerators": [{"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}],
            }
        },
        "Cannot use default machine type (e2-medium) with GPUs; choose a different machine type.",
    ),
    "gpu-on-cpu-machine": (
        {
            "config": {
                "machineType": "n2-standard-16",
                "accelerators": [{"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}],
            }
        },
        "[n2-standard-16, nvidia-l4] features are not compatible for creating instance.",
    ),
    "wrong-count": (
        {
            "config": {
                "machineType": "g2-standard-8",
                "accelerators": [{"acceleratorType": "nvidia-l4", "acceleratorCount": "2"}],
            }
        },
        "Machine type g2-standard-8 comes with 1 nvidia-l4; requested accelerator count is 2.",
    ),
    "minimum-above-maximum": (
        {"autoscaling": {"enabled": True, "minNodeCount": 3, "maxNodeCount": 2}},
        (
            "Node_pool_autoscaling.min_node_count (3) must not be greater than "
            "Node_pool_autoscaling.max_node_count (2)."
        ),
    ),
    "no-maximum": (
        {"autoscaling": {"enabled": True}},
        (
            "Node_pool_autoscaling.max_node_count and Node_pool_autoscaling.total_max_node_count "
            "cannot be both set to zero."
        ),
    ),
    "both-kinds-of-limits": (
        {"autoscaling": {"enabled": True, "maxNodeCount": 2, "totalMaxNodeCount": 4}},
        (
            "Node_pool_autoscaling.max_node_count and Node_pool_autoscaling.total_max_node_count "
            "cannot be both set."
        ),
    ),
    "zone-of-another-region": (
        {"locations": ["europe-west4-a"]},
        'Zone "europe-west4-a" is not in region "us-central1" of the cluster.',
    ),
    "no-such-zone": ({"locations": ["us-central1-x"]}, 'Location "us-central1-x" does not exist.'),
    "spot-and-preemptible": (
        {"config": {"spot": True, "preemptible": True}},
        "spot and preemptible cannot be both set to true.",
    ),
    "newer-than-master": (
        {"version": "1.36.3-gke.1234000"},
        'Node version "1.36.3-gke.1234000" must not be newer than the master version "1.36.0-gke.100".',
    ),
    "taint-twice": (
        {
            "config": {
                "taints": [
                    {"key": "a", "value": "1", "effect": "NO_EXECUTE"},
                    {"key": "a", "value": "2", "effect": "NO_EXECUTE"},
                ]
            }
        },
        'Node taint "a" with effect NO_EXECUTE is given twice.',
    ),
    "negative-count": (
        {"initialNodeCount": -1},
        "Node count -1 is invalid: must be between 0 and 1000.",
    ),
}


@pytest.mark.parametrize(("body", "message"), CREATE_POOL_REFUSALS.values(), ids=CREATE_POOL_REFUSALS.keys())
def test_node_pool_is_refused(google, body, message):
    google.create_cluster(initialClusterVersion="1.36.0-gke.100")
    status, error = google.refused("POST", POOLS, {"nodePool": {"name": "p"} | body})
    assert (status, error["status"]) == (400, "INVALID_ARGUMENT")
    assert error["message"] == message
    assert [p["name"] for p in google.get(POOLS)["nodePools"]] == ["default-pool"]


CLUSTER_REFUSALS = {
    "version": (
        {"initialClusterVersion": "1.99.0-gke.1"},
        'Master version "1.99.0-gke.1" is unsupported.',
    ),
    "label": ({"resourceLabels": {"Team": "ml"}}, "Invalid resource label"),
    "no-nodes": ({"nodePools": None}, "Cluster.initial_node_count must be greater than zero."),
    "name": ({"name": "-x"}, "Invalid value for field"),
    "multi-network-without-dataplane-v2": (
        {"networkConfig": {"enableMultiNetworking": True}},
        "Multi-networking requires Dataplane V2",
    ),
}


@pytest.mark.parametrize(("body", "message"), CLUSTER_REFUSALS.values(), ids=CLUSTER_REFUSALS.keys())
def test_cluster_is_refused(google, body, message):
    cluster = {"name": "demo", "nodePools": [{"name": "p", "initialNodeCount": 1}]} | body
    cluster = {key: value for key, value in cluster.items() if value is not None}
    status, error = google.refused("POST", REGION + "/clusters", {"cluster": cluster})
    assert (status, error["status"]) == (400, "INVALID_ARGUMENT")
    assert message in error["message"]
    assert google.get(REGION + "/clusters") == {}


@pytest.mark.parametrize(
    ("wanted", "channel", "expected"),
    [
        pytest.param("1.36", "", "1.36.3-gke.1234000", id="minor"),
        pytest.param("1.36.0", "", "1.36.0-gke.100", id="patch"),
        pytest.param("latest", "STABLE", "1.35.6-gke.1091000", id="latest-of-channel"),
        pytest.param("-", "RAPID", "1.36.3-gke.1234000", id="dash"),
        pytest.param("1.36.0-gke.100", "", "1.36.0-gke.100", id="full"),
    ],
)
def test_version_is_resolved(google, wanted, channel, expected):
    more = {"releaseChannel": {"channel": channel}} if channel else {}
    google.create_cluster(initialClusterVersion=wanted, **more)
    assert google.get(CLUSTER)["currentMasterVersion"] == expected


EXISTENCE = {
    "no-cluster": ("GET", REGION + "/clusters/none", 404, "NOT_FOUND"),
    "no-pool": ("GET", POOLS + "/none", 404, "NOT_FOUND"),
    "delete-no-pool": ("DELETE", POOLS + "/none", 404, "NOT_FOUND"),
    "other-location": (
        "GET",
        "/v1/projects/test-project/locations/us-central1-a/clusters/demo",
        404,
        "NOT_FOUND",
    ),
    "no-location": (
        "GET",
        "/v1/projects/test-project/locations/mars1/clusters/demo",
        400,
        "INVALID_ARGUMENT",
    ),
    "no-operation": ("GET", REGION + "/operations/operation-1-x", 404, "NOT_FOUND"),
    "other-project": (
        "GET",
        "/v1/projects/other/locations/us-central1/clusters/demo",
        403,
        "PERMISSION_DENIED",
    ),
}


@pytest.mark.parametrize(("method", "path", "code", "status"), EXISTENCE.values(), ids=EXISTENCE.keys())
def test_missing_things(demo, method, path, code, status):
    http, error = demo.refused(method, path)
    assert (http, error["code"], error["status"]) == (code, code, status)


def test_existing_names_are_refused(gpu):
    pool = {"name": "default-pool", "initialNodeCount": 1}
    body = {"cluster": {"name": "demo", "nodePools": [pool]}}
    status, error = gpu.refused("POST", REGION + "/clusters", body)
    assert (status, error["status"]) == (409, "ALREADY_EXISTS")
    assert error["message"] == ("Already exists: projects/test-project/locations/us-central1/clusters/demo.")
    status, error = gpu.refused("POST", POOLS, {"nodePool": {"name": "gpu-pool"}})
    assert (status, error["status"]) == (409, "ALREADY_EXISTS")


# Updates: request, what the cluster shows afterwards.
CLUSTER_UPDATES = {
    "gateway": (
        {"desiredGatewayApiConfig": {"channel": "CHANNEL_STANDARD"}},
        ("networkConfig", "gatewayApiConfig", "channel"),
        "CHANNEL_STANDARD",
    ),
    "addons-are-merged": (
        {"desiredAddonsConfig": {"rayOperatorConfig": {"enabled": True}}},
        ("addonsConfig", "gcePersistentDiskCsiDriverConfig", "enabled"),
        True,
    ),
    "monitoring-keeps-components": (
        {"desiredMonitoringConfig": {"managedPrometheusConfig": {"enabled": False}}},
        ("monitoringConfig", "componentConfig", "enableComponents"),
        ["SYSTEM_COMPONENTS"],
    ),
    "channel": ({"desiredReleaseChannel": {"channel": "RAPID"}}, ("releaseChannel", "channel"), "RAPID"),
    "otel": (
        {"desiredManagedOpentelemetryConfig": {"scope": "NONE"}},
        ("managedOpentelemetryConfig", "scope"),
        "NONE",
    ),
    "profile": (
        {"desiredClusterAutoscaling": {"autoscalingProfile": "OPTIMIZE_UTILIZATION"}},
        ("autoscaling", "autoscalingProfile"),
        "OPTIMIZE_UTILIZATION",
    ),
    "master": (
        {"desiredMasterVersion": "1.36.3"},
        ("currentMasterVersion",),
        "1.36.3-gke.1234000",
    ),
    "locations": ({"desiredLocations": ["us-central1-b"]}, ("locations",), ["us-central1-b"]),
}


@pytest.mark.parametrize(("update", "path", "expected"), CLUSTER_UPDATES.values(), ids=CLUSTER_UPDATES.keys())
def test_cluster_update(google, update, path, expected):
    google.create_cluster(initialClusterVersion="1.36.0-gke.100")
    status, operation = google.ask("PUT", CLUSTER, {"update": update})
    assert status == 200, operation
    assert google.get(CLUSTER)["status"] == "RECONCILING"
    assert google.ended(operation)["status"] == "DONE"
    value = google.get(CLUSTER)
    assert value["status"] == "RUNNING"
    for step in path:
        value = value[step]
    assert value == expected


def test_cluster_update_takes_one_concern(demo):
    update = {
        "desiredReleaseChannel": {"channel": "RAPID"},
        "desiredGatewayApiConfig": {"channel": "CHANNEL_STANDARD"},
    }
    status, error = demo.refused("PUT", CLUSTER, {"update": update})
    assert (status, error["status"]) == (400, "INVALID_ARGUMENT")
    status, error = demo.refused("PUT", CLUSTER, {"update": {}})
    assert error["message"] == "Must provide an update."


def test_cluster_update_refuses_what_only_creation_sets(demo):
    update = {"desiredDatapathProvider": "ADVANCED_DATAPATH"}
    status, error = demo.refused("PUT", CLUSTER, {"update": update})
    assert status == 400
    assert "cannot be changed" in error["message"]


def test_labels_need_the_fingerprint_just_read(demo):
    before = demo.get(CLUSTER)["labelFingerprint"]
    body = {"resourceLabels": {"team": "ml"}, "labelFingerprint": before}
    demo.change("POST", CLUSTER + ":setResourceLabels", body)
    after = demo.get(CLUSTER)
    assert after["resourceLabels"] == {"team": "ml"}
    assert after["labelFingerprint"] != before
    status, error = demo.refused("POST", CLUSTER + ":setResourceLabels", body)
    assert (status, error["status"]) == (400, "FAILED_PRECONDITION")
    assert error["message"] == "Labels could not be set due to fingerprint mismatch."


POOL_UPDATES = {
    "labels-replace": (
        {"labels": {"labels": {"k": "v"}}},
        ("config", "labels"),
        {"k": "v"},
    ),
    "taints-replace-the-gpu-taint-too": (
        {"taints": {"taints": [{"key": "a", "value": "1", "effect": "NO_SCHEDULE"}]}},
        ("config", "taints"),
        [{"key": "a", "value": "1", "effect": "NO_SCHEDULE"}],
    ),
    "resource-labels-keep-googles": (
        {"resourceLabels": {"labels": {"cost": "ml"}}},
        ("config", "resourceLabels"),
        {"cost": "ml", "goog-gke-node-pool-provisioning-model": "spot"},
    ),
    "machine-type": ({"machineType": "g2-standard-12"}, ("config", "machineType"), "g2-standard-12"),
    "disk": ({"diskType": "pd-ssd", "diskSizeGb": "200"}, ("config", "diskSizeGb"), 200),
    "driver": (
        {
            "accelerators": [
                {
                    "acceleratorType": "nvidia-l4",
                    "acceleratorCount": "1",
                    "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
                }
            ]
        },
        ("config", "accelerators", 0, "gpuDriverInstallationConfig", "gpuDriverVersion"),
        "LATEST",
    ),
    "gvnic": ({"gvnic": {"enabled": True}}, ("config", "gvnic", "enabled"), True),
    "surge": ({"upgradeSettings": {"maxSurge": 2}}, ("upgradeSettings", "maxSurge"), 2),
    "locations": (
        {"locations": ["us-central1-a", "us-central1-b"]},
        ("locations",),
        ["us-central1-a", "us-central1-b"],
    ),
    "tags": ({"tags": {"tags": ["web"]}}, ("config", "tags"), ["web"]),
}


@pytest.mark.parametrize(("request_body", "path", "expected"), POOL_UPDATES.values(), ids=POOL_UPDATES.keys())
def test_node_pool_update(gpu, request_body, path, expected):
    status, operation = gpu.ask("PUT", GPU, request_body)
    assert status == 200, operation
    assert gpu.pool()["status"] == "RECONCILING"
    assert gpu.ended(operation)["status"] == "DONE"
    value = gpu.pool()
    assert value["status"] == "RUNNING"
    for step in path:
        value = value[step]
    assert value == expected


POOL_UPDATE_REFUSALS = {
    "two-concerns": ({"labels": {"labels": {}}, "taints": {"taints": []}}, "Only one update"),
    "nothing": ({}, "Must provide an update."),
    "other-accelerator": (
        {"accelerators": [{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": "1"}]},
        "cannot be changed",
    ),
    "machine-without-its-gpu": ({"machineType": "n2-standard-8"}, "not compatible"),
    "stale": ({"etag": "0", "gvnic": {"enabled": True}}, "Etag mismatch"),
    "unsupported-version": ({"nodeVersion": "1.99"}, 'Node version "1.99" is unsupported.'),
}


@pytest.mark.parametrize(("body", "message"), POOL_UPDATE_REFUSALS.values(), ids=POOL_UPDATE_REFUSALS.keys())
def test_node_pool_update_is_refused(gpu, body, message):
    before = gpu.pool()
    _unused, error = gpu.refused("PUT", GPU, body)
    assert message in error["message"]
    assert gpu.pool() == before


def test_autoscaling_by_either_way(gpu):
    update = {
        "desiredNodePoolId": "gpu-pool",
        "desiredNodePoolAutoscaling": {"enabled": True, "maxNodeCount": 5},
    }
    gpu.change("PUT", CLUSTER, {"update": update})
    assert gpu.pool()["autoscaling"]["maxNodeCount"] == 5
    body = {"autoscaling": {"enabled": True, "maxNodeCount": 7}}
    gpu.change("POST", GPU + ":setAutoscaling", body)
    assert gpu.pool()["autoscaling"]["maxNodeCount"] == 7
    gpu.change("POST", GPU + ":setAutoscaling", {"autoscaling": {"enabled": False}})
    assert gpu.pool()["autoscaling"] == {}


def test_switch_from_zonal_to_total_limits_as_gcloud_sends_it(gpu):
    wanted = {"enabled": True, "maxNodeCount": 2, "totalMaxNodeCount": 6, "locationPolicy": "ANY"}
    gpu.change("POST", GPU + ":setAutoscaling", {"autoscaling": wanted})
    after = {"enabled": True, "totalMaxNodeCount": 6, "locationPolicy": "ANY"}
    assert gpu.pool()["autoscaling"] == after


def test_new_zonal_limit_beside_total_limits_is_refused(gpu):
    wanted = {"enabled": True, "maxNodeCount": 3, "totalMaxNodeCount": 6}
    status, _unused = gpu.refused("POST", GPU + ":setAutoscaling", {"autoscaling": wanted})
    assert status == 400


def test_size_within_the_autoscaling_limits(gpu):
    gpu.change("POST", GPU + ":setSize", {"nodeCount": 2})
    assert gpu.cloud.pools()[1].sizes == {"us-central1-a": 2}
    status, error = gpu.refused("POST", GPU + ":setSize", {"nodeCount": 3})
    assert status == 400
    assert "outside the autoscaling limits 0 to 2" in error["message"]


def test_delete_waits_until_the_machines_are_gone(gpu):
    _unused, operation = gpu.ask("DELETE", GPU)
    gpu.wait(machines=False)
    assert gpu.pool()["status"] == "STOPPING"
    assert gpu.ended(operation)["status"] == "DONE"
    assert gpu.refused("GET", GPU)[0] == 404
    gpu.change("DELETE", CLUSTER)
    assert gpu.refused("GET", CLUSTER)[0] == 404
    assert gpu.cloud.pools() == ()


def test_a_cluster_stays_until_its_content_is_gone(demo):
    empty = []
    demo.cloud.before_end.append(lambda cluster: cluster.name in empty)
    _unused, operation = demo.ask("DELETE", CLUSTER)
    assert demo.ended(operation)["status"] == "RUNNING"
    assert demo.get(CLUSTER)["status"] == "STOPPING"
    empty.append("demo")
    assert demo.ended(operation)["status"] == "DONE"
    assert demo.refused("GET", CLUSTER)[0] == 404


def test_deleting_cluster_takes_no_changes(demo):
    demo.ask("DELETE", CLUSTER)
    status, error = demo.refused("POST", POOLS, {"nodePool": {"name": "x"}})
    assert (status, error["status"]) == (400, "FAILED_PRECONDITION")
    assert error["details"][0]["reason"] == "CLUSTER_ALREADY_HAS_OPERATION"


def test_list_over_all_locations(demo):
    zonal = "/v1/projects/test-project/locations/europe-west4-a/clusters"
    pool = {"name": "default-pool", "initialNodeCount": 1}
    demo.ask("POST", zonal, {"cluster": {"name": "other", "nodePools": [pool]}})
    everywhere = "/v1/projects/test-project/locations/-/clusters"
    assert [c["name"] for c in demo.get(everywhere)["clusters"]] == ["demo", "other"]
    assert [c["name"] for c in demo.get(zonal)["clusters"]] == ["other"]


def test_older_way_to_ask_for_nodes(google):
    body = {"cluster": {"name": "demo", "initialNodeCount": 2, "nodeConfig": {"spot": True}}}
    google.change("POST", REGION + "/clusters", body)
    pool = google.pool("default-pool")
    assert (pool["initialNodeCount"], pool["config"]["spot"]) == (2, True)
