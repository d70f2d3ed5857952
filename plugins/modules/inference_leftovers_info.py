#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: inference_leftovers_info
short_description: What is left of a platform, and what it still costs
version_added: 0.1.0
description:
  - Asks the APIs what still exists of all that an inventory names, instead of trusting deletions that were accepted.
  - Google is asked for the cluster with all its node pools, running operations on it, and the repository.
  - Kubernetes is asked for claims, slices of the drivers, device classes, the compute class, Helm releases, DaemonSets and Deployments.
    It is not asked where Google says that the cluster does not exist, because nothing in it can exist then.
  - Says for what is left what it costs per hour, as far as the plan states prices.
  - Finding something is never a failure. What could not be asked is a warning, and RV(clean) is then false.
  - With O(objects) recorded objects are judged in the place of Kubernetes. They show what was left, and RV(clean) is always false then,
    because what a dump lacks may exist all the same.
options:
  plan:
    description:
      - What P(inference.dra.inference_plan#filter) made of the alternatives. Drivers, device classes, the compute class and prices are
        taken from it.
    type: dict
    required: true
  cluster:
    description: Name of the cluster at Google. Google is not asked for one where it is not given.
    type: str
  location:
    description: Region or zone of the cluster.
    type: str
  repository:
    description: Name of the Artifact Registry repository. None is asked for where it is not given.
    type: str
  repository_location:
    description: Location of the repository; O(location) where it is not given.
    type: str
  namespace:
    description: Namespace of the service.
    type: str
    default: default
  deployment:
    description: Name of the service's Deployment, which is the label C(app) of its claim templates too.
    type: str
  driver_namespace:
    description: Namespace of the drivers and of the image configurator.
    type: str
    default: kube-system
  controller:
    description: Name of the image configurator's Deployment.
    type: str
  releases:
    description: Names of Helm releases.
    type: list
    elements: str
  daemon_sets:
    description: Names of DaemonSets that belong to no release, such as that of the kernel driver's installer.
    type: list
    elements: str
  wait_seconds:
    description:
      - How long to look again while something is left, in seconds. Kubelets take away the slices of a driver half a minute after it
        has gone. Nothing is waited for in check mode.
    type: int
    default: 0
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - inference.dra.kubernetes.dump
  - inference.dra.google
  - inference.dra.google.container
  - inference.dra.attributes
  - inference.dra.attributes.reads
attributes:
  action_group:
    description: Use C(group/inference.dra.google) or C(group/inference.dra.kubernetes) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - inference.dra.google
      - inference.dra.kubernetes
requirements:
  - python >= 3.11
  - PyYAML
  - urllib3 >= 2
  - google-cloud-artifact-registry
notes:
  - Disks, load balancers and addresses that workloads asked GKE for are not looked for.
seealso:
  - module: inference.dra.gke_cluster_info
author:
  - The inference.dra authors (@inference-dra)
"""

EXAMPLES = r"""
- name: Prove that nothing is left
  inference.dra.inference_leftovers_info:
    plan: "{{ inference_plan }}"
    project: my-project
    location: us-central1
    cluster: gpu-cpu-fungibility
    repository: dra-drivers
  register: left
  failed_when: not left.clean

- name: See what an existing cluster still has
  inference.dra.inference_leftovers_info:
    plan: "{{ inference_plan }}"
    kubeconfig: ~/.kube/config
    deployment: vllm-fungible
    releases: [dra-driver-nvidia-gpu, dra-driver-cpu]

- name: See what was left when a dump was taken
  inference.dra.inference_leftovers_info:
    plan: "{{ inference_plan }}"
    objects: support/dump.yaml
    now: "2026-08-01T12:00:00Z"
"""

RETURN = r"""
clean:
  description: Whether everything was asked for and nothing is left.
  returned: success
  type: bool
leftovers:
  description: What still exists.
  returned: success
  type: list
  elements: dict
  contains:
    kind: {description: Its kind., type: str, sample: NodePool}
    name: {description: Its name., type: str, sample: gpu-pool}
    namespace: {description: Its namespace; empty where it has none., type: str}
    usd_per_hour: {description: What it costs; null where the plan has no price for it or it is not billed by itself., type: str, sample: '0.6820'}
    detail: {description: What is worth knowing about it., type: str, sample: 2 nodes}
usd_per_hour:
  description: The sum of what has a price, in USD per hour.
  returned: success
  type: str
  sample: '0.6820'
unpriced:
  description: What costs money beside that sum.
  returned: success
  type: list
  elements: str
  sample: [Cluster gpu-cpu-fungibility]
asked:
  description: What was asked for.
  returned: success
  type: list
  elements: str
  sample: [cluster, node pools, operations, repository]
worst:
  description: The gravest status among the verdicts.
  returned: success
  type: str
verdicts:
  description: One for each thing that is left, still happens or could not be asked; a single V(ok) where nothing is left.
  returned: success
  type: list
  elements: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._glue.google import google_spec
from ansible_collections.inference.dra.plugins.module_utils._glue.leftovers import leftovers
from ansible_collections.inference.dra.plugins.module_utils._glue.result import Module, run
from ansible_collections.inference.dra.plugins.module_utils._glue.spec import dump_spec, kubernetes_spec
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock


def argument_spec() -> dict[str, Any]:
    own = {
        "plan": {"type": "dict", "required": True},
        "cluster": {"type": "str"},
        "location": {"type": "str"},
        "repository": {"type": "str"},
        "repository_location": {"type": "str"},
        "namespace": {"type": "str", "default": "default"},
        "deployment": {"type": "str"},
        "driver_namespace": {"type": "str", "default": "kube-system"},
        "controller": {"type": "str"},
        "releases": {"type": "list", "elements": "str"},
        "daemon_sets": {"type": "list", "elements": "str"},
        "wait_seconds": {"type": "int", "default": 0},
    }
    return kubernetes_spec() | dump_spec() | google_spec() | own


def work(module: Module) -> dict[str, Any]:
    return leftovers(module, SystemClock())


def main() -> None:
    run(AnsibleModule(argument_spec(), supports_check_mode=True), work)


if __name__ == "__main__":
    main()
