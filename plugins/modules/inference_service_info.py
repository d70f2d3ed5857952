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
  - With O(plan), holds every replica to it. With O(replicas), predicts what so many replicas would have; with O(prediction), holds
    what is there to what was predicted earlier.
options:
  namespace:
    description: Namespace of the Deployment.
    type: str
    required: true
  deployment:
    description: Name of the Deployment.
    type: str
    required: true
  plan:
    description: What P(inference.dra.inference_plan#filter) made of the alternatives.
    type: dict
  replicas:
    description: The number of replicas to predict for. Needs O(plan).
    type: int
  prediction:
    description: What an earlier call returned as RV(prediction). Needs O(plan).
    type: dict
  parts:
    description:
      - Whether to name the other objects with the label C(app) of that name, whether the Deployment exists or not. It takes the right to
        list them.
    type: bool
    default: false
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

- name: Predict what four replicas will have
  inference.dra.inference_service_info:
    namespace: default
    deployment: vllm-fungible
    plan: "{{ inference_plan }}"
    replicas: 4
  register: before

- name: Hold them to it
  inference.dra.inference_service_info:
    namespace: default
    deployment: vllm-fungible
    plan: "{{ inference_plan }}"
    prediction: "{{ before.prediction }}"
  register: after

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
wanted_replicas:
  description: How many replicas the Deployment asks for.
  returned: success
  type: int
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
scale_ups:
  description: What the autoscaler said last about each replica that it grew a pool for.
  returned: success
  type: list
  elements: str
prediction:
  description: What O(replicas) replicas are expected to have.
  returned: where O(replicas) is given
  type: dict
  contains:
    replicas: {description: The number of replicas., type: int}
    alternatives:
      description: Replicas by alternative; those that find no devices under an empty name.
      type: dict
      sample: {cpu: 2, gpu: 2}
    least: {description: The fewest of each that do not contradict the prediction., type: dict}
    most: {description: The most of each that do not contradict the prediction., type: dict}
    node_pools: {description: The expected number of nodes of each pool., type: dict}
    largest: {description: The number of nodes that each pool may have., type: dict}
    nodes: {description: "The nodes of the alternatives that there were, UIDs by name.", type: dict}
    reasons: {description: Why the bounds are apart., type: list, elements: str}
    grows: {description: Whether new nodes are needed for it., type: bool}
verdicts:
  description: What contradicts the plan or the prediction; empty where neither is given.
  returned: success
  type: list
  elements: dict
versions:
  description: What runs there - C(kubernetes), the C(kubelets) of the nodes, and the C(charts) of the drivers; what could not be read is missing.
  returned: success
  type: dict
  sample: {kubernetes: v1.36.3, kubelets: [v1.36.3], charts: {dra-driver-cpu: 0.2.0}}
now:
  description: The time at which it was so.
  returned: success
  type: str
parts:
  description: Per kind the names of the other objects of the service, where O(parts) asks for them.
  returned: success, and where the Deployment does not exist
  type: dict
  sample: {ResourceClaimTemplate: [gpu-or-cpu-1f0c9a7e], HorizontalPodAutoscaler: [], PodDisruptionBudget: []}
forbidden:
  description: Kinds that could not be read for lack of rights.
  returned: success
  type: list
  elements: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._core import prediction as predictions
from ansible_collections.inference.dra.plugins.module_utils._core.replacement import find_service
from ansible_collections.inference.dra.plugins.module_utils._core.service_check import (
    check_prediction,
    check_replicas,
)
from ansible_collections.inference.dra.plugins.module_utils._core.service_report import (
    by_alternative,
    node_pools,
    replicas,
    scale_ups,
)
from ansible_collections.inference.dra.plugins.module_utils._glue.cluster import see
from ansible_collections.inference.dra.plugins.module_utils._glue.objects import Source, source_from
from ansible_collections.inference.dra.plugins.module_utils._glue.platform_versions import platform_versions
from ansible_collections.inference.dra.plugins.module_utils._glue.result import Module, ModuleFailure, run
from ansible_collections.inference.dra.plugins.module_utils._glue.spec import dump_spec, kubernetes_spec
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import Resource
from ansible_collections.inference.dra.plugins.module_utils._ports.resources import (
    AUTOSCALERS,
    CLAIM_TEMPLATES,
    DISRUPTION_BUDGETS,
)


def argument_spec() -> dict[str, Any]:
    own = {
        "namespace": {"type": "str", "required": True},
        "deployment": {"type": "str", "required": True},
        "plan": {"type": "dict"},
        "replicas": {"type": "int"},
        "prediction": {"type": "dict"},
        "parts": {"type": "bool", "default": False},
    }
    return kubernetes_spec() | dump_spec() | own


PARTS = (CLAIM_TEMPLATES, AUTOSCALERS, DISRUPTION_BUDGETS)
REQUIRED_BY = {"replicas": ("plan",), "prediction": ("plan",)}


def look(module: Module) -> dict[str, Any]:
    namespace, name = module.params["namespace"], module.params["deployment"]
    source, now = source_from(module.params, SystemClock())
    seen = see(source, now, namespace, workloads=True)
    parts = {kind.kind: _names(source, kind, namespace, name) for kind in PARTS if module.params["parts"]}
    try:
        deployment = seen.deployment(namespace, name)
    except ModuleFailure as missing:
        raise ModuleFailure(str(missing), missing.reason, parts=parts) from missing
    found = replicas(seen.cluster, deployment, seen.replica_sets)
    plan, wanted, expected = (module.params[key] for key in ("plan", "replicas", "prediction"))
    verdicts = list(check_replicas(found, plan)) if plan else []
    if expected:
        prediction = predictions.from_dict(expected)
        nodes = predictions.plan_nodes(seen.cluster.nodes, plan)
        verdicts += check_prediction(prediction, found, nodes, deployment.subject)
    predicted = {}
    if wanted is not None:
        service = find_service(seen.cluster, deployment, seen.replica_sets)
        predicted["prediction"] = predictions.predict(service, seen.cluster, plan, wanted).as_dict()
    return {
        **predicted,
        "replicas": [replica.as_dict() for replica in found],
        "wanted_replicas": deployment.replicas,
        "alternatives": by_alternative(found),
        "node_pools": node_pools(seen.cluster.nodes),
        "versions": platform_versions(source),
        "scale_ups": scale_ups(found),
        "verdicts": [verdict.as_dict() for verdict in verdicts],
        "now": now.isoformat(),
        "forbidden": list(seen.forbidden),
        "parts": parts,
    }


def _names(source: Source, kind: Resource, namespace: str, name: str) -> list[str]:
    return sorted(each["metadata"]["name"] for each in source.read(kind, namespace, {"app": name}))


def main() -> None:
    run(AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True, required_by=REQUIRED_BY), look)


if __name__ == "__main__":
    main()
