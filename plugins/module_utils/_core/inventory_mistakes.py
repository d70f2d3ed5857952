# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with an inventory, found before anything is written: each mistake by name, with its fix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .alternatives import InputError, plan
from .driver_names import CPU_DRIVER, GPU_DRIVER
from .image_references import InvalidReference, parse

# What guides leave for the reader to fill in.
PLACEHOLDER = re.compile(
    r"<[^<>]+>|(?i:hugging_face_token|hf_token|(my|your)[-_]project([-_]id)?|project[-_]id|change[-_]?me)"
)
BARE_VERSION = re.compile(r"\d+\.\d+\.\d+\S*")
WITH_V = re.compile(r"v\d+\.\d+\.\d+\S*")
V_REPOSITORIES = ("registry.k8s.io/", "docker.io/vllm/")
"""Where image tags begin with v (dra-driver-cpu, dra-driver-nvidia, vllm-openai); chart versions do not."""
V_CHARTS = (GPU_DRIVER, CPU_DRIVER)
"""The drivers whose charts have such an image where none is named beside the tag."""
EMBEDDED = re.compile(r"<[^<>]+>")
ENGINES = ("docker", "podman", "cloud_build", "append")


def placeholder_mistakes(values: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each variable whose value is a placeholder of a guide; no value is repeated
    beside the placeholder itself, because some are secret.
    """
    mistakes = []
    for name, value in values.items():
        text = str(value or "").strip()
        embedded = EMBEDDED.search(text)
        if PLACEHOLDER.fullmatch(text) or embedded:
            shown = embedded[0] if embedded else text
            mistakes.append(f"{name}: found the placeholder {shown!r}; set the real value")
    return mistakes


def version_mistakes(charts: Mapping[str, Any], images: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each chart version with a v, and each image tag without one where tags have it.

    :param charts: charts by driver, each with ``version`` and ``values``.
    :param images: image references, or mappings of ``repository`` and ``tag``, by the name of their variable.
    """
    mistakes = []
    for driver, chart in charts.items():
        version = str(chart.get("version", ""))
        if WITH_V.fullmatch(version):
            mistakes.append(
                f"version of the chart for {driver}: found {version!r}; chart versions carry no v, "
                f"so {version[1:]!r} is meant"
            )
        name = f"image of the chart for {driver}"
        repository, tag = _parts((chart.get("values") or {}).get("image"))
        if driver in V_CHARTS and not repository and BARE_VERSION.fullmatch(tag):
            mistakes.append(f"{name}: found the tag {tag!r}; 'v{tag}' is meant")
        mistakes += _without_v(name, repository, tag)
    for name, image in images.items():
        mistakes += _without_v(name, *_parts(image))
    return mistakes


def _without_v(name: str, repository: str, tag: str) -> list[str]:
    if repository.startswith(V_REPOSITORIES) and BARE_VERSION.fullmatch(tag):
        return [f"{name}: found the tag {tag!r} of {repository}; 'v{tag}' is meant"]
    return []


def build_mistakes(engine: str, bases: Mapping[str, str]) -> list[str]:
    """Return a sentence for an engine that is none, and for each base image that may be another one tomorrow
    or that has a tag nobody pushed.

    :param engine: what builds images; empty where none are built.
    :param bases: references by the names of their variables; empty ones have a pinned default.
    """
    mistakes = []
    if engine and engine not in ENGINES:
        mistakes.append(f"container_images_engine: found {engine!r}; one of {', '.join(ENGINES)} is needed")
    for name, base in bases.items():
        try:
            if base and not parse(base).is_pinned:
                mistakes.append(
                    f"{name}: found {base!r}; name a version or a digest, because what is built on it would "
                    "keep its tag when the base changes"
                )
        except InvalidReference as error:
            mistakes.append(f"{name}: {error}")
        mistakes += _without_v(name, *_parts(base))
    return mistakes


def _parts(image: Any) -> tuple[str, str]:
    """Return repository and tag; the tag is empty beside a digest, both are where the text names no image."""
    if isinstance(image, Mapping):
        return str(image.get("repository", "")), str(image.get("tag", ""))
    try:
        found = parse(str(image or ""))
    except InvalidReference:
        return "", ""
    return found.name, "" if found.digest else found.tag


def removed_mistakes(names: Iterable[str], removed: Mapping[str, str]) -> list[str]:
    """Return a sentence for each variable that is set and no longer read.

    :param removed: successors by the names of removed variables; empty where there is none.
    """
    present = set(names)
    return [
        f"{name}: nothing reads it any more; " + (f"use {successor}" if successor else "remove it")
        for name, successor in removed.items()
        if name in present
    ]


def inventory_mistakes(inventory: Mapping[str, Any]) -> list[str]:
    """Return every mistake in an inventory, those of its alternatives first.

    Shape of ``inventory``: ``alternatives`` and ``settings`` as ``plan`` takes them, ``values``, ``charts``,
    ``images``, ``engine``, ``bases``, ``names`` and ``removed`` as the functions here take them.
    """
    mistakes = []
    try:
        made = plan(inventory["alternatives"], inventory.get("settings"))
    except InputError as error:
        mistakes += [problem.sentence() for problem in error.problems]
    else:
        of_alternatives = {f"image of {each['alternative']}": each["reference"] for each in made.images()}
        mistakes += version_mistakes({}, of_alternatives)
    mistakes += placeholder_mistakes(inventory.get("values") or {})
    mistakes += version_mistakes(inventory.get("charts") or {}, inventory.get("images") or {})
    mistakes += build_mistakes(inventory.get("engine") or "", inventory.get("bases") or {})
    mistakes += removed_mistakes(inventory.get("names") or (), inventory.get("removed") or {})
    return mistakes


def claim_requests(made: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what each alternative of a plan asks for, as gke_preflight takes its ``alternatives``.

    Shape: ``name, driver, device_class, node_pool, count, cpus, selectors``; alternatives without a node
    pool are left out.
    """
    drivers = {each["name"]: each["driver"] for each in made["device_classes"]}
    pools = {each["alternative"]: each["node_pool"] for each in made["nodes"]}
    first, *_gate = made["claim_template"]["spec"]["spec"]["devices"]["requests"]
    return [
        {
            "name": each["name"],
            "driver": drivers[each["deviceClassName"]],
            "device_class": each["deviceClassName"],
            "node_pool": pools[each["name"]],
            "count": each.get("count", 1),
            "cpus": _cpus((each.get("capacity") or {}).get("requests") or {}),
            "selectors": [selector["cel"]["expression"] for selector in each.get("selectors") or ()],
        }
        for each in first["firstAvailable"]
        if each["name"] in pools
    ]


def _cpus(capacity: Mapping[str, str]) -> int:
    asked = str(capacity.get("dra.cpu/cpu", "0"))
    return int(asked) if asked.isdecimal() else 0
