# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sending requests to the replicas of a service and to the service itself: the work of inference_probe."""

from __future__ import annotations

import itertools
import queue
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.completions import request
from ansible_collections.inference.dra.plugins.module_utils._core.service_report import Replica, replicas
from ansible_collections.inference.dra.plugins.module_utils._core.traffic import (
    Measured,
    Sample,
    by_alternative,
    summary,
)
from ansible_collections.inference.dra.plugins.module_utils._core.traffic_verdicts import (
    Contact,
    contact_verdicts,
    nothing_measured,
    request_verdicts,
    service_verdicts,
)
from ansible_collections.inference.dra.plugins.module_utils._core.verdict import Verdict
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    Forbidden,
    Kubernetes,
    KubernetesError,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.model_server import (
    CONNECTION,
    ModelServer,
    ServerRefused,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.port_forward import PodHttp
from ansible_collections.inference.dra.plugins.module_utils._ports.resources import ENDPOINT_SLICES

from .cluster import see
from .objects import Cluster
from .result import ModuleFailure
from .spec import kubernetes_spec

Say = Callable[[str], None]
SERVICE_LABEL = "kubernetes.io/service-name"
USUAL_PORT = 8000
MOST_THREADS = 64
PROMPT = "Explain in plain words what a hardware accelerator is and when a model runs well without one."


def probe_spec() -> dict[str, Any]:
    """Return the options of inference_probe, which its module and its action share."""
    return kubernetes_spec() | {
        "namespace": {"type": "str", "required": True},
        "deployment": {"type": "str", "required": True},
        "service": {"type": "str"},
        "port": {"type": "int"},
        "model": {"type": "str"},
        "prompt": {"type": "str", "default": PROMPT},
        "max_tokens": {"type": "int", "default": 64, "no_log": False},
        "requests": {"type": "int", "default": 8},
        "concurrency": {"type": "int", "default": 2},
        "timeout_seconds": {"type": "int", "default": 120},
        "alternatives": {"type": "list", "elements": "str", "default": []},
        "prices": {"type": "dict", "default": {}},
    }


@dataclass(frozen=True)
class Endpoint:
    """A pod and the port that it serves on."""

    pod: str
    port: int


def probe(params: Mapping[str, Any], clock: Clock, say: Say) -> dict[str, Any]:
    """Return what requests to every ready replica, and through the Service, tell about the hardware."""
    for name in ("max_tokens", "requests", "concurrency", "timeout_seconds"):
        if params[name] < 1:
            raise ModuleFailure(
                f"Sending requests: the option {name} is {params[name]}; give at least 1.", "InvalidInput"
            )
    return Probe(params, clock, say, Kubernetes.connect(params, clock)).run()


class Probe:
    """One measurement."""

    def __init__(self, params: Mapping[str, Any], clock: Clock, say: Say, api: Kubernetes) -> None:
        self._params = params
        self._clock = clock
        self._say = say
        self._api = api
        self._namespace: str = params["namespace"]
        self._begin = clock.monotonic()

    def run(self) -> dict[str, Any]:
        now = self._clock.now()
        found = self._replicas()
        contacts = self._each(self._contact, found)
        usable = [contact for contact in contacts if contact.model]
        verdicts = contact_verdicts(self._namespace, contacts)
        if not usable:
            failure = nothing_measured(self._namespace, self._params["deployment"], contacts)
            raise ModuleFailure(*failure, verdicts=[each.as_dict() for each in verdicts])
        self._say(f"{len(usable)} replicas, {self._params['requests']} requests each")
        measured = self._each(self._measure, usable)
        service, of_service = self._through_service(measured)
        verdicts += [*request_verdicts(self._namespace, measured), *of_service]
        return {
            "replicas": [each.as_dict() for each in measured],
            "alternatives": by_alternative(measured, self._params["alternatives"], self._params["prices"]),
            "service": service,
            "load": {
                "model": usable[0].model,
                **{name: self._params[name] for name in ("requests", "concurrency", "max_tokens", "prompt")},
            },
            "verdicts": [each.as_dict() for each in verdicts],
            "now": now.isoformat(),
        }

    def _replicas(self) -> list[Replica]:
        seen = see(Cluster(self._api), self._clock.now(), self._namespace, workloads=True)
        deployment = seen.deployment(self._namespace, self._params["deployment"])
        return replicas(seen.cluster, deployment, seen.replica_sets)

    def _each(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Do the work for all items at the same time."""
        with ThreadPoolExecutor(max_workers=max(1, min(MOST_THREADS, len(items)))) as workers:
            return list(workers.map(work, items))

    def _server(self, endpoint: Endpoint) -> ModelServer:
        way = PodHttp(self._api.connection, self._clock, self._namespace, endpoint.pod, endpoint.port)
        return ModelServer(way, self._clock, endpoint.pod, self._begin)

    def _endpoint(self, replica: Replica) -> Endpoint:
        return Endpoint(replica.pod.meta.name, self._params["port"] or port_of(replica.pod.spec))

    def _contact(self, replica: Replica) -> Contact:
        """Return what a replica serves, or why it can't be asked."""
        contact = Contact(replica, wanted=self._params["model"] or "")
        if not contact.is_ready:
            return contact
        try:
            models, seconds = self._server(self._endpoint(replica)).models()
        except ServerRefused as error:
            return replace(contact, error=error.kind, detail=str(error))
        except Forbidden as error:
            raise ModuleFailure(
                f"Forwarding a port of Pod {self._namespace}/{replica.pod.meta.name}: {error.message}. "
                "Allow get and create on pods/portforward in this namespace.",
                "Forbidden",
            ) from error
        except KubernetesError as error:
            return replace(contact, error=CONNECTION, detail=str(error))
        return replace(contact, models=tuple(models), round_trip_seconds=seconds)

    def _measure(self, contact: Contact) -> Measured:
        endpoint = self._endpoint(contact.replica)
        samples = self._load(contact.model, lambda: endpoint, self._params["requests"], 1)
        measured = contact.measured(samples)
        shown = measured.as_dict()
        self._say(
            f"{measured.pod} on {measured.alternative or 'no alternative'}: "
            f"{shown['succeeded']} of {shown['requests']} answered, "
            f"{shown['tokens_per_second'] or 0:.1f} tokens per second"
        )
        return measured

    def _load(
        self, model: str, choose: Callable[[], Endpoint], number: int, times: int
    ) -> tuple[Sample, ...]:
        """Return the samples of so many requests; ``times`` the option's concurrency of them run at once."""
        numbers: queue.SimpleQueue[int] = queue.SimpleQueue()
        for each in range(1, number + 1):
            numbers.put(each)

        def worker(_number: int) -> list[Sample]:
            samples = []
            with suppress(queue.Empty):
                while True:
                    body = request(
                        model, self._params["prompt"], numbers.get_nowait(), self._params["max_tokens"]
                    )
                    samples.append(self._server(choose()).complete(body, self._params["timeout_seconds"]))
            return samples

        found = self._each(worker, range(min(number, self._params["concurrency"] * times)))
        return tuple(sample for samples in found for sample in samples)

    def _through_service(self, measured: Sequence[Measured]) -> tuple[dict[str, Any], list[Verdict]]:
        """Return what requests through the Service tell, nothing where none is named."""
        name = self._params["service"]
        if not name:
            return {}, []
        subject = f"Service {self._namespace}/{name}"
        endpoints = self._endpoints(name)
        if not endpoints:
            nothing = {"name": name, "endpoints": 0, "alternatives": {}, **summary(())}
            return nothing, service_verdicts(subject, ())
        number = self._params["requests"] * len(endpoints)
        self._say(f"{subject}: {len(endpoints)} endpoints, {number} requests")
        # A node's proxy sends each new connection to any ready endpoint; in turn is what many such come to.
        turns = itertools.cycle(endpoints)
        model = measured[0].model
        samples = self._load(model, lambda: next(turns), number, len(endpoints))
        hardware = {each.pod: each.alternative for each in measured}
        answered: dict[str, int] = {}
        for sample in samples:
            alternative = hardware.get(sample.pod, "")
            answered[alternative] = answered.get(alternative, 0) + 1
        result = {
            "name": name,
            "endpoints": len(endpoints),
            "alternatives": dict(sorted(answered.items())),
            **summary(samples),
        }
        return result, service_verdicts(subject, samples)

    def _endpoints(self, service: str) -> list[Endpoint]:
        slices = self._api.list(ENDPOINT_SLICES, self._namespace, label_selector=f"{SERVICE_LABEL}={service}")
        # A service with two address families has a slice, and so each pod, for either.
        return sorted({*endpoints_of(slices)}, key=lambda each: each.pod)


def port_of(spec: Mapping[str, Any]) -> int:
    """Return the port that a pod names http, else its first one, else vLLM's own."""
    ports = [port for container in spec.get("containers", ()) for port in container.get("ports") or ()]
    named = [port for port in ports if port.get("name") == "http"]
    return int(next((port["containerPort"] for port in (*named, *ports)), USUAL_PORT))


def endpoints_of(slices: Iterable[Mapping[str, Any]]) -> list[Endpoint]:
    """Return the ready pods behind a Service, with the port that it sends them to."""
    found = []
    for each in slices:
        ports = [port for port in each.get("ports") or () if port.get("port")]
        port = next((port for port in ports if port.get("name") == "http"), next(iter(ports), None))
        for endpoint in each.get("endpoints") or ():
            target = endpoint.get("targetRef") or {}
            ready = (endpoint.get("conditions") or {}).get("ready", True)
            if port and ready and target.get("kind") == "Pod":
                found.append(Endpoint(target["name"], int(port["port"])))
    return found
