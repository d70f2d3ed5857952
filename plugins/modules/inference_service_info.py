#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: inference_service_info
short_description: What the replicas of a service run on, since when, and why
version_added: 0.1.0
description:
  - Returns, for each live replica of a Deployment, its alternative, devices, node, node pool and image, when each step on the way
    was taken, and why it did not get an earlier alternative.
  - Returns the sizes of node pools as well, so that results of several moments tell the story of scaling.
options:
  namespace:
    description: Namespace of the Deployment.
    type: str
    required: true
  deployment:
    description: Name of the Deployment.
    type: str
    required: true
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
  - cel-python >= 0.4 (to evaluate selectors; without it they can't be judged, and the answer says so)
seealso:
  - module: inference.dra.dra_diagnosis
author:
  - The inference.dra authors (@inference-dra)
"""

EXAMPLES = r"""
- name: See what the service runs on
  inference.dra.inference_service_info:
    namespace: default
    deployment: vllm-fungible
  register: service

- name: See what it ran on when a dump was taken
  inference.dra.inference_service_info:
    namespace: default
    deployment: vllm-fungible
    objects: support/dump.yaml
    now: "2026-08-01T12:00:00Z"
"""

RETURN = r"""
replicas:
  description: The live replicas of the current specification, the oldest first.
  returned: success
  type: list
  elements: dict
  contains:
    pod: {description: Name of the pod., type: str}
    uid: {description: UID of the pod., type: str}
    alternative: {description: 'The alternative it got, empty while it has none.', type: str, sample: gpu}
    devices: {description: Its devices., type: list, elements: str}
    node: {description: Its node., type: str}
    node_pool: {description: The node pool of the node., type: str}
    machine_type: {description: Machine type of the node., type: str}
    zone: {description: Zone of the node., type: str}
    spot: {description: Whether the node may be taken away at any time., type: bool}
    image: {description: Image of its first container., type: str}
    phases: {description: 'When it was created, allocated, given its image (image_switched), bound and ready.', type: dict}
    verdicts: {description: 'What is wrong, and why it has no earlier alternative.', type: list, elements: dict}
    claims: {description: 'Per claim its name, when it was allocated, and per device what its driver reported.', type: list, elements: dict}
alternatives:
  description: How many replicas have each alternative.
  returned: success
  type: dict
  sample: {cpu: 2, gpu: 2}
node_pools:
  description: How many ready nodes each node pool has.
  returned: success
  type: dict
  sample: {cpu-pool: 2, gpu-pool: 2}
versions:
  description: What runs there - C(kubernetes), the C(kubelets) of the nodes, and the C(charts) of the drivers; what could not be read is missing.
  returned: success
  type: dict
  sample: {kubernetes: v1.36.3, kubelets: [v1.36.3], charts: {dra-driver-cpu: 0.2.0}}
now:
  description: The time at which it was so.
  returned: success
  type: str
forbidden:
  description: Kinds that could not be read for lack of rights.
  returned: success
  type: list
  elements: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._core.service_report import (
    by_alternative,
    node_pools,
    replicas,
)
from ansible_collections.inference.dra.plugins.module_utils._glue.cluster import see
from ansible_collections.inference.dra.plugins.module_utils._glue.objects import source_from
from ansible_collections.inference.dra.plugins.module_utils._glue.platform_versions import platform_versions
from ansible_collections.inference.dra.plugins.module_utils._glue.result import Module, run
from ansible_collections.inference.dra.plugins.module_utils._glue.spec import dump_spec, kubernetes_spec
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock


def argument_spec() -> dict[str, Any]:
    own = {
        "namespace": {"type": "str", "required": True},
        "deployment": {"type": "str", "required": True},
    }
    return kubernetes_spec() | dump_spec() | own


def look(module: Module) -> dict[str, Any]:
    namespace, name = module.params["namespace"], module.params["deployment"]
    source, now = source_from(module.params, SystemClock())
    seen = see(source, now, namespace, workloads=True)
    found = replicas(seen.cluster, seen.deployment(namespace, name), seen.replica_sets)
    return {
        "replicas": [replica.as_dict() for replica in found],
        "alternatives": by_alternative(found),
        "node_pools": node_pools(seen.cluster.nodes),
        "versions": platform_versions(source),
        "now": now.isoformat(),
        "forbidden": list(seen.forbidden),
    }


def main() -> None:
    run(AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True), look)


if __name__ == "__main__":
    main()
