# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report's page in a real browser: it loads nothing, complains about nothing, and fits on a phone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core import report, report_page

from . import browser

RECORDED = Path(__file__).parents[2] / "unit" / "fixtures" / "recorded_demo.json"
PHONE, DESK = (390, 844), (1280, 900)
SCREENS = {
    "phone": (*PHONE, "light"),
    "phone-dark": (*PHONE, "dark"),
    "desk": (*DESK, "light"),
    "desk-dark": (*DESK, "dark"),
    "narrow": (320, 640, "light"),
}
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
OPEN_ALL = "document.querySelectorAll('details').forEach(each => each.open = true)"
# What is cut on purpose says the whole of it in its title.
CUT = """
[...document.querySelectorAll('body *')].filter(each => {
  const style = getComputedStyle(each);
  return style.overflowX === 'hidden' && each.scrollWidth > each.clientWidth + 1 && !each.title;
}).map(each => each.outerHTML.slice(0, 120))
"""


@pytest.fixture(scope="module")
def tab():
    if browser.program() is None:
        pytest.skip(f"no browser is installed (looked for {', '.join(browser.NAMES)})")
    with browser.browser() as found:
        yield found


def long_names(recorded):
    """Alter a recording: as many alternatives as the API allows, under names as long as it allows."""
    replicas = recorded["record"]["steps"][-1]["service"]
    names = [f"{'alternative-of-some-length-' * 2}{number}"[:63] for number in range(8)]
    for number, name in enumerate(names):
        copy = json.loads(json.dumps(replicas[number % len(replicas)]))
        replicas.append(copy | {"alternative": name, "uid": name, "pod": f"{name}-{'x' * 60}"})
    recorded["plan"]["alternatives"] += names
    recorded["record"]["steps"][-1]["alternatives"] |= dict.fromkeys(names, 1)
    for name in names:
        recorded["traffic"]["alternatives"].append(
            recorded["traffic"]["alternatives"][0] | {"alternative": name}
        )


def nothing(recorded):
    recorded["record"] = recorded["traffic"] = recorded["teardown"] = {}


ALTERED = {"as recorded": lambda _recorded: None, "long names": long_names, "nothing recorded": nothing}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The page of the recorded demo, and of what it is altered to."""
    folder, found = tmp_path_factory.mktemp("report"), {}
    for name, alter in ALTERED.items():
        recorded = json.loads(RECORDED.read_text())
        alter(recorded)
        made = report.build(
            recorded["record"],
            recorded["plan"],
            {"inventory": "lab"},
            recorded["traffic"],
            recorded["teardown"],
        )
        path = folder / f"{name.replace(' ', '-')}.html"
        path.write_text(report_page.render(made))
        found[name] = path.as_uri()
    return found


@pytest.mark.parametrize("page", ALTERED)
@pytest.mark.parametrize("screen", SCREENS.values(), ids=SCREENS)
def test_page(tab, pages, page, screen):
    width, height, scheme = screen
    shown = tab.show(pages[page], width, height, scheme)
    assert shown.requests == [pages[page]]
    assert shown.complaints == []
    assert shown.page_width <= shown.window_width == width, shown.widest
    tab.value(OPEN_ALL)
    assert tab.value("document.documentElement.scrollWidth") <= width, tab.value(browser.WIDEST)
    assert tab.value(CUT) == []


def test_page_is_not_blank(tab, pages):
    blank = tab.show("about:blank", *DESK)
    shown = tab.show(pages["as recorded"], *DESK)
    assert len(shown.picture) > 10 * len(blank.picture)


def test_page_follows_the_color_scheme(tab, pages):
    colors = set()
    for scheme in ("light", "dark"):
        tab.show(pages["as recorded"], *DESK, scheme)
        colors.add(tab.value(BACKGROUND))
    assert colors == {"rgb(255, 255, 255)", "rgb(17, 20, 23)"}
