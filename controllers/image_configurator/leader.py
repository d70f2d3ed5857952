# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leader election with a Lease, by the rules of client-go: one replica works, the others stand by."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, Deadline
from ansible_collections.inference.dra.plugins.module_utils._ports.connection import ConnectionFailed
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    LEASES,
    Conflict,
    Kubernetes,
    KubernetesError,
    NotFound,
)

log = logging.getLogger("image_configurator")


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """How long leadership lasts without renewal, and how often it is renewed or tried for.

    A leader stops working ``renew_seconds`` after its last renewal, earlier than ``lease_seconds``,
    when another replica may take over.
    """

    lease_seconds: int = 15
    renew_seconds: float = 10.0
    retry_seconds: float = 2.0


class Elector:
    """One candidate for one Lease. Not for use from several threads.

    Expiry is measured on this machine's monotonic clock since the lease was last *seen* to change,
    so clocks of different nodes need not agree.
    """

    def __init__(
        self,
        api: Kubernetes,
        clock: Clock,
        *,
        identity: str,
        namespace: str,
        name: str,
        times: LeaseTimes = LeaseTimes(),
    ) -> None:
        self.identity = identity
        self.times = times
        self._api = api
        self._clock = clock
        self._namespace = namespace
        self._name = name
        self._seen: tuple[Any, ...] = ()
        self._seen_at = 0.0
        self._renewed_at: float | None = None
        self._contact_at = clock.monotonic()

    @property
    def leads(self) -> bool:
        """Return whether this replica may work at this moment."""
        renewed = self._renewed_at
        return renewed is not None and self._clock.monotonic() - renewed < self.times.renew_seconds

    @property
    def seconds_without_contact(self) -> float:
        """Return how long the API server has not answered."""
        return self._clock.monotonic() - self._contact_at

    def step(self) -> bool:
        """Renew the lease, or take it where nobody holds it; return ``leads``."""
        started = self._clock.monotonic()
        try:
            if self._contend():
                self._renewed_at = started
            else:
                self._renewed_at = None
            self._contact_at = self._clock.monotonic()
        except Conflict:
            self._contact_at = self._clock.monotonic()
        except (KubernetesError, ConnectionFailed) as error:
            log.warning("lease not renewed", extra={"error": str(error)})
        return self.leads

    def release(self) -> None:
        """Give the lease up, so that another replica need not wait for it to expire."""
        try:
            lease = self._limited().get(LEASES, self._name, self._namespace)
            if lease["spec"].get("holderIdentity") == self.identity:
                self._replace(lease, {**lease["spec"], "holderIdentity": ""})
        except (KubernetesError, ConnectionFailed) as error:
            log.warning("lease not released", extra={"error": str(error)})
        self._renewed_at = None

    def _contend(self) -> bool:
        """Return whether the lease is ours after this attempt."""
        try:
            lease = self._limited().get(LEASES, self._name, self._namespace)
        except NotFound:
            body = {"metadata": {"name": self._name}, "spec": self._spec({})}
            self._limited().create(LEASES, body, self._namespace)
            return True
        spec = lease["spec"]
        self._observe(spec)
        holder = spec.get("holderIdentity")
        if holder and holder != self.identity and not self._expired(spec):
            return False
        self._replace(lease, self._spec(spec))
        return True

    def _observe(self, spec: dict[str, Any]) -> None:
        seen = spec.get("holderIdentity"), spec.get("renewTime")
        if seen != self._seen:
            self._seen, self._seen_at = seen, self._clock.monotonic()

    def _expired(self, spec: dict[str, Any]) -> bool:
        lasts = spec.get("leaseDurationSeconds") or self.times.lease_seconds
        return self._clock.monotonic() - self._seen_at >= lasts

    def _spec(self, before: dict[str, Any]) -> dict[str, Any]:
        now = self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        held = before.get("holderIdentity") == self.identity
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self.times.lease_seconds,
            "acquireTime": before.get("acquireTime", now) if held else now,
            "renewTime": now,
            "leaseTransitions": before.get("leaseTransitions", 0) + (not held and bool(before)),
        }

    def _replace(self, lease: dict[str, Any], spec: dict[str, Any]) -> None:
        path = LEASES.path(self._namespace, self._name)
        self._limited().request("PUT", path, {**lease, "spec": spec})

    def _limited(self) -> Kubernetes:
        return self._api.within(Deadline(self._clock, self.times.renew_seconds / 2))
