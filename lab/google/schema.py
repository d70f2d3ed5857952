# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests held against Google's own schema: the discovery documents of google-api-python-client.

An unknown field, a wrong enum member or a wrong type is refused with the sentence Google uses. The
documents are data files; the package itself is not imported. Where it is not installed nothing is
checked, and ``Schemas.note`` says so.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from .errors import ApiError, bad_field

Json = dict[str, Any]

# Parameters that Google's front end takes for every API.
SYSTEM_PARAMETERS = frozenset({"alt", "fields", "key", "prettyPrint", "quotaUser", "access_token"})
_NUMBERS = {"integer": (int,), "number": (int, float)}


def documents() -> Path | None:
    """Return the directory of discovery documents, ``None`` where the package is absent."""
    spec = importlib.util.find_spec("googleapiclient")
    if spec is None or spec.origin is None:
        return None
    directory = Path(spec.origin).parent / "discovery_cache" / "documents"
    return directory if directory.is_dir() else None


@cache
def document(path: Path) -> Json:
    loaded: Json = json.loads(path.read_text(encoding="utf-8"))
    return loaded


class Schemas:
    """Checks requests; with ``directory=None`` it lets everything through."""

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory

    @property
    def note(self) -> str:
        """Return the sentence to show once where requests are not checked."""
        if self.directory:
            return ""
        return (
            "requests are not checked against Google's schema: the Python package "
            "google-api-python-client is not installed"
        )

    def check(self, api: str, method: str, query: Mapping[str, str], body: Any) -> Any:
        """Return the body in JSON spelling; raises 400 for what Google would not parse.

        :param api: name and version, such as ``container.v1``.
        :param method: the method's id, such as ``container.projects.locations.clusters.get``.
        """
        path = self.directory / f"{api}.json" if self.directory else None
        if path is None or not path.is_file():
            return body
        found = _method(document(path), method)
        if found is None:
            return body
        _check_query(query, found)
        if "request" not in found:
            return body
        walk = _Walk(document(path)["schemas"], f"google.{api}")
        return walk.message(body or {}, found["request"]["$ref"], "")


def _method(doc: Json, method: str) -> Json | None:
    """Return a method of a document by its id."""
    *resources, name = method.split(".")[1:]
    node: Json = doc
    for resource in resources:
        node = node.get("resources", {}).get(resource, {})
    found: Json | None = node.get("methods", {}).get(name)
    return found


def _check_query(query: Mapping[str, str], method: Json) -> None:
    for name in query:
        known = name in SYSTEM_PARAMETERS or name.startswith("$") or name in method["parameters"]
        if not known:
            raise bad_field(
                "",
                f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query '
                f"parameter. Field '{name}' could not be found in request message.",
            )


class _Walk:
    """One pass over a body along its schema."""

    def __init__(self, schemas: Json, package: str) -> None:
        self.schemas = schemas
        self.package = package

    def message(self, value: Any, name: str, path: str) -> Any:
        if not isinstance(value, dict):
            raise _wrong(path, f"type.googleapis.com/{self.package}.{name}", value)
        properties = self.schemas[name].get("properties", {})
        checked = {}
        for key, item in value.items():
            field = key if key in properties else _camel(key)
            if field not in properties:
                where = f" at '{path}'" if path else ""
                raise bad_field(
                    path,
                    f'Invalid JSON payload received. Unknown name "{key}"{where}: Cannot find field.',
                )
            if item is not None:
                here = f"{path}.{_snake(field)}" if path else _snake(field)
                checked[field] = self.value(item, properties[field], here, f"{name}.{field}")
        return checked

    def value(self, value: Any, schema: Json, path: str, kind: str) -> Any:
        if "$ref" in schema:
            return self.message(value, schema["$ref"], path)
        if schema["type"] == "array":
            if not isinstance(value, list):
                raise _wrong(path, f"type.googleapis.com/{self.package}.{kind}", value)
            items = enumerate(value)
            return [self.value(v, schema["items"], f"{path}[{i}]", kind) for i, v in items]
        if schema["type"] == "object":
            return self.mapping(value, schema, path, kind)
        self.scalar(value, schema, path, kind)
        return int(float(value)) if schema["type"] == "integer" else value

    def mapping(self, value: Any, schema: Json, path: str, kind: str) -> Any:
        if not isinstance(value, dict):
            raise _wrong(path, f"type.googleapis.com/{self.package}.{kind}", value)
        inner = schema.get("additionalProperties", {"type": "any"})
        return {key: self.value(item, inner, f"{path}[{key}]", kind) for key, item in value.items()}

    def scalar(self, value: Any, schema: Json, path: str, kind: str) -> None:
        expected = schema["type"]
        if "enum" in schema:
            if value not in schema["enum"]:
                message, field = kind.split(".")
                enum = f"{self.package}.{message}.{field[0].upper()}{field[1:]}"
                raise _wrong(path, f"type.googleapis.com/{enum}", value)
        elif expected == "boolean":
            if not isinstance(value, bool):
                raise _wrong(path, "TYPE_BOOL", value)
        elif expected in _NUMBERS or schema.get("format") in ("int64", "uint64"):
            if not _is_number(value, expected):
                bits = "INT64" if expected == "string" else "INT32"
                raise _wrong(path, "TYPE_DOUBLE" if expected == "number" else f"TYPE_{bits}", value)
        elif expected == "string" and not isinstance(value, str):
            raise _wrong(path, "TYPE_STRING", value)


def _is_number(value: Any, expected: str) -> bool:
    """Say whether JSON that proto3 takes for a number: a number, or one in a string."""
    if isinstance(value, str):
        return re.fullmatch(r"-?\d+(\.0*)?", value) is not None
    kinds = _NUMBERS.get(expected, (int,))
    return isinstance(value, kinds) and not isinstance(value, bool)


def _wrong(path: str, expected: str, value: Any) -> ApiError:
    return bad_field(path, f"Invalid value at '{path}' ({expected}), {json.dumps(value)}")


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
