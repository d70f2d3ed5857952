# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of object that the collection reads and writes, and the paths the API has for them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Resource:
    """One kind of object as the API addresses it; ``group`` is empty for the core API."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        parts = [root + inside, self.plural, name, subresource]
        return "/".join(part for part in parts if part)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


DRA = "resource.k8s.io"
CLAIMS = Resource(DRA, "v1", "resourceclaims", "ResourceClaim")
CLAIM_TEMPLATES = Resource(DRA, "v1", "resourceclaimtemplates", "ResourceClaimTemplate")
SLICES = Resource(DRA, "v1", "resourceslices", "ResourceSlice", namespaced=False)
DEVICE_CLASSES = Resource(DRA, "v1", "deviceclasses", "DeviceClass", namespaced=False)
PODS = Resource("", "v1", "pods", "Pod")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
EVENTS = Resource("", "v1", "events", "Event")
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
SECRETS = Resource("", "v1", "secrets", "Secret")
RESOURCE_QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet")
AUTOSCALERS = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
DISRUPTION_BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
COMPUTE_CLASSES = Resource("cloud.google.com", "v1", "computeclasses", "ComputeClass", namespaced=False)
