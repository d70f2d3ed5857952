# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events about an object, as far as a diagnosis reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .objects import open_object


@dataclass(frozen=True, slots=True)
class Event:
    """One event; ``seen`` is when it was last observed."""

    kind: str
    namespace: str
    name: str
    uid: str
    reason: str
    message: str
    seen: datetime | None = None

    @classmethod
    def from_api(cls, obj: Any) -> Event:
        """Return the event of a ``v1`` or ``events.k8s.io/v1`` mapping.

        :raises MalformedObjects: where a field has a type the API never gives it.
        """
        view, meta = open_object(obj, "Event")
        about = view.child("involvedObject" if "involvedObject" in view else "regarding")
        return cls(
            kind=about.text("kind"),
            namespace=about.text("namespace"),
            name=about.text("name"),
            uid=about.text("uid"),
            reason=view.text("reason"),
            message=view.text("message") or view.text("note"),
            seen=view.child("series").time("lastObservedTime")
            or view.time("lastTimestamp")
            or view.time("eventTime")
            or meta.created,
        )

    def __str__(self) -> str:
        return f"Event {self.reason}: {self.message}"


class EventIndex:
    """Events by the UID of the object they are about, the latest last."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._by_uid: dict[str, list[Event]] = {}
        for event in events:
            self._by_uid.setdefault(event.uid, []).append(event)
        for found in self._by_uid.values():
            found.sort(key=lambda event: event.seen.timestamp() if event.seen else 0.0)

    def latest(self, uid: str, *reasons: str) -> Event | None:
        """Return the latest event of one of the reasons about the object."""
        found = [event for event in self._by_uid.get(uid, ()) if event.reason in reasons]
        return found[-1] if found else None
