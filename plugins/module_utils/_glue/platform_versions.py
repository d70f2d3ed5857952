# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading which versions a platform has; what may not be read is left out."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.platform_versions import (
    charts_of_drivers,
    kubelets,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    DAEMON_SETS,
    NODES,
    Forbidden,
    Resource,
)

from .objects import Cluster, Source


def platform_versions(source: Source) -> dict[str, Any]:
    """Return the versions of the API server, of kubelets and of the drivers' charts.

    Shape: ``kubernetes`` (of a live cluster only), ``kubelets``, ``charts {name: version}``.
    """
    found: dict[str, Any] = {}
    if isinstance(source, Cluster):
        found["kubernetes"] = str(source.api.request("GET", "/version").get("gitVersion", ""))
    found["kubelets"] = kubelets(readable(source, NODES))
    found["charts"] = charts_of_drivers(readable(source, DAEMON_SETS))
    return found


def readable(source: Source, resource: Resource) -> list[Any]:
    try:
        return list(source.read(resource))
    except Forbidden:
        return []
