# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts status entries into a claim's protobuf form without touching any other byte of it.

Why not JSON: the API server refuses a status write in which ``allocation`` differs, and compares
the opaque parameters in it byte by byte. It keeps them as the author's client sent them, spaces
and key order included (Python's ``json.dumps`` sends spaces), but every JSON form it hands out, and
every patch it applies, re-serialises them. A JSON patch, a merge patch and server-side apply are
all refused then with "field is immutable" (observed on Kubernetes 1.36.3). In protobuf, which the
scheduler speaks too, the parameters are bytes and stay what they are.

Field numbers: ``k8s.io/api/resource/v1/generated.proto``, ``k8s.io/apimachinery/pkg/runtime`` and
``…/apis/meta/v1``. Unknown fields are carried over, so a newer server loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

MAGIC = b"k8s\x00"
_UNKNOWN_RAW = 2
_CLAIM_METADATA, _CLAIM_STATUS = 1, 3
_METADATA_UID = 5
_STATUS_ALLOCATION, _STATUS_DEVICES = 1, 4
_ENTRY_KEY = {"driver": 1, "pool": 2, "device": 3, "shareID": 7}
_ENTRY_CONDITIONS = 4
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_CONTINUES, _SEVEN_BITS = 0x80, 0x7F


class NotAClaim(ValueError):
    """The bytes are no protobuf form of a ResourceClaim."""


def claim_uid(data: bytes) -> str:
    """Return the uid of the claim in ``data`` (the body of a protobuf answer)."""
    metadata = _bytes_of(_claim(data), _CLAIM_METADATA)
    return _bytes_of(metadata, _METADATA_UID).decode()


def still_allocates(data: bytes, entries: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether the claim's present allocation is the one ``entries`` were made for.

    Each allocation of a shared device has a new UUID in ``shareID``, so finding its text is enough.
    """
    allocation = _bytes_of(_bytes_of(_claim(data), _CLAIM_STATUS), _STATUS_ALLOCATION)
    return bool(allocation) and all(entry.get("shareID", "").encode() in allocation for entry in entries)


def with_devices(data: bytes, entries: Iterable[Mapping[str, Any]]) -> bytes:
    """Return ``data`` with ``entries`` in ``status.devices``, each in place of the one with its key.

    The key is (driver, pool, device, shareID), as the API's list map has it.
    """
    new = {_key(entry): _entry(entry) for entry in entries}
    claim = _claim(data)
    status = _bytes_of(claim, _CLAIM_STATUS)
    kept = [
        whole
        for number, whole, content in _fields(status)
        if number != _STATUS_DEVICES or _stored_key(content) not in new
    ]
    status = b"".join(kept) + b"".join(_field(_STATUS_DEVICES, entry) for entry in new.values())
    return MAGIC + _replace(data[len(MAGIC) :], _UNKNOWN_RAW, _replace(claim, _CLAIM_STATUS, status))


def _claim(data: bytes) -> bytes:
    if not data.startswith(MAGIC):
        raise NotAClaim("the answer is not in Kubernetes' protobuf form")
    return _bytes_of(data[len(MAGIC) :], _UNKNOWN_RAW)


def _key(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(entry.get(name, "") for name in _ENTRY_KEY)


def _stored_key(entry: bytes) -> tuple[str, ...]:
    return tuple(_bytes_of(entry, number).decode() for number in _ENTRY_KEY.values())


def _entry(entry: Mapping[str, Any]) -> bytes:
    key = b"".join(
        _field(number, entry[name].encode()) for name, number in _ENTRY_KEY.items() if entry.get(name)
    )
    conditions = (_field(_ENTRY_CONDITIONS, _condition(c)) for c in entry["conditions"])
    return key + b"".join(conditions)


def _condition(condition: Mapping[str, str]) -> bytes:
    moment = datetime.fromisoformat(condition["lastTransitionTime"])
    seconds = _varint(_VARINT | 1 << 3) + _varint(int(moment.timestamp()))
    texts = {1: "type", 2: "status", 5: "reason", 6: "message"}
    parts = {number: condition[name].encode() for number, name in texts.items()} | {4: seconds}
    return b"".join(_field(number, parts[number]) for number in sorted(parts))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > _SEVEN_BITS:
        out.append(value & _SEVEN_BITS | _CONTINUES)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & _SEVEN_BITS) << shift
        position += 1
        if not byte & _CONTINUES:
            return value, position
        shift += 7


def _fields(message: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield (number, the field as it stands, its content) for every field of a message."""
    position = 0
    while position < len(message):
        start = position
        tag, position = _read_varint(message, position)
        kind, inside = tag & 7, position
        if kind == _VARINT:
            _unused, position = _read_varint(message, position)
        elif kind == _BYTES:
            length, inside = _read_varint(message, position)
            position = inside + length
        elif kind in (_FIXED64, _FIXED32):
            position += 8 if kind == _FIXED64 else 4
        else:
            raise NotAClaim(f"wire type {kind} is not used by Kubernetes")
        yield tag >> 3, message[start:position], message[inside:position]


def _bytes_of(message: bytes, wanted: int) -> bytes:
    """Return the content of a field, empty where it is not set."""
    return next((content for number, _unused, content in _fields(message) if number == wanted), b"")


def _replace(message: bytes, wanted: int, content: bytes) -> bytes:
    others = (whole for number, whole, _unused in _fields(message) if number != wanted)
    return b"".join(others) + _field(wanted, content)
