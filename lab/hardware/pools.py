# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The side of Google's API that the hardware sees: node pools and their wanted sizes.

``lab.google.cloud`` implements it; tests use a plain stand-in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class PoolView(Protocol):
    """One node pool as it should be now."""

    @property
    def cluster(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def message(self) -> Mapping[str, Any]:
        """The pool as a container v1 ``NodePool`` in JSON, with the server's defaults filled in."""
        ...

    @property
    def sizes(self) -> Mapping[str, int]:
        """Wanted number of nodes by zone; empty for a pool that is going away."""
        ...


class CapacityError(Exception):
    """Google would not give a machine.

    :param reason: ``OutOfResources`` (a stock-out) or ``QuotaExceeded``, as in a compute class's status.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Cloud(Protocol):
    """What the machines and the autoscaler ask of Google and tell it."""

    def pools(self) -> tuple[PoolView, ...]:
        """Return all node pools of all clusters."""
        ...

    def resize(self, cluster: str, pool: str, zone: str, size: int) -> None:
        """Want another number of nodes, as the autoscaler does.

        :raises CapacityError: where Google has no machine or no quota left.
        """
        ...

    def delete_instance(self, cluster: str, pool: str, zone: str, instance: str) -> None:
        """Take one machine away and want one less."""
        ...

    def observed(self, cluster: str, pool: str, zone: str, ready: int) -> None:
        """Hear how many nodes are Ready, so that operations can end."""
        ...

    def listen(self, listener: Callable[[], None]) -> None:
        """Have ``listener`` called, from any thread, whenever a pool changes."""
        ...
