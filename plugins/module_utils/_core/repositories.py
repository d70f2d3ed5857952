# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Artifact Registry repositories: the Repository message and the step from live to wanted.

Source: the artifactregistry v1 API. ``UpdateRepository`` takes a field mask, so all changes are one step;
format, location and key are fixed at creation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .change import Plan, Step, by_option, differences
from .fields import Field, Message, Options, stated, to_message, to_options

FORMATS = {"docker": "DOCKER", "generic": "GENERIC", "python": "PYTHON"}

FIELDS: tuple[Field, ...] = (
    Field("format", "format", kind="enum", words=FORMATS),
    Field("kms_key", "kmsKeyName"),
    Field("description", "description", "description"),
    Field("labels", "labels", "labels", "map"),
    Field("immutable_tags", "dockerConfig.immutableTags", "docker_config", "switch"),
)
CREATION_ONLY = (
    "only creation can set them: state the live values, or delete the repository and the images in it"
)


def message(options: Options) -> Message:
    """Return the Repository message for the stated options; the name is part of the request's path."""
    return to_message(FIELDS, options)


def plan(
    wanted: Options,
    live: Mapping[str, Any] | None,
    removals: Mapping[str, Iterable[str]] | None = None,
) -> Plan:
    """Return the step from the live repository (``None``: absent) to the wanted one.

    :param removals: label keys to take away, as ``{"labels": [...]}``.
    """
    subject = f"Repository {wanted['name']}"
    if live is None:
        step = Step("create", subject, "create_repository", {"repository": message(wanted)})
        return Plan(subject, (step,), {}, {"name": wanted["name"], **stated(FIELDS, wanted)})
    found = differences(FIELDS, wanted, to_options(FIELDS, live), removals or {})
    changes = tuple(change for _each, change in found)
    fixed = tuple(change for each, change in found if not each.concern)
    before, after = by_option(changes, "before"), by_option(changes, "after")
    consequence = CREATION_ONLY if fixed else ""
    in_place = [(each, change) for each, change in found if each.concern]
    if not in_place:
        return Plan(subject, (), before, after, fixed, consequence)
    request = {
        "repository": to_message([each for each, _change in in_place], after),
        "updateMask": ",".join(sorted({each.path.split(".")[0] for each, _change in in_place})),
    }
    step = Step("update", subject, "update_repository", request, changes)
    return Plan(subject, (step,), before, after, fixed, consequence)


def deletion(name: str, live: Mapping[str, Any] | None) -> Plan:
    """Return the step that removes a repository and every image in it, none if it is not there."""
    subject = f"Repository {name}"
    if live is None:
        return Plan(subject)
    return Plan(subject, (Step("delete", subject, "delete_repository"),), {"name": name})


def registry(live: Mapping[str, Any], project: str, location: str, name: str) -> str:
    """Return where images are pushed to: the server's own word, else the name every region follows."""
    uri: Any = live.get("registryUri")
    return str(uri or f"{location}-docker.pkg.dev/{project}/{name}")
