# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The border between API objects as JSON and typed values: reading fields, lists and dumps.

Everything that reads an API object does it through :class:`View`, so that a malformed object is
named with its kind, name and field path, in one error type, wherever it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from types import MappingProxyType
from typing import Any, TypeVar

T = TypeVar("T")

NOTHING: Mapping[str, Any] = MappingProxyType({})


class MalformedObjects(ValueError):
    """One or more API objects that cannot be read; ``problems`` has one sentence for each."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class View:
    """One mapping inside an API object, together with the path that leads to it.

    The getters return the field's value, or their default where the field is absent or null, and
    raise :class:`MalformedObjects` where the value has another type than the API gives it.
    """

    __slots__ = ("_above", "_step", "subject", "value")

    def __init__(self, value: Any, subject: str, step: str = "", above: View | None = None) -> None:
        self.subject = subject
        self._step = step
        self._above = above
        if not isinstance(value, (dict, Mapping)):  # dict first: it is the fast case
            raise _malformed(subject, self.path, value, "a mapping")
        self.value: Mapping[str, Any] = value

    @property
    def path(self) -> str:
        """Return the path from the object to here; put together only when an error needs it."""
        above = self._above.path if self._above is not None else ""
        return f"{above}.{self._step}" if above else self._step

    def __contains__(self, key: str) -> bool:
        return self.value.get(key) is not None

    def text(self, key: str, default: str = "") -> str:
        """Return a string field."""
        found = self.value.get(key)
        if found is None:
            return default
        if not isinstance(found, str):
            raise self.malformed(key, "a string")
        return found

    def required_text(self, key: str) -> str:
        """Return a string field that the API always fills."""
        found = self.text(key)
        if not found:
            raise self.malformed(key, "a string that is not empty")
        return found

    def integer(self, key: str, default: int = 0) -> int:
        """Return an integer field."""
        found = self.value.get(key)
        if found is None:
            return default
        if not isinstance(found, int) or isinstance(found, bool):
            raise self.malformed(key, "an integer")
        return found

    def boolean(self, key: str) -> bool:
        """Return a boolean field, False where it is absent."""
        found = self.value.get(key)
        if found is None:
            return False
        if not isinstance(found, bool):
            raise self.malformed(key, "true or false")
        return found

    def time(self, key: str) -> datetime | None:
        """Return a timestamp field (RFC 3339; YAML readers may have made it a datetime already)."""
        found = self.value.get(key)
        if found is None:
            return None
        moment = parse_time(found)
        if moment is None:
            raise self.malformed(key, "an RFC 3339 time")
        return moment

    def child(self, key: str) -> View:
        """Return a mapping field, an empty view where it is absent."""
        found = self.value.get(key)
        return View(NOTHING if found is None else found, self.subject, key, self)

    def children(self, key: str) -> Iterator[View]:
        """Yield the mappings of a list field."""
        for index, item in enumerate(self.items(key)):
            yield View(item, self.subject, f"{key}[{index}]", self)

    def items(self, key: str) -> list[Any]:
        """Return a list field, empty where it is absent."""
        found = self.value.get(key)
        if found is None:
            return []
        if not isinstance(found, (list, tuple)):
            raise self.malformed(key, "a list")
        return list(found)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings."""
        found = self.items(key)
        if not all(isinstance(item, str) for item in found):
            raise self.malformed(key, "a list of strings")
        return tuple(found)

    def string_map(self, key: str) -> Mapping[str, str]:
        """Return a mapping of strings to strings (labels, annotations)."""
        found = self.child(key).value
        if not all(isinstance(k, str) and isinstance(v, str) for k, v in found.items()):
            raise self.malformed(key, "a mapping of strings")
        return found or NOTHING

    def parsed(self, key: str, parse: Callable[[Any], T], expected: str) -> T:
        """Return a field through ``parse``; its ValueError becomes one that names the field."""
        try:
            return parse(self.value.get(key))
        except ValueError as error:
            raise self.malformed(key, f"{expected} ({error})") from error

    def unknown(self, known: frozenset[str]) -> Mapping[str, Any]:
        """Return the fields that are not in ``known``: a newer API's additions are kept, not lost."""
        if self.value.keys() <= known:
            return NOTHING
        return {key: value for key, value in self.value.items() if key not in known}

    def malformed(self, key: str, expected: str) -> MalformedObjects:
        """Return the error that names this field."""
        where = f"{self.path}.{key}" if self.path else key
        return _malformed(self.subject, where, self.value.get(key), expected)


@dataclass(frozen=True, slots=True)
class Metadata:
    """The part of ``metadata`` that the rules need.

    ``owner`` is the controlling owner reference as ``(kind, name, uid)``, or the only one where
    none controls; empty strings where there is no owner.
    """

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    annotations: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    owner: tuple[str, str, str] = ("", "", "")
    created: datetime | None = None
    deleted: datetime | None = None
    finalizers: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """Return ``namespace/name``, or the name alone for what has no namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def open_object(obj: Any, kind: str) -> tuple[View, Metadata]:
    """Return the object as a view, and its metadata.

    :raises MalformedObjects: for an object of another kind, or without a name. List items of a
        typed list carry no ``kind``; they are taken as what the caller expects.
    """
    if not isinstance(obj, Mapping):
        raise _malformed(kind, "", obj, "a mapping")
    metadata_value = obj.get("metadata")
    name = metadata_value.get("name") if isinstance(metadata_value, Mapping) else None
    namespace = metadata_value.get("namespace") if isinstance(metadata_value, Mapping) else None
    subject = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name or '(without a name)'}"
    view = View(obj, subject)
    if view.text("kind", kind) != kind:
        raise view.malformed("kind", kind)
    return view, _metadata(view.child("metadata"))


def _metadata(view: View) -> Metadata:
    owners = list(view.children("ownerReferences"))
    owner = next((each for each in owners if each.boolean("controller")), None)
    if owner is None and len(owners) == 1:
        owner = owners[0]
    return Metadata(
        name=view.required_text("name"),
        namespace=view.text("namespace"),
        uid=view.text("uid"),
        resource_version=view.text("resourceVersion"),
        generation=view.integer("generation"),
        labels=view.string_map("labels"),
        annotations=view.string_map("annotations"),
        owner=(owner.text("kind"), owner.text("name"), owner.text("uid")) if owner else ("", "", ""),
        created=view.time("creationTimestamp"),
        deleted=view.time("deletionTimestamp"),
        finalizers=view.texts("finalizers"),
    )


DRA_VERSION = "resource.k8s.io/v1"
_DRA_KINDS = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")


def split(objects: Iterable[Any]) -> dict[str, list[Mapping[str, Any]]]:
    """Return a dump's objects by kind; lists of any depth are resolved, unknown kinds are kept.

    An object that appears twice (several ``kubectl get`` outputs in one file) counts once, the last
    one. Items of a typed list (``ResourceClaimList``) get its kind where they state none.

    :raises MalformedObjects: naming every object without kind or name, and every DRA object of
        another API version than ``resource.k8s.io/v1``.
    """
    found: dict[str, dict[tuple[str, str], Mapping[str, Any]]] = {}
    problems = []
    for where, obj in _flat(objects, "object"):
        if problem := _problem(where, obj):
            problems.append(problem)
            continue
        metadata = obj["metadata"]
        same_kind = found.setdefault(obj["kind"], {})
        same_kind[metadata.get("namespace") or "", metadata["name"]] = obj
    if problems:
        raise MalformedObjects(problems)
    return {kind: list(each.values()) for kind, each in found.items()}


def _flat(objects: Iterable[Any], where: str, kind: str = "") -> Iterator[tuple[str, Any]]:
    for index, obj in enumerate(objects):
        here = f"{where}[{index}]"
        if isinstance(obj, Mapping) and isinstance(obj.get("items"), list):
            item_kind = str(obj.get("kind") or "").removesuffix("List")
            yield from _flat(obj["items"], f"{here}.items", item_kind)
        elif isinstance(obj, Mapping) and kind and not obj.get("kind"):
            yield here, {"apiVersion": DRA_VERSION if kind in _DRA_KINDS else "", "kind": kind, **obj}
        elif obj is not None:  # an empty YAML document
            yield here, obj


def _problem(where: str, obj: Any) -> str:
    if not isinstance(obj, Mapping):
        return str(_malformed(where, "", obj, "a mapping with apiVersion, kind and metadata"))
    kind, metadata = obj.get("kind"), obj.get("metadata")
    if not isinstance(kind, str) or not kind:
        return str(_malformed(where, "kind", kind, "the kind of the object"))
    if not isinstance(metadata, Mapping):
        metadata = NOTHING
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not isinstance(name, str) or not name:
        return str(_malformed(f"{where} ({kind})", "metadata.name", name, "the name of the object"))
    if namespace is not None and not isinstance(namespace, str):
        return str(_malformed(f"{kind} {name}", "metadata.namespace", namespace, "a string"))
    version = obj.get("apiVersion")
    if kind in _DRA_KINDS and version != DRA_VERSION:
        expected = f"{DRA_VERSION} (Kubernetes 1.34 or later serves it)"
        return str(_malformed(f"{kind} {name}", "apiVersion", version, expected))
    return ""


def parse_time(value: Any) -> datetime | None:
    """Return an API timestamp as an aware datetime in UTC, None where it is no timestamp."""
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
    else:
        return None
    if moment.tzinfo is None:
        return moment.replace(tzinfo=timezone.utc)
    return moment.astimezone(timezone.utc)


def _malformed(subject: str, path: str, observed: Any, expected: str) -> MalformedObjects:
    where = f"{subject}: {path}" if path else subject
    shown = repr(observed)
    if len(shown) > 80:  # noqa: PLR2004 - a sentence stays readable
        shown = shown[:77] + "..."
    return MalformedObjects([f"{where} is {shown}, expected {expected}"])
