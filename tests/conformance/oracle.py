# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets a real scheduler place the pods of scenarios one after the other, and judges each as it is placed.

The pods of one scenario take turns. The scheduler counts the shares of a claim twice while the claim is both
in flight and in its cache (``GatherAllocatedState`` in ``dra_manager.go`` of kube-scheduler 1.36.3 adds up
the two), so that a pod which comes a moment after another may find a device full that is not. A pod without
a place is deleted before the next turn, or it would be tried again in between.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.claims import Claim, DeviceClass
from ansible_collections.inference.dra.plugins.module_utils._core.inventory import Place
from ansible_collections.inference.dra.plugins.module_utils._core.slices import ResourceSlice
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    DEVICE_CLASSES,
    NAMESPACES,
    NODES,
    PODS,
    SERVICE_ACCOUNTS,
    SLICES,
    DeadlineExceeded,
    Event,
    Kubernetes,
    KubernetesError,
    Resource,
)

from .judging import Judged, World, judged, nodes_name, said, will_be_evicted
from .scenarios import Scenario, named

SETTLE_SECONDS = 120.0
BATCH_SECONDS = 3600.0
UNPROCESSABLE = 422
Object = dict[str, Any]
Turn = tuple[Object, list[Object]]  # a pod and its claims, as written


@dataclass
class Written:
    """A scenario as it stands in the API server.

    :param taken: the claims that hold devices by now.
    """

    name: str
    scenario: Scenario
    nodes: list[Object] = field(default_factory=list)
    slices: list[Object] = field(default_factory=list)
    classes: list[Object] = field(default_factory=list)
    taken: list[Claim] = field(default_factory=list)

    def world(self) -> World:
        return World(
            [Place(each["metadata"]["name"], each["metadata"]["labels"]) for each in self.nodes],
            [ResourceSlice.from_api(each) for each in self.slices],
            [DeviceClass.from_api(each) for each in self.classes],
            tuple(self.taken),
        )


@dataclass
class Tally:
    """What was compared."""

    scenarios: int = 0
    pods: int = 0
    placed: int = 0
    refused: int = 0
    stopped: int = 0
    undecided: int = 0
    ambiguous: int = 0
    firstavailable: int = 0
    evicted: int = 0
    rejected: list[str] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)
    disagreements: list[tuple[Scenario, str]] = field(default_factory=list)

    def reject(self, error: KubernetesError) -> None:
        """Count a scenario that the API server does not take; anything but that is an error."""
        if error.status != UNPROCESSABLE:
            raise error
        self.rejected.append(str(error))

    def count(self, verdict: Judged) -> None:
        self.pods += 1
        setattr(self, verdict.kind, getattr(self, verdict.kind) + 1)
        self.firstavailable += verdict.chose
        self.ambiguous += verdict.ambiguous

    def add(self, part: Tally) -> None:
        for name, value in vars(part).items():
            setattr(self, name, getattr(self, name) + value)

    def line(self) -> str:
        return (
            f"{self.scenarios} scenarios, {self.pods} pods: {self.placed} placed "
            f"({self.firstavailable} with alternatives), {self.refused} refused on every node, "
            f"{self.stopped} stopped with an error, {self.undecided} undecided; "
            f"{self.evicted} evicted for a taint, {self.ambiguous} beside counts that disagree, "
            f"{len(self.rejected)} rejected by the API, "
            f"{len(self.unsettled)} not looked at in {SETTLE_SECONDS:.0f} s, "
            f"{len(self.disagreements)} disagreements"
        )


class Oracle:
    """A control plane that plays scenarios, a batch at a time."""

    def __init__(self, api: Kubernetes) -> None:
        self.api = api
        self.batches = 0

    def play(self, scenarios: Sequence[Scenario]) -> Tally:
        """Play the scenarios side by side, except those that no other scenario's nodes may see."""
        tally = Tally()
        together = [each for each in scenarios if not each.get("alone")]
        for batch in ([together] if together else []) + [[each] for each in scenarios if each.get("alone")]:
            tally.add(self._play(batch))
        return tally

    def _play(self, scenarios: Sequence[Scenario]) -> Tally:
        self.batches += 1
        batch = f"batch{self.batches}"
        self.api.create(
            NAMESPACES,
            {"metadata": {"name": batch, "labels": {"resource.kubernetes.io/admin-access": "true"}}},
        )
        for seen in self.api.within(Deadline(SystemClock(), 10)).follow(SERVICE_ACCOUNTS, batch):
            if seen:
                break
        tally = Tally()
        written = []
        for index, scenario in enumerate(scenarios):
            try:
                written.append(Writer(self.api, batch, f"b{self.batches}s{index}").write(scenario))
            except KubernetesError as error:
                tally.reject(error)
        tally.scenarios = len(written)
        onlookers = (
            Onlooker(self.api, PODS, batch, is_settled),
            Onlooker(self.api, CLAIMS, batch, is_allocated),
        )
        turn = 0
        while written:
            written = [each for each in written if turn < len(each.scenario["pods"])]
            written = self.take_turn(batch, written, turn, onlookers, tally)
            turn += 1
        for each in onlookers:
            each.end()
        self.clean(batch)
        return tally

    def take_turn(
        self,
        batch: str,
        written: Sequence[Written],
        turn: int,
        onlookers: tuple[Onlooker, Onlooker],
        tally: Tally,
    ) -> list[Written]:
        """Let one pod of each scenario be placed; return the scenarios that can go on."""
        turns: list[tuple[Written, Turn]] = []
        for each in written:
            try:
                turns.append((each, Writer(self.api, batch, each.name).write_pod(each.scenario, turn)))
            except KubernetesError as error:
                tally.reject(error)
        pods = onlookers[0].until({pod["metadata"]["name"] for _unused, (pod, _claims) in turns})
        # The nomination of a pod comes before the allocation of its claims.
        claims = onlookers[1].until(
            {
                one["metadata"]["name"]
                for _unused, (pod, its_claims) in turns
                for one in its_claims
                if is_placed(pods.get(pod["metadata"]["name"], pod))
            }
        )
        going_on = []
        for each, (pod, its_claims) in turns:
            name = pod["metadata"]["name"]
            allocated = [Claim.from_api(claims.get(one["metadata"]["name"], one)) for one in its_claims]
            if name not in pods or (is_placed(pods[name]) and not all(one.allocation for one in allocated)):
                tally.unsettled.append(f"{name}: {said(pods[name]) if name in pods else 'no word'}")
                continue
            verdict = judged(each.world(), pods[name], its_claims, allocated)
            tally.count(verdict)
            if verdict.problem:
                tally.disagreements.append((each.scenario, f"{name}: {verdict.problem}"))
                continue
            if will_be_evicted(each.world(), allocated):
                tally.evicted += 1
                continue
            each.taken += [one for one in allocated if one.allocation]
            if not is_placed(pods[name]):
                self.api.delete(PODS, name, batch, grace_seconds=0)
            going_on.append(each)
        return going_on

    def clean(self, batch: str) -> None:
        """Remove what a batch wrote; claims go when their pods are gone, nobody waits for that."""
        for resource, query in (
            (PODS, {"gracePeriodSeconds": "0"}),
            (CLAIMS, {}),
            (SLICES, {"labelSelector": f"batch={batch}"}),
            (DEVICE_CLASSES, {"labelSelector": f"batch={batch}"}),
            (NODES, {"labelSelector": f"batch={batch}"}),
        ):
            self.api.request("DELETE", resource.path(batch if resource.namespaced else ""), query=query)


class Onlooker:
    """Sees every change of a kind in a namespace: a pod may be bound, evicted and gone within moments."""

    def __init__(
        self, api: Kubernetes, resource: Resource, namespace: str, holds: Callable[[Object], bool]
    ) -> None:
        self._api = api.within(Deadline(SystemClock(), BATCH_SECONDS))
        self._resource, self._namespace, self._holds = resource, namespace, holds
        self._found: dict[str, Object] = {}
        self._news = threading.Condition()
        self._ended = False
        threading.Thread(target=self._look, daemon=True).start()

    def until(self, names: AbstractSet[str]) -> dict[str, Object]:
        """Return the objects as they were when it first held for them, once it did for all, or in vain."""
        with self._news:
            self._news.wait_for(lambda: names <= self._found.keys(), SETTLE_SECONDS)
            return {name: self._found[name] for name in names if name in self._found}

    def end(self) -> None:
        """Look away, at the next change."""
        self._ended = True

    def _look(self) -> None:
        with contextlib.suppress(DeadlineExceeded):
            for seen in self._api.follow(self._resource, self._namespace):
                if self._ended:
                    return
                for each in [seen.object] if isinstance(seen, Event) else seen:
                    if each["metadata"].get("name") and self._holds(each):  # a bookmark has none
                        with self._news:
                            self._found.setdefault(each["metadata"]["name"], each)
                            self._news.notify_all()


def is_allocated(claim: Object) -> bool:
    return "allocation" in claim.get("status", {})


def is_placed(pod: Object) -> bool:
    return bool(nodes_name(pod))


def is_settled(pod: Object) -> bool:
    scheduled = [c for c in pod["status"].get("conditions", ()) if c["type"] == "PodScheduled"]
    return is_placed(pod) or any(c["status"] == "False" for c in scheduled)


class Writer:
    """Writes one scenario under its own name."""

    def __init__(self, api: Kubernetes, batch: str, name: str) -> None:
        self.api = api
        self.batch = batch
        self.name = name

    def create(self, resource: Resource, name: str, **body: Any) -> Object:
        labels = body.pop("labels", {}) | {"batch": self.batch, "scenario": self.name}
        namespace = self.batch if resource.namespaced else ""
        return self.api.create(resource, {"metadata": {"name": name, "labels": labels}, **body}, namespace)

    def write(self, scenario: Scenario) -> Written:
        """Write everything but the pods and their claims."""
        written = Written(self.name, scenario)
        scenario = named(scenario, self.name)
        size = {"cpu": "1000", "memory": "10Ti", "pods": "1000"}
        for node in scenario["nodes"]:
            status = {"allocatable": size, "capacity": size}
            written.nodes.append(self.create(NODES, node["name"], labels=node["labels"], status=status))
        for index, spec in enumerate(scenario["slices"]):
            written.slices.append(self.create(SLICES, f"{self.name}-{index:02}", spec=spec))
        for each in scenario["classes"]:
            selectors = [{"cel": {"expression": text}} for text in each["selectors"]]
            written.classes.append(self.create(DEVICE_CLASSES, each["name"], spec={"selectors": selectors}))
        for index, result in enumerate(scenario["held"]):
            name = f"{self.name}-held{index}"
            request = {"name": "r", "exactly": {"deviceClassName": "any.example.com"}}
            self.create(CLAIMS, name, spec={"devices": {"requests": [request]}})
            status = {"allocation": {"devices": {"results": [result]}}}
            held = self.api.merge_patch(CLAIMS, name, {"status": status}, self.batch, subresource="status")
            written.taken.append(Claim.from_api(held))
        return written

    def write_pod(self, scenario: Scenario, turn: int) -> Turn:
        """Write one pod, after its claims."""
        wanted = named(scenario, self.name)["pods"][turn]
        claims = [
            self.create(CLAIMS, f"{self.name}-p{turn}-c{number}", spec={"devices": devices})
            for number, devices in enumerate(wanted)
        ]
        names = [claim["metadata"]["name"] for claim in claims]
        container = {
            "name": "main",
            "image": "none",
            "resources": {"claims": [{"name": f"c{i}"} for i in range(len(names))]},
        }
        spec = {
            "nodeSelector": {"scenario": self.name},
            "tolerations": [{"operator": "Exists"}],
            "resourceClaims": [{"name": f"c{i}", "resourceClaimName": n} for i, n in enumerate(names)],
            "containers": [container],
        }
        return self.create(PODS, f"{self.name}-p{turn}", spec=spec), claims
