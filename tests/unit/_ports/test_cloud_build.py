# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cloud Build in memory: what it is asked, held against Google's discovery documents, and how builds end."""

from __future__ import annotations

import io
import json
import re
import tarfile
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import googleapiclient
import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.image_references import Reference
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, ManualClock
from ansible_collections.inference.dra.plugins.module_utils._ports.cloud_build import CloudBuild, Place
from ansible_collections.inference.dra.plugins.module_utils._ports.google import GoogleError
from ansible_collections.inference.dra.plugins.module_utils._ports.google_access import Access
from ansible_collections.inference.dra.plugins.module_utils._ports.image_context import read_context
from ansible_collections.inference.dra.plugins.module_utils._ports.image_engines import BuildFailed
from ansible_collections.inference.dra.plugins.module_utils._ports.transport import Answer, NoAnswer

IMAGE = Reference("us-docker.pkg.dev", "p/images/server", "c123")
SOURCE = "source/p-images-server-c123.tgz"
TOKEN = "ya29.secret"
DISCOVERY = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"


@dataclass
class FakeGoogle:
    """Buckets and builds; ``answers`` come in the place of the real ones, the first that fits once."""

    buckets: dict[str, dict[str, bytes]] = field(default_factory=lambda: {"p_cloudbuild": {}})
    ending: dict[str, Any] = field(default_factory=lambda: {"status": "SUCCESS"})
    log: str = ""
    looks: int = 2
    answers: list[tuple[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    build: dict[str, Any] = field(default_factory=dict)
    source: bytes = b""

    def connect(self, _host: str) -> FakeGoogle:
        return self

    def send(self, method: str, url: str, body: Any, headers: Any, seconds: float) -> Answer:
        assert dict(headers)["Authorization"] == f"Bearer {TOKEN}"
        assert seconds > 0
        parts = urlsplit(url)
        self.asked.append(f"{method} {parts.path}")
        for index, (wanted, answer) in enumerate(self.answers):
            if wanted in f"{method} {url}":
                del self.answers[index]
                if isinstance(answer, Exception):
                    raise answer
                return answer
        if parts.netloc == "cloudbuild.googleapis.com":
            return self._builds(method, parts.path, body)
        assert parts.netloc == "storage.googleapis.com"
        return self._storage(method, parts, body)

    def _builds(self, method: str, path: str, body: Any) -> Answer:
        if method == "POST":
            self.build = json.loads(body)
            made = {
                "id": "b1",
                "status": "QUEUED",
                "name": f"{path.removeprefix('/v1/')}/b1",
                "logUrl": "https://log",
            }
            return said({"name": "operations/x", "metadata": {"build": made}})
        self.looks -= 1
        state = {"status": "WORKING"} if self.looks else self.ending
        return said({"id": "b1", "name": path.removeprefix("/v1/"), **state})

    def _storage(self, method: str, parts: Any, body: Any) -> Answer:
        words = [unquote(word) for word in parts.path.split("/")]
        if method == "POST" and parts.path == "/storage/v1/b":
            self.buckets[json.loads(body)["name"]] = {}
            return said({})
        bucket = self.buckets.get(words[words.index("b") + 1])
        if bucket is None:
            return refused(404, "The specified bucket does not exist.")
        if method == "POST":
            name = parse_qs(parts.query)["name"][0]
            bucket[name] = self.source = body
            return said({"name": name, "generation": "7"})
        if method == "DELETE":
            del bucket[words[-1]]
            return Answer(204, {})
        if words[-2] == "o":
            return Answer(200, {}, self.log.encode()) if self.log else refused(404, "No such object")
        return said({"name": words[-1]})


def said(body: dict[str, Any]) -> Answer:
    return Answer(200, {}, json.dumps(body).encode())


def refused(status: int, message: str, reason: str = "") -> Answer:
    error = {"code": status, "message": message, "details": [{"reason": reason}] if reason else []}
    return Answer(status, {}, json.dumps({"error": error}).encode())


class Bench:
    def __init__(self, directory: Path) -> None:
        self.world = FakeGoogle()
        self.clock = ManualClock(datetime(2026, 8, 1, tzinfo=timezone.utc))
        self.progress: list[str] = []
        (directory / "Dockerfile").write_text("FROM b\n")
        (directory / "start").write_text("x")
        (directory / "start").chmod(0o755)
        self.context = read_context(directory, "Dockerfile")

    def build(self, seconds: float = 600, **place: str) -> None:
        google = SimpleNamespace(project="p", access=Access("p"), token=lambda: TOKEN)
        deadline = Deadline(self.clock, seconds)
        build = CloudBuild(google, Place(**place), deadline, self.progress.append, self.world.connect)
        build.build_and_push(self.context, IMAGE, {"B": "$x", "A": "1"}, "linux/amd64")


@pytest.fixture
def bench(tmp_path) -> Bench:
    return Bench(tmp_path)


def test_a_build(bench):
    bench.build()
    assert bench.world.build == {
        "source": {"storageSource": {"bucket": "p_cloudbuild", "object": SOURCE, "generation": "7"}},
        "steps": [
            {
                "name": "gcr.io/cloud-builders/docker",
                "args": [
                    *("build", "--platform", "linux/amd64", "--tag", str(IMAGE)),
                    *("--build-arg", "A=1", "--build-arg", "B=$$x", "."),
                ],
            }
        ],
        "images": [str(IMAGE)],
        "logsBucket": "gs://p_cloudbuild",
        "options": {"logging": "GCS_ONLY"},
        "timeout": "600s",
    }
    assert bench.world.buckets == {"p_cloudbuild": {}}, "the archive is gone again"
    assert "https://log" in bench.progress[-1]
    with tarfile.open(fileobj=io.BytesIO(bench.world.source)) as tar:
        assert {member.name: member.mode for member in tar} == {"Dockerfile": 0o644, "start": 0o755}


def test_place_and_account(bench):
    bench.world.buckets["mine"] = {}
    bench.build(location="us-central1", bucket="mine", service_account="builder@p.iam.gserviceaccount.com")
    assert "POST /v1/projects/p/locations/us-central1/builds" in bench.world.asked
    account = "projects/p/serviceAccounts/builder@p.iam.gserviceaccount.com"
    assert (bench.world.build["serviceAccount"], bench.world.build["logsBucket"]) == (account, "gs://mine")


def test_a_bucket_that_is_not_there_is_made(bench):
    bench.world.buckets.clear()
    bench.build(location="europe-west4")
    assert list(bench.world.buckets) == ["p_cloudbuild"]
    assert bench.progress[0] == "creating bucket p_cloudbuild"


@pytest.mark.parametrize(
    ("ending", "log", "texts", "denied"),
    [
        pytest.param(
            {"status": "FAILURE", "failureInfo": {"type": "USER_BUILD_STEP", "detail": "step 0 failed"}},
            f"Step 1\nmake: error, token {TOKEN}\n",
            ["step 0 failed", "Step 1", "make: error, token ********"],
            False,
            id="step",
        ),
        pytest.param(
            {"status": "FAILURE", "failureInfo": {"type": "PUSH_NOT_AUTHORIZED", "detail": "no right"}},
            "",
            ["no right", "No such object"],
            True,
            id="push-denied",
        ),
        pytest.param({"status": "TIMEOUT"}, "slow", ["TIMEOUT", "slow"], False, id="timeout"),
    ],
)
def test_a_build_that_fails(bench, ending, log, texts, denied):
    bench.world.ending, bench.world.log = ending, log
    with pytest.raises(BuildFailed) as failed:
        bench.build()
    assert failed.value.denied is denied
    assert "log gs://p_cloudbuild/log-b1.txt" in failed.value.attempted
    said = " | ".join(failed.value.lines)
    assert all(text in said for text in texts)
    assert TOKEN not in said
    assert bench.world.buckets == {"p_cloudbuild": {}}


DISABLED = "Cloud Build API has not been used in project 1 before or it is disabled"
REFUSALS = {
    "bucket": ("GET https://storage", refused(403, "no access"), "permission", "read"),
    "upload": ("POST https://storage.googleapis.com/upload", refused(403, "no"), "permission", "upload"),
    "api": ("POST https://cloudbuild", refused(403, DISABLED, "SERVICE_DISABLED"), "not_enabled", "build"),
    "no-answer": ("POST https://cloudbuild", NoAnswer("reset", begun=True), "unavailable", "build"),
}


@pytest.mark.parametrize(("wanted", "answer", "kind", "attempted"), REFUSALS.values(), ids=REFUSALS)
def test_google_refuses(bench, wanted, answer, kind, attempted):
    bench.world.answers.append((wanted, answer))
    with pytest.raises(GoogleError) as failed:
        bench.build()
    assert (failed.value.kind, failed.value.attempted.split()[0]) == (kind, attempted)
    assert bench.world.buckets == {"p_cloudbuild": {}}
    assert len([each for each in bench.world.asked if each.endswith("/builds")]) <= 1, (
        "a change is asked once"
    )


def test_a_read_is_asked_again(bench):
    bench.world.answers += [
        ("GET https://cloudbuild", refused(503, "later")),
        ("GET https://cloudbuild", NoAnswer("x", begun=True)),
    ]
    bench.build()
    assert bench.world.looks == 0


def test_a_source_that_stays_does_not_fail_the_build(bench):
    bench.world.answers.append(("DELETE https://storage", refused(403, "no delete")))
    bench.build()
    assert "no delete" in bench.progress[-1]


def test_a_build_that_takes_too_long(bench):
    bench.world.looks = 1000
    with pytest.raises(GoogleError, match="not finished within 60 s; it still runs") as failed:
        bench.build(seconds=60)
    assert failed.value.kind == "timeout"


def document(name: str) -> dict[str, Any]:
    return json.loads((DISCOVERY / name).read_text())


def methods(resources: dict[str, Any]):
    for resource in resources.values():
        yield from resource.get("methods", {}).values()
        yield from methods(resource.get("resources", {}))


def test_every_request_is_in_the_discovery_documents(bench):
    bench.world.buckets.clear()
    bench.world.ending = {"status": "FAILURE"}
    with pytest.raises(BuildFailed):
        bench.build()
    offered = set()
    for found in (document("cloudbuild.v1.json"), document("storage.v1.json")):
        for each in methods(found["resources"]):
            paths = [found["servicePath"] + each.get("flatPath", each["path"])]
            paths += [
                kind["path"].lstrip("/") for kind in each.get("mediaUpload", {}).get("protocols", {}).values()
            ]
            offered |= {(each["httpMethod"], re.sub(r"\{[^}]*\}", "[^/]+", f"/{path}")) for path in paths}
    for request in bench.world.asked:
        method, path = request.split()
        assert any(method == verb and re.fullmatch(pattern, path) for verb, pattern in offered), request


def known(schemas: dict[str, Any], name: str, value: Any) -> None:
    """Hold a message against its schema: every field is known, every word is one of the enumeration."""
    for key, inner in value.items():
        schema = schemas[name]["properties"][key]
        reference = schema.get("$ref") or schema.get("items", {}).get("$ref")
        for each in inner if isinstance(inner, list) else [inner]:
            if reference:
                known(schemas, reference, each)
        assert "enum" not in schema or inner in schema["enum"]


def test_the_build_is_one_of_the_schema(bench):
    bench.build(service_account="a")
    known(document("cloudbuild.v1.json")["schemas"], "Build", bench.world.build)
