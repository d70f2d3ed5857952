# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's command line: ``run`` and ``uninstall``."""

from __future__ import annotations

import argparse
import logging
import platform
import signal
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.connection import (
    SERVICE_ACCOUNT,
    ConnectionFailed,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    Kubernetes,
    KubernetesError,
)

from .contract import Gate
from .gating_slice import unpublish
from .leader import Elector, LeaseTimes
from .logs import set_up
from .replica import Replica
from .server import Server
from .version import version

log = logging.getLogger("image_configurator")


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(prog="image_configurator", description=__doc__)
    parser.add_argument("--version", action="version", version=version())
    commands = parser.add_subparsers(dest="command", required=True)
    run_command = _command(commands, "run", "switch the images of pods whose gated claims were allocated")
    times = LeaseTimes()
    run_command.add_argument("--http", default="127.0.0.1:0", metavar="HOST:PORT")
    run_command.add_argument("--lease-namespace", default=_own_namespace(), metavar="NAMESPACE")
    run_command.add_argument("--lease-seconds", type=int, default=times.lease_seconds)
    run_command.add_argument("--renew-seconds", type=float, default=times.renew_seconds)
    run_command.add_argument("--retry-seconds", type=float, default=times.retry_seconds)
    _command(
        commands,
        "uninstall",
        "delete the gating slice, so that no later pod waits for a controller that is gone",
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    options = arguments(sys.argv[1:] if argv is None else argv)
    set_up(options.log_level)
    gate = Gate(options.driver, options.pool, options.device)
    try:
        api = Kubernetes.connect({"kubeconfig": options.kubeconfig, "context": options.context})
        if options.command == "uninstall":
            log.info("slices deleted", extra={"number": unpublish(api, gate)})
            return 0
    except (ConnectionFailed, KubernetesError) as error:
        log.error("%s", error)  # noqa: TRY400 - the sentence says what happened
        return 1
    return run(api, gate, options)


def run(api: Kubernetes, gate: Gate, options: argparse.Namespace) -> int:
    """Work until the process is asked to end."""
    clock = SystemClock()
    elector = Elector(
        api,
        clock,
        identity=f"{platform.node()}_{uuid.uuid4()}",
        namespace=options.lease_namespace,
        name=gate.driver,
        times=LeaseTimes(options.lease_seconds, options.renew_seconds, options.retry_seconds),
    )
    replica = Replica(api, clock, gate, elector)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: replica.stop())
    server = Server(options.http, replica.pages())
    log.info("started", extra={"version": version(), "http": server.address})
    replica.run()
    return 0


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text)
    gate = Gate()
    command.add_argument("--kubeconfig", help="default: the pod's service account")
    command.add_argument("--context", help="default: the kubeconfig's current one")
    command.add_argument("--driver", default=gate.driver, help="also names the lease and the conditions")
    command.add_argument("--pool", default=gate.pool)
    command.add_argument("--device", default=gate.device)
    command.add_argument("--log-level", default="info", choices=["debug", "info", "warning", "error"])
    return command


def _own_namespace() -> str:
    path = Path(SERVICE_ACCOUNT) / "namespace"
    return path.read_text().strip() if path.exists() else "default"


if __name__ == "__main__":
    sys.exit(main())
