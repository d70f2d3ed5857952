# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as one page: no network, no script, light and dark, readable on a phone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from itertools import pairwise
from typing import Any

from .report import summary

PHASES = ("created", "allocated", "image_switched", "bound", "ready")
WORDS = {
    "created": "waits for devices",
    "allocated": "waits for its image",
    "image_switched": "waits for its node",
    "bound": "starts",
}
ROW, WIDTH, NAME = 26, 720, 190
WIDE_COLUMNS = 4

STYLE = """
:root{--bg:#fff;--fg:#1c2024;--soft:#5f6b76;--line:#dde3e8;--card:#f5f7f9;
--a0:#2f7d4f;--a1:#b8651a;--a2:#5b58b8;
--p0:#c9d3dc;--p1:#e8b04b;--p2:#7aa6d8;--p3:#9b8bd0;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--bg:#14181c;--fg:#e6eaee;--soft:#9aa6b1;
--line:#2c343b;--card:#1c2228;--a0:#2f7d4f;--a1:#a8601f;--a2:#6a67c4;
--p0:#44505a;--p1:#c9922e;--p2:#4f7fb5;--p3:#7463b0;--bad:#f2887f}}
body{margin:0 auto;max-width:60rem;padding:1.5rem 1rem 4rem;background:var(--bg);color:var(--fg);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2.2rem 0 .6rem}
p{margin:.3rem 0}.soft{color:var(--soft)}
.cards{display:flex;flex-wrap:wrap;gap:.8rem;margin-top:1.2rem}
.card{background:var(--card);border-radius:.6rem;padding:.7rem 1rem;flex:1 1 7.5rem}
.card b{display:block;font-size:1.5rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;padding:.4rem .7rem .4rem 0;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--soft);font-weight:500}code{font-size:.85em;overflow-wrap:anywhere}
.wide table{min-width:46rem}
.chip{display:inline-block;padding:0 .55rem;border-radius:1rem;color:#fff}
.a0{background:var(--a0)}.a1{background:var(--a1)}.a2{background:var(--a2)}
svg{width:100%;min-width:36rem;height:auto;font:12px system-ui,sans-serif}svg text{fill:var(--fg)}
.p0{fill:var(--p0)}.p1{fill:var(--p1)}.p2{fill:var(--p2)}.p3{fill:var(--p3)}
.error,.warning{color:var(--bad)}
.key{display:inline-block;width:.8rem;height:.8rem;border-radius:.2rem;margin:0 .35rem 0 1rem;
vertical-align:-.1rem}
"""


def render(report: Mapping[str, Any]) -> str:
    """Return the whole page."""
    names = report["plan"]["alternatives"]
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width,initial-scale=1'>",
        f"<title>{escape(summary(report))}</title><style>{STYLE}</style>",
        f"<h1>{escape(summary(report))}</h1>",
        f"<p class='soft'>{escape(_environment(report['environment']))}</p>",
        _cards(report, names),
        _section("Steps", _steps(report["steps"], names)),
        _section("Time line", _time_line(report["replicas"])),
        _section("Replicas", _replicas(report["replicas"], names)),
        _section("Findings", _verdicts(report["verdicts"])),
        _section("Cost", _cost(report["cost"])),
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _section(title: str, body: str) -> str:
    return f"<h2>{title}</h2>{body}" if body else ""


def _environment(environment: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in environment.items() if value)


def _chip(name: str, names: Sequence[str]) -> str:
    color = names.index(name) % 3 if name in names else 0
    return (
        f"<span class='chip a{color}'>{escape(name)}</span>" if name else "<span class='soft'>none yet</span>"
    )


def _cards(report: Mapping[str, Any], names: Sequence[str]) -> str:
    if not report["steps"]:
        return ""
    last = report["steps"][-1]
    cards = [(str(last["alternatives"].get(name, 0)), f"replicas on {name}") for name in names]
    cards.append((f"{sum(step['waited_seconds'] for step in report['steps']):.0f} s", "waited in all steps"))
    cards.append((f"$ {report['cost']['usd_per_hour']:.2f}", "per hour at this size"))
    body = "".join(f"<div class='card'><b>{escape(value)}</b>{escape(text)}</div>" for value, text in cards)
    return f"<div class='cards'>{body}</div>"


def _table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    heads = "".join(f"<th>{escape(text)}</th>" for text in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    wide = " wide" if len(head) > WIDE_COLUMNS else ""
    return f"<div class='scroll{wide}'><table><tr>{heads}</tr>{body}</table></div>" if body else ""


def _steps(steps: Iterable[Mapping[str, Any]], names: Sequence[str]) -> str:
    rows = (
        (
            str(step["replicas"]),
            " ".join(
                f"{step['alternatives'][name]} {_chip(name, names)}"
                for name in names
                if step["alternatives"].get(name)
            ),
            escape(", ".join(f"{pool} {size}" for pool, size in sorted(step["node_pools"].items()))),
            f"{step['waited_seconds']:.1f} s",
        )
        for step in steps
    )
    return _table(("Replicas", "On", "Nodes", "Waited"), rows)


def _replicas(replicas: Iterable[Mapping[str, Any]], names: Sequence[str]) -> str:
    rows = (
        (
            f"<code>{escape(replica['pod'])}</code>",
            _chip(replica["alternative"], names),
            escape(f"{replica['machine_type']}{', spot' if replica['spot'] else ''}"),
            "<br>".join(f"<code>{escape(device)}</code>" for device in replica["devices"]),
            f"<code>{escape(replica['image'])}</code>",
        )
        for replica in replicas
    )
    return _table(("Pod", "On", "Machine", "Devices", "Image"), rows)


def _verdicts(verdicts: Iterable[Mapping[str, Any]]) -> str:
    rows = (
        (
            f"<span class='{escape(verdict['status'])}'>{escape(verdict['status'])}</span>",
            f"<b>{escape(verdict['reason'])}</b><br>{escape(verdict['subject'])}",
            f"{escape(verdict['observed'])}<br><span class='soft'>{escape(verdict['advice'])}</span>",
        )
        for verdict in verdicts
    )
    return _table(("", "What", "Seen, and what to do"), rows) or "<p>Nothing to report.</p>"


def _cost(cost: Mapping[str, Any]) -> str:
    rows = (
        (
            escape(line["alternative"]),
            str(line["nodes"]),
            f"$ {line['usd_per_hour']:.3f}",
            escape(line["as_of"]),
        )
        for line in cost["lines"]
    )
    return _table(("Alternative", "Nodes", "Per hour", "Prices as of"), rows)


def _time_line(replicas: Sequence[Mapping[str, Any]]) -> str:
    """Return a bar per replica from its creation: how long it waited for each of the steps to serving."""
    seen = [(replica, _moments(replica["phases"])) for replica in replicas]
    seen = [(replica, moments) for replica, moments in seen if "created" in moments]
    if not seen:
        return ""
    seconds = max((max(found.values()) - found["created"]).total_seconds() for _unused, found in seen)
    scale = (WIDTH - NAME - 60) / max(seconds, 1.0)

    bars = []
    for index, (replica, found) in enumerate(seen):
        top = index * ROW
        label = f"{replica['pod'][-11:]} {replica['alternative']}"
        bars.append(f"<text x='0' y='{top + 17}'>{escape(label)}</text>")
        reached = [name for name in PHASES if name in found]
        for number, (begin, end) in enumerate(pairwise(reached)):
            left = NAME + (found[begin] - found["created"]).total_seconds() * scale
            took = (found[end] - found[begin]).total_seconds()
            bars.append(
                f"<rect class='p{number}' x='{left:.1f}' y='{top + 6}' "
                f"width='{max(took * scale, 1.5):.1f}' height='14' rx='3'>"
                f"<title>{WORDS[begin]}: {took:.1f} s</title></rect>"
            )
    bottom = len(seen) * ROW + 16
    axis = (
        f"<text x='{NAME}' y='{bottom}'>created</text>"
        f"<text x='{WIDTH - 60}' y='{bottom}'>{seconds:.0f} s</text>"
    )
    keys = "".join(
        f"<span class='key' style='background:var(--p{number})'></span>{word}"
        for number, word in enumerate(WORDS.values())
    )
    picture = f"<svg viewBox='0 0 {WIDTH} {bottom + 6}' role='img'>{''.join(bars)}{axis}</svg>"
    return f"<p class='soft'>{keys}</p><div class='scroll'>{picture}</div>"


def _moments(phases: Mapping[str, str | None]) -> dict[str, datetime]:
    return {name: datetime.fromisoformat(text) for name, text in phases.items() if text}
