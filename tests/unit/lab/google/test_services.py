# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Artifact Registry, Compute, Resource Manager and Service Usage: the reads and the few changes."""

from __future__ import annotations

import pytest

REGION = "/v1/projects/test-project/locations/us-central1"
REPOSITORIES = REGION + "/repositories"
REPOSITORY = REPOSITORIES + "/dra-drivers"
COMPUTE = "/compute/v1/projects/test-project"
ZONE = COMPUTE + "/zones/us-central1-a"


@pytest.fixture
def repository(google):
    google.change("POST", REPOSITORIES, {"format": "DOCKER", "description": "d"}, repositoryId="dra-drivers")
    return google


def test_repository_is_there_when_its_operation_is_done(google):
    status, operation = google.ask("POST", REPOSITORIES, {"format": "DOCKER"}, repositoryId="dra-drivers")
    assert status == 200
    assert "done" not in operation
    assert operation["name"].startswith("projects/test-project/locations/us-central1/operations/")
    assert google.refused("GET", REPOSITORY)[0] == 404
    done = google.ended(operation)
    assert done["response"] == {
        "@type": "type.googleapis.com/google.devtools.artifactregistry.v1.Repository",
        **google.get(REPOSITORY),
    }


@pytest.mark.parametrize(
    ("registry", "uri"),
    [
        pytest.param("", "us-central1-docker.pkg.dev/test-project/dra-drivers", id="google"),
        pytest.param("127.0.0.1:5000", "127.0.0.1:5000/test-project/dra-drivers", id="lab"),
    ],
)
def test_registry_uri(make_google, registry, uri):
    google = make_google(registry=registry)
    google.change("POST", REPOSITORIES, {"format": "DOCKER"}, repositoryId="dra-drivers")
    assert google.get(REPOSITORY)["registryUri"] == uri


def test_repository_update_takes_the_mask(repository):
    body = {"description": "new", "labels": {"team": "ml"}}
    repository.ask("PATCH", REPOSITORY, body, updateMask="labels")
    after = repository.get(REPOSITORY)
    assert (after["description"], after["labels"]) == ("d", {"team": "ml"})


REPOSITORY_REFUSALS = {
    "exists": (("POST", REPOSITORIES), {"format": "DOCKER"}, {"repositoryId": "dra-drivers"}, 409),
    "format": (("POST", REPOSITORIES), {"format": "MAVEN"}, {"repositoryId": "x"}, 400),
    "id": (("POST", REPOSITORIES), {"format": "DOCKER"}, {"repositoryId": "X"}, 400),
    "immutable": (("PATCH", REPOSITORY), {"format": "MAVEN"}, {"updateMask": "format"}, 400),
    "missing": (("DELETE", REPOSITORIES + "/none"), None, {}, 404),
    "location": (
        ("POST", REPOSITORIES.replace("us-central1", "mars1")),
        {"format": "DOCKER"},
        {"repositoryId": "x"},
        400,
    ),
}


@pytest.mark.parametrize(
    ("request_line", "body", "query", "code"),
    REPOSITORY_REFUSALS.values(),
    ids=REPOSITORY_REFUSALS.keys(),
)
def test_repository_is_refused(repository, request_line, body, query, code):
    method, path = request_line
    assert repository.refused(method, path, body, **query)[0] == code


def test_failing_repository_operation(google):
    google.faults.set("operation-fails", type="CREATE_REPOSITORY")
    done = google.change("POST", REPOSITORIES, {"format": "DOCKER"}, repositoryId="x")
    assert done["error"] == {"code": 13, "message": "Internal error."}
    assert google.get(REPOSITORIES) == {}


def test_repository_is_gone_after_its_deletion(repository):
    repository.change("DELETE", REPOSITORY)
    assert repository.get(REPOSITORIES) == {}


def quotas(google):
    region = google.get(COMPUTE + "/regions/us-central1")
    return {quota["metric"]: quota for quota in region["quotas"]}


def test_region_quota_counts_what_node_pools_use(gpu):
    found = quotas(gpu)
    assert found["PREEMPTIBLE_NVIDIA_L4_GPUS"]["usage"] == 1.0
    assert found["NVIDIA_L4_GPUS"]["usage"] == 0.0
    assert found["CPUS"]["usage"] == 6.0  # three e2-medium
    assert found["IN_USE_ADDRESSES"]["usage"] == 4.0
    project = {q["metric"]: q["usage"] for q in gpu.get(COMPUTE)["quotas"]}
    assert project["GPUS_ALL_REGIONS"] == 1.0


def test_quota_fault_is_what_a_preflight_reads(google):
    google.faults.set("quota", metric="PREEMPTIBLE_NVIDIA_L4_GPUS", limit=2)
    assert quotas(google)["PREEMPTIBLE_NVIDIA_L4_GPUS"]["limit"] == 2.0


def test_accelerators_of_a_zone(google):
    items = google.get(ZONE + "/acceleratorTypes")["items"]
    by_name = {item["name"]: item["maximumCardsPerInstance"] for item in items}
    assert by_name["nvidia-l4"] == 8
    one = google.get(COMPUTE + "/aggregated/acceleratorTypes", filter="name = nvidia-b200")
    zones = {zone for zone, found in one["items"].items() if "acceleratorTypes" in found}
    assert zones == {f"zones/us-central1-{z}" for z in "abc"} | {"zones/us-east4-b"}


def test_machine_type_of_a_zone(google):
    machine = google.get(ZONE + "/machineTypes/g2-standard-8")
    assert (machine["guestCpus"], machine["memoryMb"]) == (8, 32768)
    assert machine["accelerators"] == [{"guestAcceleratorType": "nvidia-l4", "guestAcceleratorCount": 1}]
    status, error = google.refused("GET", COMPUTE + "/zones/us-central1-f/machineTypes/g2-standard-8")
    assert status == 404
    assert error["message"] == (
        "The resource 'projects/test-project/zones/us-central1-f/machineTypes/g2-standard-8' was not found"
    )


def test_lists_come_in_pages(google):
    first = google.get(ZONE + "/machineTypes", maxResults="100")
    rest = google.get(ZONE + "/machineTypes", pageToken=first["nextPageToken"])
    names = [item["name"] for item in first["items"] + rest["items"]]
    assert len(first["items"]) == 100
    assert len(names) == len(set(names))
    assert "nextPageToken" not in rest


def test_resource_policy(google):
    policies = COMPUTE + "/regions/us-central1/resourcePolicies"
    body = {"name": "tpu", "workloadPolicy": {"type": "HIGH_THROUGHPUT"}}
    status, operation = google.ask("POST", policies, body)
    assert (status, operation["status"]) == (200, "DONE")
    assert google.get(policies + "/tpu")["workloadPolicy"] == {"type": "HIGH_THROUGHPUT"}
    assert google.refused("POST", policies, body)[0] == 409
    google.ask("DELETE", policies + "/tpu")
    assert google.refused("GET", policies + "/tpu")[0] == 404


def test_project_by_id_and_number_in_both_versions(google):
    assert google.get("/v1/projects/test-project")["projectNumber"] == "123456789012"
    assert google.get("/v3/projects/123456789012")["name"] == "projects/123456789012"
    status, error = google.refused("GET", "/v1/projects/other")
    assert (status, error["status"]) == (403, "PERMISSION_DENIED")


def test_lists_of_projects_and_of_registry_locations(google):
    found = google.get("/v1/projects")["projects"]
    assert [project["projectId"] for project in found] == ["test-project"]
    locations = google.get("/v1beta2/projects/test-project/locations")["locations"]
    assert {"us", "us-central1"} <= {location["locationId"] for location in locations}


def test_posts_that_only_read_count_as_reads(google):
    google.ask("POST", "/v1/projects/test-project:testIamPermissions", {"permissions": []})
    google.ask("POST", COMPUTE + "/regions/us-central1/operations/operation-1/wait")
    assert (google.service.requests.reads, google.service.requests.writes) == (2, 0)


def test_permissions(google):
    google.faults.set("permission-denied", permission="container.clusters.create")
    asked = {"permissions": ["container.clusters.create", "container.clusters.get"]}
    _unused, answer = google.ask("POST", "/v1/projects/test-project:testIamPermissions", asked)
    assert answer == {"permissions": ["container.clusters.get"]}
    status, error = google.refused("POST", REGION + "/clusters", {"cluster": {"name": "demo"}})
    assert status == 403
    assert error["message"] == (
        'Required "container.clusters.create" permission(s) for "projects/test-project".'
    )
    assert error["details"][0]["reason"] == "IAM_PERMISSION_DENIED"


def test_service_is_disabled_until_it_is_enabled(google):
    services = "/v1/projects/test-project/services"
    google.faults.set("service-disabled", service="container.googleapis.com")
    assert google.get(services + "/container.googleapis.com")["state"] == "DISABLED"
    status, error = google.refused("GET", REGION + "/clusters")
    assert status == 403
    assert error["details"][0]["reason"] == "SERVICE_DISABLED"
    disabled = google.get(services, filter="state:DISABLED")["services"]
    assert [item["config"]["name"] for item in disabled] == ["container.googleapis.com"]
    google.ask("POST", services + "/container.googleapis.com:enable", {})
    assert google.get(REGION + "/clusters") == {}


def test_server_config(google):
    config = google.get(REGION + "/serverConfig")
    assert "1.36.0-gke.100" in config["validMasterVersions"]
    assert config["defaultClusterVersion"].startswith("1.36.3-")
    assert {c["channel"] for c in config["channels"]} == {"RAPID", "REGULAR", "STABLE", "EXTENDED"}
