# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the alternatives share: names, the registry, the gate; and what contradicts the list."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .alternative_inputs import DNS_LABEL, DNS_SUBDOMAIN, IMAGE_REFERENCE, Alternative
from .driver_names import CPU_DRIVER, GPU_DRIVER
from .strict_reader import Problem, Reader

COMPUTE_CLASS_KEY = "cloud.google.com/compute-class"

# Labels that make a node one of the driver's: the first switches GKE's device plugin off (both on one node
# hand out a device twice), the second is the NVIDIA chart's node affinity, the rest are read by GKE's
# autoscaler and by the drivers' DaemonSets.
DRIVER_NODE_LABELS: dict[str, dict[str, str]] = {
    GPU_DRIVER: {
        "gke-no-default-nvidia-gpu-device-plugin": "true",
        "nvidia.com/gpu.present": "true",
        "cloud.google.com/gke-nvidia-gpu-dra-driver": "true",
    },
    CPU_DRIVER: {"cloud.google.com/gke-cpu-dra-driver": "true"},
    "dra.net": {"cloud.google.com/gke-networking-dra-driver": "true"},
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What the alternatives share. An empty ``compute_class`` means nodes are not grown by class.

    ``image_references`` (alternative name -> complete reference, with digest) wins over the names in the
    list: the images are built after the list was written. ``zones`` is for pools that name none.
    """

    compute_class: str = "fungible-gpu-cpu"
    when_unsatisfiable: str = "DoNotScaleUp"
    active_migration: bool = False
    claim_template: str = "gpu-or-cpu"
    request: str = "device"
    container: str = "vllm"
    image_registry: str = ""
    image_references: Mapping[str, str] = field(default_factory=dict)
    zones: tuple[str, ...] = ()
    pod_labels: Mapping[str, str] = field(default_factory=lambda: {"app": "vllm-fungible"})
    gating_request: str = "image-config"
    gating_device_class: str = "image-configurator.x-k8s.io"
    gating_driver: str = "image-configurator.x-k8s.io"
    gating_pool: str = "all-nodes"


def read_settings(value: Mapping[str, Any], problems: list[Problem]) -> Settings:
    reader = Reader("settings", value, problems)
    default = Settings()
    label = "a DNS label is needed"
    subdomain = "a DNS subdomain is needed"
    settings = Settings(
        compute_class=reader.text(
            "compute_class", re.compile(f"({DNS_LABEL.pattern})?"), label, default.compute_class
        ),
        when_unsatisfiable=reader.text(
            "when_unsatisfiable",
            re.compile("DoNotScaleUp|ScaleUpAnyway"),
            "DoNotScaleUp or ScaleUpAnyway is needed",
            default.when_unsatisfiable,
        ),
        active_migration=reader.boolean("active_migration", default=default.active_migration),
        claim_template=reader.text("claim_template", DNS_SUBDOMAIN, subdomain, default.claim_template),
        request=reader.text("request", DNS_LABEL, label, default.request),
        container=reader.text("container", DNS_LABEL, label, default.container),
        image_registry=reader.text("image_registry", re.compile(r"\S*"), "no blanks", ""),
        image_references=reader.labels("image_references"),
        zones=reader.texts("zones"),
        pod_labels=reader.labels("pod_labels") or default.pod_labels,
        gating_request=reader.text("gating_request", DNS_LABEL, label, default.gating_request),
        gating_device_class=reader.text(
            "gating_device_class", DNS_SUBDOMAIN, subdomain, default.gating_device_class
        ),
        gating_driver=reader.text("gating_driver", DNS_SUBDOMAIN, subdomain, default.gating_driver),
        gating_pool=reader.text("gating_pool", DNS_SUBDOMAIN, subdomain, default.gating_pool),
    )
    reader.close(", ".join(item.name for item in fields(Settings)))
    return settings


def contradictions(alternatives: tuple[Alternative, ...], settings: Settings) -> list[Problem]:
    """Return what the list and the settings say differently."""
    problems = []
    names = {alternative.name for alternative in alternatives}
    for name, reference in settings.image_references.items():
        if alternatives and name not in names:
            known = ", ".join(sorted(names))
            problems.append(
                Problem("settings", f"image_references.{name}", repr(reference), f"alternatives are {known}")
            )
        if not IMAGE_REFERENCE.fullmatch(reference):
            problems.append(
                Problem(
                    "settings",
                    f"image_references.{name}",
                    repr(reference),
                    "a complete image reference is needed",
                )
            )
    for index, alternative in enumerate(alternatives):
        pool = alternative.node_pool
        derived = DRIVER_NODE_LABELS.get(alternative.driver, {}) | {COMPUTE_CLASS_KEY: settings.compute_class}
        for key, value in (pool.labels if pool else {}).items():
            if derived.get(key, value) != value:
                problems.append(
                    Problem(
                        f"alternatives[{index}] ({alternative.name})",
                        f"node_pool.labels.{key}",
                        repr(value),
                        f"the plan sets it to {derived[key]!r}; remove the label here",
                    )
                )
    return problems
