#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kind_cluster
short_description: A kind cluster whose workers are the node pools of the plan
version_added: 0.1.0
description:
  - Makes a kind cluster on the controller, with real kubelets and containers, whose workers are labelled and tainted as nodes
    of the node pools are. Every pool has as many workers as it may have at most, because kind has no autoscaler.
  - Builds the images of the model server, the image configurator and the stand-in driver, and loads them into the nodes.
  - Takes the node image of the kind project where it can be pulled; otherwise builds one from Debian packages and Go modules,
    which takes about ten minutes the first time on a machine and shows its progress.
  - Uses the Docker daemon that answers. Where none does, root and C(dockerd) are enough; a private daemon is then started with
    its own socket and data, and ended with the last cluster.
  - Removing a cluster puts back what kubelets and Docker changed on the machine, and proves that nothing is left.
options:
  state:
    description: Whether the cluster is there.
    type: str
    choices: [present, absent]
    default: present
  name:
    description: Name of the cluster. A cluster of that name that was not made by this module is never touched.
    type: str
    default: inference-dra
  plan:
    description:
      - The plan of P(inference.dra.inference_plan#filter), of which the node pools and their nodes are read. Required where
        O(state=present).
    type: dict
  kubeconfig:
    description:
      - Where to write a kubeconfig for the cluster, readable by its owner only. Removed with the cluster.
    type: path
extends_documentation_fragment:
  - inference.dra.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
author:
  - The inference.dra authors (@inference-dra)
"""

EXAMPLES = r"""
- name: Have a cluster for the alternatives
  inference.dra.kind_cluster:
    plan: "{{ inference_alternatives | inference.dra.inference_plan }}"
    kubeconfig: "{{ playbook_dir }}/kubeconfig"
  register: kind

- name: Remove it
  inference.dra.kind_cluster:
    state: absent
"""

RETURN = r"""
running:
  description: Whether the cluster is there when the task ends.
  type: bool
  returned: always
actions:
  description: What was done, or would be done in check mode, one sentence each.
  type: list
  elements: str
  returned: always
kubeconfig:
  description: Path of a kubeconfig with which one is cluster admin.
  type: str
  returned: when it is there
programs:
  description: A directory with kubectl, helm and kind that fit the cluster, for C(PATH).
  type: str
  returned: when it is there
docker:
  description: The environment in which C(docker) talks to the daemon of the cluster's nodes.
  type: dict
  returned: when it is there
images:
  description: References of the product's images, loaded into every node, by image name.
  type: dict
  returned: when it is there
  sample: {standin-driver: "inference-dra.local/standin-driver:0f3a5d8e9c21"}
left:
  description: What is still there after a removal; empty is the proof that nothing is.
  type: list
  elements: str
  returned: when O(state=absent)
waited_seconds:
  description: How long the task took.
  type: float
  returned: always
"""
