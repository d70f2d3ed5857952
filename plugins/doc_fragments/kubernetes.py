# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules that read Kubernetes."""

from __future__ import annotations


class ModuleDocFragment:
    # A dump in the place of a live cluster.
    DUMP = r"""
options:
  objects:
    description:
      - Recorded API objects to judge in the place of a live cluster, so that a support dump gives the same answer as the cluster
        it was taken from.
      - A list of objects (of kind C(List) too), or the path of a file with the output of C(kubectl get ... -o yaml) on the host
        where the module runs.
      - No connection is made when this is given.
    type: raw
  now:
    description:
      - The time to judge by, such as V(2026-08-01T12:00:00Z). Needed with O(objects) for everything that depends on time.
      - The current time where it is not given.
    type: str
"""

    # Which claims are meant.
    SELECTION = r"""
options:
  namespace:
    description:
      - Namespace of the claims. All namespaces where it is not given and nothing else selects.
    type: str
  names:
    description: Names of claims.
    type: list
    elements: str
  label_selectors:
    description: Label selectors of claims, all of which must match, such as V(app=vllm) or V(tier in (gpu, cpu)).
    type: list
    elements: str
  drivers:
    description:
      - Names of DRA drivers; the claims that hold a device of one of them are meant, whoever's they are.
      - A claim that only asks for devices holds none, and its pod needs no driver to end.
    type: list
    elements: str
  pods:
    description: Names of pods whose claims are meant, those that are named in the pod and those made for it.
    type: list
    elements: str
  deployment:
    description:
      - Name of a Deployment; the claims of the live pods of its current ReplicaSet are meant.
      - Pods of an older ReplicaSet, pods that ended, and pods that are being deleted don't count.
    type: str
  if_none:
    description: What it means that nothing matches.
    type: str
    choices:
      fail: It is an error; the usual cause is a wrong name or namespace.
      wait: Go on until something matches, where the module waits; else as V(ok).
      ok: An empty answer is an answer.
    default: fail
"""
