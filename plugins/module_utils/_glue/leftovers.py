# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``inference_leftovers_info`` does: ask Google and Kubernetes what still exists, and judge it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.google_limits import location_problems
from ansible_collections.inference.dra.plugins.module_utils._core.leftovers import (
    Leftover,
    Prices,
    claims_of,
    cluster_leftovers,
    count_nodes,
    object_leftovers,
    operation_verdicts,
    repository_leftovers,
    summary,
)
from ansible_collections.inference.dra.plugins.module_utils._core.verdict import Verdict, worst
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, Deadline
from ansible_collections.inference.dra.plugins.module_utils._ports.connection import ConnectionFailed
from ansible_collections.inference.dra.plugins.module_utils._ports.google import Google, GoogleError
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIM_TEMPLATES,
    CLAIMS,
    COMPUTE_CLASSES,
    DAEMON_SETS,
    DEPLOYMENTS,
    DEVICE_CLASSES,
    NODES,
    SECRETS,
    SLICES,
    Forbidden,
    KubernetesError,
    Resource,
)

from .google import google_failures, refuse_problems
from .objects import NOT_SERVED, Cluster, Source, source_from
from .result import Module, ModuleFailure

LOOK_SECONDS, PAUSE_SECONDS = 60.0, 2.0
NOT_SAID = ("permission", "not_enabled")
"""Kinds of refusal after which nothing is known; any other is a failure of the question."""


class Look:
    """One look at everything that the options name."""

    def __init__(self, params: Mapping[str, Any], clock: Clock) -> None:
        self.params = params
        self.clock = clock
        self.plan: Mapping[str, Any] = params["plan"] or {}
        self.found: list[Leftover] = []
        self.verdicts: list[Verdict] = []
        self.asked: list[str] = []
        self.nodes: dict[str, int] | None = None
        self.now = clock.now()

    def result(self) -> dict[str, Any]:
        """Return the module's result."""
        with google_failures():
            live, exists = self._cluster()
        if exists is not False:
            self._kubernetes()
        self.found[:0] = cluster_leftovers(live, Prices.from_plan(self.plan), self.nodes)
        self.verdicts[:0] = [each.verdict() for each in self.found]
        if not self.verdicts:
            self.verdicts.append(
                Verdict("ok", "NothingLeft", self._subject, f"none is left of: {', '.join(self.asked)}")
            )
        return {
            **summary(self.found),
            "verdicts": [each.as_dict() for each in self.verdicts],
            "worst": worst(self.verdicts),
            "clean": worst(self.verdicts) == "ok",
            "asked": self.asked,
        }

    @property
    def _subject(self) -> str:
        cluster, namespace = self.params["cluster"], self.params["namespace"]
        return f"Cluster {cluster}" if cluster else f"Namespace {namespace}"

    def _cluster(self) -> tuple[Mapping[str, Any] | None, bool | None]:
        """Return the Cluster message, and whether it exists (``None``: that is not known)."""
        name, location, repository = (self.params[key] for key in ("cluster", "location", "repository"))
        if not name and not repository:
            return None, None
        refuse_problems(f"Cluster {name}", location_problems(location or "") if name else ())
        google = Google.connect(self.params, self.clock)
        live: Mapping[str, Any] | None = None
        exists: bool | None = None
        try:
            if name:
                live = google.cluster(location, name)
                exists = live is not None
                self.asked += ["cluster", "node pools", "operations"]
                self.verdicts += operation_verdicts(google.running_operations(location), name)
            if repository:
                where = self.params["repository_location"] or location
                self.found += repository_leftovers(repository, google.repository(where, repository))
                self.asked.append("repository")
        except GoogleError as problem:
            if problem.kind not in NOT_SAID:
                raise
            self._not_said(f"Project {google.project}", str(problem))
        return live, exists

    def _kubernetes(self) -> None:
        """Ask the cluster; where it can't be reached, say so instead of calling it empty."""
        try:
            source, self.now = source_from(self.params, self.clock)
            if isinstance(source, Cluster):
                source = Cluster(source.api.within(Deadline(self.clock, LOOK_SECONDS)))
            nodes = list(source.read(NODES))
        except (ConnectionFailed, KubernetesError) as problem:
            self._not_said(self._subject, f"its API server: {problem}")
            return
        if nodes or source.is_complete:
            self.nodes = count_nodes(nodes)
        self._all_kinds(source)
        if not source.is_complete:
            self._not_said(self._subject, "a dump holds what is left, and proves nothing about what it lacks")

    def _all_kinds(self, source: Source) -> None:
        drivers = [each["driver"] for each in self.plan.get("slices") or ()]
        classes = [each["name"] for each in self.plan.get("device_classes") or ()]
        compute_class = (self.plan.get("compute_class") or {}).get("metadata", {}).get("name", "")
        self._named(source, DEPLOYMENTS, [self.params["deployment"]], self.params["namespace"])
        self._named(source, DEPLOYMENTS, [self.params["controller"]], self.params["driver_namespace"])
        self._named(source, COMPUTE_CLASSES, [compute_class])
        self._named(source, DEVICE_CLASSES, classes)
        self._named(source, DAEMON_SETS, self.params["daemon_sets"], self.params["driver_namespace"])
        self._listed("ResourceClaim", claims_of(self._all(source, CLAIMS), drivers, classes))
        template = {"app": self.params["deployment"]}
        self._listed(
            "ResourceClaimTemplate", self._all(source, CLAIM_TEMPLATES, self.params["namespace"], template)
        )
        if drivers:
            slices = self._all(source, SLICES)
            self._listed("ResourceSlice", [each for each in slices if each["spec"].get("driver") in drivers])
        for release in self.params["releases"] or ():
            self._release(source, release, self.params["driver_namespace"])

    def _release(self, source: Source, release: str, namespace: str) -> None:
        """Find Helm's record of a release, and DaemonSets of it that outlived the record."""
        record = self._all(source, SECRETS, namespace, {"owner": "helm", "name": release})
        self._listed("Release", record)
        instance = {"app.kubernetes.io/instance": release}
        self._listed("DaemonSet", self._all(source, DAEMON_SETS, namespace, instance))

    def _listed(self, kind: str, objects: Sequence[Mapping[str, Any]]) -> None:
        self.found += object_leftovers(kind, objects, self.now)

    def _named(
        self, source: Source, resource: Resource, names: Sequence[str] | None, namespace: str = ""
    ) -> None:
        wanted = {name for name in names or () if name}
        if wanted:
            objects = self._all(source, resource, namespace)
            self._listed(resource.kind, [each for each in objects if each["metadata"]["name"] in wanted])

    def _all(
        self,
        source: Source,
        resource: Resource,
        namespace: str = "",
        labels: Mapping[str, str] | None = None,
    ) -> list[Mapping[str, Any]]:
        """Return the objects of a kind; an API that is not served has none."""
        if resource.plural not in self.asked:
            self.asked.append(resource.plural)
        try:
            return list(source.read(resource, namespace if resource.namespaced else "", labels))
        except Forbidden as problem:
            self._not_said(f"{resource.kind} {namespace or '*'}", str(problem))
        except ModuleFailure as problem:
            if problem.reason != NOT_SERVED:
                raise
        return []

    def _not_said(self, subject: str, observed: str) -> None:
        self.verdicts.append(
            Verdict(
                "warning",
                "NotReadable",
                subject,
                observed,
                "an answer",
                "give the caller the right to read it",
            )
        )


def leftovers(module: Module, clock: Clock) -> dict[str, Any]:
    """Return the result of the module ``inference_leftovers_info``: that of the last look."""
    deadline = Deadline(clock, 0 if module.check_mode else module.params["wait_seconds"])
    result = Look(module.params, clock).result()
    while not result["clean"] and not deadline.expired:
        clock.sleep(min(PAUSE_SECONDS, deadline.remaining))
        result = Look(module.params, clock).result()
    return result
