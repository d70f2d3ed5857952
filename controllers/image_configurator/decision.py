# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do about one claim: a value, decided from API objects alone.

No I/O and no clock in here. ``decide`` is asked again after every change and every restart, so it
never depends on what was done before, only on what the objects say now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .contract import Gate
from .image_config import ImageConfig, Refused, parse_image_config

Object = Mapping[str, Any]
MAX_MESSAGE = 1024


@dataclass(frozen=True, slots=True)
class PodPatch:
    """JSON-patch operations for one unbound pod, void if the pod changed in the meantime."""

    namespace: str
    name: str
    uid: str
    operations: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Patch:
    """Switch the images of ``pods`` (none where all are right), then write ``devices``.

    ``devices`` are the claim's ``status.devices`` entries of this driver, and ``images`` maps
    container to image.
    """

    pods: tuple[PodPatch, ...]
    devices: tuple[Mapping[str, Any], ...]
    images: Mapping[str, str]
    consumers: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """The claim can never be served as it is: write ``devices`` and tell the consumers."""

    reason: str
    message: str
    devices: tuple[Mapping[str, Any], ...]
    consumers: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until something changes; ``look_up`` names consumers that were not given."""

    reason: str
    look_up: tuple[Mapping[str, str], ...] = ()


Decision = Patch | Failure | Wait


def decide(
    claim: Object,
    pods: Iterable[Object],
    now: datetime,
    *,
    absent: Collection[str] = (),
    gate: Gate = Gate(),  # noqa: B008 - an immutable value
) -> Decision:
    """Return what has to be done so that the claim's pod starts with the right image.

    :param pods: the pods that use the claim, bound or not.
    :param absent: uids of consumers that are known not to exist any more.
    """
    allocation = (claim.get("status") or {}).get("allocation") or {}
    results = _gated_results(allocation, gate)
    idle = _nothing_to_answer(claim, allocation, results, gate)
    if idle:
        return Wait(idle)
    by_uid = {pod["metadata"]["uid"]: pod for pod in pods}
    reserved = [user for user in claim["status"].get("reservedFor") or () if user["resource"] == "pods"]
    unseen = tuple(u for u in reserved if u["uid"] not in by_uid and u["uid"] not in absent)
    if unseen:
        return Wait("PodNotSeen", look_up=unseen)
    waiting = [pod for pod in by_uid.values() if _can_be_switched(pod)]
    if not reserved or not waiting:
        return Wait("NoUnboundPod")
    consumers = tuple(_reference(pod) for pod in waiting)
    try:
        _refuse_shared(claim, by_uid.values())
        images = _chosen_images(allocation, gate)
        patches = tuple(filter(None, (_pod_patch(pod, images) for pod in waiting)))
    except Refused as refusal:
        message = str(refusal)[:MAX_MESSAGE]
        devices = _entries(results, gate, now, refusal.reason, message, done=False)
        return Failure(refusal.reason, message, devices, consumers)
    text = ", ".join(f"{container}={image}" for container, image in images.items())[:MAX_MESSAGE]
    devices = _entries(results, gate, now, "ImagePatched", text, done=True)
    return Patch(patches, devices, images, consumers)


def _nothing_to_answer(claim: Object, allocation: Object, results: Sequence[Object], gate: Gate) -> str:
    """Return why the claim asks nothing of this controller now, empty where it does."""
    if not allocation:
        return "NotAllocated"
    if claim["metadata"].get("deletionTimestamp"):
        return "ClaimDeleting"
    if not results:
        return "NotGated"
    return "Settled" if _settled(claim, results, gate) else ""


def _gated_results(allocation: Object, gate: Gate) -> list[Object]:
    """Return the allocated gating devices whose binding waits for this controller."""
    results = (allocation.get("devices") or {}).get("results") or ()
    return [
        result
        for result in results
        if result["driver"] == gate.driver and gate.updated in (result.get("bindingConditions") or ())
    ]


def allocation_id(claim: Object) -> str:
    """Return what tells this allocation of the claim from an earlier or later one.

    A shared device gets a new ``shareID`` with each allocation; the timestamp has whole seconds.
    """
    allocation = claim["status"]["allocation"]
    shares = [result.get("shareID", "") for result in allocation["devices"]["results"]]
    return " ".join([allocation.get("allocationTimestamp") or "", *shares])


def _key(device: Object) -> tuple[str, str, str, str]:
    return device["driver"], device["pool"], device["device"], device.get("shareID", "")


def _settled(claim: Object, results: Sequence[Object], gate: Gate) -> bool:
    """Return whether this very allocation has its answer.

    Every allocation of a shared device has a new ``shareID``, so the entry of an earlier one
    never counts.
    """
    answered = {
        _key(entry)
        for entry in claim["status"].get("devices") or ()
        for condition in entry.get("conditions") or ()
        if condition["type"] in (gate.updated, gate.failed) and condition["status"] == "True"
    }
    return all(_key(result) in answered for result in results)


def _can_be_switched(pod: Object) -> bool:
    """Return whether the pod has not been bound, ended or deleted."""
    if pod["spec"].get("nodeName") or pod["metadata"].get("deletionTimestamp"):
        return False
    return (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")


def _reference(pod: Object) -> Mapping[str, str]:
    metadata = pod["metadata"]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def _refuse_shared(claim: Object, pods: Iterable[Object]) -> None:
    """Refuse a claim that other pods than the one it was made for may use.

    A pod that comes later finds the condition True and is bound at once, before anybody could
    switch its image (kubernetes/kubernetes#140036): only a claim per pod can keep the promise.
    """
    owners = [
        owner["uid"]
        for owner in claim["metadata"].get("ownerReferences") or ()
        if owner["kind"] == "Pod" and owner.get("controller")
    ]
    strangers = sorted(pod["metadata"]["name"] for pod in pods if pod["metadata"]["uid"] not in owners)
    if strangers:
        raise Refused(
            "ClaimShared",
            f"the claim was not made for pod {strangers[0]} alone, and a pod that joins later would "
            "start with its placeholder image; use resourceClaimTemplateName for the gating request",
        )


def _chosen_images(allocation: Object, gate: Gate) -> dict[str, str]:
    """Return container → image for the chosen alternative.

    The scheduler copies only the configurations of chosen requests into the allocation. One of the
    claim overrides one of a device class; two different images from the same source are refused.
    """
    by_source: dict[str, dict[str, str]] = {"FromClass": {}, "FromClaim": {}}
    for config in (allocation["devices"].get("config")) or ():
        opaque = config.get("opaque") or {}
        if opaque.get("driver") == gate.driver:
            found = parse_image_config(opaque.get("parameters"), gate)
            _add(by_source.setdefault(config.get("source", ""), {}), found)
    images = by_source["FromClass"] | by_source["FromClaim"]
    if not images:
        chosen = ", ".join(result["request"] for result in allocation["devices"]["results"])
        raise Refused(
            "ImageConfigNotFound",
            f"no ImageConfig of {gate.driver} applies to the chosen requests ({chosen}); add one for "
            "them to devices.config of this claim (other claims of the pod are not looked at)",
        )
    return images


def _add(images: dict[str, str], found: ImageConfig) -> None:
    earlier = images.setdefault(found.container, found.image)
    if earlier != found.image:
        raise Refused(
            "ImageConfigConflict",
            f"container {found.container!r} is given two images for the chosen requests: "
            f"{earlier} and {found.image}",
        )


def _pod_patch(pod: Object, images: Mapping[str, str]) -> PodPatch | None:
    """Return the operations that give the pod its images, None where it has them."""
    places = {
        container["name"]: (f"/spec/{field}/{index}/image", container.get("image", ""))
        for field in ("containers", "initContainers")
        for index, container in enumerate(pod["spec"].get(field) or ())
    }
    unknown = sorted(set(images) - set(places))
    if unknown:
        raise Refused(
            "ImageConfigContainerNotFound",
            f"the ImageConfig names container {unknown[0]!r}, but pod {pod['metadata']['name']} has "
            f"{', '.join(sorted(places))}",
        )
    changes = [
        {"op": "replace", "path": places[name][0], "value": image}
        for name, image in images.items()
        if places[name][1] != image
    ]
    if not changes:
        return None
    metadata = pod["metadata"]
    # The server compares both with the stored pod, and answers 409 where it has changed.
    unchanged = [
        {"op": "replace", "path": f"/metadata/{field}", "value": metadata[field]}
        for field in ("uid", "resourceVersion")
    ]
    return PodPatch(metadata["namespace"], metadata["name"], metadata["uid"], (*unchanged, *changes))


def _entries(
    results: Sequence[Object], gate: Gate, now: datetime, reason: str, message: str, *, done: bool
) -> tuple[Mapping[str, Any], ...]:
    """Return the ``status.devices`` entries (KEP-4817) of this driver's results, and only those."""
    shared = {
        "reason": reason,
        "message": message,
        "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    conditions = [
        {"type": gate.updated, "status": "True" if done else "False", **shared},
        {"type": gate.failed, "status": "False" if done else "True", **shared},
    ]
    return tuple(
        {
            **{field: result[field] for field in ("driver", "pool", "device")},
            **({"shareID": result["shareID"]} if result.get("shareID") else {}),
            "conditions": conditions,
        }
        for result in results
    )
