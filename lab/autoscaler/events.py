# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events as the cluster autoscaler writes them on pods.

Source: cluster-autoscaler (processors/status/eventing_scale_up_processor.go); the failure's words are
GKE's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from ..google.cloud import PoolView
from ..hardware.machines import group_name

COMPONENT = "cluster-autoscaler"
IN_GOOGLES_WORDS = {"OutOfResources": "GCE out of resources", "QuotaExceeded": "GCE quota exceeded"}


def event(
    pod: Mapping[str, Any],
    reason: str,
    message: str,
    now: str,
    type_: str = "Normal",
    *,
    component: str = COMPONENT,
) -> dict[str, Any]:
    """Return an Event on a pod; the same text on the same pod has the same name."""
    meta = pod["metadata"]
    digest = hashlib.sha256(f"{meta['uid']}/{reason}/{message}".encode()).hexdigest()[:16]
    return {
        "metadata": {"name": f"{meta['name']}.{digest}", "namespace": meta["namespace"]},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": meta["name"],
            "namespace": meta["namespace"],
            "uid": meta["uid"],
            "resourceVersion": meta["resourceVersion"],
        },
        "reason": reason,
        "message": message,
        "type": type_,
        "source": {"component": component},
        "reportingComponent": component,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }


def triggered(pool: PoolView, zone: str, before: int, after: int, maximum: int) -> str:
    url = f"https://www.googleapis.com/compute/v1/projects/{pool.project}/zones/{zone}/instanceGroups"
    return f"pod triggered scale-up: [{{{url}/{group_name(pool, zone)} {before}->{after} (max: {maximum})}}]"


def failed(zone: str, reason: str) -> str:
    words = IN_GOOGLES_WORDS.get(reason, reason)
    return (
        f"Node scale up in zones {zone} associated with this pod failed: {words}. "
        "Pod is at risk of not being scheduled."
    )
