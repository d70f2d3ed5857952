#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: resource_claim_wait
short_description: Wait until claims are allocated, ready, bound, in use or gone
version_added: 0.1.0
description:
  - Waits for a whole selection of ResourceClaims with one deadline. Lists once, then watches; a change is seen when it happens.
  - Ends early when something is wrong that time does not mend, such as a missing template or a failed binding condition.
  - Prints one line for each change while it waits, with the time passed and the deadline, where it runs on the controller.
  - On failure it returns what was last seen of each claim, with verdicts.
  - In check mode it looks once, waits for nothing and returns what it would wait for.
options:
  state:
    description: What to wait for.
    type: str
    choices:
      allocated: Devices are allocated to every claim.
      ready: As V(allocated), and every binding condition is met.
      bound: As V(ready), and every pod that uses the claims has been given its node.
      running: As V(bound), and every such pod is ready to serve.
      absent: No claim matches any more.
    default: ready
  timeout_seconds:
    description: The deadline for the whole selection, in seconds.
    type: int
    default: 900
  stop_early:
    description: Whether to fail as soon as waiting has become pointless. Without it only the deadline ends the wait.
    type: bool
    default: true
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
notes:
  - With O(deployment), the wait is for as many pods as the Deployment wants replicas, so it may follow a change of replicas at once.
seealso:
  - module: inference.dra.resource_claim_info
author:
  - The inference.dra authors (@inference-dra)
"""

EXAMPLES = r"""
- name: Wait until every replica has its device and its image
  inference.dra.resource_claim_wait:
    namespace: default
    deployment: vllm-fungible
    state: bound
    timeout_seconds: 900

- name: Wait until the claims are gone, so that drivers may be removed
  inference.dra.resource_claim_wait:
    namespace: default
    state: absent
"""

RETURN = r"""
claims:
  description: One entry for each claim, in the order of the selection.
  returned: always
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
  returned: always
  type: list
  elements: dict
verdicts:
  description: What concerns the selection as a whole.
  returned: always
  type: list
  elements: dict
states:
  description: How many claims are in each state.
  returned: always
  type: dict
  sample: {ready: 2}
alternatives:
  description: How many claims got each alternative.
  returned: always
  type: dict
  sample: {cpu: 1, gpu: 1}
forbidden:
  description: Kinds that could not be read for lack of rights; nothing is said about them.
  returned: always
  type: list
  elements: str
reached:
  description: How many claims are in the state that was waited for.
  returned: always
  type: int
waited_seconds:
  description: How long the wait took, in seconds.
  returned: always
  type: float
polled:
  description: Kinds that may be listed but not watched; they are listed every two seconds, so changes are seen later.
  returned: always
  type: list
  elements: str
would_wait_for:
  description: What is missing, in check mode and where a dump is judged.
  returned: in check mode
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._glue.result import Module, run
from ansible_collections.inference.dra.plugins.module_utils._glue.waiting import wait, wait_spec
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock


def work(module: Module) -> dict[str, object]:
    return wait(module.params, SystemClock(), lambda _line: None, check_mode=module.check_mode)


def main() -> None:
    run(AnsibleModule(argument_spec=wait_spec(), supports_check_mode=True), work)


if __name__ == "__main__":
    main()
