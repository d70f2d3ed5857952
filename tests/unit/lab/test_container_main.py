# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program's output becomes a container's log; the end of a process is heard of; images are looked up."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ansible_collections.inference.dra.lab.container_main import LogStream
from ansible_collections.inference.dra.lab.processes import when_ended
from ansible_collections.inference.dra.lab.pulls import is_there

HEAD = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z stderr F "


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        pytest.param(["one\n"], ["one"], id="a-line"),
        pytest.param(["o", "ne", "\n"], ["one"], id="a-line-in-parts"),
        pytest.param(["one\ntwo\nthr"], ["one", "two"], id="the-rest-waits"),
        pytest.param(["\n"], [""], id="an-empty-line"),
    ],
)
def test_every_line_gets_a_head(written, lines):
    under = io.StringIO()
    stream = LogStream(under, "stderr")
    for text in written:
        assert stream.write(text) == len(text)
    pattern = "".join(f"{HEAD}{re.escape(line)}\n" for line in lines)
    assert re.fullmatch(pattern, under.getvalue())


@pytest.mark.parametrize("ended_before", [False, True])
def test_the_end_of_a_process_is_heard_of(ended_before):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        if ended_before:
            process.stdin.close()
            process.wait(10)
        heard = threading.Event()
        when_ended(process.pid, heard.set)
        if not ended_before:
            process.stdin.close()
        assert heard.wait(10)


DIGEST = f"sha256:{0:064x}"


class Registry(BaseHTTPRequestHandler):
    known = ("/v2/project/images/app/manifests/1", f"/v2/project/images/app/manifests/{DIGEST}")

    def do_HEAD(self):
        self.send_response(200 if self.path in self.known else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_arguments):
        """Print nothing."""


@pytest.fixture(scope="module")
def registry():
    with HTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("image", "found"),
    [
        pytest.param("project/images/app:1", True, id="tag"),
        pytest.param("project/images/app:2", False, id="another-tag"),
        pytest.param("project/images/app", False, id="latest-is-meant"),
        pytest.param(f"project/images/app@{DIGEST}", True, id="digest"),
        pytest.param(f"project/images/app:2@{DIGEST}", True, id="the-digest-counts"),
    ],
)
def test_an_image_is_looked_up_by_tag_or_digest(registry, image, found):
    assert is_there(f"{registry}/{image}") is found


def test_a_registry_that_does_not_answer_has_nothing():
    assert not is_there("127.0.0.1:1/project/images/app:1")
