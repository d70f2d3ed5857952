# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A work queue for keys: each key at most once in it, and never handed out twice at a time."""

from __future__ import annotations

import heapq
import threading
from collections import deque

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock

Key = tuple[str, str]


class WorkQueue:
    """Keys to look at now or later; many threads may add, take and finish.

    A key that is added while it is being worked on comes again afterwards, so no change is lost
    and no two threads ever work on the same object.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        lock = threading.Lock()
        self._changed = threading.Condition(lock)
        self._idled = threading.Condition(lock)
        self._ready: deque[Key] = deque()
        self._queued: set[Key] = set()
        self._active: set[Key] = set()
        self._later: list[tuple[float, Key]] = []
        self._closed = False

    def add(self, key: Key) -> None:
        with self._changed:
            self._add(key)
            self._changed.notify()

    def add_after(self, key: Key, seconds: float) -> None:
        """Add the key when ``seconds`` have passed."""
        with self._changed:
            heapq.heappush(self._later, (self._clock.monotonic() + seconds, key))
            self._changed.notify()

    def take(self) -> Key | None:
        """Return the next key, waiting for one; None once the queue is closed."""
        with self._changed:
            while not self._closed:
                self._promote()
                if self._ready:
                    key = self._ready.popleft()
                    self._queued.discard(key)
                    self._active.add(key)
                    return key
                wait = self._later[0][0] - self._clock.monotonic() if self._later else None
                self._changed.wait(wait)
            return None

    def done(self, key: Key) -> None:
        """Say that the work on a taken key has ended."""
        with self._changed:
            self._active.discard(key)
            if key in self._queued:
                self._ready.append(key)
                self._changed.notify()
            if self._idle():
                self._idled.notify_all()

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait until nothing is ready or in work, for ``seconds`` at most; return whether that is so."""
        with self._changed:
            return self._idled.wait_for(lambda: self._closed or self._idle(), seconds)

    def close(self) -> None:
        """Let every waiting thread return."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._idled.notify_all()

    def __len__(self) -> int:
        with self._changed:
            return len(self._ready) + len(self._active)

    def _idle(self) -> bool:
        return not self._ready and not self._active

    def _add(self, key: Key) -> None:
        if key in self._queued:
            return
        self._queued.add(key)
        if key not in self._active:
            self._ready.append(key)

    def _promote(self) -> None:
        now = self._clock.monotonic()
        while self._later and self._later[0][0] <= now:
            self._add(heapq.heappop(self._later)[1])
