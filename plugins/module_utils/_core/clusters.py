# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters: what an option means in the API, what changes in place, and the steps from live to wanted.

Source: the container v1 API (Cluster, ClusterUpdate). ``UpdateCluster`` takes one ``desired_*`` concern
per request, so every concern is a step of its own. What only creation can set is refused, never recreated:
a cluster holds pools and workloads that the caller did not name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .change import Concern, Plan, Step, by_option, differences, updates
from .fields import Field, Message, Options, put, stated, to_message, to_options
from .node_pools import message as pool_message
from .versions import version_to_compare

CHANNELS = {
    "none": "UNSPECIFIED",
    "rapid": "RAPID",
    "regular": "REGULAR",
    "stable": "STABLE",
    "extended": "EXTENDED",
}
DATAPATHS = {False: "LEGACY_DATAPATH", True: "ADVANCED_DATAPATH"}
GATEWAY_CHANNELS = {
    "disabled": "CHANNEL_DISABLED",
    "standard": "CHANNEL_STANDARD",
    "experimental": "CHANNEL_EXPERIMENTAL",
}
OTEL_SCOPES = {
    "none": "NONE",
    "collection_and_instrumentation_components": "COLLECTION_AND_INSTRUMENTATION_COMPONENTS",
}
MONITORING_COMPONENTS = (
    "SYSTEM_COMPONENTS",
    "APISERVER",
    "SCHEDULER",
    "CONTROLLER_MANAGER",
    "STORAGE",
    "HPA",
    "POD",
    "DAEMONSET",
    "DEPLOYMENT",
    "STATEFULSET",
    "CADVISOR",
    "KUBELET",
    "DCGM",
    "JOBSET",
)
AUTO_MONITORING_SCOPES = {"none": "NONE", "all": "ALL"}
AUTOSCALING_PROFILES = {"balanced": "BALANCED", "optimize_utilization": "OPTIMIZE_UTILIZATION"}
RESOURCE_LIMIT = {"resource_type": "resourceType", "minimum": "minimum", "maximum": "maximum"}

FIELDS: tuple[Field, ...] = (
    Field("version", "currentMasterVersion", "version"),
    Field("release_channel", "releaseChannel.channel", "release_channel", "enum", CHANNELS, "none"),
    Field("labels", "resourceLabels", "labels", "map"),
    Field("locations", "locations", "locations", "set"),
    Field("network", "network", kind="resource"),
    Field("subnetwork", "subnetwork", kind="resource"),
    Field(
        "dataplane_v2",
        "networkConfig.datapathProvider",
        kind="enum",
        words=DATAPATHS,
        absent=False,
    ),
    Field("multi_networking", "networkConfig.enableMultiNetworking", kind="switch"),
    Field(
        "gateway_api",
        "networkConfig.gatewayApiConfig.channel",
        "gateway_api",
        "enum",
        GATEWAY_CHANNELS,
        "disabled",
    ),
    Field("workload_pool", "workloadIdentityConfig.workloadPool", "workload_identity"),
    Field("addons.gcs_fuse", "addonsConfig.gcsFuseCsiDriverConfig.enabled", "addons", "switch"),
    Field("addons.ray", "addonsConfig.rayOperatorConfig.enabled", "addons", "switch"),
    Field(
        "addons.slice_controller",
        "addonsConfig.sliceControllerConfig.enabled",
        "addons",
        "switch",
        since="2.63.0",
    ),
    Field(
        "monitoring.managed_prometheus",
        "monitoringConfig.managedPrometheusConfig.enabled",
        "monitoring",
        "switch",
    ),
    Field(
        "monitoring.auto_monitoring",
        "monitoringConfig.managedPrometheusConfig.autoMonitoringConfig.scope",
        "monitoring",
        "enum",
        AUTO_MONITORING_SCOPES,
        "none",
        since="2.59.0",
    ),
    Field(
        "monitoring.components",
        "monitoringConfig.componentConfig.enableComponents",
        "monitoring",
        "set",
        merges=True,
    ),
    Field(
        "managed_otel_scope",
        "managedOpentelemetryConfig.scope",
        "managed_otel",
        "enum",
        OTEL_SCOPES,
        "none",
        since="2.63.0",
    ),
    Field(
        "endpoints.dns_external_traffic",
        "controlPlaneEndpointsConfig.dnsEndpointConfig.allowExternalTraffic",
        "endpoints",
        "switch",
        since="2.56.0",
    ),
    Field(
        "endpoints.ip",
        "controlPlaneEndpointsConfig.ipEndpointsConfig.enabled",
        "endpoints",
        "switch",
        since="2.56.0",
    ),
    Field(
        "autoscaling.node_auto_provisioning",
        "autoscaling.enableNodeAutoprovisioning",
        "autoscaling",
        "switch",
    ),
    Field(
        "autoscaling.resource_limits",
        "autoscaling.resourceLimits",
        "autoscaling",
        "entries",
        RESOURCE_LIMIT,
    ),
    Field(
        "autoscaling.profile",
        "autoscaling.autoscalingProfile",
        "autoscaling",
        "enum",
        AUTOSCALING_PROFILES,
        "balanced",
    ),
    Field(
        "autoscaling.default_compute_class",
        "autoscaling.defaultComputeClassConfig.enabled",
        "autoscaling",
        "switch",
        since="2.59.0",
    ),
)
DEFAULT_POOL = "default-pool"
CREATION_ONLY = "only creation can set them: state the live values, or delete the cluster in a run of its own"


def _desired(name: str, key: str, path: str, effect: str = "", *, whole: bool = False) -> Concern:
    return Concern(name, "update_cluster", {f"update.{key}": path}, whole, effect)


CONCERNS: tuple[Concern, ...] = (
    Concern(
        "labels",
        "set_labels",
        {"resourceLabels": "resourceLabels", "labelFingerprint": "labelFingerprint"},
        whole=True,
    ),
    _desired("release_channel", "desiredReleaseChannel", "releaseChannel"),
    _desired("version", "desiredMasterVersion", "currentMasterVersion", "the control plane is upgraded"),
    _desired("locations", "desiredLocations", "locations"),
    _desired("workload_identity", "desiredWorkloadIdentityConfig", "workloadIdentityConfig"),
    _desired("gateway_api", "desiredGatewayApiConfig", "networkConfig.gatewayApiConfig"),
    _desired("addons", "desiredAddonsConfig", "addonsConfig"),
    _desired("monitoring", "desiredMonitoringConfig", "monitoringConfig", whole=True),
    _desired("managed_otel", "desiredManagedOpentelemetryConfig", "managedOpentelemetryConfig"),
    _desired("endpoints", "desiredControlPlaneEndpointsConfig", "controlPlaneEndpointsConfig"),
    _desired("autoscaling", "desiredClusterAutoscaling", "autoscaling", whole=True),
)


def message(options: Options, project: str) -> Message:
    """Return the Cluster message that creates the cluster the options describe.

    The default pool starts with one node per zone unless ``default_pool`` says otherwise.
    """
    body = to_message(FIELDS, with_project(options, project))
    version = body.pop("currentMasterVersion", None)
    if version:
        body["initialClusterVersion"] = version
    body["name"] = options["name"]
    pool = {"name": DEFAULT_POOL, **(options.get("default_pool") or {})}
    body["nodePools"] = [pool_message(pool)]
    return body


def with_project(options: Options, project: str) -> dict[str, Any]:
    """Return the options with the workload pool spelled out: there is one per project."""
    identity = options.get("workload_identity")
    if identity is None:
        return dict(options)
    return {**options, "workload_pool": f"{project}.svc.id.goog" if identity else ""}


def plan(
    project: str,
    wanted: Options,
    live: Mapping[str, Any] | None,
    removals: Mapping[str, Iterable[str]] | None = None,
) -> Plan:
    """Return the steps from the live cluster (``None``: absent) to the wanted one.

    :param wanted: options; one that is ``None`` is not stated and left alone. ``default_pool`` acts at
        creation only.
    :param live: the Cluster message of the API.
    :param removals: label keys to take away, as ``{"labels": [...]}``.
    """
    subject = f"Cluster {wanted['name']}"
    if live is None:
        after = {"name": wanted["name"], **stated(FIELDS, with_project(wanted, project))}
        body = {"cluster": message(wanted, project)}
        return Plan(subject, (Step("create", subject, "create_cluster", body),), {}, after)
    have = to_options(FIELDS, live)
    have["version"], notes = version_to_compare(wanted.get("version"), have["version"], subject)
    asked = with_project(wanted, project)
    found = differences(FIELDS, asked, have, removals or {})
    changes = tuple(change for _each, change in found)
    fixed = tuple(change for each, change in found if not each.concern)
    return Plan(
        subject,
        updates(subject, CONCERNS, live, found),
        by_option(changes, "before"),
        by_option(changes, "after"),
        fixed,
        CREATION_ONLY if fixed else "",
        notes,
    )


def deletion(name: str, live: Mapping[str, Any] | None) -> Plan:
    """Return the step that removes a cluster with all its pools, none if it is not there."""
    subject = f"Cluster {name}"
    if live is None:
        return Plan(subject)
    before: Message = {"name": name}
    put(before, "node_pools", [pool["name"] for pool in live.get("nodePools", ())])
    return Plan(subject, (Step("delete", subject, "delete_cluster"),), before)
