# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as data: what was recorded, arranged by subject; nothing is added that was not seen.

Its shape is roles/report/files/report.schema.json.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

Json = Mapping[str, Any]
SIZES = ("minimum", "initial", "maximum", "now")
DIGITS = 4
CONTRADICTED = "AlternativesDiffer"


def build(
    record: Json, plan: Json, environment: Json, traffic: Json | None = None, teardown: Json | None = None
) -> dict[str, Any]:
    """Return the report.

    Shape: ``environment, versions, plan, steps, replicas, verdicts, traffic, cost, teardown``. What was
    not recorded is empty, never guessed.

    :param record: what the role scale_demo wrote.
    :param plan: what the filter inference_plan made.
    :param traffic: what the role traffic wrote.
    :param teardown: what the playbook teardown wrote.
    """
    steps: Sequence[Json] = record.get("steps", [])
    replicas = list(steps[-1]["service"]) if steps else []
    traffic = if_later(traffic, "now", steps)
    found = [verdict for step in steps for verdict in step.get("verdicts", []) if verdict["status"] != "ok"]
    found += [verdict for replica in replicas for verdict in replica.get("verdicts", [])]
    return {
        "environment": dict(environment),
        "versions": dict(record.get("versions", {})),
        "plan": {
            "alternatives": list(plan.get("alternatives", [])),
            "node_pools": pools_of(plan),
            "prices": dict(plan.get("prices", {})),
        },
        "steps": steps_of(steps),
        "replicas": replicas,
        "verdicts": [*found, *traffic.get("verdicts", [])],
        "traffic": traffic,
        "cost": cost(steps, plan),
        "teardown": if_later(teardown, "at", steps),
    }


def if_later(found: Json | None, key: str, steps: Sequence[Json]) -> dict[str, Any]:
    """Return what was found, nothing where it is older than the last step: it is of an earlier service."""
    if not found:
        return {}
    seen = steps[-1].get("at") if steps else None
    is_old = seen and found.get(key) and moment(found[key]) < moment(seen)
    return {} if is_old else dict(found)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def pools_of(plan: Json) -> list[dict[str, Any]]:
    """Return the planned node pools with their sizes in all zones together."""
    alternative_of = {node["node_pool"]: node["alternative"] for node in plan.get("nodes", [])}
    found = []
    for pool in plan.get("node_pools", []):
        zones = len(pool.get("locations", [])) or 1
        found.append(
            {
                "name": pool["name"],
                "alternative": alternative_of.get(pool["name"], ""),
                "machine_type": pool["machine_type"],
                "spot": pool["spot"],
                "minimum": pool["autoscaling"]["min_node_count"] * zones,
                "initial": pool["initial_node_count"] * zones,
                "maximum": pool["autoscaling"]["max_node_count"] * zones,
            }
        )
    return found


def step_of(step: Json, known: Iterable[str], moments: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a step without its replicas.

    Shape: what was recorded, ``began`` (null where that is not known), ``as_predicted`` (null without a
    prediction) and ``serving [{at, alternatives}]``: from when on how many replicas served.
    """
    predicted = step.get("predicted")
    kept = {key: value for key, value in step.items() if key != "service"}
    return kept | {
        "began": began(step, known),
        "as_predicted": None if predicted is None else as_predicted(step),
        "serving": moments,
    }


def as_predicted(step: Json) -> bool:
    """Return whether a step gave what was predicted, by its verdicts: a prediction may leave some room."""
    if step.get("verdicts"):
        return not any(verdict["reason"] == CONTRADICTED for verdict in step["verdicts"])
    return above_zero(step["predicted"]) == above_zero(step["alternatives"])


def above_zero(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: number for name, number in counts.items() if number}


def began(step: Json, known: Iterable[str]) -> str | None:
    """Return when a step's replicas were asked for: before its wait, and before its first new replica."""
    if not step.get("at"):
        return None
    begun = moment(step["at"]) - timedelta(seconds=step["waited_seconds"])
    new = [each["phases"]["created"] for each in step["service"] if each.get("uid") not in {*known}]
    created = [moment(at) for at in new if at]
    return min([begun, *created]).isoformat()


def steps_of(steps: Sequence[Json]) -> list[dict[str, Any]]:
    """Return the steps with what happened in each.

    A replica serves from when it was ready until the look at which it was no longer there.
    """
    counts: Counter[str] = Counter()
    there: dict[str, str] = {}
    found = []
    for step in steps:
        now = {
            each["uid"]: each for each in step["service"] if each.get("uid") and each["phases"].get("ready")
        }
        came = sorted((each["phases"]["ready"], uid) for uid, each in now.items() if uid not in there)
        known = [*there]
        moments = []
        for at, uid in came:
            there[uid] = now[uid]["alternative"]
            counts[there[uid]] += 1
            moments.append({"at": at, "alternatives": dict(+counts)})
        gone = [uid for uid in there if uid not in now]
        for uid in gone:
            counts[there.pop(uid)] -= 1
        if gone:
            moments.append({"at": step["at"], "alternatives": dict(+counts)})
        found.append(step_of(step, known, moments))
    return found


def cost(steps: Sequence[Json], plan: Json) -> dict[str, Any]:
    """Return what the nodes of the alternatives cost per hour, for those that state a price.

    Shape: ``alternatives [{alternative, usd_per_node_hour, as_of, nodes {minimum, initial, maximum, now},
    usd_per_hour {...}}], usd_per_hour {...}, replicas [{pod, alternative, usd_per_hour}], unpriced``.
    ``now`` is the last step; replicas on one node share its price. Disks, traffic and the cluster's fee
    are not part of it.
    """
    prices = plan.get("prices", {})
    sizes = steps[-1]["node_pools"] if steps else {}
    pools = {pool["alternative"]: pool for pool in pools_of(plan)}
    lines = []
    for name in plan.get("alternatives", []):
        price, pool = prices.get(name), pools.get(name)
        if price is None or pool is None:
            continue
        planned = {size: pool[size] for size in SIZES if size != "now"}
        nodes = {**planned, "now": sizes.get(pool["name"], 0)}
        usd = price["usd_per_hour"]
        lines.append(
            {
                "alternative": name,
                "usd_per_node_hour": usd,
                "as_of": price["as_of"],
                "nodes": nodes,
                "usd_per_hour": {size: round(usd * number, DIGITS) for size, number in nodes.items()},
            }
        )
    priced = {line["alternative"] for line in lines}
    return {
        "alternatives": lines,
        "usd_per_hour": {
            size: round(sum(line["usd_per_hour"][size] for line in lines), DIGITS) for size in SIZES
        },
        "replicas": replica_costs(steps[-1]["service"] if steps else [], prices),
        "unpriced": [name for name in plan.get("alternatives", []) if name not in priced],
    }


def replica_costs(replicas: Sequence[Json], prices: Json) -> list[dict[str, Any]]:
    """Return each replica's share of its node's price, null without one."""
    sharing = Counter(replica["node"] for replica in replicas if replica["node"])
    found = []
    for replica in replicas:
        price = prices.get(replica["alternative"], {}).get("usd_per_hour")
        known = price is not None and replica["node"]
        usd = round(price / sharing[replica["node"]], DIGITS) if known else None
        found.append({"pod": replica["pod"], "alternative": replica["alternative"], "usd_per_hour": usd})
    return found


def summary(report: Json) -> str:
    """Return the report in one sentence."""
    if not report["steps"]:
        return "Nothing was recorded"
    last = report["steps"][-1]
    counts = [
        f"{number} on {name or 'nothing yet'}" for name, number in in_order(last["alternatives"], report)
    ]
    return f"{plural(last['replicas'], 'replica')}: {', '.join(counts)}" if counts else "No replica"


def in_order(counts: Mapping[str, int], report: Json) -> list[tuple[str, int]]:
    """Return the counts above zero in the plan's order, alternatives that it does not have last."""
    names = report["plan"]["alternatives"]
    order = [*names, *(name for name in counts if name not in names)]
    return [(name, counts[name]) for name in order if counts.get(name)]


def plural(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def unmet(steps: Iterable[Json]) -> int:
    """Return how many steps ended otherwise than predicted."""
    return sum(step["as_predicted"] is False for step in steps)
