# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which request goes to which method: the REST surface of the simulated Google, as a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import enums, projects
from .cloud import Cloud
from .compute import Compute
from .container import Container
from .errors import permission_denied, service_disabled
from .projects import Projects
from .registry import Registry
from .schema import Schemas

Json = dict[str, Any]

CONTAINER = "/{version}/projects/{project}/{kind}/{location}"
REGISTRY = "/v1/projects/{project}/locations/{location}"
COMPUTE = "/compute/v1/projects/{project}"
# What a path parameter may be, where "anything up to the next slash or colon" is too much.
PARAMETERS = {"version": "v1(?:beta1)?", "kind": "locations|zones", "service": r"[^/]+"}
# Methods that change nothing although they are POSTs.
READING_POSTS = frozenset(
    {"cloudresourcemanager.projects.testIamPermissions", "compute.regionOperations.wait"}
)


@dataclass(frozen=True)
class Request:
    """One parsed HTTP request."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any = None


@dataclass(frozen=True)
class Call:
    """A request that found its method: path parameters, query and checked body."""

    parameters: Mapping[str, str]
    query: Mapping[str, str]
    body: Json

    def __getitem__(self, name: str) -> str:
        return self.parameters[name]


@dataclass(frozen=True)
class Route:
    """One API method; ``request`` and ``response`` name its messages in the protocol."""

    http: str
    pattern: re.Pattern[str]
    id: str
    handler: Callable[[Call], Json]
    permission: str
    request: str
    response: str

    @property
    def writes(self) -> bool:
        return self.http != "GET" and self.id not in READING_POSTS

    @property
    def service(self) -> str:
        return f"{self.id.partition('.')[0]}.googleapis.com"


class Api:
    """All services of one cloud behind one address."""

    def __init__(self, cloud: Cloud, schemas: Schemas) -> None:
        self.cloud = cloud
        self.schemas = schemas
        self.container = Container(cloud)
        self.registry = Registry(cloud)
        self.compute = Compute(cloud)
        self.projects = Projects(cloud)
        self.routes: list[Route] = []
        self._container_routes()
        self._registry_routes()
        self._compute_routes()
        self._project_routes()

    def find(self, request: Request) -> tuple[Route, dict[str, str]] | None:
        """Return the route of a request and its path parameters."""
        for route in self.routes:
            match = route.pattern.fullmatch(request.path)
            if match and route.http == request.method:
                return route, match.groupdict()
        return None

    def call(self, route: Route, parameters: Mapping[str, str], request: Request) -> Json:
        """Carry out a request; raises :class:`ApiError`."""
        version = parameters.get("version", "v1")
        api = f"{route.id.partition('.')[0]}.{version}"
        numbers = enums.wanted(request.query)
        body = request.body
        if numbers and body is not None:
            body = enums.to_names(body, enums.descriptor(api, route.request))
        if body is not None or not api.startswith("compute"):  # compute's document is 5 MB
            body = self.schemas.check(api, route.id, request.query, body)
        with self.cloud.lock:
            self.cloud.advance()
            self._admit(route, parameters)
            answer = route.handler(Call(parameters, request.query, body or {}))
        if numbers:
            answer = enums.to_numbers(answer, enums.descriptor(api, route.response))
        return answer

    def settle(self) -> None:
        """Let time pass: end what is due."""
        with self.cloud.lock:
            self.cloud.advance()
            self.registry.settle()

    def _admit(self, route: Route, parameters: Mapping[str, str]) -> None:
        project = parameters.get("project", self.cloud.project)
        self.projects.check(project)
        service = route.service
        if service != "serviceusage.googleapis.com" and not self.projects.enabled(service):
            number = self.cloud.project_number
            raise service_disabled(service, projects.SERVICES[service], number)
        denied = route.permission and self.cloud.faults.take("permission-denied", permission=route.permission)
        if denied:
            raise permission_denied(route.permission, f"projects/{project}")

    def _add(
        self,
        http: str,
        path: str,
        method: str,
        handler: Callable[[Call], Json],
        **names: str,
    ) -> None:
        pattern = re.compile(
            re.sub(
                r"\{(\w+)\}",
                lambda found: f"(?P<{found[1]}>{PARAMETERS.get(found[1], '[^/:]+')})",
                path.replace(".", r"\."),
            )
        )
        full = {"permission": "", "request": "", "response": ""} | names
        self.routes.append(Route(http, pattern, method, handler, **full))

    def _container_routes(self) -> None:
        c, base, prefix = self.container, CONTAINER, "container.projects.locations"
        where = base + "/clusters/{cluster}"
        pool = where + "/nodePools/{pool}"
        read, change = "container.clusters.get", "container.clusters.update"
        make, gone = "container.clusters.create", "container.clusters.delete"

        def add(  # noqa: PLR0917 - rows of a table
            http: str,
            path: str,
            method: str,
            handler: Callable[[Call], Json],
            permission: str,
            request: str = "",
            response: str = "Operation",
        ) -> None:
            self._add(
                http,
                path,
                f"{prefix}.{method}",
                handler,
                permission=permission,
                request=request,
                response=response,
            )

        # fmt: off
        add("GET", base + "/serverConfig", "getServerConfig",
            lambda r: c.server_config(r["location"]), "", "", "ServerConfig")
        add("GET", base + "/clusters", "clusters.list",
            lambda r: c.list_clusters(r["location"]),
            "container.clusters.list", "", "ListClustersResponse")
        add("POST", base + "/clusters", "clusters.create",
            lambda r: c.create_cluster(r["location"], r.body), make, "CreateClusterRequest")
        add("GET", where, "clusters.get",
            lambda r: c.get_cluster(r["location"], r["cluster"]), read, "", "Cluster")
        add("DELETE", where, "clusters.delete",
            lambda r: c.delete_cluster(r["location"], r["cluster"]), gone)
        add("PUT", where, "clusters.update",
            lambda r: c.update_cluster(r["location"], r["cluster"], r.body),
            change, "UpdateClusterRequest")
        add("POST", where + ":setResourceLabels", "clusters.setResourceLabels",
            lambda r: c.set_labels(r["location"], r["cluster"], r.body), change, "SetLabelsRequest")
        add("POST", where + ":setLocations", "clusters.setLocations",
            lambda r: c.set_locations(r["location"], r["cluster"], r.body),
            change, "SetLocationsRequest")
        add("POST", where + ":updateMaster", "clusters.updateMaster",
            lambda r: c.update_master(r["location"], r["cluster"], r.body),
            change, "UpdateMasterRequest")
        add("GET", where + "/nodePools", "clusters.nodePools.list",
            lambda r: c.list_node_pools(r["location"], r["cluster"]),
            read, "", "ListNodePoolsResponse")
        add("POST", where + "/nodePools", "clusters.nodePools.create",
            lambda r: c.create_node_pool(r["location"], r["cluster"], r.body),
            change, "CreateNodePoolRequest")
        add("GET", pool, "clusters.nodePools.get",
            lambda r: c.get_node_pool(r["location"], r["cluster"], r["pool"]), read, "", "NodePool")
        add("DELETE", pool, "clusters.nodePools.delete",
            lambda r: c.delete_node_pool(r["location"], r["cluster"], r["pool"]), change)
        add("PUT", pool, "clusters.nodePools.update",
            lambda r: c.update_node_pool(r["location"], r["cluster"], r["pool"], r.body),
            change, "UpdateNodePoolRequest")
        add("POST", pool + ":setAutoscaling", "clusters.nodePools.setAutoscaling",
            lambda r: c.set_autoscaling(r["location"], r["cluster"], r["pool"], r.body),
            change, "SetNodePoolAutoscalingRequest")
        add("POST", pool + ":setManagement", "clusters.nodePools.setManagement",
            lambda r: c.set_management(r["location"], r["cluster"], r["pool"], r.body),
            change, "SetNodePoolManagementRequest")
        add("POST", pool + ":setSize", "clusters.nodePools.setSize",
            lambda r: c.set_size(r["location"], r["cluster"], r["pool"], r.body),
            change, "SetNodePoolSizeRequest")
        add("GET", base + "/operations", "operations.list",
            lambda r: c.list_operations(r["location"]),
            "container.operations.list", "", "ListOperationsResponse")
        add("GET", base + "/operations/{operation}", "operations.get",
            lambda r: self._operation(r["location"], r["operation"]),
            "container.operations.get")
        add("POST", base + "/operations/{operation}:cancel", "operations.cancel",
            lambda r: c.cancel_operation(r["location"], r["operation"]),
            change, "CancelOperationRequest")
        # fmt: on

    def _operation(self, location: str, name: str) -> Json:
        """Container and Artifact Registry share this path once both live at one address."""
        if self.registry.has_operation(location, name):
            return self.registry.get_operation(location, name)
        return self.container.get_operation(location, name)

    def _registry_routes(self) -> None:
        g, prefix = self.registry, "artifactregistry.projects.locations.repositories"
        # gcloud asks for the locations before it lists repositories everywhere.
        for version in ("v1", "v1beta2"):
            self._add(
                "GET",
                f"/{version}/projects/{{project}}/locations",
                "artifactregistry.projects.locations.list",
                lambda _: g.list_locations(),
                permission="artifactregistry.locations.list",
            )
        path = REGISTRY + "/repositories"
        one = path + "/{repository}"
        # fmt: off
        self._add(
            "GET", path, f"{prefix}.list",
            lambda r: g.list_repositories(r["location"]),
            permission="artifactregistry.repositories.list", response="ListRepositoriesResponse")
        self._add(
            "POST", path, f"{prefix}.create",
            lambda r: g.create_repository(r["location"], r.query.get("repositoryId", ""), r.body),
            permission="artifactregistry.repositories.create", request="Repository")
        self._add(
            "GET", one, f"{prefix}.get",
            lambda r: g.get_repository(r["location"], r["repository"]),
            permission="artifactregistry.repositories.get", response="Repository")
        self._add(
            "PATCH", one, f"{prefix}.patch",
            lambda r: g.update_repository(
                r["location"], r["repository"], r.body, r.query.get("updateMask", "")),
            permission="artifactregistry.repositories.update",
            request="Repository", response="Repository")
        self._add(
            "DELETE", one, f"{prefix}.delete",
            lambda r: g.delete_repository(r["location"], r["repository"]),
            permission="artifactregistry.repositories.delete")
        # fmt: on

    def _compute_routes(self) -> None:
        c, base = self.compute, COMPUTE
        zone, region = base + "/zones/{zone}", base + "/regions/{region}"
        policies = region + "/resourcePolicies"
        # fmt: off
        for http, path, method, handler in (
            ("GET", base, "projects.get", lambda _: c.project()),
            ("GET", base + "/global/networks/{name}", "networks.get", lambda r: c.network(r["name"])),
            ("GET", base + "/regions", "regions.list", lambda r: c.regions(r.query)),
            ("GET", region, "regions.get", lambda r: c.region(r["region"])),
            ("GET", base + "/zones", "zones.list", lambda r: c.zones(r.query)),
            ("GET", zone, "zones.get", lambda r: c.zone(r["zone"])),
            ("GET", base + "/aggregated/machineTypes", "machineTypes.aggregatedList",
             lambda r: c.aggregated_machine_types(r.query)),
            ("GET", zone + "/machineTypes", "machineTypes.list",
             lambda r: c.machine_types(r["zone"], r.query)),
            ("GET", zone + "/machineTypes/{name}", "machineTypes.get",
             lambda r: c.machine_type(r["zone"], r["name"])),
            ("GET", base + "/aggregated/acceleratorTypes", "acceleratorTypes.aggregatedList",
             lambda r: c.aggregated_accelerator_types(r.query)),
            ("GET", zone + "/acceleratorTypes", "acceleratorTypes.list",
             lambda r: c.accelerator_types(r["zone"], r.query)),
            ("GET", zone + "/acceleratorTypes/{name}", "acceleratorTypes.get",
             lambda r: c.accelerator_type(r["zone"], r["name"])),
            ("GET", zone + "/instanceGroupManagers/{name}", "instanceGroupManagers.get",
             lambda r: c.instance_group_manager(r["zone"], r["name"])),
            ("GET", policies, "resourcePolicies.list",
             lambda r: c.resource_policies(r["region"], r.query)),
            ("POST", policies, "resourcePolicies.insert",
             lambda r: c.insert_resource_policy(r["region"], r.body)),
            ("GET", policies + "/{name}", "resourcePolicies.get",
             lambda r: c.resource_policy(r["region"], r["name"])),
            ("DELETE", policies + "/{name}", "resourcePolicies.delete",
             lambda r: c.delete_resource_policy(r["region"], r["name"])),
            ("GET", region + "/operations/{name}", "regionOperations.get",
             lambda r: c.region_operation(r["region"], r["name"])),
            ("POST", region + "/operations/{name}/wait", "regionOperations.wait",
             lambda r: c.region_operation(r["region"], r["name"])),
        ):
            self._add(
                http, path, f"compute.{method}", handler,
                permission=f"compute.{method.replace('aggregatedList', 'list')}")
        # fmt: on

    def _project_routes(self) -> None:
        p, services = self.projects, "/v1/projects/{project}/services"
        manager, usage = "cloudresourcemanager.projects", "serviceusage.services"
        reads = "resourcemanager.projects.get"
        # fmt: off
        self._add(
            "GET", "/v1/projects", f"{manager}.list",
            lambda _: {"projects": [p.project_v1()]})
        self._add(
            "GET", "/v1/projects/{project}", f"{manager}.get",
            lambda _: p.project_v1(), permission=reads)
        self._add(
            "GET", "/v3/projects/{project}", f"{manager}.get",
            lambda _: p.project_v3(), permission=reads)
        for version in ("v1", "v3"):
            self._add(
                "POST", f"/{version}/projects/{{project}}:testIamPermissions",
                f"{manager}.testIamPermissions", lambda r: p.test_permissions(r.body))
        self._add("GET", services, f"{usage}.list", lambda r: p.services(dict(r.query)))
        self._add(
            "GET", services + ":batchGet", f"{usage}.batchGet",
            lambda r: p.batch_services(r.query.get("names", "").split(",")))
        self._add(
            "GET", services + "/{service}", f"{usage}.get",
            lambda r: p.service(r["service"]), permission=f"{usage}.get")
        self._add(
            "POST", services + "/{service}:enable", f"{usage}.enable",
            lambda r: p.enable(r["service"]), permission=f"{usage}.enable")
        self._add(
            "GET", "/v1/projects/{project}/locations/global/services/{service}/quotaInfos/{quota}",
            "cloudquotas.projects.locations.services.quotaInfos.get",
            lambda r: p.quota_info(r["quota"]), permission="cloudquotas.quotas.get")
        self._add(
            "GET", "/v1/operations/{operation}", "serviceusage.operations.get",
            lambda r: p.operation(r["operation"]))
        # fmt: on
