# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A judgement is a value: what was judged, what was seen, what was wanted, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from .reasons import REASONS

Status = Literal["ok", "note", "warning", "error"]

SEVERITY: tuple[Status, ...] = ("ok", "note", "warning", "error")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One finding.

    :param status: ``ok``, ``note`` (worth knowing), ``warning`` (works, but not as meant) or ``error``.
    :param reason: CamelCase, stable, one of ``REASONS``; playbooks may branch on it.
    :param subject: ``Kind namespace/name`` (or ``Kind name``) of the object judged.
    :param observed: what was seen there.
    :param expected: what would have been right; empty where nothing is wrong.
    :param advice: the next step for a person; empty where there is none.
    :param evidence: sentences or object references that show the observation.
    :raises ValueError: for a reason that is not documented; every reason a user may see has an entry.
    """

    status: Status
    reason: str
    subject: str
    observed: str = ""
    expected: str = ""
    advice: str = ""
    evidence: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.status not in SEVERITY:
            raise ValueError(f"unknown status {self.status!r}")
        if self.reason not in REASONS:
            raise ValueError(f"reason {self.reason!r} is not documented in _core/reasons.py")

    def at_least(self, threshold: Status) -> bool:
        """Return whether this verdict is as severe as ``threshold`` or more."""
        return SEVERITY.index(self.status) >= SEVERITY.index(threshold)

    def as_dict(self) -> dict[str, Any]:
        """Return the mapping that module results carry; all seven keys, always."""
        return {
            "status": self.status,
            "reason": self.reason,
            "subject": self.subject,
            "observed": self.observed,
            "expected": self.expected,
            "advice": self.advice,
            "evidence": list(self.evidence),
        }

    def sentence(self) -> str:
        """Return the finding as one line of text, for messages and logs."""
        parts = [f"{self.subject}: {self.observed or self.reason}"]
        if self.expected:
            parts.append(f"expected {self.expected}")
        if self.advice:
            parts.append(self.advice)
        return "; ".join(parts)


def from_dict(value: Mapping[str, Any]) -> Verdict:
    """Return the verdict that ``Verdict.as_dict`` wrote."""
    return Verdict(
        status=cast(Status, value["status"]),
        reason=value["reason"],
        subject=value["subject"],
        observed=value.get("observed", ""),
        expected=value.get("expected", ""),
        advice=value.get("advice", ""),
        evidence=tuple(value.get("evidence", ())),
    )


def worst(verdicts: Iterable[Verdict]) -> Status:
    """Return the most severe status among the verdicts, ``ok`` for none."""
    return max((verdict.status for verdict in verdicts), key=SEVERITY.index, default="ok")
