# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m ….model_server``: an OpenAI API at the pace of the hardware that the container got."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock

from ..serving.engine import Engine
from ..serving.openai_api import Server
from ..serving.startup import lines, settings_of
from ..state import DEFAULT_SPEED
from .hardware import hardware, plan_here

BUILD = "MODEL_SERVER_BUILD"
SPEED = "MODEL_SERVER_SPEED"
"""How many times faster than a real model it loads; answers have the hardware's own pace."""


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a container's log


def main(words: Sequence[str]) -> int:
    """Load, then answer until the container is told to end; status 1 on hardware that does not fit."""
    # The build is named the way the lab reads it off an image.
    image = f"model-server-{os.environ.get(BUILD, 'cuda')}"
    settings = settings_of({"image": image, "args": list(words)})
    found = plan_here(settings, hardware(os.listdir("/dev"), os.environ))  # noqa: PTH208 - names are wanted
    *before, last = lines(found)
    for line in before:
        say(line)
    if found.dies_with:
        say(last)
        return 1
    clock = SystemClock()
    server = Server(Engine(found, clock), say)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listener = socket.create_server(("", settings.port))
    threading.Thread(target=accept, args=(listener, server), daemon=True).start()
    clock.sleep(found.profile.load_seconds(found.model) / float(os.environ.get(SPEED) or DEFAULT_SPEED))
    server.ready = True
    say(last)
    signal.pause()
    return 0


def accept(listener: socket.socket, server: Server) -> None:
    """Answer every connection in a thread of its own."""
    while True:
        connection, _address = listener.accept()
        threading.Thread(target=server.serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
