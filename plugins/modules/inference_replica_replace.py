#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: inference_replica_replace
short_description: Replace replicas of a Deployment one by one without losing their devices
version_added: 0.1.0
description:
  - Evicts one replica after the other and goes on only when the successor's claim is ready, its alternative is one that it may
    have, and it serves. Stops with a diagnosis at the first that is not so.
  - A PodDisruptionBudget is honoured, because pods are ended through the Eviction API. While it allows no eviction, this waits.
  - A successor is kept from the scheduler by a scheduling gate until the devices of its predecessor are free again, where the
    replicas are replaced because their template changed. Otherwise it would get a later alternative while they are still held.
  - It can be ended and run again at any moment; what is done is not done again.
options:
  namespace:
    description: Namespace of the Deployment.
    type: str
    required: true
  deployment:
    description: Name of the Deployment.
    type: str
    required: true
  which:
    description: Which replicas to replace.
    type: str
    required: true
    choices:
      outdated:
        Those made from another pod template than the Deployment states, which must be paused before its template changes. A
        successor must get the alternative of its predecessor or an earlier one. The Deployment is resumed at the end.
      later_alternatives:
        Those on a later alternative, one for each device of an earlier alternative that is free. A successor must get an earlier
        alternative than its predecessor.
  template_changes:
    description:
      - Whether the Deployment's template is about to change, so that every replica counts as outdated.
      - It acts in check mode only, where the change itself was not made.
    type: bool
    default: false
  max_replacements:
    description: The largest number of replacements; 0 for no limit.
    type: int
    default: 0
  timeout_seconds:
    description: Seconds that one replacement may take, from its eviction until the successor serves.
    type: int
    default: 1800
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - inference.dra.attributes
  - inference.dra.attributes.group_kubernetes
attributes:
  check_mode:
    support: full
    details: Returns the plan, and writes nothing.
  diff_mode:
    support: full
    details: Shows how many replicas have each alternative.
  idempotent:
    support: full
requirements:
  - python >= 3.11
  - PyYAML
  - urllib3 >= 2
  - cel-python >= 0.4 (to judge whether an earlier alternative is free)
notes:
  - The ReplicaSet of a paused Deployment is given the new template, so its revision, and the way back by C(kubectl rollout undo),
    is lost. The way back is to run the playbook with the former inventory.
  - Until all outdated replicas are replaced, a replica that ends by itself is made again from the new template, and waits behind
    the gate until this runs again.
  - Needs the rights to patch deployments, replicasets and pods, and to create pods/eviction.
seealso:
  - module: inference.dra.inference_service_info
author:
  - The inference.dra authors (@inference-dra)
"""

EXAMPLES = r"""
- name: Replace what was made from the former template
  inference.dra.inference_replica_replace:
    namespace: default
    deployment: vllm-fungible
    which: outdated

- name: Bring at most two replicas back to an earlier alternative
  inference.dra.inference_replica_replace:
    namespace: default
    deployment: vllm-fungible
    which: later_alternatives
    max_replacements: 2
"""

RETURN = r"""
planned:
  description: The replacements that remain; in check mode, all that would be made.
  returned: success
  type: list
  elements: dict
  contains:
    pod: {description: The replica to end., type: str}
    alternative: {description: Its alternative., type: str, sample: cpu}
    accepted: {description: 'The alternatives that its successor may have, any where none is named.', type: list, elements: str}
    foreseen: {description: The one that the successor is expected to get., type: str, sample: gpu}
because:
  description: Why nothing, or nothing more, is to be replaced.
  returned: success
  type: str
  sample: "no earlier alternative is free: gpu: 2 claims hold its devices"
actions:
  description: The replacements that were made, in their order.
  returned: always, unless the API could not be reached
  type: list
  elements: dict
  contains:
    pod: {description: 'The replica that was ended, empty where an earlier run ended it.', type: str}
    alternative: {description: The alternative it had., type: str}
    successor: {description: The replica in its place., type: str}
    successor_alternative: {description: The alternative that it got., type: str}
    node: {description: The node of the successor., type: str}
    seconds: {description: How long it took., type: float}
before:
  description: How many replicas had each alternative.
  returned: always, unless the API could not be reached
  type: dict
  sample: {cpu: 3, gpu: 1}
after:
  description: How many have each, or would have.
  returned: success
  type: dict
  sample: {cpu: 2, gpu: 2}
verdicts:
  description: What forbids an ordered replacement.
  returned: always, unless the API could not be reached
  type: list
  elements: dict
waited_seconds:
  description: How long all of it took, in seconds.
  returned: always, unless the API could not be reached
  type: float
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._glue.replacing import (
    replace_replicas,
    replace_spec,
)
from ansible_collections.inference.dra.plugins.module_utils._glue.result import Module, run
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock


def work(module: Module) -> dict[str, object]:
    return replace_replicas(module.params, SystemClock(), lambda _line: None, check_mode=module.check_mode)


def main() -> None:
    run(AnsibleModule(argument_spec=replace_spec(), supports_check_mode=True), work)


if __name__ == "__main__":
    main()
