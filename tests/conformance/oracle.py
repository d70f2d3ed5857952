# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a real scheduler and our own rules the same questions, and lists where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.allocation import (
    best_nodes,
    what_if,
)
from ansible_collections.inference.dra.plugins.module_utils._core.claims import Claim, DeviceClass
from ansible_collections.inference.dra.plugins.module_utils._core.fits import Fit, Refusal
from ansible_collections.inference.dra.plugins.module_utils._core.holdings import holdings
from ansible_collections.inference.dra.plugins.module_utils._core.inventory import Inventory, Place
from ansible_collections.inference.dra.plugins.module_utils._core.resource_pools import pools
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

from .scenarios import Scenario, named

SETTLE_SECONDS = 120.0
UNPROCESSABLE = 422
Object = dict[str, Any]

# What the scheduler's message must contain for a refusal that stops the pod on all nodes.
POD_MESSAGES = {
    "DeviceClassMissing": "does not exist",
    "SelectorError": "CEL runtime error",
    "PoolIncomplete": "is currently being updated",
    "PoolInvalid": "is currently invalid",
    "ConstraintUnsatisfiable": "claim constraint would not be satisfied",
    "TooManyDevices": "exceeds the claim limit",
}


@dataclass
class Written:
    """A scenario as it stands in the API server."""

    name: str
    scenario: Scenario
    nodes: list[Object] = field(default_factory=list)
    slices: list[Object] = field(default_factory=list)
    classes: list[Object] = field(default_factory=list)
    held: list[Object] = field(default_factory=list)
    pods: list[tuple[Object, list[Object]]] = field(default_factory=list)


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
    rejected: list[str] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)
    disagreements: list[tuple[Scenario, str]] = field(default_factory=list)

    def reject(self, error: KubernetesError) -> None:
        """Count a scenario that the API server does not take; anything but that is an error."""
        if error.status != UNPROCESSABLE:
            raise error
        self.rejected.append(str(error))

    def line(self) -> str:
        return (
            f"{self.scenarios} scenarios, {self.pods} pods: {self.placed} placed "
            f"({self.firstavailable} with alternatives), {self.refused} refused on every node, "
            f"{self.stopped} stopped with an error, {self.undecided} undecided, "
            f"{self.ambiguous} ambiguous, {len(self.rejected)} rejected by the API, "
            f"{len(self.unsettled)} not looked at in {SETTLE_SECONDS:.0f} s, "
            f"{len(self.disagreements)} disagreements"
        )


class Oracle:
    """A control plane that plays scenarios, a batch at a time."""

    def __init__(self, api: Kubernetes) -> None:
        self.api = api
        self.batches = 0

    def play(self, scenarios: Sequence[Scenario]) -> Tally:
        """Write the scenarios, let the scheduler place their pods, and compare."""
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
        for each in written:
            try:
                each.pods = Writer(self.api, batch, each.name).write_pods(each.scenario)
            except KubernetesError as error:
                tally.reject(error)
        pods = self.settled_pods(
            batch, {pod["metadata"]["name"] for each in written for pod, _unused in each.pods}
        )
        claims = self.settled_claims(batch, pods)
        for each in written:
            compare(each, pods, claims, tally)
        self.clean(batch)
        return tally

    def settled_pods(self, namespace: str, names: AbstractSet[str]) -> dict[str, Object]:
        """Return the pods once the scheduler has had its say about each of them."""
        found: dict[str, Object] = {}
        waiting = self.api.within(Deadline(SystemClock(), SETTLE_SECONDS))
        try:
            for seen in waiting.follow(PODS, namespace):
                for pod in [seen.object] if isinstance(seen, Event) else seen:
                    if pod["metadata"].get("name") in names:
                        found[pod["metadata"]["name"]] = pod
                if len(found) == len(names) and all(map(is_settled, found.values())):
                    break
        except DeadlineExceeded:
            return {name: pod for name, pod in found.items() if is_settled(pod)}
        return found

    def settled_claims(self, namespace: str, pods: Mapping[str, Object]) -> dict[str, Object]:
        """Return the claims once those of placed pods are allocated: the nomination comes first."""
        expected = {
            entry["resourceClaimName"]
            for pod in pods.values()
            if is_placed(pod)
            for entry in pod["spec"].get("resourceClaims", ())
        }
        found: dict[str, Object] = {}
        waiting = self.api.within(Deadline(SystemClock(), SETTLE_SECONDS))
        for seen in waiting.follow(CLAIMS, namespace):
            for claim in [seen.object] if isinstance(seen, Event) else seen:
                if claim["metadata"].get("name"):  # a bookmark has none
                    found[claim["metadata"]["name"]] = claim
            if all("allocation" in found.get(name, {}).get("status", {}) for name in expected):
                break
        return found

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
            written.held.append(
                self.api.merge_patch(CLAIMS, name, {"status": status}, self.batch, subresource="status")
            )
        return written

    def write_pods(self, scenario: Scenario) -> list[tuple[Object, list[Object]]]:
        written = []
        for index, wanted in enumerate(named(scenario, self.name)["pods"]):
            claims = [
                self.create(CLAIMS, f"{self.name}-p{index}-c{number}", spec={"devices": devices})
                for number, devices in enumerate(wanted)
            ]
            names = [claim["metadata"]["name"] for claim in claims]
            spec = {
                "nodeSelector": {"scenario": self.name},
                "tolerations": [{"operator": "Exists"}],
                "resourceClaims": [{"name": f"c{i}", "resourceClaimName": n} for i, n in enumerate(names)],
                "containers": [
                    {
                        "name": "main",
                        "image": "none",
                        "resources": {"claims": [{"name": f"c{i}"} for i in range(len(names))]},
                    }
                ],
            }
            written.append((self.create(PODS, f"{self.name}-p{index}", spec=spec), claims))
        return written


def compare(
    written: Written, pods_seen: Mapping[str, Object], claims_seen: Mapping[str, Object], tally: Tally
) -> None:
    """Judge the scenario's pods in their order, each after what the scheduler did with those before."""
    tally.scenarios += 1
    slices = [ResourceSlice.from_api(each) for each in written.slices]
    classes = [DeviceClass.from_api(each) for each in written.classes]
    places = [Place(each["metadata"]["name"], each["metadata"]["labels"]) for each in written.nodes]
    taken = [Claim.from_api(each) for each in written.held]
    if any(fault.kind == "count_disagrees" for pool in pools(slices).values() for fault in pool.faults):
        tally.ambiguous += 1
        return
    for pod, claims in written.pods:
        if pod["metadata"]["name"] not in pods_seen:
            tally.unsettled.append(pod["metadata"]["name"])
            return
        tally.pods += 1
        seen = pods_seen[pod["metadata"]["name"]]
        allocated = [Claim.from_api(claims_seen[each["metadata"]["name"]]) for each in claims]
        inventory = Inventory.of(slices, classes, holdings(taken))
        wanted = [Claim.from_api(each).devices for each in claims]
        answers = {place.name: what_if(wanted, place, inventory) for place in places}
        stopped = any(isinstance(each, Refusal) and each.scope == "pod" for each in answers.values())
        if stopped:
            behind = claims_behind(written, pod, claims_seen)
            problem = retried_otherwise(
                wanted, places, (slices, classes, taken, behind), (seen, allocated), tally
            )
        else:
            problem = difference(answers, seen, allocated, tally)
        if problem:
            tally.disagreements.append((written.scenario, f"{pod['metadata']['name']}: {problem}"))
        if problem or stopped:
            return
        taken += [claim for claim in allocated if claim.allocation]


def claims_behind(written: Written, pod: Object, claims_seen: Mapping[str, Object]) -> list[Claim]:
    """Return the claims of the scenario's later pods, in the order of the pods."""
    position = [each["metadata"]["name"] for each, _unused in written.pods].index(pod["metadata"]["name"])
    return [
        Claim.from_api(claims_seen[each["metadata"]["name"]])
        for _unused, claims in written.pods[position + 1 :]
        for each in claims
    ]


def retried_otherwise(
    wanted: Sequence[Any],
    places: Sequence[Place],
    world: tuple[Any, ...],
    seen: tuple[Any, ...],
    tally: Tally,
) -> str:
    """Return how a pod that meets an error was judged otherwise than at any of its turns.

    After an error the scheduler tries again a second later, when some of the pods behind it have had their
    turn; how many is not known.
    """
    slices, classes, taken, behind = world
    problem = ""
    for count in range(len(behind) + 1):
        inventory = Inventory.of(slices, classes, holdings([*taken, *behind[:count]]))
        answers = {place.name: what_if(wanted, place, inventory) for place in places}
        problem = difference(answers, *seen, Tally())
        if not problem:
            return difference(answers, *seen, tally)
    return problem


def difference(
    answers: Mapping[str, Fit | Refusal], pod: Object, allocated: Sequence[Claim], tally: Tally
) -> str:
    """Return what the scheduler did otherwise than we said, empty where it did not."""
    refusals = {name: each for name, each in answers.items() if isinstance(each, Refusal)}
    if any(each.scope == "unknown" for each in refusals.values()):
        tally.undecided += 1
        return ""
    fits = {name: each for name, each in answers.items() if isinstance(each, Fit)}
    if fits and not any(each.scope == "pod" for each in refusals.values()):
        return placed_otherwise(fits, pod, allocated, tally)
    return refused_otherwise(refusals, pod, allocated, tally)


def refused_otherwise(
    refusals: Mapping[str, Refusal], pod: Object, allocated: Sequence[Claim], tally: Tally
) -> str:
    node, message = nodes_name(pod), said(pod)
    stops = [each for each in refusals.values() if each.scope == "pod"]
    if stops:
        tally.stopped += 1
        texts = {POD_MESSAGES[each.reason] for each in stops if each.reason in POD_MESSAGES}
        if node or not any(text in message for text in texts):
            return f"we expected a stop ({', '.join(each.reason for each in stops)}), saw {node or message}"
        return ""
    tally.refused += 1
    if node or "Unschedulable" not in message:
        reasons = "; ".join(f"{name}: {each.reason} {each.text}" for name, each in refusals.items())
        return f"we expected no fit ({reasons}), saw {shown(allocated) if node else message}"
    return ""


def placed_otherwise(fits: Mapping[str, Fit], pod: Object, allocated: Sequence[Claim], tally: Tally) -> str:
    """Return how the pod was placed otherwise than the scores and the search said."""
    tally.placed += 1
    node = nodes_name(pod)
    best = best_nodes(fits)
    if node not in best:
        return f"we expected one of {best}, saw {node or said(pod)}"
    expected = [
        [(given.request, str(given.device), plain(given.consumed)) for given in claim.devices]
        for claim in fits[node].claims
    ]
    tally.firstavailable += any(claim.alternatives for claim in fits[node].claims)
    actual = shown(allocated)
    return "" if expected == actual else f"on {node} we expected {expected}, saw {actual}"


def nodes_name(pod: Object) -> str:
    return str(pod["spec"].get("nodeName") or pod["status"].get("nominatedNodeName", ""))


def said(pod: Object) -> str:
    """Return reason and message with which the scheduler refused the pod."""
    for condition in pod["status"].get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return f"{condition.get('reason')}: {condition.get('message')}"
    return ""


def shown(claims: Iterable[Claim]) -> list[list[tuple[str, str, dict[str, str]]]]:
    return [
        [
            (each.request, str(each.id), plain(each.consumed_capacity))
            for each in (claim.allocation.devices if claim.allocation else ())
        ]
        for claim in claims
    ]


def plain(amounts: Mapping[str, Any]) -> dict[str, str]:
    return {name.rpartition("/")[2]: str(amount) for name, amount in sorted(amounts.items())}
