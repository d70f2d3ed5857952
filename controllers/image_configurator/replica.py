# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One running replica: stands for election, works while it leads, answers probes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import Kubernetes

from .contract import Gate
from .leader import Elector
from .metrics import Metrics
from .server import Answer
from .term import Term
from .version import version
from .worker import no_fault

log = logging.getLogger("image_configurator")
SILENCE_SECONDS = 60.0


class Replica:
    """Alternates between standing by and leading until ``stop`` is called."""

    def __init__(
        self,
        api: Kubernetes,
        clock: Clock,
        gate: Gate,
        elector: Elector,
        fault: Callable[[str], None] = no_fault,
    ) -> None:
        self._api = api
        self._clock = clock
        self._gate = gate
        self._elector = elector
        self._fault = fault
        self._metrics = Metrics()
        self._term: Term | None = None
        self._stop = threading.Event()
        self._turned_at = clock.monotonic()

    def run(self) -> None:
        """Work until ``stop``; then give the lease up."""
        while not self._stop.is_set():
            self._turned_at = self._clock.monotonic()
            self.turn()
            self._stop.wait(self._elector.times.retry_seconds)
        if self._term:
            self._term.stop()
            self._elector.release()

    def turn(self) -> None:
        """Take one step of the election and follow its outcome."""
        leads = self._elector.step()
        if leads and self._term is None:
            log.info("leading", extra={"identity": self._elector.identity})
            self._term = Term(self._api, self._clock, self._gate, self._metrics, self._fault)
            self._term.start()
        elif not leads and self._term:
            log.warning("leadership lost", extra={"identity": self._elector.identity})
            self._term.stop()
            self._term = None

    def stop(self) -> None:
        """Let ``run`` return."""
        self._stop.set()

    def pages(self) -> dict[str, Answer]:
        """Return what the HTTP server offers."""
        return {"/metrics": self._show_metrics, "/healthz": self._health, "/readyz": self._readiness}

    def _show_metrics(self) -> tuple[int, str]:
        term = self._term
        gauges = {"leader": float(term is not None), **(term.gauges() if term else {})}
        return 200, self._metrics.render(gauges, version())

    def _health(self) -> tuple[int, str]:
        """Fail where only a restart can help: the election loop or a worker hangs."""
        silent = self._clock.monotonic() - self._turned_at
        faults = [f"no election step for {silent:.0f} s"] if silent > SILENCE_SECONDS else []
        if self._term:
            faults += [f"a worker is busy with claim {claim}" for claim in self._term.stuck()]
        return _answer(faults)

    def _readiness(self) -> tuple[int, str]:
        """Fail where this replica could not serve: no API server, or leading without its parts."""
        silent = self._elector.seconds_without_contact
        faults = [f"no answer from the API server for {silent:.0f} s"] if silent > SILENCE_SECONDS else []
        if self._term:
            faults += self._term.not_ready()
        return _answer(faults)


def _answer(faults: list[str]) -> tuple[int, str]:
    return (503, "\n".join(faults) + "\n") if faults else (200, "ok\n")
