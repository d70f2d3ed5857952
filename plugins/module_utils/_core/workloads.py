# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From pods to the claims they need: named, generated from a template, or made by the scheduler."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Literal, NamedTuple

from .claims import Claim
from .pods import Pod, PodClaim
from .verdict import Verdict

Name = tuple[str, str]  # namespace, name


class ClaimIndex:
    """All claims by name, and those generated for pods by the pod's UID."""

    def __init__(self, claims: Iterable[Claim]) -> None:
        self._by_name: dict[Name, Claim] = {}
        self._by_owner: dict[Name, Claim] = {}
        for claim in claims:
            self._by_name[claim.meta.namespace, claim.meta.name] = claim
            if claim.pod_claim_name:
                key = claim.meta.owner[2], claim.pod_claim_name
                if key not in self._by_owner or claim.meta.deleted is None:
                    self._by_owner[key] = claim

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._by_name.values())

    def named(self, namespace: str, name: str) -> Claim | None:
        """Return the claim of this name."""
        return self._by_name.get((namespace, name))

    def generated(self, pod: Pod, name: str) -> Claim | None:
        """Return the claim made for an entry of the pod, known by owner UID and annotation."""
        return self._by_owner.get((pod.meta.uid, name))


class ClaimLink(NamedTuple):
    """One claim that a pod needs, found or not.

    ``name`` is the one inside the pod; ``verdict`` says why there is no claim.
    """

    pod: Pod
    name: str
    kind: Literal["named", "generated", "extended"]
    claim: Claim | None
    claim_name: str = ""
    verdict: Verdict | None = None


def pod_claims(
    pod: Pod, index: ClaimIndex, templates: Container[Name] | None = None
) -> tuple[ClaimLink, ...]:
    """Return the claims a pod needs, in the order of its specification.

    Names written in the specification count first; generated names come from the status, and where
    the status lags behind from the claim's owner and annotation. An entry of the status without a
    name means that no claim is needed.

    :param templates: the templates that exist; None where they are not known.
    """
    links = [link for entry in pod.claims if (link := _link(pod, entry, index, templates)) is not None]
    if name := pod.extended_resource_claim:
        claim = index.named(pod.meta.namespace, name)
        verdict = None if claim else _absent(pod, name, "status.extendedResourceClaimStatus")
        links.append(ClaimLink(pod, "", "extended", claim, name, verdict))
    return tuple(links)


def _link(
    pod: Pod, entry: PodClaim, index: ClaimIndex, templates: Container[Name] | None
) -> ClaimLink | None:
    namespace = pod.meta.namespace
    if entry.claim_name:
        claim = index.named(namespace, entry.claim_name)
        verdict = None if claim else _absent(pod, entry.claim_name, f"spec.resourceClaims {entry.name}")
        return ClaimLink(pod, entry.name, "named", claim, entry.claim_name, verdict)
    stated = pod.claim_statuses.get(entry.name)
    if stated == "":
        return None
    claim = (index.named(namespace, stated) if stated else None) or index.generated(pod, entry.name)
    if claim is not None:
        return ClaimLink(pod, entry.name, "generated", claim, claim.meta.name)
    verdict = _not_generated(pod, entry, stated or "", templates)
    return ClaimLink(pod, entry.name, "generated", None, stated or "", verdict)


def _absent(pod: Pod, name: str, field: str) -> Verdict:
    return claim_missing(pod.meta.namespace, name, f"{field} of {pod.subject}", pod)


def claim_missing(namespace: str, name: str, named_in: str, pod: Pod | None = None) -> Verdict:
    """Return the verdict on a claim that is named somewhere and does not exist."""
    return Verdict(
        "error",
        "ClaimMissing",
        f"ResourceClaim {namespace}/{name}",
        observed=f"does not exist; it is named in {named_in}",
        expected="a claim of this name",
        advice="create the claim, or correct the name; the scheduler waits without a word",
        evidence=(pod.subject,) if pod else (),
    )


def _not_generated(pod: Pod, entry: PodClaim, stated: str, templates: Container[Name] | None) -> Verdict:
    template = pod.meta.namespace, entry.template_name
    if not entry.template_name:
        return Verdict(
            "error",
            "ClaimMissing",
            pod.subject,
            observed=f"spec.resourceClaims {entry.name} names neither a claim nor a template",
            expected="resourceClaimName or resourceClaimTemplateName",
            advice="correct the pod",
        )
    if templates is not None and template not in templates:
        return Verdict(
            "error",
            "TemplateMissing",
            pod.subject,
            observed=f"ResourceClaimTemplate {'/'.join(template)} does not exist",
            expected=f"the template that spec.resourceClaims {entry.name} names",
            advice="create the template, or correct the name; the claim is made as soon as it exists",
        )
    return Verdict(
        "note",
        "ClaimNotGenerated",
        pod.subject,
        observed=f"no claim for spec.resourceClaims {entry.name}"
        + (f"; its status names {stated}, which does not exist" if stated else " yet"),
        expected=f"a claim made from ResourceClaimTemplate {'/'.join(template)}",
    )
