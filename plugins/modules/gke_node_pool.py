#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: gke_node_pool
short_description: Creates, changes and deletes GKE node pools
version_added: 0.1.0
author:
  - the inference.dra authors (@inference-dra)
description:
  - Compares node pools with what is wanted, plans all steps before the first one, and carries them out side by side.
  - What GKE can change in place is changed in place, one concern per request. What it cannot is refused with the list of options,
    unless O(recreate=true).
  - Labels, taints and tags that are not named are kept. What GKE fills in by itself is no difference.
  - A running operation is taken over, and an operation that is in the way is waited for.
  - A failed operation is never reported as success. A pool that is left behind by a failed creation is reported by what it is.
  - Over a local connection with Ansible's own Python, it works in Ansible's process and prints what it does while it does it.
extends_documentation_fragment:
  - inference.dra.attributes
  - inference.dra.attributes.group_google
  - inference.dra.google
  - inference.dra.google.container
  - inference.dra.gke.node_pools
  - inference.dra.google.wait
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  location:
    description: Region or zone of the cluster.
    type: str
    required: true
  cluster:
    description: Name of the cluster.
    type: str
    required: true
  state:
    description: Whether the pools are there.
    type: str
    choices:
      present: They are there, as described.
      absent: They are not there; only their names matter.
    default: present
  recreate:
    description:
      - Whether a pool is deleted and created again for a change that GKE cannot make in place.
      - Its nodes are drained and deleted. Spot or GPU capacity may not come back.
    type: bool
    default: false
  on_error:
    description: What a creation means that failed but left a pool behind, as a stock-out does. GKE keeps trying to fill such a pool.
    type: str
    choices:
      fail: The module fails. The next run takes the pool as it is then.
      keep: The module succeeds; the pool is reported as degraded, with RV(node_pools[].error_kind).
      delete: The pool is deleted and the module fails.
    default: fail
seealso:
  - module: inference.dra.gke_cluster
  - module: inference.dra.gke_preflight
notes:
  - All sizes are per zone unless their name says total. RV(node_pools[].nodes) has the sizes in all zones together.
  - Don't use C(google.cloud.gcp_container_node_pool) on the same pool. It never changes an existing pool, and takes a failed operation
    for a successful one.
"""

EXAMPLES = r"""
- name: A GPU pool and a CPU pool that one compute class chooses between
  inference.dra.gke_node_pool:
    project: my-project
    location: us-central1
    cluster: gpu-cpu-fungibility
    on_error: keep
    node_pools:
      - name: gpu-pool
        machine_type: g2-standard-8
        accelerators:
          - {type: nvidia-l4, gpu_driver_version: disabled}
        spot: true
        locations: [us-central1-a]
        initial_node_count: 1
        autoscaling: {min_node_count: 0, max_node_count: 2}
        labels:
          cloud.google.com/compute-class: fungible-gpu-cpu
          cloud.google.com/gke-nvidia-gpu-dra-driver: "true"
          gke-no-default-nvidia-gpu-device-plugin: "true"
          nvidia.com/gpu.present: "true"
        taints:
          - {key: cloud.google.com/compute-class, value: fungible-gpu-cpu}
      - name: cpu-pool
        machine_type: n2-standard-16
        spot: true
        locations: [us-central1-a]
        initial_node_count: 1
        autoscaling: {min_node_count: 1, max_node_count: 2}
        labels:
          cloud.google.com/compute-class: fungible-gpu-cpu
          cloud.google.com/gke-cpu-dra-driver: "true"
        taints:
          - {key: cloud.google.com/compute-class, value: fungible-gpu-cpu}
  register: pools

- name: H200 machines with RDMA networks, made by GKE
  inference.dra.gke_node_pool:
    project: my-project
    location: us-central1
    cluster: llm-d
    node_pools:
      - name: a3u-dra-pool-1
        machine_type: a3-ultragpu-8g
        accelerators:
          - {type: nvidia-h200-141gb, count: 8, gpu_driver_version: disabled}
        spot: true
        initial_node_count: 2
        network: {accelerator_profile: auto}

- name: Take one label away
  inference.dra.gke_node_pool:
    project: my-project
    location: us-central1
    cluster: llm-d
    node_pools:
      - name: a3u-dra-pool-1
        remove: {labels: [team]}
"""

RETURN = r"""
before:
  description: The options that differ, as they were, by object.
  returned: always
  type: dict
  sample: {"NodePool demo/gpu-pool": {"autoscaling": {"max_node_count": 2}}}
after:
  description: The same options as they are now, or would be in check mode.
  returned: always
  type: dict
  sample: {"NodePool demo/gpu-pool": {"autoscaling": {"max_node_count": 3}}}
actions:
  description: What was done, or would be done in check mode, in order.
  returned: always
  type: list
  elements: str
  sample: ["update NodePool demo/gpu-pool: autoscaling.max_node_count from 2 to 3"]
operations:
  description: Names of the operations that were started or taken over.
  returned: always
  type: list
  elements: str
waited_seconds:
  description: How long all of it took, in seconds.
  returned: always
  type: float
notes:
  description: What is worth knowing and was left as it is, such as a version that is newer than wanted.
  returned: always
  type: list
  elements: str
degraded:
  description: Whether any of the pools does not work as it should.
  returned: always
  type: bool
error_kind:
  description: The kind of the first failure; empty where there is none.
  returned: always
  type: str
  sample: stockout
node_pools:
  description: The pools as they are.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Name of the pool.
      type: str
    status:
      description: Status at GKE, such as V(RUNNING); V(ABSENT) where there is no such pool.
      type: str
    degraded:
      description: Whether the pool does not work as it should.
      type: bool
    broken:
      description: Whether it does not work at all.
      type: bool
    error_kind:
      description:
        - Why. One of V(stockout), V(quota), V(conflict), V(version), V(permission), V(not_enabled), V(not_found), V(invalid),
          V(unavailable), V(timeout), V(other), or empty.
      type: str
    message:
      description: What Google says about it.
      type: str
    version:
      description: Version of the nodes.
      type: str
    nodes:
      description: Sizes in all zones together, as V(minimum), V(initial) and V(maximum).
      type: dict
      sample: {minimum: 0, initial: 1, maximum: 2}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._glue.google import google_spec, run_google
from ansible_collections.inference.dra.plugins.module_utils._glue.google_node_pools import node_pools
from ansible_collections.inference.dra.plugins.module_utils._glue.google_options import node_pool_options

WORK = node_pools


def argument_spec() -> dict[str, object]:
    return {
        **google_spec(),
        "location": {"type": "str", "required": True},
        "cluster": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "node_pools": {
            "type": "list",
            "elements": "dict",
            "required": True,
            "options": node_pool_options(),
        },
        "recreate": {"type": "bool", "default": False},
        "on_error": {"type": "str", "choices": ["fail", "keep", "delete"], "default": "fail"},
        "wait": {"type": "bool", "default": True},
        "timeout_seconds": {"type": "int", "default": 2700},
    }


def main() -> None:
    run_google(AnsibleModule(argument_spec(), supports_check_mode=True), WORK)


if __name__ == "__main__":
    main()
