# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which image a container must have for the alternative that was chosen, and which it has.

The images are opaque parameters (``ImageConfig``) in the allocation of a claim: the allocator copies
those of the chosen alternative. A configuration of the claim overrides one of a device class.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from .claims import Claim, DeviceConfig
from .conditions import readiness
from .pods import Pod
from .verdict import Status, Verdict

DRIVER = "image-configurator.x-k8s.io"
KIND = "ImageConfig"
VERSION = "v1alpha1"
_FIELDS = frozenset({"apiVersion", "kind", "containerName", "image"})

# The grammar of distribution/reference, which kubelets and container runtimes parse images with.
_DOMAIN_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?:{_DOMAIN}/)?{_PATH_PART}(?:/{_PATH_PART})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
    r"(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?"
)


class ImageFact(NamedTuple):
    """The image a container must have and the one it has; ``actual`` is empty for no container."""

    container: str
    expected: str
    actual: str
    claim: str

    @property
    def is_switched(self) -> bool:
        return self.expected == self.actual


@dataclass(frozen=True, slots=True)
class ExpectedImages:
    """Container → image for the chosen alternatives of a claim; ``problems`` for what is unclear."""

    images: dict[str, str] = field(default_factory=dict)
    problems: tuple[Verdict, ...] = ()


def expected_images(claim: Claim, driver: str = DRIVER) -> ExpectedImages:
    """Return the images that the claim's allocation asks for; none where nothing is allocated."""
    by_source: dict[str, dict[str, str]] = {"FromClass": {}, "FromClaim": {}}
    problems: list[Verdict] = []
    configs = list(_chosen(claim, driver))
    for config in configs:
        if mistake := _mistake(config):
            problems.append(_invalid(claim, config, mistake))
            continue
        container, image = config.parameters["containerName"], config.parameters["image"]
        images = by_source.setdefault(config.source, {})
        if images.setdefault(container, image) != image:
            problems.append(_conflict(claim, container, images[container], image))
    if not configs and (gates := _gates(claim, driver)):
        problems.append(_absent(claim, gates))
    return ExpectedImages(by_source["FromClass"] | by_source["FromClaim"], tuple(problems))


def image_facts(pod: Pod, claims: Iterable[Claim], driver: str = DRIVER) -> tuple[ImageFact, ...]:
    """Return the facts for every container that a claim of the pod has an image for."""
    actual = {each.name: each.image for each in pod.containers}
    return tuple(
        ImageFact(container, image, actual.get(container, ""), claim.meta.name)
        for claim in claims
        for container, image in expected_images(claim, driver).images.items()
    )


def image_verdicts(pod: Pod, claims: Iterable[Claim], driver: str = DRIVER) -> Iterator[Verdict]:
    """Yield what is wrong with the pod's images.

    A True binding condition proves nothing about this pod: it may have been set for another one that
    shares the claim. Only a pod that is bound can no longer be helped.
    """
    known = list(claims)
    for claim in known:
        yield from expected_images(claim, driver).problems
        if claim.allocation is None:
            yield from _asked_for(pod, claim, driver)
    for fact in image_facts(pod, known, driver):
        if fact.is_switched:
            continue
        if not fact.actual:
            yield _no_container(pod, fact.claim, fact.container, "error")
            continue
        yield Verdict(
            "error" if pod.node_name else "note",
            "ImageNotSwitched",
            pod.subject,
            observed=f"container {fact.container} has image {fact.actual}"
            + (f" and is bound to {pod.node_name}" if pod.node_name else ""),
            expected=f"{fact.expected}, as claim {fact.claim} configures for the chosen alternative",
            advice="delete the pod; its successor gets a claim of its own" if pod.node_name else "",
        )


def is_image_reference(text: str) -> bool:
    """Return whether a container runtime can parse the text as ``[domain/]path[:tag][@digest]``."""
    return _REFERENCE.fullmatch(text) is not None


def _asked_for(pod: Pod, claim: Claim, driver: str) -> Iterator[Verdict]:
    """Yield what will be wrong once an alternative with a mistaken configuration is chosen."""
    for config in claim.devices.configs:
        if config.driver != driver:
            continue
        if mistake := _mistake(config):
            yield _invalid(claim, config, mistake, "warning")
        elif config.parameters["containerName"] not in {each.name for each in pod.containers}:
            yield _no_container(pod, claim.meta.name, config.parameters["containerName"], "warning")


def _chosen(claim: Claim, driver: str) -> Iterator[DeviceConfig]:
    """Yield the driver's configurations that target a chosen alternative, or every request."""
    if claim.allocation is None:
        return
    chosen = {each.request for each in claim.allocation.devices}
    chosen |= {each.partition("/")[0] for each in chosen}
    for config in claim.allocation.configs:
        if config.driver == driver and not (config.requests and chosen.isdisjoint(config.requests)):
            yield config


def _gates(claim: Claim, driver: str) -> list[str]:
    """Return the gating devices that still keep the pod waiting for its image."""
    return [str(each.device) for each in readiness(claim) if each.missing and each.device.id.driver == driver]


def _mistake(config: DeviceConfig) -> str:
    """Return why the configuration can never be carried out, empty where it can."""
    given = config.parameters
    wanted = {"apiVersion": f"{config.driver}/{VERSION}", "kind": KIND}
    for field_name, value in wanted.items():
        if given.get(field_name, value) != value:
            return f"its {field_name} is {given[field_name]!r}, not {value}"
    if unknown := sorted(str(name) for name in given if name not in _FIELDS):
        return f"it has a field {unknown[0]!r} that nobody reads"
    container, image = given.get("containerName"), given.get("image")
    if not (isinstance(container, str) and container and isinstance(image, str) and image):
        return "it has no containerName or no image"
    return "" if is_image_reference(image) else f"its image {image!r} is no image reference"


def _invalid(claim: Claim, config: DeviceConfig, mistake: str, status: Status = "error") -> Verdict:
    return Verdict(
        status,
        "ImageConfigInvalid",
        claim.subject,
        observed=f"an ImageConfig for {', '.join(config.requests) or 'all requests'}: {mistake}",
        expected="containerName and image, both strings",
        advice="correct the configuration in the claim template",
    )


def _no_container(pod: Pod, claim: str, container: str, status: Status) -> Verdict:
    return Verdict(
        status,
        "ImageConfigContainerMissing",
        pod.subject,
        observed=f"claim {claim} has an image for container {container!r}; the pod has "
        + ", ".join(sorted(each.name for each in pod.containers)),
        expected="the name of a container of the pod",
        advice="correct containerName in the claim template",
    )


def _absent(claim: Claim, gates: Iterable[str]) -> Verdict:
    chosen = claim.allocation.devices if claim.allocation else ()
    return Verdict(
        "warning",
        "ImageConfigMissing",
        claim.subject,
        observed=f"{', '.join(gates)} waits for an image, and no ImageConfig is for what was chosen: "
        + ", ".join(dict.fromkeys(each.request for each in chosen)),
        expected="an ImageConfig for every alternative",
        advice="add one to the claim template, in the claim of the gating device",
    )


def _conflict(claim: Claim, container: str, first: str, second: str) -> Verdict:
    return Verdict(
        "error",
        "ImageConfigConflict",
        claim.subject,
        observed=f"container {container!r} is given {first} and {second}",
        expected="one image for a container and a chosen alternative",
        advice="correct the configurations in the claim template",
    )
