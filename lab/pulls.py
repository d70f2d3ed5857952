# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images of the lab's own Artifact Registry have to be there, or the pod ends in ImagePullBackOff.

Nothing is pulled. A reference below ``REGISTRY/PROJECT/`` is looked up in the lab's registry, as a
kubelet would find it there or not; every other reference is taken as one that can be pulled.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.image_references import (
    InvalidReference,
    parse,
)
from ansible_collections.inference.dra.plugins.module_utils._core.oci import ACCEPT
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    EVENTS,
    PODS,
    Conflict,
    NotFound,
)

from .autoscaler.events import event
from .hardware.drivers import drivers_of
from .hardware.pod_status import WAITING, State, back_off
from .hardware.status_writer import write_status
from .serving.startup import is_model_server
from .store import Change, Key, key_of
from .work import Context, Work

LOOK_SECONDS = 2.0

Pod = Mapping[str, Any]


class Pulls:
    """Looks for the images of pods in the lab's registry before anybody plays their containers.

    :param prefix: what the references begin with that are looked up; empty for none.
    """

    def __init__(self, context: Context, prefix: str) -> None:
        self._context = context
        self._prefix = prefix
        self._pulled: set[str] = set()
        self._failures: dict[str, int] = {}
        self.told: list[Callable[[Key], None]] = []
        """Hear of a pod whose images have all been found."""
        self.work: Work[Key] = Work(context, self._reconcile)
        context.store.listen(self._changed)

    def waits(self, pod: Pod) -> bool:
        """Return whether images of a pod were not found yet; one that runs has them."""
        begun = pod.get("status", {}).get("phase", "Pending") != "Pending"
        return not begun and pod["metadata"]["uid"] not in self._pulled and any(self._wanted(pod))

    def _wanted(self, pod: Pod) -> Iterator[Mapping[str, Any]]:
        """Yield the containers whose images are the lab's own."""
        spec = pod.get("spec", {})
        for each in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
            if self._prefix and str(each.get("image", "")).startswith(self._prefix):
                yield each

    def _changed(self, change: Change) -> None:
        if change.resource is not PODS:
            return
        if change.gone:
            uid = change.object["metadata"]["uid"]
            self._pulled.discard(uid)
            self._failures.pop(uid, None)
        elif self.waits(change.object) and change.object["metadata"]["uid"] not in self._failures:
            self.work.add(key_of(change.object))

    def _reconcile(self, key: Key) -> None:
        pod = self._context.store.get(PODS, key[1], key[0])
        if pod is None or "deletionTimestamp" in pod["metadata"] or not self.waits(pod):
            return
        if not pod.get("status", {}).get("startTime"):
            return  # kwok has not prepared it yet
        missing = [each for each in self._wanted(pod) if not is_there(each["image"])]
        if missing:
            self._fail(pod, missing)
            return
        uid = pod["metadata"]["uid"]
        self._pulled.add(uid)
        self._failures.pop(uid, None)
        if not is_played(pod):
            write_status(self._context, pod, {})
        for told in self.told:
            told(key)

    def _fail(self, pod: Pod, missing: list[Mapping[str, Any]]) -> None:
        """Show what a kubelet shows, and look again when it would."""
        uid = pod["metadata"]["uid"]
        failures = self._failures[uid] = self._failures.get(uid, 0) + 1
        reason = "ErrImagePull" if failures == 1 else "ImagePullBackOff"
        states = {each["name"]: WAITING for each in pod["spec"].get("containers") or ()}
        for each in missing:
            image = each["image"]
            text = f'failed to pull and unpack image "{image}": not found'
            again = f'Back-off pulling image "{image}": ErrImagePull: {text}'
            message = text if failures == 1 else again
            states[each["name"]] = State("waiting", reason=reason, message=message)
            self._say(pod, "Failed", f'Failed to pull image "{image}": {text}')
        write_status(self._context, pod, states)
        self.work.add_after(back_off(failures), key_of(dict(pod)))

    def _say(self, pod: Pod, reason: str, text: str) -> None:
        body = event(pod, reason, text, self._context.timestamp, "Warning", component="kubelet")
        with suppress(Conflict, NotFound):
            self._context.api.create(EVENTS, body, pod["metadata"]["namespace"])


def is_played(pod: Pod) -> bool:
    """Return whether something else of the lab decides how the pod's containers do."""
    if any(map(is_model_server, pod["spec"].get("containers") or ())):
        return True
    return any(driver.needs_kernel_driver for driver, _unused in drivers_of(pod))


def is_there(image: str) -> bool:
    """Return whether a registry on this machine has an image (OCI distribution, HEAD of a manifest)."""
    try:
        reference = parse(image)
    except InvalidReference:
        return False
    url = f"{reference.api}/{reference.path}/manifests/{reference.version}"
    request = urllib.request.Request(url, headers={"Accept": ACCEPT}, method="HEAD")  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(request, timeout=LOOK_SECONDS):  # noqa: S310 - loopback
            return True
    except OSError:  # also what HTTP refuses
        return False
