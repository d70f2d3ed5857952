# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workload policies: how machines of a node pool lie to one another, as a Compute Engine resource policy.

A node pool names one in ``placement.policy_name``. Source: compute v1, ResourcePolicy.workloadPolicy; the API
can create and delete a resource policy of this sort, but change nothing in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .change import Plan, Step, by_option, differences
from .fields import Field, Message, Options, stated, to_message, to_options

TYPES = {"high_availability": "HIGH_AVAILABILITY", "high_throughput": "HIGH_THROUGHPUT"}
TOPOLOGY_MODES = {"auto_connect": "AUTO_CONNECT", "provision_only": "PROVISION_ONLY"}
DISTANCES = {"block": "BLOCK", "cluster": "CLUSTER", "subblock": "SUBBLOCK"}

FIELDS: tuple[Field, ...] = (
    Field("description", "description"),
    Field("type", "workloadPolicy.type", kind="enum", words=TYPES),
    Field("accelerator_topology", "workloadPolicy.acceleratorTopology"),
    Field(
        "accelerator_topology_mode",
        "workloadPolicy.acceleratorTopologyMode",
        kind="enum",
        words=TOPOLOGY_MODES,
        absent="auto_connect",
    ),
    Field("max_topology_distance", "workloadPolicy.maxTopologyDistance", kind="enum", words=DISTANCES),
)
CREATION_ONLY = (
    "only creation can set them: state the live values, use another name, or delete the node pools that "
    "name the policy and then the policy"
)


def message(options: Options) -> Message:
    """Return the ResourcePolicy message for the stated options."""
    return {"name": options["name"], **to_message(FIELDS, options)}


def plan(wanted: Options, live: Mapping[str, Any] | None) -> Plan:
    """Return the step from the live policy (``None``: absent) to the wanted one."""
    subject = f"WorkloadPolicy {wanted['name']}"
    if live is None:
        step = Step("create", subject, "insert", message(wanted))
        return Plan(subject, (step,), {}, {"name": wanted["name"], **stated(FIELDS, wanted)})
    fixed = tuple(change for _each, change in differences(FIELDS, wanted, to_options(FIELDS, live), {}))
    before, after = by_option(fixed, "before"), by_option(fixed, "after")
    return Plan(subject, (), before, after, fixed, CREATION_ONLY if fixed else "")


def deletion(name: str, live: Mapping[str, Any] | None) -> Plan:
    """Return the step that removes a policy, none if it is not there."""
    subject = f"WorkloadPolicy {name}"
    if live is None:
        return Plan(subject)
    return Plan(subject, (Step("delete", subject, "delete"),), {"name": name})
