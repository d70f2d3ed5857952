# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that follows from ``inference_alternatives``, derived once.

Node pools, the claim template, the ComputeClass, the slices to expect, images, prices and the placement
part of a pod template all come from the same ordered list, so that no name, label or number of an
alternative stands in two places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .alternative_inputs import Alternative, Image, NodePool, Taint, read_alternatives
from .alternative_settings import (
    COMPUTE_CLASS_KEY,
    DRIVER_NODE_LABELS,
    Settings,
    contradictions,
    read_settings,
)
from .driver_names import CPU_DRIVER, GPU_DRIVER
from .strict_reader import InputError, Problem

__all__ = ["InputError", "Plan", "Problem", "Settings", "plan"]

NODE_POOL_KEY = "cloud.google.com/gke-nodepool"
GPU_TAINT = Taint("nvidia.com/gpu", "present", "NoSchedule")  # GKE puts it on every GPU node itself
DELETION_CANDIDATE_KEY = "DeletionCandidateOfClusterAutoscaler"


@dataclass(frozen=True, slots=True)
class Plan:
    """The derived values. Every method is a view of the same list; ``as_dict`` has them all."""

    alternatives: tuple[Alternative, ...]
    settings: Settings

    def as_dict(self) -> dict[str, Any]:
        """Return every view under the name of its method, ready for templates and modules."""
        return {
            "alternatives": [alternative.name for alternative in self.alternatives],
            "node_pools": self.node_pools(),
            "nodes": self.nodes(),
            "device_classes": self.device_classes(),
            "claim_template": self.claim_template(),
            "compute_class": self.compute_class(),
            "slices": self.slices(),
            "images": self.images(),
            "prices": self.prices(),
            "placement": self.placement(),
        }

    def node_pools(self) -> list[dict[str, Any]]:
        """Return the pools in order of preference, as the module gke_node_pool takes them.

        Shape: ``name, machine_type, spot, initial_node_count, autoscaling {enabled, min_node_count,
        max_node_count}, locations, labels, taints, accelerators``; sizes are per zone.
        """
        return [
            {
                "name": pool.name,
                "machine_type": pool.machine_type,
                "spot": pool.spot,
                "initial_node_count": pool.initial_nodes,
                "autoscaling": {
                    "enabled": True,
                    "min_node_count": pool.min_nodes,
                    "max_node_count": pool.max_nodes,
                },
                "locations": list(pool.zones or self.settings.zones),
                "labels": self._pool_labels(alternative, pool),
                "taints": [taint.as_dict() for taint in self._pool_taints(pool)],
                "accelerators": _accelerators(pool),
            }
            for alternative, pool in self._with_pools()
        ]

    def nodes(self) -> list[dict[str, Any]]:
        """Return what a node of each pool carries once GKE has added its own.

        Shape: ``alternative, node_pool, labels, taints``.
        """
        return [
            {
                "alternative": alternative.name,
                "node_pool": pool.name,
                "labels": self._pool_labels(alternative, pool) | _labels_from_gke(pool),
                "taints": [taint.as_dict() for taint in self._node_taints(pool)],
            }
            for alternative, pool in self._with_pools()
        ]

    def device_classes(self) -> list[dict[str, str]]:
        """Return the DeviceClasses that must exist, each with the driver whose devices it selects."""
        classes = {alternative.device_class: alternative.driver for alternative in self.alternatives}
        classes[self.settings.gating_device_class] = self.settings.gating_driver
        return [{"name": name, "driver": driver} for name, driver in classes.items()]

    def claim_template(self) -> dict[str, Any]:
        """Return the ResourceClaimTemplate: one ``firstAvailable`` request, the gate, one config each.

        The gate shares the claim with the hardware: of two claims the scheduler may drop either when the
        binding fails. Configs name ``request/alternative``, because one without requests is ambiguous.
        """
        settings = self.settings
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": settings.claim_template},
            "spec": {
                "spec": {
                    "devices": {
                        "requests": [
                            {
                                "name": settings.request,
                                "firstAvailable": [_subrequest(item) for item in self.alternatives],
                            },
                            {
                                "name": settings.gating_request,
                                "exactly": {"deviceClassName": settings.gating_device_class},
                            },
                        ],
                        "config": [
                            self._image_config(alternative, image)
                            for alternative, image in zip(self.alternatives, self.images(), strict=True)
                        ],
                    }
                }
            },
        }

    def compute_class(self) -> dict[str, Any] | None:
        """Return the ComputeClass, or None where none is wanted or no alternative has a node pool.

        ``whenUnsatisfiable`` is always stated: its default differs between versions of the CRD.
        """
        pools = [pool.name for _alternative, pool in self._with_pools()]
        if not self.settings.compute_class or not pools:
            return None
        spec: dict[str, Any] = {
            "priorities": [{"nodepools": [name]} for name in pools],
            "whenUnsatisfiable": self.settings.when_unsatisfiable,
        }
        if self.settings.active_migration:
            spec["activeMigration"] = {"optimizeRulePriority": True}
        return {
            "apiVersion": "cloud.google.com/v1",
            "kind": "ComputeClass",
            "metadata": {"name": self.settings.compute_class},
            "spec": spec,
        }

    def slices(self) -> list[dict[str, Any]]:
        """Return what each driver must publish.

        Shape: ``alternative, driver, device_class, node_selector, devices_min, capacity`` per alternative
        (devices per node), with ``cpu_manager_policy`` for the CPU driver, then the gate's cluster-wide
        pool with ``pool`` and ``all_nodes`` true.
        """
        expected: list[dict[str, Any]] = [
            {
                "alternative": alternative.name,
                "driver": alternative.driver,
                "device_class": alternative.device_class,
                "node_selector": self._node_selector(alternative),
                "devices_min": _devices_per_node(alternative),
                "capacity": dict(alternative.capacity),
                "all_nodes": False,
                **({"cpu_manager_policy": "none"} if alternative.driver == CPU_DRIVER else {}),
            }
            for alternative in self.alternatives
        ]
        expected.append(
            {
                "alternative": "",
                "driver": self.settings.gating_driver,
                "device_class": self.settings.gating_device_class,
                "pool": self.settings.gating_pool,
                "node_selector": {},
                "devices_min": 1,
                "capacity": {},
                "all_nodes": True,
            }
        )
        return expected

    def images(self) -> list[dict[str, Any]]:
        """Return the image of each alternative.

        Shape: ``alternative, name`` (below the registry; empty for a foreign reference), ``reference``,
        ``pinned`` (a tag other than ``latest``, or a digest, says which image it is).
        """
        return [
            {
                "alternative": alternative.name,
                "name": alternative.image.name,
                "reference": (reference := self._reference(alternative.name, alternative.image)),
                "pinned": _is_pinned(reference),
            }
            for alternative in self.alternatives
        ]

    def prices(self) -> dict[str, dict[str, Any]]:
        """Return ``usd_per_hour`` of one node and ``as_of`` by alternative, for those that state a price."""
        return {
            alternative.name: {
                "usd_per_hour": float(alternative.price.usd_per_hour),
                "as_of": alternative.price.as_of,
            }
            for alternative in self.alternatives
            if alternative.price
        }

    def placement(self) -> dict[str, Any]:
        """Return the parts of a pod spec that keep the order of the alternatives across nodes.

        Within a node the scheduler follows ``firstAvailable`` strictly; between nodes the order is one score
        among others. Observed on Kubernetes 1.36.3: an idle node marked for deletion loses 300 points, so
        only the toleration helps; default spreading and image locality outvote the order, so an own soft
        constraint (which switches the default off) and preferred node affinity are needed.
        """
        placement: dict[str, Any] = {
            "nodeSelector": {},
            "tolerations": self._tolerations(),
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "kubernetes.io/hostname",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": dict(self.settings.pod_labels)},
                }
            ],
        }
        if self.settings.compute_class:
            placement["nodeSelector"] = {COMPUTE_CLASS_KEY: self.settings.compute_class}
        preferred = self._preferred_nodes()
        if preferred:
            placement["affinity"] = {
                "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
            }
        return placement

    def _with_pools(self) -> list[tuple[Alternative, NodePool]]:
        return [(item, item.node_pool) for item in self.alternatives if item.node_pool]

    def _pool_labels(self, alternative: Alternative, pool: NodePool) -> dict[str, str]:
        return self._class_label() | DRIVER_NODE_LABELS.get(alternative.driver, {}) | dict(pool.labels)

    def _class_label(self) -> dict[str, str]:
        name = self.settings.compute_class
        return {COMPUTE_CLASS_KEY: name} if name else {}

    def _pool_taints(self, pool: NodePool) -> tuple[Taint, ...]:
        name = self.settings.compute_class
        of_class = (Taint(COMPUTE_CLASS_KEY, name, "NoSchedule"),) if name else ()
        return of_class + pool.taints

    def _node_taints(self, pool: NodePool) -> tuple[Taint, ...]:
        return self._pool_taints(pool) + ((GPU_TAINT,) if pool.accelerator else ())

    def _node_selector(self, alternative: Alternative) -> dict[str, str]:
        if alternative.node_selector:
            return dict(alternative.node_selector)
        return {NODE_POOL_KEY: alternative.node_pool.name} if alternative.node_pool else {}

    def _reference(self, name: str, image: Image) -> str:
        known = self.settings.image_references.get(name) or image.reference
        if known:
            return known
        path = "/".join(part for part in (self.settings.image_registry.rstrip("/"), image.name) if part)
        return f"{path}:{image.tag}" if image.tag else path

    def _image_config(self, alternative: Alternative, image: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "requests": [f"{self.settings.request}/{alternative.name}"],
            "opaque": {
                "driver": self.settings.gating_driver,
                "parameters": {
                    "apiVersion": "image-configurator.x-k8s.io/v1alpha1",
                    "kind": "ImageConfig",
                    "containerName": self.settings.container,
                    "image": image["reference"],
                },
            },
        }

    def _tolerations(self) -> list[dict[str, str]]:
        tolerations: list[dict[str, str]] = []
        if self.settings.compute_class:
            tolerations.append({"key": COMPUTE_CLASS_KEY, "operator": "Exists"})
        # GKE adds this toleration only to pods that ask for the extended resource; claims do not.
        if any(pool.accelerator for _alternative, pool in self._with_pools()) or any(
            alternative.driver == GPU_DRIVER for alternative in self.alternatives
        ):
            tolerations.append({"key": GPU_TAINT.key, "operator": "Exists", "effect": GPU_TAINT.effect})
        for _alternative, pool in self._with_pools():
            for taint in pool.taints:
                toleration = {
                    "key": taint.key,
                    "operator": "Equal",
                    "value": taint.value,
                    "effect": taint.effect,
                }
                if toleration not in tolerations:
                    tolerations.append(toleration)
        # No effect given: the soft taint of today and any hard one of tomorrow. The hard
        # ToBeDeletedByClusterAutoscaler is another key and must stay untolerated.
        tolerations.append({"key": DELETION_CANDIDATE_KEY, "operator": "Exists"})
        return tolerations

    def _preferred_nodes(self) -> list[dict[str, Any]]:
        """Return affinity terms from 100 down to (but without) 0 for the last alternative."""
        last = len(self.alternatives) - 1
        terms = []
        for index, alternative in enumerate(self.alternatives[:last]):
            selector = self._node_selector(alternative)
            if selector:
                expressions = [
                    {"key": key, "operator": "In", "values": [value]} for key, value in selector.items()
                ]
                terms.append(
                    {
                        "weight": round(100 * (last - index) / last),
                        "preference": {"matchExpressions": expressions},
                    }
                )
        return terms


def plan(alternatives: Any, settings: Mapping[str, Any] | None = None) -> Plan:
    """Return the plan for the ordered list ``alternatives``; the keys of ``settings`` are ``Settings``'.

    Errors: ``InputError`` (a ``ValueError``) whose ``problems`` name entry, field, what was found and what is
    needed; all problems at once.
    """
    problems: list[Problem] = []
    read: tuple[Alternative, ...] = ()
    try:
        read = read_alternatives(alternatives)
    except InputError as error:
        problems.extend(error.problems)
    shared = read_settings(settings or {}, problems)
    problems.extend(contradictions(read, shared))
    if problems:
        raise InputError(problems)
    return Plan(read, shared)


def _subrequest(alternative: Alternative) -> dict[str, Any]:
    """Return one entry of ``firstAvailable``; what equals the API's default is left out."""
    request: dict[str, Any] = {"name": alternative.name, "deviceClassName": alternative.device_class}
    if alternative.selectors:
        request["selectors"] = [{"cel": {"expression": text}} for text in alternative.selectors]
    if alternative.count != 1:
        request["count"] = alternative.count
    if alternative.tolerations:
        request["tolerations"] = [dict(item) for item in alternative.tolerations]
    if alternative.capacity:
        request["capacity"] = {"requests": dict(alternative.capacity)}
    return request


def _accelerators(pool: NodePool) -> list[dict[str, Any]]:
    accelerator = pool.accelerator
    if accelerator is None:
        return []
    return [
        {
            "type": accelerator.type,
            "count": accelerator.count,
            "gpu_driver_version": accelerator.gpu_driver_version,
        }
    ]


def _labels_from_gke(pool: NodePool) -> dict[str, str]:
    labels = {NODE_POOL_KEY: pool.name, "node.kubernetes.io/instance-type": pool.machine_type}
    if pool.accelerator:
        labels["cloud.google.com/gke-accelerator"] = pool.accelerator.type
    if pool.spot:
        labels["cloud.google.com/gke-spot"] = "true"
    return labels


def _devices_per_node(alternative: Alternative) -> int:
    pool = alternative.node_pool
    if alternative.driver == GPU_DRIVER and pool and pool.accelerator:
        return pool.accelerator.count
    return alternative.count


def _is_pinned(reference: str) -> bool:
    if "@sha256:" in reference:
        return True
    _path, _colon, tag = reference.rpartition("/")[2].partition(":")
    return tag not in {"", "latest"}
