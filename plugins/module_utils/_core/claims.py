# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ResourceClaims, their templates and DeviceClasses as typed values (``resource.k8s.io/v1``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from . import quantity
from .nodes import node_selector, pinned_node
from .objects import NOTHING, Metadata, View, open_object
from .quantity import Quantity
from .slices import DeviceId, DeviceTaint

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
EXTENDED_RESOURCE_CLAIM = "resource.kubernetes.io/extended-resource-claim"


class Toleration(NamedTuple):
    """A device toleration of a request; operator and effect are kept as written."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: DeviceTaint) -> bool:
        """Return whether the taint is tolerated (resourceclaim.ToleratesTaint)."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        if self.operator == "Exists":
            return True
        return self.operator in ("", "Equal") and self.value == taint.value

    def endures(self, taint: DeviceTaint) -> bool:
        """Return whether a pod with the device may go on running.

        The scheduler takes a toleration without an effect for one of every effect. The eviction controller
        wants the effect NoExecute named, and else deletes the pod as soon as it is bound (observed on
        Kubernetes 1.36.3; ``device_taint_eviction.go``).
        """
        return self.tolerates(taint) and (taint.effect != "NoExecute" or self.effect == taint.effect)


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to satisfy a request: the ``exactly`` of it, or an entry of its ``firstAvailable``.

    :param name: as results write it, ``main`` or ``main/sub``.
    :param selectors: CEL expressions; all must hold.
    :param capacity: by name as written in the request, not qualified.
    """

    name: str
    device_class: str
    selectors: tuple[str, ...] = ()
    allocation_mode: str = "ExactCount"
    count: int = 1
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    capacity: Mapping[str, Quantity] = field(default_factory=lambda: NOTHING)
    unknown: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a claim with its alternatives in order; one without ``firstAvailable`` has one."""

    name: str
    alternatives: tuple[Alternative, ...]
    first_available: bool = False
    unknown: Mapping[str, Any] = field(default_factory=lambda: NOTHING)

    def position(self, alternative: str) -> int:
        """Return the index of the alternative of this name (``main/sub``), -1 for none."""
        names = [each.name for each in self.alternatives]
        return names.index(alternative) if alternative in names else -1


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint over the devices of some requests; no requests means all of the claim."""

    requests: tuple[str, ...] = ()
    match_attribute: str = ""
    distinct_attribute: str = ""
    unknown: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """An opaque configuration for one driver; ``source`` is set in an allocation only."""

    requests: tuple[str, ...]
    driver: str
    parameters: Mapping[str, Any]
    source: str = ""
    unknown: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class DeviceRequests:
    """What a claim or a template asks for: ``spec.devices``."""

    requests: tuple[Request, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    configs: tuple[DeviceConfig, ...] = ()
    unknown: Mapping[str, Any] = field(default_factory=lambda: NOTHING)

    @classmethod
    def from_view(cls, view: View) -> DeviceRequests:
        """Return the wishes of a ``spec.devices`` mapping."""
        return cls(
            requests=tuple(_request(each) for each in view.children("requests")),
            constraints=tuple(
                Constraint(
                    requests=each.texts("requests"),
                    match_attribute=each.text("matchAttribute"),
                    distinct_attribute=each.text("distinctAttribute"),
                    unknown=each.unknown(_CONSTRAINT_FIELDS),
                )
                for each in view.children("constraints")
            ),
            configs=tuple(_config(each) for each in view.children("config")),
            unknown=view.unknown(_DEVICES_FIELDS),
        )

    def request(self, name: str) -> Request | None:
        """Return the request of a name, or the one that a ``main/sub`` name belongs to."""
        main = name.partition("/")[0]
        return next((each for each in self.requests if each.name == main), None)


@dataclass(frozen=True, slots=True)
class AllocatedDevice:
    """One allocation result: a device, or a share of one, for a request.

    :param request: ``main`` or ``main/sub``: which alternative was chosen.
    :param binding_conditions: as copied from the slice at allocation time (KEP-5007).
    """

    request: str
    driver: str
    pool: str
    device: str
    share_id: str = ""
    consumed_capacity: Mapping[str, Quantity] = field(default_factory=lambda: NOTHING)
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    unknown: Mapping[str, Any] = field(default_factory=lambda: NOTHING)

    @property
    def id(self) -> DeviceId:
        return DeviceId(self.driver, self.pool, self.device)

    def __str__(self) -> str:
        return f"{self.id} share {self.share_id}" if self.share_id else str(self.id)


@dataclass(frozen=True, slots=True)
class Allocation:
    """What the scheduler gave: devices, their configuration, the nodes they can be used on."""

    devices: tuple[AllocatedDevice, ...] = ()
    configs: tuple[DeviceConfig, ...] = ()
    node_selector: Mapping[str, Any] | None = None
    timestamp: datetime | None = None
    unknown: Mapping[str, Any] = field(default_factory=lambda: NOTHING)

    @property
    def node(self) -> str:
        """Return the only node of the allocation; empty where it can be used on several."""
        return pinned_node(self.node_selector)


class Condition(NamedTuple):
    """A condition of a device's status."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    changed: datetime | None = None

    @classmethod
    def from_view(cls, view: View) -> Condition:
        """Return the condition of one entry of a ``conditions`` list."""
        return cls(
            view.text("type"),
            view.text("status"),
            view.text("reason"),
            view.text("message"),
            view.time("lastTransitionTime"),
        )


@dataclass(frozen=True, slots=True)
class DeviceStatus:
    """What a driver reported about one allocated device (KEP-4817)."""

    driver: str
    pool: str
    device: str
    share_id: str = ""
    conditions: tuple[Condition, ...] = ()
    unknown: Mapping[str, Any] = field(default_factory=lambda: NOTHING)

    @property
    def id(self) -> DeviceId:
        return DeviceId(self.driver, self.pool, self.device)

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of a type, None where the driver never reported it."""
        return next((each for each in self.conditions if each.type == kind), None)


class Consumer(NamedTuple):
    """Who a claim is reserved for; the UID tells a pod from its successor of the same name."""

    resource: str
    name: str
    uid: str
    api_group: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A ResourceClaim with its status."""

    meta: Metadata
    devices: DeviceRequests
    allocation: Allocation | None = None
    reserved_for: tuple[Consumer, ...] = ()
    device_statuses: tuple[DeviceStatus, ...] = ()
    unknown: Mapping[str, Any] = field(default_factory=lambda: NOTHING)

    @classmethod
    def from_api(cls, obj: Any) -> Claim:
        """Return the claim of a ``resource.k8s.io/v1`` ResourceClaim mapping.

        :raises MalformedObjects: where a field is missing or has a type the API never gives it.
        """
        view, meta = open_object(obj, "ResourceClaim")
        status = view.child("status")
        return cls(
            meta=meta,
            devices=DeviceRequests.from_view(view.child("spec").child("devices")),
            allocation=_allocation(status.child("allocation")) if "allocation" in status else None,
            reserved_for=tuple(
                Consumer(each.text("resource"), each.text("name"), each.text("uid"), each.text("apiGroup"))
                for each in status.children("reservedFor")
            ),
            device_statuses=tuple(_device_status(each) for each in status.children("devices")),
            unknown=status.unknown(_STATUS_FIELDS),
        )

    @property
    def subject(self) -> str:
        return f"ResourceClaim {self.meta.full_name}"

    @property
    def pod_claim_name(self) -> str:
        """Return the name inside the pod that this claim was generated for, empty for others."""
        return self.meta.annotations.get(POD_CLAIM_NAME, "")

    @property
    def serves_extended_resource(self) -> bool:
        """Return whether the scheduler made this claim for a pod's plain resources (KEP-5004)."""
        return self.meta.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true"


@dataclass(frozen=True, slots=True)
class ClaimTemplate:
    """A ResourceClaimTemplate."""

    meta: Metadata
    devices: DeviceRequests

    @classmethod
    def from_api(cls, obj: Any) -> ClaimTemplate:
        """Return the template of a ``resource.k8s.io/v1`` ResourceClaimTemplate mapping.

        :raises MalformedObjects: where a field is missing or has a type the API never gives it.
        """
        view, meta = open_object(obj, "ResourceClaimTemplate")
        wanted = view.child("spec").child("spec").child("devices")
        return cls(meta, DeviceRequests.from_view(wanted))


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A DeviceClass: selectors every device of the class satisfies, and configuration for it."""

    meta: Metadata
    selectors: tuple[str, ...] = ()
    configs: tuple[DeviceConfig, ...] = ()
    extended_resource_name: str = ""
    unknown: Mapping[str, Any] = field(default_factory=lambda: NOTHING)

    @classmethod
    def from_api(cls, obj: Any) -> DeviceClass:
        """Return the class of a ``resource.k8s.io/v1`` DeviceClass mapping.

        :raises MalformedObjects: where a field is missing or has a type the API never gives it.
        """
        view, meta = open_object(obj, "DeviceClass")
        spec = view.child("spec")
        return cls(
            meta=meta,
            selectors=_selectors(spec),
            configs=tuple(_config(each) for each in spec.children("config")),
            extended_resource_name=spec.text("extendedResourceName"),
            unknown=spec.unknown(_CLASS_FIELDS),
        )

    @property
    def name(self) -> str:
        return self.meta.name


_DEVICES_FIELDS = frozenset("requests constraints config".split())
_REQUEST_FIELDS = frozenset("name exactly firstAvailable".split())
_ALTERNATIVE_FIELDS = frozenset(
    "name deviceClassName selectors allocationMode count adminAccess tolerations capacity".split()
)
_CONSTRAINT_FIELDS = frozenset("requests matchAttribute distinctAttribute".split())
_CONFIG_FIELDS = frozenset("source requests opaque".split())
_STATUS_FIELDS = frozenset("allocation reservedFor devices".split())
_ALLOCATION_FIELDS = frozenset("devices nodeSelector allocationTimestamp".split())
_RESULT_FIELDS = frozenset(
    (
        "request driver pool device shareID consumedCapacity adminAccess tolerations "
        "bindingConditions bindingFailureConditions"
    ).split()
)
_DEVICE_STATUS_FIELDS = frozenset("driver pool device shareID conditions".split())
_CLASS_FIELDS = frozenset("selectors config extendedResourceName".split())


def _request(view: View) -> Request:
    name = view.required_text("name")
    if "firstAvailable" in view:
        alternatives = tuple(
            _alternative(each, f"{name}/{each.required_text('name')}")
            for each in view.children("firstAvailable")
        )
    elif "exactly" in view:
        alternatives = (_alternative(view.child("exactly"), name),)
    else:
        alternatives = ()  # a kind of request that a newer API added
    return Request(name, alternatives, "firstAvailable" in view, view.unknown(_REQUEST_FIELDS))


def _alternative(view: View, name: str) -> Alternative:
    return Alternative(
        name=name,
        device_class=view.text("deviceClassName"),
        selectors=_selectors(view),
        allocation_mode=view.text("allocationMode", "ExactCount"),
        count=view.integer("count", 1),
        admin_access=view.boolean("adminAccess"),
        tolerations=_tolerations(view),
        capacity=_quantities(view.child("capacity").child("requests")),
        unknown=view.unknown(_ALTERNATIVE_FIELDS),
    )


def _selectors(view: View) -> tuple[str, ...]:
    return tuple(each.child("cel").text("expression") for each in view.children("selectors"))


def _tolerations(view: View) -> tuple[Toleration, ...]:
    return tuple(
        Toleration(
            each.text("key"),
            each.text("operator", "Equal"),
            each.text("value"),
            each.text("effect"),
        )
        for each in view.children("tolerations")
    )


def _config(view: View) -> DeviceConfig:
    opaque = view.child("opaque")
    return DeviceConfig(
        requests=view.texts("requests"),
        driver=opaque.text("driver"),
        parameters=opaque.child("parameters").value,
        source=view.text("source"),
        unknown=view.unknown(_CONFIG_FIELDS),
    )


def _allocation(view: View) -> Allocation:
    devices = view.child("devices")
    return Allocation(
        devices=tuple(_allocated_device(each) for each in devices.children("results")),
        configs=tuple(_config(each) for each in devices.children("config")),
        node_selector=node_selector(view.child("nodeSelector")) if "nodeSelector" in view else None,
        timestamp=view.time("allocationTimestamp"),
        unknown=view.unknown(_ALLOCATION_FIELDS),
    )


def _allocated_device(view: View) -> AllocatedDevice:
    return AllocatedDevice(
        request=view.required_text("request"),
        driver=view.required_text("driver"),
        pool=view.required_text("pool"),
        device=view.required_text("device"),
        share_id=view.text("shareID"),
        consumed_capacity=_quantities(view.child("consumedCapacity")),
        admin_access=view.boolean("adminAccess"),
        tolerations=_tolerations(view),
        binding_conditions=view.texts("bindingConditions"),
        binding_failure_conditions=view.texts("bindingFailureConditions"),
        unknown=view.unknown(_RESULT_FIELDS),
    )


def _device_status(view: View) -> DeviceStatus:
    return DeviceStatus(
        driver=view.text("driver"),
        pool=view.text("pool"),
        device=view.text("device"),
        share_id=view.text("shareID"),
        conditions=tuple(Condition.from_view(each) for each in view.children("conditions")),
        unknown=view.unknown(_DEVICE_STATUS_FIELDS),
    )


def _quantities(view: View) -> Mapping[str, Quantity]:
    if not view.value:
        return NOTHING
    return {name: view.parsed(name, quantity.parse, "a quantity") for name in view.value}
