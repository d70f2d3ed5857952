# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Carries decisions out: the only code that writes to pods and claims."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, Deadline
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    PODS,
    Conflict,
    Kubernetes,
    KubernetesError,
    NotFound,
)

from .announcer import Announcer
from .cache import Cache, trim_pod
from .claim_status import ClaimStatus
from .contract import Gate
from .decision import Decision, Failure, Object, Patch, PodPatch, Wait, allocation_id, decide
from .metrics import Metrics
from .throttle import Throttle
from .work_queue import Key

log = logging.getLogger("image_configurator")
STEP_SECONDS = 10.0
LOOK_AGAIN_SECONDS = 0.02
REFUSED_BY_SERVER = (400, 403, 422)

Consumers = tuple[Mapping[str, str], ...]


def no_fault(point: str) -> None:
    """Let the work go on; tests put a crash in its place."""


class Worker:
    """Looks at one claim at a time and does what ``decide`` says.

    The order is image, event, condition. Nothing is left to do after the condition, and everything
    before it is done again at no harm, so a restart at any point completes the job (but for an event
    that still waits to be written, see ``Announcer``).

    :param fault: called with the name of a step right before or after it, so that a test can end
        the worker there.
    """

    def __init__(
        self,
        api: Kubernetes,
        cache: Cache,
        clock: Clock,
        gate: Gate,
        *,
        announcer: Announcer,
        metrics: Metrics,
        fault: Callable[[str], None] = no_fault,
    ) -> None:
        self._api = api
        self._status = ClaimStatus(api)
        self._cache = cache
        self._clock = clock
        self._gate = gate
        self._announcer = announcer
        self._metrics = metrics
        self._throttle = Throttle()
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
            return self._refuse(claim, decision)
        return None

    def forget(self, uid: str) -> None:
        """Drop what is remembered of a deleted claim."""
        self._throttle.forget(uid)

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
            if not self._patch_pod(claim, pod, patch.consumers):
                return LOOK_AGAIN_SECONDS
            self._metrics.count("images_switched_total")
        self._fault("before event")
        text = ", ".join(f"{container}={image}" for container, image in patch.images.items())
        self._tell(claim, patch.consumers, "Normal", "ImagePatched", text)
        self._fault("before condition")
        if not self._write_devices(claim, patch.devices, patch.consumers):
            return LOOK_AGAIN_SECONDS
        self._fault("after condition")
        self._throttle.forget(claim["metadata"]["uid"])
        log.info("images right", extra={"claim": _name(claim), "images": text})
        return None

    def _refuse(self, claim: Object, failure: Failure) -> float | None:
        text = f"{failure.reason}: {failure.message}"
        now = self._clock.monotonic()
        refusal = self._throttle.refuse(claim["metadata"]["uid"], allocation_id(claim), text, now)
        if refusal.due > now:
            seconds = refusal.due - now
            self._tell(
                claim,
                failure.consumers,
                "Warning",
                "ImageConfigRefusedAgain",
                f"refused {refusal.times} times for the same reason, so the scheduler is told only in "
                f"{seconds:.0f} s: {failure.message}. Correct the claim's template and delete the pod",
            )
            return seconds
        self._fault("before event")
        self._tell(claim, failure.consumers, "Warning", failure.reason, failure.message)
        self._fault("before condition")
        if not self._write_devices(claim, failure.devices, failure.consumers):
            return LOOK_AGAIN_SECONDS
        self._fault("after condition")
        self._metrics.count("failures_total", reason=failure.reason)
        log.warning("claim refused", extra={"claim": _name(claim), "why": text})
        return None

    def _patch_pod(self, claim: Object, patch: PodPatch, consumers: Consumers) -> bool:
        """Patch the pod; return False where it changed or went away, after looking again."""
        try:
            changed = self._step().json_patch(PODS, patch.name, patch.operations, patch.namespace)
        except NotFound:
            self._cache.drop_pod({"metadata": {"namespace": patch.namespace, "name": patch.name}})
            return False
        except Conflict:
            self._refresh_pod(patch)
            return False
        except KubernetesError as error:
            self._tell_refusal(claim, consumers, "ImagePatchRefused", error)
            raise
        self._cache.put_pod(changed)
        return True

    def _refresh_pod(self, patch: PodPatch) -> None:
        try:
            self._cache.put_pod(self._step().get(PODS, patch.name, patch.namespace))
        except NotFound:
            self._cache.drop_pod({"metadata": {"namespace": patch.namespace, "name": patch.name}})

    def _write_devices(
        self, claim: Object, devices: tuple[Mapping[str, object], ...], consumers: Consumers
    ) -> bool:
        """Write this driver's entries; return False where the claim has changed by now."""
        metadata = claim["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        try:
            changed = self._status.write_devices(namespace, name, metadata["uid"], devices)
        except (NotFound, Conflict):
            self._refresh_claim(claim)
            return False
        except KubernetesError as error:
            self._tell_refusal(claim, consumers, "ConditionRefused", error)
            raise
        self._cache.put_claim(changed)
        self._metrics.observe(self._clock.monotonic() - claim["seen"])
        return True

    def _refresh_claim(self, claim: Object) -> None:
        namespace, name = claim["metadata"]["namespace"], claim["metadata"]["name"]
        try:
            self._cache.put_claim(self._step().get(CLAIMS, name, namespace))
        except NotFound:
            self._cache.drop_claim(claim)

    def _tell_refusal(self, claim: Object, consumers: Consumers, reason: str, error: KubernetesError) -> None:
        """Say on the pod that the API server refuses a write: rights or an admission policy."""
        if error.status in REFUSED_BY_SERVER:
            text = f"{error}. Tried again later; see the controller's ClusterRole and the cluster's policies"
            self._tell(claim, consumers, "Warning", reason, text)

    def _tell(self, claim: Object, consumers: Consumers, kind: str, reason: str, text: str) -> None:
        self._announcer.tell(consumers, allocation_id(claim), kind, reason, text)

    def _step(self) -> Kubernetes:
        return self._api.within(Deadline(self._clock, STEP_SECONDS))


def _name(claim: Object) -> str:
    return f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
