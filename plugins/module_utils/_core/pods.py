# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods as typed values, as far as claims, images and placement need them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .claims import Condition
from .objects import NOTHING, Metadata, View, open_object


class PodClaim(NamedTuple):
    """An entry of ``spec.resourceClaims``: a claim by name, or a template to generate one from."""

    name: str
    claim_name: str = ""
    template_name: str = ""


class Container(NamedTuple):
    """A container as specified; ``claims`` are its ``resources.claims`` as (name, request)."""

    name: str
    image: str
    is_init: bool = False
    claims: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod.

    :param claim_statuses: name inside the pod → generated claim; an empty value means that no claim
        was needed. Claims named in the spec never appear here (kubernetes/kubernetes#140036).
    :param extended_resource_claim: the claim the scheduler made for plain resources (KEP-5004).
    :param pod_group: the group whose claims the pod may use instead of its own.
    :param spec: the whole specification, for rules about placement.
    """

    meta: Metadata
    phase: str = "Pending"
    node_name: str = ""
    nominated_node_name: str = ""
    claims: tuple[PodClaim, ...] = ()
    claim_statuses: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    extended_resource_claim: str = ""
    containers: tuple[Container, ...] = ()
    conditions: tuple[Condition, ...] = ()
    pod_group: str = ""
    spec: Mapping[str, Any] = field(default_factory=lambda: NOTHING, repr=False)
    status: Mapping[str, Any] = field(default_factory=lambda: NOTHING, repr=False)

    @classmethod
    def from_api(cls, obj: Any) -> Pod:
        """Return the pod of a ``v1`` Pod mapping.

        :raises MalformedObjects: where a field has a type the API never gives it.
        """
        view, meta = open_object(obj, "Pod")
        spec, status = view.child("spec"), view.child("status")
        return cls(
            meta=meta,
            phase=status.text("phase", "Pending"),
            node_name=spec.text("nodeName"),
            nominated_node_name=status.text("nominatedNodeName"),
            claims=tuple(
                PodClaim(
                    each.required_text("name"),
                    each.text("resourceClaimName"),
                    each.text("resourceClaimTemplateName"),
                )
                for each in spec.children("resourceClaims")
            ),
            claim_statuses={
                each.required_text("name"): each.text("resourceClaimName")
                for each in status.children("resourceClaimStatuses")
            },
            extended_resource_claim=status.child("extendedResourceClaimStatus").text("resourceClaimName"),
            containers=(*_containers(spec, "containers"), *_containers(spec, "initContainers")),
            conditions=tuple(Condition.from_view(each) for each in status.children("conditions")),
            pod_group=spec.child("schedulingGroup").text("podGroupName"),
            spec=spec.value,
            status=status.value,
        )

    @property
    def subject(self) -> str:
        return f"Pod {self.meta.full_name}"

    @property
    def has_ended(self) -> bool:
        """Return whether the pod will never run again; it then holds no device."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def is_live(self) -> bool:
        """Return whether the pod runs, or may still come to run."""
        return not self.has_ended and self.meta.deleted is None

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of a type, None where it was never set."""
        return next((each for each in self.conditions if each.type == kind), None)


class PodIndex:
    """All pods of the cluster, or of the namespaces judged, by UID and by name."""

    def __init__(self, pods: Iterable[Pod]) -> None:
        self._by_uid = {pod.meta.uid: pod for pod in pods}
        self._by_name = {(pod.meta.namespace, pod.meta.name): pod for pod in self._by_uid.values()}

    def __iter__(self) -> Iterator[Pod]:
        return iter(self._by_uid.values())

    def get(self, uid: str) -> Pod | None:
        """Return the pod with exactly this UID."""
        return self._by_uid.get(uid)

    def named(self, namespace: str, name: str) -> Pod | None:
        """Return the pod of this name, which may be the successor of the one that was meant."""
        return self._by_name.get((namespace, name))


def _containers(spec: View, key: str) -> tuple[Container, ...]:
    return tuple(
        Container(
            name=each.required_text("name"),
            image=each.text("image"),
            is_init=key == "initContainers",
            claims=tuple(
                (claim.text("name"), claim.text("request"))
                for claim in each.child("resources").children("claims")
            ),
        )
        for each in spec.children(key)
    )
