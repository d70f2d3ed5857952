# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report: what was recorded and nothing else, as data and as one page that needs nothing else."""

from __future__ import annotations

import copy
import re
from html.parser import HTMLParser

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core import report, report_page

PLAN = {
    "alternatives": ["gpu", "cpu"],
    "node_pools": [
        {"name": f"{name}-pool", "machine_type": kind, "spot": spot, "autoscaling": {"max_node_count": 2}}
        for name, kind, spot in (("gpu", "g2-standard-8", True), ("cpu", "n2-standard-16", False))
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
    "subject": "ResourceClaim llm/a",
    "observed": "1 claims hold <its> devices",
    "advice": "wait",
}


def replica(name: str, alternative: str, minute: int, **changes) -> dict:
    at = f"2026-09-01T12:{minute:02}"
    return {
        "pod": name,
        "alternative": alternative,
        "devices": [f"driver/{name}/dev-0"],
        "node": "node-1",
        "machine_type": "g2-standard-8",
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
        **changes,
    }


def step(*replicas, pools=None, waited=12.5) -> dict:
    counts: dict[str, int] = {}
    for each in replicas:
        counts[each["alternative"]] = counts.get(each["alternative"], 0) + 1
    return {
        "replicas": len(replicas),
        "waited_seconds": waited,
        "alternatives": counts,
        "node_pools": pools or {"gpu-pool": 1},
        "service": list(replicas),
    }


FIRST = step(replica("vllm-1", "gpu", 0))
LAST = step(
    replica("vllm-1", "gpu", 0),
    replica("vllm-2", "cpu", 5, verdicts=[VERDICT]),
    pools={"gpu-pool": 1, "cpu-pool": 2},
    waited=30,
)
RECORD = {"steps": [FIRST, LAST], "versions": {"kubernetes": "v1.36.3"}}


def built(record=None, plan=None, environment=None):
    return report.build(
        RECORD if record is None else record,
        PLAN if plan is None else plan,
        environment or {"name": "lab"},
    )


def test_report_is_of_the_last_step():
    made = built()
    assert [each["pod"] for each in made["replicas"]] == ["vllm-1", "vllm-2"]
    assert made["verdicts"] == [VERDICT]
    assert [each["replicas"] for each in made["steps"]] == [1, 2]
    assert all("service" not in each for each in made["steps"])


def test_cost_is_of_the_nodes_that_are_there():
    cost = built()["cost"]
    assert [(line["alternative"], line["nodes"]) for line in cost["lines"]] == [("gpu", 1), ("cpu", 2)]
    assert cost["usd_per_hour"] == pytest.approx(0.341 + 2 * 0.254)


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
    "without a device": ({"steps": [step(replica("a", "", 0))]}, PLAN, "1 replicas: 1 on nothing yet"),
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


def test_page_says_what_the_report_says():
    words = " ".join(Page(report_page.render(built())).text)
    for expected in ("2 replicas", "vllm-2", "DeviceInUse", "$ 0.85", "name lab", "gpu-pool 1", "42 s"):
        assert expected in words


def test_page_is_safe_whatever_a_name_holds():
    hostile = "<script>alert(1)</script>"
    record = {
        "steps": [step(replica(hostile, hostile, 0, image=hostile, devices=[hostile], verdicts=[VERDICT]))]
    }
    text = report_page.render(built(record, {"alternatives": [hostile]}, {"name": hostile}))
    assert "<script" not in text
    assert "&lt;its&gt;" in text


def test_time_line_has_a_bar_for_each_wait():
    text = report_page.render(built())
    assert text.count("<rect") == 2 * 4
    assert "waits for devices: 10.0 s" in text
    assert "starts: 30.0 s" in text


def test_time_line_leaves_out_what_was_not_reached():
    waiting = replica("a", "cpu", 0)
    waiting["phases"] |= {"image_switched": None, "bound": None, "ready": None}
    text = report_page.render(built({"steps": [step(waiting)]}))
    assert text.count("<rect") == 1


def test_same_record_gives_the_same_page():
    assert report_page.render(built()) == report_page.render(built(copy.deepcopy(RECORD)))
