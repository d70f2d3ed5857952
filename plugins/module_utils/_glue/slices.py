# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``resource_slice_verify`` does: read what its expectations need, judge, fail where it is grave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from ansible_collections.inference.dra.plugins.module_utils._core.claims import Claim
from ansible_collections.inference.dra.plugins.module_utils._core.driver_chain import Publisher
from ansible_collections.inference.dra.plugins.module_utils._core.kubelets import (
    POLICIES,
    cpu_manager_policy,
    kubelet_verdicts,
)
from ansible_collections.inference.dra.plugins.module_utils._core.nodes import Node
from ansible_collections.inference.dra.plugins.module_utils._core.pods import Pod
from ansible_collections.inference.dra.plugins.module_utils._core.rollouts import Deployment
from ansible_collections.inference.dra.plugins.module_utils._core.slice_audit import audit
from ansible_collections.inference.dra.plugins.module_utils._core.slice_expectations import (
    FIELDS,
    Expectation,
    examiner,
    read_expectations,
)
from ansible_collections.inference.dra.plugins.module_utils._core.slice_summary import summarise
from ansible_collections.inference.dra.plugins.module_utils._core.slice_verification import (
    Published,
    held_devices,
    verify,
)
from ansible_collections.inference.dra.plugins.module_utils._core.verdict import Status, Verdict
from ansible_collections.inference.dra.plugins.module_utils._core.workloads import Name
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import (
    Clock,
    Deadline,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    DAEMON_SETS,
    DEPLOYMENTS,
    DEVICE_CLASSES,
    NODES,
    PODS,
    RETRY_SECONDS,
    SLICES,
    Forbidden,
    Kubernetes,
    KubernetesError,
    Resource,
)

from .objects import Cluster, Source, source_from
from .result import Module, ModuleFailure
from .spec import dump_spec, kubernetes_spec

Object = Mapping[str, Any]

SHOWN = 5
"""So many findings are said in full; the result has them all."""
FIRST_PAUSE_SECONDS, MOST_PAUSE_SECONDS = 0.25, 2.0
"""Between two looks of a wait, each twice the one before: what is nearly there is seen soon."""
KUBELETS_SECONDS = 10.0
"""So long all kubelets together may take to answer; those that have not then are not judged."""


def verify_spec() -> dict[str, Any]:
    """Return the options of resource_slice_verify."""
    attribute = {
        "name": {"type": "str", "required": True},
        "type": {"type": "str", "choices": ["int", "bool", "string", "version"]},
        "value": {"type": "raw"},
    }
    expectation = {
        "driver": {"type": "str", "required": True},
        "alternative": {"type": "str"},
        "device_class": {"type": "str"},
        "pool": {"type": "str"},
        "all_nodes": {"type": "bool", "default": False},
        "node_selector": {"type": "dict"},
        "devices_min": {"type": "int"},
        "devices_exact": {"type": "int"},
        "attributes": {"type": "list", "elements": "dict", "options": attribute},
        "capacity": {"type": "dict"},
        "required_fields": {"type": "list", "elements": "str", "choices": list(FIELDS)},
        "selectors": {"type": "list", "elements": "str"},
        "count": {"type": "str", "choices": ["free", "published"], "default": "published"},
        "daemon_set": {"type": "str"},
        "deployment": {"type": "str"},
        "rolled_out": {"type": "bool", "default": False},
        "cpu_manager_policy": {"type": "str", "choices": list(POLICIES)},
        "allow_no_nodes": {"type": "bool", "default": False},
    }
    own = {
        "expectations": {"type": "list", "elements": "dict", "options": expectation, "default": []},
        "fail_on": {"type": "str", "choices": ["note", "warning", "error", "never"], "default": "error"},
        "wait_seconds": {"type": "int", "default": 0},
    }
    return kubernetes_spec() | dump_spec() | own


def verify_slices(module: Module, clock: Clock, say: Callable[[str], None]) -> dict[str, Any]:
    """Return all verdicts; fail with them where one is still as grave as ``fail_on`` when the time is up."""
    params = module.params
    expectations = read_expectations(params["expectations"])
    once = module.check_mode or params["objects"] is not None
    deadline = Deadline(clock, 0 if once else params["wait_seconds"])
    source, _now = source_from(params, clock)
    pause, said = FIRST_PAUSE_SECONDS, ""
    while True:
        result, grave = look(patient(source, deadline), expectations, params["fail_on"], clock)
        result["waited_seconds"] = round(deadline.elapsed, 3)
        if not grave:
            return result
        if deadline.expired:
            raise ModuleFailure(
                f"Verifying resource slices: {together([each.sentence() for each in grave])}.",
                "SlicesNotAsExpected",
                **result,
            )
        missing = together([f"{each.subject}: {each.observed or each.reason}" for each in grave])
        if missing != said:
            say(f"[{deadline.elapsed:6.1f} of {deadline.seconds:g} s] {missing}")
            said = missing
        clock.sleep(min(pause, deadline.remaining))
        pause = min(2 * pause, MOST_PAUSE_SECONDS)


def patient(source: Source, deadline: Deadline) -> Source:
    """Return the source; in a long wait an API server that is away is waited for, too."""
    if isinstance(source, Cluster) and deadline.remaining > RETRY_SECONDS:
        return Cluster(source.api.within(deadline))
    return source


def look(
    source: Source, expectations: Sequence[Expectation], fail_on: Status | Literal["never"], clock: Clock
) -> tuple[dict[str, Any], list[Verdict]]:
    """Return how it is now: the module's result, and the verdicts that are as grave as ``fail_on``."""
    reader = Reader(source)
    published = reader.published(expectations)
    outcomes = verify(expectations, published)
    drivers = {each.driver for each in expectations}
    verdicts = [verdict for outcome in outcomes for verdict in outcome.verdicts]
    verdicts += audit(published.slices, published.held, published.nodes, drivers)
    verdicts += reader.kubelet_verdicts(expectations, published.nodes or (), clock)
    result = {
        "outcomes": [outcome.as_dict() for outcome in outcomes],
        "verdicts": [verdict.as_dict() for verdict in verdicts],
        "slices": published.slices.slices,
        "pools": published.slices.drivers(),
        "forbidden": reader.forbidden,
    }
    return result, [each for each in verdicts if fail_on != "never" and each.at_least(fail_on)]


def together(sentences: Sequence[str]) -> str:
    """Return the first sentences and how many more there are."""
    more = f". And {len(sentences) - SHOWN} more" if len(sentences) > SHOWN else ""
    return ". ".join(sentences[:SHOWN]) + more


class Reader:
    """Reads kinds as far as rights and dump go; ``forbidden`` names those that may not be read."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.forbidden: list[str] = []

    def published(self, expectations: Iterable[Expectation]) -> Published:
        """Return what the expectations are judged by; slices are indispensable, and never all in memory."""
        expectations = tuple(expectations)
        daemon_sets = {each.daemon_set for each in expectations if each.daemon_set}
        deployments = {each.deployment for each in expectations if each.deployment}
        classes = any(each.device_class for each in expectations)
        slices = summarise(self._source.read(SLICES), examiner(expectations))
        nodes = self._read(NODES)
        found = self._read(DEVICE_CLASSES) if classes else None
        return Published(
            slices=slices,
            held=held_devices(Claim.from_api(each) for each in self._read(CLAIMS) or ()),
            nodes=None if nodes is None else tuple(Node.from_api(each) for each in nodes),
            publishers=self._publishers(daemon_sets),
            deployments=self._deployments(deployments),
            device_classes=None if found is None else frozenset(each["metadata"]["name"] for each in found),
        )

    def kubelet_verdicts(
        self, expectations: Iterable[Expectation], nodes: Iterable[Node], clock: Clock
    ) -> Iterator[Verdict]:
        """Yield what is wrong with the settings of kubelets where one is expected; a dump has none."""
        wanted = [each for each in expectations if each.cpu_manager_policy]
        if not wanted or not isinstance(self._source, Cluster):
            return
        api = self._source.api.within(Deadline(clock, KUBELETS_SECONDS))
        asked: dict[str, str] = {}
        for each in wanted:
            names = [node.name for node in nodes if each.selects(node.labels)]
            asked |= {name: _cpu_manager_policy(api, name) for name in names if name not in asked}
            policies = {name: asked[name] for name in names}
            yield from kubelet_verdicts(each.driver, each.cpu_manager_policy, policies)

    def _publishers(self, names: Iterable[Name]) -> dict[Name, Publisher] | None:
        found: dict[Name, Publisher] = {}
        for namespace, wanted in _by_namespace(names):
            objects, pods = self._read(DAEMON_SETS, namespace), self._read(PODS, namespace)
            if objects is None or pods is None:
                return None
            typed = [Pod.from_api(each) for each in pods]
            for each in objects:
                if each["metadata"]["name"] in wanted:
                    found[namespace, each["metadata"]["name"]] = Publisher.of(each, typed)
        return found

    def _deployments(self, names: Iterable[Name]) -> dict[Name, Deployment] | None:
        found: dict[Name, Deployment] = {}
        for namespace, wanted in _by_namespace(names):
            objects = self._read(DEPLOYMENTS, namespace)
            if objects is None:
                return None
            for each in objects:
                if each["metadata"]["name"] in wanted:
                    found[namespace, each["metadata"]["name"]] = Deployment.from_api(each)
        return found

    def _read(self, resource: Resource, namespace: str = "") -> list[Object] | None:
        """Return the objects of a kind, None where nothing can be said about it."""
        try:
            found = list(self._source.read(resource, namespace))
        except Forbidden:
            if resource.plural not in self.forbidden:
                self.forbidden.append(resource.plural)
            return None
        return found if found or self._source.is_complete else None


def _cpu_manager_policy(api: Kubernetes, node: str) -> str:
    """Return the policy of a node's kubelet, empty where it does not answer or may not be asked."""
    try:
        return cpu_manager_policy(api.request("GET", f"{NODES.path(name=node)}/proxy/configz", retried=()))
    except KubernetesError:
        return ""


def _by_namespace(names: Iterable[Name]) -> Iterator[tuple[str, set[str]]]:
    names = set(names)
    for namespace in sorted({namespace for namespace, _unused in names}):
        yield namespace, {name for where, name in names if where == namespace}
