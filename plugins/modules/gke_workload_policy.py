#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: gke_workload_policy
short_description: Creates and deletes a workload policy for node pools
version_added: 0.1.0
author:
  - the inference.dra authors (@inference-dra)
description:
  - A workload policy says how the machines of a node pool lie to one another. It is a resource policy of Compute Engine, and TPU slices
    that are put together on demand need one.
  - A node pool names it in C(placement.policy_name) of M(inference.dra.gke_node_pool).
  - Compute Engine cannot change such a policy. A difference is refused with the list of options.
extends_documentation_fragment:
  - inference.dra.attributes
  - inference.dra.attributes.group_google
  - inference.dra.google
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  name:
    description: Name of the policy.
    type: str
    required: true
  location:
    description: Region of the policy.
    type: str
    required: true
  state:
    description: Whether the policy is there.
    type: str
    choices:
      present: It is there, as described.
      absent: It is not there. Compute Engine refuses that while machines use it.
    default: present
  description:
    description: A text for people.
    type: str
  type:
    description: What the machines are for. Needed where O(state=present).
    type: str
    choices:
      high_availability: They are spread as far as possible.
      high_throughput: They are as close to one another as possible.
  accelerator_topology:
    description: How the accelerators of one partition are connected, such as V(4x4x4). For O(type=high_throughput).
    type: str
  accelerator_topology_mode:
    description: When they are connected. V(auto_connect) to Google where it is not given.
    type: str
    choices:
      auto_connect: When the machines are created.
      provision_only: On demand, by the slice controller.
  max_topology_distance:
    description: How far machines may be from one another. For O(type=high_throughput), and not beside O(accelerator_topology).
    type: str
    choices: [block, cluster, subblock]
  timeout_seconds:
    description: How long to wait, in seconds.
    type: int
    default: 300
seealso:
  - module: inference.dra.gke_node_pool
"""

EXAMPLES = r"""
- name: A policy for TPU slices that are put together on demand
  inference.dra.gke_workload_policy:
    project: my-project
    location: us-central1
    name: tpu-policy
    type: high_throughput
    accelerator_topology: 4x4x4
    accelerator_topology_mode: provision_only
"""

RETURN = r"""
before:
  description: The options that differ, as they were, by object.
  returned: always
  type: dict
after:
  description: The same options as they are now, or would be in check mode.
  returned: always
  type: dict
actions:
  description: What was done, or would be done in check mode, in order.
  returned: always
  type: list
  elements: str
operations:
  description: Names of the operations that were started.
  returned: always
  type: list
  elements: str
waited_seconds:
  description: How long all of it took, in seconds.
  returned: always
  type: float
notes:
  description: What is worth knowing and was left as it is.
  returned: always
  type: list
  elements: str
error_kind:
  description: Empty; the kind of the failure where the module fails.
  returned: always
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._glue.google import google_spec, run_google
from ansible_collections.inference.dra.plugins.module_utils._glue.google_workload_policies import (
    workload_policy,
)

WORK = workload_policy
REQUIRED_IF = [("state", "present", ["type"])]


def argument_spec() -> dict[str, object]:
    return {
        **google_spec(),
        "name": {"type": "str", "required": True},
        "location": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "description": {"type": "str"},
        "type": {"type": "str", "choices": ["high_availability", "high_throughput"]},
        "accelerator_topology": {"type": "str"},
        "accelerator_topology_mode": {"type": "str", "choices": ["auto_connect", "provision_only"]},
        "max_topology_distance": {"type": "str", "choices": ["block", "cluster", "subblock"]},
        "timeout_seconds": {"type": "int", "default": 300},
    }


def main() -> None:
    run_google(
        AnsibleModule(argument_spec(), supports_check_mode=True, required_if=REQUIRED_IF),
        WORK,
    )


if __name__ == "__main__":
    main()
