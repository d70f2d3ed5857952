#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: resource_slice_verify
short_description: Whether drivers publish the devices that are expected, on every node
version_added: 0.1.0
description:
  - Holds the ResourceSlices of a cluster against what is expected of each driver, node by node, counting as the scheduler does,
    complete pools of the newest generation only.
  - Names each node that has not what is expected, and the first broken link on the way to its devices, that is node label,
    DaemonSet, pod (with its init containers), slice, device.
  - Audits all pools of the drivers as well, or of all drivers where nothing is expected. It reports pools that are incomplete or
    contradict themselves, pools published by two nodes, slices of nodes that are gone, and nodes whose devices a device plugin
    gives out too.
  - Changes nothing. Returns all verdicts, whether it fails or not.
options:
  expectations:
    description: What is expected, an entry for each driver and kind of node. P(inference.dra.inference_plan#filter) returns such a list
      as C(slices).
    type: list
    elements: dict
    default: []
    suboptions:
      driver:
        description: Name of the driver, as its slices have it.
        type: str
        required: true
      alternative:
        description: What messages call this entry, beside the driver.
        type: str
      device_class:
        description: A DeviceClass that must exist.
        type: str
      pool:
        description: Count devices of the pool of this name only.
        type: str
      all_nodes:
        description: Whether the devices belong to no node, so that they are counted once in the cluster.
        type: bool
        default: false
      node_selector:
        description: Labels of the nodes that are meant; all nodes where it is not given.
        type: dict
      devices_min:
        description: How many devices each node must have at least. V(1) where O(expectations[].devices_exact) is not given either.
        type: int
      devices_exact:
        description: How many devices each node must have, neither fewer nor more.
        type: int
      attributes:
        description: Attributes that a device must have to count.
        type: list
        elements: dict
        suboptions:
          name:
            description: Name of the attribute; without a domain it is the driver's.
            type: str
            required: true
          type:
            description: Its type; a value of another type never equals it.
            type: str
            choices: [int, bool, string, version]
          value:
            description: Its value.
            type: raw
      capacity:
        description: Amounts that a device must offer at least to count, as quantities by name.
        type: dict
      required_fields:
        description: Fields that a device must have to count, and that the API server drops where a feature gate is off.
        type: list
        elements: str
        choices: [bindingConditions, allowMultipleAllocations]
      selectors:
        description: CEL expressions that must hold for a device to count, as in a DeviceClass. What can't be judged is a warning.
        type: list
        elements: str
      count:
        description: Which devices count.
        type: str
        choices:
          free: Those that no claim holds and no taint keeps claims away from.
          published: All that are published, and those that are held and not published any more.
        default: published
      daemon_set:
        description: The driver's DaemonSet, as V(namespace/name), to find the broken link of a node.
        type: str
      deployment:
        description: The controller behind a gating device, as V(namespace/name); without an available replica pods wait in vain.
        type: str
      rolled_out:
        description: Whether all replicas of that controller have to be of its newest specification, and ready.
        type: bool
        default: false
      cpu_manager_policy:
        description:
          - The CPU manager policy that the kubelets of the nodes must have. With C(static) a kubelet pins containers itself, beside
            C(dra.cpu) that does so for claims.
          - Read from each node's kubelet through the API server, which takes the right to C(get) C(nodes/proxy); where one can't be
            asked, a note says so. Nothing is said about the kubelets of a dump.
        type: str
        choices: [none, static]
      allow_no_nodes:
        description: Whether it is fine that no node has the labels, as with a node pool that is scaled to zero.
        type: bool
        default: false
  fail_on:
    description: The module fails where a verdict is at least so grave.
    type: str
    choices: [note, warning, error, never]
    default: error
  wait_seconds:
    description:
      - How long to look again while a verdict is so grave that the module would fail, as with a driver that is still on its way.
        With V(0) it looks once.
      - Each change of what is missing is printed where the controller does the work itself, that is locally.
      - Check mode and a dump wait for nothing.
    type: int
    default: 0
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - inference.dra.kubernetes.dump
  - inference.dra.attributes
  - inference.dra.attributes.reads
  - inference.dra.attributes.group_kubernetes
requirements:
  - python >= 3.11
  - PyYAML
  - urllib3 >= 2
  - cel-python >= 0.4 (for O(expectations[].selectors))
seealso:
  - module: inference.dra.dra_diagnosis
  - module: inference.dra.resource_claim_info
author:
  - The inference.dra authors (@inference-dra)
"""

EXAMPLES = r"""
- name: Verify that every GPU node has its GPU, and that the driver is what holds it up where not
  inference.dra.resource_slice_verify:
    expectations:
      - driver: gpu.nvidia.com
        device_class: gpu.nvidia.com
        node_selector: {cloud.google.com/gke-nodepool: gpu-pool}
        devices_exact: 1
        attributes:
          - {name: type, type: string, value: gpu}
        daemon_set: kube-system/dra-driver-nvidia-gpu-kubelet-plugin

- name: Verify everything that the alternatives need
  inference.dra.resource_slice_verify:
    expectations: "{{ inference_plan.slices }}"

- name: Give drivers that were just installed five minutes, and see meanwhile what is missing
  inference.dra.resource_slice_verify:
    expectations: "{{ inference_plan.slices }}"
    wait_seconds: 300

- name: Audit the slices of a dump that somebody sent
  inference.dra.resource_slice_verify:
    objects: support/slices-and-nodes.yaml
    fail_on: never
"""

RETURN = r"""
outcomes:
  description: What became of each expectation.
  returned: unless the input or the cluster can't be read
  type: list
  elements: dict
  contains:
    alternative: {description: As given., type: str}
    driver: {description: As given., type: str}
    nodes: {description: 'How many nodes are meant, 0 for devices that belong to no node.', type: int}
    devices: {description: How many devices count., type: int}
    missing_nodes: {description: Nodes with another number of devices than expected., type: list, elements: str}
verdicts:
  description: Everything found, the grave and the good.
  returned: unless the input or the cluster can't be read
  type: list
  elements: dict
slices:
  description: How many slices were read.
  returned: unless the input or the cluster can't be read
  type: int
pools:
  description: How many pools each driver has.
  returned: unless the input or the cluster can't be read
  type: dict
  sample: {dra.cpu: 2, gpu.nvidia.com: 1}
forbidden:
  description: Kinds that could not be read for lack of rights; nothing is said about them.
  returned: unless the input or the cluster can't be read
  type: list
  elements: str
waited_seconds:
  description: How long the module looked again, V(0.0) where the first look was enough or the only one.
  returned: unless the input or the cluster can't be read
  type: float
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._glue.result import run
from ansible_collections.inference.dra.plugins.module_utils._glue.slices import verify_slices, verify_spec
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock


def main() -> None:
    module = AnsibleModule(argument_spec=verify_spec(), supports_check_mode=True)
    run(module, lambda ready: verify_slices(ready, SystemClock(), module.log))


if __name__ == "__main__":
    main()
