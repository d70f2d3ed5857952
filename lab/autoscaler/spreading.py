# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Topology spread constraints that must hold, judged as kube-scheduler's filter PodTopologySpread does; pure.

Constraints that are only preferred do not matter to an autoscaler. Not looked at: ``matchLabelKeys``,
and ``nodeTaintsPolicy: Honor``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.label_selectors import LabelSelector
from ansible_collections.inference.dra.plugins.module_utils._core.objects import View
from ansible_collections.inference.dra.plugins.module_utils._core.pods import Pod

TOO_UNEVEN = "node(s) didn't match pod topology spread constraints"
NO_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"


@dataclass(frozen=True)
class Resident:
    """A pod on a node, as far as constraints select it."""

    namespace: str
    labels: Mapping[str, str]


@dataclass(frozen=True)
class Location:
    """A node that the pod's selector and affinity allow, with who is there."""

    labels: Mapping[str, str]
    residents: Iterable[Resident] = ()


def spread_refusal(pod: Pod, here: Mapping[str, str], places: Iterable[Location]) -> str:
    """Return why a node's place in the topology does not suit the pod, empty where it does.

    :param here: the node's labels; the node is one of ``places``.
    """
    known = list(places)
    for constraint in must_hold(pod.spec):
        key = constraint["topologyKey"]
        if key not in here:
            return NO_LABEL
        selector = LabelSelector.from_view(View(constraint.get("labelSelector") or {}, "labelSelector"))
        counts = matching(pod, selector, key, known)
        few = len(counts) < constraint.get("minDomains", 1)
        least = 0 if few else min(counts.values(), default=0)
        itself = 1 if selector.matches(pod.meta.labels) else 0
        if counts[here[key]] + itself - least > constraint["maxSkew"]:
            return TOO_UNEVEN
    return ""


def must_hold(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    constraints = spec.get("topologySpreadConstraints") or ()
    return [each for each in constraints if each.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"]


def matching(pod: Pod, selector: LabelSelector, key: str, places: Iterable[Location]) -> Counter[str]:
    """Return how many selected pods of the pod's namespace each value of the topology key has."""
    counts: Counter[str] = Counter()
    for place in places:
        if key in place.labels:
            counts[place.labels[key]] += sum(
                each.namespace == pod.meta.namespace and selector.matches(each.labels)
                for each in place.residents
            )
    return counts
