# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What model servers say: events of a stream, refusals, lists of models, in the shapes they come in."""

from __future__ import annotations

import json

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.completions import (
    MalformedAnswer,
    Piece,
    models_of,
    piece_of,
    refusal,
    request,
)


def event(**body) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\n"


def delta(**content) -> bytes:
    return event(choices=[{"index": 0, "delta": content}])


USAGE = {"prompt_tokens": 7, "completion_tokens": 3}
PIECES = {
    "a token": (delta(content="the"), Piece(text="the")),
    "a token that is thought": (delta(content=None, reasoning_content="hm"), Piece(text="hm")),
    "the role comes without text": (delta(role="assistant", content=""), Piece()),
    "the end of the text": (event(choices=[{"delta": {}, "finish_reason": "stop"}]), Piece()),
    "usage at the end": (event(choices=[], usage=USAGE), Piece(tokens=(7, 3))),
    "usage beside each token": (
        event(choices=[{"delta": {"content": "a"}}], usage=USAGE),
        Piece(text="a", tokens=(7, 3)),
    ),
    "usage that is null": (event(choices=[{"delta": {"content": "a"}}], usage=None), Piece(text="a")),
    "usage without counts": (event(choices=[], usage={"total_tokens": 3}), Piece()),
    "the end": (b"data: [DONE]\r\n", Piece(is_last=True)),
    "no space after the colon": (b"data:[DONE]", Piece(is_last=True)),
    "an error in the middle": (event(error={"message": "engine died"}), Piece(failed="engine died")),
    "an error that is text": (event(error="engine died"), Piece(failed="engine died")),
    "a blank line": (b"\n", None),
    "a comment that keeps the connection": (b": ping\n", None),
    "another field": (b"event: message\n", None),
}


@pytest.mark.parametrize(("line", "piece"), PIECES.values(), ids=PIECES)
def test_piece(line, piece):
    assert piece_of(line) == piece


@pytest.mark.parametrize("line", [b"data: <html>", b"data: [1]", b"data: "], ids=["page", "list", "empty"])
def test_what_is_no_event(line):
    with pytest.raises(MalformedAnswer, match="no JSON"):
        piece_of(line)


REFUSALS = {
    "loading": (503, b'{"error": {"message": "The model is being loaded."}}', "loading", "being loaded"),
    "model unknown": (
        404,
        b'{"error": {"message": "The model `x` does not exist."}}',
        "model_unknown",
        "`x`",
    ),
    "too long": (400, b'{"object": "error", "message": "maximum context length"}', "refused", "context"),
    "no such path": (405, b'{"detail": "Method Not Allowed"}', "refused", "Not Allowed"),
    "too many": (429, b"", "overloaded", "429"),
    "broken": (500, b"Internal Server Error", "server_error", "500 Internal Server Error"),
}


@pytest.mark.parametrize(("status", "data", "kind", "words"), REFUSALS.values(), ids=REFUSALS)
def test_refusal(status, data, kind, words):
    found = refusal(status, data)
    assert found[0] == kind
    assert words in found[1]


def test_models():
    assert models_of(b'{"data": [{"id": "a"}, {"id": "b"}]}') == ["a", "b"]


@pytest.mark.parametrize("data", [b"", b"{}", b'{"data": []}', b'{"data": ["a"]}'])
def test_no_models(data):
    with pytest.raises(MalformedAnswer):
        models_of(data)


def test_requests_begin_differently():
    first, second = (request("m", "why", number, 5)["messages"][0]["content"] for number in (1, 2))
    assert (first, second) == ("1. why", "2. why")
