# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""inference_probe on a recorded cluster whose pods have servers behind them."""

from __future__ import annotations

import json
import socket
from contextlib import suppress

import pytest

from ansible_collections.inference.dra.tests.unit._ports.forwarding_server import (
    Refusing,
    forwarding,
    http,
    saying,
)
from ansible_collections.inference.dra.tests.unit._ports.test_port_forward import model_server

from .in_process import recorded, run_module

ON_GPU, ON_CPU = "vllm-56997f7467-4mvh8", "vllm-56997f7467-h4tjw"
LOAD = {"requests": 3, "concurrency": 2, "max_tokens": 5, "timeout_seconds": 20}
PRICES = {"gpu": {"usd_per_hour": 0.341, "as_of": "2026-08"}}
READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-30T15:55:50Z"}


def cluster(*, cpu_ready: bool = False, behind_service: tuple = (ON_GPU,)) -> list:
    items = recorded()["items"]
    for item in items:
        if item["kind"] == "Pod" and item["metadata"]["name"] == ON_CPU and cpu_ready:
            item["status"]["conditions"] = [READY]
    if behind_service:
        # One per address family, as for a Service with both.
        items += [slice_of(*behind_service)] * 2
    return items


def slice_of(*pods: str) -> dict:
    endpoints = [
        {"targetRef": {"kind": "Pod", "name": name}, "conditions": {"ready": True}, "addresses": ["10.0.0.1"]}
        for name in pods
    ]
    endpoints.append({"targetRef": {"kind": "Pod", "name": "other"}, "conditions": {"ready": False}})
    return {
        "kind": "EndpointSlice",
        "metadata": {"name": "vllm-x", "namespace": "llm"},
        "endpoints": endpoints,
        "ports": [{"name": "metrics", "port": 9090}, {"name": "http", "port": 8000}],
    }


def without_ready(items: list) -> list:
    for item in items:
        if item["kind"] == "Pod":
            item["status"].pop("conditions", None)
    return items


def only_models(connection: socket.socket) -> None:
    """List a model, and fail whatever is asked of it."""
    with connection, suppress(OSError):
        text = connection.recv(65536)
        good = http(200, b'{"data": [{"id": "m"}]}')
        connection.sendall(good if text.startswith(b"GET") else http(500, b"out of memory"))


def probe(items: list, pods: dict, **options) -> dict:
    with forwarding(items, **pods) as api:
        given = {"host": api.url, "api_key": "key", "namespace": "llm", "deployment": "vllm"}
        return run_module("inference_probe", **{**given, **LOAD, **options})


def test_a_replica_that_answers_and_one_that_is_not_ready():
    result = probe(cluster(), {ON_GPU: model_server().serve}, alternatives=["gpu", "cpu"], prices=PRICES)
    assert not result["failed"], result
    (replica,) = result["replicas"]
    assert (replica["pod"], replica["alternative"], replica["node"]) == (ON_GPU, "gpu", "gpu-pool-1")
    assert (replica["requests"], replica["succeeded"], replica["errors"]) == (3, 3, {})
    assert replica["tokens"] == {"prompt": replica["tokens"]["prompt"], "completion": 15, "counted": True}
    (gpu,) = result["alternatives"]
    assert gpu["usd_per_hour"] == 0.341
    expected = 0.341 / (gpu["tokens_per_second"] * 3600) * 1e6
    assert gpu["usd_per_million_tokens"] == pytest.approx(expected, rel=0.01)
    assert result["service"] == {}
    assert [(each["status"], each["reason"]) for each in result["verdicts"]] == [
        ("warning", "ReplicaNotReady")
    ]
    assert result["load"]["model"] == "google/gemma-4-E2B-it"


def test_through_the_service_requests_go_to_each_endpoint_in_turn():
    pods = {ON_GPU: model_server().serve, ON_CPU: model_server().serve}
    result = probe(cluster(cpu_ready=True, behind_service=(ON_GPU, ON_CPU)), pods, service="vllm")
    assert not result["failed"], result
    service = result["service"]
    assert (service["endpoints"], service["requests"], service["succeeded"]) == (2, 6, 6)
    assert service["alternatives"] == {"cpu": 3, "gpu": 3}
    assert [each["alternative"] for each in result["alternatives"]] == ["cpu", "gpu"]
    assert result["verdicts"] == []


def test_a_service_without_endpoints_fails_nothing():
    result = probe(cluster(behind_service=()), {ON_GPU: model_server().serve}, service="vlm")
    assert not result["failed"]
    assert result["service"]["requests"] == 0
    assert ("ServiceWithoutEndpoints", "Service llm/vlm") in [
        (each["reason"], each["subject"]) for each in result["verdicts"]
    ]


def test_requests_that_fail_are_counted_by_kind():
    result = probe(cluster(), {ON_GPU: only_models})
    assert not result["failed"], result
    assert result["replicas"][0]["errors"] == {"server_error": 3}
    assert result["replicas"][0]["latency_seconds"] == {"p50": None, "p95": None}
    assert result["alternatives"][0]["usd_per_million_tokens"] is None
    (verdict,) = [each for each in result["verdicts"] if each["status"] == "error"]
    assert (verdict["reason"], verdict["evidence"]) == ("RequestsFailed", ["500 out of memory"])


LOADING = model_server(ready=False).serve
FAILURES = {
    "no replica is ready": (
        without_ready(cluster()),
        {},
        {},
        "NoReadyReplicas",
        "Deployment llm/vllm: none of its 2 replicas is ready",
    ),
    "the model is being loaded": (cluster(), {ON_GPU: LOADING}, {}, "ModelLoading", "503 The model is being"),
    "another model": (
        cluster(),
        {ON_GPU: model_server().serve},
        {"model": "llama"},
        "ModelNotServed",
        "serves google/gemma-4-E2B-it; expected llama",
    ),
    "ports may not be forwarded": (
        cluster(),
        {ON_GPU: 403},
        {},
        "Forbidden",
        "Allow get and create on pods/portforward",
    ),
    "nothing listens": (
        cluster(),
        {ON_GPU: Refusing("connection refused")},
        {},
        "ReplicaUnreachable",
        f"Pod llm/{ON_GPU}",
    ),
    "no such API": (
        cluster(),
        {ON_GPU: saying(http(200, b"<html>"))},
        {},
        "ReplicaUnreachable",
        "a server with OpenAI's API",
    ),
    "no such Deployment": (cluster(), {}, {"deployment": "other"}, "DeploymentMissing", "llm/other"),
    "no request": (cluster(), {}, {"requests": 0}, "InvalidInput", "requests is 0; give at least 1"),
}


@pytest.mark.parametrize(("items", "pods", "options", "reason", "words"), FAILURES.values(), ids=FAILURES)
def test_where_nothing_can_be_measured_it_fails_and_says_why(items, pods, options, reason, words):
    result = probe(items, pods, **options)
    assert (result["failed"], result.get("reason")) == (True, reason), result
    assert words in result["msg"]
    assert "key" not in json.dumps(result)


def test_one_replica_that_serves_is_enough():
    result = probe(cluster(cpu_ready=True), {ON_GPU: model_server().serve, ON_CPU: LOADING})
    assert not result["failed"]
    assert [each["pod"] for each in result["replicas"]] == [ON_GPU]
    assert [(each["status"], each["reason"]) for each in result["verdicts"]] == [("error", "ModelLoading")]
