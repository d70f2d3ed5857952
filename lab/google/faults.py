# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faults of the simulated Google, as data: the cloud and its server ask whether one hits."""

from __future__ import annotations

from ..faults import Kind

# From a recorded stock-out: "Not all instances running in IGM after 35m4s".
STOCKOUT_PATIENCE_SECONDS = 2104.0

KINDS: tuple[Kind, ...] = (
    Kind(
        "stockout",
        "A zone has no machines of a kind. `on` is create or scale-up, `provisioning` spot or on-demand.",
        ("cluster", "pool", "machine_type", "provisioning", "zone", "on"),
        {"after": STOCKOUT_PATIENCE_SECONDS},
    ),
    Kind(
        "quota",
        "A quota metric has this limit. With `late` the check before the change passes and the "
        "machines fail instead.",
        ("cluster", "pool", "machine_type", "region"),
        {"metric": "", "limit": 0.0, "late": False, "after": 60.0},
    ),
    Kind(
        "operation-fails",
        "An operation ends with an error.",
        ("cluster", "pool", "type"),
        {"message": "Internal error.", "code": 13},
    ),
    Kind("operation-stuck", "An operation never ends.", ("cluster", "pool", "type")),
    Kind("operation-lost", "An operation cannot be read any more.", ("cluster", "pool", "type")),
    Kind(
        "maintenance",
        "GKE itself starts an operation on a cluster, so that other changes are refused.",
        ("cluster",),
        {"seconds": 60.0},
    ),
    Kind(
        "http-error",
        "Requests are answered with an HTTP error. `method` is the beginning of an API method "
        "name such as container.projects.locations.clusters.nodePools.create.",
        ("method",),
        {"code": 500, "message": ""},
    ),
    Kind("http-slow", "Requests are answered late, by real seconds.", ("method",), {"seconds": 5.0}),
    Kind("permission-denied", "A permission is missing.", ("permission",)),
    Kind("service-disabled", "An API is not enabled.", ("service",)),
)
