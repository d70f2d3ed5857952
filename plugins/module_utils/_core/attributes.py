# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attributes that somebody relies on: what a device lacks, by full name and type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from .slices import Device


class Lack(NamedTuple):
    """Why a device does not have the attribute as wished."""

    reason: Literal["AttributeMissing", "AttributeTypeDiffers", "AttributeValueDiffers"]
    observed: str


@dataclass(frozen=True, slots=True)
class AttributeWish:
    """An attribute that every device must have.

    :param name: fully qualified, such as ``gpu.nvidia.com/productName``.
    :param type: ``int``, ``bool``, ``string`` or ``version``; empty for any.
    :param value: the one right value, None for any.
    """

    name: str
    type: str = ""
    value: Any = None

    def lack(self, device: Device) -> Lack | None:
        """Return what the device lacks, None where it has the attribute as wished."""
        found = device.attributes.get(self.name)
        if found is None:
            return Lack("AttributeMissing", f"no {self.name}{_near(self.name, device)}")
        if self.type and found.type != self.type:
            return Lack("AttributeTypeDiffers", f"{self.name} is a {found.type}, not a {self.type}")
        if self.value is not None and found.value != self.value:
            return Lack("AttributeValueDiffers", f"{self.name} is {found.value!r}")
        return None


def lacks(wishes: Iterable[AttributeWish], device: Device) -> tuple[Lack, ...]:
    """Return everything a device lacks, in the order of the wishes."""
    return tuple(lack for wish in wishes if (lack := wish.lack(device)) is not None)


def _near(name: str, device: Device) -> str:
    """Return the names that were probably meant: same last part, whatever domain and case."""
    short = name.rpartition("/")[2].lower()
    near = sorted(each for each in device.attributes if each.rpartition("/")[2].lower() == short)
    return f" (but {', '.join(near)})" if near else ""
