# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Would these claims fit on this node, with which alternatives and which devices?

The search follows kube-scheduler 1.36.3 step by step (k8s.io/dynamic-resource-allocation 0.36.3,
``allocator_incubating.go``, the variant that the default feature gates select): pools in the order of driver
and name, those with binding conditions last; slices by name; devices in published order; the first
complete solution wins, with backtracking over devices, requests and alternatives. It works on one node,
a live one or one imagined from a template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .allocator import MAX_STEPS, Search, Stop
from .claims import DeviceClass, DeviceRequests
from .fits import Fit, Refusal
from .inventory import Inventory, Place
from .refusals import unfit

SCORE_WEIGHT = 2  # of the DynamicResources plugin, observed on Kubernetes 1.36.3
MAX_NODE_SCORE = 100


def what_if(
    claims: Sequence[DeviceRequests], place: Place, inventory: Inventory, *, max_steps: int = MAX_STEPS
) -> Fit | Refusal:
    """Return what the scheduler would allocate for a pod's claims on one node.

    :param claims: the claims of one pod that have no allocation yet, in the pod's order.
    :param max_steps: how many devices to try before giving up with scope ``unknown``.
    """
    if missing := missing_class(claims, inventory.classes):
        return missing
    search = Search(claims, place, inventory, max_steps)
    try:
        fit = search.run()
    except Stop as stop:
        return stop.refusal
    except RecursionError:
        return Refusal(
            "SearchTooLong", "the claims ask for more devices than can be searched", scope="unknown"
        )
    return fit or unfit(claims, place, inventory)


def missing_class(claims: Sequence[DeviceRequests], classes: Mapping[str, DeviceClass]) -> Refusal | None:
    """Return the refusal for a class that does not exist: one missing alternative stops the whole pod."""
    for index, claim in enumerate(claims):
        for request in claim.requests:
            if not request.alternatives:
                text = f"request {request.name}: unknown request type"
                return Refusal("RequestUnsupported", text, index, request.name, "pod")
            for alternative in request.alternatives:
                if alternative.device_class not in classes:
                    text = (
                        f"request {alternative.name}: device class {alternative.device_class} does not exist"
                    )
                    return Refusal("DeviceClassMissing", text, index, alternative.name, "pod")
    return None


def normalized_scores(scores: Mapping[str, int]) -> dict[str, int]:
    """Return the plugin's weighted scores of nodes with these raw scores (200, 174, 150, … for one request).

    Source: DefaultNormalizeScore, integer division as in Go.
    """
    highest = max(scores.values(), default=0)
    if highest <= 0:
        return dict.fromkeys(scores, 0)
    return {name: MAX_NODE_SCORE * score // highest * SCORE_WEIGHT for name, score in scores.items()}


def best_nodes(answers: Mapping[str, Fit | Refusal]) -> list[str]:
    """Return the nodes that the scheduler prefers if they differ in nothing but the chosen alternatives.

    Taints, spreading, affinity and images are scores of other plugins and can outvote the order.
    """
    scores = normalized_scores({name: each.score for name, each in answers.items() if isinstance(each, Fit)})
    return [name for name, score in scores.items() if score == max(scores.values())]
