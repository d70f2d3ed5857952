# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters and repositories: one concern per update, nothing unnamed lost, no drift by defaults."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.inference.dra.plugins.module_utils._core import clusters, repositories
from ansible_collections.inference.dra.plugins.module_utils._core.fields import put, take

from .gke_model import without_zeros

PROJECT = "test-project"
# Where each ``desired`` of an update ends up in the Cluster.
DESIRED = {
    "desiredReleaseChannel": "releaseChannel",
    "desiredMasterVersion": "currentMasterVersion",
    "desiredLocations": "locations",
    "desiredWorkloadIdentityConfig": "workloadIdentityConfig",
    "desiredGatewayApiConfig": "networkConfig.gatewayApiConfig",
    "desiredMonitoringConfig": "monitoringConfig",
    "desiredManagedOpentelemetryConfig": "managedOpentelemetryConfig",
    "desiredClusterAutoscaling": "autoscaling",
}
MERGED = {
    "desiredAddonsConfig": "addonsConfig",
    "desiredControlPlaneEndpointsConfig": "controlPlaneEndpointsConfig",
}


def created(options: dict) -> dict:
    cluster = deepcopy(clusters.message({"name": "demo", **options}, PROJECT))
    cluster["currentMasterVersion"] = cluster.pop("initialClusterVersion", "1.36.0-gke.100")
    cluster.setdefault("locations", ["z-a", "z-b", "z-c"])
    cluster.setdefault("network", "default")
    cluster["labelFingerprint"] = "f0"
    components = cluster.setdefault("monitoringConfig", {}).setdefault("componentConfig", {})
    components.setdefault("enableComponents", ["SYSTEM_COMPONENTS"])
    return without_zeros(cluster)


def apply(step, cluster: dict) -> dict:
    cluster = deepcopy(cluster)
    request = deepcopy(dict(step.request))
    if step.call == "set_labels":
        assert request["labelFingerprint"] == cluster["labelFingerprint"]
        cluster["resourceLabels"] = request["resourceLabels"]
        return cluster
    assert step.call == "update_cluster"
    [(key, value)] = request["update"].items()  # UpdateCluster takes one concern
    if key in MERGED:
        old = cluster.setdefault(MERGED[key], {})
        for name, part in value.items():
            old[name] = part
    else:
        put(cluster, DESIRED[key], value)
    return without_zeros(cluster)


FLAG = st.booleans()
LABELS = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from(["1", "2"]), max_size=3)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "version": st.sampled_from(["1.35.3-gke.1", "1.36.0-gke.100"]),
        "release_channel": st.sampled_from(["none", "rapid", "stable"]),
        "labels": LABELS,
        "locations": st.lists(st.sampled_from(["z-a", "z-b"]), min_size=1, unique=True),
        "gateway_api": st.sampled_from(["disabled", "standard"]),
        "workload_identity": FLAG,
        "addons": st.fixed_dictionaries(
            {}, optional={"gcs_fuse": FLAG, "ray": FLAG, "slice_controller": FLAG}
        ),
        "monitoring": st.fixed_dictionaries(
            {},
            optional={
                "managed_prometheus": FLAG,
                "auto_monitoring": st.sampled_from(["none", "all"]),
                "components": st.lists(st.sampled_from(["SYSTEM_COMPONENTS", "DCGM"]), unique=True),
            },
        ),
        "managed_otel_scope": st.sampled_from(["none", "collection_and_instrumentation_components"]),
        "endpoints": st.fixed_dictionaries({}, optional={"dns_external_traffic": FLAG, "ip": FLAG}),
        "autoscaling": st.fixed_dictionaries(
            {},
            optional={
                "node_auto_provisioning": FLAG,
                "profile": st.sampled_from(["balanced", "optimize_utilization"]),
                "default_compute_class": FLAG,
                "resource_limits": st.just([{"resource_type": "cpu", "maximum": 64}]),
            },
        ),
    },
)


@settings(max_examples=150, deadline=None, database=None)
@given(OPTIONS, OPTIONS, st.lists(st.sampled_from(["a", "b", "c"])))
def test_after_applying_a_plan_nothing_is_left_and_nothing_unnamed_is_lost(wanted, existing, gone):
    gone = [key for key in gone if key not in wanted.get("labels", {})]
    wanted = {"name": "demo", **wanted}
    before = created(existing)
    plan = clusters.plan(PROJECT, wanted, before, {"labels": gone})
    assert plan.recreation == ()
    after = before
    for step in plan.steps:
        after = apply(step, after)
    assert clusters.plan(PROJECT, wanted, after, {"labels": gone}).steps == ()
    for key, value in before.get("resourceLabels", {}).items():
        assert key in gone or after["resourceLabels"][key] == wanted.get("labels", {}).get(key, value)
    had = take(before, "monitoringConfig.componentConfig.enableComponents")
    assert set(had or ()) <= set(take(after, "monitoringConfig.componentConfig.enableComponents") or ())
    assert after["nodePools"] == before["nodePools"]


@settings(max_examples=100, deadline=None, database=None)
@given(OPTIONS)
def test_what_was_just_created_is_no_drift(options):
    assert not clusters.plan(PROJECT, {"name": "demo", **options}, created(options)).changed


@pytest.mark.parametrize(
    ("wanted", "live"),
    [
        pytest.param(
            {"network": "default"}, {"network": "projects/p/global/networks/default"}, id="C40-path-or-name"
        ),
        pytest.param({"dataplane_v2": False}, {}, id="C40-absent-is-off"),
        pytest.param({"gateway_api": "disabled"}, {}, id="C40-absent-is-disabled"),
        pytest.param({"default_pool": {"initial_node_count": 9}}, {}, id="C43-default-pool-only-at-creation"),
        pytest.param({"version": "1.35"}, {"currentMasterVersion": "1.36.0-gke.1"}, id="newer-than-wanted"),
    ],
)
def test_no_drift(wanted, live):
    assert not clusters.plan(PROJECT, {"name": "demo", **wanted}, {"name": "demo", **live}).changed


def test_what_only_creation_sets_is_never_recreated():
    plan = clusters.plan(PROJECT, {"name": "demo", "dataplane_v2": True}, created({}))
    assert [change.option for change in plan.recreation] == ["dataplane_v2"]
    assert "only creation can set" in plan.consequence


def test_deleting_a_cluster_names_the_pools_that_go_with_it():
    plan = clusters.deletion("demo", created({}))
    assert plan.before == {"name": "demo", "node_pools": ["default-pool"]}
    assert not clusters.deletion("demo", None).changed


def test_a_repository_is_changed_in_one_request_with_a_mask():
    live = {"format": "DOCKER", "labels": {"old": "1"}, "description": "a"}
    wanted = {"name": "r", "format": "docker", "labels": {"new": "2"}, "immutable_tags": True}
    [step] = repositories.plan(wanted, live).steps
    assert step.request == {
        "repository": {"labels": {"old": "1", "new": "2"}, "dockerConfig": {"immutableTags": True}},
        "updateMask": "dockerConfig,labels",
    }
    assert repositories.plan({**wanted, "format": "python"}, live).recreation[0].option == "format"
    removed = repositories.plan({"name": "r"}, live, {"labels": ["old"]}).steps[0]
    assert removed.request["repository"] == {"labels": {}}


def test_the_address_for_images_is_the_servers_own_where_it_says_one():
    assert repositories.registry({}, "p", "us", "r") == "us-docker.pkg.dev/p/r"
    assert (
        repositories.registry({"registryUri": "127.0.0.1:5000/p/r"}, "p", "us", "r") == "127.0.0.1:5000/p/r"
    )
