# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way to the Kubernetes API against real HTTP on loopback, with time that only moves when slept on."""

from __future__ import annotations

import itertools
import socket
from datetime import datetime, timezone

import pytest
import urllib3

from ansible_collections.inference.dra.plugins.module_utils._ports import kubernetes
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, ManualClock
from ansible_collections.inference.dra.plugins.module_utils._ports.connection import Connection
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    DEPLOYMENTS,
    NODES,
    PODS,
    SLICES,
    Conflict,
    DeadlineExceeded,
    Event,
    Forbidden,
    Gone,
    Kubernetes,
    KubernetesError,
    NotFound,
    Unreachable,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.transport import make_pool, retry_after

from .api_server import Answer, ApiServer, event, page, status

SECRET = "a-secret-that-nobody-may-see"
SILENCE = Answer(silent=True)


class RecordingClock(ManualClock):
    """A manual clock that keeps how long each sleep was."""

    def __init__(self) -> None:
        super().__init__(datetime(2026, 9, 1, tzinfo=timezone.utc))
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        super().sleep(seconds)


@pytest.fixture
def server():
    server = ApiServer()
    yield server
    server.end()


@pytest.fixture
def clock():
    return RecordingClock()


@pytest.fixture
def api(server, clock):
    api = Kubernetes.connect({"host": server.url, "api_key": SECRET}, clock, {})
    yield api
    api._transport._pool.clear()


def names(found) -> list[str]:
    return [each["metadata"]["name"] for each in found]


# Reading

PATHS = {
    "core": (PODS, ("ns", "a", ""), "/api/v1/namespaces/ns/pods/a"),
    "core everywhere": (PODS, ("", "", ""), "/api/v1/pods"),
    "group": (
        CLAIMS,
        ("ns", "a", "status"),
        "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/a/status",
    ),
    "no namespace": (NODES, ("ns", "a", ""), "/api/v1/nodes/a"),
    "group without namespace": (SLICES, ("", "", ""), "/apis/resource.k8s.io/v1/resourceslices"),
}


@pytest.mark.parametrize(("resource", "arguments", "path"), PATHS.values(), ids=PATHS)
def test_path(resource, arguments, path):
    assert resource.path(*arguments) == path


def test_get_carries_the_credentials(api, server):
    server.answers = [Answer(body={"metadata": {"name": "a"}})]
    assert api.get(PODS, "a", "ns") == {"metadata": {"name": "a"}}
    (asked,) = server.asked
    assert asked.path == "/api/v1/namespaces/ns/pods/a"
    assert asked.headers["Authorization"] == f"Bearer {SECRET}"
    assert asked.headers["User-Agent"] == "inference.dra"


def test_impersonated_groups_are_separate_headers(server, clock):
    server.answers = [Answer()]
    groups = {"impersonate_user": "u", "impersonate_groups": ["a", "b"]}
    api = Kubernetes.connect({"host": server.url, "api_key": SECRET, **groups}, clock, {})
    api.get(PODS, "a", "ns")
    assert server.asked[0].headers["Impersonate-User"] == "u"
    assert server.asked[0].headers.get_all("Impersonate-Group") == ["a", "b"]


def test_token_is_read_for_each_request(server, clock):
    server.answers = [Answer()]
    tokens = itertools.count(1)
    api = Kubernetes(Connection(server.url, token=lambda: f"Bearer {next(tokens)}"), clock)
    api.get(PODS, "a", "ns")
    api.get(PODS, "a", "ns")
    assert [each.headers["Authorization"] for each in server.asked] == ["Bearer 1", "Bearer 2"]


def test_list_asks_for_pages_of_500_and_keeps_the_first_version(api, server):
    server.answers = [
        page("a", "b", version="10", more="next"),
        page("c", version="11", more="last"),
        page(version="12"),
    ]
    listing = api.list(SLICES, label_selector="x=y", field_selector="spec.driver=d")
    assert names(listing) == ["a", "b", "c"]
    assert listing.resource_version == "10"
    common = {"limit": "500", "labelSelector": "x=y", "fieldSelector": "spec.driver=d"}
    assert [each.query for each in server.asked] == [
        common,
        {**common, "continue": "next"},
        {**common, "continue": "last"},
    ]


def test_listed_items_say_what_they_are(api, server):
    server.answers = [page("a")]
    (item,) = api.list(CLAIMS, "ns")
    assert (item["apiVersion"], item["kind"]) == ("resource.k8s.io/v1", "ResourceClaim")


def test_list_reads_one_page_at_a_time(api, server):
    server.answers = [page("a", more="next"), page("b")]
    found = iter(api.list(SLICES))
    next(found)
    assert len(server.asked) == 1


@pytest.mark.parametrize("items", [None, []], ids=["null", "empty"])
def test_list_of_nothing(api, server, items):
    server.answers = [Answer(body={"metadata": {"resourceVersion": "7"}, "items": items})]
    listing = api.list(SLICES)
    assert (list(listing), listing.resource_version) == ([], "7")


def test_list_whose_token_expired_is_gone(api, server):
    server.answers = [page("a", more="next"), status(410, "Expired")]
    with pytest.raises(Gone):
        list(api.list(SLICES))


# Watching


def test_watch_goes_on_from_the_last_version_seen(api, server):
    server.answers = [
        Answer(stream=[event("ADDED", "a", "11"), event("BOOKMARK", "", "15")]),
        Answer(stream=[event("MODIFIED", "a", "16")]),
        status(410, "Expired"),
    ]
    changes = api.watch(PODS, "10", "ns")
    seen = list(itertools.islice(changes, 3))
    assert [each.type for each in seen] == ["ADDED", "BOOKMARK", "MODIFIED"]
    assert isinstance(seen[0], Event)
    with pytest.raises(Gone):
        next(changes)
    assert [each.query["resourceVersion"] for each in server.asked] == ["10", "15", "16"]
    assert server.asked[0].query["allowWatchBookmarks"] == "true"


def test_watch_is_asked_to_end_with_the_deadline(api, server, clock):
    server.answers = [Answer(stream=[event("ADDED", "a", "11")])]
    next(api.within(Deadline(clock, 20)).watch(PODS, "10"))
    next(api.watch(PODS, "10"))
    assert [each.query["timeoutSeconds"] for each in server.asked] == ["21", "301"]


def test_change_split_over_chunks_is_one_change(api, server):
    server.answers = [
        Answer(stream=[b'{"type":"ADDED","object":{"metadata":', b'{"resourceVersion":"2"}}}\n']),
        status(403, "Forbidden"),
    ]
    assert next(api.watch(PODS, "1")).object == {"metadata": {"resourceVersion": "2"}}


BROKEN = {
    "C51-connection-breaks": Answer(stream=[b'{"type":"ADDED","obj'], breaks=True),
    "C51-no-answer": SILENCE,
    "C51-server-starts-again": status(503, "ServiceUnavailable"),
    "C51-too-many-requests": status(429, "TooManyRequests"),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_broken_watch_is_taken_up_again(api, server, clock, broken):
    server.answers = [
        Answer(stream=[event("ADDED", "a", "11")]),
        broken,
        Answer(stream=[event("ADDED", "b", "12")]),
    ]
    seen = list(itertools.islice(api.watch(PODS, "10"), 2))
    assert names(each.object for each in seen) == ["a", "b"]
    assert [each.query["resourceVersion"] for each in server.asked] == ["10", "11", "11"]
    assert len(clock.slept) == 1


def test_watch_that_stays_broken_is_tried_more_and_more_slowly(api, server, clock):
    server.answers = [*[status(503, "ServiceUnavailable")] * 5, Answer(stream=[event("ADDED", "b", "12")])]
    next(api.watch(PODS, "10"))
    for number, seconds in enumerate(clock.slept):
        assert 0.05 * 2**number <= seconds <= 0.1 * 2**number


@pytest.mark.parametrize("code", [400, 401, 403, 404], ids=str)
def test_refused_watch_is_not_repeated(api, server, clock, code):
    server.answers = [status(code, "No")]
    with pytest.raises(KubernetesError) as refused:
        next(api.watch(PODS, "10"))
    assert (refused.value.status, len(server.asked), clock.slept) == (code, 1, [])


def test_error_event_with_410_is_gone(api, server):
    gone = {"type": "ERROR", "object": {"code": 410, "reason": "Expired", "message": "too old"}}
    server.answers = [Answer(stream=[gone])]
    with pytest.raises(Gone, match="too old"):
        next(api.watch(PODS, "10"))


HISTORY_LOST = {
    "watch": [page("a"), status(410, "Expired"), page("a", "b", version="20")],
    "later page of the list": [page("a", more="next"), status(410, "Expired"), page("a", "b", version="20")],
}


@pytest.mark.parametrize("answers", HISTORY_LOST.values(), ids=HISTORY_LOST)
def test_follow_lists_again_where_history_is_lost(api, server, answers):
    server.answers = [*answers, Answer(stream=[event("DELETED", "a", "21")])]
    seen = []
    for news in api.follow(PODS, "ns"):
        seen.append(news)
        if isinstance(news, Event):
            break
    whole, change = seen[-2:]
    assert names(whole) == ["a", "b"]
    assert change.type == "DELETED"
    assert server.asked[-1].query["resourceVersion"] == "20"


def test_watch_ends_with_the_deadline(api, server, clock):
    server.answers = [Answer(stream=[event("ADDED", "a", "11")])]
    changes = api.within(Deadline(clock, 5)).watch(PODS, "10")
    next(changes)
    clock.sleep(5)
    with pytest.raises(DeadlineExceeded, match="WATCH /api/v1/pods: DeadlineExceeded: 5 seconds have passed"):
        next(changes)


# Repeating

REPEATED = {
    "C51-429": status(429, "TooManyRequests"),
    "C51-500": status(500, "InternalError"),
    "C51-502": Answer(502, b"<html>bad gateway</html>"),
    "C51-503": status(503, "ServiceUnavailable"),
    "C51-504": status(504, "Timeout"),
    "C51-no-answer": SILENCE,
}


@pytest.mark.parametrize("failing", REPEATED.values(), ids=REPEATED)
def test_repeated_until_it_works(api, server, clock, failing):
    server.answers = [failing, failing, Answer(body={"kind": "Pod"})]
    assert api.get(PODS, "a", "ns") == {"kind": "Pod"}
    assert len(server.asked) == 3
    assert len(clock.slept) == 2


@pytest.mark.parametrize("failing", REPEATED.values(), ids=REPEATED)
def test_given_up_after_half_a_minute_without_deadline(api, server, clock, failing):
    server.answers = [failing]
    with pytest.raises(KubernetesError, match="GET /api/v1/namespaces/ns/pods/a"):
        api.get(PODS, "a", "ns")
    assert 24 < clock.monotonic() <= 30


@pytest.mark.parametrize("number", range(8), ids=lambda number: f"try {number + 1}")
def test_backoff_doubles_within_its_jitter_up_to_five_seconds(api, server, clock, number):
    server.answers = [*[status(503, "ServiceUnavailable")] * (number + 1), Answer()]
    api.within(Deadline(clock, 1000)).get(PODS, "a", "ns")
    most = min(5.0, 0.1 * 2**number)
    assert most / 2 <= clock.slept[number] <= most


@pytest.mark.parametrize("code", [429, 503], ids=str)
def test_retry_after_is_obeyed(api, server, clock, code):
    server.answers = [Answer(code, {}, {"Retry-After": "7"}), Answer()]
    api.get(PODS, "a", "ns")
    assert clock.slept == [7]


@pytest.mark.parametrize(
    ("value", "seconds"), [("3", 3), ("", 0), ("Wed, 21 Oct 2026 07:28:00 GMT", 0), ("-1", 0)]
)
def test_retry_after_is_seconds(value, seconds):
    assert retry_after({"Retry-After": value} if value else {}) == seconds


def test_no_pause_that_outlasts_the_deadline(api, server, clock):
    server.answers = [Answer(429, {"reason": "TooManyRequests"}, {"Retry-After": "60"})]
    with pytest.raises(KubernetesError, match="429 TooManyRequests"):
        api.within(Deadline(clock, 10)).get(PODS, "a", "ns")
    assert clock.slept == []


def test_deadline_counts_for_all_requests_together(api, server, clock):
    server.answers = [Answer()]
    short = api.within(Deadline(clock, 10))
    short.get(PODS, "a", "ns")
    clock.sleep(10)
    with pytest.raises(DeadlineExceeded):
        short.get(PODS, "a", "ns")
    api.get(PODS, "a", "ns")  # the connection without a deadline goes on
    assert len(server.asked) == 2


def test_pause_is_cut_at_the_deadline(api, clock):
    with pytest.raises(DeadlineExceeded, match="waiting"):
        api.within(Deadline(clock, 3)).pause(10)
    assert clock.slept == [3]


# Refusals

REFUSALS = {
    "400": (400, "BadRequest", KubernetesError),
    "401": (401, "Unauthorized", KubernetesError),
    "403": (403, "Forbidden", Forbidden),
    "404": (404, "NotFound", NotFound),
    "409": (409, "AlreadyExists", Conflict),
    "410": (410, "Expired", Gone),
    "422": (422, "Invalid", KubernetesError),
}


@pytest.mark.parametrize(("code", "reason", "kind"), REFUSALS.values(), ids=REFUSALS)
def test_refusal_is_one_error_and_never_repeated(api, server, code, reason, kind):
    server.answers = [status(code, reason, "because")]
    with pytest.raises(KubernetesError) as refused:
        api.get(PODS, "a", "ns")
    error = refused.value
    assert error.__class__ is kind
    assert str(error) == f"GET /api/v1/namespaces/ns/pods/a: {code} {reason}: because"
    assert (error.status, error.reason, error.message) == (code, reason, "because")
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [(b"page not found\n", "page not found"), (b"[1]", "[1]"), (b"", ""), (b"\xff", "\ufffd")],
    ids=["text", "list", "nothing", "not text"],
)
def test_refusal_that_is_no_status(api, server, body, message):
    server.answers = [Answer(404, body)]
    with pytest.raises(NotFound) as refused:
        api.get(PODS, "a", "ns")
    assert (refused.value.reason, refused.value.message) == ("Error", message)


def test_secrets_are_in_no_error(api, server):
    server.answers = [status(401, "Unauthorized")]
    with pytest.raises(KubernetesError) as refused:
        api.get(PODS, "a", "ns")
    assert SECRET not in f"{refused.value!r} {refused.value} {api.connection!r}"


# Writing


@pytest.mark.parametrize("code", [500, 502, 504], ids=str)
def test_create_that_may_have_begun_is_not_repeated(api, server, clock, code):
    server.answers = [status(code, "InternalError")]
    with pytest.raises(KubernetesError):
        api.create(PODS, {}, "ns")
    assert (len(server.asked), clock.slept) == (1, [])


def test_create_without_an_answer_is_not_repeated(api, server):
    server.answers = [SILENCE]
    with pytest.raises(Unreachable, match="POST /api/v1/namespaces/ns/pods: NoAnswer"):
        api.create(PODS, {}, "ns")
    assert len(server.asked) == 1


@pytest.mark.parametrize("code", [429, 503], ids=str)
def test_create_that_did_not_begin_is_repeated(api, server, code):
    server.answers = [status(code, "Later"), Answer(201, {"kind": "Pod"})]
    assert api.create(PODS, {}, "ns") == {"kind": "Pod"}
    assert len(server.asked) == 2


def test_create_where_nobody_listens_is_repeated_until_the_deadline(clock):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    api = Kubernetes(Connection(f"http://127.0.0.1:{port}"), clock)
    with pytest.raises(Unreachable, match="Connection refused"):
        api.within(Deadline(clock, 3)).create(PODS, {}, "ns")
    assert len(clock.slept) > 3


def test_apply_is_server_side(api, server):
    server.answers = [Answer()]
    body = {"metadata": {"name": "a"}, "spec": {"replicas": 2}}
    api.apply(DEPLOYMENTS, body, "ns")
    api.apply(DEPLOYMENTS, body, "ns", "other", "status", force=True, dry_run=True)
    plain, forced = server.asked
    assert (plain.method, plain.path) == ("PATCH", "/apis/apps/v1/namespaces/ns/deployments/a")
    assert plain.headers["Content-Type"] == "application/apply-patch+yaml"
    assert plain.query == {"fieldManager": "inference.dra"}
    assert plain.body == {"apiVersion": "apps/v1", "kind": "Deployment", **body}
    assert forced.path.endswith("/deployments/a/status")
    assert forced.query == {"fieldManager": "other", "force": "true", "dryRun": "All"}


@pytest.mark.parametrize(
    ("method", "patch", "content_type"),
    [
        ("merge_patch", {"spec": {}}, "application/merge-patch+json"),
        ("json_patch", [{"op": "remove", "path": "/spec"}], "application/json-patch+json"),
    ],
    ids=["merge", "json"],
)
def test_patch(api, server, method, patch, content_type):
    server.answers = [Answer()]
    getattr(api, method)(PODS, "a", patch, "ns", "status")
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("PATCH", "/api/v1/namespaces/ns/pods/a/status")
    assert (asked.body, asked.headers["Content-Type"], asked.query) == (patch, content_type, {})


def test_delete_names_the_object_that_was_meant(api, server):
    server.answers = [Answer()]
    api.delete(PODS, "a", "ns", uid="u-1", grace_seconds=0)
    api.delete(PODS, "a", "ns")
    exact, plain = server.asked
    assert exact.body == {
        "propagationPolicy": "Background",
        "preconditions": {"uid": "u-1"},
        "gracePeriodSeconds": 0,
    }
    assert plain.body == {"propagationPolicy": "Background"}


@pytest.mark.parametrize(
    "lost", [SILENCE, status(500, "InternalError"), status(504, "Timeout")], ids=["silence", "500", "504"]
)
def test_delete_whose_answer_was_lost_has_happened(api, server, lost):
    server.answers = [lost, status(404, "NotFound")]
    assert api.delete(PODS, "a", "ns") == {}
    assert len(server.asked) == 2


def test_delete_of_what_was_never_there_is_told(api, server):
    server.answers = [status(404, "NotFound")]
    with pytest.raises(NotFound):
        api.delete(PODS, "a", "ns")


@pytest.mark.parametrize("code", [403, 409], ids=str)
def test_delete_repeated_and_refused_is_told(api, server, code):
    server.answers = [SILENCE, status(code, "Refused")]
    with pytest.raises(KubernetesError):
        api.delete(PODS, "a", "ns", uid="u-1")


DRY = {
    "create": lambda api: api.create(PODS, {}, "ns", dry_run=True),
    "merge patch": lambda api: api.merge_patch(PODS, "a", {}, "ns", dry_run=True),
    "json patch": lambda api: api.json_patch(PODS, "a", [], "ns", dry_run=True),
    "delete": lambda api: api.delete(PODS, "a", "ns", dry_run=True),
}


@pytest.mark.parametrize("write", DRY.values(), ids=DRY)
def test_dry_run_is_asked_for(api, server, write):
    server.answers = [Answer()]
    write(api)
    assert server.asked[0].query == {"dryRun": "All"}


# Connections


@pytest.mark.parametrize(
    ("no_proxy", "proxied"),
    [
        ("", True),
        ("example.com", False),
        (" .example.com", False),
        ("api.example.com", False),
        ("ample.com", True),
    ],
    ids=["nothing", "domain", "with dot", "host", "half a name"],
)
def test_proxy(no_proxy, proxied):
    connection = Connection("http://api.example.com", proxy="http://proxy:3128", no_proxy=no_proxy)
    assert isinstance(make_pool(urllib3, connection), urllib3.ProxyManager) is proxied


def test_server_name_is_checked_in_place_of_the_host():
    pool = make_pool(urllib3, Connection("https://10.0.0.1", server_name="kubernetes"))
    assert pool.connection_pool_kw["server_hostname"] == "kubernetes"


def test_everything_that_was_ever_imported_from_here_is_still_here():
    assert all(hasattr(kubernetes, name) for name in kubernetes.__all__)
