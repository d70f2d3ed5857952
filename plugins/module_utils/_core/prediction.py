# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many replicas will have each alternative once a service has a given number of them.

Replicas that have devices keep them: claims are decided once. Further ones take what is free, in the order of
the alternatives, before the autoscaler grows anything for them; what then remains grows the pools in the same
order, as the ComputeClass states it. The first two are certain. Growth is not: it may fail for lack of stock
or quota, and then a later pool grows. So the answer has a lower and an upper bound beside what is expected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .claims import DeviceRequests
from .cluster import Cluster
from .foresight import alternative_names, outlook, room
from .holdings import Holdings
from .inventory import Place
from .nodes import Node
from .objects import View
from .pods import Pod
from .replacement import Member, Service, template_pod
from .service_report import NODE_POOL

Plan = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What is expected, and what is possible.

    :param expected: replicas by alternative; those that will have no devices under an empty name.
    :param least: the fewest replicas of each alternative that do not contradict it; ``most`` the most.
    :param node_pools: the expected number of nodes of each pool of the plan.
    :param largest: the number of nodes that each pool may have.
    :param grows: whether new nodes are needed for it.
    :param nodes: the nodes of the alternatives that were there, UIDs by name; GKE gives the machine that
        replaces a spot machine the same name.
    :param reasons: why the bounds are apart, one sentence each; empty where they are not.
    """

    replicas: int
    expected: Mapping[str, int]
    least: Mapping[str, int]
    most: Mapping[str, int]
    node_pools: Mapping[str, int] = field(default_factory=dict)
    largest: Mapping[str, int] = field(default_factory=dict)
    nodes: Mapping[str, str] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    grows: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the mapping for module results, which ``from_dict`` reads again."""
        return {
            "replicas": self.replicas,
            "alternatives": dict(self.expected),
            "least": dict(self.least),
            "most": dict(self.most),
            "node_pools": dict(self.node_pools),
            "largest": dict(self.largest),
            "nodes": dict(self.nodes),
            "reasons": list(self.reasons),
            "grows": self.grows,
        }


def from_dict(value: Mapping[str, Any]) -> Prediction:
    """Return the prediction that ``Prediction.as_dict`` wrote."""
    counts = {
        key: {str(name): int(count) for name, count in value[key].items()}
        for key in ("alternatives", "least", "most", "node_pools", "largest")
    }
    return Prediction(
        replicas=int(value["replicas"]),
        expected=counts["alternatives"],
        least=counts["least"],
        most=counts["most"],
        node_pools=counts["node_pools"],
        largest=counts["largest"],
        nodes={str(name): str(uid) for name, uid in value["nodes"].items()},
        reasons=tuple(value["reasons"]),
        grows=bool(value["grows"]),
    )


class Pool(NamedTuple):
    """A node pool of the plan.

    :param coming: nodes that are there and publish no device of the alternative yet.
    :param replicas_per_node: what one more node would hold.
    """

    name: str
    alternative: str
    present: int
    coming: int
    largest: int
    replicas_per_node: int

    @property
    def possible(self) -> int:
        """Return how many replicas find room on nodes that are yet to come or to publish."""
        return (max(0, self.largest - self.present) + self.coming) * self.replicas_per_node


def predict(service: Service, cluster: Cluster, plan: Plan, replicas: int) -> Prediction:
    """Return what ``replicas`` replicas of the service will have.

    :param plan: ``alternatives.Plan.as_dict``.
    """
    requests = plan_requests(plan)
    names = alternative_names(requests)
    placed = [each for each in service.members if each.alternative]
    have = _counts(each.alternative for each in placed)
    pools = list(_pools(cluster, plan, requests))
    nodes = {node.name: node.meta.uid for node in plan_nodes(cluster.nodes, plan)}
    present = {pool.name: pool.present for pool in pools}
    largest = {pool.name: pool.largest for pool in pools}
    if replicas < len(placed):
        return _fewer(placed, have, replicas, Prediction(replicas, {}, {}, {}, present, largest, nodes))
    free, unknown = _on_what_is_free(
        cluster, template_pod(service.deployment), requests, replicas - len(placed)
    )
    if unknown:
        text = f"whether devices are free cannot be judged: {unknown}"
        every = dict.fromkeys(names, replicas)
        return Prediction(replicas, {}, {}, every, present, largest, nodes, (text,))
    sure = _sum(have, _counts(free))
    left = replicas - len(placed) - len(free)
    if not left:
        return Prediction(replicas, sure, sure, sure, present, largest, nodes)
    return _with_growth(Prediction(replicas, sure, sure, sure, present, largest, nodes), pools, left)


def plan_nodes(nodes: Iterable[Node], plan: Plan) -> list[Node]:
    """Return the nodes of the plan's alternatives."""
    selectors = [each["node_selector"] for each in plan["slices"] if each["alternative"]]
    return [
        node
        for node in nodes
        if any(all(node.labels.get(key) == value for key, value in each.items()) for each in selectors)
    ]


def plan_requests(plan: Plan) -> tuple[DeviceRequests, ...]:
    """Return what a claim of the plan's template asks for."""
    devices = plan["claim_template"]["spec"]["spec"]["devices"]
    return (DeviceRequests.from_view(View(devices, "the plan's claim template")),)


def _on_what_is_free(
    cluster: Cluster, pod: Pod, requests: Sequence[DeviceRequests], most: int
) -> tuple[list[str], str]:
    """Return the alternatives of the replicas that find devices, and what the judgement lacks."""
    held: Holdings = cluster.inventory.held
    found: list[str] = []
    for _unused in range(most):
        seen = outlook(cluster, pod, requests, held)
        if seen.unknown or seen.found is None:
            return found, seen.unknown
        found.append(seen.found.alternative)
        held = seen.found.held
    return found, ""


def _with_growth(now: Prediction, pools: Sequence[Pool], left: int) -> Prediction:
    """Return the prediction for replicas that find nothing free, from what the pools may still grow."""
    possible = {pool.alternative: pool.possible for pool in pools}
    grown: dict[str, int] = {}
    sizes = dict(now.node_pools)
    waiting = left
    for pool in pools:
        taken = min(waiting, possible[pool.alternative])
        if taken:
            grown[pool.alternative] = taken
            sizes[pool.name] += max(0, -(-taken // pool.replicas_per_node) - pool.coming)
            waiting -= taken
    expected = _sum(now.expected, grown, {"": waiting} if waiting else {})
    most = _sum(now.most, {name: min(left, room) for name, room in possible.items()})
    least = {
        name: max(now.least.get(name, 0), now.replicas - waiting - (sum(most.values()) - count))
        for name, count in most.items()
    }
    if waiting:
        reasons = [f"{waiting} of {now.replicas} replicas find no device, and no pool may grow for them"]
        most[""] = waiting
    else:
        reasons = []
    if any(least.get(name, 0) != count for name, count in most.items()):
        reasons.append(
            f"{left} replicas need new nodes; the autoscaler decides which pool grows, and stock or quota "
            "may be lacking"
        )
    return Prediction(
        now.replicas, expected, least, most, sizes, now.largest, now.nodes, tuple(reasons), bool(grown)
    )


def _fewer(placed: Sequence[Member], have: Mapping[str, int], replicas: int, frame: Prediction) -> Prediction:
    """Return the prediction for fewer replicas: those that do not serve go first, then the youngest."""
    gone = len(placed) - replicas
    kept = sorted(placed, key=lambda each: (not each.serves, str(each.pod.meta.created)))[:replicas]
    expected = _counts(each.alternative for each in kept)
    least = {name: max(0, count - gone) for name, count in have.items()}
    reason = f"{gone} replicas go, and the ReplicaSet decides which"
    return Prediction(
        replicas, expected, least, have, frame.node_pools, frame.largest, frame.nodes, (reason,)
    )


def _pools(cluster: Cluster, plan: Plan, requests: Sequence[DeviceRequests]) -> Iterator[Pool]:
    """Yield the plan's pools in the order in which the autoscaler tries them."""
    alternatives = {each["node_pool"]: each["alternative"] for each in plan["nodes"]}
    drivers = {each["alternative"]: each["driver"] for each in plan["slices"]}
    grows = plan.get("compute_class") is not None
    for each in plan["node_pools"]:
        name = each["name"]
        nodes = [node for node in cluster.nodes if node.labels.get(NODE_POOL) == name]
        largest = each["autoscaling"]["max_node_count"] * max(1, len(each["locations"]))
        per_node = _replicas_per_node(cluster, plan, alternatives[name], nodes, requests)
        largest = largest if grows else len(nodes)
        coming = [node for node in nodes if not _publishes(cluster, node, drivers[alternatives[name]])]
        yield Pool(name, alternatives[name], len(nodes), len(coming), largest, per_node)


def _publishes(cluster: Cluster, node: Node, driver: str) -> bool:
    found = cluster.inventory.on_node(Place(node.name, node.labels))
    return any(pool.id.driver == driver for pool in found)


def _replicas_per_node(
    cluster: Cluster, plan: Plan, alternative: str, nodes: Sequence[Node], requests: Sequence[DeviceRequests]
) -> int:
    """Return how many replicas one more node would hold, as a node of the pool that is there does.

    Where there is none, what the plan says about its devices must do.
    """
    if nodes and (found := room(cluster, nodes[0], requests, alternative)):
        return found
    published = next(each["devices_min"] for each in plan["slices"] if each["alternative"] == alternative)
    wanted = next(
        each.count
        for claim in requests
        for request in claim.requests
        for each in request.alternatives
        if each.name.rpartition("/")[2] == alternative
    )
    return max(1, int(published) // max(1, wanted))


def _counts(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _sum(*counts: Mapping[str, int]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for name, count in each.items():
            total[name] = total.get(name, 0) + count
    return total
