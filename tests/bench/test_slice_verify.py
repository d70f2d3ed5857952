# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ten thousand slices of eight devices verified, every device held against an attribute and a capacity."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

SLICES, DEVICES, PAGE = 10_000, 8, 500
LABELS = {"pool": "gpu"}
EXPECTED = {
    "driver": "gpu.nvidia.com",
    "node_selector": LABELS,
    "devices_exact": DEVICES,
    "attributes": [{"name": "type", "type": "string", "value": "gpu"}],
    "capacity": {"memory": "20Gi"},
    "count": "free",
}
CHILD = """
import json, resource, sys, time
before = resource.getrusage(resource.RUSAGE_SELF)
started = time.monotonic()
from ansible_collections.inference.dra.tests.unit.modules.in_process import run_module
options = {"host": sys.argv[1], "api_key": "x", "expectations": [json.loads(sys.argv[2])]}
result = run_module("resource_slice_verify", **options)
after = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "seconds": time.monotonic() - started,
    "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    "megabytes": after.ru_maxrss / 1024,
    "slices": result["slices"],
    "failed": result["failed"],
}))
"""


def slice_of(number: int) -> dict:
    name = f"node-{number}"
    device = {
        "attributes": {
            "type": {"string": "gpu"},
            "uuid": {"string": f"GPU-{number}"},
            "productName": {"string": "NVIDIA L4"},
        },
        "capacity": {"memory": {"value": "23034Mi"}},
    }
    return {
        "metadata": {"name": f"{name}-gpu", "uid": f"uid-{number}", "resourceVersion": "1"},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{index}", **device} for index in range(DEVICES)],
        },
    }


def node(number: int) -> dict:
    return {
        "metadata": {"name": f"node-{number}", "labels": LABELS},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def pages() -> dict[tuple[str, str], bytes]:
    """Return the answers to the requests of a verification, by plural and continue token."""
    found = {("resourceclaims", ""): page([], "")}
    for plural, make in (("resourceslices", slice_of), ("nodes", node)):
        for begin in range(0, SLICES, PAGE):
            more = str(begin + PAGE) if begin + PAGE < SLICES else ""
            items = [make(number) for number in range(begin, begin + PAGE)]
            found[plural, str(begin or "")] = page(items, more)
    return found


def page(items: list[dict], more: str) -> bytes:
    return json.dumps({"metadata": {"resourceVersion": "1", "continue": more}, "items": items}).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers: dict[tuple[str, str], bytes]

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        token = dict(parse_qsl(url.query)).get("continue", "")
        content = self.answers[url.path.rsplit("/", 1)[-1], token]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args) -> None:
        """Keep quiet."""


def test_slices_verified(measured):
    handler = type("Answers", (Handler,), {"answers": pages()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    command = [sys.executable, "-c", CHILD, f"http://127.0.0.1:{server.server_port}", json.dumps(EXPECTED)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    server.shutdown()
    server.server_close()
    found = json.loads(done.stdout)
    print(found)
    assert (found["slices"], found["failed"]) == (SLICES, False)
    measured("10,000 slices verified", round(found["seconds"], 2), "s", budget=4)
    measured("10,000 slices verified, memory", round(found["megabytes"]), "MB", budget=100)
