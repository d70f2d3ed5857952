#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: gke_preflight
short_description: Judges a GKE plan before money is spent
version_added: 0.1.0
author:
  - the inference.dra authors (@inference-dra)
description:
  - Judges the plan by itself, whether options, labels, taints, compute class and alternatives contradict each other, and whether the
    autoscaler can ever grow an empty pool for a claim.
  - Judges it by the project too, unless O(offline=true), whether APIs are enabled, the version is offered, zones offer machines and
    accelerators, quotas allow the largest sizes, the network exists, and an existing cluster can take it.
  - Tells what it costs per hour, from a price table that is given.
  - Changes nothing. Fails when a verdict at or above O(fail_on) exists, and returns all verdicts either way.
extends_documentation_fragment:
  - inference.dra.attributes
  - inference.dra.attributes.reads
  - inference.dra.attributes.group_google
  - inference.dra.google
  - inference.dra.google.container
  - inference.dra.gke.node_pools
  - inference.dra.gke.cluster
options:
  location:
    description: Region or zone of the cluster.
    type: str
    required: true
  cluster:
    description: Name of the cluster, whether it exists or not.
    type: str
    required: true
  remove_labels:
    description: Not used here; accepted so that the options of M(inference.dra.gke_cluster) can be given as they are.
    type: list
    elements: str
  alternatives:
    description: What the claims of the service ask for, one entry per alternative.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the alternative.
        type: str
        required: true
      driver:
        description: The DRA driver, such as V(gpu.nvidia.com) or V(dra.cpu).
        type: str
        required: true
      device_class:
        description: The device class.
        type: str
        required: true
      node_pool:
        description: The node pool that serves it.
        type: str
        required: true
      count:
        description: Number of devices.
        type: int
        default: 1
      cpus:
        description: CPUs asked of one device of the CPU driver; 0 for none.
        type: int
        default: 0
      numa_groups:
        description: Into how many devices the CPU driver divides a machine, which by default is its number of NUMA nodes.
        type: int
        default: 1
      selectors:
        description: CEL expressions that select devices.
        type: list
        elements: str
  compute_class:
    description: The ComputeClass object that chooses between the pools.
    type: dict
  resource_quotas:
    description: ResourceQuota objects of the workload's namespace.
    type: list
    elements: dict
  services:
    description:
      - APIs that have to be enabled beside V(container.googleapis.com), V(compute.googleapis.com) and
        V(artifactregistry.googleapis.com), such as V(cloudbuild.googleapis.com).
    type: list
    elements: str
  minimum_version:
    description: The oldest Kubernetes version that will do. Device binding conditions are on by default from 1.36 on.
    type: str
    default: '1.36'
  prices:
    description:
      - A dated price table, with V(as_of), V(cluster_usd_per_hour), and V(machines) as a mapping of machine type to V(on_demand) and
        V(spot) in USD per hour, accelerators included.
    type: dict
  offline:
    description: Whether to judge the plan alone, without any request.
    type: bool
    default: false
  fail_on:
    description: From which severity on the module fails.
    type: str
    choices: [note, warning, error, never]
    default: error
seealso:
  - module: inference.dra.gke_node_pool
  - module: inference.dra.gke_cluster
notes:
  - That a zone offers a machine doesn't mean that it has one. No API tells that in advance; the creation of the pool is the test.
  - Quotas of accelerator families that Compute Engine has no metric for, such as H200 and TPUs, are read from C(cloudquotas.googleapis.com),
    which shows limits but not what is in use. Where that API is not enabled they are reported as unknown.
"""

EXAMPLES = r"""
- name: Judge the plan on paper
  inference.dra.gke_preflight:
    offline: true
    location: us-central1
    cluster: gpu-cpu-fungibility
    node_pools:
      - name: cpu-pool
        machine_type: n2-standard-16
        initial_node_count: 0
        autoscaling: {min_node_count: 0, max_node_count: 2}
    alternatives:
      - {name: cpu, driver: dra.cpu, device_class: dra.cpu, node_pool: cpu-pool, cpus: 12}
    fail_on: warning

- name: Judge it by the project, and tell what it costs
  inference.dra.gke_preflight:
    project: my-project
    location: us-central1
    cluster: gpu-cpu-fungibility
    version: "1.36"
    node_pools: "{{ node_pools }}"
    prices:
      as_of: 2026-08
      cluster_usd_per_hour: 0.10
      machines:
        n2-standard-16: {on_demand: 0.777, spot: 0.254}
  register: preflight
"""

RETURN = r"""
verdicts:
  description: Every judgement.
  returned: always
  type: list
  elements: dict
  contains:
    status:
      description: V(ok), V(note), V(warning) or V(error).
      type: str
    reason:
      description: Stable name of the judgement.
      type: str
    subject:
      description: The object judged.
      type: str
    observed:
      description: What was seen.
      type: str
    expected:
      description: What would be right.
      type: str
    advice:
      description: What to do.
      type: str
    evidence:
      description: What shows it.
      type: list
      elements: str
  sample:
    - status: warning
      reason: ScaleFromZeroNotPredicted
      subject: NodePool cpu-pool
      observed: "minimum 0, and GKE's autoscaler imagines no device of dra.cpu: it starts without a node, so it should never get one"
      expected: a minimum of 1, and initial_node_count 1
      advice: keep one node
      evidence: []
worst:
  description: The gravest status among them.
  returned: always
  type: str
services:
  description:
    - The state of each API at Service Usage, V(ENABLED) or V(DISABLED).
    - Empty with O(offline=true), and where the caller may not read it.
  returned: always
  type: dict
  sample: {container.googleapis.com: ENABLED, compute.googleapis.com: DISABLED, artifactregistry.googleapis.com: DISABLED}
cluster_exists:
  description: Whether the cluster exists already; null with O(offline=true), and where it could not be asked for.
  returned: always
  type: bool
nodes:
  description: Sizes per pool in all zones together.
  returned: always
  type: dict
  sample: {cpu-pool: {minimum: 0, initial: 0, maximum: 2}}
cost:
  description: What the plan costs in USD per hour at its smallest, first and largest sizes; what has no price is listed, not counted.
  returned: when O(prices) is given
  type: dict
  sample:
    as_of: 2026-08
    usd_per_hour: {minimum: "0.1000", initial: "0.3540", maximum: "0.6080"}
    pools: []
    unpriced: []
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._glue.google import google_spec, run_google
from ansible_collections.inference.dra.plugins.module_utils._glue.google_options import (
    alternative_options,
    cluster_options,
    node_pool_options,
)
from ansible_collections.inference.dra.plugins.module_utils._glue.google_preflight import run_preflight

WORK = run_preflight


def argument_spec() -> dict[str, object]:
    return {
        **google_spec(),
        **cluster_options(),
        "location": {"type": "str", "required": True},
        "cluster": {"type": "str", "required": True},
        "node_pools": {
            "type": "list",
            "elements": "dict",
            "required": True,
            "options": node_pool_options(),
        },
        "alternatives": {"type": "list", "elements": "dict", "options": alternative_options()},
        "compute_class": {"type": "dict"},
        "resource_quotas": {"type": "list", "elements": "dict"},
        "services": {"type": "list", "elements": "str"},
        "minimum_version": {"type": "str", "default": "1.36"},
        "prices": {"type": "dict"},
        "offline": {"type": "bool", "default": False},
        "fail_on": {
            "type": "str",
            "choices": ["note", "warning", "error", "never"],
            "default": "error",
        },
    }


def main() -> None:
    run_google(AnsibleModule(argument_spec(), supports_check_mode=True), WORK)


if __name__ == "__main__":
    main()
