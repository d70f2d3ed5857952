# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node pools: the NodePool message, what changes in place, and the steps from live to wanted.

Source: the container v1 API (NodePool, UpdateNodePoolRequest). ``initial_node_count`` acts at creation and,
by SetNodePoolSize, on a pool without autoscaling; the size an autoscaler gave is never a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from .change import Change, Concern, Plan, Step, by_option, differences, updates
from .fields import TAINT_EFFECTS, Field, Message, Options, put, stated, take, to_message, to_options
from .node_pool_fields import FIELDS, RESERVATION_NAME
from .versions import version_to_compare

# GKE puts this taint on GPU nodes itself and expects it to stay there.
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
MANAGED_RESOURCE_LABELS = "goog-gke"

PER_ZONE = ("autoscaling.min_node_count", "autoscaling.max_node_count")
IN_TOTAL = ("autoscaling.total_min_node_count", "autoscaling.total_max_node_count")
RECREATION_COSTS = (
    "recreating a pool drains and deletes its nodes, and spot or GPU capacity may not come back: "
    "set recreate to true to accept that, or state the live value"
)
SINGLE_VALUES = ("text", "number", "switch", "enum", "seconds")
ROLLS = "the nodes are replaced one after another"


def _only_switched_off(request: Message) -> Message:
    """Return an autoscaling request; switched off it carries no limits, as the API wants it."""
    return request if take(request, "autoscaling.enabled") else {"autoscaling": {"enabled": False}}


def _update(name: str, key: str, path: str, effect: str = "", *, whole: bool = False) -> Concern:
    return Concern(name, "update_node_pool", {key: path}, whole, effect)


# What governs a later replacement of nodes comes before what causes one.
CONCERNS: tuple[Concern, ...] = (
    Concern("management", "set_node_pool_management", {"management": "management"}, whole=True),
    _update("upgrade", "upgradeSettings", "upgradeSettings", whole=True),
    _update("taints", "taints.taints", "config.taints"),
    _update("labels", "labels.labels", "config.labels"),
    _update("resource_labels", "resourceLabels.labels", "config.resourceLabels"),
    _update("tags", "tags.tags", "config.tags"),
    _update("locations", "locations", "locations"),
    _update("version", "nodeVersion", "version", ROLLS),
    _update("image_type", "imageType", "config.imageType", ROLLS),
    Concern(
        "machine",
        "update_node_pool",
        {
            "machineType": "config.machineType",
            "diskType": "config.diskType",
            "diskSizeGb": "config.diskSizeGb",
        },
        effect=ROLLS,
    ),
    _update("driver", "accelerators", "config.accelerators", ROLLS, whole=True),
    _update("workload_metadata", "workloadMetadataConfig", "config.workloadMetadataConfig", ROLLS),
    _update("gvnic", "gvnic", "config.gvnic", ROLLS),
    _update("flex_start", "flexStart", "config.flexStart"),
    _update("max_run_duration", "maxRunDuration", "config.maxRunDuration"),
    _update("queued_provisioning", "queuedProvisioning", "queuedProvisioning"),
    Concern(
        "autoscaling",
        "set_node_pool_autoscaling",
        {"autoscaling": "autoscaling"},
        whole=True,
        finish=_only_switched_off,
    ),
    # SetNodePoolSize is refused beside an autoscaler, so it comes after that was switched off.
    Concern(
        "size",
        "set_node_pool_size",
        {"nodeCount": "initialNodeCount"},
        effect="in every zone; nodes beyond it are drained and deleted",
    ),
)


def message(options: Options) -> Message:
    """Return the NodePool message that creates the pool the options describe.

    A pool without ``initial_node_count`` starts with one node per zone: the API's own default is none.
    """
    return _with_identity(to_message(FIELDS, options), options)


def read(live: Mapping[str, Any]) -> dict[str, Any]:
    """Return a live NodePool message as options, less the resource labels that GKE manages itself."""
    return to_options(FIELDS, _unmanaged(live))


def plan(
    cluster: str,
    wanted: Options,
    live: Mapping[str, Any] | None,
    removals: Mapping[str, Iterable[str]] | None = None,
    *,
    recreate: bool = False,
) -> Plan:
    """Return the steps from the live pool (``None``: absent) to the wanted one.

    :param wanted: the options of one pool; an option that is ``None`` is not stated and left alone.
    :param live: the NodePool message of the API.
    :param removals: keys to take away, per option: ``labels``, ``taints``, ``resource_labels``, ``tags``.
    :param recreate: whether to delete and create the pool for changes that the API refuses in place.
    """
    subject = f"NodePool {cluster}/{wanted['name']}"
    if live is None:
        return _creation(subject, wanted)
    have = read(live)
    have["version"], notes = version_to_compare(wanted.get("version"), have["version"], subject)
    asked = _with_implied_limits(_with_count_that_acts(wanted, have), have)
    found = differences(FIELDS, asked, have, removals or {})
    changes = tuple(change for _each, change in found)
    fixed = tuple(change for each, change in found if not each.concern)
    if fixed and recreate:
        steps = _recreation(subject, wanted, live, found)
        fixed = ()
    else:
        steps = updates(subject, CONCERNS, live, found)
    return Plan(
        subject,
        steps,
        by_option(changes, "before"),
        by_option(changes, "after"),
        fixed,
        RECREATION_COSTS if fixed else "",
        notes,
    )


def deletion(cluster: str, name: str, live: Mapping[str, Any] | None) -> Plan:
    """Return the step that removes a pool, none if it is not there."""
    subject = f"NodePool {cluster}/{name}"
    if live is None:
        return Plan(subject)
    return Plan(subject, (Step("delete", subject, "delete_node_pool"),), {"name": name})


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """How many nodes a pool has in all its zones together; ``maximum`` is what a quota must allow."""

    minimum: int
    initial: int
    maximum: int

    def as_dict(self) -> dict[str, int]:
        return {"minimum": self.minimum, "initial": self.initial, "maximum": self.maximum}


def node_counts(options: Options, zones: int) -> NodeCounts:
    """Return the whole-pool sizes for options whose counts are per zone.

    :param zones: the number of zones of the pool (of its cluster, where the pool states none).
    """
    count = options.get("initial_node_count")
    initial = zones * (1 if count is None else count)
    limits = options.get("autoscaling") or {}
    if not limits.get("enabled"):
        return NodeCounts(initial, initial, initial)
    if limits.get("total_max_node_count"):
        least, most = limits.get("total_min_node_count") or 0, limits["total_max_node_count"]
    else:
        least = zones * (limits.get("min_node_count") or 0)
        most = zones * (limits.get("max_node_count") or 0)
    return NodeCounts(least, initial, max(most, initial))


def has_fixed_size(wanted: Options, live: Mapping[str, Any]) -> bool:
    """Return whether a stated count is the size of the pool: no autoscaler is to set it.

    :param live: the NodePool message of the API. Its own count is the one of the creation; the machines
        there are in its instance groups.
    """
    return _with_count_that_acts(wanted, read(live)).get("initial_node_count") is not None


def _with_count_that_acts(wanted: Options, have: Options) -> Options:
    """Return wanted, less the count where an autoscaler has the size in its hands."""
    stated_switch = take(wanted, "autoscaling.enabled")
    autoscaled = take(have, "autoscaling.enabled") if stated_switch is None else stated_switch
    return {**wanted, "initial_node_count": None} if autoscaled else wanted


def _creation(subject: str, wanted: Options) -> Plan:
    after = {"name": wanted["name"], **stated(FIELDS, wanted)}
    step = Step("create", subject, "create_node_pool", {"nodePool": message(wanted)})
    return Plan(subject, (step,), {}, after)


def _recreation(
    subject: str, wanted: Options, live: Mapping[str, Any], found: list[tuple[Field, Change]]
) -> tuple[Step, ...]:
    """Return delete and create; what the user did not name is carried over from the live pool."""
    changed = {each.option: change.after for each, change in found}
    source = _unmanaged(live)
    body: Message = {}
    for each in FIELDS:
        want, value = take(wanted, each.option), take(source, each.path)
        parent = each.path.rpartition(".")[0]
        if each.option in changed:
            put(body, each.path, each.spell(changed[each.option]))
        elif want is not None and each.kind in SINGLE_VALUES and each.option != "version":
            put(body, each.path, each.spell(want))
        elif value is not None:
            put(body, each.path, value)
        elif parent and take(source, parent) == {} and take(body, parent) is None:
            put(body, parent, {})  # there, and all of it switched off: not the same as absent
    if not wanted.get("version"):
        body.pop("version", None)  # the control plane may have moved on: its version is the default
    if wanted.get("initial_node_count") is None:
        body["initialNodeCount"] = live.get("initialNodeCount", 0)
    taints = take(body, "config.taints")
    if taints:
        managed = {**GPU_TAINT, "effect": TAINT_EFFECTS[GPU_TAINT["effect"]]}
        put(body, "config.taints", [taint for taint in taints if taint != managed])
    if take(body, "networkConfig.acceleratorNetworkProfile"):
        # The networks of a profile are GKE's own; it refuses them beside the profile.
        for networks in ("additionalNodeNetworkConfigs", "additionalPodNetworkConfigs"):
            body["networkConfig"].pop(networks, None)
    return (
        Step("delete", subject, "delete_node_pool"),
        Step("create", subject, "create_node_pool", {"nodePool": _with_identity(body, wanted)}),
    )


def _with_identity(body: Message, options: Options) -> Message:
    count = options.get("initial_node_count")
    body["name"] = options["name"]
    if count is None:
        body.setdefault("initialNodeCount", 1)
    else:
        body["initialNodeCount"] = count
    if take(body, "config.reservationAffinity.values"):
        put(body, "config.reservationAffinity.key", RESERVATION_NAME)
    return body


def _unmanaged(live: Mapping[str, Any]) -> Message:
    result: Message = deepcopy(dict(live))
    labels = take(result, "config.resourceLabels")
    if labels:
        kept = {k: v for k, v in labels.items() if not k.startswith(MANAGED_RESOURCE_LABELS)}
        result["config"]["resourceLabels"] = kept
    return result


def _with_implied_limits(wanted: Options, have: Options) -> Options:
    """Return wanted with what its limits imply: stating one sort of limit ends the other sort."""
    limits = wanted.get("autoscaling") or {}
    total = any(take(wanted, option) is not None for option in IN_TOTAL)
    zonal = any(take(wanted, option) is not None for option in PER_ZONE)
    if not total and not zonal:
        return wanted
    ended = PER_ZONE if total else IN_TOTAL
    zeros = {option.rpartition(".")[2]: 0 for option in ended if take(have, option)}
    return {**wanted, "autoscaling": {**limits, **zeros}}
