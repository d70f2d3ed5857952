# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw the README's picture, ``docs/images/overview.svg``: one Deployment, whatever hardware is there."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import snapshot

TARGET = snapshot.ROOT / "docs" / "images" / "overview.svg"
WIDTH, HEIGHT = 900, 330
STYLE = """
.box{fill:#f5f7f9;stroke:#c4ccd4}.gpu{fill:#e3f2e8;stroke:#2f7d4f}.cpu{fill:#fbeede;stroke:#b8651a}
text{font:14px system-ui,sans-serif;fill:#1c2024}.head{font-weight:600}.soft{fill:#5f6b76;font-size:12px}
path{fill:none;stroke:#8a96a1;stroke-width:1.6;marker-end:url(#tip)}#tip path{fill:#8a96a1;stroke:none}
@media(prefers-color-scheme:dark){.box{fill:#1c2228;stroke:#44505a}.gpu{fill:#16301f;stroke:#63c18a}
.cpu{fill:#3a2814;stroke:#e59a4d}text{fill:#e6eaee}.soft{fill:#9aa6b1}}
"""


@dataclass(frozen=True)
class Box:
    """A rounded box with a title and lines of text."""

    kind: str
    place: tuple[int, int, int, int]
    title: str
    lines: tuple[str, ...]


ORDER = ("in this order:", "1. a GPU", "2. else 12 CPUs", "3. up to eight")
BOXES = (
    Box("box", (20, 122, 170, 86), "One Deployment", ("4 replicas", "placeholder image")),
    Box("box", (250, 105, 190, 120), "One claim each", ORDER),
    Box("gpu", (520, 25, 170, 80), "gpu-pool", ("2 nodes, full", "replicas 1 and 3")),
    Box("cpu", (520, 225, 170, 80), "cpu-pool", ("2 nodes", "replicas 2 and 4")),
    Box("gpu", (740, 25, 140, 80), "vllm-gpu", ("image follows", "the device")),
    Box("cpu", (740, 225, 140, 80), "vllm-cpu", ("image follows", "the device")),
)
ARROWS = (
    "M190 165H246",
    "M440 140C480 120 480 65 516 65",
    "M440 190C480 210 480 265 516 265",
    "M690 65H736",
    "M690 265H736",
)
WORDS = (
    (468, 150, "Kubernetes DRA picks"),
    (468, 168, "per replica, GKE's autoscaler"),
    (468, 186, "follows the same order"),
)


def drawn(box: Box) -> str:
    x, y, width, height = box.place
    parts = [f'<rect class="{box.kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="10"/>']
    parts.append(f'<text class="head" x="{x + 14}" y="{y + 26}">{escape(box.title)}</text>')
    parts += [
        f'<text class="soft" x="{x + 14}" y="{y + 46 + 18 * number}">{escape(line)}</text>'
        for number, line in enumerate(box.lines)
    ]
    return "".join(parts)


def draw() -> str:
    """Return the picture as SVG text."""
    size = 'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
    body = [f'<defs><marker id="tip" {size} orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>']
    body += [drawn(each) for each in BOXES]
    body += [f'<path d="{each}"/>' for each in ARROWS]
    body += [f'<text class="soft" x="{x}" y="{y}">{escape(words)}</text>' for x, y, words in WORDS]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        "<title>One Deployment, one claim with ordered alternatives, the image follows the pick</title>"
        f"<style>{STYLE}</style>{''.join(body)}</svg>\n"
    )


if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(draw())
