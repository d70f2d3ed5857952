# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A headless Chromium driven over the DevTools protocol: open a page, see what it did, take its picture."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import websocket

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
START_SECONDS, ANSWER_SECONDS = 60, 60
PORT_FILE = "DevToolsActivePort"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)


def program() -> str | None:
    """Return the browser that is installed, None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Shown:
    """What a page did when it was opened."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    picture: bytes = b""
    page_width: int = 0
    window_width: int = 0
    widest: str = ""


class Browser:
    """One tab."""

    def __init__(self, url: str) -> None:
        self._channel = websocket.create_connection(url, timeout=ANSWER_SECONDS)
        self._numbers = itertools.count(1)
        self._events: list[dict[str, Any]] = []

    def close(self) -> None:
        self._channel.close()

    def command(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._channel.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self._channel.recv())
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self._events.append(message)

    def until(self, method: str) -> None:
        while not any(event["method"] == method for event in self._events):
            self._events.append(json.loads(self._channel.recv()))

    def value(self, expression: str) -> Any:
        return self.command("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get(
            "value"
        )

    def show(self, url: str, width: int, height: int, scheme: str = "light") -> Shown:
        """Open an address in a window of that size and color scheme; the picture is of the whole page."""
        self._events.clear()
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.command(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.command("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", features=features)
        self.command("Page.navigate", url=url)
        self.until("Page.loadEventFired")
        shown = Shown(
            page_width=self.value("document.documentElement.scrollWidth"),
            window_width=self.value("document.documentElement.clientWidth"),
            widest=self.value(WIDEST),
        )
        picture = self.command("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        shown.picture = base64.b64decode(picture["data"])
        for event in self._events:
            shown.requests += addresses(event)
            shown.complaints += complaints(event)
        return shown


WIDEST = """
(() => {let most = 0, what = ''; for (const each of document.body.querySelectorAll('*')) {
const right = each.getBoundingClientRect().right; if (right > most) {most = right; what = each.outerHTML}}
return Math.round(most) + ' ' + what.slice(0, 200)})()
"""


def addresses(event: dict[str, Any]) -> list[str]:
    found = event["params"]["request"]["url"] if event["method"] == "Network.requestWillBeSent" else ""
    return [found] if found else []


def complaints(event: dict[str, Any]) -> list[str]:
    params = event["params"]
    if event["method"] == "Log.entryAdded":
        return [params["entry"]["text"]]
    if event["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
        return [json.dumps(params)[:300]]
    return []


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a browser with a profile of its own and end it."""
    path = program()
    assert path, "no browser"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [path, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            tab = Browser(tab_of(Path(profile) / PORT_FILE, process))
            yield tab
            tab.close()
        finally:
            process.terminate()
            process.wait(ANSWER_SECONDS)


def tab_of(port_file: Path, process: subprocess.Popen[bytes]) -> str:
    """Return the address of the first tab, once the browser has written down its port."""
    limit = time.monotonic() + START_SECONDS
    while time.monotonic() < limit and process.poll() is None:
        if port_file.exists() and "\n" in port_file.read_text():
            port = port_file.read_text().splitlines()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=ANSWER_SECONDS) as answer:
                tabs = [each for each in json.load(answer) if each["type"] == "page"]
            if tabs:
                return tabs[0]["webSocketDebuggerUrl"]
        time.sleep(0.05)  # another program's start, which announces itself by a file
    raise AssertionError(f"the browser did not start (status {process.poll()})")
