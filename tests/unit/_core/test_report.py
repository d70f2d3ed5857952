# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report: what was recorded and nothing else, as data of a stated shape and as one page that needs
nothing else."""

from __future__ import annotations

import copy
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core import report, report_page
from ansible_collections.inference.dra.plugins.module_utils._core.report_charts import nice_step

SCHEMA = Path(__file__).parents[3] / "roles" / "report" / "files" / "report.schema.json"
PLAN = {
    "alternatives": ["gpu", "cpu"],
    "node_pools": [
        {
            "name": f"{name}-pool",
            "machine_type": kind,
            "spot": spot,
            "initial_node_count": 1,
            "autoscaling": {"min_node_count": least, "max_node_count": 2},
            "locations": ["us-central1-a"],
        }
        for name, kind, spot, least in (
            ("gpu", "g2-standard-8", True, 0),
            ("cpu", "n2-standard-16", False, 1),
        )
    ],
    "nodes": [
        {"alternative": "gpu", "node_pool": "gpu-pool"},
        {"alternative": "cpu", "node_pool": "cpu-pool"},
    ],
    "prices": {
        "gpu": {"usd_per_hour": 0.341, "as_of": "2026-08"},
        "cpu": {"usd_per_hour": 0.254, "as_of": "2026-08"},
    },
}
VERDICT = {
    "status": "note",
    "reason": "DeviceInUse",
    "subject": "ResourceClaim llm/vllm-2-device",
    "observed": "1 claims hold <its> devices",
    "expected": "a free device",
    "advice": "wait",
    "evidence": ["ResourceClaim llm/b holds driver/pool/gpu-0"],
}
LATE = {
    **VERDICT,
    "status": "error",
    "reason": "RequestsFailed",
    "subject": "Pod llm/vllm-2",
    "observed": "3 of 3 requests failed: 3 timeout",
}

AS_PREDICTED = {**VERDICT, "status": "ok", "reason": "AlternativesAsPredicted"}
OTHERWISE = {**VERDICT, "status": "error", "reason": "AlternativesDiffer"}


def replica(name: str, alternative: str, minute: int, **changes) -> dict:
    at = f"2026-09-01T12:{minute:02}"
    condition = {"type": "gate/image-updated", "status": "True", "reason": "Patched", "at": f"{at}:11+00:00"}
    claim = {
        "claim": f"{name}-device",
        "allocated_at": f"{at}:10+00:00",
        "devices": [{"device": f"driver/{name}/dev-0", "request": "device/x", "conditions": [condition]}],
    }
    return {
        "pod": name,
        "uid": f"uid-{name}",
        "alternative": alternative,
        "devices": [f"driver/{name}/dev-0"],
        "node": f"node-{name}",
        "node_pool": f"{alternative}-pool",
        "machine_type": "g2-standard-8",
        "zone": "us-central1-a",
        "spot": True,
        "image": "vllm:1",
        "phases": {
            "created": f"{at}:00+00:00",
            "allocated": f"{at}:10+00:00",
            "image_switched": f"{at}:11+00:00",
            "bound": f"{at}:12+00:00",
            "ready": f"{at}:42+00:00",
        },
        "verdicts": [],
        "claims": [claim],
        **changes,
    }


def step(*replicas, minute=1, pools=None, waited=12.5, **changes) -> dict:
    counts: dict[str, int] = {}
    for each in replicas:
        counts[each["alternative"]] = counts.get(each["alternative"], 0) + 1
    return {
        "replicas": len(replicas),
        "waited_seconds": waited,
        "at": f"2026-09-01T12:{minute:02}:00+00:00",
        "alternatives": counts,
        "node_pools": pools or {"gpu-pool": 1},
        "service": list(replicas),
        **changes,
    }


FIRST = step(replica("vllm-1", "gpu", 0))
LAST = step(
    replica("vllm-1", "gpu", 0),
    replica("vllm-2", "cpu", 5, verdicts=[VERDICT]),
    minute=6,
    pools={"gpu-pool": 1, "cpu-pool": 2, "default-pool": 3},
    waited=30,
)
VERSIONS = {"kubernetes": "v1.36.3", "kubelets": ["v1.36.3"], "charts": {"dra-driver-cpu": "0.2.0"}}
RECORD = {"steps": [FIRST, LAST], "versions": VERSIONS}


def requests(seconds: float | None, **changes) -> dict:
    spread = {"p50": seconds, "p95": seconds and seconds * 2}
    return {
        "requests": 3,
        "succeeded": 3 if seconds else 0,
        "errors": {} if seconds else {"timeout": 3},
        "error_examples": [] if seconds else ["no end after 5 s"],
        "first_token_seconds": spread,
        "latency_seconds": spread,
        "tokens": {"prompt": 30, "completion": 60, "counted": True},
        "tokens_per_second": seconds and 12.5,
        "tokens_per_second_per_request": seconds and 6.5,
        **changes,
    }


def hardware(name: str, seconds: float | None, usd: float | None) -> dict:
    return {
        "alternative": name,
        "machine_types": ["g2-standard-8"],
        "replicas": 1,
        "nodes": 1,
        **requests(seconds),
        "usd_per_hour": 0.341,
        "usd_per_million_tokens": usd,
    }


TRAFFIC = {
    "now": "2026-09-01T12:10:00+00:00",
    "load": {"model": "gemma", "requests": 3, "concurrency": 1, "max_tokens": 20, "prompt": "why"},
    "replicas": [
        {
            "pod": "vllm-1",
            "alternative": "gpu",
            "node": "node-vllm-1",
            "machine_type": "g2-standard-8",
            "model": "gemma",
            "round_trip_seconds": 0.01,
            **requests(0.5),
        }
    ],
    "alternatives": [hardware("gpu", 0.5, 7.58), hardware("cpu", None, None)],
    "service": {"name": "vllm", "endpoints": 2, "alternatives": {"gpu": 1, "cpu": 2}, **requests(0.7)},
    "verdicts": [LATE],
}
GONE = {
    "at": "2026-09-01T13:00:00+00:00",
    "clean": True,
    "asked": ["cluster", "node pools"],
    "leftovers": [],
    "usd_per_hour": "0.0000",
    "unpriced": [],
    "verdicts": [],
}
LEFT = {
    **GONE,
    "clean": False,
    "leftovers": [
        {
            "kind": "NodePool",
            "name": "gpu-pool",
            "namespace": "",
            "usd_per_hour": "0.6820",
            "detail": "2 nodes",
        }
    ],
    "usd_per_hour": "0.6820",
    "unpriced": ["Cluster c"],
}


def built(record=None, plan=None, environment=None, traffic=None, teardown=None):
    return report.build(
        RECORD if record is None else record,
        PLAN if plan is None else plan,
        environment or {"name": "lab"},
        traffic,
        teardown,
    )


def test_report_is_of_the_last_step():
    made = built()
    assert [each["pod"] for each in made["replicas"]] == ["vllm-1", "vllm-2"]
    assert made["verdicts"] == [VERDICT]
    assert [each["replicas"] for each in made["steps"]] == [1, 2]
    assert all("service" not in each for each in made["steps"])


def test_findings_of_traffic_are_findings():
    assert built(traffic=TRAFFIC)["verdicts"] == [VERDICT, LATE]


def test_findings_of_every_step_are_findings_unless_all_is_well():
    steps = [step(verdicts=[AS_PREDICTED]), step(verdicts=[OTHERWISE]), step()]
    made = built({"steps": steps})
    assert made["verdicts"] == [OTHERWISE]
    assert made["steps"][0]["verdicts"] == [AS_PREDICTED]


def test_page_says_once_what_the_autoscaler_said():
    steps = [step(scale_ups=["a: grew <gpu-pool>"]), step(scale_ups=["a: grew <gpu-pool>", "b: grew"])]
    said = words(report_page.render(built({"steps": steps})))
    assert said.count("a: grew <gpu-pool>") == 1
    assert "b: grew" in said


STALE = {
    "traffic before the last step": {"traffic": {**TRAFFIC, "now": "2026-09-01T12:05:00+00:00"}},
    "teardown before the last step": {"teardown": {**GONE, "at": "2026-09-01T11:00:00+00:00"}},
}


@pytest.mark.parametrize("given", STALE.values(), ids=STALE)
def test_what_was_recorded_of_an_earlier_service_is_left_out(given):
    assert built(**given)[next(iter(given))] == {}


# Steps

PREDICTIONS = {
    "none recorded": ({}, None),
    "as predicted": ({"predicted": {"gpu": 1}}, True),
    "a zero is no difference": ({"predicted": {"gpu": 1, "cpu": 0}}, True),
    "other hardware": ({"predicted": {"cpu": 1}}, False),
    "within what was predicted": ({"predicted": {"cpu": 1}, "verdicts": [AS_PREDICTED]}, True),
    "outside of it": ({"predicted": {"gpu": 1}, "verdicts": [OTHERWISE]}, False),
    "fewer": ({"predicted": {"gpu": 2}}, False),
}


@pytest.mark.parametrize(("recorded", "expected"), PREDICTIONS.values(), ids=PREDICTIONS)
def test_step_beside_its_prediction(recorded, expected):
    (made,) = built({"steps": [step(replica("a", "gpu", 0), **recorded)]})["steps"]
    assert made["as_predicted"] is expected


def test_replicas_serve_from_when_they_were_ready():
    first, last = built()["steps"]
    assert first["serving"] == [{"at": "2026-09-01T12:00:42+00:00", "alternatives": {"gpu": 1}}]
    assert last["serving"] == [{"at": "2026-09-01T12:05:42+00:00", "alternatives": {"gpu": 1, "cpu": 1}}]


def test_replicas_serve_until_they_are_seen_no_more():
    fewer = step(replica("vllm-2", "cpu", 5), minute=9)
    (_unused, _unused, last) = built({"steps": [FIRST, LAST, fewer]})["steps"]
    assert last["serving"] == [{"at": fewer["at"], "alternatives": {"cpu": 1}}]


def test_replica_that_is_not_ready_does_not_serve():
    waiting = replica("a", "gpu", 0)
    waiting["phases"]["ready"] = None
    (made,) = built({"steps": [step(waiting)]})["steps"]
    assert made["serving"] == []


BEGINNINGS = {
    "before its wait": (step(minute=6, waited=30), "2026-09-01T12:05:30+00:00"),
    "before its first new replica": (
        step(replica("a", "gpu", 5), minute=6, waited=12),
        "2026-09-01T12:05:00+00:00",
    ),
    "not known": (step(at=None), None),
}


@pytest.mark.parametrize(("recorded", "expected"), BEGINNINGS.values(), ids=BEGINNINGS)
def test_when_a_step_began(recorded, expected):
    assert built({"steps": [recorded]})["steps"][0]["began"] == expected


# Cost


def test_cost_is_of_the_planned_sizes_and_of_the_nodes_that_are_there():
    cost = built()["cost"]
    assert [line["nodes"] for line in cost["alternatives"]] == [
        {"minimum": 0, "initial": 1, "maximum": 2, "now": 1},
        {"minimum": 1, "initial": 1, "maximum": 2, "now": 2},
    ]
    assert cost["usd_per_hour"] == {
        "minimum": 0.254,
        "initial": 0.595,
        "maximum": 1.19,
        "now": pytest.approx(0.341 + 2 * 0.254),
    }
    assert cost["unpriced"] == []


def test_sizes_are_per_zone():
    plan = copy.deepcopy(PLAN)
    plan["node_pools"][0]["locations"] = ["a", "b", "c"]
    assert built(plan=plan)["cost"]["alternatives"][0]["nodes"]["maximum"] == 6


def test_alternative_without_a_price_is_named():
    cost = built(plan={**PLAN, "prices": {"gpu": PLAN["prices"]["gpu"]}})["cost"]
    assert [line["alternative"] for line in cost["alternatives"]] == ["gpu"]
    assert cost["unpriced"] == ["cpu"]
    assert [each["usd_per_hour"] for each in cost["replicas"]] == [0.341, None]


def test_replicas_on_one_node_share_its_price():
    pair = step(*(replica(name, "gpu", 0, node="n") for name in "ab"))
    assert [each["usd_per_hour"] for each in built({"steps": [pair]})["cost"]["replicas"]] == [0.1705, 0.1705]


def test_replica_without_a_node_costs_nothing_yet():
    waiting = step(replica("a", "gpu", 0, node=""))
    assert built({"steps": [waiting]})["cost"]["replicas"][0]["usd_per_hour"] is None


EMPTY = {"no record": ({}, PLAN), "no plan": (RECORD, {}), "nothing": ({}, {})}


@pytest.mark.parametrize(("record", "plan"), EMPTY.values(), ids=EMPTY)
def test_what_was_not_recorded_is_empty(record, plan):
    made = built(record, plan)
    assert set(made) == {
        "environment",
        "versions",
        "plan",
        "steps",
        "replicas",
        "verdicts",
        "traffic",
        "cost",
        "teardown",
    }
    assert report_page.render(made).startswith("<!doctype html>")


SUMMARIES = {
    "both": (RECORD, PLAN, "2 replicas: 1 on gpu, 1 on cpu"),
    "in the order of the plan": (
        RECORD,
        {**PLAN, "alternatives": ["cpu", "gpu"]},
        "2 replicas: 1 on cpu, 1 on gpu",
    ),
    "not in the plan": (RECORD, {"alternatives": ["cpu"]}, "2 replicas: 1 on cpu, 1 on gpu"),
    "without a device": ({"steps": [step(replica("a", "", 0))]}, PLAN, "1 replica: 1 on nothing yet"),
    "nothing": ({}, PLAN, "Nothing was recorded"),
}


@pytest.mark.parametrize(("record", "plan", "sentence"), SUMMARIES.values(), ids=SUMMARIES)
def test_summary(record, plan, sentence):
    assert report.summary(built(record, plan)) == sentence


def test_building_leaves_the_record_alone():
    before = copy.deepcopy(RECORD)
    report_page.render(built())
    assert before == RECORD


# The page


class Page(HTMLParser):
    """The tags of a page, and every address that it would load something from."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text: list[str] = []
        self.loads: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.loads += [value for name, value in attrs if name in ("src", "href", "data")]

    def handle_data(self, data):
        self.text.append(data)


def test_page_loads_nothing():
    text = report_page.render(built())
    page = Page(text)
    assert page.loads == []
    assert not {"script", "link", "iframe", "img"} & set(page.tags)
    assert not re.search(r"url\(|@import|https?://", text)


def words(text: str) -> str:
    return " ".join(" ".join(Page(text).text).split())


def test_page_says_what_the_report_says():
    said = words(report_page.render(built(traffic=TRAFFIC, teardown=GONE)))
    for expected in (
        "2 replicas: 1 on gpu , 1 on cpu",
        "1 error to look at.",
        "Torn down; nothing is left.",
        "vllm-2",
        "Error · RequestsFailed",
        "Note · DeviceInUse",
        "$0.85",
        "lab · 1 September 2026, 12:06 UTC",
        "500 ms (1.0 s)",
        "3 timeout",
        "$7.58",
        "image-updated True 12:05:11",
        "ResourceClaim llm/b holds driver/pool/gpu-0",
        "chart dra-driver-cpu 0.2.0",
        "Asked for cluster, node pools.",
    ):
        assert expected in said


TOLD = {
    "all as predicted": (
        {"record": {"steps": [step(replica("a", "gpu", 0), predicted={"gpu": 1})]}},
        "The step ended as predicted. No error and no warning.",
    ),
    "otherwise": (
        {"record": {"steps": [step(replica("a", "gpu", 0), predicted={"cpu": 1})]}},
        "1 of 1 step ended otherwise than predicted.",
    ),
    "no prediction": ({}, "No error and no warning, 1 note."),
    "things left": ({"teardown": LEFT}, "Torn down, and not all is gone."),
    "what is left costs money": (
        {"teardown": LEFT},
        "What is left costs 0.6820 USD per hour, and what Cluster c costs.",
    ),
}


@pytest.mark.parametrize(("given", "sentence"), TOLD.values(), ids=TOLD)
def test_page_tells_how_it_went(given, sentence):
    assert sentence in words(report_page.render(built(**given)))


def test_same_finding_on_several_objects_is_said_once():
    other = {**VERDICT, "subject": "ResourceClaim llm/other"}
    record = {"steps": [step(replica("a", "cpu", 0, verdicts=[VERDICT, other]))]}
    said = words(report_page.render(built(record)))
    assert said.count("Note · DeviceInUse") == 1
    assert "ResourceClaim llm/other" in said


def test_page_is_safe_whatever_a_name_holds():
    hostile = "<script>alert('1')</script>"
    verdict = {
        **VERDICT,
        **dict.fromkeys(("status", "subject", "observed", "advice"), hostile),
        "status": "note",
    }
    bad = replica(hostile, hostile, 0, image=hostile, devices=[hostile], verdicts=[verdict], zone=hostile)
    bad["claims"][0] |= {"claim": hostile}
    bad["claims"][0]["devices"][0] |= {"device": hostile, "request": hostile}
    traffic = copy.deepcopy(TRAFFIC)
    traffic["alternatives"][0]["alternative"] = traffic["service"]["name"] = traffic["load"]["model"] = (
        hostile
    )
    traffic["alternatives"][1]["errors"] = {hostile: 1}
    proof = {**LEFT, "asked": [hostile], "unpriced": [hostile], "usd_per_hour": hostile}
    record = {"steps": [step(bad)], "versions": {hostile: hostile, "charts": {hostile: hostile}}}
    text = report_page.render(
        built(record, {"alternatives": [hostile]}, {"name": hostile}, traffic, proof),
    )
    assert "<script" not in text
    assert "alert('" not in text


def test_time_line_has_a_bar_for_each_wait():
    text = report_page.render(built())
    assert text.count("waits for devices: 10 s") == text.count("starts: 30 s") == 2


def test_time_line_of_a_replica_that_is_not_ready():
    waiting = replica("a", "gpu", 0)
    waiting["phases"] |= {"bound": None, "ready": None}
    assert "not ready" in words(report_page.render(built({"steps": [step(waiting)]})))


@pytest.mark.parametrize(("seconds", "step_seconds"), [(1, 1), (9, 2), (70, 15), (700, 120), (10**6, 7200)])
def test_scale_has_round_numbers(seconds, step_seconds):
    assert nice_step(seconds) == step_seconds


# The shape

RECORDED = json.loads((Path(__file__).parents[1] / "fixtures" / "recorded_demo.json").read_text())
EXAMPLES = {
    "a run on the lab": lambda: built(
        RECORDED["record"], RECORDED["plan"], None, RECORDED["traffic"], RECORDED["teardown"]
    ),
    "nothing": lambda: built({}, {}),
    "steps": built,
    "traffic": lambda: built(traffic=TRAFFIC),
    "torn down": lambda: built(traffic=TRAFFIC, teardown=GONE),
    "something left": lambda: built(teardown=LEFT),
    "a replica that waits": lambda: built(
        {"steps": [step(replica("a", "", 0, node=""), predicted={"gpu": 1})]}
    ),
    "an old record": lambda: built({"steps": [{k: v for k, v in FIRST.items() if k != "at"}]}),
}
REFUSED = {
    "another key": lambda made: made | {"extra": 1},
    "a key less": lambda made: {key: value for key, value in made.items() if key != "verdicts"},
    "a replica without phases": lambda made: made | {"replicas": [{"pod": "a"}]},
    "a verdict of an unknown status": lambda made: made | {"verdicts": [{**VERDICT, "status": "bad"}]},
    "a size that is text": lambda made: made | {"cost": made["cost"] | {"usd_per_hour": "1"}},
}


@pytest.fixture(scope="module")
def schema():
    jsonschema = pytest.importorskip("jsonschema", reason="no jsonschema on this Python")
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_report_has_the_shape_that_the_schema_states(schema, example):
    made = example()
    assert [f"{each.json_path}: {each.message}" for each in schema.iter_errors(made)] == []
    assert json.loads(json.dumps(made)) == made
    assert report_page.render(made)


@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED)
def test_schema_refuses(schema, change):
    assert not schema.is_valid(change(built()))
