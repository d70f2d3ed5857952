# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Option groups that several modules share: the same option has the same name and shape everywhere."""

from __future__ import annotations

from typing import Any

from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC

SELECTION = ("names", "label_selectors", "drivers", "pods", "deployment")
"""The ways to say which claims are meant, beside a whole namespace."""


def kubernetes_spec() -> dict[str, Any]:
    """Return the connection options of kubernetes.core, with exactly its names and aliases."""
    return {name: dict(option) for name, option in AUTH_ARG_SPEC.items()}


def dump_spec() -> dict[str, Any]:
    """Return the options that put recorded objects and a fixed time in the place of a live cluster."""
    return {"objects": {"type": "raw"}, "now": {"type": "str"}}


def selection_spec() -> dict[str, Any]:
    """Return the options that say which claims are meant."""
    return {
        "namespace": {"type": "str"},
        "names": {"type": "list", "elements": "str"},
        "label_selectors": {"type": "list", "elements": "str"},
        "drivers": {"type": "list", "elements": "str"},
        "pods": {"type": "list", "elements": "str"},
        "deployment": {"type": "str"},
        "if_none": {"type": "str", "choices": ["fail", "wait", "ok"], "default": "fail"},
    }
