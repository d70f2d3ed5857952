# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One claim, one state: what was allocated, how far it is, who uses it, and what is wrong.

The states, in the order in which they are decided:

``not_generated``
    A pod wants the claim, and it does not exist (:func:`missing_claim`).
``deleting``
    It has a deletion timestamp; never ready, whatever its conditions say.
``pending``
    Nothing is allocated: not yet, or not any more after a failed or timed-out preparation.
``failed``
    A binding failure condition of an allocated device is True.
``unusable``
    It is allocated, but no pod can use it: reserved only for pods that are gone, made for another
    pod of the same name, or on a device whose pool has vanished before a consumer ran.
``allocated``
    Devices are allocated and binding conditions are missing.
``ready``
    Allocated, and every required condition of every share is True.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from .claims import Consumer
from .conditions import NOT_ALLOCATED, DeviceReadiness, SchedulerView
from .verdict import Verdict

ClaimState = Literal["not_generated", "pending", "allocated", "ready", "failed", "deleting", "unusable"]
ConsumerState = Literal["live", "ended", "gone", "replaced", "unknown"]


class Choice(NamedTuple):
    """Which alternative of a request was chosen; ``position`` counts from 0, -1 if not in the spec."""

    request: str
    alternative: str
    position: int
    of: int

    @property
    def name(self) -> str:
        """Return the alternative's own name, empty where the request offers none."""
        return self.alternative.partition("/")[2]


class ConsumerFact(NamedTuple):
    """A consumer and what became of the pod with exactly its UID."""

    consumer: Consumer
    state: ConsumerState


@dataclass(frozen=True, slots=True)
class ClaimReport:
    """Everything the rules say about one claim.

    :param scheduler: what the scheduler sees, which may be less than is known here.
    :param seconds_left: until the scheduler gives the allocation up, None where it is not waiting.
    """

    name: str
    namespace: str
    state: ClaimState
    uid: str = ""
    pod_claim_name: str = ""
    node: str = ""
    choices: tuple[Choice, ...] = ()
    devices: tuple[DeviceReadiness, ...] = ()
    scheduler: SchedulerView = NOT_ALLOCATED
    consumers: tuple[ConsumerFact, ...] = ()
    allocated_at: datetime | None = None
    seconds_left: int | None = None
    verdicts: tuple[Verdict, ...] = ()

    @property
    def subject(self) -> str:
        return f"ResourceClaim {self.namespace}/{self.name}"

    def summary(self) -> dict[str, Any]:
        """Return the mapping for module results: plain values, every key always present."""
        return {
            "name": self.name,
            "namespace": self.namespace,
            "uid": self.uid,
            "state": self.state,
            "pod_claim_name": self.pod_claim_name,
            "node": self.node,
            "chosen": {each.request: each.name for each in self.choices if each.name},
            "devices": [_device_summary(each) for each in self.devices],
            "consumers": [
                {
                    "resource": each.consumer.resource,
                    "name": each.consumer.name,
                    "uid": each.consumer.uid,
                    "state": each.state,
                }
                for each in self.consumers
            ],
            "allocated_at": self.allocated_at.isoformat() if self.allocated_at else None,
            "binding_seconds_left": self.seconds_left,
            "verdicts": [each.as_dict() for each in self.verdicts],
        }


def _device_summary(each: DeviceReadiness) -> dict[str, Any]:
    device = each.device
    return {
        "request": device.request,
        "driver": device.driver,
        "pool": device.pool,
        "device": device.device,
        "share_id": device.share_id,
        "consumed_capacity": {name: str(value) for name, value in device.consumed_capacity.items()},
        "admin_access": device.admin_access,
        "conditions": {
            "required": list(each.required),
            "met": list(each.met),
            "missing": list(each.missing),
            "failed": [
                {"type": failed.type, "reason": failed.reason, "message": failed.message}
                for failed in each.failed
            ],
        },
    }


def missing_claim(namespace: str, name: str, verdict: Verdict) -> ClaimReport:
    """Return the report of a claim that a pod wants and that does not exist.

    :param name: the claim's name where it is known, else the name inside the pod.
    """
    return ClaimReport(name, namespace, "not_generated", verdicts=(verdict,))
