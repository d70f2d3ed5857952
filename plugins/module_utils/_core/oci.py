# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifests, image configurations and the token challenge of OCI registries, as values.

Sources: OCI image specification 1.1, OCI distribution specification 1.1, Docker's token authentication.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

OCI = "application/vnd.oci.image"
DOCKER = "application/vnd.docker"
MANIFEST = f"{OCI}.manifest.v1+json"
CONFIG = f"{OCI}.config.v1+json"
LAYER = f"{OCI}.layer.v1.tar+gzip"
INDEXES = (f"{OCI}.index.v1+json", f"{DOCKER}.distribution.manifest.list.v2+json")
MANIFESTS = (MANIFEST, f"{DOCKER}.distribution.manifest.v2+json")
ACCEPT = ", ".join((*INDEXES, *MANIFESTS))
# One manifest must not mix the two families; the bytes of the layers are the same.
LAYERS = {
    f"{DOCKER}.image.rootfs.diff.tar.gzip": LAYER,
    f"{DOCKER}.image.rootfs.diff.tar": f"{OCI}.layer.v1.tar",
}
EPOCH = "1970-01-01T00:00:00Z"
"""When an image was made; a real time would give the same content another digest."""

CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def encoded(document: Mapping[str, Any]) -> bytes:
    """Return a document as the bytes that its digest is made of."""
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def descriptor(media_type: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest(data), "size": len(data)}


def manifest_for(index: Mapping[str, Any], platform: str) -> str:
    """Return the digest of the manifest for a platform in an index, empty where it has none."""
    wanted = tuple(platform.split("/")[:2])
    for each in index.get("manifests") or ():
        offered = each.get("platform") or {}
        if (offered.get("os"), offered.get("architecture")) == wanted:
            return str(each["digest"])
    return ""


def layers_of(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the layers of a manifest, in OCI's words."""
    return [
        {**layer, "mediaType": LAYERS.get(layer["mediaType"], layer["mediaType"])}
        for layer in manifest.get("layers") or ()
    ]


def image_config(
    base: Mapping[str, Any], config: Mapping[str, Any], diff_ids: Iterable[str], platform: str, said: str
) -> dict[str, Any]:
    """Return the configuration of an image that adds layers to a base.

    :param base: the configuration of the base image; empty for none.
    :param config: what is run and how (Env, Entrypoint, …), complete.
    :param diff_ids: digests of the new layers before compression.
    :param said: what the image's history says about them.
    """
    system, architecture = platform.split("/")[:2]
    made: dict[str, Any] = deepcopy(dict(base))
    made |= {"os": system, "architecture": architecture, "config": dict(config), "created": EPOCH}
    root = made.get("rootfs") or {"type": "layers", "diff_ids": []}
    added = list(diff_ids)
    made["rootfs"] = {**root, "diff_ids": [*root.get("diff_ids", ()), *added]}
    history = {"created": EPOCH, "created_by": said, **({} if added else {"empty_layer": True})}
    made["history"] = [*(made.get("history") or ()), history]
    return made


def image_manifest(config: bytes, layers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the manifest of a configuration and its layers, in order."""
    return {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": descriptor(CONFIG, config),
        "layers": [dict(layer) for layer in layers],
    }


def challenge(header: str) -> tuple[str, dict[str, str]]:
    """Return how a registry wants to be asked: ``bearer``, ``basic`` or nothing, and its parameters."""
    scheme, _blank, rest = header.strip().partition(" ")
    return scheme.lower(), dict(CHALLENGE.findall(rest))


def refusal(data: bytes) -> str:
    """Return what a registry says about a refused request, in one line."""
    try:
        errors = json.loads(data).get("errors") or ()
    except (ValueError, AttributeError):
        return data.decode(errors="replace").strip()[:200]
    return "; ".join(": ".join(filter(None, (each.get("code"), each.get("message")))) for each in errors)
