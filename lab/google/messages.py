# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages of container v1: what is kept of a cluster, pool or operation, and what follows from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from . import defaults, operations, places
from .cloud import Cloud, rfc3339
from .records import Cluster, NodePool, Operation

Json = dict[str, Any]

# What GKE shows as labelFingerprint of a cluster without labels.
NO_LABELS = "a9dc16a7"


def fingerprint(value: Any) -> str:
    """Return eight hexadecimal characters that change with the value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


def cluster_message(cloud: Cloud, record: Cluster) -> Json:
    """Return the Cluster message: what is kept and what is computed from it."""
    message = dict(record.message)
    message["labelFingerprint"] = label_fingerprint(record.message)
    message["etag"] = etag(record.message)
    pools = [pool_message(pool) for pool in record.pools.values()]
    message["nodePools"] = pools
    if pools:
        oldest = min((pool["version"] for pool in pools), key=places.order)
        message["currentNodeVersion"] = oldest
    message["instanceGroupUrls"] = [url for pool in pools for url in pool["instanceGroupUrls"]]
    sizes = (cloud.granted(record, pool) for pool in record.pools.values())
    message["currentNodeCount"] = sum(sum(size.values()) for size in sizes)
    if message["status"] != "PROVISIONING":
        control_plane = cloud.control_plane
        message["endpoint"] = control_plane.endpoint
        authority = {"clusterCaCertificate": control_plane.ca_certificate}
        message["masterAuth"] = message["masterAuth"] | authority
    stripped: Json = defaults.strip(message)
    return stripped


def pool_message(pool: NodePool) -> Json:
    """Return the NodePool message."""
    stripped: Json = defaults.strip(pool.message | {"etag": etag(pool.message)})
    return stripped


def operation_message(cloud: Cloud, operation: Operation) -> Json:
    """Return the Operation message, progress and failure included."""
    base = f"https://container.googleapis.com/v1/projects/{cloud.project_number}"
    kind = "zones" if places.is_zone(operation.location) else "locations"
    place = f"{base}/{kind}/{operation.location}"
    target = f"{place}/clusters/{operation.cluster.partition('/')[2]}"
    if operation.pool:
        target += f"/nodePools/{operation.pool}"
    message: Json = {
        "name": operation.name,
        "operationType": operation.type,
        "status": operation.status,
        "selfLink": f"{place}/operations/{operation.name}",
        "targetLink": target,
        "location": operation.location,
        "zone": operation.location,
        "startTime": rfc3339(operation.started),
        "endTime": rfc3339(operation.ended),
        "progress": _progress(cloud, operation),
    }
    if operation.error:
        # gcloud reads the failure from statusMessage alone, clients from error.
        message |= {"error": operation.error, "statusMessage": operation.error["message"]}
        key = "nodepoolConditions" if operation.pool else "clusterConditions"
        message[key] = operation.conditions
    stripped: Json = defaults.strip(message)
    return stripped


def _progress(cloud: Cloud, operation: Operation) -> Json:
    cluster = cloud.state.clusters.get(operation.cluster)
    pools = operations.targets(operation, cluster) if cluster and operation.waits else []
    wanted = sum(sum(pool.wanted.values()) for pool in pools)
    ready = sum(sum(pool.ready.values()) for pool in pools)
    span = max(operation.due - operation.started, 1e-9)
    part = 1.0 if operation.done else (cloud.timestamp() - operation.started) / span
    # The API reference names these metrics ("nodes total", "percent done").
    metrics = [{"name": "percent done", "intValue": str(int(min(part, 1.0) * 100))}]
    if pools:
        metrics.append({"name": "nodes total", "intValue": str(wanted)})
        metrics.append({"name": "nodes done", "intValue": str(ready)})
    return {"name": operation.name, "status": operation.status, "metrics": metrics}


def etag(message: Mapping[str, Any]) -> str:
    """Return what changes when a resource is changed, its status apart."""
    return fingerprint({key: value for key, value in message.items() if key != "status"})


def label_fingerprint(message: Mapping[str, Any]) -> str:
    """Return what the next change of a cluster's labels has to name."""
    labels = message.get("resourceLabels", {})
    return fingerprint(labels) if labels else NO_LABELS
