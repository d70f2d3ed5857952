# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``gke_node_pool`` does: look, plan everything, refuse or carry out, look again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.change import InvalidOptions, Plan
from ansible_collections.inference.dra.plugins.module_utils._core.fields import Message, Options, take
from ansible_collections.inference.dra.plugins.module_utils._core.google_limits import (
    location_problems,
    node_pool_problems,
)
from ansible_collections.inference.dra.plugins.module_utils._core.node_pools import (
    deletion,
    has_fixed_size,
    node_counts,
    plan,
    read,
)
from ansible_collections.inference.dra.plugins.module_utils._core.operations import Health, health
from ansible_collections.inference.dra.plugins.module_utils._core.versions import fits, newer, resolve
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, Deadline
from ansible_collections.inference.dra.plugins.module_utils._ports.google import Google, GoogleError
from ansible_collections.inference.dra.plugins.module_utils._ports.google_apis import Gke
from ansible_collections.inference.dra.plugins.module_utils._ports.google_run import (
    Failure,
    Progress,
    Run,
    carry_out,
    wait_for,
)

from .google import change_result, failure, failure_sentence, refuse_problems, still_differs
from .result import Module

ABSENT = Health("ABSENT", settled=True)
MUST_SETTLE = ("PROVISIONING", "STOPPING")
CLEAN_UP_SECONDS = 600.0
ANOTHER_LOOK = 5.0


class NodePools:
    """The named node pools of one cluster.

    :param google: the project.
    :param params: the module's options.
    :param progress: called with a sentence whenever something begins or ends.
    """

    def __init__(self, google: Google, params: Mapping[str, Any], clock: Clock, progress: Progress) -> None:
        self.google = google
        self.location = params["location"]
        self.cluster = params["cluster"]
        self.wanted: list[dict[str, Any]] = params["node_pools"]
        self.recreate: bool = params["recreate"]
        self.on_error: str = params["on_error"]
        self.wait: bool = params["wait"]
        self.clock = clock
        self.deadline = Deadline(clock, params["timeout_seconds"])
        self.progress = progress
        self.gke = Gke(google, self.location, self.cluster)
        self.zones = 1
        self.failed_before: dict[str, Failure] = {}
        """Per pool, why its creation failed that an earlier run had begun."""

    def check_options(self, state: str) -> None:
        """Raise InvalidOptions for what Google would refuse; nothing is asked of it for that."""
        names = [pool["name"] for pool in self.wanted]
        problems = location_problems(self.location)
        problems += [f"node_pools: {name} is named twice" for name in set(names) if names.count(name) > 1]
        refuse_problems(f"node pools of cluster {self.cluster}", problems)
        for pool in self.wanted if state == "present" else ():
            refuse_problems(
                f"NodePool {self.cluster}/{pool['name']}", node_pool_problems(pool, self.location)
            )

    def converge(self, *, check_mode: bool) -> dict[str, Any]:
        """Return the result of making the pools what is wanted."""
        cluster = self.google.cluster(self.location, self.cluster)
        if cluster is None and not check_mode:
            raise failure(
                f"create node pools in cluster {self.cluster}: it does not exist in {self.location} of "
                f"{self.google.project}; create it first, or check project and location",
                "not_found",
            )
        cluster = self._settled(cluster or {}, check_mode=check_mode)
        if self.wait and not check_mode:
            self._remember_failed_creations(cluster)
        if take(cluster, "autopilot.enabled"):
            raise failure(
                f"change node pools of cluster {self.cluster}: it is an Autopilot cluster, which makes "
                "its own; use a Standard cluster",
                "invalid",
            )
        self.zones = len(cluster.get("locations", ())) or 1
        live = self._measured(cluster)
        plans = [
            Plan(f"NodePool {self.cluster}/{pool['name']}")
            if not self.wait and live.get(pool["name"], {}).get("status") in MUST_SETTLE
            else self._plan(pool, live.get(pool["name"]), cluster)
            for pool in self.wanted
        ]
        for each in plans:
            each.require_in_place()
        if check_mode:
            return self._result(plans, None, live)
        runs = carry_out(self.gke, plans, self.deadline, self.progress, wait=self.wait)
        return self._looked_again(plans, runs, live)

    def remove(self, *, check_mode: bool) -> dict[str, Any]:
        """Return the result of deleting the named pools; other options of them do not matter."""
        cluster = self.google.cluster(self.location, self.cluster) or {}
        live = self._live(cluster)
        plans = [deletion(self.cluster, pool["name"], live.get(pool["name"])) for pool in self.wanted]
        if check_mode:
            return self._result(plans, None, live)
        going = self._running_on(name for name, pool in live.items() if pool.get("status") == "STOPPING")
        runs = carry_out(self.gke, plans, self.deadline, self.progress, going, wait=self.wait)
        left = {} if self.wait else self._live(self.google.cluster(self.location, self.cluster) or {})
        result = self._result(plans, runs, left)
        self._fail_for(runs, result)
        return result

    def _settled(self, cluster: Message, *, check_mode: bool) -> Message:
        """Return the cluster once nothing is created or deleted among the named pools, or nobody waits."""
        while self.wait and not check_mode:
            unsettled = [
                name for name, pool in self._live(cluster).items() if pool.get("status") in MUST_SETTLE
            ]
            if not unsettled:
                break
            running = self._running_on(unsettled)
            if running:
                self._watch(running)
            if self.deadline.expired:
                raise failure(
                    f"wait for {', '.join(unsettled)} of cluster {self.cluster} to be created or deleted: "
                    f"not finished within {self.deadline.seconds:.0f} s; run again to go on waiting",
                    "timeout",
                    operations=[each.name for each in running.values()],
                )
            cluster = self.google.cluster(self.location, self.cluster) or {}
            if any(pool.get("status") in MUST_SETTLE for pool in self._live(cluster).values()):
                self.clock.sleep(ANOTHER_LOOK)  # its operation is unknown or just ended
        return cluster

    def _watch(self, running: Mapping[str, Any]) -> None:
        """Wait for operations that an earlier run began, and remember the creations that fail."""
        for run in wait_for(self.gke, running, self.deadline, self.progress):
            if run.failure and run.failure.kind != "timeout" and _creates(run):
                self.failed_before[run.plan.steps[-1].name] = run.failure

    def _remember_failed_creations(self, cluster: Message) -> None:
        """Add why the creation failed of pools in error, as far as Google still knows."""
        for name, pool in self._live(cluster).items():
            operation = self.gke.failed_creation(name) if health(pool).broken else None
            if operation:
                step = f"create NodePool {self.cluster}/{name}"
                self.failed_before[name] = Failure(operation.kind, operation.message, step, operation.name)

    def _running_on(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the running operation per subject, for those pools that have one."""
        found = {name: self.gke.operations_on(name) for name in names}
        return {f"NodePool {self.cluster}/{name}": each[0] for name, each in found.items() if each}

    def _live(self, cluster: Message) -> dict[str, Message]:
        names = {pool["name"] for pool in self.wanted}
        return {pool["name"]: pool for pool in cluster.get("nodePools", ()) if pool["name"] in names}

    def _measured(self, cluster: Message) -> dict[str, Message]:
        """Return the live pools, those of fixed size with the count that their instance groups have."""
        live = self._live(cluster)
        for pool in self.wanted:
            found = live.get(pool["name"])
            if found and has_fixed_size(pool, found):
                wanted = pool["initial_node_count"]
                sizes = self._sizes(found) or [found.get("initialNodeCount", 0)]
                counted = next((size for size in sizes if size != wanted), wanted)
                live[pool["name"]] = {**found, "initialNodeCount": counted}
        return live

    def _sizes(self, pool: Message) -> list[int]:
        try:
            return self.google.group_sizes(pool)
        except GoogleError as problem:
            if problem.kind not in ("permission", "not_enabled", "not_found"):
                raise
            self.progress(f"NodePool {self.cluster}/{pool['name']}: its size is not known: {problem}")
            return []

    def _plan(self, pool: dict[str, Any], live: Message | None, cluster: Message) -> Plan:
        wanted = {**pool, "version": self._version(pool.get("version"), live, cluster)}
        removals = {key: keys for key, keys in (pool.get("remove") or {}).items() if keys}
        return plan(self.cluster, wanted, live, removals, recreate=self.recreate)

    def _version(self, wanted: str | None, live: Message | None, cluster: Message) -> str | None:
        """Return the full version to set; what runs and fits is not looked up."""
        if not wanted:
            return None
        if wanted in ("-", "latest"):  # nodes cannot be newer than the control plane
            return str(cluster.get("currentMasterVersion", "")) or None
        have = (live or {}).get("version", "")
        if have and (fits(have, wanted) or newer(have, wanted)):
            return wanted
        channel = str(take(cluster, "releaseChannel.channel") or "").lower()
        return resolve(wanted, channel, self.google.server_config(self.location), self.location)

    def _looked_again(
        self, plans: Sequence[Plan], runs: Sequence[Run], before: Mapping[str, Message]
    ) -> dict[str, Any]:
        """Return the result by what is there now; a creation that failed may have left a pool."""
        changed = any(run.operations or run.failure for run in runs)
        live = before
        notes: list[str] = []
        if changed:
            cluster = self.google.cluster(self.location, self.cluster) or {}
            late = any(run.failure and run.failure.kind == "timeout" for run in runs)
            # An operation that was forgotten may still be at work: the status tells.
            cluster = self._settled(cluster, check_mode=late)
            live = self._measured(cluster)
            done = [run.plan for run in runs if not run.failure and run.finished and run.done]
            notes = self._unlike(done, live, cluster)
        broken = [*self.failed_before]
        broken += [
            run.plan.steps[-1].name
            for run in runs
            if run.failure and run.failure.kind != "timeout" and _creates(run) and run.failure.operation
        ]
        removed: list[Run] = []
        if self.on_error == "delete" and broken:
            removals = [deletion(self.cluster, name, live.get(name)) for name in broken]
            clean_up = Deadline(self.clock, max(self.deadline.remaining, CLEAN_UP_SECONDS))
            removed = carry_out(self.gke, removals, clean_up, self.progress)
            live = self._live(self.google.cluster(self.location, self.cluster) or {})
        result = self._result(plans, runs, live)
        result["notes"] += notes
        result["changed"] = result["changed"] or any(run.done for run in removed)
        if not (self.on_error == "keep" and all(name in live for name in broken)):
            broken = []
        self._fail_for(runs, result, kept=broken)
        return result

    def _unlike(self, done: Sequence[Plan], live: Mapping[str, Message], cluster: Message) -> list[str]:
        """Return what reads back otherwise than it was set: it would be changed again by the next run."""
        notes = []
        subjects = {plan.subject for plan in done}
        for pool in self.wanted:
            found = live.get(pool["name"])
            if found and f"NodePool {self.cluster}/{pool['name']}" in subjects:
                notes += still_differs(self._plan(pool, found, cluster))
        return notes

    def _fail_for(self, runs: Sequence[Run], result: dict[str, Any], kept: Sequence[str] = ()) -> None:
        failed = {name: each for name, each in self._failures(runs).items() if name not in kept}
        sentences = [failure_sentence(each) for each in failed.values()]
        kinds: list[str] = [each.kind for each in failed.values()]
        for pool in result["node_pools"] if self.on_error != "keep" else ():
            if pool["broken"] and pool["name"] not in failed:
                sentences.append(
                    f"use NodePool {self.cluster}/{pool['name']}: its status is {pool['status']}: "
                    f"{pool['message']} ({pool['error_kind']}); delete it, or set on_error to keep"
                )
                kinds.append(pool["error_kind"])
        if sentences:
            facts = {key: value for key, value in result.items() if key != "error_kind"}
            raise failure("; ".join(sentences), kinds[0], **facts)

    def _failures(self, runs: Iterable[Run]) -> dict[str, Failure]:
        """Return per pool why it is not as wanted."""
        return self.failed_before | {run.plan.steps[-1].name: run.failure for run in runs if run.failure}

    def _result(
        self, plans: Sequence[Plan], runs: Sequence[Run] | None, live: Mapping[str, Message]
    ) -> dict[str, Any]:
        result = change_result(plans, runs, self.deadline.elapsed)
        failures = self._failures(runs or ())
        pools = []
        for pool in self.wanted:
            found = live.get(pool["name"])
            state = health(found) if found else ABSENT
            failed = failures.get(pool["name"])
            unhealthy = failed.kind if failed else state.kind if state.degraded else ""
            pools.append(
                {
                    "name": pool["name"],
                    "status": state.status,
                    "degraded": state.degraded or failed is not None,
                    "broken": state.broken,
                    "error_kind": unhealthy,
                    "message": failed.message if failed else state.message,
                    "version": (found or {}).get("version", ""),
                    "nodes": self._counts(pool, found),
                }
            )
        kinds = [pool["error_kind"] for pool in pools if pool["error_kind"]]
        return {
            **result,
            "node_pools": pools,
            "degraded": any(pool["degraded"] for pool in pools),
            "error_kind": kinds[0] if kinds else "",
        }

    def _counts(self, pool: Options, live: Message | None) -> dict[str, int]:
        """Return the sizes in all zones together: of the live pool, or of the one to be."""
        options: Options = pool
        if live is not None:
            options = {**read(live), "initial_node_count": live.get("initialNodeCount", 0)}
        return node_counts(options, len(options.get("locations") or ()) or self.zones).as_dict()


def _creates(run: Run) -> bool:
    """Say whether what a run has left to do is to create its pool."""
    return len(run.plan.steps) - len(run.done) == 1 and run.plan.steps[-1].action == "create"


def node_pools(module: Module, google: Google, clock: Clock, progress: Progress) -> dict[str, Any]:
    """Return the result of the module ``gke_node_pool``."""
    pools = NodePools(google, module.params, clock, progress)
    if not module.params["node_pools"]:
        raise InvalidOptions(f"cluster {module.params['cluster']}", ["node_pools is empty"])
    pools.check_options(module.params["state"])
    if module.params["state"] == "absent":
        return pools.remove(check_mode=module.check_mode)
    return pools.converge(check_mode=module.check_mode)
