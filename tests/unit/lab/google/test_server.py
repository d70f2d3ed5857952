# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTTP server on loopback: counting, faults, persistence, and Google's own Python clients."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from ansible_collections.inference.dra.lab.errors import LabError
from ansible_collections.inference.dra.lab.google.cloud import Cloud
from ansible_collections.inference.dra.lab.google.environment import environment
from ansible_collections.inference.dra.lab.google.routes import Request
from ansible_collections.inference.dra.lab.google.schema import Schemas
from ansible_collections.inference.dra.lab.google.server import GoogleServer, fulfil
from ansible_collections.inference.dra.lab.google.service import Service
from ansible_collections.inference.dra.lab.google.store import Store

PARENT = "projects/test-project/locations/us-central1"
REGION = f"/v1/{PARENT}"
LIST = "container.projects.locations.clusters.list"


@pytest.fixture
def server(make_google, tmp_path):
    google = make_google()
    running = GoogleServer(google.cloud, store=Store(tmp_path / "google.json")).start()
    yield running
    running.stop()


def ask(server, method, path, body=None):
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(server.endpoint + path, data, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def pass_time(cloud):
    fulfil(cloud)
    cloud.clock.sleep(10_000)
    fulfil(cloud)


def test_reads_and_writes_are_counted_apart(server):
    ask(server, "GET", REGION + "/clusters")
    ask(server, "POST", REGION + "/clusters", {"cluster": {"name": "-"}})
    assert (server.requests.reads, server.requests.writes) == (1, 1)
    assert server.requests.by_method[LIST] == 1
    server.requests.reset()
    assert (server.requests.reads, server.requests.writes) == (0, 0)


def test_listens_on_loopback_only(server):
    assert server._http.server_address[0] == "127.0.0.1"


def test_unknown_method_and_broken_json(server):
    code, answer = ask(server, "GET", "/v1/dance")
    assert (code, answer["error"]["status"]) == (404, "NOT_FOUND")
    code, answer = ask(server, "POST", REGION + "/clusters", b"{")
    assert (code, answer["error"]["status"]) == (400, "INVALID_ARGUMENT")
    code, answer = ask(server, "POST", REGION + "/clusters", {"colour": 1})
    assert "Unknown name" in answer["error"]["message"]


def test_defect_of_the_lab_is_a_500_that_says_so(make_google, capsys):
    service = Service(make_google().cloud, Schemas(None))
    pool = {"name": "p", "initialNodeCount": "many"}
    request = Request("POST", REGION + "/clusters", {}, {"cluster": {"name": "demo", "nodePools": [pool]}})
    code, answer = service.answer(request)
    assert (code, answer["error"]["status"]) == (500, "INTERNAL")
    assert "TypeError" in answer["error"]["message"]
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "status"),
    [(429, "RESOURCE_EXHAUSTED"), (500, "INTERNAL"), (503, "UNAVAILABLE"), (401, "UNAUTHENTICATED")],
)
def test_first_calls_fail(server, code, status):
    server.cloud.faults.set("http-error", code=code, method="container.", remaining=2)
    answers = [ask(server, "GET", REGION + "/clusters") for _unused in range(3)]
    assert [answer[0] for answer in answers] == [code, code, 200]
    assert answers[0][1]["error"]["status"] == status


def test_slow_answer_takes_the_clocks_time(server):
    server.cloud.faults.set("http-slow", seconds=30, remaining=1)
    before = server.cloud.clock.monotonic()
    assert ask(server, "GET", REGION + "/clusters")[0] == 200
    assert server.cloud.clock.monotonic() - before == 30


def test_state_is_on_disk_before_the_answer(server, tmp_path, make_google):
    pool = {"name": "default-pool", "initialNodeCount": 1}
    code, operation = ask(
        server, "POST", REGION + "/clusters", {"cluster": {"name": "demo", "nodePools": [pool]}}
    )
    assert code == 200
    kept = Store(tmp_path / "google.json").load()
    again = make_google(clock=server.cloud.clock, state=kept)
    assert again.get(f"{REGION}/operations/{operation['name']}")["status"] == "RUNNING"


def test_store_without_and_with_a_broken_file(tmp_path):
    store = Store(tmp_path / "google.json")
    assert store.load() is None
    store.path.write_text("{")
    with pytest.raises(LabError, match="delete the file to start empty"):
        store.load()


def test_missing_schema_is_said_once(make_google):
    said = []
    google = make_google()
    server = GoogleServer(google.cloud, schemas=Schemas(None), say=said.append).start()
    server.stop()
    assert len(said) == 1
    assert "not checked against Google's schema" in said[0]


def test_environment():
    found = environment("http://127.0.0.1:1", "p", "/tmp/token")
    assert found["CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER"] == "http://127.0.0.1:1/"
    assert found["CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"] == "http://127.0.0.1:1/compute/v1/"
    assert found["CLOUDSDK_AUTH_ACCESS_TOKEN_FILE"] == "/tmp/token"
    assert found["CLOUDSDK_CORE_PROJECT"] == found["GOOGLE_CLOUD_PROJECT"] == "p"


# Google's own clients over REST, which speak enums as numbers.


@pytest.fixture
def client(server):
    container_v1 = pytest.importorskip("google.cloud.container_v1")
    credentials = pytest.importorskip("google.auth.credentials").AnonymousCredentials()
    options = {"api_endpoint": server.endpoint}
    with container_v1.ClusterManagerClient(
        credentials=credentials, transport="rest", client_options=options
    ) as found:
        yield found


def test_container_client(server, client):
    from google.api_core import exceptions  # noqa: PLC0415 - absent where the client is
    from google.cloud import container_v1 as gke  # noqa: PLC0415

    cluster = gke.Cluster(
        name="demo",
        release_channel=gke.ReleaseChannel(channel="RAPID"),
        node_pools=[gke.NodePool(name="default-pool", initial_node_count=1)],
    )
    started = client.create_cluster(parent=PARENT, cluster=cluster)
    assert started.status == gke.Operation.Status.RUNNING
    assert started.operation_type == gke.Operation.Type.CREATE_CLUSTER
    pass_time(server.cloud)
    pool = gke.NodePool(
        name="gpu-pool",
        initial_node_count=1,
        locations=["us-central1-a"],
        config=gke.NodeConfig(
            machine_type="g2-standard-8",
            spot=True,
            taints=[gke.NodeTaint(key="a", value="b", effect="NO_SCHEDULE")],
        ),
    )
    server.cloud.faults.set("stockout")
    where = f"{PARENT}/clusters/demo"
    started = client.create_node_pool(parent=where, node_pool=pool)
    with pytest.raises(exceptions.BadRequest) as refusal:
        client.delete_cluster(name=where)
    assert refusal.value.reason == "CLUSTER_ALREADY_HAS_OPERATION"
    pass_time(server.cloud)
    done = client.get_operation(name=f"{PARENT}/operations/{started.name}")
    assert (done.status, done.error.code) == (gke.Operation.Status.DONE, 8)
    found = client.get_node_pool(name=f"{where}/nodePools/gpu-pool")
    assert found.status == gke.NodePool.Status.ERROR
    assert found.conditions[0].code == gke.StatusCondition.Code.GCE_STOCKOUT
    assert found.config.taints[0].effect == gke.NodeTaint.Effect.NO_SCHEDULE
    assert client.get_cluster(name=where).release_channel.channel == 1
    config = client.get_server_config(name=PARENT)
    assert config.channels[0].channel == gke.ReleaseChannel.Channel.RAPID
    with pytest.raises(exceptions.NotFound):
        client.get_node_pool(name=f"{where}/nodePools/none")


def test_artifact_registry_client(server):
    registry = pytest.importorskip("google.cloud.artifactregistry_v1")
    credentials = pytest.importorskip("google.auth.credentials").AnonymousCredentials()
    options = {"api_endpoint": server.endpoint}
    with registry.ArtifactRegistryClient(
        credentials=credentials, transport="rest", client_options=options
    ) as client:
        repository = registry.Repository(format_=registry.Repository.Format.DOCKER)
        operation = client.create_repository(
            parent=PARENT, repository_id="dra-drivers", repository=repository
        )
        pass_time(server.cloud)
        assert operation.result(timeout=10).name == f"{PARENT}/repositories/dra-drivers"
        found = client.get_repository(name=f"{PARENT}/repositories/dra-drivers")
        assert found.format_ == registry.Repository.Format.DOCKER
        found.description = "new"
        changed = client.update_repository(repository=found, update_mask="description")
        assert changed.description == "new"


def test_many_threads_get_one_truth(server):
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    pool = {"name": "default-pool", "initialNodeCount": 1}
    body = {"cluster": {"name": "demo", "nodePools": [pool]}}
    with ThreadPoolExecutor(8) as threads:
        codes = list(
            threads.map(lambda _unused: ask(server, "POST", REGION + "/clusters", body)[0], range(8))
        )
    assert sorted(codes) == [200] + [409] * 7
    assert isinstance(server.cloud, Cloud)
