# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab of their own for the tests of a file, and the playbooks run on it as a user runs them."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from ansible_collections.inference.dra.lab import cli
from ansible_collections.inference.dra.lab.state import Lab
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    PODS,
    Kubernetes,
    Resource,
)
from ansible_collections.inference.dra.tests.integration.lab.labs import running_lab
from ansible_collections.inference.dra.tests.watched import seen

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = Path(sys.executable).parent
RECAP = re.compile(r"^localhost +: ok=(\d+) +changed=(\d+) +unreachable=0 +failed=(\d+)", re.MULTILINE)
PLAYBOOK_SECONDS = 600
PATIENCE_SECONDS = 180.0


def is_ready(pod: dict) -> bool:
    """Return whether a pod serves and is not on its way out."""
    conditions = pod["status"].get("conditions", ())
    ready = any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


@dataclass(frozen=True)
class Ended:
    """How a playbook ended: exit status, its recap, and all that it printed."""

    status: int
    changed: int
    failed: int
    output: str


def ended(process: subprocess.Popen[str]) -> Ended:
    """Return how a playbook ended that is under way."""
    try:
        output, _errors = process.communicate(timeout=PLAYBOOK_SECONDS)
    finally:
        process.kill()
    recap = RECAP.search(output)
    assert recap, output
    return Ended(process.returncode, int(recap[2]), int(recap[3]), output)


@dataclass(frozen=True)
class Bench:
    """A lab, a folder for what playbooks write, and the inventory of the checkout that they are run with."""

    lab: Lab
    output: Path
    inventory: str = "lab"

    @property
    def api(self) -> Kubernetes:
        return Kubernetes.connect({"kubeconfig": str(self.lab.kubeconfig)})

    def connection(self, **changes: str) -> dict:
        """Return what the role lab would set, changed: an extra variable wins over its fact."""
        return {"lab_connection": {**cli.description(self.lab), **changes}}

    def until(self, resource: Resource, holds: Callable[[list[dict]], object]) -> list[dict]:
        """Return the objects of a kind as soon as the condition holds for them."""
        namespace = "default" if resource.namespaced else ""
        what = f"the {resource.plural} of {self.lab.name}"
        return seen(self.api, resource, holds, what, namespace=namespace, seconds=PATIENCE_SECONDS)

    def play(self, playbook: str, *options: str, check: bool = False, **variables) -> Ended:
        """Run a playbook from the checkout and return how it ended."""
        return ended(self.start(playbook, *options, *(["--check"] if check else []), **variables))

    def start(self, playbook: str, *options: str, **variables) -> subprocess.Popen[str]:
        """Begin a playbook from the checkout, in a session of its own."""
        given = {"lab_name": self.lab.name, "inference_output": str(self.output), **variables}
        command = [
            str(PROGRAMS / "ansible-playbook"),
            "--inventory",
            f"inventories/{self.inventory}",
            playbook,
        ]
        return subprocess.Popen(
            [*command, "--extra-vars", json.dumps(given), *options],
            cwd=ROOT,
            env=os.environ | {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}", "ANSIBLE_NOCOLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


@pytest.fixture(scope="module")
def bench(lab_binaries, tmp_path_factory) -> Iterator[Bench]:
    with running_lab("itest") as lab:
        yield Bench(lab, tmp_path_factory.mktemp("output"))


@pytest.fixture(scope="session")
def served(lab_binaries, tmp_path_factory) -> Iterator[Bench]:
    """A lab with two replicas, one on a GPU and one on CPUs, of which one at a time may be missing.

    A second CPU node stands by, so that a replica can fall back without the autoscaler's back-offs, and no
    node is so idle that it goes: on a loaded machine the lab's clock is far ahead of a playbook.
    """
    text = (ROOT / "inventories/lab/group_vars/all/alternatives.yml").read_text()
    alternatives = yaml.safe_load(text)["inference_alternatives"]
    for alternative, nodes in zip(alternatives, (1, 2), strict=True):
        alternative["node_pool"] |= {"initial_nodes": nodes, "min_nodes": nodes}
    with running_lab("itest-served") as lab:
        made = Bench(lab, tmp_path_factory.mktemp("served"))
        wanted = {"inference_alternatives": alternatives, "inference_replicas": 2, "vllm_min_available": 1}
        ended = made.play("site.yml", **wanted)
        assert ended.status == 0, ended.output
        made.until(PODS, lambda pods: sum(map(is_ready, pods)) == 2)
        yield made


class CountingProxy:
    """Stands before the lab's Google and remembers every request that would write."""

    def __init__(self, target: str) -> None:
        self.reads = 0
        self.writes: list[str] = []
        handler = type("Bound", (_Handler,), {"proxy": self, "target": urlsplit(target).netloc})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.endpoint = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    proxy: CountingProxy
    target: str
    protocol_version = "HTTP/1.1"

    def pass_on(self) -> None:
        if self.command == "GET":
            self.proxy.reads += 1
        else:
            self.proxy.writes.append(f"{self.command} {self.path}")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        connection = http.client.HTTPConnection(self.target, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        connection.request(self.command, self.path, body or None, headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type", "application/json"))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on

    def log_message(self, *_arguments) -> None:
        """Print nothing."""


@pytest.fixture
def google(bench) -> Iterator[CountingProxy]:
    """The lab's Google behind a counter."""
    proxy = CountingProxy(bench.lab.url("google"))
    yield proxy
    proxy.stop()
