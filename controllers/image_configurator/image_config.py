# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ImageConfig: the opaque device configuration that says which image a container gets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .contract import CONFIG_KIND, Gate

_FIELDS = frozenset({"apiVersion", "kind", "containerName", "image"})
_CONTAINER_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

# The grammar of distribution/reference, which kubelet and container runtimes parse images with.
_DOMAIN_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?P<name>(?:{_DOMAIN}/)?{_PATH_PART}(?:/{_PATH_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?"
)
_MAX_NAME_LENGTH = 255


class Refused(Exception):
    """A configuration that can never be carried out.

    :param reason: CamelCase, used in the condition, the event and the metric.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ImageConfig:
    """The image one container is to run."""

    container: str
    image: str


def parse_image_config(parameters: Any, gate: Gate) -> ImageConfig:
    """Return the configuration in ``opaque.parameters``.

    :raises Refused: ``ImageConfigInvalid`` or ``ImageReferenceInvalid``. Unknown fields are refused
        too: a misspelt one would otherwise be a setting that silently does nothing.
    """
    if not isinstance(parameters, Mapping):
        raise _invalid(f"parameters must be an object, got {_short(parameters)}")
    for key, wanted in (("apiVersion", gate.config_api), ("kind", CONFIG_KIND)):
        if parameters.get(key) != wanted:
            raise _invalid(f"{key} must be {wanted!r}, got {_short(parameters.get(key))}")
    unknown = sorted(str(key) for key in parameters if key not in _FIELDS)
    if unknown:
        raise _invalid(f"unknown field {_short(unknown[0])}; known: containerName, image")
    container, image = parameters.get("containerName"), parameters.get("image")
    if not isinstance(container, str) or not _CONTAINER_NAME.fullmatch(container):
        raise _invalid(f"containerName must be the name of a container, got {_short(container)}")
    if not isinstance(image, str) or not is_image_reference(image):
        raise Refused(
            "ImageReferenceInvalid",
            f"image of container {container!r} is no image reference: {_short(image)}",
        )
    return ImageConfig(container, image)


def is_image_reference(text: str) -> bool:
    """Return whether a container runtime can parse ``text`` as ``[domain/]path[:tag][@digest]``."""
    match = _REFERENCE.fullmatch(text)
    return match is not None and len(match["name"]) <= _MAX_NAME_LENGTH


def _invalid(message: str) -> Refused:
    return Refused("ImageConfigInvalid", message)


def _short(value: Any, limit: int = 120) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[:limit] + "…"
