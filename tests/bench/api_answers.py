# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Kubernetes API on loopback that only answers lists, from texts made beforehand, and what asks it."""

from __future__ import annotations

import contextlib
import json
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

import pytest

PAGE = 500
KINDS = {
    "resourceslices": ("resource.k8s.io/v1", "ResourceSlice", False),
    "resourceclaims": ("resource.k8s.io/v1", "ResourceClaim", True),
    "pods": ("v1", "Pod", True),
}
# Not ru_maxrss: that of a program begins with what its parent had, the answers of the server included.
CHILD = """
import json, re, resource, sys, time
before = resource.getrusage(resource.RUSAGE_SELF)
started = time.monotonic()
from ansible_collections.inference.dra.tests.unit.modules.in_process import run_module
result = run_module(sys.argv[1], host=sys.argv[2], api_key="x", **json.loads(sys.argv[3]))
after = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "seconds": time.monotonic() - started,
    "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    "megabytes": int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024,
    "result": result,
}))
"""
K8S_INFO = """
import json, sys
from ansible.module_utils import basic
from ansible.module_utils.testing import patch_module_args
from ansible_collections.kubernetes.core.plugins.modules import k8s_info
options = {"host": sys.argv[1], "api_key": "x", "validate_certs": False}
options |= {"kind": sys.argv[2], "api_version": sys.argv[3]}
with patch_module_args(options):
    k8s_info.main()
"""


class Run(NamedTuple):
    """What a program took and printed."""

    seconds: float
    megabytes: float
    said: str


def paged(plural: str, items: Sequence[Mapping]) -> dict[str, bytes]:
    """Return the answers to a list by continue token; ``all`` is the answer to a request without a limit."""
    version, kind, _unused = KINDS.get(plural, ("v1", "", False))

    def answer(begin: int, end: int) -> bytes:
        more = str(end) if end < len(items) else ""
        meta = {"resourceVersion": "1", "continue": more}
        body = {"kind": f"{kind}List", "apiVersion": version, "metadata": meta, "items": items[begin:end]}
        return json.dumps(body).encode()

    starts = range(0, max(len(items), 1), PAGE)
    return {"all": answer(0, len(items)), **{str(each or ""): answer(each, each + PAGE) for each in starts}}


def discovery() -> dict[str, bytes]:
    """Return what a client library asks for before it asks for objects."""
    groups = [
        {"name": "resource.k8s.io", "versions": [{"groupVersion": "resource.k8s.io/v1", "version": "v1"}]}
    ]
    groups[0]["preferredVersion"] = groups[0]["versions"][0]
    found = {
        "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.3"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups},
    }
    for path, version in (("/api/v1", "v1"), ("/apis/resource.k8s.io/v1", "resource.k8s.io/v1")):
        resources = [
            {
                "name": plural,
                "kind": kind,
                "namespaced": namespaced,
                "singularName": "",
                "verbs": ["get", "list"],
            }
            for plural, (of, kind, namespaced) in KINDS.items()
            if of == version
        ]
        found[path] = {"kind": "APIResourceList", "groupVersion": version, "resources": resources}
    return {path: json.dumps(body).encode() for path, body in found.items()}


class Handler(BaseHTTPRequestHandler):
    """Answers from texts; a kind without any has no objects."""

    protocol_version = "HTTP/1.1"
    lists: Mapping[str, Mapping[str, bytes]]
    known = discovery()

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        pages = self.lists.get(url.path.rsplit("/", 1)[-1]) or paged("", [])
        token = query.get("continue", "") if "limit" in query else "all"
        content = self.known.get(url.path.rstrip("/")) or pages[token]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args) -> None:
        """Keep quiet."""


@contextlib.contextmanager
def served(**lists: Sequence[Mapping]) -> Iterator[str]:
    """Serve lists by their plural; yield the URL."""
    handler = type(
        "Answers", (Handler,), {"lists": {name: paged(name, items) for name, items in lists.items()}}
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def module(name: str, url: str, **options) -> dict:
    """Run a module of ours in a process of its own; return its result and what it took."""
    command = [sys.executable, "-c", CHILD, name, url, json.dumps(options)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def kubectl_and_jq(url: str, path: str, program: str) -> Run:
    """Ask with kubectl and judge with jq; the whole list in one answer, as one gets it without paging."""
    if not (shutil.which("kubectl") and shutil.which("jq")):
        pytest.skip("there is no kubectl or no jq on this machine")
    script = f"kubectl --server {url} get --raw {path} | jq -c '{program}'"
    return _timed(["sh", "-ec", script])


def k8s_info(url: str, kind: str, api_version: str) -> Run:
    """Ask with kubernetes.core.k8s_info, which only reads: judging would come on top."""
    return _timed([sys.executable, "-c", K8S_INFO, url, kind, api_version])


def _timed(command: Sequence[str]) -> Run:
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said, _nothing = child.communicate()
    seconds = time.monotonic() - began
    assert child.returncode == 0, command
    return Run(seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, said)
