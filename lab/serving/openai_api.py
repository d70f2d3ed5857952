# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTTP face of one model server: OpenAI's completions as vLLM serves them."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any

from .engine import Answer, Engine, count_tokens

Json = dict[str, Any]
VERSION = "0.21.0+lab"


class Refusal(Exception):
    """A request that is answered with an error in vLLM's shape."""

    def __init__(self, code: int, type_: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.body = {"error": {"message": message, "type": type_, "param": None, "code": code}}


class Server:
    """One model server: not ready until its model is loaded.

    :param log: gets one line per request, as the access log has it.
    """

    def __init__(self, engine: Engine, log: Callable[[str], None] = lambda _line: None) -> None:
        self.engine = engine
        self.ready = False
        self.log = log

    def serve(self, connection: socket.socket) -> None:
        """Answer the requests of one connection until it ends."""
        handler = type("Bound", (_Handler,), {"model_server": self})
        with contextlib.suppress(ConnectionError, TimeoutError), connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            handler(connection, connection.getpeername(), None)


class _Handler(BaseHTTPRequestHandler):
    """Translates between HTTP and the engine."""

    model_server: Server
    protocol_version = "HTTP/1.1"
    timeout = 300
    server_version = "uvicorn"
    sys_version = ""

    @property
    def engine(self) -> Engine:
        return self.model_server.engine

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/metrics" and self.model_server.ready:
            self._send(200, self.engine.metrics().encode(), "text/plain; version=0.0.4; charset=utf-8")
        elif path in ("/health", "/ping") and self.model_server.ready:
            self._send(200, b"")
        elif path == "/version":
            self._json(200, {"version": VERSION})
        elif path == "/v1/models" and self.model_server.ready:
            self._json(200, self._models())
        elif path in ("/health", "/ping", "/metrics", "/v1/models"):
            self._unready()
        else:
            self._json(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        text = self.rfile.read(size)
        if not self.model_server.ready:
            self._unready()
            return
        try:
            self._complete(text)
        except Refusal as refusal:
            self._json(refusal.code, refusal.body)

    def _complete(self, text: bytes) -> None:
        path = self.path.partition("?")[0]
        chat = path == "/v1/chat/completions"
        if not chat and path != "/v1/completions":
            self._json(404, {"detail": "Not Found"})
            return
        wanted = parse(text)
        if wanted.get("model") not in (None, self.engine.plan.settings.name):
            raise Refusal(404, "NotFoundError", f"The model `{wanted['model']}` does not exist.")
        prompt = chat_prompt(wanted) if chat else plain_prompt(wanted)
        answer = self.engine.answer(
            prompt, self._most(wanted, prompt, chat=chat), ignore_end=bool(wanted.get("ignore_eos"))
        )
        if wanted.get("stream"):
            usage = bool((wanted.get("stream_options") or {}).get("include_usage"))
            self._stream(answer, chat=chat, usage=usage)
        else:
            words = "".join(self.engine.generate(answer))
            self._json(200, self._body(answer, chat=chat, text=words))

    def _most(self, wanted: Mapping[str, Any], prompt: str, *, chat: bool) -> int | None:
        """Return how many tokens the request allows; the context bounds prompt and answer together."""
        context = self.engine.plan.settings.context
        length = count_tokens(prompt)
        asked = wanted.get("max_completion_tokens") or wanted.get("max_tokens")
        if asked is None and not chat:
            asked = 16  # OpenAI's default for plain completions
        if asked is not None and (not isinstance(asked, int) or isinstance(asked, bool) or asked < 1):
            raise Refusal(400, "BadRequestError", f"max_tokens must be at least 1, got {asked}.")
        if length + (asked or 1) > context:
            raise Refusal(
                400,
                "BadRequestError",
                f"This model's maximum context length is {context} tokens. However, you requested "
                f"{length + (asked or 1)} tokens.",
            )
        return asked

    def _stream(self, answer: Answer, *, chat: bool, usage: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if chat:
            self._event(self._chunk(chat=True, text="", role=True))
        for word in self.engine.generate(answer):
            self._event(self._chunk(chat=chat, text=word))
        self._event(self._chunk(chat=chat, text="", finish=answer.finish))
        if usage:
            self._event(self._frame(chat=chat, chunk=True) | {"choices": [], "usage": used(answer)})
        self._piece(b"data: [DONE]\n\n")
        self._piece(b"")

    def _event(self, body: Json) -> None:
        self._piece(f"data: {json.dumps(body)}\n\n".encode())

    def _piece(self, data: bytes) -> None:
        """Write one chunk; an empty one ends the answer, whatever carries the connection."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _chunk(self, *, chat: bool, text: str, finish: str | None = None, role: bool = False) -> Json:
        delta: Json = {"content": text} | ({"role": "assistant"} if role else {})
        choice: Json = {"index": 0, "finish_reason": finish, "logprobs": None}
        choice |= {"delta": delta if finish is None else {}} if chat else {"text": text}
        return self._frame(chat=chat, chunk=True) | {"choices": [choice]}

    def _body(self, answer: Answer, *, chat: bool, text: str) -> Json:
        choice: Json = {"index": 0, "finish_reason": answer.finish, "logprobs": None}
        choice |= {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
        return self._frame(chat=chat, chunk=False) | {"choices": [choice], "usage": used(answer)}

    def _frame(self, *, chat: bool, chunk: bool) -> Json:
        kind = "chat.completion" if chat else "text_completion"
        return {
            "id": f"{'chatcmpl' if chat else 'cmpl'}-{id(self):x}",
            "object": f"{kind}.chunk" if chat and chunk else kind,
            "created": self.engine.created,
            "model": self.engine.plan.settings.name,
        }

    def _models(self) -> Json:
        settings = self.engine.plan.settings
        card = {
            "id": settings.name,
            "object": "model",
            "created": self.engine.created,
            "owned_by": "vllm",
            "root": settings.model,
            "parent": None,
            "max_model_len": settings.context,
        }
        return {"object": "list", "data": [card]}

    def _unready(self) -> None:
        self._json(503, {"error": {"message": "The model is being loaded.", "code": 503}})

    def _json(self, code: int, body: Json) -> None:
        self._send(code, json.dumps(body).encode(), "application/json")

    def _send(self, code: int, data: bytes, kind: str = "") -> None:
        self.send_response(code)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:  # noqa: ARG002 - base class
        self.model_server.log(f'INFO:     127.0.0.1 - "{self.requestline}" {int(code)}')

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - name of http.server
        """Say nothing more than the access log."""


def parse(text: bytes) -> Json:
    """Return the body of a request."""
    try:
        body = json.loads(text)
    except ValueError as error:
        raise Refusal(400, "BadRequestError", f"the body is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise Refusal(400, "BadRequestError", "the body is no JSON object")
    return body


def chat_prompt(wanted: Mapping[str, Any]) -> str:
    """Return the messages of a chat as one text."""
    messages = wanted.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refusal(400, "BadRequestError", "messages: a list with at least one message is needed")
    return " ".join(content(each) for each in messages)


def content(message: Any) -> str:
    found = message.get("content") if isinstance(message, dict) else None
    if isinstance(found, list):
        return " ".join(str(part.get("text", "")) for part in found if isinstance(part, dict))
    return str(found or "")


def plain_prompt(wanted: Mapping[str, Any]) -> str:
    prompt = wanted.get("prompt")
    if isinstance(prompt, list) and prompt:
        prompt = prompt[0]
    if not isinstance(prompt, str) or not prompt:
        raise Refusal(400, "BadRequestError", "prompt: a text is needed")
    return prompt


def used(answer: Answer) -> Json:
    said = len(answer.words)
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": said,
        "total_tokens": answer.prompt_tokens + said,
    }
