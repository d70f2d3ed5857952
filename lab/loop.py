# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One thread that does everything in the lab, woken by news or by a timer, never by polling."""

from __future__ import annotations

import heapq
import itertools
import queue
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock

Action = Callable[[], None]
Result = TypeVar("Result")


@dataclass(order=True)
class Timer:
    """Something to do at a time; ``cancel`` makes it do nothing."""

    due: float
    order: int
    action: Action = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """Runs actions one after the other, in the thread that calls :meth:`run`.

    :param speed: simulated seconds per real second; every delay given to :meth:`after` is divided
        by it, so the lab has exactly one place where time is scaled.
    :param failed: hears of an action that raised, and the loop goes on; without it the loop ends.
    """

    def __init__(
        self, clock: Clock, speed: float = 1.0, failed: Callable[[Exception], None] | None = None
    ) -> None:
        if speed <= 0:
            raise ValueError(f"speed is {speed:g}, expected a factor above 0")
        self.clock = clock
        self.speed = speed
        self._failed = failed
        self._timers: list[Timer] = []
        self._order = itertools.count()
        self._inbox: queue.SimpleQueue[Action | None] = queue.SimpleQueue()

    def post(self, action: Action) -> None:
        """Have ``action`` done soon; may be called from any thread."""
        self._inbox.put(action)

    def call(self, action: Callable[[], Result], seconds: float = 30.0) -> Result:
        """Have ``action`` done by the loop's thread and return what it returned, or raise what it raised.

        :raises TimeoutError: where the loop does not get to it in ``seconds`` real seconds.
        """
        answer: queue.SimpleQueue[tuple[Result | None, BaseException | None]] = queue.SimpleQueue()

        def answered() -> None:
            try:
                answer.put((action(), None))
            except Exception as error:  # noqa: BLE001 - handed over to the thread that asked
                answer.put((None, error))

        self.post(answered)
        try:
            result, error = answer.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError(f"the lab did not answer in {seconds:g} s") from None
        if error is not None:
            raise error
        return result  # type: ignore[return-value] # present exactly where there is no error

    def after(self, seconds: float, action: Action) -> Timer:
        """Have ``action`` done when ``seconds`` simulated seconds have passed; loop thread only."""
        timer = Timer(self.clock.monotonic() + seconds / self.speed, next(self._order), action)
        heapq.heappush(self._timers, timer)
        return timer

    def stop(self) -> None:
        """End :meth:`run` after what was posted before; any thread."""
        self._inbox.put(None)

    def run(self) -> None:
        """Do what is due and what is posted until :meth:`stop`."""
        while True:
            self.run_due()
            try:
                action = self._inbox.get(timeout=self._wait())
            except queue.Empty:
                continue
            if action is None:
                return
            self._do(action)

    def _do(self, action: Action) -> None:
        try:
            action()
        except Exception as error:
            if self._failed is None:
                raise
            self._failed(error)

    def run_due(self) -> None:
        """Do what is due now, in order of time; timers set meanwhile wait for the next call."""
        now = self.clock.monotonic()
        due: list[Timer] = []
        while self._timers and self._timers[0].due <= now:
            due.append(heapq.heappop(self._timers))
        for timer in due:
            if not timer.cancelled:
                self._do(timer.action)

    def _wait(self) -> float | None:
        while self._timers and self._timers[0].cancelled:
            heapq.heappop(self._timers)
        if not self._timers:
            return None
        return max(0.0, self._timers[0].due - self.clock.monotonic())
