# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Google Cloud Build: an image is built and pushed at Google, from an archive in a bucket.

Source: the discovery documents of cloudbuild v1 and storage v1. Cloud Build takes its source from a bucket or
a repository only, so the archive is put into a bucket for the time of the build; the log lies beside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote, urlencode, urlsplit

from .._core.image_references import Reference
from .._core.operations import refusal_kind, worth_another_try
from . import image_context
from .clock import Deadline
from .google import READ_PAUSES, REQUEST_SECONDS, GoogleError
from .image_context import Context
from .image_engines import BuildFailed, last_lines
from .registry import direct
from .transport import Answer, NoAnswer

BUILDER = "gcr.io/cloud-builders/docker"
UPLOAD_SECONDS = 600.0
POLL_SECONDS = 5.0
ENDED = ("SUCCESS", "FAILURE", "INTERNAL_ERROR", "TIMEOUT", "CANCELLED", "EXPIRED")
NOT_FOUND = 404


class Project(Protocol):
    """What is needed of ``google.Google``."""

    project: str
    access: Any

    def token(self) -> str: ...


class Http(Protocol):
    """What is needed of a transport."""

    def send(self, method: str, url: str, body: Any, headers: Any, seconds: float) -> Answer: ...


@dataclass(frozen=True)
class Place:
    """Where a build runs.

    :param location: a region, or ``global``.
    :param bucket: for the source and the log; empty for ``PROJECT_cloudbuild``, as gcloud has it.
    :param service_account: whose rights the build has; empty for the project's default.
    """

    location: str = "global"
    bucket: str = ""
    service_account: str = ""


class CloudBuild:
    """Builds of one project."""

    def __init__(
        self,
        google: Project,
        place: Place,
        deadline: Deadline,
        progress: Callable[[str], None] = lambda _text: None,
        connect: Callable[[str], Http] = direct,
    ) -> None:
        self._google = google
        self._place = place
        self._deadline = deadline
        self._progress = progress
        self._connect = connect
        self._bucket = place.bucket or f"{google.project}_cloudbuild"

    def build_and_push(
        self, context: Context, image: Reference, build_args: Mapping[str, str], platform: str
    ) -> None:
        """Build the context for a platform at Google, which pushes it under the image's tag.

        :raises BuildFailed: with the last lines of the build's log.
        :raises GoogleError: where Google refuses a request.
        """
        self._have_bucket()
        name = f"source/{image.path.replace('/', '-')}-{image.tag}.tgz"
        stored = self._upload(name, image_context.archive(context))
        try:
            body = self._body(image, build_args, platform, stored)
            build = self._wait(self._start(image, body))
            if build.get("status") != "SUCCESS":
                raise self._failure(image, build)
        finally:
            self._delete(name)

    def _have_bucket(self) -> None:
        try:
            self._storage("GET", f"read bucket {self._bucket}", f"/storage/v1/b/{self._bucket}")
        except GoogleError as problem:
            if problem.kind != "not_found":
                raise
        else:
            return
        region = self._place.location if self._place.location != "global" else "us"
        self._progress(f"creating bucket {self._bucket}")
        self._storage(
            "POST",
            f"create bucket {self._bucket}",
            f"/storage/v1/b?project={quote(self._google.project)}",
            {"name": self._bucket, "location": region},
        )

    def _upload(self, name: str, data: bytes) -> dict[str, Any]:
        query = urlencode({"uploadType": "media", "name": name})
        path = f"/upload/storage/v1/b/{self._bucket}/o?{query}"
        self._progress(f"sending {len(data)} bytes to gs://{self._bucket}/{name}")
        return self._storage("POST", f"upload gs://{self._bucket}/{name}", path, data)

    def _delete(self, name: str) -> None:
        path = f"/storage/v1/b/{self._bucket}/o/{quote(name, safe='')}"
        try:
            self._storage("DELETE", f"delete gs://{self._bucket}/{name}", path)
        except GoogleError as problem:
            # The build's own end matters more than a few kilobytes that stay.
            self._progress(str(problem))

    def _body(
        self, image: Reference, build_args: Mapping[str, str], platform: str, stored: Mapping[str, Any]
    ) -> dict[str, Any]:
        arguments = ["build", "--platform", platform, "--tag", str(image)]
        for name, value in sorted(build_args.items()):
            arguments += ["--build-arg", f"{name}={value}"]
        source = {
            "bucket": self._bucket,
            "object": stored["name"],
            "generation": stored.get("generation", ""),
        }
        body: dict[str, Any] = {
            "source": {"storageSource": {key: value for key, value in source.items() if value}},
            # A dollar begins a substitution.
            "steps": [{"name": BUILDER, "args": [word.replace("$", "$$") for word in [*arguments, "."]]}],
            "images": [str(image)],
            "logsBucket": f"gs://{self._bucket}",
            "options": {"logging": "GCS_ONLY"},
            "timeout": f"{self._deadline.remaining:.0f}s",
        }
        account = self._place.service_account
        if account:
            full = f"projects/{self._google.project}/serviceAccounts/{account}"
            body["serviceAccount"] = account if account.startswith("projects/") else full
        return body

    def _start(self, image: Reference, body: Mapping[str, Any]) -> dict[str, Any]:
        parent = f"projects/{self._google.project}/locations/{self._place.location}"
        operation = self._json(
            "cloudbuild", "POST", f"build {image} in {parent}", f"/v1/{parent}/builds", body
        )
        build: dict[str, Any] = operation["metadata"]["build"]
        build.setdefault("name", f"{parent}/builds/{build['id']}")
        self._progress(f"build {build['id']} of {image}: {build.get('logUrl', '')}")
        return build

    def _wait(self, build: dict[str, Any]) -> dict[str, Any]:
        name = build["name"]
        while build.get("status") not in ENDED:
            if self._deadline.expired:
                raise GoogleError(
                    f"build {name}",
                    f"not finished within {self._deadline.seconds:.0f} s; it still runs",
                    "timeout",
                )
            self._deadline.clock.sleep(min(POLL_SECONDS, max(0.0, self._deadline.remaining)))
            build = self._json("cloudbuild", "GET", f"read build {name}", f"/v1/{name}")
        return build

    def _failure(self, image: Reference, build: Mapping[str, Any]) -> BuildFailed:
        failure = build.get("failureInfo") or {}
        log = f"log-{build['id']}.txt"
        said = [str(failure.get("detail") or build.get("statusDetail") or build["status"])]
        try:
            path = f"/storage/v1/b/{self._bucket}/o/{quote(log, safe='')}?alt=media"
            answer = self._request("storage", "GET", f"read gs://{self._bucket}/{log}", path)
            said += last_lines(answer.data.decode(errors="replace"), [self._google.token()])
        except GoogleError as problem:
            said.append(str(problem))
        attempted = f"building {image} with Cloud Build ({build['name']}, log gs://{self._bucket}/{log})"
        return BuildFailed(attempted, said, denied=failure.get("type") == "PUSH_NOT_AUTHORIZED")

    # How a request is made

    def _storage(self, method: str, attempted: str, path: str, body: Any = None) -> dict[str, Any]:
        return self._json("storage", method, attempted, path, body)

    def _json(self, service: str, method: str, attempted: str, path: str, body: Any = None) -> dict[str, Any]:
        answer = self._request(service, method, attempted, path, body)
        return dict(json.loads(answer.data)) if answer.data else {}

    def _request(self, service: str, method: str, attempted: str, path: str, body: Any = None) -> Answer:
        """Return the answer; a read is asked again where that may help, a change never."""
        for pause in READ_PAUSES if method == "GET" else ():
            try:
                return self._once(service, method, attempted, path, body)
            except GoogleError as problem:
                if not problem.retryable:
                    raise
            self._deadline.clock.sleep(pause)
        return self._once(service, method, attempted, path, body)

    def _once(self, service: str, method: str, attempted: str, path: str, body: Any) -> Answer:
        base = self._google.access.base(service)
        kind = "application/gzip" if isinstance(body, bytes) else "application/json"
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body)
        token = self._google.token()
        headers = [("Content-Type", kind)] * (body is not None) + [
            ("Authorization", f"Bearer {token}")
        ] * bool(token)
        seconds = UPLOAD_SECONDS if isinstance(body, bytes) else REQUEST_SECONDS
        try:
            answer = self._connect(urlsplit(base).netloc).send(method, base + path, sent, headers, seconds)
        except NoAnswer as problem:
            raise GoogleError(
                attempted, f"no answer from {base}: {problem}", "unavailable", retryable=True
            ) from problem
        if answer.is_ok:
            return answer
        raise _refusal(attempted, answer)


def _refusal(attempted: str, answer: Answer) -> GoogleError:
    try:
        error = json.loads(answer.data).get("error") or {}
    except (ValueError, AttributeError):
        error = {}
    if not isinstance(error, Mapping):
        error = {"message": str(error)}
    message = str(error.get("message") or f"HTTP {answer.status}")
    reasons = [
        each["reason"] for each in error.get("details") or error.get("errors") or () if each.get("reason")
    ]
    reason = reasons[0] if reasons else ""
    return GoogleError(
        attempted,
        message,
        "not_found" if answer.status == NOT_FOUND else refusal_kind(answer.status, reason, message),
        http_status=answer.status,
        retryable=worth_another_try(answer.status, reason, message),
    )
