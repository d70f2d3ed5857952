# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""compute v1: what preflight checks and gcloud read, and the resource policies that pools name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from . import defaults, places
from .catalogue import MachineType
from .cloud import Cloud, rfc3339
from .errors import ApiError, invalid

Json = dict[str, Any]

BASE = "https://www.googleapis.com/compute/v1"
PAGE = 500
_FILTER = re.compile(r'\(?\s*(\w+)\s*(?:=|eq|:)\s*"?([^")\s]*)"?\s*\)?')


class Compute:
    """The Compute Engine API of one cloud."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    def project(self) -> Json:
        usage, limits = self.cloud.quota_usage(), self.cloud.quota_limits()
        return {
            "kind": "compute#project",
            "name": self.cloud.project,
            "id": self.cloud.project_number,
            "selfLink": self._link(),
            "quotas": [_quota(metric, limit, usage[metric]) for metric, limit in limits.items()],
        }

    def network(self, name: str) -> Json:
        """Return the one network there is: every project begins with ``default``."""
        self._known(name == "default", f"global/networks/{name}")
        return {
            "kind": "compute#network",
            "id": _identity(name),
            "name": name,
            "autoCreateSubnetworks": True,
            "selfLink": self._link(f"global/networks/{name}"),
        }

    def regions(self, query: Json) -> Json:
        return self._list("compute#regionList", map(self._region, places.REGIONS), query)

    def region(self, name: str) -> Json:
        self._known(name in places.REGIONS, f"regions/{name}")
        return self._region(name)

    def zones(self, query: Json) -> Json:
        return self._list("compute#zoneList", map(self._zone, places.all_zones()), query)

    def zone(self, name: str) -> Json:
        self._known(places.is_zone(name), f"zones/{name}")
        return self._zone(name)

    def machine_types(self, zone: str, query: Json) -> Json:
        self._known(places.is_zone(zone), f"zones/{zone}")
        found = (self._machine_type(zone, machine) for machine in places.machine_types(zone))
        return self._list("compute#machineTypeList", found, query)

    def machine_type(self, zone: str, name: str) -> Json:
        self._known(places.is_zone(zone), f"zones/{zone}")
        for machine in places.machine_types(zone):
            if machine.name == name:
                return self._machine_type(zone, machine)
        raise self._missing(f"zones/{zone}/machineTypes/{name}")

    def aggregated_machine_types(self, query: Json) -> Json:
        def of(zone: str) -> list[Json]:
            return [self._machine_type(zone, machine) for machine in places.machine_types(zone)]

        return self._aggregate("compute#machineTypeAggregatedList", "machineTypes", of, query)

    def accelerator_types(self, zone: str, query: Json) -> Json:
        self._known(places.is_zone(zone), f"zones/{zone}")
        return self._list("compute#acceleratorTypeList", self._accelerators(zone), query)

    def accelerator_type(self, zone: str, name: str) -> Json:
        self._known(places.is_zone(zone), f"zones/{zone}")
        for item in self._accelerators(zone):
            if item["name"] == name:
                return item
        raise self._missing(f"zones/{zone}/acceleratorTypes/{name}")

    def aggregated_accelerator_types(self, query: Json) -> Json:
        kind = "compute#acceleratorTypeAggregatedList"
        return self._aggregate(kind, "acceleratorTypes", self._accelerators, query)

    # Instance groups: one per node pool and zone.

    def instance_group_manager(self, zone: str, name: str) -> Json:
        rest = f"zones/{zone}/instanceGroupManagers/{name}"
        for cluster in self.cloud.state.clusters.values():
            for pool in cluster.pools.values():
                if self._link(rest) in pool.message.get("instanceGroupUrls", ()):
                    return {
                        "kind": "compute#instanceGroupManager",
                        "id": _identity(name),
                        "name": name,
                        "zone": self._link(f"zones/{zone}"),
                        "selfLink": self._link(rest),
                        "targetSize": pool.wanted.get(zone, 0),
                    }
        raise self._missing(rest)

    # Resource policies: what guide-style TPU pools name as their placement policy.

    def resource_policies(self, region: str, query: Json) -> Json:
        self._known(region in places.REGIONS, f"regions/{region}")
        found = [p for key, p in self.cloud.state.policies.items() if key.startswith(f"{region}/")]
        return self._list("compute#resourcePolicyList", found, query)

    def resource_policy(self, region: str, name: str) -> Json:
        self._known(f"{region}/{name}" in self.cloud.state.policies, self._policy(region, name))
        return self.cloud.state.policies[f"{region}/{name}"]

    def insert_resource_policy(self, region: str, body: Json) -> Json:
        self._known(region in places.REGIONS, f"regions/{region}")
        name = body.get("name", "")
        if not name:
            raise invalid("Invalid value for field 'resource.name': ''. Name is required.")
        if f"{region}/{name}" in self.cloud.state.policies:
            path = f"projects/{self.cloud.project}/{self._policy(region, name)}"
            raise ApiError("ALREADY_EXISTS", f"The resource '{path}' already exists")
        self.cloud.state.policies[f"{region}/{name}"] = deepcopy(body) | {
            "kind": "compute#resourcePolicy",
            "id": str(int(self.cloud.token()[:15], 16)),
            "creationTimestamp": rfc3339(self.cloud.timestamp()),
            "region": self._link(f"regions/{region}"),
            "selfLink": self._link(self._policy(region, name)),
            "status": "READY",
        }
        self.cloud.changed("policy", f"{region}/{name}")
        return self._done("insert", region, name)

    def delete_resource_policy(self, region: str, name: str) -> Json:
        self.resource_policy(region, name)
        del self.cloud.state.policies[f"{region}/{name}"]
        self.cloud.changed("policy", f"{region}/{name}")
        return self._done("delete", region, name)

    def region_operation(self, region: str, name: str) -> Json:
        """Return a finished operation: policies are made at once, so there is no other kind."""
        return self._done("insert", region, "", name)

    def _done(self, kind: str, region: str, policy: str, name: str = "") -> Json:
        name = name or f"operation-{self.cloud.token()[:16]}"
        now = rfc3339(self.cloud.timestamp())
        return {
            "kind": "compute#operation",
            "name": name,
            "id": str(int(self.cloud.token()[:15], 16)),
            "operationType": kind,
            "status": "DONE",
            "progress": 100,
            "insertTime": now,
            "endTime": now,
            "region": self._link(f"regions/{region}"),
            "selfLink": self._link(f"regions/{region}/operations/{name}"),
            "targetLink": self._link(self._policy(region, policy)),
        }

    # Messages.

    def _region(self, name: str) -> Json:
        usage, limits = self.cloud.quota_usage(name), self.cloud.quota_limits(name)
        return {
            "kind": "compute#region",
            "id": _identity(name),
            "name": name,
            "description": name,
            "status": "UP",
            "selfLink": self._link(f"regions/{name}"),
            "zones": [self._link(f"zones/{zone}") for zone in places.zones(name)],
            "quotas": [_quota(metric, limit, usage[metric]) for metric, limit in limits.items()],
        }

    def _zone(self, name: str) -> Json:
        return {
            "kind": "compute#zone",
            "id": _identity(name),
            "name": name,
            "description": name,
            "status": "UP",
            "region": self._link(f"regions/{places.region_of(name)}"),
            "selfLink": self._link(f"zones/{name}"),
        }

    def _machine_type(self, zone: str, machine: MachineType) -> Json:
        message: Json = {
            "kind": "compute#machineType",
            "id": _identity(machine.name),
            "name": machine.name,
            "description": f"{machine.cpus} vCPUs, {machine.memory_mib / 1024:g} GB RAM",
            "guestCpus": machine.cpus,
            "memoryMb": machine.memory_mib,
            "architecture": {"amd64": "X86_64", "arm64": "ARM64"}[machine.architecture],
            "isSharedCpu": machine.name in ("e2-micro", "e2-small", "e2-medium"),
            "zone": zone,
            "selfLink": self._link(f"zones/{zone}/machineTypes/{machine.name}"),
        }
        if machine.accelerators:
            message["accelerators"] = [
                {"guestAcceleratorType": item.type, "guestAcceleratorCount": item.count}
                for item in machine.accelerators
            ]
        return message

    def _accelerators(self, zone: str) -> list[Json]:
        return [
            {
                "kind": "compute#acceleratorType",
                "id": _identity(name),
                "name": name,
                "description": places.MODELS[name][0],
                "maximumCardsPerInstance": places.MODELS[name][1],
                "zone": self._link(f"zones/{zone}"),
                "selfLink": self._link(f"zones/{zone}/acceleratorTypes/{name}"),
            }
            for name in places.OFFERED.get(zone, ())
        ]

    def _list(self, kind: str, items: Iterable[Json], query: Json) -> Json:
        found, token = page(matching(items, query.get("filter", "")), query)
        message = {"kind": kind, "items": found, "selfLink": self._link()}
        return defaults.strip(message | {"nextPageToken": token})  # type: ignore[no-any-return]

    def _aggregate(self, kind: str, field: str, of: Callable[[str], list[Json]], query: Json) -> Json:
        items: Json = {}
        for zone in places.all_zones():
            found = matching(of(zone), query.get("filter", ""))
            if found:
                items[f"zones/{zone}"] = {field: found}
            else:
                warning = f"There are no results for scope 'zones/{zone}' on this page."
                items[f"zones/{zone}"] = {"warning": {"code": "NO_RESULTS_ON_PAGE", "message": warning}}
        return {"kind": kind, "items": items, "selfLink": self._link()}

    def _link(self, rest: str = "") -> str:
        base = f"{BASE}/projects/{self.cloud.project}"
        return f"{base}/{rest}" if rest else base

    def _policy(self, region: str, name: str) -> str:
        return f"regions/{region}/resourcePolicies/{name}"

    def _known(self, known: bool, rest: str) -> None:  # noqa: FBT001 - reads as an assertion
        if not known:
            raise self._missing(rest)

    def _missing(self, rest: str) -> ApiError:
        path = f"projects/{self.cloud.project}/{rest}"
        return ApiError("NOT_FOUND", f"The resource '{path}' was not found")


def _quota(metric: str, limit: float, usage: float) -> Json:
    return {"metric": metric, "limit": float(limit), "usage": float(usage)}


def _identity(name: str) -> str:
    """Return a number for an id field that is always the same for a name."""
    return str(int.from_bytes(name.encode()[-7:], "big"))


def matching(items: Iterable[Json], expression: str) -> list[Json]:
    """Return the items that fit a filter of the form ``field = value`` (several are ANDed).

    Anything more elaborate lets all through: gcloud filters again by itself.
    """
    terms = _FILTER.findall(expression) if expression else []
    supported = not re.search(r"[*|<>!]| OR ", expression)
    return [
        item
        for item in items
        if not supported or all(str(item.get(field, value)).endswith(value) for field, value in terms)
    ]


def page(items: list[Json], query: Json) -> tuple[list[Json], str]:
    """Return one page of items and the token of the next, by ``maxResults`` and ``pageToken``."""
    size = min(int(query.get("maxResults") or PAGE), PAGE) or PAGE
    start = int(query.get("pageToken") or 0)
    rest = start + size
    return items[start:rest], str(rest) if rest < len(items) else ""
