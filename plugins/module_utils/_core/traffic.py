# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What requests to a service tell about its hardware: percentiles, tokens per second, errors, cost.

Times are seconds as the client saw them. A percentile is the nearest-rank one: a value that was measured,
so that few requests give no number that nobody waited for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

HALF, NEARLY_ALL = 50, 95
SECONDS_PER_HOUR = 3600
MILLION = 1_000_000
DIGITS = 4
MOST_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Sample:
    """One request.

    :param pod: the replica that it went to.
    :param started: seconds since the beginning of the measurement.
    :param first_token_seconds: None where no token came.
    :param counted: whether the server reported the tokens; else each event counts as one.
    :param error: the kind of error, empty for a whole answer.
    """

    pod: str
    started: float
    seconds: float
    first_token_seconds: float | None = None
    prompt_tokens: int = 0
    tokens: int = 0
    counted: bool = True
    error: str = ""
    detail: str = ""

    @property
    def tokens_per_second(self) -> float | None:
        """Return the pace after the first token, None where no time passed or no second token came."""
        if self.error or self.first_token_seconds is None or self.tokens <= 1:
            return None
        rest = self.seconds - self.first_token_seconds
        return (self.tokens - 1) / rest if rest > 0 else None


@dataclass(frozen=True, slots=True)
class Measured:
    """A replica, the hardware it has, and the requests that it got."""

    pod: str
    alternative: str
    node: str = ""
    machine_type: str = ""
    model: str = ""
    round_trip_seconds: float | None = None
    samples: tuple[Sample, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        return {
            "pod": self.pod,
            "alternative": self.alternative,
            "node": self.node,
            "machine_type": self.machine_type,
            "model": self.model,
            "round_trip_seconds": rounded(self.round_trip_seconds),
            **summary(self.samples),
        }


def percentile(values: Iterable[float], percent: int) -> float | None:
    """Return the smallest value that ``percent`` of all values do not exceed, None for no values."""
    ordered = sorted(values)
    if not ordered:
        return None
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def spread(values: Sequence[float]) -> dict[str, float | None]:
    return {f"p{percent}": rounded(percentile(values, percent)) for percent in (HALF, NEARLY_ALL)}


def throughput(samples: Sequence[Sample]) -> float | None:
    """Return the tokens of whole answers per second of the time in which any request ran."""
    if not any(not sample.error for sample in samples):
        return None
    begin = min(sample.started for sample in samples)
    seconds = max(sample.started + sample.seconds for sample in samples) - begin
    tokens = sum(sample.tokens for sample in samples if not sample.error)
    return tokens / seconds if seconds > 0 else None


def summary(samples: Sequence[Sample]) -> dict[str, Any]:
    """Return what a set of requests tells.

    Shape: ``requests, succeeded, errors {kind: number}, error_examples, first_token_seconds {p50, p95},
    latency_seconds {p50, p95}, tokens {prompt, completion, counted}, tokens_per_second,
    tokens_per_second_per_request``. Times and rates are of whole answers, and null where there is none.
    """
    whole = [sample for sample in samples if not sample.error]
    failed = [sample for sample in samples if sample.error]
    paces = [pace for sample in whole if (pace := sample.tokens_per_second) is not None]
    return {
        "requests": len(samples),
        "succeeded": len(whole),
        "errors": dict(sorted(Counter(sample.error for sample in failed).items())),
        "error_examples": list(dict.fromkeys(sample.detail for sample in failed if sample.detail))[
            :MOST_EXAMPLES
        ],
        "first_token_seconds": spread(
            [sample.first_token_seconds for sample in whole if sample.first_token_seconds is not None]
        ),
        "latency_seconds": spread([sample.seconds for sample in whole]),
        "tokens": {
            "prompt": sum(sample.prompt_tokens for sample in whole),
            "completion": sum(sample.tokens for sample in whole),
            "counted": all(sample.counted for sample in whole),
        },
        "tokens_per_second": rounded(throughput(samples)),
        "tokens_per_second_per_request": rounded(percentile(paces, HALF)),
    }


def by_alternative(
    measured: Sequence[Measured], order: Iterable[str], prices: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return one entry per alternative that has replicas, in the plan's order, unknown ones last.

    Shape: ``alternative, machine_types, replicas, nodes, usd_per_hour, usd_per_million_tokens`` and the
    keys of ``summary``. Replicas of one kind are measured at the same time, so their rates add up. The
    price is that of their nodes for as long as a million generated tokens take at this load; what a node
    costs while it waits is not in it.
    """
    names = [*order]
    found = sorted(
        {each.alternative for each in measured},
        key=lambda name: (names.index(name) if name in names else len(names), name),
    )
    return [
        _alternative(name, [each for each in measured if each.alternative == name], prices) for name in found
    ]


def _alternative(
    name: str, replicas: Sequence[Measured], prices: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    rates = [rate for each in replicas if (rate := throughput(each.samples)) is not None]
    rate = sum(rates) if rates else None
    nodes = len({each.node for each in replicas if each.node})
    price = prices.get(name, {}).get("usd_per_hour")
    usd_per_hour = nodes * float(price) if price is not None else None
    return {
        "alternative": name,
        "machine_types": sorted({each.machine_type for each in replicas if each.machine_type}),
        "replicas": len(replicas),
        "nodes": nodes,
        **summary([sample for each in replicas for sample in each.samples]),
        "tokens_per_second": rounded(rate),
        "usd_per_hour": rounded(usd_per_hour),
        "usd_per_million_tokens": rounded(usd_per_million_tokens(usd_per_hour, rate)),
    }


def usd_per_million_tokens(usd_per_hour: float | None, tokens_per_second: float | None) -> float | None:
    """Return what a million tokens cost at this rate, None without a price or without a token."""
    if usd_per_hour is None or not tokens_per_second:
        return None
    return usd_per_hour / (tokens_per_second * SECONDS_PER_HOUR) * MILLION


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
