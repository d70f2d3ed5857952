# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests recorded from the real gcloud, replayed: the answers must be equivalent.

The recordings lie beside the checkout, with the recorder's own little fake of Google, which gcloud
was content with: for each request both must say the same HTTP status, what was sent to create a
thing must be read back from it, and what the fake tells about it must be told here, too.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

RECORDINGS = Path(__file__).resolve().parents[5] / "shared" / "golden" / "gcloud"
CASES = sorted(path.stem for path in RECORDINGS.glob("*.json") if json.loads(path.read_text())["requests"])

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not CASES, reason="no recorded gcloud requests beside the checkout"),
]

REGION = "/v1/projects/test-project/locations/us-central1"
# How the recorder's fake misbehaves -> the fault that does the same here.
FAULTS = {
    "busy": ("maintenance", {"remaining": 1}),
    "denied": ("permission-denied", {"permission": "container.clusters.create"}),
    "quota": ("quota", {"metric": "PREEMPTIBLE_CPUS", "limit": 0}),
    "unauthenticated": ("http-error", {"code": 401, "method": "container"}),
    "too-many": ("http-error", {"code": 429, "method": "container"}),
    "unavailable": ("http-error", {"code": 503, "method": "container"}),
    "stockout": ("stockout", {}),
    "stockout-error-only": ("stockout", {}),
    "lost": ("operation-lost", {}),
    "disabled": ("service-disabled", {"service": "container.googleapis.com"}),
}
# Where this Google is stricter than the fake, as Google itself is: case -> status of the change.
STRICTER = {
    # "The total_*_node_count fields are mutually exclusive with the *_node_count fields."
    "x-nodepool-create-mixed-limits": 400,
    # An API that is not enabled answers nothing but SERVICE_DISABLED.
    "x-cluster-create-api-disabled": 403,
}
# What depends on the machine room, and what the fake only has because gcloud asks for it.
OWN = {
    "selfLink", "endpoint", "labelFingerprint", "createTime", "updateTime", "version",
    "currentMasterVersion", "currentNodeVersion", "clusterCaCertificate", "startTime", "endTime",
    "name", "targetLink", "operationType", "quotas", "status", "mode", "config", "locations",
    "allowExternalTraffic",
    "currentNodeCount",
    "region",
    "detail",
    "ipEndpointsConfig", "lifecycleState", "statusMessage", "message", "done", "items",
    "channels", "validMasterVersions", "validNodeVersions", "defaultClusterVersion",
}  # fmt: skip


@pytest.fixture(scope="module")
def recorder():
    """The recorder, as a module: it knows the cases and has the fake."""
    spec = importlib.util.spec_from_file_location("gcloud_recorder", RECORDINGS / "record.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def seeded(make_google, recorder, case):
    """Return a Google in the state a case begins with."""
    google = make_google()
    for seed in case.state:
        if seed == "repository":
            body = {"format": "DOCKER"}
            google.change("POST", REGION + "/repositories", body, repositoryId="dra-drivers")
        elif seed in ("cluster", "zonal-cluster"):
            pool = recorder.SEED_POOL | {"name": "default-pool", "config": {}}
            prometheus = {"enabled": case.fault != "prometheus-off"}
            cluster = {
                "name": "demo",
                "resourceLabels": {"team": "ml"},
                "initialClusterVersion": "1.36.0-gke.100",
                "monitoringConfig": {"managedPrometheusConfig": prometheus},
                "nodePools": [pool],
            }
            place = REGION if seed == "cluster" else REGION + "-a"
            google.ask("POST", place + "/clusters", {"cluster": cluster})
            if case.fault != "provisioning":
                google.wait()
        else:
            body = {"nodePool": recorder.SEED_POOL | {"name": seed}}
            google.change("POST", REGION + "/clusters/demo/nodePools", body)
    kind, parameters = FAULTS.get(case.fault, ("", {}))
    if case.name == "error-repository-create-operation":
        kind = "operation-fails"
    if kind:
        google.faults.set(kind, **parameters)
    return google


def both(google, fake, recorder, request, operation):
    """Return (status, answer) of the fake and of this Google for one request."""
    method, path, query, body = (request[key] for key in ("method", "path", "query", "body"))
    try:
        expected = 200, fake.handle(method, path, query, body or {})
    except recorder.ApiError as error:
        expected = error.code, error.body
    if body and "labelFingerprint" in body:
        # gcloud sends back what it just read.
        cluster = google.get(path.partition(":")[0])
        body = body | {"labelFingerprint": cluster["labelFingerprint"]}
    if "/operations/" in path:
        google.wait()
        operation = operation or next(iter(google.cloud.state.operations))
        path = re.sub("/operations/.*", f"/operations/{operation}", path)
    return expected, google.ask(method, path, body, **query)


def contained(part, whole, where="", own=frozenset()):
    """Yield where ``part`` is not in ``whole``; zero and absent are the same on the wire."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key not in own and value:
                yield from contained(value, (whole or {}).get(key), f"{where}.{key}", own)
    elif isinstance(part, list):
        for item in part:
            if not any(not list(contained(item, other, "", own)) for other in whole or []):
                yield f"{where}: {item} is not in {whole}"
    elif isinstance(part, bool) or not str(part).isdigit():
        if part != whole:
            yield f"{where}: {part!r} became {whole!r}"
    elif str(part) != str(whole):
        yield f"{where}: {part!r} became {whole!r}"


def created(request):
    """Return path and body of what a request creates, ``None`` for other requests."""
    if request["method"] != "POST" or ":" in request["path"]:
        return None
    body = request["body"]
    wanted = body.get("cluster") or body.get("nodePool") or body
    name = request["query"].get("repositoryId") or wanted["name"]
    wanted = {key: value for key, value in wanted.items() if key not in ("name", "mode", "region")}
    return f"{request['path']}/{name}", wanted


@pytest.mark.parametrize("name", CASES)
def test_recorded_requests_get_equivalent_answers(name, make_google, recorder):
    cases = {case.name: case for case in recorder.Case.load(RECORDINGS / "commands.yml")}
    case, recording = cases[name], json.loads((RECORDINGS / f"{name}.json").read_text())
    google, operation = seeded(make_google, recorder, case), ""
    fake = recorder.Fake(case.state, case.fault)
    accepted = []
    for request in recording["requests"]:
        expected, observed = both(google, fake, recorder, request, operation)
        wrote = request["method"] != "GET"
        status = STRICTER.get(name, expected[0]) if wrote else expected[0]
        assert observed[0] == status, observed[1]
        if status >= 400:
            assert observed[1]["error"]["code"] == status
            if name in STRICTER:
                return
            assert observed[1]["error"]["status"] == expected[1]["error"]["status"]
            continue
        if wrote:
            accepted.append(request)
            operation = observed[1]["name"].rpartition("/")[2]
        missing = list(contained(expected[1], observed[1], "", OWN))
        # Updates leave traces of the request in the fake's answers; only fresh things compare.
        assert not missing or "-update" in name or "remove-labels" in name, missing
    for path, wanted in filter(None, map(created, accepted)):
        google.faults.clear()
        google.wait()
        status, answer = google.ask("GET", path)
        if case.fault == "":
            assert status == 200, answer
            assert list(contained(wanted, answer)) == []
