# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to a pod through port-forward: what is measured, and every way in which it goes wrong."""

from __future__ import annotations

import json
from datetime import datetime, timezone

import pytest

from ansible_collections.inference.dra.lab.serving.engine import Engine
from ansible_collections.inference.dra.lab.serving.openai_api import Server
from ansible_collections.inference.dra.lab.serving.startup import Hardware, Settings, plan
from ansible_collections.inference.dra.plugins.module_utils._core.completions import request
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import ManualClock, SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.connection import Connection
from ansible_collections.inference.dra.plugins.module_utils._ports.errors import Forbidden, Unreachable
from ansible_collections.inference.dra.plugins.module_utils._ports.model_server import (
    ModelServer,
    ServerRefused,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.port_forward import PodHttp, proxy_of

from .forwarding_server import Refusing, events, forwarding, http, saying, silent

NOW = datetime(2026, 8, 1, tzinfo=timezone.utc)

TOKEN = {"choices": [{"delta": {"content": "a"}}]}
USAGE = {"choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 2}}


def model_server(*, ready: bool = True) -> Server:
    """The lab's model server on a clock that does not wait."""
    engine = Engine(plan(Settings(), Hardware("nvidia-l4", gpus=1)), ManualClock(NOW))
    server = Server(engine)
    server.ready = ready
    return server


def to(url: str, **changes) -> ModelServer:
    connection = Connection(host=url, **changes)
    return ModelServer(PodHttp(connection, SystemClock(), "llm", "a", 8000), SystemClock(), "a")


def sample(behind, seconds: float = 20.0):
    with forwarding([], a=behind) as api:
        server = to(api.url)
        return server.complete(request("m", "why", 1, 4), seconds)


def test_answer_of_a_model_server():
    with forwarding([], a=model_server().serve) as api:
        server = to(api.url)
        names, seconds = server.models()
        found = server.complete(request(names[0], "why is that", 1, 6), 20)
        again = server.complete(request(names[0], "why is that", 2, 6), 20)
        assert api.protocols == ["v4.channel.k8s.io"] * 3
        assert api.asked[0] == "/api/v1/namespaces/llm/pods/a/portforward?ports=8000"
    assert names == ["google/gemma-4-E2B-it"]
    assert seconds > 0
    for each in (found, again):
        assert (each.error, each.tokens, each.prompt_tokens, each.counted) == ("", 6, 4, True)
        assert 0 < each.first_token_seconds <= each.seconds


def test_large_answers_come_in_one_piece():
    body = b'{"data": [{"id": "' + b"m" * 70_000 + b'"}]}'
    with forwarding([], a=saying(http(200, body))) as api:
        assert to(api.url).models()[0] == ["m" * 70_000]


ANSWERS = {
    "usage is reported": (events(TOKEN, TOKEN, USAGE), ("", 2, True)),
    "no usage: events are counted": (events(TOKEN, TOKEN, TOKEN), ("", 3, False)),
    "no token": (events({"choices": [{"delta": {}}]}), ("", 0, False)),
    "ends without the last event": (events(TOKEN, done=False), ("connection", 1, False)),
    "an error in the middle": (events(TOKEN, {"error": {"message": "died"}}), ("server_error", 1, False)),
    "loading": (http(503, b'{"error": {"message": "loading"}}'), ("loading", 0, False)),
    "model unknown": (http(404, b'{"error": {"message": "no such model"}}'), ("model_unknown", 0, False)),
    "too many": (http(429, b""), ("overloaded", 0, False)),
    "broken": (http(500, b"oops"), ("server_error", 0, False)),
    "a page in the stream": (http(200, b"data: <html>\n\n"), ("malformed", 0, False)),
    "no HTTP": (b"SSH-2.0-OpenSSH_9\r\n\r\n", ("malformed", 0, False)),
    "closed at once": (b"", ("connection", 0, False)),
    "closed in a chunk": (
        b"HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\ndata: ",
        ("connection", 0, False),
    ),
}


@pytest.mark.parametrize(("data", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_what_a_server_says(data, expected):
    found = sample(saying(data))
    assert (found.error, found.tokens, found.counted) == expected, found.detail
    assert bool(found.detail) == bool(found.error)


def test_no_answer_in_time():
    found = sample(silent, 0.2)
    assert found.error == "timeout"
    assert found.detail == "no end after 0.2 s"
    assert 0.2 <= found.seconds < 5


def test_nothing_listens_in_the_pod():
    found = sample(Refusing("error forwarding port 8000 to pod a: connection refused"))
    assert found.error == "connection"
    assert "connection refused" in found.detail


def test_asking_before_the_model_is_loaded():
    with forwarding([], a=model_server(ready=False).serve) as api, pytest.raises(ServerRefused) as refused:
        to(api.url).models()
    assert refused.value.kind == "loading"


REFUSED = {"forbidden": (403, Forbidden, "403 Forbidden: a says 403"), "broken": (500, Exception, "500")}


@pytest.mark.parametrize(("status", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_the_api_server_makes_no_tunnel(status, error, words):
    with forwarding([], a=status) as api, pytest.raises(error, match=words) as raised:
        to(api.url).models()
    assert "pods/a/portforward" in str(raised.value)


def test_the_api_server_is_not_there():
    with forwarding([], a=silent) as api:
        url = api.url
    with pytest.raises(Unreachable, match="NoAnswer"):
        to(url).models()


def test_credentials_are_sent():
    with forwarding([], a=403) as api, pytest.raises(Forbidden) as raised:
        to(api.url, token=lambda: "Bearer secret", headers=(("Impersonate-User", "jane"),)).models()
    assert "secret" not in str(raised.value)


PROXIES = {
    "none": (Connection("https://api"), {"http_no_proxy": ["*"]}),
    "bypassed": (Connection("https://api", proxy="http://p:1", no_proxy="api"), {"http_no_proxy": ["*"]}),
    "with a password": (
        Connection("https://api", proxy="http://me:pw@p:3128"),
        {
            "http_no_proxy": ["none.invalid"],
            "http_proxy_host": "p",
            "http_proxy_port": 3128,
            "proxy_type": "http",
            "http_proxy_auth": ("me", "pw"),
        },
    ),
}


@pytest.mark.parametrize(("connection", "options"), PROXIES.values(), ids=PROXIES)
def test_proxy(connection, options):
    assert proxy_of(connection) == options


def test_request_is_what_openai_s_api_takes():
    body = request("m", "why", 7, 9)
    assert json.loads(json.dumps(body))["stream_options"] == {"include_usage": True}
    assert (body["model"], body["max_tokens"], body["stream"]) == ("m", 9, True)
