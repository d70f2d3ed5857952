# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated Google: one state, one clock, and what the machines of the lab need of it.

``Cloud`` decides when operations end and how many machines each zone gives. The API on top of it is
in ``container``, ``registry``, ``compute`` and ``projects``; it is pure apart from the clock it is
given. All methods may be called from any thread.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime, timezone
from threading import RLock
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock

from ..faults import Fault, Faults
from . import defaults, operations, places, quota
from .errors import insufficient_quota, not_found, quota_text, stockout_text
from .faults import KINDS
from .records import Cluster, NodePool, State

Json = dict[str, Any]


class MachineError(Exception):
    """Machines cannot be had; the message is what Compute Engine says."""


class StockoutError(MachineError):
    """The zone has none of this kind now (``GCE_STOCKOUT``)."""


class QuotaError(MachineError):
    """A quota does not allow them (``GCE_QUOTA_EXCEEDED``)."""


@dataclass(frozen=True)
class ControlPlane:
    """The Kubernetes API server that every cluster of the lab stands for.

    :param endpoint: ``host:port`` of its HTTPS address, as a kubeconfig needs it.
    :param ca_certificate: its certificate authority, base64 of PEM.
    """

    endpoint: str = "203.0.113.10"
    ca_certificate: str = "bGFi"


@dataclass(frozen=True)
class Limits:
    """Autoscaling limits of a node pool, per zone or (``whole_pool``) over all its zones."""

    enabled: bool
    minimum: int = 0
    maximum: int = 0
    whole_pool: bool = False
    location_policy: str = "BALANCED"


@dataclass(frozen=True)
class PoolView:
    """A node pool as the machines see it.

    ``sizes`` is how many machines each zone gives now: what is wanted, less what faults hold back.
    ``wanted`` is the size of the instance groups. A machine made from another ``revision`` than
    this one is to be replaced. ``message`` is the API's NodePool.
    """

    project: str
    location: str
    cluster: str
    name: str
    message: Mapping[str, Any]
    sizes: Mapping[str, int]
    wanted: Mapping[str, int]
    limits: Limits
    revision: int


@dataclass(frozen=True)
class Change:
    """What listeners get: ``cluster``, ``pool``, ``operation``, ``fault``, ``instance`` …"""

    kind: str
    name: str


class Cloud:
    """Google, for one project.

    :param speed: simulated seconds per real second; every delay here is divided by it.
    :param faults: what goes wrong, set from outside at any time.
    :param seed: makes names, fingerprints and addresses repeatable.
    :param registry: ``host:port`` of the OCI registry behind Artifact Registry's repositories;
        empty means Google's own host names.
    :param state: a former ``snapshot()`` to go on from.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        speed: float = 1.0,
        faults: Faults | None = None,
        seed: int = 0,
        project: str = "dra-lab",
        project_number: str = "123456789012",
        control_plane: ControlPlane | None = None,
        registry: str = "",
        state: Json | None = None,
    ) -> None:
        self.clock = clock
        self.speed = speed
        kept = dict(state or {})
        kept_faults = kept.pop("faults", ())
        self.faults = faults or Faults(kept_faults)
        self.faults.offer(*KINDS)
        self.seed = seed
        self.project = project
        self.project_number = project_number
        self.control_plane = control_plane or ControlPlane()
        self.registry = registry
        self.state = State.from_json(deepcopy(kept)) if kept else State()
        self.lock = RLock()
        self.listeners: list[Callable[[Change], None]] = []
        self.before_end: list[Callable[[Cluster], bool]] = []
        """Asked, until they agree, whether a cluster that is being deleted may be gone."""
        # A fault changes what zones give, so whoever makes machines has to look again.
        self.faults.listen(lambda fault, _on: self.changed("fault", fault.id))

    # What the lab keeps and shows.

    def snapshot(self) -> Json:
        """Return the whole state as JSON; ``Cloud(state=…)`` goes on from it."""
        with self.lock:
            return self.state.to_json() | {"faults": self.faults.list()}

    def advance(self) -> None:
        """End the operations whose time has come; call it often."""
        with self.lock:
            operations.settle(self)

    def changed(self, kind: str, name: str) -> None:
        """Tell the listeners."""
        for listener in list(self.listeners):
            listener(Change(kind, name))

    # What the machines need.

    def pools(self) -> tuple[PoolView, ...]:
        """Return all node pools of all clusters with the sizes they have now."""
        with self.lock:
            self.advance()
            return tuple(
                PoolView(
                    project=self.project,
                    location=cluster.location,
                    cluster=cluster.name,
                    name=name,
                    message=defaults.strip(pool.message),
                    sizes=self.granted(cluster, pool),
                    wanted=dict(pool.wanted),
                    limits=limits(pool.message.get("autoscaling", {})),
                    revision=pool.revision,
                )
                for cluster in self.state.clusters.values()
                for name, pool in cluster.pools.items()
            )

    def resize(self, cluster: str, pool: str, zone: str, size: int, actor: str) -> None:
        """Set the size of one zone's instance group, as the autoscaler does (no operation).

        Growing raises :class:`StockoutError` or :class:`QuotaError` and then changes nothing.
        :param cluster: a cluster's name, or ``location/name`` where names repeat.
        """
        with self.lock:
            record, machines = self.find_pool(cluster, pool)
            if zone not in machines.message["locations"]:
                raise MachineError(f"node pool {pool} has no zone {zone}; asked by {actor}")
            if size > machines.wanted.get(zone, 0):
                self._check_growth(record, machines, zone, size)
            machines.wanted[zone] = size
            self.changed("pool", f"{record.key}/{pool}")

    def observed(self, cluster: str, pool: str, zone: str, ready: int, revision: int | None = None) -> None:
        """Note how many nodes of a zone are Ready; operations end by it.

        :param revision: the template the nodes were made from, where the caller keeps it.
        """
        with self.lock:
            try:
                record, machines = self.find_pool(cluster, pool)
            except LookupError:
                return  # The pool went while its last machine did.
            if revision not in (None, machines.revision):
                ready = 0
            if machines.ready.get(zone, 0) == ready:
                return
            machines.ready[zone] = ready
            operations.recover(self, record, machines)
            self.changed("pool", f"{record.key}/{pool}")
            self.advance()

    def delete_instance(self, cluster: str, pool: str, zone: str, instance: str, actor: str) -> None:
        """Take one machine away.

        With actor ``autoscaler`` or ``user`` its instance group shrinks by one; any other actor
        (``preemption``, ``crash``) leaves the size, so that a replacement is made.
        """
        with self.lock:
            record, machines = self.find_pool(cluster, pool)
            machines.ready[zone] = max(0, machines.ready.get(zone, 0) - 1)
            if actor in ("autoscaler", "user"):
                machines.wanted[zone] = max(0, machines.wanted.get(zone, 0) - 1)
            self.changed("instance", f"{record.key}/{pool}/{instance}")
            self.changed("pool", f"{record.key}/{pool}")

    # What the API modules share.

    def find_pool(self, cluster: str, pool: str) -> tuple[Cluster, NodePool]:
        """Return the records of a node pool; raises ``LookupError``."""
        for record in self.state.clusters.values():
            if cluster in (record.name, record.key) and pool in record.pools:
                return record, record.pools[pool]
        raise LookupError(f"no node pool {pool} in cluster {cluster}")

    def cluster(self, location: str, name: str) -> Cluster:
        """Return the record of a cluster; raises 404."""
        record = self.state.clusters.get(f"{location}/{name}")
        if record is None:
            raise not_found(self.path(location, "clusters", name))
        return record

    def node_pool(self, location: str, cluster: str, name: str) -> NodePool:
        """Return the record of a node pool; raises 404."""
        pool = self.cluster(location, cluster).pools.get(name)
        if pool is None:
            raise not_found(self.path(location, "clusters", cluster, "nodePools", name))
        return pool

    def path(self, location: str, *rest: str) -> str:
        return "/".join(("projects", self.project, "locations", location, *rest))

    def token(self) -> str:
        """Return 32 hexadecimal characters that no former call returned."""
        self.state.serial += 1
        text = f"{self.seed}/{self.project}/{self.state.serial}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def timestamp(self) -> float:
        return self.clock.now().timestamp()

    def delay(self, simulated_seconds: float) -> float:
        """Return how many real seconds a simulated delay takes."""
        return simulated_seconds / self.speed

    def granted(self, cluster: Cluster, pool: NodePool) -> dict[str, int]:
        """Return how many machines each zone gives now."""
        return {
            zone: min(wanted, pool.ready.get(zone, 0)) if self.shortage(cluster, pool, zone) else wanted
            for zone, wanted in pool.wanted.items()
        }

    def shortage(self, cluster: Cluster, pool: NodePool, zone: str) -> Fault | None:
        """Return the fault that keeps machines of a pool away from a zone."""
        facts = self.pool_facts(cluster, pool) | {"zone": zone}
        stockout = self.faults.peek("stockout", **facts)
        if stockout:
            return stockout
        late = self.faults.peek("quota", region=places.region_of(zone), **facts)
        return late if late and late["late"] else None

    def pool_facts(self, cluster: Cluster, pool: NodePool) -> dict[str, str]:
        """Return what faults can be narrowed by; ``on`` is whether the pool is being created."""
        new = pool.message["status"] in ("PROVISIONING", "ERROR")
        return {
            "cluster": cluster.name,
            "pool": pool.message["name"],
            "machine_type": pool.message["config"]["machineType"],
            "provisioning": "spot" if defaults.is_spot(pool.message["config"]) else "on-demand",
            "on": "create" if new else "scale-up",
        }

    def check_quota(self, cluster: Cluster, pool: NodePool, more: Mapping[str, int]) -> None:
        """Refuse ``more`` machines per zone that a quota does not allow (403)."""
        for metric, scope, needed, free, limit in self._short(cluster, pool, more):
            raise insufficient_quota(metric, scope, needed, free, limit)

    def quota_usage(self, region: str = "") -> Counter[str]:
        """Return the usage by metric of one region, or of all."""
        usage: Counter[str] = Counter()
        for cluster in self.state.clusters.values():
            if region in ("", places.region_of(cluster.location)):
                for pool in cluster.pools.values():
                    for metric, count in pool_usage(pool).items():
                        usage[metric] += count * sum(pool.wanted.values())
        return usage

    def quota_limits(self, region: str = "", **facts: str) -> dict[str, float]:
        """Return the limits by metric of one region, or (without region) of the project."""
        limits = dict(quota.REGIONAL_LIMITS if region else quota.PROJECT_LIMITS)
        for metric in limits:
            for fault in self._quota_faults(region, **facts):
                if fault["metric"] == metric and not fault["late"]:
                    limits[metric] = float(fault["limit"])
        return limits

    def _quota_faults(self, region: str, **facts: str) -> Iterator[Fault]:
        yield from self.faults.that_hit("quota", **facts, **({"region": region} if region else {}))

    def _short(
        self, cluster: Cluster, pool: NodePool, more: Mapping[str, int]
    ) -> Iterator[tuple[str, str, float, float, float]]:
        """Yield what is short: metric, scope, needed, free, limit."""
        region = places.region_of(cluster.location)
        facts = self.pool_facts(cluster, pool)
        count = sum(more.values())
        for scope, where in (("regional", region), ("project", "")):
            usage = self.quota_usage(where)
            limits_now = self.quota_limits(where, **facts)
            for metric, each in pool_usage(pool).items():
                limit, needed = limits_now.get(metric), float(each * count)
                if limit is not None and needed > max(0.0, limit - usage[metric]):
                    yield metric, scope, needed, max(0.0, limit - usage[metric]), limit

    def _check_growth(self, cluster: Cluster, pool: NodePool, zone: str, size: int) -> None:
        facts = self.pool_facts(cluster, pool) | {"zone": zone}
        if self.faults.take("stockout", **facts):
            raise StockoutError(stockout_text(self.project, zone))
        more = {zone: size - pool.wanted.get(zone, 0)}
        for metric, _scope, _needed, _free, limit in self._short(cluster, pool, more):
            raise QuotaError(quota_text(metric, limit, places.region_of(zone)))
        late = self.shortage(cluster, pool, zone)
        if late:
            region = places.region_of(zone)
            raise QuotaError(quota_text(late["metric"], float(late["limit"]), region))


def limits(autoscaling: Mapping[str, Any]) -> Limits:
    """Return the limits in a NodePoolAutoscaling message."""
    if not autoscaling.get("enabled"):
        return Limits(enabled=False)
    total = bool(autoscaling.get("totalMaxNodeCount"))
    least, most = ("totalMinNodeCount", "totalMaxNodeCount") if total else ("minNodeCount", "maxNodeCount")
    return Limits(
        enabled=True,
        minimum=autoscaling.get(least, 0),
        maximum=autoscaling.get(most, 0),
        whole_pool=total,
        location_policy=autoscaling.get("locationPolicy", "BALANCED"),
    )


def pool_usage(pool: NodePool) -> Counter[str]:
    """Return what one node of a pool draws on quotas."""
    config = pool.message["config"]
    return quota.node_usage(
        defaults.machine_of(config),
        defaults.attached(config),
        spot=defaults.is_spot(config),
        disk_gb=int(config["diskSizeGb"]),
    )


def rfc3339(timestamp: float) -> str:
    """Return a time as Google writes it, ``""`` for none."""
    if not timestamp:
        return ""
    moment = datetime.fromtimestamp(timestamp, timezone.utc)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
