# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deployments, ReplicaSets and DaemonSets: which pods are current, and how far a rollout is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Literal, NamedTuple

from .label_selectors import LabelSelector
from .objects import Metadata, View, open_object
from .pods import Pod

REVISION = "deployment.kubernetes.io/revision"
POD_TEMPLATE_HASH = "pod-template-hash"

_UNKNOWN_AGE = datetime.max.replace(tzinfo=timezone.utc)


class Rollout(NamedTuple):
    """How far a rollout is; ``observed`` says why it is not ``complete``.

    ``no_targets`` is for DaemonSets: not one node is selected, which only the caller can call right
    or wrong.
    """

    state: Literal["complete", "progressing", "failed", "no_targets"]
    observed: str


@dataclass(frozen=True, slots=True)
class ReplicaSet:
    """A ReplicaSet; ``template`` is its pod template without the hash label."""

    meta: Metadata
    template: Mapping[str, Any]
    replicas: int = 0

    @classmethod
    def from_api(cls, obj: Any) -> ReplicaSet:
        """Return the ReplicaSet of an ``apps/v1`` mapping.

        :raises MalformedObjects: where a field has a type the API never gives it.
        """
        view, meta = open_object(obj, "ReplicaSet")
        spec = view.child("spec")
        return cls(meta, _template(spec.child("template")), spec.integer("replicas", 1))

    @property
    def revision(self) -> int:
        """Return the revision its Deployment gave it, 0 for none."""
        text = self.meta.annotations.get(REVISION, "")
        return int(text) if text.isdecimal() else 0


@dataclass(frozen=True, slots=True)
class Deployment:
    """A Deployment with the counts of its status."""

    meta: Metadata
    selector: LabelSelector
    template: Mapping[str, Any]
    replicas: int
    observed_generation: int
    updated: int
    total: int
    ready: int
    available: int
    deadline_exceeded: bool
    paused: bool = False

    @classmethod
    def from_api(cls, obj: Any) -> Deployment:
        """Return the Deployment of an ``apps/v1`` mapping.

        :raises MalformedObjects: where a field has a type the API never gives it.
        """
        view, meta = open_object(obj, "Deployment")
        spec, status = view.child("spec"), view.child("status")
        return cls(
            meta=meta,
            selector=LabelSelector.from_view(spec.child("selector")),
            template=_template(spec.child("template")),
            replicas=spec.integer("replicas", 1),
            observed_generation=status.integer("observedGeneration"),
            updated=status.integer("updatedReplicas"),
            total=status.integer("replicas"),
            ready=status.integer("readyReplicas"),
            available=status.integer("availableReplicas"),
            deadline_exceeded=any(
                each.text("type") == "Progressing" and each.text("reason") == "ProgressDeadlineExceeded"
                for each in status.children("conditions")
            ),
            paused=spec.boolean("paused"),
        )

    @property
    def subject(self) -> str:
        return f"Deployment {self.meta.full_name}"

    def rollout(self) -> Rollout:
        """Return how far the rollout of the newest specification is.

        The counts mean nothing before the controller has seen the specification
        (``observedGeneration``), and scaled is not ready.
        """
        if self.observed_generation < self.meta.generation:
            return Rollout(
                "progressing",
                f"the status is of generation {self.observed_generation}, the specification of "
                f"{self.meta.generation}",
            )
        if self.deadline_exceeded:
            return Rollout("failed", "the progress deadline is exceeded")
        for count, word in (
            (self.updated, "updated"),
            (self.ready, "ready"),
            (self.available, "available"),
        ):
            if count < self.replicas:
                return Rollout("progressing", f"{count} of {self.replicas} replicas are {word}")
        if self.total > self.updated:
            return Rollout("progressing", f"{self.total - self.updated} old replicas remain")
        return Rollout("complete", f"{self.ready} of {self.replicas} replicas are ready")


@dataclass(frozen=True, slots=True)
class DaemonSet:
    """A DaemonSet with the counts of its status."""

    meta: Metadata
    observed_generation: int
    desired: int
    current: int
    updated: int
    ready: int

    @classmethod
    def from_api(cls, obj: Any) -> DaemonSet:
        """Return the DaemonSet of an ``apps/v1`` mapping; absent counts are zero.

        :raises MalformedObjects: where a field has a type the API never gives it.
        """
        view, meta = open_object(obj, "DaemonSet")
        status = view.child("status")
        return cls(
            meta=meta,
            observed_generation=status.integer("observedGeneration"),
            desired=status.integer("desiredNumberScheduled"),
            current=status.integer("currentNumberScheduled"),
            updated=status.integer("updatedNumberScheduled"),
            ready=status.integer("numberReady"),
        )

    def rollout(self) -> Rollout:
        """Return how far the rollout is; ``no_targets`` where no node is selected."""
        if self.observed_generation < self.meta.generation:
            return Rollout(
                "progressing",
                f"the status is of generation {self.observed_generation}, the specification of "
                f"{self.meta.generation}",
            )
        if self.desired == 0:
            return Rollout("no_targets", "no node is selected")
        for count, word in (
            (self.current, "created"),
            (self.updated, "updated"),
            (self.ready, "ready"),
        ):
            if count < self.desired:
                return Rollout("progressing", f"{count} of {self.desired} pods are {word}")
        return Rollout("complete", f"{self.ready} of {self.desired} pods are ready")


class WorkloadPods(NamedTuple):
    """A workload's pods: those that count, and what earlier rollouts and dead nodes left behind."""

    current: tuple[Pod, ...]
    left_over: tuple[Pod, ...]


def current_replica_set(deployment: Deployment, replica_sets: Iterable[ReplicaSet]) -> ReplicaSet | None:
    """Return the ReplicaSet of the Deployment's present template, None where there is none yet.

    As the Deployment controller finds it: owned by UID, with an equal template but for the
    hash label; the oldest of several. Where no template is equal (a dump may lack them) the highest
    revision counts, if the controller has seen the specification.
    """
    owned = sorted(
        (each for each in replica_sets if each.meta.owner[2] == deployment.meta.uid),
        key=lambda each: (each.meta.created or _UNKNOWN_AGE, each.meta.name),
    )
    same = [each for each in owned if each.template and each.template == deployment.template]
    if same:
        return same[0]
    if deployment.observed_generation < deployment.meta.generation:
        return None
    return max(owned, key=lambda each: each.revision, default=None)


def workload_pods(
    deployment: Deployment, replica_sets: Iterable[ReplicaSet], pods: Iterable[Pod]
) -> WorkloadPods:
    """Return the live pods of the current ReplicaSet, and the other pods with the same labels."""
    newest = current_replica_set(deployment, replica_sets)
    current, left_over = [], []
    for pod in pods:
        if pod.meta.namespace != deployment.meta.namespace:
            continue
        if newest is not None and pod.meta.owner[2] == newest.meta.uid and pod.is_live:
            current.append(pod)
        elif deployment.selector.matches(pod.meta.labels):
            left_over.append(pod)
    return WorkloadPods(tuple(current), tuple(left_over))


def _template(view: View) -> Mapping[str, Any]:
    """Return a pod template without the label by which ReplicaSets differ from their Deployment."""
    if not view.value:
        return view.value
    metadata = view.child("metadata")
    labels = {k: v for k, v in metadata.string_map("labels").items() if k != POD_TEMPLATE_HASH}
    return {**view.value, "metadata": {**metadata.value, "labels": labels}}
