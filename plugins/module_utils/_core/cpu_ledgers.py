# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPUs of claims and CPUs of pod requests are two ledgers, and nothing adds them up.

The scheduler counts a pod's requests, the CPU driver gives out whole CPUs to claims, and neither sees the
other (kubernetes-sigs/dra-driver-cpu#179; node-allocatable mapping, KEP-5517, is alpha in 1.37).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .abridged import NAMED
from .claims import Claim, Request
from .driver_names import CPU_DRIVER
from .holdings import Holdings
from .inventory import Inventory
from .nodes import Node
from .pods import Pod
from .quantity import ZERO, Quantity, QuantityError, parse
from .refusals import class_drivers
from .verdict import Verdict

CAPACITY = "dra.cpu/cpu"


def cpu_verdicts(
    pod: Pod, claims: Sequence[Claim], nodes: Iterable[Node], inventory: Inventory
) -> Iterator[Verdict]:
    """Yield what is wrong between a pod's CPU claims and its own requests."""
    with_cpus = [claim for claim in claims if _asks_for_cpus(claim)]
    if not with_cpus:
        return
    for claim in with_cpus:
        yield from _shared_between_containers(pod, claim)
    requested = _requested(pod)
    others = {name for claim in with_cpus for name in _other_drivers(claim, inventory)}
    if requested > ZERO and others:
        yield from _excluded(pod, requested, others, nodes, inventory)
    if requested == ZERO and any(_holds_cpus(claim) for claim in with_cpus):
        yield Verdict(
            "note",
            "CpuRequestsMissing",
            pod.subject,
            observed="its claim holds CPUs and its containers request none",
            expected="requests that say what the node really gives",
            advice="the scheduler places other pods on the same CPUs, and the pod is among the first to be "
            "evicted; requests as large as the claim would pass over the nodes of a smaller alternative",
        )


def exhausted_cpus(held: Holdings, inventory: Inventory) -> Iterator[Verdict]:
    """Yield a warning for every CPU device without a CPU left for containers that have no claim."""
    for device in sorted(each for each in held.shares if each.driver == CPU_DRIVER):
        published = inventory.device(device)
        capacity = published.capacity.get(CAPACITY) if published else None
        if capacity is None or held.consumed(device).get(CAPACITY, ZERO) < capacity.value:
            continue
        yield Verdict(
            "warning",
            "CpuPoolExhausted",
            f"Device {device}",
            observed=f"claims hold all {capacity.value} CPUs",
            expected="CPUs left for the containers without a claim",
            advice="leave headroom, such as 12 of 16: without any, preparation fails or other containers run "
            "on the CPUs of claims (kubernetes-sigs/dra-driver-cpu#134)",
            evidence=tuple(f"ResourceClaim {name}" for name in held.holders(device)),
        )


def _asks_for_cpus(claim: Claim) -> bool:
    return any(_with_cpus(request) for request in claim.devices.requests)


def _with_cpus(request: Request) -> bool:
    return any(CAPACITY in each.capacity for each in request.alternatives)


def _holds_cpus(claim: Claim) -> bool:
    return any(
        each.id.driver == CPU_DRIVER for each in (claim.allocation.devices if claim.allocation else ())
    )


def _shared_between_containers(pod: Pod, claim: Claim) -> Iterator[Verdict]:
    entries = {
        each.name
        for each in pod.claims
        if claim.meta.name == each.claim_name or claim.pod_claim_name == each.name
    }
    requests = {"", *(each.name for each in claim.devices.requests if _with_cpus(each))}
    users = [
        container.name
        for container in pod.containers
        if any(name in entries and request in requests for name, request in container.claims)
    ]
    if len(users) > 1:
        yield Verdict(
            "error" if _holds_cpus(claim) else "warning",
            "CpuClaimShared",
            pod.subject,
            observed=f"containers {', '.join(users)} use claim {claim.meta.name}",
            expected="one container for a claim with CPUs",
            advice="the CPU driver pins one container; creating the second one fails",
        )


def _requested(pod: Pod) -> Quantity:
    """Return the CPUs that the pod's containers request together; init containers run before them."""
    total = ZERO
    for container in pod.spec.get("containers") or ():
        resources = container.get("resources") or {}
        text = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}.get("cpu")
        total = total + _amount(text)
    return total


def _amount(text: object) -> Quantity:
    try:
        return parse(str(text)) if text else ZERO
    except QuantityError:
        return ZERO


def _other_drivers(claim: Claim, inventory: Inventory) -> Iterator[str]:
    """Yield the drivers of published devices that another alternative of the same request may get."""
    for request in filter(_with_cpus, claim.devices.requests):
        for each in request.alternatives:
            if CAPACITY not in each.capacity and each.device_class in inventory.classes:
                yield from class_drivers(each, inventory)


def _excluded(
    pod: Pod, requested: Quantity, others: set[str], nodes: Iterable[Node], inventory: Inventory
) -> Iterator[Verdict]:
    published = {
        each.node_selection.node_name
        for identity, pool in inventory.pools.items()
        if identity.driver in others
        for each in pool.slices
    }
    meant = [node for node in nodes if node.name in published and node.allocatable.get("cpu")]
    small = [node for node in meant if _amount(node.allocatable["cpu"]) < requested]
    if not small or len(small) < len(meant):
        return
    yield Verdict(
        "warning",
        "CpuRequestsExcludeNodes",
        pod.subject,
        observed=f"its containers request {requested} CPUs; "
        + ", ".join(f"{node.name} has {node.allocatable['cpu']}" for node in small[:NAMED]),
        expected=f"requests that fit the nodes of {', '.join(sorted(others))} too",
        advice="requests that mirror the CPUs of one alternative pass over the smaller nodes of another",
    )
