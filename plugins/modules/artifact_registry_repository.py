#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: artifact_registry_repository
short_description: Creates, changes and deletes an Artifact Registry repository
version_added: 0.1.0
author:
  - the inference.dra authors (@inference-dra)
description:
  - Compares a repository with what is wanted and makes it so. All changes of a repository are one request.
  - Format, location and encryption key are fixed at creation. A change of them is refused, because only deletion could make it, and the
    images would be lost with it.
  - Over a local connection with Ansible's own Python, it works in Ansible's process and prints what it does while it does it.
extends_documentation_fragment:
  - inference.dra.attributes
  - inference.dra.attributes.group_google
  - inference.dra.google
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
requirements:
  - google-cloud-artifact-registry
options:
  name:
    description: Name of the repository.
    type: str
    required: true
  location:
    description: Region of the repository, or V(asia), V(europe) or V(us).
    type: str
    required: true
  state:
    description: Whether the repository is there.
    type: str
    choices:
      present: It is there, as described.
      absent: It is not there, nor are the images in it.
    default: present
  format:
    description: What it holds. Fixed at creation.
    type: str
    choices: [docker, generic, python]
    default: docker
  description:
    description: A text for people.
    type: str
  labels:
    description: Labels. Labels that are not named here are kept.
    type: dict
  remove_labels:
    description: Keys of labels to take away.
    type: list
    elements: str
  immutable_tags:
    description: Whether a tag, once pushed, always stays with its image.
    type: bool
  kms_key:
    description: Full name of the key that encrypts it. Fixed at creation.
    type: str
  timeout_seconds:
    description: How long to wait, in seconds.
    type: int
    default: 300
"""

EXAMPLES = r"""
- name: A repository for images
  inference.dra.artifact_registry_repository:
    project: my-project
    location: us-central1
    name: dra-drivers
    description: DRA Drivers Repository
"""

RETURN = r"""
before:
  description: The options that differ, as they were, by object.
  returned: always
  type: dict
after:
  description: The same options as they are now, or would be in check mode.
  returned: always
  type: dict
actions:
  description: What was done, or would be done in check mode, in order.
  returned: always
  type: list
  elements: str
operations:
  description: Names of the operations that were started.
  returned: always
  type: list
  elements: str
waited_seconds:
  description: How long all of it took, in seconds.
  returned: always
  type: float
notes:
  description: What is worth knowing and was left as it is.
  returned: always
  type: list
  elements: str
error_kind:
  description: Empty; the kind of the failure where the module fails.
  returned: always
  type: str
registry:
  description: What image names in this repository begin with.
  returned: always
  type: str
  sample: us-central1-docker.pkg.dev/my-project/dra-drivers
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._glue.google import google_spec, run_google
from ansible_collections.inference.dra.plugins.module_utils._glue.google_repositories import repository

WORK = repository


def argument_spec() -> dict[str, object]:
    return {
        **google_spec(),
        "name": {"type": "str", "required": True},
        "location": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "format": {"type": "str", "choices": ["docker", "generic", "python"], "default": "docker"},
        "description": {"type": "str"},
        "labels": {"type": "dict"},
        "remove_labels": {"type": "list", "elements": "str"},
        "immutable_tags": {"type": "bool"},
        "kms_key": {"type": "str", "no_log": False},
        "timeout_seconds": {"type": "int", "default": 300},
    }


def main() -> None:
    run_google(AnsibleModule(argument_spec(), supports_check_mode=True), WORK)


if __name__ == "__main__":
    main()
