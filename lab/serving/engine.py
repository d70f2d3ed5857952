# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for vLLM's engine: words at the pace of a profile, and the numbers vLLM publishes."""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock

from .startup import Plan

WORDS = (
    "the a model serves tokens from whatever hardware is there and each replica asks its claim for "
    "devices so that one deployment runs on several kinds of machines while nobody waits for one"
).split()
USUAL_ANSWER_TOKENS = 64
# vLLM's own bucket borders (vllm/v1/metrics/loggers.py).
FIRST_TOKEN_BUCKETS = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160,
)  # fmt: skip
TOKEN_BUCKETS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40)
REQUEST_BUCKETS = (0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960)


@dataclass
class Histogram:
    """A Prometheus histogram."""

    borders: tuple[float, ...]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0
    count: int = 0

    def __post_init__(self) -> None:
        self.counts = [0] * len(self.borders)

    def add(self, value: float) -> None:
        self.total += value
        self.count += 1
        for index, border in enumerate(self.borders):
            if value <= border:
                self.counts[index] += 1

    def lines(self, name: str, labels: str) -> Iterator[str]:
        yield f"# TYPE {name} histogram"
        for border, count in zip(self.borders, self.counts, strict=True):
            yield f'{name}_bucket{{{labels},le="{border}"}} {count}'
        yield f'{name}_bucket{{{labels},le="+Inf"}} {self.count}'
        yield f"{name}_sum{{{labels}}} {self.total}"
        yield f"{name}_count{{{labels}}} {self.count}"


@dataclass(frozen=True)
class Answer:
    """What will be said to one request, and how it ends (``stop`` or ``length``)."""

    words: tuple[str, ...]
    prompt_tokens: int
    finish: str


class Engine:
    """One model on one kind of hardware; safe for many threads."""

    def __init__(self, found: Plan, clock: Clock, seed: int = 0) -> None:
        self.plan = found
        self._clock = clock
        self._seed = seed
        self.created = int(clock.now().timestamp())
        self._lock = threading.Lock()
        self._running = 0
        self._prompt_tokens = 0
        self._generated = 0
        self._finished: defaultdict[str, int] = defaultdict(int)
        self._first = Histogram(FIRST_TOKEN_BUCKETS)
        self._between = Histogram(TOKEN_BUCKETS)
        self._whole = Histogram(REQUEST_BUCKETS)

    def answer(self, prompt: str, most: int | None, *, ignore_end: bool = False) -> Answer:
        """Return what to say: the same words to the same prompt, at most ``most`` of them."""
        digest = hashlib.sha256(f"{self._seed}/{prompt}".encode()).digest()
        intro = f"[simulated on {self.plan.profile.name}]".split()
        usual = len(prompt.split()) % 32 + USUAL_ANSWER_TOKENS
        length = usual if most is None else most if ignore_end else min(most, usual)
        body = (WORDS[digest[index % len(digest)] % len(WORDS)] for index in itertools.count())
        words = tuple(itertools.islice(itertools.chain(intro, body), length))
        return Answer(words, count_tokens(prompt), "stop" if length >= usual and not ignore_end else "length")

    def generate(self, answer: Answer) -> Iterator[str]:
        """Yield the words of an answer when the hardware would have them, one by one."""
        profile, model = self.plan.profile, self.plan.model
        started = self._clock.monotonic()
        with self._lock:
            self._running += 1
            self._prompt_tokens += answer.prompt_tokens
        try:
            due = started + profile.first_token_seconds(model, answer.prompt_tokens)
            for index, word in enumerate(answer.words):
                self._clock.sleep(due - self._clock.monotonic())
                now = self._clock.monotonic()
                with self._lock:
                    pace = profile.token_seconds(model, self._running)
                    self._generated += 1
                    if index == 0:
                        self._first.add(now - started)
                    else:
                        self._between.add(pace)
                due = now + pace
                yield word if index == 0 else f" {word}"
            with self._lock:
                self._finished[answer.finish] += 1
                self._whole.add(self._clock.monotonic() - started)
        finally:
            with self._lock:
                self._running -= 1

    def metrics(self) -> str:
        """Return the numbers under vLLM's names, in Prometheus' text format."""
        labels = f'model_name="{self.plan.settings.name}",engine="0"'
        with self._lock:
            found = [
                "# TYPE vllm:num_requests_running gauge",
                f"vllm:num_requests_running{{{labels}}} {self._running}",
                "# TYPE vllm:num_requests_waiting gauge",
                f"vllm:num_requests_waiting{{{labels}}} 0",
                "# TYPE vllm:kv_cache_usage_perc gauge",
                f"vllm:kv_cache_usage_perc{{{labels}}} {min(1.0, self._running / 64)}",
                "# TYPE vllm:prompt_tokens_total counter",
                f"vllm:prompt_tokens_total{{{labels}}} {self._prompt_tokens}",
                "# TYPE vllm:generation_tokens_total counter",
                f"vllm:generation_tokens_total{{{labels}}} {self._generated}",
                "# TYPE vllm:request_success_total counter",
            ]
            found += [
                f'vllm:request_success_total{{{labels},finished_reason="{reason}"}} {self._finished[reason]}'
                for reason in ("stop", "length", "abort")
            ]
            found += self._first.lines("vllm:time_to_first_token_seconds", labels)
            found += self._between.lines("vllm:inter_token_latency_seconds", labels)
            found += self._whole.lines("vllm:e2e_request_latency_seconds", labels)
        return "\n".join(found) + "\n"


def count_tokens(text: str) -> int:
    """Return the tokens of a text: here a word is a token."""
    return max(1, len(text.split()))
