# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One model server behind a pod's port: which models it has, and how long one answer takes."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any

from .._core.completions import (
    MALFORMED,
    SERVER_ERROR,
    MalformedAnswer,
    Piece,
    models_of,
    piece_of,
    refusal,
)
from .._core.traffic import Sample
from .clock import Clock
from .errors import KubernetesError
from .port_forward import PodHttp

TIMEOUT, CONNECTION = "timeout", "connection"
MODELS, COMPLETIONS = "/v1/models", "/v1/chat/completions"
MODELS_SECONDS = 15.0
OK = 200
JSON = {"Content-Type": "application/json"}


class ServerRefused(Exception):
    """The server, or the way to it, answered with an error.

    :param kind: as in ``Sample.error``.
    """

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(words)
        self.kind = kind


class ModelServer:
    """Requests to one replica.

    :param begin: the clock's reading at the beginning of the measurement.
    """

    def __init__(self, way: PodHttp, clock: Clock, pod: str, begin: float = 0.0) -> None:
        self._way = way
        self._clock = clock
        self._pod = pod
        self._begin = begin

    def models(self) -> tuple[list[str], float]:
        """Return the models' names and how long that took: the way there and back.

        :raises ServerRefused: where there is no such answer.
        :raises Forbidden: where the port may not be forwarded.
        """
        try:
            with self._way.open() as opened:
                started = self._clock.monotonic()
                with opened.ask("GET", MODELS, MODELS_SECONDS) as answer:
                    data = answer.read()
                seconds = self._clock.monotonic() - started
            if answer.status != OK:
                raise ServerRefused(*refusal(answer.status, data))
            return models_of(data), seconds
        except MalformedAnswer as error:
            raise ServerRefused(MALFORMED, str(error)) from error
        except (OSError, http.client.HTTPException) as error:
            raise ServerRefused(*trouble(error)) from error

    def complete(self, body: Mapping[str, Any], seconds: float) -> Sample:
        """Return one request as it was measured; whatever goes wrong is part of the measurement."""
        reading = Reading(self._clock)
        error, detail = "", ""
        try:
            with self._way.open() as opened:
                reading.begin()
                data = json.dumps(body).encode()
                with opened.ask("POST", COMPLETIONS, seconds, data, JSON) as answer:
                    if answer.status == OK:
                        error, detail = reading.read(answer)
                    else:
                        error, detail = refusal(answer.status, answer.read())
        except MalformedAnswer as wrong:
            error, detail = MALFORMED, str(wrong)
        except (OSError, http.client.HTTPException) as wrong:
            error, detail = trouble(wrong)
        except KubernetesError as wrong:
            error, detail = CONNECTION, str(wrong)
        return reading.sample(self._pod, self._begin, error, detail)


class Reading:
    """A streamed answer while it comes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._first: float | None = None
        self._events = 0
        self._counted: tuple[int, int] | None = None
        self.begin()

    def begin(self) -> None:
        self._started = self._clock.monotonic()

    def read(self, answer: http.client.HTTPResponse) -> tuple[str, str]:
        """Read to the end and return the kind of error and its words, both empty for a whole answer."""
        ended, failed = False, ""
        for line in iter(answer.readline, b""):
            piece = piece_of(line)
            if piece is None:
                continue
            ended = ended or piece.is_last
            failed = failed or piece.failed
            self._take(piece)
        if failed:
            return SERVER_ERROR, failed
        return ("", "") if ended else (CONNECTION, "the answer ended in the middle")

    def _take(self, piece: Piece) -> None:
        if piece.text:
            self._events += 1
            if self._first is None:
                self._first = self._clock.monotonic() - self._started
        self._counted = piece.tokens or self._counted

    def sample(self, pod: str, begin: float, error: str, detail: str) -> Sample:
        prompt, tokens = self._counted or (0, self._events)
        return Sample(
            pod=pod,
            started=self._started - begin,
            seconds=self._clock.monotonic() - self._started,
            first_token_seconds=self._first,
            prompt_tokens=prompt,
            tokens=tokens,
            counted=self._counted is not None,
            error=error,
            detail=detail,
        )


def trouble(error: Exception) -> tuple[str, str]:
    """Return the kind of error and its words for a request that ended without an answer."""
    if isinstance(error, TimeoutError):
        return TIMEOUT, str(error)
    if isinstance(error, (OSError, http.client.IncompleteRead)):
        return CONNECTION, str(error) or repr(error)
    return MALFORMED, f"no HTTP: {error!r}"
