# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes, and the ways in which slices, devices and allocations select them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .objects import NOTHING, Metadata, View, open_object

SelectionKind = Literal["node", "selector", "all", "per_device", "none"]


@dataclass(frozen=True, slots=True)
class NodeTaint:
    """A taint of a node; the effect is kept as written."""

    key: str
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A node, as far as devices, placement and the chain to a driver's pod need it.

    ``allocatable`` keeps the quantities as written.
    """

    meta: Metadata
    taints: tuple[NodeTaint, ...] = ()
    allocatable: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    unschedulable: bool = False
    ready: bool = False

    @property
    def name(self) -> str:
        return self.meta.name

    @property
    def labels(self) -> Mapping[str, str]:
        return self.meta.labels

    @classmethod
    def from_api(cls, obj: Any) -> Node:
        """Return the node of a ``v1`` Node mapping.

        :raises MalformedObjects: where a field has a type the API never gives it.
        """
        view, meta = open_object(obj, "Node")
        spec, status = view.child("spec"), view.child("status")
        return cls(
            meta=meta,
            taints=tuple(
                NodeTaint(taint.text("key"), taint.text("value"), taint.text("effect"))
                for taint in spec.children("taints")
            ),
            allocatable={k: str(v) for k, v in status.child("allocatable").value.items()},
            unschedulable=spec.boolean("unschedulable"),
            ready=any(
                condition.text("type") == "Ready" and condition.text("status") == "True"
                for condition in status.children("conditions")
            ),
        )


@dataclass(frozen=True, slots=True)
class NodeSelection:
    """Where devices can be reached from: ``nodeName``, ``nodeSelector``, ``allNodes``, or per device.

    ``none`` (nothing set that is known) reaches no node, as in the scheduler: a future API may have
    another way of saying it.
    """

    kind: SelectionKind = "none"
    node_name: str = ""
    node_selector: Mapping[str, Any] | None = None

    @classmethod
    def from_view(cls, view: View) -> NodeSelection:
        """Return the selection written on a slice's spec, or on a device."""
        if node_name := view.text("nodeName"):
            return cls("node", node_name=node_name)
        if view.boolean("allNodes"):
            return ALL_NODES
        if "nodeSelector" in view:
            return cls("selector", node_selector=node_selector(view.child("nodeSelector")))
        if view.boolean("perDeviceNodeSelection"):
            return PER_DEVICE
        return NO_NODE

    def reaches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether a node of this name and these labels is selected."""
        if self.kind == "node":
            return bool(name) and self.node_name == name
        if self.kind == "selector":
            return node_selector_matches(self.node_selector or NOTHING, name, labels)
        return self.kind == "all"

    def describe(self) -> str:
        """Return the selection in words."""
        return {
            "node": f"node {self.node_name}",
            "selector": "nodes by selector",
            "all": "all nodes",
            "per_device": "nodes per device",
            "none": "no node",
        }[self.kind]


ALL_NODES = NodeSelection("all")
PER_DEVICE = NodeSelection("per_device")
NO_NODE = NodeSelection("none")


def node_selector(view: View) -> Mapping[str, Any]:
    """Return a ``v1.NodeSelector`` as published, after a look at the shape of all its parts.

    :raises MalformedObjects: where a part has a type the API never gives it.
    """
    for term in view.children("nodeSelectorTerms"):
        check_requirements(term, "matchExpressions")
        check_requirements(term, "matchFields")
    return view.value


def check_requirements(view: View, key: str) -> None:
    """Look at the shape of a list of selector requirements.

    :raises MalformedObjects: where a part has a type the API never gives it.
    """
    for requirement in view.children(key):
        requirement.required_text("key")
        requirement.text("operator")
        requirement.texts("values")


def node_selector_matches(selector: Mapping[str, Any], name: str, labels: Mapping[str, str]) -> bool:
    """Return whether a ``v1.NodeSelector`` selects a node: its terms are alternatives."""
    return any(
        node_selector_term_matches(term, name, labels) for term in selector.get("nodeSelectorTerms") or []
    )


def node_selector_term_matches(term: Mapping[str, Any], name: str, labels: Mapping[str, str]) -> bool:
    """Return whether all expressions of one ``v1.NodeSelectorTerm`` hold; an empty term selects nothing.

    ``matchFields`` knows ``metadata.name`` only, with ``In`` or ``NotIn`` and exactly one value
    (component-helpers, nodeaffinity).
    """
    expressions = term.get("matchExpressions") or []
    fields = term.get("matchFields") or []
    if not expressions and not fields:
        return False
    return all(requirement_matches(each, labels) for each in expressions) and all(
        each.get("operator") in ("In", "NotIn")
        and len(each.get("values") or []) == 1
        and requirement_matches(each, {"metadata.name": name})
        for each in fields
    )


def requirement_matches(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether one selector requirement holds for the labels (apimachinery, labels.Requirement).

    Serves node selectors and label selectors alike; an operator that is not known never matches.
    """
    operator, values = requirement.get("operator"), list(requirement.get("values") or [])
    found = labels.get(requirement.get("key", ""))
    if operator in ("NotIn", "DoesNotExist"):
        return found is None or (operator == "NotIn" and found not in values)
    if found is None:
        return False
    if operator in ("Gt", "Lt"):
        return len(values) == 1 and _is_beyond(found, values[0], greater=operator == "Gt")
    return operator == "Exists" or (operator == "In" and found in values)


def _is_beyond(label: str, bound: str, *, greater: bool) -> bool:
    try:
        return int(label) > int(bound) if greater else int(label) < int(bound)
    except ValueError:
        return False


def pinned_node(selector: Mapping[str, Any] | None) -> str:
    """Return the node's name where a selector names exactly one node, else an empty string.

    An allocation of node-local devices carries such a selector: ``matchFields`` on
    ``metadata.name`` (KEP-4381).
    """
    terms = (selector or NOTHING).get("nodeSelectorTerms") or []
    if len(terms) != 1:
        return ""
    for each in terms[0].get("matchFields") or []:
        values = each.get("values") or []
        if each.get("key") == "metadata.name" and each.get("operator") == "In" and len(values) == 1:
            return str(values[0])
    return ""
