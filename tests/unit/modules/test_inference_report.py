# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""inference_report: two files out of a record, written only when they differ."""

from __future__ import annotations

import json

import pytest

from .in_process import run_module

RECORD = {
    "steps": [
        {"replicas": 0, "waited_seconds": 1, "alternatives": {}, "node_pools": {}, "service": []},
    ]
}


@pytest.fixture
def write(tmp_path):
    record = tmp_path / "record.json"
    record.write_text(json.dumps(RECORD))

    def run(**options):
        given = {"record": str(record), "plan": {"alternatives": ["gpu"]}, "directory": str(tmp_path)}
        return run_module("inference_report", **{**given, **options})

    return run


def test_written_once(write, tmp_path):
    first, second = write(), write()
    assert (first["changed"], second["changed"]) == (True, False)
    assert json.loads((tmp_path / "report.json").read_text())["plan"]["alternatives"] == ["gpu"]
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert (first["html"], first["json"]) == (str(tmp_path / "report.html"), str(tmp_path / "report.json"))


def test_written_again_where_something_differs(write):
    write()
    assert write(environment={"name": "lab"})["changed"]


def test_check_mode_writes_nothing(write, tmp_path):
    result = write(check_mode=True)
    assert (result["changed"], result["failed"]) == (True, False)
    assert not (tmp_path / "report.html").exists()


PARTS = {
    "traffic": {"alternatives": [], "verdicts": []},
    "teardown": {"clean": True, "asked": ["cluster"], "leftovers": [], "usd_per_hour": "0", "unpriced": []},
}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_was_recorded_is_in_it_and_one_that_was_not_is_empty(write, tmp_path, part):
    path = tmp_path / f"{part}.json"
    write(**{part: str(path)})
    assert json.loads((tmp_path / "report.json").read_text())[part] == {}
    path.write_text(json.dumps(PARTS[part]))
    assert write(**{part: str(path)})["changed"]
    assert json.loads((tmp_path / "report.json").read_text())[part] == PARTS[part]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_can_t_be_read_is_named(write, tmp_path, part):
    path = tmp_path / "broken.json"
    path.write_text("{")
    result = write(**{part: str(path)})
    assert (result["failed"], result["reason"]) == (True, "RecordUnreadable")
    assert str(path) in result["msg"]


UNREADABLE = {"missing": None, "not JSON": "{", "a list": "[]"}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_record_that_is_none(write, tmp_path, text):
    record = tmp_path / "other.json"
    if text is not None:
        record.write_text(text)
    result = write(record=str(record))
    assert (result["failed"], result["reason"]) == (True, "RecordUnreadable")
    assert str(record) in result["msg"]
