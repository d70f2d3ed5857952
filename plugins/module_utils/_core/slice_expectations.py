# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a caller expects of the devices of each driver, and what one device lacks of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from . import quantity
from .objects import NOTHING
from .quantity import Quantity, QuantityError
from .selectors import Selectors
from .slice_summary import Examine
from .slices import Device, DeviceId, qualified_name
from .strict_reader import InputError, Problem
from .verdict import Status
from .workloads import Name

Count = Literal["free", "published"]

FIELDS: Mapping[str, str] = {
    "bindingConditions": "DRADeviceBindingConditions",
    "allowMultipleAllocations": "DRAConsumableCapacity",
}
"""Fields of devices behind a feature gate: where it is off the API server drops them without a word."""

_OF_TYPE: Mapping[str, type] = {"int": int, "bool": bool, "string": str, "version": str}


class Lack(NamedTuple):
    """What one device lacks; a ``warning`` where it could not be judged, which the device still counts."""

    reason: str
    text: str
    status: Status = "error"


@dataclass(frozen=True, slots=True)
class WantedAttribute:
    """An attribute that each device must have; any type or value where they are not given."""

    name: str
    type: str = ""
    value: Any = None

    def lack(self, device: Device, driver: str) -> Lack | None:
        """Return what the device lacks of it."""
        name = qualified_name(self.name, driver)
        found = device.attribute(name)
        if found is None:
            return Lack("AttributeMissing", f"no attribute {name}")
        wanted_type = _type_of(self)
        if wanted_type and found.type not in wanted_type:
            return Lack("AttributeTypeDiffers", f"{name} is of type {found.type}, not {wanted_type[0]}")
        if self.value is not None and found.value != self.value:
            return Lack("AttributeValueDiffers", f"{name} is {found.value!r}, not {self.value!r}")
        return None


def _type_of(wanted: WantedAttribute) -> tuple[str, ...]:
    """Return the types that will do; where none is given, those that can hold the value."""
    if wanted.type:
        return (wanted.type,)
    if wanted.value is None:
        return ()
    return tuple(name for name, kind in _OF_TYPE.items() if wanted.value.__class__ is kind)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What one driver must publish.

    :param node_selector: labels of the nodes meant; with ``all_nodes`` devices belong to no node.
    :param devices_min: devices per node that count, each as required; ``devices_exact`` where more is wrong.
    :param capacity: amount that each device must have at least, by name.
    :param selectors: CEL expressions that must hold for each device, as in a DeviceClass.
    :param count: ``free`` leaves out devices that are held or tainted.
    :param daemon_set: the driver's own, ``deployment`` the controller behind a cluster-wide pool.
    :param cpu_manager_policy: of the kubelets of the nodes meant; they are not asked where it is empty.
    """

    driver: str
    alternative: str = ""
    device_class: str = ""
    pool: str = ""
    all_nodes: bool = False
    node_selector: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    devices_min: int = 1
    devices_exact: int | None = None
    attributes: tuple[WantedAttribute, ...] = ()
    capacity: Mapping[str, Quantity] = field(default_factory=lambda: NOTHING)
    required_fields: tuple[str, ...] = ()
    selectors: tuple[str, ...] = ()
    count: Count = "published"
    daemon_set: Name | None = None
    deployment: Name | None = None
    rolled_out: bool = False
    cpu_manager_policy: str = ""
    allow_no_nodes: bool = False

    @property
    def wanted_devices(self) -> str:
        if self.devices_exact is not None:
            return f"exactly {self.devices_exact} {self.count} devices"
        return f"at least {self.devices_min} {self.count} devices"

    def is_enough(self, devices: int) -> bool:
        """Return whether a number of devices is as expected."""
        if self.devices_exact is not None:
            return devices == self.devices_exact
        return devices >= self.devices_min

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether a node with these labels is meant."""
        return all(labels.get(key) == value for key, value in self.node_selector.items())

    def lacks(self, device: Device, selectors: Selectors) -> Iterator[Lack]:
        """Yield what the device lacks."""
        for wanted in self.attributes:
            lack = wanted.lack(device, self.driver)
            if lack is not None:
                yield lack
        for name, amount in self.capacity.items():
            found = device.capacity.get(qualified_name(name, self.driver))
            if found is None or found.value < amount:
                has = f"{found.value} of {name}" if found else f"no capacity {name}"
                yield Lack("CapacityTooSmall", f"{has}, {amount} needed")
        present = {
            "bindingConditions": bool(device.binding_conditions),
            "allowMultipleAllocations": device.allow_multiple_allocations,
        }
        for name in self.required_fields:
            if not present[name]:
                yield Lack("FieldDropped", f"{name} is not set")
        for expression in self.selectors:
            judgement = selectors.judge(expression, self.driver, device)
            if judgement.outcome == "no match":
                yield Lack("SelectorNotMet", f"not selected by {expression}")
            elif judgement.outcome == "error":
                yield Lack("SelectorError", f"{expression}: {judgement.text}")
            elif judgement.outcome == "cannot judge":
                yield Lack("CannotJudge", f"{expression}: {judgement.text}", "warning")


Lacks = Mapping[int, tuple[Lack, ...]]
"""What a device lacks, by the position of the expectation."""


def examiner(expectations: Iterable[Expectation]) -> Examine | None:
    """Return what ``summarise`` asks about each device; None where no device needs a closer look."""
    by_driver: defaultdict[str, list[tuple[int, Expectation]]] = defaultdict(list)
    for index, each in enumerate(expectations):
        if each.attributes or each.capacity or each.required_fields or each.selectors:
            by_driver[each.driver].append((index, each))
    if not by_driver:
        return None
    selectors = Selectors()

    def examine(identity: DeviceId, device: Device) -> Lacks | None:
        found = {
            index: lacks
            for index, each in by_driver.get(identity.driver, ())
            if each.pool in ("", identity.pool) and (lacks := tuple(each.lacks(device, selectors)))
        }
        return found or None

    return examine


class _Entry:
    """One entry of the input, and what is wrong with it."""

    def __init__(self, index: int, given: Mapping[str, Any]) -> None:
        self.given = given
        self.problems: list[Problem] = []
        self._where = f"expectations[{index}]"

    def complain(self, key: str, observed: Any, needed: str) -> None:
        self.problems.append(Problem(self._where, key, repr(observed), needed))

    def read(self) -> Expectation:
        given = self.given
        least = given.get("devices_min")
        self._refuse_contradictions()
        return Expectation(
            driver=given["driver"],
            alternative=given.get("alternative") or "",
            device_class=given.get("device_class") or "",
            pool=given.get("pool") or "",
            all_nodes=bool(given.get("all_nodes")),
            node_selector=dict(given.get("node_selector") or {}),
            devices_min=1 if least is None else least,
            devices_exact=given.get("devices_exact"),
            attributes=tuple(self._attribute(each) for each in given.get("attributes") or ()),
            capacity=self._capacity(),
            required_fields=tuple(given.get("required_fields") or ()),
            selectors=tuple(given.get("selectors") or ()),
            count=given.get("count") or "published",
            daemon_set=self._name("daemon_set"),
            deployment=self._name("deployment"),
            rolled_out=bool(given.get("rolled_out")),
            cpu_manager_policy=given.get("cpu_manager_policy") or "",
            allow_no_nodes=bool(given.get("allow_no_nodes")),
        )

    def _refuse_contradictions(self) -> None:
        given = self.given
        least, exact = given.get("devices_min"), given.get("devices_exact")
        if least is not None and exact is not None and least > exact:
            self.complain("devices_min", least, f"devices_exact is {exact}; give one of them")
        for name in ("devices_min", "devices_exact"):
            if (given.get(name) or 0) < 0:
                self.complain(name, given[name], "a number of devices is not negative")
        for name in ("node_selector", "daemon_set", "cpu_manager_policy"):
            if given.get("all_nodes") and given.get(name):
                self.complain(name, given[name], "with all_nodes devices belong to no node; give one of them")

    def _attribute(self, given: Mapping[str, Any]) -> WantedAttribute:
        name, kind, value = given["name"], given.get("type") or "", given.get("value")
        if isinstance(value, str):  # templates may have made text of it
            if kind == "int" and value.lstrip("-").isdecimal():
                value = int(value)
            elif kind == "bool" and value.lower() in ("true", "false"):
                value = value.lower() == "true"
        if value is not None and kind and value.__class__ is not _OF_TYPE[kind]:
            self.complain(f"attributes.{name}", value, f"a value of type {kind} is needed")
        return WantedAttribute(name, kind, value)

    def _capacity(self) -> dict[str, Quantity]:
        found = {}
        for name, amount in (self.given.get("capacity") or {}).items():
            try:
                found[name] = quantity.parse(amount)
            except QuantityError as error:
                self.complain(f"capacity.{name}", amount, f"a quantity is needed ({error})")
        return found

    def _name(self, key: str) -> Name | None:
        text = self.given.get(key) or ""
        namespace, _unused, name = text.partition("/")
        if text and not (namespace and name):
            self.complain(key, text, "namespace/name is needed")
        return (namespace, name) if text else None


def read_expectations(given: Iterable[Mapping[str, Any]]) -> tuple[Expectation, ...]:
    """Return expectations from a module's options, whose types were checked already.

    :raises InputError: naming every entry that contradicts itself or holds what can't be read.
    """
    entries = [_Entry(index, each) for index, each in enumerate(given)]
    found = tuple(entry.read() for entry in entries)
    problems = [problem for entry in entries for problem in entry.problems]
    if problems:
        raise InputError(problems)
    return found
