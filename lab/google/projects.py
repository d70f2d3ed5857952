# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""cloudresourcemanager v1 and v3, serviceusage v1, cloudquotas v1: what gcloud and a preflight read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import places, quota
from .cloud import Cloud
from .errors import ApiError, permission_denied

Json = dict[str, Any]

SERVICES: Mapping[str, str] = {
    "container.googleapis.com": "Kubernetes Engine API",
    "compute.googleapis.com": "Compute Engine API",
    "artifactregistry.googleapis.com": "Artifact Registry API",
    "serviceusage.googleapis.com": "Service Usage API",
    "cloudresourcemanager.googleapis.com": "Cloud Resource Manager API",
    "iam.googleapis.com": "Identity and Access Management (IAM) API",
    "cloudquotas.googleapis.com": "Cloud Quotas API",
    "monitoring.googleapis.com": "Cloud Monitoring API",
    "logging.googleapis.com": "Cloud Logging API",
}
CREATED = "2026-01-01T00:00:00Z"


class Projects:
    """The project and which APIs it may use."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    def check(self, project: str) -> None:
        """Refuse any project but the cloud's, as Google refuses one that is not yours."""
        if project not in (self.cloud.project, self.cloud.project_number):
            raise permission_denied("resourcemanager.projects.get", f"projects/{project}")

    def project_v1(self) -> Json:
        return {
            "projectId": self.cloud.project,
            "projectNumber": self.cloud.project_number,
            "name": self.cloud.project,
            "lifecycleState": "ACTIVE",
            "createTime": CREATED,
        }

    def project_v3(self) -> Json:
        return {
            "name": f"projects/{self.cloud.project_number}",
            "projectId": self.cloud.project,
            "displayName": self.cloud.project,
            "state": "ACTIVE",
            "createTime": CREATED,
        }

    def test_permissions(self, request: Json) -> Json:
        """Return those of the asked permissions that no fault takes away."""
        asked = request.get("permissions", [])
        faults = self.cloud.faults
        return {"permissions": [p for p in asked if not faults.peek("permission-denied", permission=p)]}

    def service(self, name: str) -> Json:
        if name not in SERVICES:
            raise permission_denied("serviceusage.services.get", f"services/{name}")
        return {
            "name": f"projects/{self.cloud.project_number}/services/{name}",
            "parent": f"projects/{self.cloud.project_number}",
            "config": {"name": name, "title": SERVICES[name]},
            "state": "ENABLED" if self.enabled(name) else "DISABLED",
        }

    def services(self, query: Json) -> Json:
        wanted = query.get("filter", "").removeprefix("state:")
        found = [self.service(name) for name in SERVICES]
        return {"services": [item for item in found if wanted in ("", item["state"])]}

    def batch_services(self, names: list[str]) -> Json:
        return {"services": [self.service(name.rpartition("/")[2]) for name in names]}

    def enable(self, name: str) -> Json:
        """Enable an API; done at once, and it also ends the fault that disabled it."""
        service = self.service(name)
        for fault in self.cloud.faults.that_hit("service-disabled", service=name):
            self.cloud.faults.clear(fault.id)
        self.cloud.changed("service", name)
        return {
            "name": f"operations/acat.p2-{self.cloud.project_number}-{self.cloud.token()[:12]}",
            "done": True,
            "response": {
                "@type": "type.googleapis.com/google.api.serviceusage.v1.EnableServiceResponse",
                "service": service | {"state": "ENABLED"},
            },
        }

    def enabled(self, name: str) -> bool:
        return self.cloud.faults.peek("service-disabled", service=name) is None

    def quota_info(self, name: str) -> Json:
        """Return the limits per accelerator family (cloudquotas v1); the fault ``quota`` sets one.

        They are shown, not enforced: a pool of such a family is limited by ``GPUS_ALL_REGIONS`` alone.
        """
        if name not in quota.FAMILY_QUOTAS:
            raise ApiError("NOT_FOUND", f"Quota info {name} was not found.")
        dimension, families = quota.FAMILY_QUOTAS[name]
        faults = {fault["metric"]: fault["limit"] for fault in self.cloud.faults.that_hit("quota")}
        return {
            "name": f"projects/{self.cloud.project_number}/locations/global/services/compute.googleapis.com/"
            f"quotaInfos/{name}",
            "quotaId": name,
            "service": "compute.googleapis.com",
            "dimensions": [dimension, "region"],
            "dimensionsInfos": [
                {
                    "dimensions": {dimension: family},
                    "details": {"value": str(int(faults.get(family, quota.FAMILY_LIMIT)))},
                    "applicableLocations": list(places.REGIONS),
                }
                for family in families
            ],
        }

    def operation(self, name: str) -> Json:
        """Return an operation of ``enable``: they are all done."""
        if not name.startswith("acat."):
            raise ApiError("NOT_FOUND", f"Not found: operations/{name}.")
        return {"name": f"operations/{name}", "done": True, "response": {}}
