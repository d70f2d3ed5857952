# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a model server says to an OpenAI request, read as values: pieces of an answer, refusals, models.

Source: OpenAI's chat completions with ``stream: true`` (server-sent events that end with ``[DONE]``) and
``stream_options.include_usage``, as vLLM serves them (vllm/entrypoints/openai).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LOADING = "loading"
MODEL_UNKNOWN = "model_unknown"
REFUSED = "refused"
OVERLOADED = "overloaded"
SERVER_ERROR = "server_error"
MALFORMED = "malformed"

DATA, DONE = b"data:", b"[DONE]"
FROM_SERVER_ERRORS = 500
KINDS = {404: MODEL_UNKNOWN, 429: OVERLOADED, 503: LOADING}


class MalformedAnswer(Exception):
    """The server said something that is no event of a stream."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One event of a streamed answer.

    :param tokens: of prompt and answer, as the server counted them; None where this event has no count.
    :param failed: what the server says went wrong in the middle of the answer.
    """

    text: str = ""
    is_last: bool = False
    tokens: tuple[int, int] | None = None
    failed: str = ""


def request(model: str, prompt: str, number: int, max_tokens: int) -> dict[str, Any]:
    """Return the body of one request.

    The number stands in front of the prompt because vLLM keeps what equal beginnings computed (automatic
    prefix caching): without it, only the first request would show the time of a prompt.
    """
    return {
        "model": model,
        "messages": [{"role": "user", "content": f"{number}. {prompt}"}],
        "max_tokens": max_tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def piece_of(line: bytes) -> Piece | None:
    """Return what a line of a stream says; None for blank lines, comments and other fields of an event.

    :raises MalformedAnswer: for data that is neither JSON nor the end.
    """
    if not line.startswith(DATA):
        return None
    data = line.removeprefix(DATA).strip()
    if data == DONE:
        return Piece(is_last=True)
    body = decoded(data)
    if body.get("error"):
        return Piece(failed=message_of(body))
    return Piece(text=text_of(body), tokens=tokens_of(body.get("usage")))


def decoded(data: bytes) -> Mapping[str, Any]:
    try:
        body = json.loads(data)
    except ValueError as error:
        raise MalformedAnswer(f"no JSON: {data[:80].decode(errors='replace')}") from error
    if not isinstance(body, dict):
        raise MalformedAnswer(f"no JSON object: {data[:80].decode(errors='replace')}")
    return body


def text_of(body: Mapping[str, Any]) -> str:
    """Return the text of the first choice; what a model thinks aloud is generated and counts as well."""
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else {}
    delta = choice.get("delta") if isinstance(choice, dict) else None
    if not isinstance(delta, dict):
        return ""
    thought = delta.get("reasoning") or delta.get("reasoning_content") or ""
    return str(delta.get("content") or thought)


def tokens_of(usage: Any) -> tuple[int, int] | None:
    if not isinstance(usage, dict):
        return None
    counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
    if any(not isinstance(count, int) for count in counts):
        return None
    return int(counts[0] or 0), int(counts[1] or 0)


def refusal(status: int, data: bytes) -> tuple[str, str]:
    """Return the kind of error that an HTTP status is, and the server's own words."""
    kind = KINDS.get(status) or (SERVER_ERROR if status >= FROM_SERVER_ERRORS else REFUSED)
    try:
        words = message_of(decoded(data))
    except MalformedAnswer:
        words = data[:200].decode(errors="replace").strip()
    return kind, f"{status} {words}".strip()


def message_of(body: Mapping[str, Any]) -> str:
    """Return the message of an error: vLLM's ``error.message`` or ``message``, FastAPI's ``detail``."""
    error = body.get("error")
    found = error.get("message") if isinstance(error, dict) else error
    return str(found or body.get("message") or body.get("detail") or "")[:300]


def models_of(data: bytes) -> list[str]:
    """Return the names of the models that ``/v1/models`` lists.

    :raises MalformedAnswer: where it lists nothing.
    """
    listed = decoded(data).get("data")
    names = [str(each["id"]) for each in listed or () if isinstance(each, dict) and each.get("id")]
    if not names:
        raise MalformedAnswer("/v1/models lists no model")
    return names
