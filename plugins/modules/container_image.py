#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: container_image
short_description: Has an image in a registry, under a tag that follows from its content
version_added: 0.1.0
author:
  - the inference.dra authors (@inference-dra)
description:
  - Builds one image and pushes it, unless the registry has it already.
  - The tag is a hash of the build context's files, the Dockerfile, the build arguments with the base images they name, and the
    platform. So the same content is never built twice, another content never hides behind a known tag, and there is no V(latest).
  - Returns the reference with the digest, which is what belongs into a Deployment.
  - Files that C(.dockerignore) names are no part of the context; a C(Dockerfile.dockerignore) beside the Dockerfile comes first.
  - Over a local connection with Ansible's own Python, it works in Ansible's process and prints what it does while it does it.
extends_documentation_fragment:
  - inference.dra.attributes
  - inference.dra.attributes.group_google
  - inference.dra.google
attributes:
  check_mode:
    support: full
    details: Asks the registry whether it has the image. The digest of an image that is still to be built is not known.
  diff_mode:
    support: full
  idempotent:
    support: full
requirements:
  - urllib3
options:
  name:
    description: The image, with its registry and without a tag, such as V(us-central1-docker.pkg.dev/my-project/images/server).
    type: str
    required: true
  state:
    description: Whether the image is there. Images go with their repository, so there is no state V(absent).
    type: str
    choices:
      present: The registry has the image.
    default: present
  context:
    description: Directory with the files of the image, on the host where the module runs.
    type: path
    required: true
  dockerfile:
    description: The Dockerfile; a relative path begins at O(context).
    type: path
    default: Dockerfile
  build_args:
    description:
      - Values of the Dockerfile's C(ARG) instructions.
      - They are visible in the image's history, so they are no place for secrets.
    type: dict
  platform:
    description: What the image is made for.
    type: str
    default: linux/amd64
  machine_types:
    description: >-
      Machine types of the nodes that it runs on. An image for another architecture than theirs is refused, since its containers would
      only end with an exec format error.
    type: list
    elements: str
  engine:
    description: What builds and pushes it.
    type: str
    choices:
      docker: The program C(docker) and its daemon.
      podman: The program C(podman).
      cloud_build: Google Cloud Build; nothing has to be installed here.
      append: >-
        Nothing. Files and settings are added to the base image in the registry, layer by layer. Takes a Dockerfile of one stage without
        C(RUN) and C(ADD).
    default: docker
  username:
    description: >-
      User at the registry. Not needed for Google's registries, which get the credentials of the options below. The logins that docker and
      podman have themselves count for base images only.
    type: str
  password:
    description: Password or token at the registry. Never on a command line.
    type: str
  cloud_build:
    description: Where O(engine=cloud_build) builds.
    type: dict
    suboptions:
      location:
        description: A region, or V(global).
        type: str
        default: global
      bucket:
        description: >-
          Bucket for the archive of the context, which is deleted after the build, and for the log. C(PROJECT_cloudbuild) where nothing is
          given, as with gcloud; created where it does not exist.
        type: str
      service_account:
        description: Email of the service account whose rights the build has. The project's default where nothing is given.
        type: str
  timeout_seconds:
    description: How long to wait, in seconds.
    type: int
    default: 3600
"""

EXAMPLES = r"""
- name: Have the image of the GPU alternative
  inference.dra.container_image:
    name: us-central1-docker.pkg.dev/my-project/images/vllm-gpu
    context: images/vllm-gpu
    build_args: {BASE: "docker.io/vllm/vllm-openai:v0.29.0-cu129"}
    machine_types: [g2-standard-8]
  register: image

- name: The same without Docker, and nothing of it on this machine
  inference.dra.container_image:
    name: us-central1-docker.pkg.dev/my-project/images/vllm-gpu
    context: images/vllm-gpu
    build_args: {BASE: "docker.io/vllm/vllm-openai:v0.29.0-cu129"}
    engine: cloud_build
    cloud_build: {location: us-central1}
"""

RETURN = r"""
reference:
  description: The image by its digest; by its tag in check mode, where it is still to be built.
  returned: success
  type: str
  sample: us-central1-docker.pkg.dev/my-project/images/vllm-gpu@sha256:6c3c624b58dbbcd3c0dd82b4c53f04194d1247c6eebdaab7c610cf7d66709b3b
name:
  description: The image without tag and digest.
  returned: success
  type: str
tag:
  description: The tag that follows from the content.
  returned: success
  type: str
  sample: c1f0a4c2b4c2fd3ab8e51
digest:
  description: Digest of what the registry has under the tag; empty in check mode, where it is still to be built.
  returned: success
  type: str
bases:
  description: The base images.
  returned: success
  type: list
  elements: str
actions:
  description: What was done, or would be done in check mode.
  returned: success
  type: list
  elements: str
before:
  description: The reference as it was; empty where the registry did not have the image.
  returned: success
  type: dict
after:
  description: The reference as it is now, or would be in check mode.
  returned: success
  type: dict
notes:
  description: What is worth knowing, such as base images that are not pinned.
  returned: success
  type: list
  elements: str
waited_seconds:
  description: How long all of it took, in seconds.
  returned: success
  type: float
output:
  description: The last lines of what the engine said, without secrets.
  returned: when a build or a push fails
  type: list
  elements: str
reason:
  description: >-
    V(EngineMissing), V(BuildFailed), V(BaseUnavailable), V(PushDenied), V(RepositoryMissing), V(RegistryUnreachable),
    V(RegistryRefused), V(PlatformMismatch), V(ContextUnreadable), V(InvalidInput), or a reason of Google's.
  returned: failure
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._glue.container_image import run_container_image
from ansible_collections.inference.dra.plugins.module_utils._glue.google import google_spec


def argument_spec() -> dict[str, object]:
    text = {"type": "str"}
    place = {"location": {"type": "str", "default": "global"}, "bucket": text, "service_account": text}
    return {
        **google_spec(),
        "name": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["present"], "default": "present"},
        "context": {"type": "path", "required": True},
        "dockerfile": {"type": "path", "default": "Dockerfile"},
        "build_args": {"type": "dict"},
        "platform": {"type": "str", "default": "linux/amd64"},
        "machine_types": {"type": "list", "elements": "str"},
        "engine": {
            "type": "str",
            "choices": ["docker", "podman", "cloud_build", "append"],
            "default": "docker",
        },
        "username": text,
        "password": {"type": "str", "no_log": True},
        "cloud_build": {"type": "dict", "options": place},
        "timeout_seconds": {"type": "int", "default": 3600},
    }


def main() -> None:
    run_container_image(AnsibleModule(argument_spec(), supports_check_mode=True))


if __name__ == "__main__":
    main()
