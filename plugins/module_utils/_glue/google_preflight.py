# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``gke_preflight`` does: judge the plan by itself, then by what the project can give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from ansible_collections.inference.dra.plugins.module_utils._core import cloud_quotas, preflight
from ansible_collections.inference.dra.plugins.module_utils._core.cost import PricedPool, hourly_cost
from ansible_collections.inference.dra.plugins.module_utils._core.fields import Message, Options, take
from ansible_collections.inference.dra.plugins.module_utils._core.google_limits import (
    ZONE,
    cluster_problems,
    node_pool_problems,
)
from ansible_collections.inference.dra.plugins.module_utils._core.node_pools import node_counts, read
from ansible_collections.inference.dra.plugins.module_utils._core.quota import (
    DEFAULT_MACHINE,
    pool_demand,
    quota_verdicts,
)
from ansible_collections.inference.dra.plugins.module_utils._core.scale_from_zero import Request, lint
from ansible_collections.inference.dra.plugins.module_utils._core.verdict import Verdict, worst
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock
from ansible_collections.inference.dra.plugins.module_utils._ports.google import Google, GoogleError
from ansible_collections.inference.dra.plugins.module_utils._ports.google_run import Progress

from .result import Module, ModuleFailure

T = TypeVar("T")
# A region has three zones or more; three is what GKE takes by itself.
ZONES_OF_A_REGION = 3


class Preflight:
    """A plan, and the project it is for (``None``: offline).

    :param params: the module's options.
    """

    def __init__(self, google: Google | None, params: Mapping[str, Any]) -> None:
        self.google = google
        self.params = params
        self.location: str = params["location"]
        self.pools: list[dict[str, Any]] = params["node_pools"]
        self.options = {**params, "name": params["cluster"]}
        self.verdicts: list[Verdict] = []
        zone = ZONE.fullmatch(self.location)
        self.region = zone[1] if zone else self.location
        self.zones: list[str] = list(params["locations"] or ([self.location] if zone else []))
        self.live: Message | None = None
        self.cluster_exists: bool | None = None
        self.machines: dict[str, dict[str, Mapping[str, Any]]] = {}
        self.services: dict[str, str] = {}

    @property
    def zone_count(self) -> int:
        return len(self.zones) or ZONES_OF_A_REGION

    @property
    def cpus(self) -> dict[str, int]:
        """The vCPUs of the machine types that Compute Engine was asked for."""
        return {
            name: int(machine["guestCpus"])
            for zone in self.machines.values()
            for name, machine in zone.items()
        }

    def judge(self) -> dict[str, Any]:
        """Return the module's result: every verdict, sizes, and cost where prices are given."""
        self._judge_options()
        if self.google:
            self._judge_project(self.google)
        self._judge_plan()
        result: dict[str, Any] = {
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
            "worst": worst(self.verdicts),
            "services": self.services,
            "cluster_exists": self.cluster_exists,
            "nodes": {pool["name"]: self._counts(pool).as_dict() for pool in self._all_pools()},
        }
        if self.params["prices"]:
            priced = [
                PricedPool(
                    pool["name"],
                    pool.get("machine_type") or DEFAULT_MACHINE,
                    bool(pool.get("spot")),
                    self._counts(pool),
                )
                for pool in self._all_pools()
            ]
            result["cost"] = hourly_cost(priced, self.params["prices"])
        return result

    def _judge_options(self) -> None:
        found = {f"Cluster {self.options['name']}": cluster_problems(self.options, self.location)}
        for pool in self.pools:
            found[f"NodePool {pool['name']}"] = node_pool_problems(pool, self.location)
        self.verdicts += [
            Verdict("error", "PlanHasProblems", subject, observed=problem, advice="correct the option")
            for subject, problems in found.items()
            for problem in problems
        ]

    def _judge_plan(self) -> None:
        self.verdicts += preflight.pool_contradictions(self.pools)
        if self.live is None:
            self.verdicts += preflight.new_cluster_verdicts(self.options, self.pools)
        if self.params["compute_class"]:
            self.verdicts += preflight.compute_class_verdicts(self.params["compute_class"], self.pools)
        requests = [
            Request(**{**alternative, "selectors": tuple(alternative["selectors"] or ())})
            for alternative in self.params["alternatives"] or ()
        ]
        by_name = {pool["name"]: pool for pool in self.pools}
        self.verdicts += lint(requests, by_name, self.params["resource_quotas"] or (), self.cpus)

    def _judge_project(self, google: Google) -> None:
        project, minimum = google.project, self.params["minimum_version"]
        self.services = self._readable("the enabled APIs", lambda: self._services(google)) or {}
        self.verdicts += preflight.service_verdicts(self.services, project)
        if "DISABLED" in map(self.services.get, ("container.googleapis.com", "compute.googleapis.com")):
            return  # whatever else is asked would fail for that
        self._readable("the cluster", lambda: self._look_for_cluster(google))
        self.verdicts += preflight.cluster_verdicts(self.live, self.params["cluster"], self.pools, minimum)
        if self.live is None:
            server = self._readable("the versions", lambda: google.server_config(self.location))
            if server is not None:
                channel = (self.params["release_channel"] or "").replace("none", "")
                self.verdicts.append(
                    preflight.version_verdict(self.params["version"], minimum, channel, server, self.location)
                )
            self._judge_network(google)
        self._judge_offers(google)
        self._judge_quota(google)

    def _look_for_cluster(self, google: Google) -> None:
        self.live = google.cluster(self.location, self.params["cluster"])
        self.cluster_exists = self.live is not None

    def _services(self, google: Google) -> dict[str, str]:
        states = {}
        for service in dict.fromkeys([*preflight.NEEDED_SERVICES, *(self.params["services"] or ())]):
            answer = google.read("serviceusage", f"/v1/projects/{google.project}/services/{service}")
            states[service] = answer.get("state", "")
        return states

    def _judge_network(self, google: Google) -> None:
        network = (self.params["network"] or "default").rpartition("/")[2]
        path = f"/compute/v1/projects/{google.project}/global/networks/{network}"
        exists = self._readable("the network", lambda: google.find("compute", path) is not None)
        if exists is not None:
            self.verdicts.append(preflight.network_verdict(network, exists=exists))

    def _judge_offers(self, google: Google) -> None:
        base = f"/compute/v1/projects/{google.project}"
        region = self._readable("the region", lambda: google.read("compute", f"{base}/regions/{self.region}"))
        if region is None:
            return
        zones = [link.rpartition("/")[2] for link in region.get("zones", ())]
        if self.live is not None:
            self.zones = list(self.live.get("locations", ())) or self.zones
        used = self.zones or zones[:ZONES_OF_A_REGION]
        accelerators: dict[str, dict[str, int]] = {}
        for zone in zones:
            ask = partial(self._accelerators, google, zone)
            offered = self._readable(f"accelerators of {zone}", ask)
            if offered is None:
                return
            accelerators[zone] = offered
            self.machines[zone] = self._machines(google, zone)
        self.verdicts += preflight.offer_verdicts(self.pools, used, self.machines, accelerators)

    def _accelerators(self, google: Google, zone: str) -> dict[str, int]:
        path = f"/compute/v1/projects/{google.project}/zones/{zone}/acceleratorTypes"
        items = google.read("compute", path).get("items", ())
        return {item["name"]: int(item.get("maximumCardsPerInstance", 1)) for item in items}

    def _machines(self, google: Google, zone: str) -> dict[str, Mapping[str, Any]]:
        found: dict[str, Mapping[str, Any]] = {}
        for machine in {pool["machine_type"] for pool in self.pools if pool.get("machine_type")}:
            path = f"/compute/v1/projects/{google.project}/zones/{zone}/machineTypes/{machine}"
            known = google.find("compute", path)
            if known is not None:
                found[machine] = known
        return found

    def _judge_quota(self, google: Google) -> None:
        base = f"/compute/v1/projects/{google.project}"
        quotas: dict[str, Mapping[str, Any]] = {}
        for path in (base, f"{base}/regions/{self.region}"):
            answer = self._readable("the quotas", partial(google.read, "compute", path))
            if answer is None:
                return
            quotas |= {quota["metric"]: quota for quota in answer.get("quotas", ())}
        live = {pool["name"]: pool for pool in (self.live or {}).get("nodePools", ())}
        demands = [
            pool_demand(
                pool,
                self.zone_count,
                self.cpus,
                self._counts(read(live[pool["name"]])) if pool["name"] in live else None,
            )
            for pool in self._all_pools()
        ]
        metrics = {metric for demand in demands if demand.additional.maximum for metric in demand.per_node}
        quotas |= self._family_quotas(google, metrics, quotas)
        self.verdicts += quota_verdicts(demands, quotas, f"{google.project}/{self.region}")

    def _family_quotas(
        self, google: Google, metrics: set[str], known: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, dict[str, float]]:
        """Return what Cloud Quotas says of accelerators that Compute Engine's quotas do not cover."""
        found: dict[str, dict[str, float]] = {}
        for prefix in cloud_quotas.quotas_to_read(metrics, known):
            name = cloud_quotas.QUOTAS[prefix][0]
            path = (
                f"/v1/projects/{google.project}/locations/global/services/compute.googleapis.com"
                f"/quotaInfos/{name}"
            )
            info = self._readable(f"the quota {name}", partial(google.read, "cloudquotas", path))
            found |= cloud_quotas.limits(prefix, info or {}, self.region)
        return found

    def _all_pools(self) -> list[dict[str, Any]]:
        """Return the pools of the plan, and the default pool of a cluster that is still to be made."""
        if self.live is not None:
            return self.pools
        return [{**(self.params["default_pool"] or {}), "name": "default-pool"}, *self.pools]

    def _counts(self, pool: Options) -> Any:
        return node_counts(pool, len(take(pool, "locations") or ()) or self.zone_count)

    def _readable(self, what: str, ask: Callable[[], T]) -> T | None:
        """Return the answer, or ``None`` and a note where the caller may not read it."""
        try:
            return ask()
        except GoogleError as problem:
            if problem.kind not in ("permission", "not_enabled", "not_found"):
                raise
            self.verdicts.append(
                Verdict(
                    "note",
                    "NotReadable",
                    f"Project {self.google.project if self.google else ''}",
                    observed=f"{what}: {problem.message} ({problem.kind})",
                    advice="give the caller the right to read it, or look by hand",
                )
            )
            return None


def run_preflight(
    module: Module, google: Google | None, _clock: Clock, _progress: Progress
) -> dict[str, Any]:
    """Return the result of the module ``gke_preflight``; fails at ``fail_on`` with all verdicts."""
    judged = Preflight(google, module.params)
    result = judged.judge()
    fail_on = module.params["fail_on"]
    grave = [verdict for verdict in judged.verdicts if fail_on != "never" and verdict.at_least(fail_on)]
    if grave:
        sentences = "; ".join(verdict.sentence() for verdict in grave)
        raise ModuleFailure(
            f"preflight of cluster {module.params['cluster']}: {sentences}", "PreflightFailed", **result
        )
    return result
