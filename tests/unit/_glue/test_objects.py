# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From options to objects and from errors to one failure, against real HTTP where a cluster is read."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.objects import MalformedObjects
from ansible_collections.inference.dra.plugins.module_utils._core.strict_reader import InputError, Problem
from ansible_collections.inference.dra.plugins.module_utils._glue.claims import read, selection_from
from ansible_collections.inference.dra.plugins.module_utils._glue.cluster import see
from ansible_collections.inference.dra.plugins.module_utils._glue.objects import Dump, source_from
from ansible_collections.inference.dra.plugins.module_utils._glue.result import ModuleFailure, run
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import ManualClock
from ansible_collections.inference.dra.plugins.module_utils._ports.connection import ConnectionFailed
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    COMPUTE_CLASSES,
    PODS,
    Forbidden,
    KubernetesError,
)
from ansible_collections.inference.dra.tests.unit._ports.api_server import Answer, ApiServer, status

NOW = datetime(2026, 9, 1, 12, tzinfo=timezone.utc)
WAYS = ("names", "label_selectors", "drivers", "pods", "deployment")
NONE = {"namespace": "llm"} | dict.fromkeys(WAYS)


class ByPath(ApiServer):
    """Empty lists but for the paths that have an answer."""

    def __init__(self) -> None:
        self.by_path: dict[str, Answer] = {}
        super().__init__()

    def next(self, asked):
        self.asked.append(asked)
        empty = Answer(body={"metadata": {"resourceVersion": "1"}, "items": []})
        return self.by_path.get(asked.path, empty)


@pytest.fixture
def server():
    server = ByPath()
    yield server
    server.end()


@pytest.fixture
def cluster(server):
    options = {"host": server.url, "api_key": "x", "objects": None, "now": None}
    source, now = source_from(options, ManualClock(NOW), {})
    assert now == NOW
    return source


# Reading


@pytest.mark.parametrize(
    ("given", "moment"),
    [
        (None, NOW),
        ("2026-08-01T12:00:00Z", datetime(2026, 8, 1, 12, tzinfo=timezone.utc)),
        ("2026-08-01T14:00:00+02:00", datetime(2026, 8, 1, 12, tzinfo=timezone.utc)),
        ("2026-08-01", datetime(2026, 8, 1, tzinfo=timezone.utc)),
    ],
    ids=["the clock's", "UTC", "with offset", "a day"],
)
def test_now(given, moment):
    assert source_from({"objects": [], "now": given}, ManualClock(NOW))[1] == moment


@pytest.mark.parametrize(
    ("namespace", "names"), [("", ["a", "b"]), ("one", ["a"]), ("default", ["b"]), ("other", [])]
)
def test_dump_by_namespace(namespace, names):
    dump = Dump(
        [
            {"kind": "Pod", "metadata": {"name": "a", "namespace": "one"}},
            {"kind": "Pod", "metadata": {"name": "b"}},
        ]
    )
    assert [each["metadata"]["name"] for each in dump.read(PODS, namespace)] == names


SERVED = {
    "older": (
        {"versions": [{"version": "v1beta1"}, {"version": "v1beta2"}]},
        "v1beta1, v1beta2",
    ),
    "nothing": (None, "none"),
}


@pytest.mark.parametrize(("group", "sentence"), SERVED.values(), ids=SERVED)
def test_api_that_is_not_served_says_which_is(cluster, server, group, sentence):
    server.by_path["/apis/resource.k8s.io/v1/resourceclaims"] = status(404, "NotFound")
    server.by_path["/apis/resource.k8s.io"] = Answer(body=group) if group else status(404, "NotFound")
    with pytest.raises(
        ModuleFailure, match=f"in versions: {sentence}; v1 is needed. Kubernetes 1.34"
    ) as failure:
        list(cluster.read(CLAIMS))
    assert failure.value.reason == "ApiNotServed"


def test_other_api_that_is_not_served_has_no_objects(cluster, server):
    server.by_path["/apis/cloud.google.com/v1/computeclasses"] = status(404, "NotFound")
    assert list(cluster.read(COMPUTE_CLASSES)) == []


def test_claims_are_indispensable(cluster, server):
    server.by_path["/apis/resource.k8s.io/v1/namespaces/llm/resourceclaims"] = status(403, "Forbidden")
    with pytest.raises(Forbidden):
        read(cluster, selection_from(NONE))


def test_what_explains_claims_may_be_forbidden(cluster, server):
    server.by_path["/api/v1/namespaces/llm/pods"] = status(403, "Forbidden")
    reading = read(cluster, selection_from(NONE))
    assert reading.forbidden == ("pods",)
    assert reading.snapshot.pods is None


def test_only_what_a_selection_needs_is_read(cluster, server):
    read(cluster, selection_from(NONE))
    assert not any("deployments" in each.path for each in server.asked)
    read(cluster, selection_from({**NONE, "deployment": "vllm"}))
    assert any("deployments" in each.path for each in server.asked)


def test_diagnosis_looks_at_other_namespaces_where_it_may(cluster, server):
    server.by_path["/api/v1/pods"] = status(403, "Forbidden")
    seen = see(cluster, NOW, "llm")
    paths = [each.path for each in server.asked]
    assert "/api/v1/namespaces/llm/pods" in paths
    assert "/apis/resource.k8s.io/v1/resourceclaims" in paths
    assert (seen.forbidden, seen.cluster.missing) == ((), ())


def test_diagnosis_names_what_it_may_not_see(cluster, server):
    server.by_path["/api/v1/nodes"] = status(403, "Forbidden")
    seen = see(cluster, NOW, "llm")
    assert (seen.forbidden, seen.cluster.missing) == (("nodes",), ("Node",))


def test_labels_are_joined():
    selector = selection_from({**NONE, "label_selectors": ["a=b", "c"]}).label_selector
    assert selector.matches({"a": "b", "c": ""})
    assert not selector.matches({"a": "b"})


# Results


class Module:
    check_mode = False

    def __init__(self) -> None:
        self.params: dict = {}
        self.ended: dict = {}

    def exit_json(self, **result):
        self.ended = {"failed": False, **result}
        raise SystemExit

    def fail_json(self, msg, **result):
        self.ended = {"failed": True, "msg": msg, **result}
        raise SystemExit


ERRORS = {
    "its own": (ModuleFailure("m", "NothingMatches", seen=1), {"reason": "NothingMatches", "seen": 1}),
    "api": (KubernetesError("GET /x", 403, "Forbidden", "no"), {"reason": "Forbidden", "status": 403}),
    "connection": (ConnectionFailed("m"), {"reason": "ConnectionFailed"}),
    "objects": (MalformedObjects(["m"]), {"reason": "MalformedObjects"}),
    "input": (InputError([Problem("a", "b", "1", "give 2")]), {"reason": "InvalidInput"}),
}


@pytest.mark.parametrize(("error", "expected"), ERRORS.values(), ids=ERRORS)
def test_expected_error_is_one_failure(error, expected):
    module = Module()

    def work(_module):
        raise error

    with pytest.raises(SystemExit):
        run(module, work)
    assert module.ended == {"failed": True, "msg": str(error), **expected}


def test_defect_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        run(Module(), lambda _module: {"a": 1 / 0})


@pytest.mark.parametrize("changed", [False, True])
def test_result_says_whether_it_changed(changed):
    module = Module()
    with pytest.raises(SystemExit):
        run(module, lambda _module: {"changed": True} if changed else {})
    assert module.ended == {"failed": False, "changed": changed}
