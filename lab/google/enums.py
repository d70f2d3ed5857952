# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Enums as numbers, the way Google's Python clients speak REST (``$alt=json;enum-encoding=int``).

The numbers are in the clients' own message classes, so those are imported, and only once such a
request comes: whoever sends it has them installed.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any

PACKAGES = {
    "container.v1": "google.cloud.container_v1",
    "container.v1beta1": "google.cloud.container_v1beta1",
    "artifactregistry.v1": "google.cloud.artifactregistry_v1",
}


def wanted(query: Mapping[str, str]) -> bool:
    """Say whether the caller speaks numbers: it then sends them, and gets them."""
    return "enum-encoding=int" in query.get("$alt", "")


@cache
def descriptor(api: str, message: str) -> Any:
    """Return the protobuf descriptor of a message, ``None`` where its package is not there."""
    try:
        package = importlib.import_module(PACKAGES[api])
        cls = getattr(package, message)
    except (KeyError, ImportError, AttributeError):
        return None
    return type(cls.pb(cls())).DESCRIPTOR


def to_names(value: Any, message: Any) -> Any:
    """Return a message with enum numbers replaced by names; what is no number stays."""
    return _walk(value, message, names=True)


def to_numbers(value: Any, message: Any) -> Any:
    """Return a message with enum names replaced by numbers."""
    return _walk(value, message, names=False)


def _walk(value: Any, message: Any, *, names: bool) -> Any:
    if message is None or not isinstance(value, dict):
        return value
    fields = {field.json_name: field for field in message.fields}
    fields |= {field.name: field for field in message.fields}
    return {
        key: _field(item, fields[key], names=names) if key in fields else item for key, item in value.items()
    }


def _field(value: Any, field: Any, *, names: bool) -> Any:
    if isinstance(value, list):
        return [_field(item, field, names=names) for item in value]
    if field.enum_type is not None:
        return _enum(value, field.enum_type, names=names)
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        value_type = inner.fields_by_name["value"].message_type
        if value_type is not None and isinstance(value, dict):
            return {key: _walk(item, value_type, names=names) for key, item in value.items()}
        return value
    return _walk(value, inner, names=names)


def _enum(value: Any, enum: Any, *, names: bool) -> Any:
    if names and isinstance(value, int) and not isinstance(value, bool):
        found = enum.values_by_number.get(value)
        return found.name if found else value
    if not names and isinstance(value, str):
        found = enum.values_by_name.get(value)
        return found.number if found else value
    return value
