# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m ….standin_driver --driver-names=gpu.nvidia.com --node-name=NODE``: the container's program."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    NODES,
    SLICES,
    Kubernetes,
    KubernetesError,
    Resource,
)

from .driver import Driver, say
from .plugin import Places, Plugin
from .prepared import Prepared

SETTLE_SECONDS = 0.2
"""Changes that come together are published together."""


def arguments(words: Sequence[str]) -> argparse.Namespace:
    """Return the options; those of the CPU driver have the names of its real chart."""
    parser = argparse.ArgumentParser(prog="standin-driver")
    parser.add_argument("--driver-names", required=True, help="comma-separated")
    parser.add_argument("--node-name", required=True)
    parser.add_argument("--cpu-device-mode", default="grouped", choices=["grouped", "individual"])
    parser.add_argument("--group-by", default="numanode", choices=["numanode", "socket", "machine"])
    parser.add_argument("--reserved-cpus", default="", help="a list such as 0-1,8")
    parser.add_argument("--cdi-directory", type=Path, default=Path("/var/run/cdi"))
    return parser.parse_args(words)


def watch(api: Kubernetes, resource: Resource, selector: str, changed: Callable[[], None]) -> None:
    """Call ``changed`` whenever something selected changes; end the process where nobody answers."""
    try:
        for _seen in api.follow(resource, field_selector=selector):
            changed()
    except KubernetesError as error:
        say(f"the API server does not answer: {error}")
        signal.raise_signal(signal.SIGTERM)


def main(words: Sequence[str]) -> int:
    """Serve until the container is told to end."""
    options = arguments(words)
    api, clock = Kubernetes.connect({}), SystemClock()
    names = [name.strip() for name in options.driver_names.split(",") if name.strip()]
    drivers = [
        Driver(name, options.node_name, api, Prepared(options.cdi_directory, name), clock, words=words)
        for name in names
    ]
    wake, end = threading.Event(), threading.Event()

    def stop(*_signal: object) -> None:
        end.set()
        wake.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    plugins = [Plugin(driver, Places(), wake.set) for driver in drivers]
    for plugin in plugins:
        plugin.start()
    watched: list[tuple[Resource, str]] = [(NODES, f"metadata.name={options.node_name}")]
    watched += [(SLICES, f"spec.driver={name},spec.nodeName={options.node_name}") for name in names]
    for resource, selector in watched:
        follow = (api, resource, selector, wake.set)
        threading.Thread(target=watch, args=follow, daemon=True).start()
    say(f"standing in for {', '.join(names)} on {options.node_name}")
    while True:
        wake.wait()
        if end.is_set():
            break
        clock.sleep(SETTLE_SECONDS)
        wake.clear()
        for driver in drivers:
            driver.publish()
    for plugin in plugins:
        plugin.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
