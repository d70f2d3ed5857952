# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's command line: ``run`` and ``uninstall``."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import Kubernetes

from .contract import Gate
from .gating_slice import unpublish
from .logs import set_up
from .term import Term


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(prog="image_configurator", description=__doc__)
    parser.add_argument("--log-level", default="info", choices=["debug", "info", "warning", "error"])
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("run", "switch the images of pods whose claims were allocated"),
        ("uninstall", "delete the gating slice, so that no pod waits for a controller that is gone"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--kubeconfig", help="default: the pod's service account")
        command.add_argument("--context", help="default: the kubeconfig's current one")
    return parser.parse_args(argv)


def run(api: Kubernetes, gate: Gate) -> int:
    """Work until the process is asked to end."""
    asked_to_end = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked_to_end.set())
    term = Term(api, SystemClock(), gate)
    term.start()
    asked_to_end.wait()
    term.stop()
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    options = arguments(sys.argv[1:] if argv is None else argv)
    set_up(options.log_level)
    api = Kubernetes.connect({"kubeconfig": options.kubeconfig, "context": options.context})
    if options.command == "uninstall":
        unpublish(api, Gate())
        return 0
    return run(api, Gate())


if __name__ == "__main__":
    sys.exit(main())
