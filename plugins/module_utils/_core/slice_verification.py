# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether drivers publish what is expected, node by node, and where the chain to a device breaks.

The chain: node label, DaemonSet, its pod, the pod's containers, slice, device. A cluster-wide count
hides the twenty nodes of six thousand whose slices never came back (kubernetes/kubernetes#140011).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .abridged import abridged
from .claims import Claim
from .driver_chain import BrokenLink, Publisher
from .nodes import Node
from .resource_pools import NodePool, Pool, PoolIndex, State, blocks_new_claims
from .rollouts import Deployment
from .slice_expectations import FIELDS, Expectation, Lack
from .slice_summary import SliceOutline, SliceSummary
from .slices import PoolId
from .verdict import Verdict
from .workloads import Name

NAMED = 50
"""So many nodes of an expectation get a verdict of their own; the others are named together."""


@dataclass(frozen=True)
class Published:
    """What is judged; None where a kind could not be read, and nothing is said about its absence.

    :param held: devices that claims hold, by pool.
    :param publishers: DaemonSets with their pods.
    :param deployments: controllers of cluster-wide pools.
    """

    slices: SliceSummary
    held: Mapping[PoolId, frozenset[str]] = field(default_factory=dict)
    nodes: tuple[Node, ...] | None = None
    publishers: Mapping[Name, Publisher] | None = None
    deployments: Mapping[Name, Deployment] | None = None
    device_classes: frozenset[str] | None = None


@dataclass(frozen=True)
class Outcome:
    """One expectation and what became of it.

    :param targets: nodes that are meant, ``devices`` how many devices counted on all of them.
    :param missing: the nodes with another number of devices than expected.
    """

    expectation: Expectation
    targets: int
    devices: int
    missing: tuple[str, ...]
    verdicts: tuple[Verdict, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the mapping for module results, without the verdicts."""
        return {
            "alternative": self.expectation.alternative,
            "driver": self.expectation.driver,
            "nodes": self.targets,
            "devices": self.devices,
            "missing_nodes": list(self.missing),
        }


def verify(expectations: Iterable[Expectation], published: Published) -> list[Outcome]:
    """Return the outcome of each expectation."""
    index = PoolIndex(published.slices.pools)
    return [
        _Judge(number, expectation, published, index).outcome()
        for number, expectation in enumerate(expectations)
    ]


def held_devices(claims: Iterable[Claim]) -> dict[PoolId, frozenset[str]]:
    """Return the devices that claims hold, by pool; admin access and shares hold no whole device."""
    found: defaultdict[PoolId, set[str]] = defaultdict(set)
    for claim in claims:
        for device in claim.allocation.devices if claim.allocation else ():
            if not device.admin_access and not device.share_id:
                found[device.id.pool_id].add(device.device)
    return {pool: frozenset(names) for pool, names in found.items()}


@dataclass(frozen=True)
class Tally:
    """The devices of one place: how many count, and why the others do not."""

    counted: int = 0
    published: int = 0
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "; ".join((f"{self.counted} of {self.published} published devices count", *self.left_out))


class _Judge:
    """Judges one expectation."""

    def __init__(
        self,
        number: int,
        expectation: Expectation,
        published: Published,
        index: PoolIndex[SliceOutline],
    ) -> None:
        self.number = number
        self.wanted = expectation
        self.published = published
        self.index = index

    def outcome(self) -> Outcome:
        verdicts = [*self._class_verdicts(), *self._controller_verdicts(), *self._lack_verdicts()]
        if self.wanted.all_nodes:
            devices, found = self._everywhere()
            return self._result(0, devices, (), [*verdicts, *found])
        if self.published.nodes is None:
            verdicts.append(self._verdict("warning", "ObjectsMissing", "nodes could not be read"))
            return self._result(0, 0, (), verdicts)
        targets = [node for node in self.published.nodes if self.wanted.selects(node.labels)]
        if not targets:
            return self._result(0, 0, (), [*verdicts, self._no_targets()])
        devices, missing = 0, []
        for node in targets:
            tally, links = self._on_node(node)
            devices += tally.counted
            if not self.wanted.is_enough(tally.counted):
                missing.append(node.name)
                if len(missing) <= NAMED:
                    verdicts.append(self._node_verdict(node, tally, links))
        if len(missing) > NAMED:
            verdicts.append(self._others(missing[NAMED:]))
        return self._result(len(targets), devices, tuple(missing), verdicts)

    def _result(
        self, targets: int, devices: int, missing: tuple[str, ...], verdicts: list[Verdict]
    ) -> Outcome:
        if not any(each.at_least("warning") for each in verdicts):
            where = "cluster-wide" if self.wanted.all_nodes else f"on {targets} nodes"
            verdicts.append(self._verdict("ok", "DevicesPublished", f"{devices} devices count {where}"))
        return Outcome(self.wanted, targets, devices, missing, tuple(verdicts))

    # Nodes

    def _on_node(self, node: Node) -> tuple[Tally, list[NodePool[SliceOutline]]]:
        pools = [pool for pool in self.index.on_node(node.name, node.labels) if self._is_meant(pool.id)]
        tally = Tally()
        for pool in pools:
            names = pool.device_names(node.labels)
            found = self._tally(pool.id, pool.state, pool.slices, names, f"{pool.id} is {_fault(pool)}")
            tally = _sum(tally, found)
        return tally, pools

    def _node_verdict(self, node: Node, tally: Tally, pools: list[NodePool[SliceOutline]]) -> Verdict:
        link = self._broken_link(node)
        if link is None and not pools:
            link = BrokenLink(
                "DriverSlicesMissing",
                f"no slice of {self.wanted.driver}{'' if node.ready else ', and the node is not ready'}",
                "look at the log of the driver's pod on that node",
            )
        if link is None:
            evidence = tuple(f"ResourceSlice {each.name}" for pool in pools for each in pool.slices[:4])
            link = BrokenLink(
                "DevicesMissing", str(tally), "look at what the driver publishes there", evidence
            )
        return Verdict(
            "error",
            link.reason,
            f"Node {node.name}",
            observed=link.observed,
            expected=f"{self.wanted.wanted_devices} of {self.wanted.driver}",
            advice=link.advice,
            evidence=link.evidence,
        )

    def _broken_link(self, node: Node) -> BrokenLink | None:
        name = self.wanted.daemon_set
        if name is None or self.published.publishers is None:
            return None
        publisher = self.published.publishers.get(name)
        if publisher is None:
            return BrokenLink(
                "DriverMissing", f"DaemonSet {'/'.join(name)} does not exist", "install the driver"
            )
        return publisher.broken_link(node)

    def _no_targets(self) -> Verdict:
        labels = (
            ", ".join(f"{key}={value}" for key, value in self.wanted.node_selector.items()) or "any label"
        )
        fine = self.wanted.allow_no_nodes
        return self._verdict(
            "note" if fine else "error",
            "NoTargetNodes",
            f"no node has {labels}",
            expected="" if fine else "at least one node, or allow_no_nodes",
        )

    def _others(self, names: list[str]) -> Verdict:
        return self._verdict(
            "error",
            "DevicesMissing",
            f"{len(names)} more nodes have not {self.wanted.wanted_devices}",
            evidence=tuple(f"Node {name}" for name in names[:NAMED]),
        )

    # Cluster-wide pools

    def _everywhere(self) -> tuple[int, list[Verdict]]:
        pools = [pool for pool in self.published.slices.pools.values() if self._is_meant(pool.id)]
        where = f"{self.wanted.driver}{f'/{self.wanted.pool}' if self.wanted.pool else ''}"
        if not pools:
            verdict = self._verdict("error", "DriverSlicesMissing", f"no slice of {where}")
            return 0, [verdict]
        tally = Tally()
        for pool in pools:
            complaint = f"{pool.id} is {_fault(pool)}"
            tally = _sum(tally, self._tally(pool.id, pool.state, pool.slices, pool.device_names, complaint))
        if self.wanted.is_enough(tally.counted):
            return tally.counted, []
        return tally.counted, [self._verdict("error", "DevicesMissing", str(tally))]

    # Devices

    def _is_meant(self, identity: PoolId) -> bool:
        return identity.driver == self.wanted.driver and self.wanted.pool in ("", identity.pool)

    def _tally(
        self,
        identity: PoolId,
        state: State,
        slices: Iterable[SliceOutline],
        names: tuple[str, ...],
        complaint: str,
    ) -> Tally:
        """Return how many of a pool's devices count.

        A device that is held and no longer published counts as published: some drivers withdraw
        what is in use (google/dranet#178).
        """
        slices = tuple(slices)
        held = self.published.held.get(identity, frozenset())
        withdrawn = held - set(names) if _is_of_one_node(slices) else frozenset()
        if state != "complete":
            return Tally(0, len(names), (complaint,))
        lacking = {
            name
            for each in slices
            for name, lacks in each.remarks.items()
            if any(lack.status == "error" for lack in lacks.get(self.number, ()))
        }
        groups: dict[str, set[str]] = {"lack what is required": set(names) & lacking}
        if self.wanted.count == "free":
            groups["are held"] = set(names) & held
            groups["are tainted"] = set(names) & {
                name
                for each in slices
                for name, taints in each.taints.items()
                if any(map(blocks_new_claims, taints))
            }
        good = set(names).difference(*groups.values())
        counted = len(good) + (len(withdrawn) if self.wanted.count == "published" else 0)
        left_out = tuple(f"{len(group)} {why}" for why, group in groups.items() if group)
        return Tally(counted, len(names) + len(withdrawn), left_out)

    def _lack_verdicts(self) -> Iterator[Verdict]:
        for pool in self.published.slices.pools.values():
            if not self._is_meant(pool.id):
                continue
            by_lack: defaultdict[Lack, list[str]] = defaultdict(list)
            for each in pool.slices:
                for name, lacks in each.remarks.items():
                    for lack in lacks.get(self.number, ()):
                        by_lack[lack].append(name)
            for lack, names in by_lack.items():
                yield Verdict(
                    lack.status,
                    lack.reason,
                    pool.subject,
                    observed=f"{lack.text}: {abridged(sorted(names))}",
                    expected=f"as required of {self.wanted.driver}",
                    advice=_advice(lack),
                )

    # The class, and the controller of a cluster-wide pool

    def _class_verdicts(self) -> Iterator[Verdict]:
        name, classes = self.wanted.device_class, self.published.device_classes
        if name and classes is not None and name not in classes:
            yield Verdict(
                "error",
                "DeviceClassMissing",
                f"DeviceClass {name}",
                observed="does not exist",
                expected=f"a class that selects devices of {self.wanted.driver}",
                advice="install the driver's chart, or create the class",
            )

    def _controller_verdicts(self) -> Iterator[Verdict]:
        name = self.wanted.deployment
        if name is None or self.published.deployments is None:
            return
        deployment = self.published.deployments.get(name)
        rollout = deployment.rollout() if deployment else None
        if deployment is None or rollout is None or not deployment.available:
            state = "does not exist" if rollout is None else rollout.observed
            yield Verdict(
                "error",
                "GateWithoutController",
                f"Deployment {'/'.join(name)}",
                observed=f"{state}, while {self.wanted.driver} may be allocated",
                expected="an available replica; else pods wait until the binding timeout",
                advice="look at the controller's pods, or delete its slice until it runs",
            )
        elif self.wanted.rolled_out and rollout.state != "complete":
            yield Verdict(
                "error",
                "ControllerRollsOut",
                f"Deployment {'/'.join(name)}",
                observed=rollout.observed,
                expected="all replicas of the specification that was applied last",
                advice="look at the controller's newest pods; the former ones go on until these are ready",
            )

    def _verdict(self, status: Any, reason: str, observed: str, expected: str = "", **more: Any) -> Verdict:
        name = f"{self.wanted.driver}{f' for {self.wanted.alternative}' if self.wanted.alternative else ''}"
        if status == "error" and not expected:
            expected = self.wanted.wanted_devices
        return Verdict(status, reason, f"Driver {name}", observed, expected, **more)


def _advice(lack: Lack) -> str:
    if lack.reason != "FieldDropped":
        return ""
    gates = ", ".join(gate for name, gate in FIELDS.items() if lack.text.startswith(name))
    return f"the API server drops the field where its feature gate {gates} is off"


def _fault(pool: NodePool[SliceOutline] | Pool[SliceOutline]) -> str:
    return f"{pool.state} ({'; '.join(fault.detail for fault in pool.faults)})"


def _is_of_one_node(slices: Iterable[SliceOutline]) -> bool:
    return len({each.node_selection.node_name for each in slices}) == 1


def _sum(one: Tally, other: Tally) -> Tally:
    return Tally(
        one.counted + other.counted, one.published + other.published, (*one.left_out, *other.left_out)
    )
