# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan costs per hour, from a dated price table that the user gives; no price lives in code.

Table: ``{"as_of": "2026-08", "cluster_usd_per_hour": 0.10, "machines": {"g2-standard-8": {"on_demand":
0.854, "spot": 0.341}}}``. A machine's price includes its built-in accelerators; disks and traffic are not
part of the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from .node_pools import NodeCounts

CENT_FRACTION = Decimal("0.0001")


@dataclass(frozen=True, slots=True)
class PricedPool:
    """One pool as far as money is concerned.

    :param spot: whether the machines are spot (flex-start machines are priced as on demand).
    """

    name: str
    machine_type: str
    spot: bool
    nodes: NodeCounts

    @property
    def purchase(self) -> str:
        return "spot" if self.spot else "on_demand"


def hourly_cost(pools: Iterable[PricedPool], prices: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan's cost in USD per hour.

    Shape: ``as_of``, ``usd_per_hour {minimum, initial, maximum}``, ``pools [{name, machine_type,
    purchase, usd_per_node_hour, nodes, usd_per_hour}]`` and ``unpriced``: what the table has no price
    for. Sums are text with four decimals; a sum with something unpriced in it is a lower bound.
    """
    lines, unpriced = [], []
    sums = dict.fromkeys(("minimum", "initial", "maximum"), _usd(prices.get("cluster_usd_per_hour")))
    if prices.get("cluster_usd_per_hour") is None:
        unpriced.append("cluster fee")
    for pool in pools:
        price = (prices.get("machines") or {}).get(pool.machine_type, {}).get(pool.purchase)
        nodes = pool.nodes.as_dict()
        cost = {size: _usd(price) * count for size, count in nodes.items()}
        for size, amount in cost.items():
            sums[size] += amount
        if price is None:
            unpriced.append(f"{pool.machine_type} {pool.purchase} ({pool.name})")
        lines.append(
            {
                "name": pool.name,
                "machine_type": pool.machine_type,
                "purchase": pool.purchase,
                "usd_per_node_hour": None if price is None else _text(_usd(price)),
                "nodes": nodes,
                "usd_per_hour": None if price is None else _texts(cost),
            }
        )
    return {
        "as_of": str(prices.get("as_of", "")),
        "usd_per_hour": _texts(sums),
        "pools": lines,
        "unpriced": unpriced,
    }


def _usd(price: Any) -> Decimal:
    # By way of text: 0.341 as a float is not 0.341.
    return Decimal(str(price or 0))


def _text(amount: Decimal) -> str:
    return str(amount.quantize(CENT_FRACTION))


def _texts(amounts: Mapping[str, Decimal]) -> dict[str, str]:
    return {size: _text(amount) for size, amount in amounts.items()}
