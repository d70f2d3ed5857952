# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as data: what was recorded, arranged by subject; nothing is added that was not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]


def build(record: Record, plan: Mapping[str, Any], environment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report.

    Shape: ``environment, versions, plan, steps, replicas, verdicts, traffic, cost, teardown``. What was
    not recorded is empty, never guessed.
    """
    steps: Sequence[Mapping[str, Any]] = record.get("steps", [])
    replicas = list(steps[-1]["service"]) if steps else []
    return {
        "environment": dict(environment),
        "versions": dict(record.get("versions", {})),
        "plan": {
            "alternatives": list(plan.get("alternatives", [])),
            "node_pools": [
                {
                    "name": pool["name"],
                    "machine_type": pool["machine_type"],
                    "spot": pool["spot"],
                    "maximum": pool["autoscaling"]["max_node_count"],
                }
                for pool in plan.get("node_pools", [])
            ],
            "prices": dict(plan.get("prices", {})),
        },
        "steps": [{key: value for key, value in step.items() if key != "service"} for step in steps],
        "replicas": replicas,
        "verdicts": [verdict for replica in replicas for verdict in replica.get("verdicts", [])],
        "traffic": list(record.get("traffic", [])),
        "cost": cost(steps, plan),
        "teardown": list(record.get("teardown", [])),
    }


def cost(steps: Sequence[Mapping[str, Any]], plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the node pools of the last step cost per hour, for those that state a price."""
    prices = plan.get("prices", {})
    pool_of = {node["alternative"]: node["node_pool"] for node in plan.get("nodes", [])}
    sizes = steps[-1]["node_pools"] if steps else {}
    lines = [
        {
            "alternative": name,
            "nodes": sizes.get(pool_of.get(name, ""), 0),
            "usd_per_hour": round(sizes.get(pool_of.get(name, ""), 0) * price["usd_per_hour"], 4),
            "as_of": price["as_of"],
        }
        for name, price in prices.items()
    ]
    return {"lines": lines, "usd_per_hour": round(sum(line["usd_per_hour"] for line in lines), 4)}


def summary(report: Mapping[str, Any]) -> str:
    """Return the report in one sentence."""
    if not report["steps"]:
        return "Nothing was recorded"
    last = report["steps"][-1]
    names = report["plan"]["alternatives"]
    order = [*names, *(name for name in last["alternatives"] if name not in names)]
    counts = [
        f"{last['alternatives'][name]} on {name or 'nothing yet'}"
        for name in order
        if last["alternatives"].get(name)
    ]
    return f"{last['replicas']} replicas: {', '.join(counts)}"
