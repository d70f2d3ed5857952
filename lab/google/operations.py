# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Operations of the simulated GKE: which may start, how far they are, when and how they end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..faults import Fault
from . import places
from .errors import busy, quota_text, stockout_text, too_many_operations
from .records import Cluster, NodePool, Operation

if TYPE_CHECKING:
    from .cloud import Cloud

Json = dict[str, Any]

# Changes to different node pools run side by side, up to this many (provider-google #15205).
CONCURRENT_POOL_OPERATIONS = 5
RESOURCE_EXHAUSTED = 8
# Google forgets operations after a while; so does the lab, after this many.
KEPT = 500

# Typical durations in seconds, machines excepted: those are waited for.
SECONDS: Mapping[str, float] = {
    "CREATE_CLUSTER": 240.0,
    "DELETE_CLUSTER": 150.0,
    "UPGRADE_MASTER": 300.0,
    "UPGRADE_NODES": 60.0,
    "UPDATE_CLUSTER": 30.0,
    "CREATE_NODE_POOL": 30.0,
    "DELETE_NODE_POOL": 60.0,
    "SET_LABELS": 5.0,
    "SET_NODE_POOL_SIZE": 15.0,
    "SET_NODE_POOL_MANAGEMENT": 5.0,
}


def begin(
    cloud: Cloud,
    kind: str,
    cluster: Cluster,
    pool: str = "",
    *,
    exclusive: bool = False,
    waits: bool = False,
    result: Json | None = None,
) -> Operation:
    """Start an operation that :func:`admit` allowed. Operations without a pool are exclusive."""
    now, token = cloud.timestamp(), cloud.token()
    name = f"operation-{int(now * 1000)}-{token[:8]}-{token[8:12]}-{token[12:16]}-{token[16:20]}"
    operation = Operation(
        name=name,
        type=kind,
        location=cluster.location,
        cluster=cluster.key,
        pool=pool,
        started=now,
        due=now + cloud.delay(SECONDS[kind]),
        exclusive=exclusive or not pool,
        waits=waits,
        result=result,
    )
    cloud.state.operations[name] = operation
    ended = [old.name for old in cloud.state.operations.values() if old.done]
    for old in ended[: max(0, len(ended) - KEPT)]:
        del cloud.state.operations[old]
    cloud.changed("operation", name)
    return operation


def running(cloud: Cloud, cluster: Cluster) -> list[Operation]:
    return [
        operation
        for operation in cloud.state.operations.values()
        if operation.cluster == cluster.key and not operation.done
    ]


def admit(cloud: Cloud, cluster: Cluster, pool: str = "") -> None:
    """Refuse a change that would meet another one (400), or one too many (429).

    Without ``pool`` the change concerns the whole cluster.
    """
    settle(cloud)
    _maintain(cloud, cluster)
    others = running(cloud, cluster)
    for operation in others:
        if not pool or operation.exclusive or operation.pool == pool:
            raise busy(operation.name)
    if len(others) >= CONCURRENT_POOL_OPERATIONS:
        raise too_many_operations(cluster.name, CONCURRENT_POOL_OPERATIONS)


def _maintain(cloud: Cloud, cluster: Cluster) -> None:
    """Start an operation of GKE's own where that fault is ordered."""
    if running(cloud, cluster):
        return
    fault = cloud.faults.take("maintenance", cluster=cluster.name)
    if fault:
        operation = begin(cloud, "UPGRADE_MASTER", cluster)
        operation.due = operation.started + cloud.delay(float(fault["seconds"]))


def settle(cloud: Cloud) -> None:
    """End every operation whose time has come and whose machines are there."""
    for operation in list(cloud.state.operations.values()):
        if not operation.done:
            _settle_one(cloud, operation)


def _settle_one(cloud: Cloud, operation: Operation) -> None:
    now = cloud.timestamp()
    cluster = cloud.state.clusters.get(operation.cluster)
    if cluster is None or now < operation.due:
        return
    facts = {"cluster": cluster.name, "pool": operation.pool, "type": operation.type}
    if cloud.faults.peek("operation-stuck", **facts):
        return
    failure = cloud.faults.take("operation-fails", **facts)
    if failure:
        error = {"code": int(failure["code"]), "message": failure["message"]}
        _fail(cloud, operation, cluster, error, [])
    elif not operation.waits or all(pool.settled for pool in targets(operation, cluster)):
        if operation.type != "DELETE_CLUSTER" or all(agrees(cluster) for agrees in cloud.before_end):
            _finish(cloud, operation, cluster)
    else:
        _give_up(cloud, operation, cluster)


def targets(operation: Operation, cluster: Cluster) -> list[NodePool]:
    """Return the node pools whose machines an operation waits for."""
    if not operation.pool:
        return list(cluster.pools.values())
    return [pool for name, pool in cluster.pools.items() if name == operation.pool]


def _give_up(cloud: Cloud, operation: Operation, cluster: Cluster) -> None:
    """Fail an operation whose machines a fault has kept away for long enough."""
    for pool in targets(operation, cluster):
        for zone, wanted in pool.wanted.items():
            ready = pool.ready.get(zone, 0)
            fault = cloud.shortage(cluster, pool, zone) if ready < wanted else None
            patience = cloud.delay(float(fault["after"])) if fault else 0.0
            if fault and cloud.timestamp() >= operation.started + patience:
                code, text = _reason(cloud, fault, zone)
                instance = f"gke-{cluster.name}-{pool.message['name']}-{cloud.token()[:8]}-0000"
                message = (
                    "Google Compute Engine: Not all instances running in IGM after "
                    f"{duration(float(fault['after']))}. Expected {wanted}, running {ready}, "
                    f"transitioning {wanted - ready}. Current errors: [{code}]: Instance "
                    f"'{instance}' creation failed: {text}"
                )
                cloud.faults.take(fault.kind, **cloud.pool_facts(cluster, pool), zone=zone)
                conditions = [{"code": code, "canonicalCode": "RESOURCE_EXHAUSTED", "message": message}]
                error = {"code": RESOURCE_EXHAUSTED, "message": message}
                _fail(cloud, operation, cluster, error, conditions)
                return


def _reason(cloud: Cloud, fault: Fault, zone: str) -> tuple[str, str]:
    if fault.kind == "stockout":
        return "GCE_STOCKOUT", stockout_text(cloud.project, zone)
    region = places.region_of(zone)
    return "GCE_QUOTA_EXCEEDED", quota_text(fault["metric"], float(fault["limit"]), region)


def duration(seconds: float) -> str:
    """Return a duration in Go's notation (``35m4s``)."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def _finish(cloud: Cloud, operation: Operation, cluster: Cluster) -> None:
    operation.status, operation.ended = "DONE", cloud.timestamp()
    if operation.type == "DELETE_CLUSTER":
        del cloud.state.clusters[cluster.key]
    elif operation.type == "DELETE_NODE_POOL":
        del cluster.pools[operation.pool]
    else:
        _install(operation, cluster)
        for pool in targets(operation, cluster) if operation.waits or operation.pool else ():
            _healthy(pool)
        if operation.exclusive:
            cluster.message["status"] = "RUNNING"
            cluster.message.pop("conditions", None)
    cloud.changed("cluster", cluster.key)
    cloud.changed("operation", operation.name)


def _install(operation: Operation, cluster: Cluster) -> None:
    if operation.result is None:
        return
    if operation.pool:
        pool = cluster.pools[operation.pool]
        pool.message = operation.result | {"status": pool.message["status"]}
    else:
        cluster.message = operation.result


def _healthy(pool: NodePool) -> None:
    pool.message["status"] = "RUNNING"
    pool.message.pop("statusMessage", None)
    pool.message.pop("conditions", None)


def _fail(
    cloud: Cloud,
    operation: Operation,
    cluster: Cluster,
    error: Json,
    conditions: list[Json],
) -> None:
    """End an operation with an error and leave its target as Google does: there, and broken."""
    operation.status, operation.ended = "DONE", cloud.timestamp()
    operation.error = error
    operation.conditions = conditions
    broken = {"statusMessage": error["message"], "conditions": conditions}
    creating = operation.type in ("CREATE_CLUSTER", "DELETE_CLUSTER")
    if operation.exclusive:
        cluster.message["status"] = "ERROR" if creating else "RUNNING"
        cluster.message |= broken if creating else {}
    for pool in targets(operation, cluster) if operation.waits or operation.pool else ():
        if operation.pool or not pool.settled:
            works = any(pool.ready.values())
            pool.message |= {"status": "RUNNING_WITH_ERROR" if works else "ERROR", **broken}
        else:
            _healthy(pool)
    cloud.changed("cluster", cluster.key)
    cloud.changed("operation", operation.name)


def recover(cloud: Cloud, cluster: Cluster, pool: NodePool) -> None:
    """Note that a pool without machines has got some after all: its groups never stop trying.

    A pool that broke for another reason than machines stays broken.
    """
    lacks_machines = bool(pool.message.get("conditions"))
    others = any(op.pool in ("", pool.message["name"]) for op in running(cloud, cluster))
    if not lacks_machines or others or not any(pool.ready.values()):
        return
    if pool.settled:
        _healthy(pool)
    else:
        pool.message["status"] = "RUNNING_WITH_ERROR"
