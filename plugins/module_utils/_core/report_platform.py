# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The platform on the report's page: what its nodes cost, which versions it has, whether it is gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .report import SIZES, plural
from .report_parts import code, day, facts, mark, table, usd

Json = Mapping[str, Any]


def cost_table(cost: Json, names: Sequence[str]) -> str:
    """Return what the nodes of each alternative cost per hour at each size."""
    rows = [
        [
            mark(line["alternative"], names),
            usd(line["usd_per_node_hour"]),
            *(_sized(line, size) for size in SIZES),
        ]
        for line in cost["alternatives"]
    ]
    total = ["In all", "", *(usd(cost["usd_per_hour"][size]) for size in SIZES)]
    return table(
        ["", "#A node", "#At least", "#At first", "#At most", "#Last step"], rows, sum_row=total, listed=True
    )


def _sized(line: Json, size: str) -> str:
    nodes = plural(line["nodes"][size], "node")
    return f"{usd(line['usd_per_hour'][size])}<br><span class='soft small'>{nodes}</span>"


def about_cost(cost: Json) -> str:
    """Return what has to be known of these prices."""
    dates = sorted({line["as_of"] for line in cost["alternatives"]})
    said = f"Per hour, prices as of {', '.join(dates)}." if dates else ""
    missing = f" No price is given for {', '.join(cost['unpriced'])}." if cost["unpriced"] else ""
    return f"{said}{missing} Disks, traffic and the cluster's fee are not in it." if dates else ""


def proof(teardown: Json) -> str:
    """Return whether anything was left after a teardown, and what."""
    if not teardown:
        return ""
    asked = escape(", ".join(teardown["asked"]))
    when = f" <span class='soft'>{day(teardown.get('at'))}</span>"
    if teardown["clean"]:
        return f"<p><b class='ok'>Nothing is left.</b>{when}</p><p class='soft'>Asked for {asked}.</p>"
    rows = [
        [escape(each["kind"]), code(_full_name(each)), escape(each["detail"])]
        for each in teardown["leftovers"]
    ]
    money = f"{escape(str(teardown['usd_per_hour']))} USD per hour"
    return (
        f"<p><b class='error'>Not all is gone.</b>{when}</p>"
        f"<p class='soft'>What is left costs {money}, and what "
        f"{escape(', '.join(teardown['unpriced']) or 'nothing else')} costs. Asked for {asked}.</p>"
        f"{table(['What', 'Name', 'Seen'], rows)}"
    )


def _full_name(leftover: Json) -> str:
    return "/".join(filter(None, [leftover["namespace"], leftover["name"]]))


def versions_list(versions: Json) -> str:
    """Return the versions, those of charts last."""
    charts = versions.get("charts") or {}
    pairs = [(name, value) for name, value in versions.items() if name != "charts" and value]
    shown = [
        (NAMES.get(name, name), escape(", ".join(value) if isinstance(value, list) else str(value)))
        for name, value in pairs
    ]
    return facts([*shown, *((f"chart {name}", escape(str(value))) for name, value in charts.items())])


NAMES = {"kubernetes": "Kubernetes", "kubelets": "Kubelets", "ansible_core": "ansible-core"}
