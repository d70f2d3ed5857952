# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: INP001 - Sphinx reads this file by its path; it is in no package
"""Sphinx's settings. `make docs` runs it on a copy of this folder with the module and role pages added."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

project = "inference.dra"
author = copyright = "the inference.dra authors"  # noqa: A001 - Sphinx's own name for it
title = html_short_title = "inference.dra"

extensions = ["myst_parser", "sphinx_antsibull_ext"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

# A dangling reference is an error. Those into Ansible's own documentation are resolved below, by
# rule and not by download, so that the build works offline.
nitpicky = True

html_theme = "sphinx_ansible_theme"
html_show_sphinx = False
html_copy_source = False
html_use_index = False
pygments_style = "ansible"
highlight_language = "YAML+Jinja"

ANSIBLE = "https://docs.ansible.com/ansible/latest"
ANSIBLE_LABELS = {
    "action_plugins": "plugins/action.html",
    "ansible_configuration_settings": "reference_appendices/config.html",
    "callback_plugins": "plugins/callback.html",
    "collections_keyword": "collections_guide/collections_using_playbooks.html",
    "common_return_values": "reference_appendices/common_return_values.html",
    "list_of_collections": "collections/index.html",
}
ANSIBLE_PLUGIN = re.compile(r"ansible_collections\.(\w+)\.(\w+)\.(\w+)_(module|lookup|filter|inventory)$")


def link_to_ansible(
    _app: Sphinx, _env: BuildEnvironment, node: nodes.Element, content: nodes.Element
) -> nodes.reference | None:
    """Return a link into Ansible's documentation for a label that is defined there."""
    label = node.get("reftarget", "")
    plugin = ANSIBLE_PLUGIN.match(label)
    if plugin and plugin[1] != "inference":
        page = "collections/{}/{}/{}_{}.html".format(*plugin.groups())
    elif label in ANSIBLE_LABELS:
        page = ANSIBLE_LABELS[label]
    else:
        return None
    link = nodes.reference("", "", internal=False, refuri=f"{ANSIBLE}/{page}")
    link += content.deepcopy()
    return link


def setup(app: Sphinx) -> None:
    """Connect the rule above."""
    app.connect("missing-reference", link_to_ansible)
