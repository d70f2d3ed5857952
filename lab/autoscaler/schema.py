# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A few words in which a CustomResourceDefinition's schema is short to write."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def text(**limits: Any) -> Schema:
    return {"type": "string", **limits}


def one_of(*values: str) -> Schema:
    return text(enum=list(values))


def number(least: int | None = None, most: int | None = None) -> Schema:
    limits = {"minimum": least, "maximum": most}
    return {"type": "integer", **{name: value for name, value in limits.items() if value is not None}}


def flag(**more: Any) -> Schema:
    return {"type": "boolean", **more}


def several(items: Schema, **limits: Any) -> Schema:
    return {"type": "array", "items": items, **limits}


def record(required: str = "", rules: list[Schema] | None = None, **fields: Schema) -> Schema:
    found: Schema = {"type": "object", "properties": fields}
    if required:
        found["required"] = required.split()
    if rules:
        found["x-kubernetes-validations"] = rules
    return found


def labels(most: int) -> Schema:
    return {"type": "object", "maxProperties": most, "additionalProperties": text()}


def rule(expression: str, message: str) -> Schema:
    return {"rule": expression, "message": message}
