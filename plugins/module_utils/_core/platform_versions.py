# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which versions a platform has, by what its objects say of themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

CHART_LABEL = "helm.sh/chart"
CHART = re.compile(r"(?P<name>.+?)-(?P<version>v?\d+\.\d+.*)")
OF_A_DRIVER = "dra-driver"
"""In the name of every chart of a DRA driver; other charts on the cluster are nobody's business here."""


def charts_of_drivers(daemon_sets: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the version of each driver's chart by name; Helm's charts label what they make with both."""
    labels = (each.get("metadata", {}).get("labels") or {} for each in daemon_sets)
    matches = (CHART.fullmatch(str(each.get(CHART_LABEL, ""))) for each in labels)
    found = {match["name"]: match["version"] for match in matches if match and OF_A_DRIVER in match["name"]}
    return dict(sorted(found.items()))


def kubelets(nodes: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the versions of the kubelets there are."""
    found = {str(each.get("status", {}).get("nodeInfo", {}).get("kubeletVersion", "")) for each in nodes}
    return sorted(found - {""})
