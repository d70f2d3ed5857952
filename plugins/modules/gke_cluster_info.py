#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: gke_cluster_info
short_description: Tells how a GKE cluster is and how it is reached
version_added: 0.1.0
author:
  - the inference.dra authors (@inference-dra)
description:
  - Reads one cluster and returns its state, its node pools, and how to connect to it, without C(gcloud).
  - Names of context, cluster and user are those that C(gcloud container clusters get-credentials) gives.
  - Nothing secret is returned unless O(return_token=true).
  - With O(path) it also writes a kubeconfig that only its owner can read. Other entries of an existing file stay.
extends_documentation_fragment:
  - inference.dra.attributes
  - inference.dra.attributes.group_google
  - inference.dra.google
  - inference.dra.google.container
attributes:
  check_mode:
    support: full
    details: Nothing at Google is ever changed. The file at O(path) is not written in check mode.
  diff_mode:
    support: none
    details: A kubeconfig is not shown.
  idempotent:
    support: full
    details: A fresh token in the file at O(path) alone is not reported as a change.
options:
  name:
    description: Name of the cluster.
    type: str
    required: true
  location:
    description: Region or zone of the cluster.
    type: str
    required: true
  endpoint:
    description: Which endpoint of the control plane to use.
    type: str
    choices:
      auto: The IP endpoint, or the DNS endpoint where the IP endpoint is switched off.
      ip: The IP endpoint.
      dns: The DNS endpoint. From outside the network it needs external traffic to be allowed.
    default: auto
  user:
    description: How the kubeconfig gets its token.
    type: str
    choices:
      plugin: From C(gke-gcloud-auth-plugin) with the login of C(gcloud), at each use.
      application_default: From C(gke-gcloud-auth-plugin) with application default credentials, at each use.
      token: A token is put in, good for about one hour.
    default: plugin
  path:
    description: Path of a kubeconfig to write, on the host where the module runs. Its mode becomes 0600.
    type: path
  return_token:
    description: Whether the returned kubeconfig has the token of O(user=token) in it. Set C(no_log) on the task then.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: A kubeconfig for kubectl
  inference.dra.gke_cluster_info:
    project: my-project
    location: us-central1
    name: gpu-cpu-fungibility
    path: ~/.kube/config

- name: A kubeconfig that needs neither gcloud nor its plugin
  inference.dra.gke_cluster_info:
    project: my-project
    location: us-central1
    name: gpu-cpu-fungibility
    user: token
    path: /run/user/1000/kubeconfig
"""

RETURN = r"""
exists:
  description: Whether there is such a cluster.
  returned: always
  type: bool
cluster:
  description: The cluster as it is; its name and V(ABSENT) where there is none.
  returned: always
  type: dict
  contains:
    name:
      description: Name of the cluster.
      type: str
    status:
      description: Status at GKE, such as V(RUNNING).
      type: str
    degraded:
      description: Whether it does not work as it should.
      type: bool
    version:
      description: Version of the control plane.
      type: str
    locations:
      description: Zones of the nodes.
      type: list
      elements: str
    labels:
      description: Labels at Google.
      type: dict
    node_pools:
      description: Its node pools, with sizes in all zones together.
      type: list
      elements: dict
      sample:
        - name: gpu-pool
          status: RUNNING
          degraded: false
          error_kind: ''
          version: 1.36.0-gke.100
          machine_type: g2-standard-8
          spot: true
          nodes: {minimum: 0, initial: 1, maximum: 2}
connection:
  description: Where the control plane is reached; nothing where it has no such endpoint yet.
  returned: when the cluster exists
  type: dict
  contains:
    host:
      description: Address.
      type: str
      sample: https://203.0.113.10
    ca_data:
      description: Certificate authority in base64; empty for a public one.
      type: str
    context:
      description: Name of context, cluster and user.
      type: str
      sample: gke_my-project_us-central1_gpu-cpu-fungibility
kubeconfig:
  description: The kubeconfig as a mapping, without its token unless O(return_token=true).
  returned: when the cluster exists
  type: dict
path:
  description: The file that was written, or would be in check mode.
  returned: when O(path) is given
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._glue.google import google_spec, run_google
from ansible_collections.inference.dra.plugins.module_utils._glue.google_cluster_info import cluster_info

WORK = cluster_info


def argument_spec() -> dict[str, object]:
    return {
        **google_spec(),
        "name": {"type": "str", "required": True},
        "location": {"type": "str", "required": True},
        "endpoint": {"type": "str", "choices": ["auto", "ip", "dns"], "default": "auto"},
        "user": {
            "type": "str",
            "choices": ["plugin", "application_default", "token"],
            "default": "plugin",
        },
        "path": {"type": "path"},
        "return_token": {"type": "bool", "default": False, "no_log": False},
    }


def main() -> None:
    run_google(AnsibleModule(argument_spec(), supports_check_mode=True), WORK)


if __name__ == "__main__":
    main()
