# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ResourceSlices and their devices as typed values (``resource.k8s.io/v1``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from . import quantity
from .nodes import NO_NODE, NodeSelection
from .objects import NOTHING, Metadata, View, open_object
from .quantity import Quantity

T = TypeVar("T")


class PoolId(NamedTuple):
    """A pool's identity: pools of two drivers may share a name (issue kubernetes#140460)."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class DeviceId(NamedTuple):
    """A device's identity in the whole cluster; a name alone never identifies a device."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"

    @property
    def pool_id(self) -> PoolId:
        return PoolId(self.driver, self.pool)


class Attribute(NamedTuple):
    """An attribute's value with the type it was published with.

    ``type`` is ``int``, ``bool``, ``string``, ``version``, one of their plurals (a tuple as value),
    or the name of a field that this version does not know, with the value as published.
    """

    type: str
    value: Any


class DeviceTaint(NamedTuple):
    """A device's taint; the effect (``None``, ``NoSchedule``, ``NoExecute``) is kept as written."""

    key: str
    value: str
    effect: str
    added: datetime | None = None

    @classmethod
    def from_view(cls, view: View) -> DeviceTaint:
        """Return the taint of one entry of a device's ``taints``."""
        return cls(view.text("key"), view.text("value"), view.text("effect"), view.time("timeAdded"))


class CounterName(NamedTuple):
    """A counter within a counter set of a pool."""

    counter_set: str
    counter: str


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """How much of a capacity one claim may take (KEP-5075); None where a bound is not set."""

    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    minimum: Quantity | None = None
    maximum: Quantity | None = None
    step: Quantity | None = None


@dataclass(frozen=True, slots=True)
class Capacity:
    """One capacity of a device; without a policy a request without an amount takes all of it.

    :param name: as published; a request must name it in the same way, short or in full
        (observed on Kubernetes 1.36.3).
    """

    value: Quantity
    policy: RequestPolicy | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class CounterConsumption:
    """What a device draws from one counter set of its pool (KEP-4815)."""

    counter_set: str
    counters: Mapping[str, Quantity]


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a slice.

    :param attributes: by fully qualified name; an unqualified name has the driver's domain.
    :param capacity: by fully qualified name, likewise.
    :param node_selection: the device's own, used when the slice selects nodes per device.
    :param unknown: fields that a newer API added, as published.
    """

    name: str
    attributes: Mapping[str, Attribute] = field(default_factory=lambda: NOTHING)
    capacity: Mapping[str, Capacity] = field(default_factory=lambda: NOTHING)
    taints: tuple[DeviceTaint, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    binds_to_node: bool = False
    consumes_counters: tuple[CounterConsumption, ...] = ()
    allow_multiple_allocations: bool = False
    node_selection: NodeSelection = NO_NODE
    unknown: Mapping[str, Any] = field(default_factory=lambda: NOTHING)

    @classmethod
    def from_view(cls, view: View, driver: str) -> Device:
        """Return the device of one entry of ``spec.devices``."""
        return cls(
            name=view.required_text("name"),
            attributes=_attributes(view.child("attributes"), driver),
            capacity=_capacities(view.child("capacity"), driver),
            taints=tuple(DeviceTaint.from_view(each) for each in view.children("taints")),
            binding_conditions=view.texts("bindingConditions"),
            binding_failure_conditions=view.texts("bindingFailureConditions"),
            binds_to_node=view.boolean("bindsToNode"),
            consumes_counters=tuple(
                CounterConsumption(each.text("counterSet"), _counters(each.child("counters")))
                for each in view.children("consumesCounters")
            ),
            allow_multiple_allocations=view.boolean("allowMultipleAllocations"),
            node_selection=NodeSelection.from_view(view),
            unknown=view.unknown(_DEVICE_FIELDS),
        )

    def attribute(self, name: str) -> Attribute | None:
        """Return the attribute of a fully qualified name, None where the device has none."""
        return self.attributes.get(name)


@dataclass(frozen=True, slots=True)
class ResourceSlice:
    """One published slice of a pool.

    :param node_selection: where its devices can be reached from.
    :param shared_counters: counter set → counter → amount.
    """

    meta: Metadata
    driver: str
    pool: str
    generation: int
    resource_slice_count: int
    node_selection: NodeSelection
    devices: tuple[Device, ...] = ()
    shared_counters: Mapping[str, Mapping[str, Quantity]] = field(default_factory=lambda: NOTHING)
    unknown: Mapping[str, Any] = field(default_factory=lambda: NOTHING)

    @classmethod
    def from_api(cls, obj: Any) -> ResourceSlice:
        """Return the slice of a ``resource.k8s.io/v1`` ResourceSlice mapping.

        :raises MalformedObjects: where a field is missing or has a type the API never gives it.
        """
        view, meta = open_object(obj, "ResourceSlice")
        spec = view.child("spec")
        pool = spec.child("pool")
        driver = spec.required_text("driver")
        return cls(
            meta=meta,
            driver=driver,
            pool=pool.required_text("name"),
            generation=pool.integer("generation"),
            resource_slice_count=pool.integer("resourceSliceCount"),
            node_selection=NodeSelection.from_view(spec),
            devices=tuple(Device.from_view(each, driver) for each in spec.children("devices")),
            shared_counters={
                each.required_text("name"): _counters(each.child("counters"))
                for each in spec.children("sharedCounters")
            },
            unknown=spec.unknown(_SPEC_FIELDS),
        )

    @property
    def name(self) -> str:
        return self.meta.name

    @property
    def pool_id(self) -> PoolId:
        return PoolId(self.driver, self.pool)

    @property
    def device_names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.devices)

    @property
    def counters(self) -> frozenset[CounterName]:
        """Return the counters that this slice offers to the devices of its pool."""
        return frozenset(
            CounterName(counter_set, counter)
            for counter_set, counters in self.shared_counters.items()
            for counter in counters
        )

    @property
    def consumed_counters(self) -> frozenset[CounterName]:
        """Return the counters that this slice's devices draw from."""
        return frozenset(
            CounterName(each.counter_set, counter)
            for device in self.devices
            for each in device.consumes_counters
            for counter in each.counters
        )

    @property
    def has_binding_conditions(self) -> bool:
        return any(each.binding_conditions for each in self.devices)

    @property
    def taints(self) -> Mapping[str, tuple[DeviceTaint, ...]]:
        """Return the taints of the devices that have any, by device name."""
        return {each.name: each.taints for each in self.devices if each.taints}

    @property
    def shared_devices(self) -> frozenset[str]:
        """Return the devices that can be allocated many times at once (KEP-5075)."""
        return frozenset(each.name for each in self.devices if each.allow_multiple_allocations)

    def device_id(self, device: Device | str) -> DeviceId:
        """Return the cluster-wide identity of one of this slice's devices."""
        return DeviceId(self.driver, self.pool, device if isinstance(device, str) else device.name)

    def reaches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether any device of this slice can be used on the node.

        A slice that only carries counters belongs to every node of its pool (KEP-4815).
        """
        if self.shared_counters:
            return True
        if self.node_selection.kind == "per_device":
            return any(each.node_selection.reaches(name, labels) for each in self.devices)
        return self.node_selection.reaches(name, labels)

    def devices_on(self, name: str, labels: Mapping[str, str]) -> tuple[Device, ...]:
        """Return the devices that can be used on the node, in the slice's order."""
        if self.node_selection.kind == "per_device":
            return tuple(each for each in self.devices if each.node_selection.reaches(name, labels))
        return self.devices if self.node_selection.reaches(name, labels) else ()

    def device_names_on(self, name: str, labels: Mapping[str, str]) -> tuple[str, ...]:
        """Return the names of the devices that can be used on the node."""
        return tuple(each.name for each in self.devices_on(name, labels))


_DEVICE_FIELDS = frozenset(
    (
        "name attributes capacity taints bindingConditions bindingFailureConditions bindsToNode "
        "consumesCounters allowMultipleAllocations nodeName nodeSelector allNodes"
    ).split()
)
_SPEC_FIELDS = frozenset(
    "driver pool nodeName nodeSelector allNodes perDeviceNodeSelection devices sharedCounters".split()
)
_TYPES: Mapping[str, type] = {"int": int, "bool": bool, "string": str, "version": str}


def qualified_name(name: str, driver: str) -> str:
    """Return the fully qualified name of an attribute or capacity: the driver is the default domain."""
    return name if "/" in name else f"{driver}/{name}"


def _attributes(view: View, driver: str) -> Mapping[str, Attribute]:
    return _qualified({name: _attribute(view, name) for name in view.value}, driver)


def _capacities(view: View, driver: str) -> Mapping[str, Capacity]:
    return _qualified({name: _capacity(name, view.child(name)) for name in view.value}, driver)


def _qualified(values: Mapping[str, T], driver: str) -> Mapping[str, T]:
    """Return the mapping under full names; a name written in full wins over its short form.

    The allocator looks up the full name first (dynamic-resource-allocation, ``lookupAttribute``).
    """
    if not values:
        return NOTHING
    found = {qualified_name(name, driver): value for name, value in values.items()}
    if len(found) < len(values):
        found.update({name: value for name, value in values.items() if "/" in name})
    return found


def _attribute(attributes: View, name: str) -> Attribute:
    typed = attributes.value[name]
    if not isinstance(typed, (dict, Mapping)) or len(typed) != 1:
        raise attributes.malformed(name, "exactly one typed value, such as {string: …}")
    ((kind, value),) = typed.items()
    expected = _TYPES.get(kind)
    if expected is None:
        return Attribute(kind, tuple(value) if isinstance(value, list) else value)
    if value.__class__ is not expected:  # a bool is an int, and neither is the other here
        raise attributes.child(name).malformed(kind, f"the type {expected.__name__}")
    return Attribute(kind, value)


def _capacity(name: str, view: View) -> Capacity:
    return Capacity(
        value=view.parsed("value", quantity.parse, "a quantity"),
        policy=_policy(view.child("requestPolicy")) if "requestPolicy" in view else None,
        name=name,
    )


def _policy(view: View) -> RequestPolicy:
    bounds = view.child("validRange")
    return RequestPolicy(
        default=_optional(view, "default"),
        valid_values=tuple(quantity.parse(each) for each in view.items("validValues")),
        minimum=_optional(bounds, "min"),
        maximum=_optional(bounds, "max"),
        step=_optional(bounds, "step"),
    )


def _optional(view: View, key: str) -> Quantity | None:
    return view.parsed(key, quantity.parse, "a quantity") if key in view else None


def _counters(view: View) -> Mapping[str, Quantity]:
    return {name: view.child(name).parsed("value", quantity.parse, "a quantity") for name in view.value}
