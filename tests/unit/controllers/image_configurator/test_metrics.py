# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text that Prometheus reads, and the pages around it."""

from __future__ import annotations

import json
import logging
import urllib.error
import urllib.request

import pytest

from ansible_collections.inference.dra.controllers.image_configurator.logs import JsonLines
from ansible_collections.inference.dra.controllers.image_configurator.metrics import Metrics
from ansible_collections.inference.dra.controllers.image_configurator.server import Server
from ansible_collections.inference.dra.controllers.image_configurator.version import COLLECTION, version


def samples(text):
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def test_numbers():
    metrics = Metrics()
    metrics.count("failures_total", reason="ImageConfigInvalid")
    metrics.count("failures_total", reason="ImageConfigInvalid")
    metrics.count("images_switched_total")
    for seconds in (0.004, 0.02, 0.02, 99.0):
        metrics.observe(seconds)
    text = metrics.render({"leader": 1.0}, "1.2.3")
    found = samples(text)
    prefix = "image_configurator_"
    assert found[prefix + 'failures_total{reason="ImageConfigInvalid"}'] == "2"
    assert found[prefix + "images_switched_total"] == "1"
    assert found[prefix + "allocations_total"] == "0"
    assert found[prefix + "leader"] == "1"
    assert found[prefix + 'build_info{version="1.2.3"}'] == "1"
    histogram = prefix + "allocation_to_condition_seconds"
    assert [found[f'{histogram}_bucket{{le="{le}"}}'] for le in ("0.01", "0.025", "60.0", "+Inf")] == list(
        "1334"
    )
    assert found[histogram + "_count"] == "4"
    named = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert all(any(name.startswith(known) for known in named) for name in found)


def test_a_bound_belongs_to_its_bucket():
    metrics = Metrics()
    metrics.observe(0.1)
    found = samples(metrics.render({}, "1"))
    assert found['image_configurator_allocation_to_condition_seconds_bucket{le="0.1"}'] == "1"


@pytest.fixture(scope="module")
def server():
    serving = Server(
        "127.0.0.1:0", {"/readyz": lambda: (503, "no slice\n"), "/healthz": lambda: (200, "ok\n")}
    )
    yield serving
    serving.shutdown()
    serving.server_close()


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/healthz", 200, "ok"),
        ("/healthz?x=1", 200, "ok"),
        ("/readyz", 503, "no slice"),
        ("/", 404, "not found"),
    ],
)
def test_pages(server, path, status, text):
    try:
        with urllib.request.urlopen(f"http://{server.address}{path}", timeout=5) as answer:
            found = answer.status, answer.read().decode().strip()
    except urllib.error.HTTPError as error:
        with error:
            found = error.code, error.read().decode().strip()
    assert found == (status, text)


def test_log_lines_carry_their_fields():
    record = logging.makeLogRecord(
        {"levelname": "INFO", "msg": "images %s", "args": ("right",), "claim": "a/b"}
    )
    line = json.loads(JsonLines().format(record))
    assert (line["message"], line["level"], line["claim"]) == ("images right", "info", "a/b")
    assert "args" not in line


def test_version_is_the_collection_s():
    assert f"version: {version()}" in (COLLECTION / "galaxy.yml").read_text()
