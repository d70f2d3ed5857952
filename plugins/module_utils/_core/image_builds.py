# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which images the alternatives need built, and which references the built ones have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .alternative_inputs import Alternative, read_alternatives
from .architectures import architecture
from .strict_reader import InputError, Problem

Build = dict[str, Any]


def image_builds(
    alternatives: Any,
    recipes: Mapping[str, Mapping[str, Any]],
    registry: str,
    others: Mapping[str, Mapping[str, Any]] | None = None,
    platform: str = "linux/amd64",
) -> list[Build]:
    """Return one build per image: those of the alternatives in order, then the others.

    Shape: ``name`` (with the registry), ``context``, ``dockerfile``, ``build_args``, ``platform``,
    ``machine_types``. Alternatives whose image has a tag, or a complete reference, need none; two with one
    name share theirs.

    :param recipes: ``context``, ``dockerfile`` and ``build_args`` by the driver of the alternative's devices.
    :param others: the same by the names of further images; they run on any node that is there.
    :param platform: of the further images.
    :raises InputError: for an alternative without a recipe, and for two that can't share their image.
    """
    read = read_alternatives(alternatives)
    problems: list[Problem] = []
    builds: dict[str, Build] = {}
    for index, alternative in enumerate(read):
        name = alternative.image.name
        if not _is_built(alternative):
            continue
        subject = f"alternatives[{index}] ({alternative.name})"
        recipe = recipes.get(alternative.driver)
        if recipe is None:
            advice = (
                f"nothing says how to build it for {alternative.driver}; add a recipe, or name a reference"
            )
            problems.append(Problem(subject, "image.name", repr(name), advice))
            continue
        build = _build(f"{registry}/{name}", recipe, _platform(alternative))
        build["machine_types"] = [alternative.node_pool.machine_type] if alternative.node_pool else []
        first = builds.setdefault(name, build)
        if first is not build and not _can_share(first, build):
            advice = "an earlier alternative has another image of that name (driver or platform differ)"
            problems.append(Problem(subject, "image.name", repr(name), advice))
        elif first is not build:
            first["machine_types"] += build["machine_types"]
    for name, recipe in (others or {}).items():
        builds[name] = _build(f"{registry}/{name}", recipe, platform)
    if problems:
        raise InputError(problems)
    return list(builds.values())


def built_references(alternatives: Any, images: Iterable[Mapping[str, Any]], registry: str) -> dict[str, str]:
    """Return the reference of each alternative's image by the alternative's name, where it has been built.

    :param images: what ``container_image`` returned: ``name`` and ``reference``. Others than
        those of the alternatives and those of another registry are passed over, so that a record of
        yesterday does no harm.
    """
    built = {image["name"]: image for image in images}
    found = {}
    for alternative in read_alternatives(alternatives):
        image = built.get(f"{registry}/{alternative.image.name}")
        if image and _is_built(alternative):
            found[alternative.name] = str(image["reference"])
    return found


def _is_built(alternative: Alternative) -> bool:
    """Return whether the image is named only, so that its tag follows from what is built."""
    return bool(alternative.image.name) and not alternative.image.tag


def _build(name: str, recipe: Mapping[str, Any], platform: str) -> Build:
    return {
        "name": name,
        "context": recipe["context"],
        "dockerfile": recipe.get("dockerfile", "Dockerfile"),
        "build_args": dict(recipe.get("build_args") or {}),
        "platform": platform,
        "machine_types": [],
    }


def _platform(alternative: Alternative) -> str:
    if alternative.image.platform or not alternative.node_pool:
        return alternative.image.platform or "linux/amd64"
    return f"linux/{architecture(alternative.node_pool.machine_type)}"


def _can_share(one: Build, other: Build) -> bool:
    return {**one, "machine_types": []} == {**other, "machine_types": []}
