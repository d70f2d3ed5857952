# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Carries decisions out: the only code that writes to pods and claims."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, Deadline
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    EVENTS,
    PODS,
    Conflict,
    Kubernetes,
    KubernetesError,
    NotFound,
)

from .cache import Cache, trim_pod
from .claim_status import ClaimStatus
from .contract import COMPONENT, Gate
from .decision import Decision, Failure, Object, Patch, PodPatch, Wait, decide
from .work_queue import Key

log = logging.getLogger("image_configurator")
STEP_SECONDS = 10.0


def no_fault(point: str) -> None:
    """Let the work go on; tests put a crash in its place."""


class Worker:
    """Looks at one claim at a time and does what ``decide`` says.

    :param fault: called with the name of every step before and after its write, so that a test can
        end the worker there.
    """

    def __init__(
        self,
        api: Kubernetes,
        cache: Cache,
        clock: Clock,
        gate: Gate,
        fault: Callable[[str], None] = no_fault,
    ) -> None:
        self._api = api
        self._status = ClaimStatus(api)
        self._cache = cache
        self._clock = clock
        self._gate = gate
        self._fault = fault

    def handle(self, key: Key) -> float | None:
        """Do what the claim needs now.

        :returns: seconds after which to look again; None where the next change is soon enough.
        :raises KubernetesError: for a write that may succeed later.
        """
        claim = self._cache.claim(key)
        if claim is None:
            return None
        decision = self._decide(claim, key)
        if isinstance(decision, Patch):
            return self._switch(claim, decision)
        if isinstance(decision, Failure):
            return self._fail(claim, decision)
        return None

    def _decide(self, claim: Object, key: Key) -> Decision:
        pods = self._cache.users(key)
        decision = decide(claim, pods, self._clock.now(), gate=self._gate)
        if not isinstance(decision, Wait) or not decision.look_up:
            return decision
        absent = set()
        for user in decision.look_up:
            try:
                pod = self._step().get(PODS, user["name"], key[0])
            except NotFound:
                pod = None
            if pod and pod["metadata"]["uid"] == user["uid"]:
                self._cache.put_pod(pod)
                pods = [*pods, trim_pod(pod)]
            else:
                absent.add(user["uid"])
        return decide(claim, pods, self._clock.now(), absent=absent, gate=self._gate)

    def _switch(self, claim: Object, patch: Patch) -> float | None:
        for pod in patch.pods:
            self._fault("before image patch")
            if not self._patch_pod(pod):
                return 0.0
            self._fault("after image patch")
        if not self._write_devices(claim, patch.devices):
            return 0.0
        self._fault("after condition")
        text = ", ".join(f"{container}={image}" for container, image in patch.images.items())
        for pod in patch.consumers:
            self._event(claim, pod, "Normal", "ImagePatched", text)
            log.info("image switched", extra={"pod": pod["name"], "images": text})
        return None

    def _fail(self, claim: Object, failure: Failure) -> float | None:
        if not self._write_devices(claim, failure.devices):
            return 0.0
        for pod in failure.consumers:
            self._event(claim, pod, "Warning", failure.reason, failure.message)
        log.warning(
            "claim refused",
            extra={"claim": claim["metadata"]["name"], "reason": failure.reason, "why": failure.message},
        )
        return None

    def _patch_pod(self, patch: PodPatch) -> bool:
        """Patch the pod; return False where it changed or went away, after looking again."""
        try:
            changed = self._step().json_patch(PODS, patch.name, patch.operations, patch.namespace)
        except NotFound:
            return False
        except Conflict:
            self._refresh_pod(patch)
            return False
        self._cache.put_pod(changed)
        return True

    def _refresh_pod(self, patch: PodPatch) -> None:
        try:
            self._cache.put_pod(self._step().get(PODS, patch.name, patch.namespace))
        except NotFound:
            return

    def _write_devices(self, claim: Object, devices: tuple[Mapping[str, Any], ...]) -> bool:
        """Write this driver's entries; return False where the claim has changed by now."""
        metadata = claim["metadata"]
        try:
            changed = self._status.write_devices(
                metadata["namespace"], metadata["name"], metadata["uid"], devices
            )
        except (Conflict, NotFound):
            return False
        self._cache.put_claim(changed)
        return True

    def _event(self, claim: Object, pod: Mapping[str, str], kind: str, reason: str, text: str) -> None:
        """Tell the pod's reader. One event per allocation and reason, however often it is tried."""
        allocation = claim["status"]["allocation"]
        shares = [result.get("shareID", "") for result in allocation["devices"]["results"]]
        said = repr((pod["uid"], reason, allocation.get("allocationTimestamp"), shares))
        now = self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {
            "metadata": {
                "name": f"{pod['name'][:200]}.{hashlib.sha256(said.encode()).hexdigest()[:16]}",
                "namespace": pod["namespace"],
            },
            "involvedObject": dict(pod),
            "type": kind,
            "reason": reason,
            "message": text[:1024],
            "source": {"component": COMPONENT},
            "reportingComponent": self._gate.driver,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            self._step().create(EVENTS, body, pod["namespace"])
        except Conflict:
            return
        except KubernetesError as error:
            log.warning("event not written", extra={"pod": pod["name"], "error": str(error)})

    def _step(self) -> Kubernetes:
        return self._api.within(Deadline(self._clock, STEP_SECONDS))
