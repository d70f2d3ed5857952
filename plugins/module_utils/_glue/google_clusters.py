# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``gke_cluster`` does: look, plan, refuse or carry out one concern after another, look again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.change import Plan
from ansible_collections.inference.dra.plugins.module_utils._core.clusters import deletion, plan
from ansible_collections.inference.dra.plugins.module_utils._core.fields import Message, take
from ansible_collections.inference.dra.plugins.module_utils._core.google_limits import (
    cluster_problems,
    location_problems,
)
from ansible_collections.inference.dra.plugins.module_utils._core.operations import health
from ansible_collections.inference.dra.plugins.module_utils._core.versions import fits, newer, resolve
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, Deadline
from ansible_collections.inference.dra.plugins.module_utils._ports.google import Google
from ansible_collections.inference.dra.plugins.module_utils._ports.google_apis import Gke
from ansible_collections.inference.dra.plugins.module_utils._ports.google_run import (
    Progress,
    Run,
    carry_out,
    wait_for,
)

from .google import change_result, failure, failure_sentence, refuse_problems, still_differs
from .result import Module

MUST_SETTLE = ("PROVISIONING", "STOPPING")
ANOTHER_LOOK = 5.0


class Cluster:
    """One cluster and what is wanted of it; parameters as for NodePools."""

    def __init__(self, google: Google, params: Mapping[str, Any], clock: Clock, progress: Progress) -> None:
        self.google = google
        self.params = params
        self.name: str = params["name"]
        self.location: str = params["location"]
        self.wait: bool = params["wait"]
        self.clock = clock
        self.deadline = Deadline(clock, params["timeout_seconds"])
        self.progress = progress
        self.gke = Gke(google, self.location, self.name)

    def converge(self, *, check_mode: bool) -> dict[str, Any]:
        """Return the result of making the cluster what is wanted."""
        refuse_problems(f"Cluster {self.name}", cluster_problems(self.params, self.location))
        live = self._settled(check_mode=check_mode)
        if not self.wait and live and live.get("status") in MUST_SETTLE:
            return self._result(Plan(f"Cluster {self.name}"), [], live)
        planned = self._plan(live)
        planned.require_in_place()
        if check_mode or not planned.changed:
            result = self._result(planned, None if check_mode else [], live)
            self._refuse_broken(live, {key: result[key] for key in result if key != "error_kind"})
            return result
        runs = carry_out(self.gke, [planned], self.deadline, self.progress, wait=self.wait)
        if self._fingerprint_was_stale(runs[0]):
            live = self.google.cluster(self.location, self.name)
            runs += carry_out(self.gke, [self._plan(live)], self.deadline, self.progress, wait=self.wait)
        return self._looked_again(planned, runs)

    def remove(self, *, check_mode: bool) -> dict[str, Any]:
        """Return the result of deleting the cluster with its node pools."""
        refuse_problems(f"Cluster {self.name}", location_problems(self.location))
        live = self.google.cluster(self.location, self.name)
        planned = deletion(self.name, live)
        if check_mode or live is None:
            return self._result(planned, None if check_mode else [], live)
        going = self.gke.operations_on(self.name) if live.get("status") == "STOPPING" else []
        adopted = {planned.subject: going[0]} if going else {}
        runs = carry_out(self.gke, [planned], self.deadline, self.progress, adopted, wait=self.wait)
        return self._looked_again(planned, runs)

    def _settled(self, *, check_mode: bool) -> Message | None:
        """Return the live cluster once it is not being created or deleted, at once where nobody waits."""
        live = self.google.cluster(self.location, self.name)
        while self.wait and not check_mode and live and live.get("status") in MUST_SETTLE:
            running = self.gke.operations_on(self.name)
            if running:
                adopted = {f"Cluster {self.name}": running[0]}
                wait_for(self.gke, adopted, self.deadline, self.progress)
            if self.deadline.expired:
                raise failure(
                    f"wait for Cluster {self.name}, which is {live.get('status')}: not finished within "
                    f"{self.deadline.seconds:.0f} s; run again to go on waiting",
                    "timeout",
                    operations=[operation.name for operation in running],
                )
            live = self.google.cluster(self.location, self.name)
            if live and live.get("status") in MUST_SETTLE:
                self.clock.sleep(ANOTHER_LOOK)  # its operation is unknown or just ended
        return live

    def _plan(self, live: Message | None) -> Plan:
        wanted = {**self.params, "version": self._version(live)}
        removals = {"labels": self.params["remove_labels"] or ()}
        return plan(self.google.project, wanted, live, removals)

    def _version(self, live: Message | None) -> str | None:
        """Return the full version to set; what runs and fits is not looked up."""
        wanted: str | None = self.params["version"]
        have = (live or {}).get("currentMasterVersion", "")
        if not wanted or (have and wanted == "-"):
            return None
        if have and wanted != "latest" and (fits(have, wanted) or newer(have, wanted)):
            return wanted
        channel = self.params["release_channel"] or take(live or {}, "releaseChannel.channel") or ""
        server = self.google.server_config(self.location)
        return resolve(wanted, channel.lower(), server, self.location)

    def _fingerprint_was_stale(self, run: Run) -> bool:
        """Say whether labels were refused because somebody else changed them after they were read."""
        return bool(
            run.failure
            and run.failure.kind == "conflict"
            and run.plan.steps[len(run.done)].call == "set_labels"
        )

    def _looked_again(self, planned: Plan, runs: Sequence[Run]) -> dict[str, Any]:
        """Return the result by what is there now; a cluster in error is a failure."""
        failed = runs[-1].failure
        # An operation that was forgotten may still be at work: the status tells.
        live = self._settled(check_mode=bool(failed))
        result = self._result(planned, runs, live)
        facts = {key: value for key, value in result.items() if key != "error_kind"}
        if failed:
            raise failure(failure_sentence(failed), failed.kind, **facts)
        self._refuse_broken(live, facts)
        if live and planned.after and runs[-1].finished:
            result["notes"] += still_differs(self._plan(live))
        return result

    def _refuse_broken(self, live: Message | None, facts: Mapping[str, Any]) -> None:
        state = health(live) if live else None
        if state and state.broken:
            raise failure(
                f"use Cluster {self.name}: its status is {state.status}: {state.message} ({state.kind}); "
                "delete it and run again",
                state.kind,
                **facts,
            )

    def _result(self, planned: Plan, runs: Sequence[Run] | None, live: Message | None) -> dict[str, Any]:
        result = change_result([planned], runs, self.deadline.elapsed)
        state = health(live) if live else None
        failed = runs[-1].failure if runs else None
        degraded = bool(state and state.degraded) or failed is not None
        return {
            **result,
            "cluster": {
                "name": self.name,
                "status": state.status if state else "ABSENT",
                "version": (live or {}).get("currentMasterVersion", ""),
                "endpoint": (live or {}).get("endpoint", ""),
                "locations": (live or {}).get("locations", []),
                "node_pools": [pool["name"] for pool in (live or {}).get("nodePools", ())],
            },
            "degraded": degraded,
            "error_kind": failed.kind if failed else state.kind if state and state.degraded else "",
        }


def cluster(module: Module, google: Google, clock: Clock, progress: Progress) -> dict[str, Any]:
    """Return the result of the module ``gke_cluster``."""
    one = Cluster(google, module.params, clock, progress)
    if module.params["state"] == "absent":
        return one.remove(check_mode=module.check_mode)
    return one.converge(check_mode=module.check_mode)
