# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a container of a pod that has its node and its devices does not run.

Source: the waiting reasons of the kubelet (``pkg/kubelet/images/types.go`` and
``pkg/kubelet/kuberuntime`` of Kubernetes 1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .events import EventIndex
from .pods import Pod
from .verdict import Verdict

_PULL = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
_CREATION = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
_CRASH = "CrashLoopBackOff"
_OTHER_PLATFORM = ("exec format error", "no match for platform", "no matching manifest for")
_NO_RIGHT = ("denied", "unauthorized", "forbidden", "403", "401")
_ABSENT = ("not found", "manifest unknown", "404")
_EXPECTED = "a container that runs"


def container_verdicts(pod: Pod, events: EventIndex, architecture: str = "") -> Iterator[Verdict]:
    """Yield why containers of a pod do not run, in the order of the pod's status.

    :param architecture: of the pod's node (label ``kubernetes.io/arch``), empty where it is not known.
    """
    for key in ("initContainerStatuses", "containerStatuses"):
        for status in pod.status.get(key) or ():
            waiting = (status.get("state") or {}).get("waiting") or {}
            reason = str(waiting.get("reason") or "")
            if reason in _PULL:
                yield _not_pulled(pod, status, waiting, events, architecture)
            elif reason == _CRASH or _has_crashed(status):
                yield _crashing(pod, status, waiting, architecture)
            elif reason in _CREATION:
                yield _not_created(pod, status, waiting)


def _has_crashed(status: Mapping[str, Any]) -> bool:
    """Return whether a container is between a crash and its next start, or failed for good."""
    ended = (status.get("state") or {}).get("terminated") or {}
    return bool(ended) and ended.get("exitCode") != 0


def _not_pulled(
    pod: Pod, status: Mapping[str, Any], waiting: Mapping[str, Any], events: EventIndex, architecture: str
) -> Verdict:
    event = events.latest(pod.meta.uid, "Failed", "InspectFailed", "ErrImageNeverPull")
    text = " ".join(filter(None, (str(waiting.get("message") or ""), event.message if event else "")))
    if _says(text, _OTHER_PLATFORM):
        return _other_platform(pod, status, text, architecture)
    if _says(text, _NO_RIGHT):
        advice = "let the account of the node pool read the repository (Artifact Registry Reader)"
    elif _says(text, _ABSENT):
        advice = "push the image, or correct its reference in the ImageConfig of the alternative"
    else:
        advice = "look at the reference, the registry and the way to it from the node"
    return Verdict(
        "error",
        "ImagePullFailed",
        pod.subject,
        observed=f"{_named(status)}: {waiting['reason']}{_colon(waiting.get('message'))}",
        expected="an image that the node can pull",
        advice=advice,
        evidence=(*((str(event),) if event else ()), f"Node {pod.node_name}"),
    )


def _crashing(pod: Pod, status: Mapping[str, Any], waiting: Mapping[str, Any], architecture: str) -> Verdict:
    ended = (status.get("state") or {}).get("terminated") or (status.get("lastState") or {}).get("terminated")
    ended = ended or {}
    text = str(ended.get("message") or waiting.get("message") or "")
    if _says(text, _OTHER_PLATFORM):
        return _other_platform(pod, status, text, architecture)
    how = ended.get("reason") or "ended"
    advice = "look at its log (kubectl logs --previous)"
    if how == "OOMKilled":
        advice = "raise the memory limit: weights, cache and shared memory have to fit below it"
    return Verdict(
        "error",
        "ContainerCrashing",
        pod.subject,
        observed=f"{_named(status)}: {how}, exit code {ended.get('exitCode', 'unknown')}, "
        f"{status.get('restartCount') or 0} restarts{_colon(ended.get('message'))}",
        expected=_EXPECTED,
        advice=advice,
        evidence=(f"Node {pod.node_name}",),
    )


def _not_created(pod: Pod, status: Mapping[str, Any], waiting: Mapping[str, Any]) -> Verdict:
    return Verdict(
        "error",
        "ContainerNotCreated",
        pod.subject,
        observed=f"{_named(status)}: {waiting['reason']}{_colon(waiting.get('message'))}",
        expected=_EXPECTED,
        advice="look at what the message names: a Secret or ConfigMap, a volume, the command, or a device "
        "that the runtime does not know (CDI)",
        evidence=(f"Node {pod.node_name}",),
    )


def _other_platform(pod: Pod, status: Mapping[str, Any], text: str, architecture: str) -> Verdict:
    return Verdict(
        "error",
        "ImagePlatformDiffers",
        pod.subject,
        observed=f"{_named(status)}: {text}",
        expected=f"an image for {architecture or 'the architecture of its node'}",
        advice="build the image with an explicit platform, that of the node pool's machine family",
        evidence=(f"Node {pod.node_name}",),
    )


def _named(status: Mapping[str, Any]) -> str:
    return f"container {status.get('name', '')} ({status.get('image', 'no image')})"


def _colon(text: Any) -> str:
    return f": {text}" if text else ""


def _says(text: str, words: tuple[str, ...]) -> bool:
    return any(word in text.lower() for word in words)
