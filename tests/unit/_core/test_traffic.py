# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What requests tell about hardware: percentiles, rates, errors and cost, case by case."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.traffic import (
    Measured,
    Sample,
    by_alternative,
    percentile,
    summary,
    throughput,
    usd_per_million_tokens,
)
from ansible_collections.inference.dra.plugins.module_utils._core.traffic_verdicts import (
    request_verdicts,
    service_verdicts,
)

PRICES = {"gpu": {"usd_per_hour": 0.36, "as_of": "2026-08"}}


def answered(pod="a", started=0.0, seconds=2.0, first=0.5, tokens=31, **changes) -> Sample:
    return Sample(pod, started, seconds, first, prompt_tokens=10, tokens=tokens, **changes)


def failed(kind="timeout", detail="", started=0.0, seconds=5.0, **changes) -> Sample:
    return Sample("a", started, seconds, error=kind, detail=detail, **changes)


PERCENTILES = {
    "no value": ([], 50, None),
    "one value is every percentile": ([3.0], 95, 3.0),
    "half of two is the first": ([1.0, 2.0], 50, 1.0),
    "half of three is the middle": ([3.0, 1.0, 2.0], 50, 2.0),
    "95 of 20 is the last but one": ([float(each) for each in range(1, 21)], 95, 19.0),
    "95 of 19 is the last": ([float(each) for each in range(1, 20)], 95, 19.0),
    "100 is the last": ([1.0, 2.0], 100, 2.0),
    "0 is the first": ([1.0, 2.0], 0, 1.0),
}


@pytest.mark.parametrize(("values", "percent", "expected"), PERCENTILES.values(), ids=PERCENTILES)
def test_percentile(values, percent, expected):
    assert percentile(values, percent) == expected


PACES = {
    "after the first token": (answered(seconds=2.0, first=0.5, tokens=31), 20.0),
    "one token has no pace": (answered(tokens=1), None),
    "no token": (answered(tokens=0, first=None), None),
    "all at once": (answered(seconds=0.5, first=0.5), None),
    "failed half-way": (answered(error="connection"), None),
}


@pytest.mark.parametrize(("sample", "expected"), PACES.values(), ids=PACES)
def test_pace_of_one_answer(sample, expected):
    assert sample.tokens_per_second == expected


RATES = {
    "no request": ([], None),
    "one": ([answered(seconds=2.0, tokens=30)], 15.0),
    "at the same time they add up": ([answered(tokens=30), answered(tokens=30)], 30.0),
    "one after the other they do not": (
        [answered(tokens=30), answered(tokens=30, started=2.0)],
        15.0,
    ),
    "a failed request takes its time too": ([answered(tokens=30), failed(seconds=3.0)], 10.0),
    "the pause between counts": ([answered(tokens=30), answered(tokens=30, started=4.0)], 10.0),
    "the beginning of the measurement does not": ([answered(tokens=30, started=100.0)], 15.0),
    "all failed": ([failed()], None),
    "in no time": ([answered(seconds=0.0, first=0.0)], None),
}


@pytest.mark.parametrize(("samples", "expected"), RATES.values(), ids=RATES)
def test_tokens_per_second_of_all_requests(samples, expected):
    assert throughput(samples) == expected


def test_nothing_sent_is_nothing_known():
    assert summary([]) == {
        "requests": 0,
        "succeeded": 0,
        "errors": {},
        "error_examples": [],
        "first_token_seconds": {"p50": None, "p95": None},
        "latency_seconds": {"p50": None, "p95": None},
        "tokens": {"prompt": 0, "completion": 0, "counted": True},
        "tokens_per_second": None,
        "tokens_per_second_per_request": None,
    }


def test_all_failing_has_errors_and_no_times():
    found = summary([failed("timeout", "late"), failed("loading", "503"), failed("timeout", "late")])
    assert (found["requests"], found["succeeded"]) == (3, 0)
    assert found["errors"] == {"loading": 1, "timeout": 2}
    assert found["error_examples"] == ["late", "503"]
    assert found["latency_seconds"] == {"p50": None, "p95": None}
    assert found["tokens_per_second"] is None


def test_times_are_of_whole_answers():
    found = summary([answered(seconds=2.0), failed(seconds=120.0)])
    assert found["latency_seconds"] == {"p50": 2.0, "p95": 2.0}
    assert found["tokens"] == {"prompt": 10, "completion": 31, "counted": True}


def test_tokens_that_the_server_did_not_count():
    assert summary([answered(), answered(counted=False)])["tokens"]["counted"] is False


def test_an_answer_without_a_token_has_a_latency_and_no_first_token():
    found = summary([answered(first=None, tokens=0)])
    assert found["succeeded"] == 1
    assert found["first_token_seconds"]["p50"] is None
    assert found["latency_seconds"]["p50"] == 2.0


def replica(pod, alternative, *samples, node="") -> Measured:
    return Measured(pod, alternative, node or f"node-{pod}", "g2-standard-8", "m", 0.01, samples)


def test_alternatives_come_in_the_plan_s_order_and_unknown_ones_last():
    measured = [replica("a", "old"), replica("b", "cpu"), replica("c", "gpu"), replica("d", "")]
    assert [each["alternative"] for each in by_alternative(measured, ["gpu", "cpu"], {})] == [
        "gpu",
        "cpu",
        "",
        "old",
    ]


def test_replicas_of_one_kind_add_up():
    pair = [
        replica("a", "gpu", answered("a", tokens=20, seconds=2.0)),
        replica("b", "gpu", answered("b", tokens=30, seconds=2.0)),
    ]
    (found,) = by_alternative(pair, ["gpu"], PRICES)
    assert (found["replicas"], found["nodes"], found["requests"]) == (2, 2, 2)
    assert found["tokens_per_second"] == 25.0
    assert found["usd_per_hour"] == 0.72
    assert found["usd_per_million_tokens"] == 8.0


def test_replicas_on_one_node_pay_for_it_once():
    pair = [replica(pod, "gpu", answered(pod, tokens=40, seconds=2.0), node="n") for pod in "ab"]
    (found,) = by_alternative(pair, ["gpu"], PRICES)
    assert found["usd_per_hour"] == 0.36
    assert found["usd_per_million_tokens"] == 2.5


COSTS = {
    "no price": (None, 10.0, None),
    "no token": (0.36, None, None),
    "a rate of nothing": (0.36, 0.0, None),
    "free": (0.0, 10.0, 0.0),
    "both": (0.36, 10.0, 10.0),
}


@pytest.mark.parametrize(("usd", "rate", "expected"), COSTS.values(), ids=COSTS)
def test_cost_of_a_million_tokens(usd, rate, expected):
    assert usd_per_million_tokens(usd, rate) == pytest.approx(expected)


VERDICTS = {
    "all answered": ([answered()], []),
    "some failed": ([answered(), failed()], [("warning", "RequestsFailed")]),
    "all failed": ([failed()], [("error", "RequestsFailed")]),
    "tokens not reported": ([answered(counted=False)], [("note", "TokensNotReported")]),
    "a failed one is not asked for tokens": ([failed(counted=False)], [("error", "RequestsFailed")]),
}


@pytest.mark.parametrize(("samples", "expected"), VERDICTS.values(), ids=VERDICTS)
def test_verdicts_on_a_replica(samples, expected):
    found = request_verdicts("llm", [replica("a", "gpu", *samples)])
    assert [(each.status, each.reason) for each in found] == expected
    assert all(each.subject == "Pod llm/a" for each in found)


def test_a_verdict_counts_the_kinds_and_shows_examples():
    samples = [
        answered(),
        failed("timeout", "late"),
        failed("loading", "503 loading"),
        failed("timeout", "late"),
    ]
    (found,) = service_verdicts("Service llm/s", samples)
    assert found.observed == "3 of 4 requests failed: 1 loading, 2 timeout"
    assert found.evidence == ("late", "503 loading")
    assert "timeout_seconds" in found.advice


def test_a_service_without_endpoints_is_an_error():
    (found,) = service_verdicts("Service llm/s", [])
    assert (found.status, found.reason) == ("error", "ServiceWithoutEndpoints")
