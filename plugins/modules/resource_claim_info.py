#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: resource_claim_info
short_description: Which device each claim got, and how far it is
version_added: 0.1.0
description:
  - Returns, for each selected ResourceClaim, one state, the alternative that was chosen, node, devices, conditions and consumers,
    with verdicts on everything that is wrong.
  - Reads claims and what explains them, and changes nothing. What it finds is never a failure.
  - The states are V(not_generated), V(pending), V(allocated), V(ready), V(failed), V(deleting) and V(unusable).
options:
  binding_timeout_seconds:
    description: The scheduler's limit for binding conditions (C(DynamicResourcesArgs.bindingTimeout)); 600 unless it was set.
    type: int
    default: 600
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - inference.dra.kubernetes.selection
  - inference.dra.kubernetes.dump
  - inference.dra.attributes
  - inference.dra.attributes.reads
  - inference.dra.attributes.group_kubernetes
requirements:
  - python >= 3.11
  - PyYAML
  - urllib3 >= 2
  - kubernetes >= 31.0.0 (for kubeconfigs with exec plugins, auth providers or several files)
seealso:
  - module: kubernetes.core.k8s_info
author:
  - The inference.dra authors (@inference-dra)
"""

EXAMPLES = r"""
- name: See what the replicas of a Deployment run on
  inference.dra.resource_claim_info:
    namespace: default
    deployment: vllm-fungible
  register: replicas

- name: Judge a dump that somebody sent
  inference.dra.resource_claim_info:
    objects: support/claims-and-pods.yaml
    now: "2026-08-01T12:00:00Z"
"""

RETURN = r"""
claims:
  description: One entry for each claim, in the order of the selection.
  returned: success
  type: list
  elements: dict
  contains:
    name: {description: Name of the claim., type: str}
    namespace: {description: Namespace of the claim., type: str}
    uid: {description: UID of the claim., type: str}
    state: {description: The one state., type: str, sample: ready}
    pod_claim_name: {description: Name of the claim inside the pod it was made for., type: str}
    node: {description: The node the allocation is bound to., type: str}
    chosen: {description: 'For each request, the alternative that was chosen.', type: dict, sample: {device: gpu}}
    devices: {description: 'The allocated devices with driver, pool, share, capacity and conditions.', type: list, elements: dict}
    consumers: {description: 'For whom the claim is reserved, and what became of them.', type: list, elements: dict}
    allocated_at: {description: When the devices were allocated., type: str}
    binding_seconds_left: {description: Seconds until the scheduler gives the allocation up; null where it is not waiting., type: int}
    verdicts: {description: What is wrong or worth knowing., type: list, elements: dict}
pods:
  description: The pods through which claims were selected, with their images and whether those fit the alternative.
  returned: success
  type: list
  elements: dict
verdicts:
  description: What concerns the selection as a whole.
  returned: success
  type: list
  elements: dict
states:
  description: How many claims are in each state.
  returned: success
  type: dict
  sample: {ready: 2}
alternatives:
  description: How many claims got each alternative.
  returned: success
  type: dict
  sample: {cpu: 1, gpu: 1}
forbidden:
  description: Kinds that could not be read for lack of rights; nothing is said about them.
  returned: success
  type: list
  elements: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._glue.claims import (
    judged,
    read,
    selection_from,
    summary,
)
from ansible_collections.inference.dra.plugins.module_utils._glue.objects import source_from
from ansible_collections.inference.dra.plugins.module_utils._glue.result import Module, run
from ansible_collections.inference.dra.plugins.module_utils._glue.spec import (
    dump_spec,
    kubernetes_spec,
    selection_spec,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock


def argument_spec() -> dict[str, Any]:
    own = {"binding_timeout_seconds": {"type": "int", "default": 600}}
    return kubernetes_spec() | selection_spec() | dump_spec() | own


def look(module: Module) -> dict[str, Any]:
    params = module.params
    selection = selection_from(params)
    source, now = source_from(params, SystemClock())
    reading = read(source, selection)
    report = judged(reading, selection, now, params["binding_timeout_seconds"], params["if_none"])
    return {**summary(report), "forbidden": list(reading.forbidden)}


def main() -> None:
    run(AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True), look)


if __name__ == "__main__":
    main()
