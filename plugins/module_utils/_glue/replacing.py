# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replacing replicas one by one: the same work for the module and for the action with live lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast

from ansible_collections.inference.dra.plugins.module_utils._core.cluster import Cluster
from ansible_collections.inference.dra.plugins.module_utils._core.diagnosis import diagnose
from ansible_collections.inference.dra.plugins.module_utils._core.pods import Pod
from ansible_collections.inference.dra.plugins.module_utils._core.replacement import (
    GATE,
    Member,
    Plan,
    Service,
    Step,
    Which,
    accepted_of_held,
    find_service,
    is_prepared,
    made_template,
    obstacle,
    plan_replacements,
)
from ansible_collections.inference.dra.plugins.module_utils._core.rollouts import Deployment, ReplicaSet
from ansible_collections.inference.dra.plugins.module_utils._core.waiting import hopeless, is_there
from ansible_collections.inference.dra.plugins.module_utils._core.workload_report import (
    Selection,
    Snapshot,
    judge,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, Deadline
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIM_TEMPLATES,
    CLAIMS,
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    Conflict,
    Kubernetes,
    KubernetesError,
    NotFound,
    Resource,
)

from .cluster import Seen, see
from .objects import Cluster as Live
from .result import ModuleFailure
from .spec import kubernetes_spec

Say = Callable[[str], None]
LOOK_SECONDS = 0.5
NOT_NOW = (429, 500, 502, 503, 504)
"""Answers to an eviction that another try may change; 429 is a disruption budget's."""


def replace_spec() -> dict[str, Any]:
    """Return the options of inference_replica_replace, which its module and its action share."""
    return kubernetes_spec() | {
        "namespace": {"type": "str", "required": True},
        "deployment": {"type": "str", "required": True},
        "which": {"type": "str", "choices": ["outdated", "later_alternatives"], "required": True},
        "template_changes": {"type": "bool", "default": False},
        "max_replacements": {"type": "int", "default": 0},
        "timeout_seconds": {"type": "int", "default": 1800},
    }


def replace_replicas(
    params: Mapping[str, Any],
    clock: Clock,
    say: Say,
    *,
    check_mode: bool,
) -> dict[str, Any]:
    """Return what was replaced; in check mode, what would be."""
    for name in ("max_replacements", "timeout_seconds"):
        if params[name] < 0:
            raise ModuleFailure(
                f"The option {name} is {params[name]}; a number of at least 0 is needed.", "InvalidInput"
            )
    api = Kubernetes.connect(params, clock)
    return Replacing(api, params, clock, say, check_mode=check_mode).run()


@dataclass
class Replacing:
    """One run; ``actions`` has the replacements that are done."""

    api: Kubernetes
    params: Mapping[str, Any]
    clock: Clock
    say: Say
    check_mode: bool = False
    actions: list[dict[str, Any]] = field(default_factory=list)
    before: dict[str, int] = field(default_factory=dict)
    has_written: bool = False

    def __post_init__(self) -> None:
        self.namespace, self.name = self.params["namespace"], self.params["deployment"]
        self.which = cast(Which, self.params["which"])
        self.started = self.clock.monotonic()
        self.attempted = f"Replacing replicas of Deployment {self.namespace}/{self.name}"

    def run(self) -> dict[str, Any]:
        seen, service = self.look()
        self.before = service.by_alternative()
        plan = plan_replacements(service, seen.cluster, self.which, self.params["max_replacements"])
        if self.check_mode:
            return self.outlook(service, plan)
        if self.which == "outdated" and service.outdated and not is_prepared(service):
            self.give_template(service, gated=True)
        left = self.params["max_replacements"] or len(service.members) * 2
        while left:
            seen, service = self.look()
            if service.held:
                self.bring(service.held[0], accepted_of_held(service, seen.cluster, service.held[0]), "")
                continue
            plan = plan_replacements(service, seen.cluster, self.which)
            if not plan.steps:
                break
            self.replace(plan.steps[0], service)
            left -= 1
        seen, service = self.look()
        plan = plan_replacements(service, seen.cluster, self.which)
        if self.which == "outdated" and not service.outdated:
            self.close(service)
        return self.result(service, plan)

    # -- looking ---------------------------------------------------------------------------------------

    def look(self) -> tuple[Seen, Service]:
        """Return everything that a plan needs; fail where an ordered replacement is not possible."""
        return self.judged(see(Live(self.api), self.clock.now(), self.namespace, workloads=True))

    def glance(self) -> Service:
        """Return the service as it is now; of devices only what its own claims say."""
        objects = self.read(PODS, CLAIMS, CLAIM_TEMPLATES, DEPLOYMENTS, REPLICA_SETS)
        return self.judged(
            Seen(
                Cluster.from_objects(objects, self.clock.now()),
                tuple(Deployment.from_api(each) for each in objects["Deployment"]),
                tuple(ReplicaSet.from_api(each) for each in objects["ReplicaSet"]),
            )
        )[1]

    def read(self, *resources: Resource) -> dict[str, list[Mapping[str, Any]]]:
        live = Live(self.api)
        return {each.kind: list(live.read(each, self.namespace)) for each in resources}

    def judged(self, seen: Seen) -> tuple[Seen, Service]:
        deployment = seen.deployment(self.namespace, self.name)
        if found := obstacle(deployment, seen.replica_sets, self.which):
            raise ModuleFailure(
                f"{self.attempted}: {found.sentence()}.", found.reason, **self.facts([found.as_dict()])
            )
        changes = self.check_mode and self.params["template_changes"]
        return seen, find_service(seen.cluster, deployment, seen.replica_sets, template_changes=changes)

    # -- one replacement -------------------------------------------------------------------------------

    def replace(self, step: Step, service: Service) -> None:
        deadline = Deadline(self.clock, self.params["timeout_seconds"])
        known = {member.pod.meta.uid for member in service.members}
        self.tell(f"{step.pod.meta.name} ({step.alternative or 'no devices'}) is evicted")
        self.evict(step, deadline)
        while True:
            service = self.glance()
            new = [each for each in service.members if each.pod.meta.uid not in known]
            if new:
                break
            self.pause(deadline, step.pod, "no successor was made")
        self.bring(new[0], step.accepted, step.pod.meta.name, step.alternative, deadline)

    def evict(self, step: Step, deadline: Deadline) -> None:
        """End the pod by the Eviction API, as soon as its disruption budget allows it."""
        meta = step.pod.meta
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": meta.name, "namespace": meta.namespace},
            "deleteOptions": {"preconditions": {"uid": meta.uid}},
        }
        told = ""
        while True:
            try:
                self.api.request(
                    "POST", PODS.path(meta.namespace, meta.name, "eviction"), body, retried=(503,)
                )
            except (NotFound, Conflict):
                return  # it has gone, or another pod has its name
            except KubernetesError as error:
                if error.status not in NOT_NOW:
                    raise
                if deadline.expired:
                    raise ModuleFailure(
                        f"{self.attempted}: {meta.name} could not be evicted within {deadline.seconds:g} s: "
                        f"{error.message} Lower the PodDisruptionBudget's minAvailable, or bring back the "
                        "replicas that do not serve.",
                        "DisruptionRefused",
                        **self.facts(),
                    ) from error
                if told != error.message:
                    self.tell(f"{meta.name} may not be evicted yet: {error.message}")
                told = error.message
                self.clock.sleep(min(LOOK_SECONDS, deadline.remaining))
            else:
                self.has_written = True
                return

    def bring(
        self,
        successor: Member,
        accepted: tuple[str, ...],
        predecessor: str,
        alternative: str = "",
        deadline: Deadline | None = None,
    ) -> None:
        """Let the successor have its devices once its predecessor's are free; return when it serves."""
        deadline = deadline or Deadline(self.clock, self.params["timeout_seconds"])
        pod = successor.pod
        if successor.is_held:
            while (service := self.glance()).leaving:
                names = ", ".join(claim.meta.name for claim in service.leaving)
                self.pause(deadline, pod, f"the devices of {names} are not free yet")
            self.ungate(pod)
        started = deadline.elapsed
        selection = Selection(self.namespace, pods=(pod.meta.name,))
        told = ""
        while True:
            snapshot = Snapshot.from_objects(self.read(CLAIMS, PODS, CLAIM_TEMPLATES))
            if snapshot.pods is None or snapshot.pods.get(pod.meta.uid) is None:
                self.failed(pod, "it has gone before it served")
            report = judge(snapshot, selection, now=self.clock.now())
            chosen = [choice for claim in report.claims for choice in claim.choices if choice.of]
            got = chosen[0].name if chosen else ""
            node = next((claim.node for claim in report.claims), "")
            if got and told != got:
                self.tell(f"{pod.meta.name} got {got} on {node}")
                told = got
            if got and accepted and got not in accepted:
                self.landed_later(pod, got, accepted)
            if grave := hopeless(report):
                self.failed(pod, "never serves: " + "; ".join(each.sentence() for each in grave))
            if report.claims and all(is_there(each, snapshot.pods, "running") for each in report.claims):
                break
            states = ", ".join(f"{claim.name} is {claim.state}" for claim in report.claims)
            self.pause(deadline, pod, f"it does not serve ({states or 'it has no claim'})")
        self.tell(f"{pod.meta.name} serves")
        self.actions.append(
            {
                "pod": predecessor,
                "alternative": alternative,
                "successor": pod.meta.name,
                "successor_alternative": got,
                "node": node,
                "seconds": round(deadline.elapsed - (0.0 if predecessor else started), 3),
            }
        )

    def pause(self, deadline: Deadline, pod: Pod, why: str) -> None:
        if deadline.expired:
            self.failed(pod, f"{why} after {deadline.seconds:g} s")
        self.clock.sleep(min(LOOK_SECONDS, deadline.remaining))

    # -- writing ---------------------------------------------------------------------------------------

    def give_template(self, service: Service, *, gated: bool) -> None:
        """Have the ReplicaSet make its next pods of the Deployment's template."""
        if service.replica_set is None:
            return
        meta = service.replica_set.meta
        operations: list[dict[str, Any]] = [
            {"op": "test", "path": "/metadata/uid", "value": meta.uid},
            {"op": "replace", "path": "/spec/template", "value": made_template(service, gated=gated)},
        ]
        self.api.json_patch(REPLICA_SETS, meta.name, operations, self.namespace)
        self.has_written = True

    def ungate(self, pod: Pod) -> None:
        gates = [each for each in pod.spec["schedulingGates"] if each.get("name") != GATE]
        self.api.merge_patch(PODS, pod.meta.name, {"spec": {"schedulingGates": gates}}, self.namespace)
        self.has_written = True

    def close(self, service: Service) -> None:
        """Hand the replicas back to the Deployment controller, which finds nothing to do."""
        if service.differs:
            self.give_template(service, gated=False)
        if service.deployment.paused:
            self.api.merge_patch(DEPLOYMENTS, self.name, {"spec": {"paused": None}}, self.namespace)
            self.has_written = True
            self.tell("the Deployment is resumed")

    # -- telling ---------------------------------------------------------------------------------------

    def tell(self, line: str) -> None:
        self.say(f"[{self.clock.monotonic() - self.started:6.1f} s] {line}")

    def landed_later(self, pod: Pod, got: str, accepted: tuple[str, ...]) -> NoReturn:
        raise ModuleFailure(
            f"{self.attempted}: {pod.meta.name} got {got}, and had to get {' or '.join(accepted)}. "
            f"{self.diagnosis(pod)}No further replica was touched; the playbook return_to_gpu brings this "
            "one back when what stood in the way is gone.",
            "LandedLater",
            **self.facts(),
        )

    def failed(self, pod: Pod, why: str) -> NoReturn:
        raise ModuleFailure(
            f"{self.attempted}: {pod.meta.name}: {why}. {self.diagnosis(pod)}No further replica was touched; "
            "run this again when the cause is gone, it goes on where it stopped.",
            "NotReplaced",
            **self.facts(),
        )

    def diagnosis(self, pod: Pod) -> str:
        """Return why the pod is where it is, as sentences."""
        cluster = see(Live(self.api), self.clock.now(), self.namespace).cluster
        current = cluster.pods.get(pod.meta.uid)
        if current is None:
            return "It is gone. "
        (found,) = diagnose(cluster, [current])
        reasons = [reason for chosen in found.chosen for reason in chosen.reasons]
        return "".join(f"{each.sentence()}. " for each in (*found.verdicts, *reasons))

    def facts(self, verdicts: list[dict[str, Any]] | None = None) -> dict[str, Any]:
        return {
            "changed": self.has_written,
            "actions": self.actions,
            "before": self.before,
            "verdicts": verdicts or [],
            "waited_seconds": round(self.clock.monotonic() - self.started, 3),
        }

    def result(self, service: Service, plan: Plan) -> dict[str, Any]:
        """Return what was done; ``plan`` says what remains, and why nothing does."""
        after = service.by_alternative()
        return {
            **self.facts(),
            "planned": [step.as_dict() for step in plan.steps],
            "because": plan.because,
            "after": after,
            "diff": {"before": self.before, "after": after},
        }

    def outlook(self, service: Service, plan: Plan) -> dict[str, Any]:
        """Return what would be done."""
        after = dict(self.before)
        for step in plan.steps:
            after[step.alternative] -= 1
            after[step.foreseen] = after.get(step.foreseen, 0) + 1
        after = {name: count for name, count in after.items() if count}
        would_close = self.which == "outdated" and (service.differs or service.deployment.paused)
        return self.result(service, plan) | {
            "changed": bool(plan.steps or service.held or would_close),
            "after": after,
            "diff": {"before": self.before, "after": after},
        }
