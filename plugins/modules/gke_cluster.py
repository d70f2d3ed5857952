#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: gke_cluster
short_description: Creates, changes and deletes a GKE Standard cluster
version_added: 0.1.0
author:
  - the inference.dra authors (@inference-dra)
description:
  - Compares a cluster with what is wanted, plans all steps before the first one, and carries them out one concern after another.
  - What only creation can set is refused for a cluster that exists. A cluster is never recreated, because it holds node pools and
    workloads that nobody named here.
  - A running creation or deletion is taken over, an operation that is in the way is waited for, and a failed operation is never
    reported as success.
  - Over a local connection with Ansible's own Python, it works in Ansible's process and prints what it does while it does it.
extends_documentation_fragment:
  - inference.dra.attributes
  - inference.dra.attributes.group_google
  - inference.dra.google
  - inference.dra.google.container
  - inference.dra.gke.cluster
  - inference.dra.google.wait
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  name:
    description: Name of the cluster.
    type: str
    required: true
  location:
    description: Region or zone of the cluster. A region has a control plane and nodes in several zones.
    type: str
    required: true
  state:
    description: Whether the cluster is there.
    type: str
    choices:
      present: It is there, as described.
      absent: It is not there, nor are its node pools; only its name and location matter.
    default: present
  remove_labels:
    description: Keys of labels to take away. Nothing is taken away that is not named here.
    type: list
    elements: str
seealso:
  - module: inference.dra.gke_node_pool
  - module: inference.dra.gke_cluster_info
notes:
  - An option that is not stated is left as it is, and on creation left to GKE.
  - Don't use C(google.cloud.gcp_container_cluster) on the same cluster. It never changes an existing cluster, and takes a failed
    operation for a successful one.
"""

EXAMPLES = r"""
- name: A cluster whose Kubernetes is new enough for device binding conditions
  inference.dra.gke_cluster:
    project: my-project
    location: us-central1
    name: gpu-cpu-fungibility
    version: "1.36"
    labels: {created-by: ai-on-gke}
    default_pool: {initial_node_count: 1}

- name: A cluster for llm-d, with networks for RDMA, telemetry and the inference gateway
  inference.dra.gke_cluster:
    project: my-project
    location: us-central1
    name: llm-d
    release_channel: rapid
    dataplane_v2: true
    managed_otel_scope: collection_and_instrumentation_components
    gateway_api: standard
    monitoring: {managed_prometheus: true, auto_monitoring: all}

- name: No cluster
  inference.dra.gke_cluster:
    project: my-project
    location: us-central1
    name: llm-d
    state: absent
"""

RETURN = r"""
before:
  description: The options that differ, as they were, by object.
  returned: always
  type: dict
  sample: {"Cluster demo": {"gateway_api": "disabled"}}
after:
  description: The same options as they are now, or would be in check mode.
  returned: always
  type: dict
  sample: {"Cluster demo": {"gateway_api": "standard"}}
actions:
  description: What was done, or would be done in check mode, in order.
  returned: always
  type: list
  elements: str
  sample: ["update Cluster demo: gateway_api from disabled to standard"]
operations:
  description: Names of the operations that were started or taken over.
  returned: always
  type: list
  elements: str
waited_seconds:
  description: How long all of it took, in seconds.
  returned: always
  type: float
notes:
  description: What is worth knowing and was left as it is, such as a version that is newer than wanted.
  returned: always
  type: list
  elements: str
degraded:
  description: Whether the cluster does not work as it should.
  returned: always
  type: bool
error_kind:
  description:
    - Why. One of V(stockout), V(quota), V(conflict), V(version), V(permission), V(not_enabled), V(not_found), V(invalid),
      V(unavailable), V(timeout), V(other), or empty.
  returned: always
  type: str
cluster:
  description: The cluster as it is.
  returned: always
  type: dict
  contains:
    name:
      description: Name of the cluster.
      type: str
    status:
      description: Status at GKE, such as V(RUNNING); V(ABSENT) where there is no such cluster.
      type: str
    version:
      description: Version of the control plane.
      type: str
    endpoint:
      description: Address of the control plane.
      type: str
    locations:
      description: Zones of the nodes.
      type: list
      elements: str
    node_pools:
      description: Names of the node pools.
      type: list
      elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._glue.google import google_spec, run_google
from ansible_collections.inference.dra.plugins.module_utils._glue.google_clusters import cluster
from ansible_collections.inference.dra.plugins.module_utils._glue.google_options import cluster_options

WORK = cluster


def argument_spec() -> dict[str, object]:
    return {
        **google_spec(),
        **cluster_options(),
        "name": {"type": "str", "required": True},
        "location": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "wait": {"type": "bool", "default": True},
        "timeout_seconds": {"type": "int", "default": 2700},
    }


def main() -> None:
    run_google(AnsibleModule(argument_spec(), supports_check_mode=True), WORK)


if __name__ == "__main__":
    main()
