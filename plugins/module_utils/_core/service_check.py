# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the replicas of a service are what the plan says, and as many of each kind as was predicted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .nodes import Node
from .prediction import Prediction, plan_requests
from .service_report import NODE_POOL, Replica, by_alternative, node_pools
from .verdict import Status, Verdict
from .waiting import is_ready

Plan = Mapping[str, Any]


def check_replicas(replicas: Iterable[Replica], plan: Plan) -> Iterator[Verdict]:
    """Yield what contradicts the plan at each replica: its readiness, devices, node, image and time line.

    What is wrong with its claim is among the replica's own verdicts; its errors are passed on.
    """
    for replica in replicas:
        if not is_ready(replica.pod):
            yield _error("ReplicaNotReady", replica, "its condition Ready is not True", "one that serves")
        yield from (each for each in replica.verdicts if each.status == "error")
        if replica.alternative in plan["alternatives"]:
            yield from _devices(replica, plan)
            yield from _node(replica, plan)
            yield from _image(replica, plan)
        yield from _time_line(replica)


def check_prediction(
    prediction: Prediction, replicas: Sequence[Replica], nodes: Sequence[Node], subject: str
) -> Iterator[Verdict]:
    """Yield the verdict on how many replicas have each alternative, then those on the pools' sizes.

    A difference is an error unless nodes came or went meanwhile that were not predicted: then the
    prediction was about another cluster, and the difference is a warning that names them.

    :param nodes: those of the plan's alternatives (``prediction.plan_nodes``).
    """
    found = by_alternative(replicas)
    names = dict.fromkeys([*prediction.most, *prediction.expected, *found])
    outside = [
        name
        for name in names
        if not prediction.least.get(name, 0) <= found.get(name, 0) <= prediction.most.get(name, 0)
    ]
    as_expected = _without_zeros(found) == _without_zeros(prediction.expected)
    if outside:
        yield _differs(prediction, replicas, nodes, subject)
    else:
        yield Verdict(
            "ok" if as_expected else "note",
            "AlternativesAsPredicted",
            subject,
            observed=_counted(found),
            expected="" if as_expected else f"{_counted(prediction.expected)}; {_bounds(prediction)} will do",
            evidence=prediction.reasons,
        )
    yield from (_gone(name) for name in _went(prediction, nodes))
    ready = node_pools(nodes)
    for name, largest in prediction.largest.items():
        if ready.get(name, 0) > largest:
            yield _larger_than_allowed(name, ready[name], largest)
        elif as_expected:
            yield from _pool_size(prediction, name, replicas, nodes)
        yield from _unrecorded_growth(prediction, name, replicas)


def _went(prediction: Prediction, nodes: Iterable[Node]) -> list[str]:
    """Return the names of the nodes that were there at the prediction and are not any more, sorted."""
    now = {node.name: node.meta.uid for node in nodes}
    return sorted(name for name, uid in prediction.nodes.items() if now.get(name) != uid)


def _gone(node: str) -> Verdict:
    return Verdict(
        "warning",
        "NodeGone",
        f"Node {node}",
        observed="gone, with the replicas that ran on it",
        expected="there, as when the prediction was made",
        advice="none where a spot machine was taken back or an autoscaler removed it; the replicas were made "
        "again where there was room. Else look who deleted it",
    )


def _differs(
    prediction: Prediction, replicas: Sequence[Replica], nodes: Sequence[Node], subject: str
) -> Verdict:
    explained = [f"node {name} went" for name in _went(prediction, nodes)]
    if not prediction.grows:
        new = sorted(node.name for node in nodes if prediction.nodes.get(node.name) != node.meta.uid)
        explained += [f"node {name} came" for name in new]
    why = [
        f"{replica.pod.meta.name} on {replica.alternative or 'nothing'}: {each.observed}"
        for replica in replicas
        for each in replica.verdicts
    ]
    status: Status = "warning" if explained else "error"
    return Verdict(
        status,
        "AlternativesDiffer",
        subject,
        observed=_counted(by_alternative(replicas)) + (f" ({'; '.join(explained)})" if explained else ""),
        expected=_bounds(prediction),
        advice="the playbook diagnose says why each replica has what it has; return_to_gpu brings replicas "
        "back to an earlier alternative that is free",
        evidence=(*prediction.reasons, *why),
    )


def _larger_than_allowed(pool: str, ready: int, largest: int) -> Verdict:
    return Verdict(
        "error",
        "PoolSizeUnexpected",
        f"NodePool {pool}",
        observed=f"{ready} ready nodes",
        expected=f"{largest} at most",
        advice="somebody else resized the pool; compare its autoscaling with the plan",
    )


def _pool_size(
    prediction: Prediction, pool: str, replicas: Iterable[Replica], nodes: Sequence[Node]
) -> Iterator[Verdict]:
    """Yield the verdict on a pool that has not the size that goes with the alternatives as expected.

    Fewer nodes are an error where none that went or is not ready accounts for it. More are a warning: an
    autoscaler may grow more than is needed, and takes what is idle back later.
    """
    of_pool = [node for node in nodes if node.labels.get(NODE_POOL) == pool]
    ready, wanted = sum(node.ready for node in of_pool), prediction.node_pools.get(pool, 0)
    subject, observed, expected = f"NodePool {pool}", f"{ready} ready nodes", f"{wanted} as predicted"
    if ready > wanted:
        used = {replica.pod.node_name for replica in replicas}
        idle = ", ".join(node.name for node in of_pool if node.ready and node.name not in used)
        why = f" ({idle} without a replica)" if idle else ""
        advice = "none where it is taken back after its idle time; else look who resized the pool"
        yield Verdict("warning", "PoolSizeUnexpected", subject, f"{observed}{why}", expected, advice)
    elif ready < wanted:
        now = {node.name for node in nodes}
        missing = [f"node {name} went" for name in prediction.nodes if name not in now]
        missing += [f"node {node.name} is not ready" for node in of_pool if not node.ready]
        accounted = len(missing) >= wanted - ready
        if ready and not any(node.name in prediction.nodes for node in of_pool):
            accounted = True
            missing.append("the pool was empty, so how many replicas a node holds was assumed")
        status: Status = "warning" if accounted else "error"
        why = f" ({'; '.join(missing)})" if missing else ""
        advice = "compare the pool's nodes in Kubernetes and at Google with its autoscaling"
        yield Verdict(status, "PoolSizeUnexpected", subject, f"{observed}{why}", expected, advice)


def _unrecorded_growth(prediction: Prediction, pool: str, replicas: Iterable[Replica]) -> Iterator[Verdict]:
    """Yield a note where a pool's new nodes have replicas and no event says that it grew for any of them."""
    there = [
        replica
        for replica in replicas
        if replica.node
        and replica.node.labels.get(NODE_POOL) == pool
        and replica.node.name not in prediction.nodes
    ]
    if there and not any(replica.scale_up for replica in there):
        names = ", ".join(replica.pod.meta.name for replica in there)
        yield Verdict(
            "note",
            "ScaleUpUnrecorded",
            f"NodePool {pool}",
            observed=f"new nodes with {names}, which no TriggeredScaleUp event is about",
            advice="none where the event was lost or has expired; else look who resized the pool",
        )


def _devices(replica: Replica, plan: Plan) -> Iterator[Verdict]:
    driver, wanted = _entry(plan["slices"], replica)["driver"], _wanted_devices(plan, replica)
    if len(replica.devices) != wanted or any(
        device.partition("/")[0] != driver for device in replica.devices
    ):
        found = ", ".join(replica.devices) or "none"
        yield _error("DevicesDiffer", replica, f"devices {found}", f"{wanted} of driver {driver}")


def _node(replica: Replica, plan: Plan) -> Iterator[Verdict]:
    """Yield the verdict on a node that is not one of those the plan expects the alternative on."""
    selector = _entry(plan["slices"], replica)["node_selector"]
    labels = replica.node.labels if replica.node else {}
    wrong = [f"{key}={labels.get(key)}" for key, value in selector.items() if labels.get(key) != value]
    if wrong:
        wanted = ", ".join(f"{key}={value}" for key, value in selector.items())
        yield _error(
            "NodeOfOtherAlternative",
            replica,
            f"node {replica.pod.node_name or 'none'} has {', '.join(wrong)}",
            f"a node of {replica.alternative} ({wanted})",
        )


def _image(replica: Replica, plan: Plan) -> Iterator[Verdict]:
    """Yield the verdict on an image of another repository than the alternative's.

    Tag and digest are the claim's to say, and held against it in the replica's own verdicts: the plan of a
    later run may have pinned them otherwise.
    """
    wanted = _entry(plan["images"], replica)["reference"]
    images = [each.image for each in replica.pod.containers]
    if _repository(wanted) not in map(_repository, images):
        yield _error("ImageDiffers", replica, f"image {', '.join(images)}", f"{_repository(wanted)}")


def _time_line(replica: Replica) -> Iterator[Verdict]:
    missing = [name for name, moment in replica.phases.items() if moment is None]
    moments = [moment for moment in replica.phases.values() if moment is not None]
    if missing and is_ready(replica.pod):
        yield _error("TimeLineBroken", replica, f"no time of {', '.join(missing)}", "a time of each step")
    elif moments != sorted(moments):
        seen = ", ".join(f"{name} {moment:%H:%M:%S}" for name, moment in replica.phases.items() if moment)
        yield _error("TimeLineBroken", replica, seen, "the steps in their order")


def _error(reason: str, replica: Replica, observed: str, expected: str) -> Verdict:
    return Verdict("error", reason, replica.pod.subject, observed, expected)


def _repository(reference: str) -> str:
    """Return an image reference without tag and digest."""
    path = reference.partition("@")[0]
    head, slash, last = path.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


def _without_zeros(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _counted(counts: Mapping[str, int]) -> str:
    texts = [f"{count} on {name or 'nothing yet'}" for name, count in counts.items() if count]
    return ", ".join(texts) or "no replica"


def _bounds(prediction: Prediction) -> str:
    texts = []
    for name in dict.fromkeys([*prediction.most, *prediction.expected]):
        least, most = prediction.least.get(name, 0), prediction.most.get(name, 0)
        if most:
            count = str(least) if least == most else f"{least} to {most}"
            texts.append(f"{count} on {name or 'nothing yet'}")
    return ", ".join(texts) or "no replica"


def _entry(entries: Sequence[Mapping[str, Any]], replica: Replica) -> Mapping[str, Any]:
    """Return what the plan says of the replica's alternative."""
    return next(each for each in entries if each["alternative"] == replica.alternative)


def _wanted_devices(plan: Plan, replica: Replica) -> int:
    """Return how many devices the plan's claim asks of the replica's alternative."""
    return next(
        each.count
        for claim in plan_requests(plan)
        for request in claim.requests
        for each in request.alternatives
        if each.name.rpartition("/")[2] == replica.alternative
    )
