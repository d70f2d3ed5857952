# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the watches have shown: gated claims and unbound pods, cut down to what decisions need."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock

from .contract import Gate
from .decision import allocation_id
from .metrics import Metrics
from .work_queue import Key

Object = Mapping[str, Any]
_METADATA = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "ownerReferences")


def key_of(obj: Object) -> Key:
    """Return (namespace, name)."""
    return obj["metadata"]["namespace"], obj["metadata"]["name"]


def claim_keys(pod: Object) -> list[Key]:
    """Return the claims a pod uses, as far as they exist yet."""
    generated = {
        status["name"]: status.get("resourceClaimName")
        for status in (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    }
    names = [
        entry.get("resourceClaimName") or generated.get(entry["name"])
        for entry in pod["spec"].get("resourceClaims") or ()
    ]
    return [(pod["metadata"]["namespace"], name) for name in names if name]


def trim_pod(pod: Object) -> dict[str, Any]:
    """Return the parts of a pod that decisions look at; a pod is 5 to 20 kB, this is 1 kB."""
    spec, status = pod["spec"], pod.get("status") or {}
    containers = {
        field: [{"name": c["name"], "image": c.get("image", "")} for c in spec.get(field) or ()]
        for field in ("containers", "initContainers")
    }
    return {
        "metadata": _pick(pod["metadata"], _METADATA),
        "spec": {**containers, **_pick(spec, ("nodeName", "resourceClaims"))},
        "status": _pick(status, ("phase", "resourceClaimStatuses")),
    }


def trim_claim(claim: Object, gate: Gate) -> dict[str, Any] | None:
    """Return the parts of a claim that decisions look at, None where it waits for no gate of ours."""
    status = claim.get("status") or {}
    allocation = status.get("allocation") or {}
    devices = allocation.get("devices") or {}
    results = devices.get("results") or ()
    if not any(result["driver"] == gate.driver for result in results):
        return None
    ours = [c for c in devices.get("config") or () if (c.get("opaque") or {}).get("driver") == gate.driver]
    return {
        "metadata": _pick(claim["metadata"], _METADATA),
        "status": {
            "allocation": {
                "allocationTimestamp": allocation.get("allocationTimestamp"),
                "devices": {"results": results, "config": ours},
            },
            "reservedFor": status.get("reservedFor") or [],
            "devices": [e for e in status.get("devices") or () if e["driver"] == gate.driver],
        },
    }


@dataclass(frozen=True, slots=True)
class Held:
    """One object as JSON text: a fifth of the memory of its dictionaries, decoded when looked at."""

    uid: str
    version: str
    text: str
    allocation: str = ""
    seen: float = 0.0

    def object(self) -> dict[str, Any]:
        decoded: dict[str, Any] = json.loads(self.text)
        return decoded


def _held(trimmed: Object, allocation: str = "", seen: float = 0.0) -> Held:
    metadata = trimmed["metadata"]
    text = json.dumps(trimmed, separators=(",", ":"))
    return Held(metadata["uid"], metadata.get("resourceVersion", ""), text, allocation, seen)


class Cache:
    """Gated claims and unbound pods by name; safe to use from many threads.

    A claim carries, beside the API's fields, ``seen``: the monotonic second at which its present
    allocation was first seen.
    """

    def __init__(self, gate: Gate, clock: Clock, metrics: Metrics) -> None:
        self._gate = gate
        self._clock = clock
        self._metrics = metrics
        self._lock = threading.Lock()
        self._claims: dict[Key, Held] = {}
        self._pods: dict[Key, Held] = {}
        self._users: defaultdict[Key, set[Key]] = defaultdict(set)

    def claim(self, key: Key) -> Object | None:
        with self._lock:
            held = self._claims.get(key)
        return {**held.object(), "seen": held.seen} if held else None

    def users(self, claim: Key) -> list[Object]:
        """Return the unbound pods that use the claim."""
        with self._lock:
            held = [self._pods[key] for key in self._users.get(claim, ())]
        return [pod.object() for pod in held]

    def put_claim(self, claim: Object) -> list[Key]:
        """Remember a claim; return the keys whose decision may have changed."""
        key, trimmed = key_of(claim), trim_claim(claim, self._gate)
        with self._lock:
            known = self._claims.get(key)
            if _newer(known, claim):
                return []
            if trimmed is None:
                self._claims.pop(key, None)
                return []
            allocation = allocation_id(trimmed)
            if known and known.allocation == allocation:
                seen = known.seen
            else:
                seen = self._clock.monotonic()
                if not trimmed["status"]["devices"]:
                    self._metrics.count("allocations_total")
            self._claims[key] = _held(trimmed, allocation, seen)
            return [key]

    def drop_claim(self, claim: Object) -> list[Key]:
        with self._lock:
            self._claims.pop(key_of(claim), None)
            return []

    def put_pod(self, pod: Object) -> list[Key]:
        """Remember an unbound pod that uses claims; return the claims to look at again."""
        if not pod["spec"].get("resourceClaims"):
            return []
        if pod["spec"].get("nodeName"):
            return self.drop_pod(pod)
        key, trimmed = key_of(pod), trim_pod(pod)
        with self._lock:
            if _newer(self._pods.get(key), pod):
                return []
            self._forget(key)
            self._pods[key] = _held(trimmed)
            claims = claim_keys(trimmed)
            for claim in claims:
                self._users[claim].add(key)
            return [claim for claim in claims if claim in self._claims]

    def drop_pod(self, pod: Object) -> list[Key]:
        with self._lock:
            return self._forget(key_of(pod))

    def replace_claims(self, claims: Iterable[Object]) -> list[Key]:
        """Take a whole list; return every key that is or was known."""
        seen: set[Key] = set()
        for claim in claims:
            seen.add(key_of(claim))
            self.put_claim(claim)
        with self._lock:
            for key in self._claims.keys() - seen:
                del self._claims[key]
            return list(self._claims)

    def replace_pods(self, pods: Iterable[Object]) -> list[Key]:
        """Take a whole list; return the claims to look at again."""
        seen: set[Key] = set()
        for pod in pods:
            seen.add(key_of(pod))
            self.put_pod(pod)
        with self._lock:
            for key in self._pods.keys() - seen:
                self._forget(key)
            return [claim for claim in self._users if claim in self._claims]

    def size(self) -> tuple[int, int]:
        """Return the number of claims and pods held."""
        with self._lock:
            return len(self._claims), len(self._pods)

    def _forget(self, key: Key) -> list[Key]:
        known = self._pods.pop(key, None)
        claims = claim_keys(known.object()) if known else []
        for claim in claims:
            self._users[claim].discard(key)
            if not self._users[claim]:
                del self._users[claim]
        return claims


def _pick(mapping: Object, fields: Iterable[str]) -> dict[str, Any]:
    return {field: mapping[field] for field in fields if field in mapping}


def _newer(known: Held | None, candidate: Object) -> bool:
    """Return whether what is known is newer than an event that arrives late.

    Answers to our own writes overtake the watch. Resource versions of one resource are comparable
    as integers (KEP-5504).
    """
    if known is None or known.uid != candidate["metadata"]["uid"]:
        return False
    versions = known.version, candidate["metadata"].get("resourceVersion", "")
    return all(v.isdigit() for v in versions) and int(versions[0]) > int(versions[1])
