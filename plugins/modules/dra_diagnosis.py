#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: dra_diagnosis
short_description: Why a pod is pending, or why it has this alternative
version_added: 0.1.0
description:
  - Answers, for each pod with claims, why it is pending, and why it got its alternative and not an earlier one.
  - Judges slices, claims, classes, nodes and events as the scheduler does, because the scheduler's own event is the same text for
    more than twenty different causes.
  - Changes nothing, and what it finds is never a failure. Where the answer can't be known, it says what is missing.
options:
  namespace:
    description: Namespace of the pods. All namespaces where it is not given.
    type: str
  pods:
    description: Names of pods. All pods with claims where none are given.
    type: list
    elements: str
  binding_timeout_seconds:
    description: The scheduler's limit for binding conditions (C(DynamicResourcesArgs.bindingTimeout)); 600 unless it was set.
    type: int
    default: 600
  daemon_sets:
    description:
      - The DaemonSet of each driver, as V(namespace/name) by the driver's name. What is wrong with it is said for nodes without devices.
      - Drivers that came with the same Helm release as the device class are found without it.
    type: dict
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
  - module: inference.dra.resource_claim_info
author:
  - The inference.dra authors (@inference-dra)
"""

EXAMPLES = r"""
- name: Ask why replicas wait, or run on what they run
  inference.dra.dra_diagnosis:
    namespace: default
  register: diagnosis

- name: Ask about a driver that no Helm release brought
  inference.dra.dra_diagnosis:
    namespace: default
    daemon_sets:
      dra.cpu: kube-system/dra-driver-cpu

- name: Ask the same of a dump that somebody sent, as of the time it was taken
  inference.dra.dra_diagnosis:
    objects: support/dump.yaml
    now: "2026-08-01T12:00:00Z"
"""

RETURN = r"""
pods:
  description: One entry for each pod.
  returned: success
  type: list
  elements: dict
  contains:
    pod: {description: Namespace and name., type: str}
    uid: {description: UID of the pod., type: str}
    node: {description: 'Its node, empty while it has none.', type: str}
    state: {description: 'One of V(pending), V(waiting), V(starting), V(running) and V(ended).', type: str}
    verdicts: {description: 'What is wrong, the decisive verdict first.', type: list, elements: dict}
    chosen: {description: 'For each request with alternatives, the chosen one and the reasons against earlier ones.', type: list, elements: dict}
verdicts:
  description: What is wrong with the cluster's devices whichever pod one looks at.
  returned: success
  type: list
  elements: dict
missing:
  description: Kinds without which answers are incomplete.
  returned: success
  type: list
  elements: str
forbidden:
  description: Kinds that could not be read for lack of rights.
  returned: success
  type: list
  elements: str
"""

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._core.diagnosis import cluster_verdicts, diagnose
from ansible_collections.inference.dra.plugins.module_utils._glue.cluster import see
from ansible_collections.inference.dra.plugins.module_utils._glue.objects import source_from
from ansible_collections.inference.dra.plugins.module_utils._glue.result import Module, ModuleFailure, run
from ansible_collections.inference.dra.plugins.module_utils._glue.spec import dump_spec, kubernetes_spec
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock


def argument_spec() -> dict[str, Any]:
    own = {
        "namespace": {"type": "str"},
        "pods": {"type": "list", "elements": "str"},
        "binding_timeout_seconds": {"type": "int", "default": 600},
        "daemon_sets": {"type": "dict"},
    }
    return kubernetes_spec() | dump_spec() | own


def look(module: Module) -> dict[str, Any]:
    params = module.params
    source, now = source_from(params, SystemClock())
    seen = see(source, now, params["namespace"] or "", daemon_sets=daemon_sets(params["daemon_sets"] or {}))
    pods = [
        pod
        for pod in seen.cluster.pods
        if params["namespace"] in (None, "", pod.meta.namespace)
        and (pod.meta.name in params["pods"] if params["pods"] else pod.claims or pod.extended_resource_claim)
    ]
    found = diagnose(seen.cluster, pods, binding_timeout=params["binding_timeout_seconds"])
    return {
        "pods": [each.as_dict() for each in found],
        "verdicts": [each.as_dict() for each in cluster_verdicts(seen.cluster)],
        "missing": list(seen.cluster.missing),
        "forbidden": list(seen.forbidden),
    }


def daemon_sets(given: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return namespace and name of each driver's DaemonSet."""
    found = {}
    for driver, text in given.items():
        namespace, _slash, name = str(text).partition("/")
        if not (namespace and name) or "/" in name:
            raise ModuleFailure(
                f"Reading daemon_sets: {driver} has {text!r}; namespace/name is needed.", "InvalidInput"
            )
        found[driver] = (namespace, name)
    return found


def main() -> None:
    run(AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True), look)


if __name__ == "__main__":
    main()
