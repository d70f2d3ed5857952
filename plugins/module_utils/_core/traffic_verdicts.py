# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a service by the requests that were sent to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .completions import LOADING
from .service_report import Replica
from .traffic import MOST_EXAMPLES, Measured, Sample
from .verdict import Status, Verdict

ADVICE = {
    LOADING: "Wait until the model is loaded; with a readiness probe on /health the pod is not ready before.",
    "model_unknown": "Leave the model out, or give one of the names that /v1/models lists.",
    "timeout": "Raise timeout_seconds, or lower concurrency or max_tokens.",
    "overloaded": "Lower concurrency, or add replicas.",
    "connection": "Look at the pod's log and whether it restarted.",
    "server_error": "Look at the pod's log.",
    "refused": "Correct what the server names; max_tokens and prompt must fit into the model's context.",
    "malformed": "Check that the port is that of a server with OpenAI's API.",
}


@dataclass(frozen=True)
class Contact:
    """A replica before the load: what it serves, or why it can't be asked.

    :param wanted: the model that the requests are for; empty for whatever it serves.
    :param error: the kind of error, as in ``Sample.error``.
    """

    replica: Replica
    wanted: str = ""
    models: tuple[str, ...] = ()
    round_trip_seconds: float | None = None
    error: str = ""
    detail: str = ""

    @property
    def is_ready(self) -> bool:
        ready = self.replica.pod.condition("Ready")
        return bool(ready and ready.status == "True")

    @property
    def model(self) -> str:
        """Return the model to ask for, empty where the replica does not serve it."""
        if self.wanted:
            return self.wanted if self.wanted in self.models else ""
        return next(iter(self.models), "")

    def measured(self, samples: Sequence[Sample]) -> Measured:
        shown = self.replica.as_dict()
        return Measured(
            pod=shown["pod"],
            alternative=shown["alternative"],
            node=shown["node"],
            machine_type=shown["machine_type"],
            model=self.model,
            round_trip_seconds=self.round_trip_seconds,
            samples=tuple(samples),
        )


def contact_verdicts(namespace: str, contacts: Iterable[Contact]) -> list[Verdict]:
    """Return one verdict per replica that no request was sent to."""
    found = [_contact_verdict(f"Pod {namespace}/{each.replica.pod.meta.name}", each) for each in contacts]
    return [verdict for verdict in found if verdict]


def _contact_verdict(subject: str, contact: Contact) -> Verdict | None:
    if contact.model:
        return None
    if not contact.is_ready:
        return Verdict(
            "warning",
            "ReplicaNotReady",
            subject,
            "not ready, no request was sent",
            "ready",
            "Ask inference.dra.dra_diagnosis why.",
        )
    if contact.error:
        reason = "ModelLoading" if contact.error == LOADING else "ReplicaUnreachable"
        return Verdict(
            "error",
            reason,
            subject,
            contact.detail or contact.error,
            "/v1/models answers",
            ADVICE.get(contact.error, ""),
        )
    return Verdict(
        "error",
        "ModelNotServed",
        subject,
        f"serves {', '.join(contact.models)}",
        contact.wanted,
        ADVICE["model_unknown"],
    )


def nothing_measured(namespace: str, deployment: str, contacts: Sequence[Contact]) -> tuple[str, str]:
    """Return message and reason of the failure to send any request at all."""
    attempted = f"Sending requests to Deployment {namespace}/{deployment}"
    verdicts = [
        each
        for each in contact_verdicts(namespace, contacts)
        if each.status == "error"  # one that is not ready says less than one that is and does not answer
    ]
    if not verdicts:
        count = len(contacts)
        return (
            f"{attempted}: none of its {count} replicas is ready. Ask inference.dra.dra_diagnosis why.",
            "NoReadyReplicas",
        )
    first = verdicts[0]
    return f"{attempted}: {first.sentence()}", first.reason


def request_verdicts(namespace: str, measured: Iterable[Measured]) -> list[Verdict]:
    """Return what went wrong with the requests to each replica."""
    found = []
    for each in measured:
        subject = f"Pod {namespace}/{each.pod}"
        found += _failures(subject, each.samples)
        if any(not sample.error and not sample.counted for sample in each.samples):
            found.append(
                Verdict("note", "TokensNotReported", subject, "no usage in its answers; events were counted")
            )
    return found


def service_verdicts(subject: str, samples: Sequence[Sample]) -> list[Verdict]:
    """Return what went wrong with the requests through the Service."""
    if not samples:
        return [
            Verdict(
                "error",
                "ServiceWithoutEndpoints",
                subject,
                "no ready endpoint",
                "a ready pod behind it",
                "Check the Service's name and that its selector has the labels of the pods.",
            )
        ]
    return _failures(subject, samples)


def _failures(subject: str, samples: Sequence[Sample]) -> list[Verdict]:
    failed = [sample for sample in samples if sample.error]
    if not failed:
        return []
    counts = Counter(sample.error for sample in failed)
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items()))
    status: Status = "error" if len(failed) == len(samples) else "warning"
    return [
        Verdict(
            status,
            "RequestsFailed",
            subject,
            f"{len(failed)} of {len(samples)} requests failed: {kinds}",
            "every request answered",
            ADVICE.get(counts.most_common(1)[0][0], ""),
            tuple(dict.fromkeys(sample.detail for sample in failed if sample.detail))[:MOST_EXAMPLES],
        )
    ]
