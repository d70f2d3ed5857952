# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What claims would get on the nodes of a cluster, worked out once for all pods that ask for the same.

A workload's replicas ask for the same devices and may go to the same nodes, so answers are kept by what
is asked and by where it may be asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar, cast

from .allocation import what_if
from .claims import Alternative, Claim, DeviceRequests
from .cluster import Cluster
from .fits import Fit, Refusal
from .inventory import Place
from .nodes import Node, node_selector_matches
from .placement import misfit
from .pods import Pod
from .refusals import Look, look

T = TypeVar("T")


class Reachable(NamedTuple):
    """The nodes that a pod may go to, and the others by what keeps it away from them.

    ``key`` is equal for pods that may go to the same nodes for the same reasons.
    """

    key: str
    nodes: tuple[Node, ...]
    kept_away: Mapping[str, list[str]]


@dataclass
class Fitting:
    """Answers about one cluster."""

    cluster: Cluster
    _reachable: dict[str, Reachable] = field(default_factory=dict)
    _answers: dict[tuple[str, str], dict[str, Fit | Refusal]] = field(default_factory=dict)
    _looks: dict[tuple[str, str], dict[str, Look]] = field(default_factory=dict)
    _said: dict[tuple[str, str, str], tuple[Any, ...]] = field(default_factory=dict)

    def reachable(self, pod: Pod, claims: Iterable[Claim] = ()) -> Reachable:
        """Return where the pod may go: its own wishes, taints, and where its allocated claims are."""
        selectors = [
            claim.allocation.node_selector
            for claim in claims
            if claim.allocation and claim.allocation.node_selector is not None
        ]
        spec = pod.spec
        affinity = (spec.get("affinity") or {}).get("nodeAffinity")
        key = repr((spec.get("nodeSelector"), affinity, spec.get("tolerations"), selectors))
        if key not in self._reachable:
            self._reachable[key] = self._reach(key, pod, selectors)
        return self._reachable[key]

    def _reach(self, key: str, pod: Pod, selectors: Sequence[Mapping[str, Any]]) -> Reachable:
        found, kept_away = [], dict[str, list[str]]()
        for node in self.cluster.nodes:
            unfit = misfit(pod, node)
            if unfit:
                kept_away.setdefault(unfit.reason, []).append(f"{node.name}: {unfit.text}")
            elif not all(node_selector_matches(each, node.name, node.labels) for each in selectors):
                text = f"{node.name}: another claim is allocated elsewhere"
                kept_away.setdefault("ClaimElsewhere", []).append(text)
            else:
                found.append(node)
        return Reachable(key, tuple(found), kept_away)

    def answers(self, wanted: Sequence[DeviceRequests], where: Reachable) -> Mapping[str, Fit | Refusal]:
        """Return what the claims would get on each node, by the node's name."""
        key = (repr(wanted), where.key)
        if key not in self._answers:
            self._answers[key] = {
                node.name: what_if(wanted, Place(node.name, node.labels), self.cluster.inventory)
                for node in where.nodes
            }
        return self._answers[key]

    def looks(self, alternative: Alternative, where: Reachable) -> Mapping[str, Look]:
        """Return the devices of each node as one alternative sees them, by the node's name."""
        key = (repr(alternative), where.key)
        if key not in self._looks:
            self._looks[key] = {
                node.name: look(alternative, Place(node.name, node.labels), self.cluster.inventory)
                for node in where.nodes
            }
        return self._looks[key]

    def once(
        self, question: str, asked: object, where: Reachable, judge: Callable[[], Iterable[T]]
    ) -> tuple[T, ...]:
        """Return what ``judge`` says about ``asked`` at these nodes, asking it once per question."""
        key = (question, repr(asked), where.key)
        if key not in self._said:
            self._said[key] = tuple(judge())
        return cast("tuple[T, ...]", self._said[key])

    def without(self, claim: Claim) -> Fitting:
        """Return the answers as if the claim held nothing; the same where that makes no difference."""
        given = claim.allocation.devices if claim.allocation else ()
        first = given[0].request.partition("/")[0] if given else ""
        if all(
            each.request.partition("/")[0] == first or (each.share_id and not each.consumed_capacity)
            for each in given
        ):
            return self
        inventory = replace(self.cluster.inventory, held=self.cluster.inventory.held.without(claim))
        return Fitting(replace(self.cluster, inventory=inventory))
