# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes drivers known to kubelet: one socket to register on and one to be asked on, per driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from . import protocol
from .driver import Driver, say

INFO = protocol.message(protocol.REGISTRATION, "PluginInfo")
ACKNOWLEDGED = protocol.message(protocol.REGISTRATION, "RegistrationStatusResponse")
STOP_SECONDS = 2.0


@dataclass(frozen=True)
class Places:
    """Directories of kubelet that both sides see under the same path."""

    plugins: Path = Path("/var/lib/kubelet/plugins")
    registry: Path = Path("/var/lib/kubelet/plugins_registry")

    def endpoint(self, driver: str) -> Path:
        return self.plugins / driver / "dra.sock"

    def registration(self, driver: str) -> Path:
        return self.registry / f"{driver}-reg.sock"


class Plugin:
    """One driver's two gRPC servers.

    :param registered: called whenever kubelet took the driver in; it forgets a driver's slices when it
        loses the connection, so that is the moment to publish them again.
    """

    def __init__(self, driver: Driver, places: Places, registered: Callable[[], None]) -> None:
        self._driver = driver
        self._places = places
        self._registered = registered
        self._servers: list[Any] = []

    def start(self) -> None:
        """Answer on both sockets; the registration socket last, for kubelet asks at once."""
        endpoint = self._places.endpoint(self._driver.name)
        methods = {
            "NodePrepareResources": self._driver.prepare,
            "NodeUnprepareResources": self._driver.unprepare,
        }
        self._serve(endpoint, f"{protocol.DRA}.DRAPlugin", methods)
        registration = {"GetInfo": self._info, "NotifyRegistrationStatus": self._status}
        socket = self._places.registration(self._driver.name)
        self._serve(socket, f"{protocol.REGISTRATION}.Registration", registration)

    def _serve(self, socket: Path, service: str, methods: Mapping[str, Callable[[Any, Any], Any]]) -> None:
        socket.parent.mkdir(parents=True, exist_ok=True)
        socket.unlink(missing_ok=True)
        server = grpc.server(ThreadPoolExecutor(max_workers=4))
        server.add_generic_rpc_handlers((protocol.handler(service, methods),))
        server.add_insecure_port(f"unix://{socket}")
        server.start()
        self._servers.append(server)

    def stop(self) -> None:
        """Disappear: kubelet withdraws the driver when its registration socket is gone."""
        self._places.registration(self._driver.name).unlink(missing_ok=True)
        for server in self._servers:
            server.stop(STOP_SECONDS).wait()
        self._places.endpoint(self._driver.name).unlink(missing_ok=True)

    def _info(self, _request: Any, _context: Any) -> Any:
        return INFO(
            type=protocol.PLUGIN_TYPE,
            name=self._driver.name,
            endpoint=str(self._places.endpoint(self._driver.name)),
            supported_versions=[protocol.SUPPORTED_VERSION],
        )

    def _status(self, request: Any, _context: Any) -> Any:
        if request.plugin_registered:
            say(f"{self._driver.name}: registered with kubelet")
            self._registered()
        else:
            say(f"{self._driver.name}: kubelet refused the registration: {request.error}")
        return ACKNOWLEDGED()
