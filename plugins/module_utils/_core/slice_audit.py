# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the slices of a cluster whatever one expects of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from .driver_names import GPU_DRIVER
from .nodes import Node
from .resource_pool_verdicts import malformed, orphans, pool_verdicts
from .resource_pools import Pool
from .slice_summary import SliceSummary
from .slices import PoolId
from .verdict import Verdict

PLUGIN_RESOURCES: Mapping[str, str] = {GPU_DRIVER: "nvidia.com/gpu"}
"""The extended resource under which a device plugin gives out what a DRA driver gives out too."""


def audit(
    slices: SliceSummary,
    held: Mapping[PoolId, frozenset[str]],
    nodes: Iterable[Node] | None,
    drivers: Collection[str] = (),
) -> Iterator[Verdict]:
    """Yield the verdicts on all pools, or on those of the drivers.

    :param nodes: None where they are not known; nothing is said about orphans then.
    """
    pools = {
        identity: pool for identity, pool in slices.pools.items() if not drivers or identity.driver in drivers
    }
    yield from malformed(slices.problems)
    for identity, pool in pools.items():
        yield from pool_verdicts(pool, held.get(identity, frozenset()))
    if nodes is not None:
        known = {node.name: node for node in nodes}
        yield from orphans(pools, known)
        yield from double_offered(pools, known)


def double_offered(pools: Mapping[PoolId, Pool[Any]], nodes: Mapping[str, Node]) -> Iterator[Verdict]:
    """Yield a verdict for each node whose devices a device plugin and a DRA driver both give out."""
    seen = set()
    for pool in pools.values():
        resource = PLUGIN_RESOURCES.get(pool.id.driver, "")
        for name in pool.node_names if resource and pool.device_names else ():
            amount = nodes[name].allocatable.get(resource, "0") if name in nodes else "0"
            if amount not in ("", "0") and name not in seen:
                seen.add(name)
                yield Verdict(
                    "error",
                    "DoubleOffered",
                    f"Node {name}",
                    observed=f"allocatable {resource} is {amount}, and {pool.id.driver} publishes devices",
                    expected="one of them",
                    advice="label the node pool gke-no-default-nvidia-gpu-device-plugin=true",
                )
