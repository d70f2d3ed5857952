# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which image a container must have for the alternative that was chosen, and which it has.

The images are opaque parameters (``ImageConfig``) in the allocation of a claim: the allocator copies
those of the chosen alternative. A configuration of the claim overrides one of a device class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from .claims import Claim, DeviceConfig
from .pods import Pod
from .verdict import Verdict

DRIVER = "image-configurator.x-k8s.io"
KIND = "ImageConfig"


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
    for config in _chosen(claim, driver):
        container, image = config.parameters.get("containerName"), config.parameters.get("image")
        if not (isinstance(container, str) and container and isinstance(image, str) and image):
            problems.append(_invalid(claim, config))
            continue
        images = by_source.setdefault(config.source, {})
        if images.setdefault(container, image) != image:
            problems.append(_conflict(claim, container, images[container], image))
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
    for fact in image_facts(pod, known, driver):
        if fact.is_switched:
            continue
        if not fact.actual:
            yield Verdict(
                "error",
                "ImageConfigContainerMissing",
                pod.subject,
                observed=f"claim {fact.claim} has an image for container {fact.container!r}; the pod has "
                + ", ".join(sorted(each.name for each in pod.containers)),
                expected="the name of a container of the pod",
                advice="correct containerName in the claim template",
            )
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


def _chosen(claim: Claim, driver: str) -> Iterator[DeviceConfig]:
    """Yield the driver's configurations that target a chosen alternative, or every request."""
    if claim.allocation is None:
        return
    chosen = {each.request for each in claim.allocation.devices}
    chosen |= {each.partition("/")[0] for each in chosen}
    for config in claim.allocation.configs:
        kind = config.parameters.get("kind", KIND)
        if (
            config.driver == driver
            and kind == KIND
            and not (config.requests and chosen.isdisjoint(config.requests))
        ):
            yield config


def _invalid(claim: Claim, config: DeviceConfig) -> Verdict:
    return Verdict(
        "error",
        "ImageConfigInvalid",
        claim.subject,
        observed="an ImageConfig for " + (", ".join(config.requests) or "all requests") + " has no "
        "containerName or no image",
        expected="containerName and image, both strings",
        advice="correct the configuration in the claim template",
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
