# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's list of alternatives as typed values, or every problem in it at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from . import quantity
from .architectures import PLATFORM, platform_problems
from .driver_names import GPU_DRIVER
from .strict_reader import MISSING, InputError, Problem, Reader

MAX_ALTERNATIVES = 8  # FirstAvailableDeviceRequestMaxSize, resource.k8s.io/v1
MAX_DEVICES = 32  # AllocationResultsMaxSize, resource.k8s.io/v1


DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
DNS_SUBDOMAIN = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
CAPACITY_NAME = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z_][A-Za-z0-9_]{0,31}")
POOL_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")  # container v1: NodePool.name
IMAGE_NAME = re.compile(r"[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*")
IMAGE_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
IMAGE_REFERENCE = re.compile(
    r"([A-Za-z0-9.-]+(:[0-9]+)?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
    r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?"
)
PRICE_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?")
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Taint:
    """A node taint, in the API's words."""

    key: str
    value: str
    effect: str

    def as_dict(self) -> dict[str, str]:
        return {"key": self.key, "value": self.value, "effect": self.effect}


@dataclass(frozen=True, slots=True)
class Accelerator:
    """What ``--accelerator`` says. ``disabled`` leaves the kernel driver to the installer DaemonSet."""

    type: str
    count: int = 1
    gpu_driver_version: str = "disabled"


@dataclass(frozen=True, slots=True)
class NodePool:
    """The node pool behind an alternative, as the user states it; sizes are nodes per zone."""

    name: str
    machine_type: str
    max_nodes: int
    min_nodes: int = 0
    initial_nodes: int = 0
    spot: bool = False
    accelerator: Accelerator | None = None
    zones: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()


@dataclass(frozen=True, slots=True)
class Image:
    """The image of an alternative: a name below the registry, or a complete reference.

    ``platform`` is empty for that of the node pool's machines.
    """

    name: str = ""
    tag: str = ""
    reference: str = ""
    platform: str = ""


@dataclass(frozen=True, slots=True)
class Price:
    """What one node costs per hour, and when that was true."""

    usd_per_hour: Decimal
    as_of: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """One entry: a device request and the hardware and image that belong to it."""

    name: str
    device_class: str
    driver: str
    image: Image
    count: int = 1
    capacity: Mapping[str, str] = field(default_factory=dict)
    selectors: tuple[str, ...] = ()
    tolerations: tuple[Mapping[str, Any], ...] = ()
    node_pool: NodePool | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    price: Price | None = None


def read_alternatives(value: Any) -> tuple[Alternative, ...]:
    """Return the entries of ``inference_alternatives`` in order.

    Errors: ``InputError`` with one problem per wrong field, all of them at once.
    """
    problems: list[Problem] = []
    if isinstance(value, str | Mapping) or not isinstance(value, Sequence) or not value:
        raise InputError(
            [Problem("alternatives", "", repr(value), "a list with at least one alternative is needed")]
        )
    if len(value) > MAX_ALTERNATIVES:
        problems.append(
            Problem(
                "alternatives",
                "",
                f"{len(value)} entries",
                f"firstAvailable takes {MAX_ALTERNATIVES} at most (FirstAvailableDeviceRequestMaxSize)",
            )
        )
    alternatives = [_read_alternative(index, item, problems) for index, item in enumerate(value)]
    problems.extend(_clashes(alternatives))
    if problems:
        raise InputError(problems)
    return tuple(alternatives)


def _read_alternative(index: int, value: Any, problems: list[Problem]) -> Alternative:
    name = value.get("name") if isinstance(value, Mapping) else None
    entry = f"alternatives[{index}]" + (f" ({name})" if isinstance(name, str) else "")
    reader = Reader(entry, value, problems)
    device_class = reader.text(
        "device_class", DNS_SUBDOMAIN, "the name of a DeviceClass is needed, such as gpu.nvidia.com"
    )
    alternative = Alternative(
        name=reader.text("name", DNS_LABEL, "a DNS label is needed: it becomes the name of a subrequest"),
        device_class=device_class,
        driver=reader.text("driver", DNS_SUBDOMAIN, "a DRA driver's name is needed", device_class),
        count=reader.number("count", 1, MAX_DEVICES, 1),
        capacity=_read_capacity(reader),
        selectors=reader.texts("selectors"),
        tolerations=_read_tolerations(reader),
        node_pool=_read_node_pool(reader.nested("node_pool")),
        node_selector=reader.labels("node_selector"),
        image=_read_image(reader),
        price=_read_price(reader.nested("usd_per_hour")),
    )
    reader.close(
        "name, device_class, driver, count, capacity, selectors, tolerations, node_pool, node_selector, "
        "image, usd_per_hour"
    )
    accelerator = alternative.node_pool.accelerator if alternative.node_pool else None
    if accelerator and alternative.driver == GPU_DRIVER and alternative.count > accelerator.count:
        reader.complain(
            "count",
            alternative.count,
            f"a node of the pool has {accelerator.count} (node_pool.accelerator.count) and a claim is "
            "served by one node",
        )
    if alternative.node_pool and alternative.image.platform:
        for problem in platform_problems(alternative.image.platform, [alternative.node_pool.machine_type]):
            reader.complain("image.platform", alternative.image.platform, problem)
    return alternative


def _read_capacity(reader: Reader) -> dict[str, str]:
    value = reader.take("capacity")
    if value is MISSING:
        return {}
    if not isinstance(value, Mapping):
        reader.complain("capacity", value, 'a mapping is needed, such as dra.cpu/cpu: "12"')
        return {}
    capacity = {}
    for key, item in value.items():
        if not CAPACITY_NAME.fullmatch(str(key)):
            reader.complain(f"capacity.{key}", item, "a name like dra.cpu/cpu is needed before the colon")
            continue
        try:
            amount = quantity.parse(item)
        except quantity.QuantityError:
            amount = quantity.ZERO
        if amount <= quantity.ZERO:
            reader.complain(f"capacity.{key}", item, "a quantity above zero is needed, such as 12 or 20Gi")
        capacity[str(key)] = str(amount)
    return capacity


def _read_tolerations(reader: Reader) -> tuple[Mapping[str, Any], ...]:
    tolerations = reader.items("tolerations")
    for index, item in enumerate(tolerations):
        if not isinstance(item, Mapping):
            reader.complain(f"tolerations[{index}]", item, "a device toleration (a mapping) is needed")
    return tuple(dict(item) for item in tolerations if isinstance(item, Mapping))


def _read_node_pool(reader: Reader | None) -> NodePool | None:
    if reader is None:
        return None
    pool = NodePool(
        name=reader.text("name", POOL_NAME, "a node pool name of 40 lower-case characters at most is needed"),
        machine_type=reader.text(
            "machine_type", DNS_LABEL, "a machine type is needed, such as n2-standard-16"
        ),
        max_nodes=reader.number("max_nodes", 1, 1000),
        min_nodes=reader.number("min_nodes", 0, 1000, 0),
        initial_nodes=reader.number("initial_nodes", 0, 1000, 0),
        spot=reader.boolean("spot", default=False),
        accelerator=_read_accelerator(reader),
        zones=reader.texts("zones"),
        labels=reader.labels("labels"),
        taints=_read_taints(reader),
    )
    reader.close(
        "name, machine_type, max_nodes, min_nodes, initial_nodes, spot, accelerator, zones, labels, taints"
    )
    if pool.min_nodes > pool.max_nodes:
        reader.complain("min_nodes", pool.min_nodes, f"at most max_nodes ({pool.max_nodes}) is possible")
    elif not pool.min_nodes <= pool.initial_nodes <= pool.max_nodes:
        reader.complain(
            "initial_nodes",
            pool.initial_nodes,
            f"a size between min_nodes ({pool.min_nodes}) and max_nodes ({pool.max_nodes}) is needed",
        )
    return pool


def _read_accelerator(reader: Reader) -> Accelerator | None:
    value = reader.take("accelerator")
    if value is MISSING or value == "":
        return None
    if isinstance(value, str):
        value = {"type": value}
    inner = Reader(reader.entry, value, reader.problems, f"{reader.prefix}.accelerator")
    accelerator = Accelerator(
        type=inner.text("type", DNS_LABEL, "an accelerator type is needed, such as nvidia-l4"),
        count=inner.number("count", 1, 16, 1),
        gpu_driver_version=inner.text(
            "gpu_driver_version",
            re.compile("disabled|default|latest"),
            "disabled, default or latest",
            "disabled",
        ),
    )
    inner.close("type, count, gpu_driver_version")
    return accelerator


def _read_taints(reader: Reader) -> tuple[Taint, ...]:
    taints = []
    for index, item in enumerate(reader.items("taints")):
        inner = Reader(reader.entry, item, reader.problems, f"{reader.prefix}.taints[{index}]")
        anything = re.compile(r"\S+")
        effects = re.compile("|".join(TAINT_EFFECTS))
        taints.append(
            Taint(
                key=inner.text("key", anything, "a taint key is needed"),
                value=inner.text("value", anything, "text is needed", ""),
                effect=inner.text("effect", effects, f"one of {', '.join(TAINT_EFFECTS)} is needed"),
            )
        )
        inner.close("key, value, effect")
    return tuple(taints)


def _read_image(reader: Reader) -> Image:
    inner = reader.nested("image")
    if inner is None:
        reader.complain("image", None, "the image of this alternative is needed: its name or reference")
        return Image()
    image = Image(
        name=inner.text("name", IMAGE_NAME, "an image name in lower case, without registry and tag", ""),
        tag=inner.text("tag", IMAGE_TAG, "an image tag is needed", ""),
        reference=inner.text("reference", IMAGE_REFERENCE, "a complete image reference is needed", ""),
        platform=inner.text("platform", PLATFORM, "linux/amd64 or linux/arm64 is needed", ""),
    )
    if not image.name and not image.reference and "name" not in inner.rest:
        inner.complain("name", None, "name or reference is needed")
    if image.reference and (image.name or image.tag):
        inner.complain("reference", image.reference, "either a reference or a name (with tag) is possible")
    inner.close("name, tag, reference, platform")
    return image


def _read_price(reader: Reader | None) -> Price | None:
    if reader is None:
        return None
    value = reader.take("value")
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        reader.complain("value", value, "US dollars per node and hour are needed, such as 0.341")
    as_of = reader.take("as_of")
    if not PRICE_DATE.fullmatch(str(as_of)):
        reader.complain("as_of", as_of, "the date of the price is needed, such as 2026-08")
    reader.close("value, as_of")
    return Price(amount, str(as_of))


def _clashes(alternatives: Sequence[Alternative]) -> list[Problem]:
    """Return what no entry shows on its own: names and pools used twice."""
    problems = []
    names: dict[str, int] = {}
    pools: dict[str, int] = {}
    for index, alternative in enumerate(alternatives):
        entry = f"alternatives[{index}] ({alternative.name})"
        first = names.setdefault(alternative.name, index)
        if alternative.name and first != index:
            problems.append(Problem(entry, "name", repr(alternative.name), f"taken by alternatives[{first}]"))
        if alternative.node_pool and alternative.node_pool.name:
            pool = alternative.node_pool.name
            first = pools.setdefault(pool, index)
            if first != index:
                problems.append(
                    Problem(
                        entry,
                        "node_pool.name",
                        repr(pool),
                        f"alternatives[{first}] has this pool; each alternative needs its own, because the "
                        "order of the ComputeClass is an order of pools",
                    )
                )
    return problems
