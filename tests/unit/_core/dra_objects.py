# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""API objects as mappings, with just the fields that a test is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

Object = dict[str, Any]

NOW = datetime(2026, 9, 1, 12, 0, 0, tzinfo=timezone.utc)
GPU = "gpu.nvidia.com"
GATE = "image-configurator.x-k8s.io"
UPDATED = f"{GATE}/image-updated"
FAILED = f"{GATE}/image-update-failed"


def ago(seconds: float) -> str:
    """Return the API timestamp of a moment before NOW."""
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def device(name: str = "gpu-0", **fields: Any) -> Object:
    return {"name": name, **fields}


def devices(*names: str) -> list[Object]:
    return [device(name) for name in names]


def resource_slice(
    name: str = "slice-a",
    *,
    driver: str = GPU,
    pool: str = "node-a",
    generation: int = 1,
    count: int = 1,
    devices: Iterable[Object] = (),
    node: str | None = "node-a",
    **spec: Any,
) -> Object:
    where = {"nodeName": node} if node is not None else {}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {
            "driver": driver,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
            "devices": list(devices),
            **where,
            **spec,
        },
    }


def result(device: str = "gpu-0", *, request: str = "device/gpu", **fields: Any) -> Object:
    return {"request": request, "driver": GPU, "pool": "node-a", "device": device, **fields}


def gate_result(share: str | None = "share-1", **fields: Any) -> Object:
    return {
        "request": "image-config",
        "driver": GATE,
        "pool": "all-nodes",
        "device": "image-configurator",
        "bindingConditions": [UPDATED],
        "bindingFailureConditions": [FAILED],
        **({"shareID": share} if share else {}),
        **fields,
    }


def status_of(result: Mapping[str, Any], **conditions: str) -> Object:
    """Return the status entry of a result; conditions by the last part of their type, - as _."""
    entry: Object = {key: result[key] for key in ("driver", "pool", "device", "shareID") if key in result}
    entry["conditions"] = [
        {
            "type": f"{result['driver']}/{kind.replace('_', '-')}",
            "status": status,
            "reason": f"{kind.title().replace('_', '')}",
            "message": f"message of {kind}",
            "lastTransitionTime": ago(1),
        }
        for kind, status in conditions.items()
    ]
    return entry


def claim(
    name: str = "claim-a",
    *,
    namespace: str = "llm",
    results: Iterable[Object] = (),
    statuses: Iterable[Object] = (),
    consumers: Iterable[Object] = (),
    allocated: float | None = 1,
    owner: Object | None = None,
    pod_claim: str = "",
    configs: Iterable[Object] = (),
    node: str = "node-a",
    metadata: Mapping[str, Any] | None = None,
    requests: Iterable[Object] | None = None,
) -> Object:
    """Return a claim for GPU else CPU and the gating device; allocated where it has results."""
    status: Object = {}
    results = list(results)
    if results:
        status["allocation"] = {
            "devices": {"results": results, "config": list(configs)},
            "nodeSelector": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
                ]
            },
        }
        if allocated is not None:
            status["allocation"]["allocationTimestamp"] = ago(allocated)
    if statuses := list(statuses):
        status["devices"] = statuses
    if consumers := list(consumers):
        status["reservedFor"] = consumers
    meta: Object = {"name": name, "namespace": namespace, "uid": f"uid-{name}", **(metadata or {})}
    if owner:
        meta["ownerReferences"] = [owner]
    if pod_claim:
        meta["annotations"] = {"resource.kubernetes.io/pod-claim-name": pod_claim}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": meta,
        "spec": {"devices": {"requests": list(REQUESTS if requests is None else requests)}},
        "status": status,
    }


REQUESTS = (
    {
        "name": "device",
        "firstAvailable": [
            {"name": "gpu", "deviceClassName": GPU},
            {
                "name": "cpu",
                "deviceClassName": "dra.cpu",
                "capacity": {"requests": {"dra.cpu/cpu": "12"}},
            },
        ],
    },
    {"name": "image-config", "exactly": {"deviceClassName": GATE}},
)


def consumer(pod: str = "pod-a", uid: str | None = None, **fields: Any) -> Object:
    return {"resource": "pods", "name": pod, "uid": uid or f"uid-{pod}", **fields}


def owned_by(pod: str = "pod-a", uid: str | None = None, kind: str = "Pod") -> Object:
    return {"apiVersion": "v1", "kind": kind, "name": pod, "uid": uid or f"uid-{pod}", "controller": True}


def image_config(image: str, *requests: str, container: str = "vllm", source: str = "FromClaim") -> Object:
    return {
        "source": source,
        "requests": list(requests),
        "opaque": {
            "driver": GATE,
            "parameters": {
                "apiVersion": f"{GATE}/v1alpha1",
                "kind": "ImageConfig",
                "containerName": container,
                "image": image,
            },
        },
    }


def pod(
    name: str = "pod-a",
    *,
    namespace: str = "llm",
    uid: str | None = None,
    phase: str = "Pending",
    node: str = "",
    image: str = "pause",
    claims: Iterable[Object] = ({"name": "hardware", "resourceClaimTemplateName": "gpu-or-cpu"},),
    generated: Iterable[Object] = (),
    labels: Mapping[str, str] | None = None,
    owner: Object | None = None,
    metadata: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid or f"uid-{name}",
            "labels": dict(labels or {}),
            **({"ownerReferences": [owner]} if owner else {}),
            **(metadata or {}),
        },
        "spec": {
            "containers": [{"name": "vllm", "image": image}],
            "resourceClaims": list(claims),
            **({"nodeName": node} if node else {}),
        },
        "status": {"phase": phase, "resourceClaimStatuses": list(generated), **(status or {})},
    }


def template(name: str = "gpu-or-cpu", namespace: str = "llm") -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"spec": {"devices": {"requests": list(REQUESTS)}}},
    }
