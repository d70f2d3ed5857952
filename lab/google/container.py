# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""container v1: clusters, node pools, operations, server config, on top of :class:`Cloud`.

Each public method of :class:`Container` is one API method. It takes the request message (path
parameters included by their place: location, cluster, pool) and returns the answer message.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from . import defaults, messages, operations, places, rules, updates
from .cloud import Cloud, rfc3339
from .errors import ApiError, already_exists, invalid, not_found
from .records import Cluster, NodePool

Json = dict[str, Any]
ANY_LOCATION = "-"


class Container:
    """The Kubernetes Engine API of one cloud."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    # Clusters.

    def list_clusters(self, location: str) -> Json:
        self._check_location(location)
        records = self.cloud.state.clusters.values()
        found = [c for c in records if location in (ANY_LOCATION, c.location)]
        return {"clusters": [messages.cluster_message(self.cloud, c) for c in found]} if found else {}

    def get_cluster(self, location: str, name: str) -> Json:
        self._check_location(location)
        return messages.cluster_message(self.cloud, self.cloud.cluster(location, name))

    def create_cluster(self, location: str, request: Json) -> Json:
        cloud, wanted = self.cloud, deepcopy(request.get("cluster", {}))
        self._check_location(location)
        rules.new_cluster(wanted, location)
        name = wanted["name"]
        if f"{location}/{name}" in cloud.state.clusters:
            raise already_exists(cloud.path(location, "clusters", name))
        channel = wanted.get("releaseChannel", {}).get("channel", places.DEFAULT_CHANNEL)
        version = rules.version(wanted.get("initialClusterVersion", ""), channel)
        bodies = self._initial_pools(wanted)
        message = self._new_cluster_message(wanted, location, version)
        record = Cluster(location, name, message)
        for body in bodies:
            rules.new_pool(body, message)
            record.pools[body["name"]] = self._new_pool(record, body)
        for pool in record.pools.values():
            cloud.check_quota(record, pool, pool.wanted)
        cloud.state.clusters[record.key] = record
        operation = operations.begin(cloud, "CREATE_CLUSTER", record, waits=True)
        cloud.changed("cluster", record.key)
        return messages.operation_message(self.cloud, operation)

    def delete_cluster(self, location: str, name: str) -> Json:
        record = self._cluster(location, name)
        operations.admit(self.cloud, record)
        record.message["status"] = "STOPPING"
        for pool in record.pools.values():
            pool.message["status"] = "STOPPING"
            pool.wanted = dict.fromkeys(pool.wanted, 0)
        return self._begin("DELETE_CLUSTER", record, waits=True)

    def update_cluster(self, location: str, name: str, request: Json) -> Json:
        record, update = self._cluster(location, name), request.get("update", {})
        concern = updates.cluster_concern(update)
        rules.fresh(update.get("etag", ""), messages.etag(record.message), "the cluster")
        pool = update.get("desiredNodePoolId", "")
        value = update[concern]
        if concern == "desiredNodePoolAutoscaling":
            return self._change_autoscaling(record, self._only_pool(record, pool), value)
        if concern == "desiredNodeVersion":
            return self._upgrade_pool(record, self._only_pool(record, pool), value)
        if concern == "desiredMasterVersion":
            return self.update_master(location, name, {"masterVersion": value})
        if concern == "desiredLocations":
            return self.set_locations(location, name, {"locations": value})
        operations.admit(self.cloud, record)
        result = updates.updated_cluster(record.message, concern, value)
        return self._change_cluster("UPDATE_CLUSTER", record, result)

    def update_master(self, location: str, name: str, request: Json) -> Json:
        record = self._cluster(location, name)
        wanted = request.get("masterVersion", "")
        version = rules.version(wanted, record.message["releaseChannel"].get("channel", ""))
        current = record.message["currentMasterVersion"]
        if places.order(version)[:2] < places.order(current)[:2]:
            # A control plane may go back within its minor version, not beyond.
            raise invalid(f'Master cannot be downgraded from "{current}" to "{version}".')
        operations.admit(self.cloud, record)
        result = record.message | {"currentMasterVersion": version}
        return self._change_cluster("UPGRADE_MASTER", record, result)

    def set_labels(self, location: str, name: str, request: Json) -> Json:
        record, labels = self._cluster(location, name), request.get("resourceLabels", {})
        rules.resource_labels(labels)
        operations.admit(self.cloud, record)
        if request.get("labelFingerprint") != messages.label_fingerprint(record.message):
            raise ApiError("FAILED_PRECONDITION", "Labels could not be set due to fingerprint mismatch.")
        record.message["resourceLabels"] = dict(labels)
        return self._begin("SET_LABELS", record)

    def set_locations(self, location: str, name: str, request: Json) -> Json:
        record, zones = self._cluster(location, name), list(request.get("locations", ()))
        rules.node_zones(zones, record.location)
        if not zones:
            raise invalid("Locations must not be empty.")
        operations.admit(self.cloud, record)
        before = record.message["locations"]
        for pool in record.pools.values():
            # A pool that was given zones of its own keeps them.
            if pool.message["locations"] == before:
                self._move(pool, pool.message | {"locations": zones})
        record.message["locations"] = zones
        return self._change_cluster("UPDATE_CLUSTER", record, record.message, waits=True)

    # Node pools.

    def list_node_pools(self, location: str, cluster: str) -> Json:
        record = self.cloud.cluster(location, cluster)
        pools = [messages.pool_message(pool) for pool in record.pools.values()]
        return {"nodePools": pools} if pools else {}

    def get_node_pool(self, location: str, cluster: str, name: str) -> Json:
        return messages.pool_message(self.cloud.node_pool(location, cluster, name))

    def create_node_pool(self, location: str, cluster: str, request: Json) -> Json:
        cloud, record = self.cloud, self._cluster(location, cluster)
        wanted = deepcopy(request.get("nodePool", {}))
        if wanted.get("name") in record.pools:
            raise already_exists(cloud.path(location, "clusters", cluster, "nodePools", wanted["name"]))
        rules.new_pool(wanted, record.message)
        operations.admit(cloud, record, wanted["name"])
        self._must_run(record)
        pool = self._new_pool(record, wanted)
        cloud.check_quota(record, pool, pool.wanted)
        record.pools[wanted["name"]] = pool
        return self._begin("CREATE_NODE_POOL", record, wanted["name"], waits=True)

    def delete_node_pool(self, location: str, cluster: str, name: str) -> Json:
        record, pool = self._pool(location, cluster, name)
        operations.admit(self.cloud, record, name)
        pool.message["status"] = "STOPPING"
        pool.wanted = dict.fromkeys(pool.wanted, 0)
        return self._begin("DELETE_NODE_POOL", record, name, waits=True)

    def update_node_pool(self, location: str, cluster: str, name: str, request: Json) -> Json:
        record, pool = self._pool(location, cluster, name)
        fields = updates.pool_concern(request)
        rules.fresh(request.get("etag", ""), messages.etag(pool.message), "the node pool")
        result = updates.updated_pool(pool.message, record.message, request)
        operations.admit(self.cloud, record, name)
        if "locations" in fields:
            self._move(pool, result)
        recreates = bool(updates.RECREATING.intersection(fields))
        kind = "UPGRADE_NODES" if recreates else "UPDATE_CLUSTER"
        return self._change_pool(kind, record, pool, result, recreates=recreates)

    def set_autoscaling(self, location: str, cluster: str, name: str, request: Json) -> Json:
        record, pool = self._pool(location, cluster, name)
        return self._change_autoscaling(record, pool, request.get("autoscaling", {}))

    def set_management(self, location: str, cluster: str, name: str, request: Json) -> Json:
        record, pool = self._pool(location, cluster, name)
        operations.admit(self.cloud, record, name)
        result = pool.message | {"management": dict(request.get("management", {}))}
        return self._change_pool("SET_NODE_POOL_MANAGEMENT", record, pool, result)

    def set_size(self, location: str, cluster: str, name: str, request: Json) -> Json:
        record, pool = self._pool(location, cluster, name)
        count: int = request.get("nodeCount", 0)
        zones: list[str] = pool.message["locations"]
        rules.node_count(count)
        self._within_limits(pool, count)
        operations.admit(self.cloud, record, name)
        more = {zone: max(0, count - pool.wanted.get(zone, 0)) for zone in zones}
        self.cloud.check_quota(record, pool, more)
        pool.wanted = dict.fromkeys(zones, count)
        return self._change_pool("SET_NODE_POOL_SIZE", record, pool, pool.message)

    # Operations and versions.

    def list_operations(self, location: str) -> Json:
        self._check_location(location)
        found = [
            messages.operation_message(self.cloud, operation)
            for operation in self.cloud.state.operations.values()
            if location in (ANY_LOCATION, operation.location)
        ]
        return {"operations": found} if found else {}

    def get_operation(self, location: str, name: str) -> Json:
        operation = self.cloud.state.operations.get(name)
        missing = not_found(self.cloud.path(location, "operations", name))
        if operation is None or operation.location != location:
            raise missing
        cluster = operation.cluster.partition("/")[2]
        facts = {"cluster": cluster, "pool": operation.pool, "type": operation.type}
        if self.cloud.faults.take("operation-lost", **facts):
            raise missing
        return messages.operation_message(self.cloud, operation)

    def cancel_operation(self, location: str, name: str) -> Json:
        self.get_operation(location, name)
        raise ApiError("FAILED_PRECONDITION", f"Operation {name} cannot be cancelled.")

    def server_config(self, location: str) -> Json:
        self._check_location(location)
        return {
            "defaultClusterVersion": places.CHANNELS[places.DEFAULT_CHANNEL][0],
            "validMasterVersions": places.versions(),
            "validNodeVersions": places.versions(),
            "defaultImageType": "COS_CONTAINERD",
            "validImageTypes": ["COS_CONTAINERD", "UBUNTU_CONTAINERD", "WINDOWS_LTSC_CONTAINERD"],
            "channels": [
                {
                    "channel": channel,
                    "defaultVersion": versions[0],
                    "validVersions": list(versions),
                    "upgradeTargetVersion": versions[0],
                }
                for channel, versions in places.CHANNELS.items()
            ],
        }

    # Making and changing.

    def _check_location(self, location: str) -> None:
        if location != ANY_LOCATION:
            rules.location(location)

    def _cluster(self, location: str, name: str) -> Cluster:
        self._check_location(location)
        return self.cloud.cluster(location, name)

    def _pool(self, location: str, cluster: str, name: str) -> tuple[Cluster, NodePool]:
        record = self._cluster(location, cluster)
        return record, self.cloud.node_pool(location, cluster, name)

    def _only_pool(self, record: Cluster, name: str) -> NodePool:
        """Return the pool an update names; one that is alone need not be named."""
        if not name and len(record.pools) == 1:
            return next(iter(record.pools.values()))
        if not name:
            raise invalid("desired_node_pool_id must be given: the cluster has several node pools.")
        return self.cloud.node_pool(record.location, record.name, name)

    def _must_run(self, record: Cluster) -> None:
        status = record.message["status"]
        if status not in ("RUNNING", "RECONCILING"):
            raise ApiError("FAILED_PRECONDITION", f'Cluster "{record.name}" is not running: it is {status}.')

    def _initial_pools(self, wanted: Json) -> list[Json]:
        """Return the node pools of a new cluster, the older way of asking for one included."""
        if "nodePools" in wanted:
            return list(wanted["nodePools"])
        autopilot = wanted.get("autopilot", {}).get("enabled", False)
        count = wanted.pop("initialNodeCount", 1 if autopilot else 0)
        if count < 1:
            raise invalid("Cluster.initial_node_count must be greater than zero.")
        config = wanted.pop("nodeConfig", {})
        return [{"name": "default-pool", "initialNodeCount": count, "config": config}]

    def _new_cluster_message(self, wanted: Json, location: str, version: str) -> Json:
        cloud, token = self.cloud, self.cloud.token()
        region = places.region_of(location)
        dns_endpoint = f"gke-{token}-{cloud.project_number}.{region}.gke.goog"
        message = defaults.cluster(
            wanted,
            project=cloud.project,
            location=location,
            version=version,
            dns_endpoint=dns_endpoint,
        )
        path = cloud.path(location, "clusters", wanted["name"])
        return message | {
            "id": token * 2,
            "selfLink": f"https://container.googleapis.com/v1/{path}",
            "createTime": rfc3339(cloud.timestamp()),
            "status": "PROVISIONING",
        }

    def _new_pool(self, record: Cluster, wanted: Json) -> NodePool:
        cloud = self.cloud
        path = cloud.path(record.location, "clusters", record.name, "nodePools", wanted["name"])
        if wanted.get("version"):
            master = record.message["currentMasterVersion"]
            wanted["version"] = rules.node_version(wanted["version"], master)
        message = defaults.node_pool(
            wanted,
            record.message,
            self_link=f"https://container.googleapis.com/v1/{path}",
            token=cloud.token(),
        )
        message["status"] = "PROVISIONING"
        count = wanted.get("initialNodeCount", 0)
        zones: list[str] = message["locations"]
        return NodePool(message, wanted=dict.fromkeys(zones, int(count)))

    def _begin(self, kind: str, record: Cluster, pool: str = "", **how: Any) -> Json:
        operation = operations.begin(self.cloud, kind, record, pool, **how)
        self.cloud.changed("cluster", record.key)
        return messages.operation_message(self.cloud, operation)

    def _change_cluster(self, kind: str, record: Cluster, result: Json, *, waits: bool = False) -> Json:
        record.message["status"] = "RECONCILING"
        return self._begin(kind, record, result=result | {"status": "RUNNING"}, waits=waits)

    def _change_pool(
        self,
        kind: str,
        record: Cluster,
        pool: NodePool,
        result: Json,
        *,
        recreates: bool = False,
    ) -> Json:
        """Start an operation that gives a pool a new message; with ``recreates``, new machines."""
        if recreates:
            pool.message, pool.revision, pool.ready = result, pool.revision + 1, {}
        pool.message["status"] = "RECONCILING"
        name = pool.message["name"]
        return self._begin(kind, record, name, result=deepcopy(result), waits=True)

    def _change_autoscaling(self, record: Cluster, pool: NodePool, wanted: Json) -> Json:
        before = pool.message.get("autoscaling", {})
        rules.autoscaling(wanted, before)
        operations.admit(self.cloud, record)
        kept = dict(wanted)
        if kept.get("totalMaxNodeCount"):
            kept = {key: kept[key] for key in kept if key not in ("minNodeCount", "maxNodeCount")}
        spot = defaults.is_spot(pool.message["config"])
        autoscaling = defaults.autoscaling(kept, spot=spot)
        result = pool.message | {"autoscaling": autoscaling}
        pool.message["status"] = "RECONCILING"
        name = pool.message["name"]
        return self._begin("UPDATE_CLUSTER", record, name, exclusive=True, result=deepcopy(result))

    def _upgrade_pool(self, record: Cluster, pool: NodePool, version: str) -> Json:
        name = pool.message["name"]
        return self.update_node_pool(record.location, record.name, name, {"nodeVersion": version or "-"})

    def _move(self, pool: NodePool, result: Json) -> None:
        """Give a pool other zones: each new one gets the size the pool was made with or has."""
        zones: Iterable[str] = result["locations"]
        size = max(pool.wanted.values(), default=pool.message.get("initialNodeCount", 0))
        pool.wanted = {zone: pool.wanted.get(zone, size) for zone in zones} | {
            zone: 0 for zone in pool.wanted if zone not in zones
        }
        pool.message["locations"] = list(zones)
        old = pool.message["instanceGroupUrls"][0].partition("/zones/")
        group = old[2].partition("/")[2]
        urls = [f"{old[0]}/zones/{zone}/{group}" for zone in zones]
        pool.message["instanceGroupUrls"] = result["instanceGroupUrls"] = urls

    def _within_limits(self, pool: NodePool, count: int) -> None:
        autoscaling = pool.message.get("autoscaling", {})
        most = autoscaling.get("maxNodeCount") or autoscaling.get("totalMaxNodeCount")
        least = autoscaling.get("minNodeCount", 0)
        if autoscaling.get("enabled") and most and not least <= count <= most:
            raise invalid(
                f"Node count {count} is outside the autoscaling limits {least} to {most} of node "
                f'pool "{pool.message["name"]}"; change the limits or disable autoscaling first.'
            )
