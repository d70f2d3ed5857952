# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a module's options to a judged selection of claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.label_selectors import (
    LabelSelector,
    LabelSelectorError,
)
from ansible_collections.inference.dra.plugins.module_utils._core.workload_report import (
    Selection,
    SelectionError,
    Snapshot,
    WorkloadReport,
    judge,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIM_TEMPLATES,
    CLAIMS,
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    SLICES,
    Forbidden,
    Resource,
)

from .objects import Source
from .result import ModuleFailure

BESIDE_CLAIMS = (PODS, CLAIM_TEMPLATES, DEPLOYMENTS, REPLICA_SETS, SLICES)


@dataclass(frozen=True)
class Reading:
    """What was read for a judgement, and which kinds could not be read for lack of rights."""

    snapshot: Snapshot
    forbidden: tuple[str, ...] = ()


def selection_from(params: Mapping[str, Any]) -> Selection:
    """Return the selection that the shared options describe."""
    try:
        selectors = ",".join(params["label_selectors"] or ())
        return Selection(
            namespace=params["namespace"] or "",
            names=tuple(params["names"] or ()),
            label_selector=LabelSelector.parse(selectors) if selectors else None,
            drivers=tuple(params["drivers"] or ()),
            pods=tuple(params["pods"] or ()),
            deployment=params["deployment"] or "",
        )
    except (SelectionError, LabelSelectorError) as error:
        raise ModuleFailure(f"Selecting claims: {error}.", "InvalidInput") from error


def read(source: Source, selection: Selection) -> Reading:
    """Read the claims and what explains them; only the claims themselves are indispensable."""
    objects: dict[str, Iterable[Mapping[str, Any]]] = {
        CLAIMS.kind: list(source.read(CLAIMS, selection.namespace))
    }
    forbidden = []
    for resource in wanted(selection):
        try:
            found = list(source.read(resource, selection.namespace if resource.namespaced else ""))
        except Forbidden:
            forbidden.append(resource.plural)
        else:
            # A dump without a kind says nothing about it; a cluster without objects of it does.
            if found or source.is_complete:
                objects[resource.kind] = found
    return Reading(Snapshot.from_objects(objects), tuple(forbidden))


def wanted(selection: Selection) -> tuple[Resource, ...]:
    """Return the kinds that a judgement of this selection looks at, beside claims."""
    if selection.deployment:
        return BESIDE_CLAIMS
    return tuple(kind for kind in BESIDE_CLAIMS if kind not in (DEPLOYMENTS, REPLICA_SETS))


def judged(
    reading: Reading, selection: Selection, now: datetime, binding_timeout_seconds: int, if_none: str
) -> WorkloadReport:
    """Return the judgement of the selection; fail where nothing matches and that is an error."""
    report = judge(reading.snapshot, selection, now=now, binding_timeout=binding_timeout_seconds)
    if not report.claims and if_none == "fail":
        reasons = "".join(f" {verdict.sentence()}." for verdict in report.verdicts)
        raise ModuleFailure(
            f"Selecting claims in {selection.namespace or 'all namespaces'}: nothing matches.{reasons} "
            "Correct the selection, or set if_none if that is right.",
            "NothingMatches",
        )
    return report


def counts(report: WorkloadReport) -> dict[str, dict[str, int]]:
    """Return how many claims are in each state, and how many got each alternative."""
    states: dict[str, int] = {}
    alternatives: dict[str, int] = {}
    for claim in report.claims:
        states[claim.state] = states.get(claim.state, 0) + 1
        for choice in claim.choices:
            if choice.name:
                alternatives[choice.name] = alternatives.get(choice.name, 0) + 1
    return {"states": states, "alternatives": alternatives}


def summary(report: WorkloadReport) -> dict[str, Any]:
    """Return the part of a result that every module about claims has."""
    return {
        "claims": [claim.summary() for claim in report.claims],
        "pods": [pod.summary() for pod in report.pods],
        "verdicts": [verdict.as_dict() for verdict in report.verdicts],
        **counts(report),
    }
