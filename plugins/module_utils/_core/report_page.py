# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as one page: no network, no script, light and dark, readable on a phone and on paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from statistics import median
from typing import Any

from .reasons import REASONS
from .report import in_order, plural, summary, unmet
from .report_charts import Bar, course, lanes, panel
from .report_parts import (
    clock,
    code,
    codes,
    color,
    counts,
    day,
    mark,
    moment,
    number,
    seconds,
    section,
    table,
    usd,
)
from .report_platform import about_cost, cost_table, proof, versions_list
from .report_style import STYLE
from .verdict import SEVERITY

Json = Mapping[str, Any]
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
NOTHING = "<p>Nothing to report.</p>"


def render(report: Json) -> str:
    """Return the whole page."""
    names = report["plan"]["alternatives"]
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        "<meta name='viewport' content='width=device-width,initial-scale=1'>",
        f"<title>{escape(summary(report))}</title><style>{STYLE}</style></head><body>",
        _head(report, names),
        _figures(report),
        section("Replicas over time", course(report["steps"], names), "How many served, and on what."),
        section("Steps", _steps(report, names), "What each step was to end with, and what it did."),
        section("To serving", lanes(report["replicas"], names), "Each replica from its creation."),
        section("Speed and cost", _traffic(report["traffic"], names), _about_traffic(report["traffic"])),
        section("Replicas", _replicas(report, names), "Of the last step."),
        section("Findings", _findings(report), "What was noticed, and what to do."),
        section("Evidence", _evidence(report["replicas"], names), "What each claim itself shows."),
        section("Nodes", cost_table(report["cost"], names), about_cost(report["cost"])),
        section("Teardown", proof(report["teardown"]), "By asking the APIs, after everything was deleted."),
        section("Versions", versions_list(report["versions"])),
        "<footer>Made from recorded data only, and complete in itself: nothing is loaded.</footer>",
        "</body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _head(report: Json, names: Sequence[str]) -> str:
    last = report["steps"][-1] if report["steps"] else {}
    where = [str(value) for value in report["environment"].values() if value]
    line = " &middot; ".join([*map(escape, where), *filter(None, [day(last.get("at"))])])
    return (
        f"<header><p class='eyebrow'>{line}</p><h1>{_headline(report, names)}</h1>"
        f"<p class='lead'>{_lead(report)}</p></header>"
    )


def _headline(report: Json, names: Sequence[str]) -> str:
    """Return the summary with each alternative in its color."""
    if not report["steps"]:
        return escape(summary(report))
    last = report["steps"][-1]
    found = [
        f"<span class='on {color(name, names)}'>{count} on {escape(name or 'nothing yet')}</span>"
        for name, count in in_order(last["alternatives"], report)
    ]
    return f"{plural(last['replicas'], 'replica')}: {', '.join(found)}" if found else "No replica"


def _lead(report: Json) -> str:
    steps = report["steps"]
    sentences = []
    predicted = [step for step in steps if step["as_predicted"] is not None]
    if predicted:
        missed = unmet(predicted)
        said = "ended otherwise than predicted" if missed else "ended as predicted"
        word = "error" if missed else "ok"
        how_many = (
            f"{missed} of {plural(len(predicted), 'step')}" if missed else _all_of(len(predicted), "step")
        )
        sentences.append(f"<b class='{word}'>{how_many} {said}.</b>")
    by_status = Counter(verdict["status"] for verdict in report["verdicts"])
    grave = [plural(by_status[status], status) for status in ("error", "warning") if by_status[status]]
    if grave:
        word = "error" if by_status["error"] else "warning"
        sentences.append(f"<b class='{word}'>{' and '.join(grave)}</b> to look at.")
    elif steps:
        notes = f", {plural(by_status['note'], 'note')}" if by_status["note"] else ""
        sentences.append(f"No error and no warning{notes}.")
    torn = report["teardown"]
    if torn:
        sentences.append(
            "Torn down; nothing is left."
            if torn["clean"]
            else "<b class='error'>Torn down, and not all is gone.</b>"
        )
    return " ".join(sentences)


def _all_of(count: int, word: str) -> str:
    return f"The {word}" if count == 1 else f"All {count} {word}s"


def _figures(report: Json) -> str:
    if not report["steps"]:
        return ""
    found = [
        ("waited in all steps", seconds(sum(step["waited_seconds"] for step in report["steps"]))),
    ]
    ways = [took for replica in report["replicas"] if (took := _took(replica["phases"])) is not None]
    if ways:
        found.insert(0, ("from creation to serving, median", seconds(median(ways))))
    rates = [each["tokens_per_second"] for each in report["traffic"].get("alternatives", [])]
    if any(rates):
        found.append(
            ("generated by all replicas", f"{number(sum(filter(None, rates)))} <small>tokens/s</small>")
        )
    if report["cost"]["alternatives"]:
        found.append(
            (
                "for the nodes of the last step",
                f"{usd(report['cost']['usd_per_hour']['now'])} <small>/ h</small>",
            )
        )
    body = "".join(f"<div><dt>{escape(about)}</dt><dd>{value}</dd></div>" for about, value in found)
    return f"<dl class='figures'>{body}</dl>"


def _took(phases: Json) -> float | None:
    begin, end = moment(phases.get("created")), moment(phases.get("ready"))
    return (end - begin).total_seconds() if begin and end else None


def _steps(report: Json, names: Sequence[str]) -> str:
    steps = report["steps"]
    pools = report["plan"]["node_pools"]
    forecast = any(step.get("predicted") is not None for step in steps)
    rows = []
    for step in steps:
        order = [*names, *(name for name in step["alternatives"] if name not in names)]
        row = [str(step["replicas"]), _counted(step["alternatives"], order, names)]
        if forecast:
            row.insert(1, _counted(step.get("predicted") or {}, order, names))
            row[2] += {False: " <span class='error'>not as predicted</span>"}.get(step["as_predicted"], "")
        sizes = {pool["alternative"]: step["node_pools"].get(pool["name"], 0) for pool in pools}
        rows.append([*row, _counted(sizes, order, names), seconds(step["waited_seconds"])])
    predicted = ["Predicted"] if forecast else []
    return table(["Replicas", *predicted, "Got", "Nodes", "#Waited"], rows) + _scale_ups(steps)


def _scale_ups(steps: Iterable[Json]) -> str:
    """Return what the autoscaler said, each sentence once."""
    said = dict.fromkeys(sentence for step in steps for sentence in step.get("scale_ups") or ())
    lines = "".join(f"<li>{escape(sentence)}</li>" for sentence in said)
    return f"<h3>What the autoscaler said</h3><ul class='plain small soft'>{lines}</ul>" if lines else ""


def _counted(numbers: Mapping[str, int], order: Sequence[str], names: Sequence[str]) -> str:
    return counts([(name, numbers[name]) for name in order if numbers.get(name)], names)


def _traffic(traffic: Json, names: Sequence[str]) -> str:
    found = traffic.get("alternatives", [])
    if not found:
        return ""

    def bars(value: Any, shown: Any, farther: Any = lambda _each: None) -> list[Bar]:
        return [Bar(each["alternative"], value(each), shown(value(each)), farther(each)) for each in found]

    def times(key: str) -> list[Bar]:
        return bars(lambda each: each[key]["p50"], seconds, lambda each: each[key]["p95"])

    panels = [
        panel("Time to the first token", times("first_token_seconds"), names),
        panel("Time to the whole answer", times("latency_seconds"), names),
        panel(
            "Tokens per second of one answer",
            bars(lambda each: each["tokens_per_second_per_request"], number),
            names,
        ),
        panel("A million generated tokens", bars(lambda each: each["usd_per_million_tokens"], usd), names),
    ]
    return f"<div class='panels'>{''.join(panels)}</div>{_traffic_table(traffic, names)}"


def _about_traffic(traffic: Json) -> str:
    if not traffic.get("alternatives"):
        return ""
    load = traffic["load"]
    return (
        f"{load['requests']} requests to each replica, {load['concurrency']} at the same time, up to "
        f"{load['max_tokens']} tokens, {load['model']}. Bars and first numbers are medians; "
        "thin lines and numbers in parentheses are 95th percentiles."
    )


def _traffic_table(traffic: Json, names: Sequence[str]) -> str:
    shown = [(mark(each["alternative"], names), each) for each in traffic["alternatives"]]
    if traffic.get("service"):
        shown.append((f"Service {escape(traffic['service']['name'])}", traffic["service"]))
    rows = [
        [
            name,
            str(each.get("replicas", each.get("endpoints"))),
            _spread(each["first_token_seconds"]),
            _spread(each["latency_seconds"]),
            number(each["tokens_per_second"]),
            _answered(each),
        ]
        for name, each in shown
    ]
    heads = [
        "",
        "#Replicas",
        "#First token",
        "#Answer",
        "#Tokens/s in all",
        "#Answered",
    ]
    return table(heads, rows, listed=True)


def _spread(times: Mapping[str, float | None]) -> str:
    if times["p50"] is None:
        return seconds(None)
    return f"{seconds(times['p50'])} <span class='soft'>({seconds(times['p95'])})</span>"


def _answered(each: Json) -> str:
    said = f"{each['succeeded']} of {each['requests']}"
    if not each["errors"]:
        return said
    kinds = ", ".join(f"{count} {kind}" for kind, count in each["errors"].items())
    return f"{said}<br><span class='error small'>{escape(kinds)}</span>"


def _replicas(report: Json, names: Sequence[str]) -> str:
    usd_of = {each["pod"]: each["usd_per_hour"] for each in report["cost"]["replicas"]}
    rows = [
        [
            f"{mark(replica['alternative'], names)}<br>{_machine(replica)}",
            code(replica["pod"]),
            codes([*replica["devices"], replica["image"]]),
            usd(usd_of.get(replica["pod"])),
        ]
        for replica in report["replicas"]
    ]
    return table(["On", "Pod", "Devices and image", "#Per hour"], rows, listed=True)


def _machine(replica: Json) -> str:
    about = [replica["machine_type"], replica.get("zone", ""), "spot" if replica["spot"] else ""]
    lines = "<br>".join(escape(each) for each in about if each)
    return f"<span class='soft small line'>{lines}</span>"


def _findings(report: Json) -> str:
    """Return the verdicts, those that say the same of several objects once, the gravest first."""
    if not report["steps"] and not report["verdicts"]:
        return ""
    same: dict[tuple[str, ...], list[Json]] = {}
    for verdict in (each for each in report["verdicts"] if each["status"] != "ok"):
        key = tuple(str(verdict.get(name, "")) for name in ("status", "reason", "observed", "advice"))
        same.setdefault(key, []).append(verdict)
    ordered = sorted(same.items(), key=lambda item: -SEVERITY.index(item[0][0]))
    body = "".join(_finding(key, found) for key, found in ordered)
    return f"<ul class='plain'>{body}</ul>" if body else NOTHING


def _finding(key: Sequence[str], verdicts: Sequence[Json]) -> str:
    status, reason, observed, advice = key
    subjects = list(dict.fromkeys(verdict["subject"] for verdict in verdicts))
    explained = REASONS.get(reason, "")
    return (
        f"<li class='finding'><p class='kind {escape(status)}'>"
        f"{escape(status.capitalize())} &middot; {escape(reason)}</p>"
        f"<p>{escape(explained)}</p>"
        f"<p class='soft'>Seen: {escape(observed)}{f'. {escape(advice)}' if advice else ''}</p>"
        f"<p class='soft small'>{codes(subjects)}</p></li>"
    )


def _evidence(replicas: Iterable[Json], names: Sequence[str]) -> str:
    return "".join(
        _claim(replica, claim, names) for replica in replicas for claim in replica.get("claims", [])
    )


def _claim(replica: Json, claim: Json, names: Sequence[str]) -> str:
    rows = [
        [code(device["device"]), _line(escape(device["request"])), _conditions(device["conditions"])]
        for device in claim["devices"]
    ]
    reasons = "".join(
        f"<p class='soft small'>{escape(verdict['observed'])}<br>{codes(verdict.get('evidence', ()))}</p>"
        for verdict in replica["verdicts"]
        if verdict["subject"].endswith(f"/{claim['claim']}")
    )
    shown = table(["Device", "Request", "Reported by its driver"], rows, listed=True)
    why = f"<h3>Why no earlier alternative</h3>{reasons}" if reasons else ""
    return (
        f"<details><summary>{mark(replica['alternative'], names)}{code(claim['claim'])}"
        f"<span class='soft small'>allocated {clock(claim['allocated_at'])} UTC</span></summary>"
        f"<div class='inside'>{shown}{why}</div>"
        "</details>"
    )


def _conditions(conditions: Iterable[Json]) -> str:
    lines = [
        _line(
            f"{escape(each['type'].rpartition('/')[2])} {escape(each['status'])} "
            f"<span class='soft'>{clock(each['at'])}</span>"
        )
        for each in conditions
    ]
    return "<br>".join(lines) or "<span class='soft'>nothing</span>"


def _line(inner: str) -> str:
    return f"<span class='line'>{inner}</span>"
