#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: dra_lab
short_description: A GKE on one machine, up or gone
version_added: 0.1.0
description:
  - Starts a lab on the controller, or repairs one of which a part has died, or removes it with everything it made.
  - A lab is a real Kubernetes control plane beside a simulated Google API and simulated machines; see the collection's page on
    the lab for what is real and what is not.
  - Gets the lab's programs first where they are missing, which takes ten minutes or more the first time on a machine
    and shows its progress.
options:
  state:
    description: Whether the lab is there.
    type: str
    choices: [present, absent]
    default: present
  name:
    description: Which lab. Several run side by side under different names.
    type: str
    default: default
  project:
    description: The project that the lab's Google knows. Fixed when the lab is made.
    type: str
    default: lab-project
  speed:
    description: Simulated seconds per real second. Fixed when the lab is made.
    type: float
    default: 20.0
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
- name: Start the lab
  inference.dra.dra_lab:
  register: lab

- name: Remove it
  inference.dra.dra_lab:
    state: absent
"""

RETURN = r"""
running:
  description: Whether the lab is up when the task ends.
  type: bool
  returned: always
kubeconfig:
  description: Path of a kubeconfig with which one is cluster admin of the lab.
  type: str
  returned: when it is up
google_endpoint:
  description: Base URL of the lab's Google APIs, for the option O(ignore:api_endpoint) of this collection's modules.
  type: str
  returned: when it is up
admin_endpoint:
  description: Base URL of the lab's own API, for faults.
  type: str
  returned: when it is up
registry:
  description: Address of the lab's image registry, without a scheme.
  type: str
  returned: when it is up
project:
  description: The project that the lab's Google knows.
  type: str
  returned: when it is up
speed:
  description: Simulated seconds per real second.
  type: float
  returned: when it is up
directory:
  description: The lab's state directory.
  type: str
  returned: when it is up
sources:
  description: Directory of the collection that the lab came with, where its manifests and image sources are.
  type: str
  returned: when it is up
"""
