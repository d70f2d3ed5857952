# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod's status as a kubelet would write it, from the state of each container; all pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BACK_OFF = "back-off restarting failed container"
FIRST_BACK_OFF, MOST_BACK_OFF = 10.0, 300.0
"""Simulated seconds until a kubelet tries again to pull an image or to start what has ended."""


@dataclass(frozen=True)
class State:
    """What one container does.

    :param doing: ``waiting``, ``running``, ``crashed`` (ended with an error, to be started again) or
        ``done`` (an init container that ended well).
    :param reason: of waiting.
    :param message: the last words of a crashed container, or what a waiting one waits for.
    """

    doing: str
    ready: bool = False
    reason: str = ""
    message: str = ""
    restarts: int = 0


WAITING = State("waiting", reason="PodInitializing")
STARTING = State("running")
RUNNING = State("running", ready=True)
DONE = State("done", ready=True)


def crashed(message: str, restarts: int = 1) -> State:
    return State("crashed", message=message, restarts=restarts)


def back_off(failures: int) -> float:
    """Return how many simulated seconds a kubelet waits after so many failures."""
    return min(FIRST_BACK_OFF * 2.0 ** (failures - 1), MOST_BACK_OFF)


def restarts_of(pod: Mapping[str, Any]) -> int:
    """Return how often a pod's containers have been started again so far."""
    statuses = pod.get("status", {}).get("containerStatuses") or ()
    return max((each.get("restartCount", 0) for each in statuses), default=0)


def status(pod: Mapping[str, Any], states: Mapping[str, State], now: str) -> dict[str, Any] | None:
    """Return the merge patch for the pod's status, None where it says all this already.

    :param states: by container name; a container that is not named runs, an init container is done.
    """
    spec, before = pod["spec"], pod.get("status", {})
    init = _statuses(spec, "initContainers", before, states, now)
    containers = _statuses(spec, "containers", before, states, now)
    initialized = all(each["ready"] for each in init)
    ready = initialized and all(each["ready"] for each in containers)
    wanted = {
        "phase": "Running" if initialized and _begun(containers) else "Pending",
        "conditions": _conditions(before, now, Initialized=initialized, Ready=ready, ContainersReady=ready),
        "containerStatuses": containers,
    }
    if init:
        wanted["initContainerStatuses"] = init
    return None if all(_same(before.get(key), value) for key, value in wanted.items()) else wanted


def _begun(statuses: list[dict[str, Any]]) -> bool:
    return any("waiting" not in each["state"] or each["restartCount"] for each in statuses)


def _statuses(
    spec: Mapping[str, Any],
    field: str,
    before: Mapping[str, Any],
    states: Mapping[str, State],
    now: str,
) -> list[dict[str, Any]]:
    key = "initContainerStatuses" if field == "initContainers" else "containerStatuses"
    earlier = {each["name"]: each for each in before.get(key) or ()}
    usual = DONE if field == "initContainers" else RUNNING
    return [
        _container(each, states.get(each["name"], usual), earlier.get(each["name"], {}), now)
        for each in spec.get(field) or ()
    ]


def _container(
    container: Mapping[str, Any], state: State, before: Mapping[str, Any], now: str
) -> dict[str, Any]:
    old = before.get("state", {})
    last = before.get("lastState", {})
    found: dict[str, Any] = {
        "name": container["name"],
        "image": container["image"],
        "imageID": before.get("imageID", ""),
        "ready": state.ready,
        "started": state.doing == "running",
        "restartCount": max(state.restarts, before.get("restartCount", 0)),
        "lastState": last,
    }
    if state.doing == "running":
        found["state"] = {"running": old.get("running", {"startedAt": now})}
    elif state.doing == "done":
        ended = {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}
        found["state"] = {"terminated": old.get("terminated", ended)}
    elif state.doing == "crashed":
        text = f"{BACK_OFF} {container['name']}"
        found["state"] = {"waiting": {"reason": "CrashLoopBackOff", "message": text}}
        ended = {"exitCode": 1, "reason": "Error", "message": state.message}
        again = state.restarts > before.get("restartCount", 0)
        same = last.get("terminated", {}).get("message") == state.message and not again
        found["lastState"] = last if same else {"terminated": {**ended, "startedAt": now, "finishedAt": now}}
    else:
        message = {"message": state.message} if state.message else {}
        found["state"] = {"waiting": {"reason": state.reason, **message}}
    return found


def _conditions(before: Mapping[str, Any], now: str, **wanted: bool) -> list[dict[str, Any]]:
    found = [dict(each) for each in before.get("conditions") or () if each["type"] not in wanted]
    earlier = {each["type"]: each for each in before.get("conditions") or ()}
    for type_, value in wanted.items():
        text = "True" if value else "False"
        old = earlier.get(type_, {})
        since = old["lastTransitionTime"] if old.get("status") == text else now
        found.append({"type": type_, "status": text, "lastTransitionTime": since})
    return found


def _same(before: Any, wanted: Any) -> bool:
    """Return whether what is there says what is wanted; the API server adds fields of its own."""
    if isinstance(wanted, Mapping):
        if not isinstance(before, Mapping):
            return False
        return all(_same(before.get(key), value) for key, value in wanted.items() if value not in ({}, ""))
    if isinstance(wanted, list):
        if not isinstance(before, list) or len(before) != len(wanted):
            return False
        if wanted and "type" in wanted[0]:
            by_type = {each["type"]: each for each in before}
            return all(_same(by_type.get(each["type"]), each) for each in wanted)
        return all(_same(old, new) for old, new in zip(before, wanted, strict=True))
    return bool(before == wanted)
