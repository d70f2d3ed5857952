# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left of an inference platform, and what it still costs, judged from what the APIs answer.

A deletion that was accepted proves nothing: only the absence of the object in the next answer does. What
could not be asked is said, never counted as gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from .node_pools import node_counts, read
from .objects import parse_time
from .operations import Operation
from .verdict import Verdict

NODE_POOL_LABEL = "cloud.google.com/gke-nodepool"
CENT_FRACTION = Decimal("0.0001")


@dataclass(frozen=True, slots=True)
class Leftover:
    """One object that still exists.

    :param usd_per_hour: what it costs; ``None`` where the plan has no price for it (``is_billed``), or
        where it is not billed by itself.
    :param detail: what a person should know of it, such as how many nodes it has.
    """

    kind: str
    name: str
    namespace: str = ""
    usd_per_hour: Decimal | None = None
    is_billed: bool = False
    detail: str = ""

    @property
    def subject(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "namespace": self.namespace,
            "usd_per_hour": None if self.usd_per_hour is None else _text(self.usd_per_hour),
            "detail": self.detail,
        }

    def verdict(self) -> Verdict:
        """Return the finding; what costs money says how much."""
        parts = ["exists", *filter(None, [self.detail])]
        if self.usd_per_hour is not None:
            parts.append(f"{_text(self.usd_per_hour)} USD per hour")
        elif self.is_billed:
            parts.append("billed, at a price that the plan does not state")
        return Verdict("error", "LeftOver", self.subject, ", ".join(parts))


@dataclass(frozen=True)
class Prices:
    """Node prices by node pool, as the alternatives state them."""

    usd_per_node_hour: Mapping[str, Decimal] = field(default_factory=dict)

    @classmethod
    def from_plan(cls, plan: Mapping[str, Any]) -> Prices:
        """Return the prices of a plan (``Plan.as_dict``): its ``nodes`` lead from alternative to pool."""
        stated = plan.get("prices") or {}
        return cls(
            {
                node["node_pool"]: Decimal(str(stated[node["alternative"]]["usd_per_hour"]))
                for node in plan.get("nodes") or ()
                if node["alternative"] in stated
            }
        )


def cluster_leftovers(
    live: Mapping[str, Any] | None, prices: Prices, counted: Mapping[str, int] | None
) -> list[Leftover]:
    """Return what is left of a cluster (``None``: absent): itself, and every node pool that it still has.

    Pools that no inventory names count as well: they are billed all the same.

    :param live: the Cluster message.
    :param counted: ready or not, how many Nodes each pool has; ``None`` where Kubernetes was not reached.
        A pool is then charged at its largest size, and ``detail`` says so.
    """
    if live is None:
        return []
    status = str(live.get("status", ""))
    found = [Leftover("Cluster", live.get("name", ""), is_billed=True, detail=f"status {status}")]
    zones = len(live.get("locations") or ()) or 1
    return found + [_pool(pool, zones, prices, counted) for pool in live.get("nodePools") or ()]


def _pool(pool: Mapping[str, Any], zones: int, prices: Prices, counted: Mapping[str, int] | None) -> Leftover:
    name = pool.get("name", "")
    options = read(pool)
    sized = {**options, "initial_node_count": pool.get("initialNodeCount", 0)}
    most = node_counts(sized, len(options["locations"]) or zones).maximum
    nodes = most if counted is None else counted.get(name, 0)
    price = prices.usd_per_node_hour.get(name)
    return Leftover(
        "NodePool",
        name,
        usd_per_hour=None if price is None else price * nodes,
        is_billed=True,
        detail=f"{'at most ' if counted is None else ''}{nodes} node{'' if nodes == 1 else 's'}",
    )


def operation_verdicts(operations: Iterable[Operation], cluster: str) -> list[Verdict]:
    """Return what still happens to a cluster: what an operation makes may appear after the look."""
    target = f"clusters/{cluster}"
    return [
        Verdict(
            "error",
            "OperationRunning",
            f"Operation {each.name}",
            f"{each.type} of {each.target} is not done",
            "no operation on the cluster",
            "wait until it is done, then look again",
        )
        for each in operations
        if each.target == target or each.target.startswith(f"{target}/")
    ]


def repository_leftovers(name: str, live: Mapping[str, Any] | None) -> list[Leftover]:
    """Return the repository (``None``: absent); what its images cost depends on their size."""
    if live is None:
        return []
    size = int(live.get("sizeBytes") or 0)
    return [Leftover("Repository", name, is_billed=True, detail=f"{size} bytes of images" if size else "")]


def count_nodes(nodes: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many Nodes each node pool has; a machine costs money whether it is ready or not."""
    counts: dict[str, int] = {}
    for node in nodes:
        pool = (node.get("metadata", {}).get("labels") or {}).get(NODE_POOL_LABEL, "")
        if pool:
            counts[pool] = counts.get(pool, 0) + 1
    return counts


def claims_of(
    claims: Iterable[Mapping[str, Any]], drivers: Sequence[str], classes: Sequence[str]
) -> list[Mapping[str, Any]]:
    """Return the claims that hold devices of the drivers, or ask for one of the device classes."""
    return [each for each in claims if _held(each, set(drivers)) or _asked(each, set(classes))]


def _held(claim: Mapping[str, Any], drivers: set[str]) -> bool:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    return any(result.get("driver") in drivers for result in results)


def _asked(claim: Mapping[str, Any], classes: set[str]) -> bool:
    requests = ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ()
    wanted = [
        part.get("deviceClassName")
        for request in requests
        for part in (request.get("exactly") or {}, *(request.get("firstAvailable") or ()))
    ]
    return any(name in classes for name in wanted)


def object_leftovers(kind: str, objects: Iterable[Mapping[str, Any]], now: datetime) -> list[Leftover]:
    """Return API objects as leftovers; Helm's release Secrets under the name of the release.

    :param now: aware; tells for how long an object has been on its way out.
    """
    found = []
    for each in objects:
        meta = each["metadata"]
        name = (meta.get("labels") or {}).get("name", "") if kind == "Release" else ""
        found.append(
            Leftover(
                kind,
                name or meta["name"],
                meta.get("namespace", ""),
                detail=_being_deleted(meta, now),
            )
        )
    return list({each.subject: each for each in found}.values())


def _being_deleted(meta: Mapping[str, Any], now: datetime) -> str:
    since = parse_time(meta.get("deletionTimestamp"))
    if since is None:
        return ""
    held = ", ".join(meta.get("finalizers") or ()) or "its grace period"
    return f"being deleted for {max(0, int((now - since).total_seconds()))} s, held by {held}"


def summary(leftovers: Iterable[Leftover]) -> dict[str, Any]:
    """Return the sum of what is left.

    Shape: ``leftovers``, ``usd_per_hour`` (text, four decimals) and ``unpriced``: what costs money beside
    the sum.
    """
    leftovers = list(leftovers)
    return {
        "leftovers": [each.as_dict() for each in leftovers],
        "usd_per_hour": _text(sum((each.usd_per_hour or Decimal(0) for each in leftovers), Decimal(0))),
        "unpriced": [each.subject for each in leftovers if each.is_billed and each.usd_per_hour is None],
    }


def _text(amount: Decimal) -> str:
    return str(amount.quantize(CENT_FRACTION))
