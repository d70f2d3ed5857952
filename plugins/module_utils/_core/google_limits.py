# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Google would refuse, refused before any call and with the same meaning.

Source: the limits in the container v1 and artifactregistry v1 references and the answers of the services.
Each function returns one sentence per problem, all of them at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .fields import Options, take
from .node_pools import IN_TOTAL, PER_ZONE
from .versions import parts

GKE_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
POLICY_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
REPOSITORY_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
LOCATION = re.compile(r"[a-z]+(-[a-z]+)+\d+(-[a-z])?")
ZONE = re.compile(r"([a-z]+(-[a-z]+)+\d+)-[a-z]")
LABEL_PREFIX = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
RESOURCE_LABEL_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
RESOURCE_LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
TOPOLOGY = re.compile(r"\d+x\d+(x\d+)?")
# GKE sets the labels below these domains itself and refuses them from users.
RESERVED_DOMAINS = ("kubernetes.io", "k8s.io")
MAX_RESOURCE_LABELS = 64
MAX_UPGRADED_AT_ONCE = 20
MAX_PODS_PER_NODE = 256
MIN_PODS_PER_NODE = 8
MIN_DISK_GB = 10
MIN_CLIENTS_PER_GPU = 2
MAX_CLIENTS_PER_GPU = 48
MAX_RUN_SECONDS = 7 * 24 * 3600


def node_pool_problems(options: Options, location: str) -> list[str]:
    """Return what is wrong with the options of one pool of a cluster in ``location``."""
    return [
        *_name_problems("name", options["name"], GKE_NAME, 40),
        *_version_problems(options.get("version")),
        *_zone_problems(options.get("locations") or (), location),
        *_label_problems(options.get("labels") or {}),
        *_resource_label_problems("resource_labels", options.get("resource_labels") or {}),
        *_taint_problems(options.get("taints") or ()),
        *_size_problems(options),
        *_accelerator_problems(options.get("accelerators") or ()),
        *_provisioning_problems(options),
        *_placement_problems(options),
        *_number_problems(options),
    ]


def cluster_problems(options: Options, location: str) -> list[str]:
    """Return what is wrong with the options of a cluster."""
    problems = [
        *_name_problems("name", options["name"], GKE_NAME, 40),
        *location_problems(location),
        *_version_problems(options.get("version")),
        *_zone_problems(options.get("locations") or (), location),
        *_resource_label_problems("labels", options.get("labels") or {}),
    ]
    monitoring = options.get("monitoring") or {}
    if monitoring.get("auto_monitoring") == "all" and monitoring.get("managed_prometheus") is False:
        problems.append("monitoring.auto_monitoring all needs monitoring.managed_prometheus")
    if options.get("multi_networking") and options.get("dataplane_v2") is False:
        problems.append("multi_networking needs dataplane_v2")
    limits = take(options, "autoscaling.resource_limits") or ()
    problems += [
        f"autoscaling.resource_limits: {limit['resource_type']} has a minimum above its maximum"
        for limit in limits
        if (limit.get("minimum") or 0) > limit["maximum"]
    ]
    pool = options.get("default_pool") or {}
    if (pool.get("initial_node_count") or 0) < 0:
        problems.append("default_pool.initial_node_count cannot be negative")
    return problems


def repository_problems(options: Options, location: str) -> list[str]:
    """Return what is wrong with the options of a repository."""
    problems = [
        *_name_problems("name", options["name"], REPOSITORY_NAME, 63),
        *_resource_label_problems("labels", options.get("labels") or {}),
    ]
    if location not in ("asia", "europe", "us"):
        problems += location_problems(location)
    if options.get("immutable_tags") and options.get("format") not in (None, "docker"):
        problems.append("immutable_tags is for repositories of format docker")
    return problems


def workload_policy_problems(options: Options, region: str) -> list[str]:
    """Return what is wrong with the options of a workload policy."""
    problems = [*_name_problems("name", options["name"], POLICY_NAME, 63), *location_problems(region)]
    if not problems and ZONE.fullmatch(region):
        problems.append(f"location {region} is a zone: a workload policy belongs to a region")
    topology, throughput = options.get("accelerator_topology"), options.get("type") == "high_throughput"
    if topology and not TOPOLOGY.fullmatch(topology):
        problems.append(f"accelerator_topology {topology!r} is not a topology such as 2x4 or 4x4x4")
    if topology and not throughput:
        problems.append("accelerator_topology needs type high_throughput")
    if options.get("accelerator_topology_mode") and not topology:
        problems.append("accelerator_topology_mode needs accelerator_topology")
    if options.get("max_topology_distance") and not throughput:
        problems.append("max_topology_distance needs type high_throughput")
    if topology and options.get("max_topology_distance"):
        problems.append("accelerator_topology and max_topology_distance exclude each other")
    return problems


def location_problems(location: str) -> list[str]:
    """Return what is wrong with a region or zone as such; whether it exists only Google knows."""
    if LOCATION.fullmatch(location):
        return []
    return [f"location {location!r} is neither a region such as us-central1 nor a zone of one"]


def _name_problems(option: str, name: str, form: re.Pattern[str], longest: int) -> Iterator[str]:
    if not form.fullmatch(name):
        yield (
            f"{option} {name!r}: at most {longest} lower-case letters, digits and hyphens, "
            "a letter first, no hyphen last"
        )


def _version_problems(version: str | None) -> Iterator[str]:
    if not version or version in ("latest", "-"):
        return
    try:
        parts(version)
    except ValueError as error:
        yield f"version: {error}"


def _zone_problems(zones: Any, location: str) -> Iterator[str]:
    for zone in zones:
        match = ZONE.fullmatch(zone)
        if match is None:
            yield f"locations: {zone!r} is not a zone such as us-central1-a"
        elif not location.startswith(match[1]):
            yield f"locations: zone {zone} is not in {location}"
    if len(set(zones)) != len(zones):
        yield "locations: a zone is named twice"


def _label_problems(labels: Mapping[str, str]) -> Iterator[str]:
    for key, value in labels.items():
        yield from _key_problems("labels", key)
        if not isinstance(value, str):
            yield f"labels: {key}: {value!r} is not text: quote it"
            continue
        domain = key.rpartition("/")[0]
        if any(domain == name or domain.endswith(f".{name}") for name in RESERVED_DOMAINS):
            yield f"labels: {key}: GKE sets labels of {domain} itself"
        if not LABEL_VALUE.fullmatch(value):
            yield f"labels: {key}: {value!r} is not a label value"


def _key_problems(option: str, key: str) -> Iterator[str]:
    prefix, slash, name = key.rpartition("/")
    if not LABEL_NAME.fullmatch(name) or (slash and not LABEL_PREFIX.fullmatch(prefix)):
        yield f"{option}: {key!r} is not a key such as example.com/name"


def _taint_problems(taints: Any) -> Iterator[str]:
    seen = set()
    for taint in taints:
        yield from _key_problems("taints", taint["key"])
        if not LABEL_VALUE.fullmatch(taint.get("value") or ""):
            yield f"taints: {taint['key']}: {taint['value']!r} is not a taint value"
        if (taint["key"], taint["effect"]) in seen:
            yield f"taints: {taint['key']} with effect {taint['effect']} is named twice"
        seen.add((taint["key"], taint["effect"]))


def _resource_label_problems(option: str, labels: Mapping[str, str]) -> Iterator[str]:
    if len(labels) > MAX_RESOURCE_LABELS:
        yield f"{option}: {len(labels)} labels, {MAX_RESOURCE_LABELS} are possible"
    for key, value in labels.items():
        if not isinstance(value, str):
            yield f"{option}: {key}: {value!r} is not text: quote it"
        elif not RESOURCE_LABEL_KEY.fullmatch(key) or not RESOURCE_LABEL_VALUE.fullmatch(value):
            yield (
                f"{option}: {key}={value}: lower-case letters, digits, _ and -, at most 63 each, "
                "the key beginning with a letter"
            )


def _size_problems(options: Options) -> Iterator[str]:
    limits = options.get("autoscaling") or {}
    given = [option for option in (*PER_ZONE, *IN_TOTAL) if take(options, option) is not None]
    initial = options.get("initial_node_count")
    if initial is not None and initial < 0:
        yield "initial_node_count cannot be negative"
    if limits.get("enabled") is False:
        if given:
            yield f"{', '.join(given)}: limits without autoscaling.enabled"
        return
    if any(option in PER_ZONE for option in given) and any(option in IN_TOTAL for option in given):
        yield "autoscaling: limits per zone and limits in total exclude each other"
    for least, most in (PER_ZONE, IN_TOTAL):
        low, high = take(options, least), take(options, most)
        if least in given and low < 0:
            yield f"{least} cannot be negative"
        if most in given and high < 1:
            yield f"{most} must be 1 or more"
        if low is not None and high is not None and low > high:
            yield f"{least} {low} is above {most} {high}"
    most = take(options, PER_ZONE[1])
    if initial is not None and most is not None and initial > most:
        yield f"initial_node_count {initial} is above {PER_ZONE[1]} {most} (both per zone)"


def _accelerator_problems(accelerators: Any) -> Iterator[str]:
    if len(accelerators) > 1:
        yield "accelerators: a pool has one type of accelerator"
    for entry in accelerators:
        if (entry.get("count") or 0) < 1:
            yield f"accelerators: {entry['type']}: count must be 1 or more"
        strategy, clients = entry.get("gpu_sharing_strategy"), entry.get("max_shared_clients_per_gpu")
        if (strategy is None) != (clients is None):
            yield "accelerators: gpu_sharing_strategy and max_shared_clients_per_gpu go together"
        elif clients is not None and not MIN_CLIENTS_PER_GPU <= clients <= MAX_CLIENTS_PER_GPU:
            yield f"max_shared_clients_per_gpu is {MIN_CLIENTS_PER_GPU} to {MAX_CLIENTS_PER_GPU}"


def _provisioning_problems(options: Options) -> Iterator[str]:
    affinity = take(options, "reservation.affinity")
    names = take(options, "reservation.names") or ()
    if options.get("spot") and options.get("flex_start"):
        yield "spot and flex_start exclude each other"
    if options.get("flex_start") and affinity not in (None, "none"):
        yield f"flex_start cannot use a reservation (reservation.affinity {affinity})"
    if options.get("spot") and affinity == "specific":
        yield "spot machines cannot use a specific reservation"
    if affinity == "specific" and not names:
        yield "reservation.affinity specific needs reservation.names"
    if names and affinity != "specific":
        yield "reservation.names needs reservation.affinity specific"


def _placement_problems(options: Options) -> Iterator[str]:
    placement = options.get("placement") or {}
    topology = placement.get("tpu_topology")
    if placement.get("type") and placement.get("policy_name"):
        yield "placement: type and policy_name exclude each other"
    if topology and not TOPOLOGY.fullmatch(topology):
        yield f"placement.tpu_topology {topology!r} is not a topology such as 2x4 or 4x4x4"
    network = options.get("network") or {}
    if network.get("accelerator_profile") and (network.get("node_networks") or network.get("pod_networks")):
        yield "network: accelerator_profile brings its own networks: no node_networks or pod_networks"


def _number_problems(options: Options) -> Iterator[str]:
    pods, disk = options.get("max_pods_per_node"), options.get("disk_size_gb")
    duration = options.get("max_run_duration_seconds")
    if pods is not None and not MIN_PODS_PER_NODE <= pods <= MAX_PODS_PER_NODE:
        yield f"max_pods_per_node is {MIN_PODS_PER_NODE} to {MAX_PODS_PER_NODE}"
    if disk is not None and disk < MIN_DISK_GB:
        yield f"disk_size_gb must be {MIN_DISK_GB} or more"
    if duration is not None and not 0 < duration <= MAX_RUN_SECONDS:
        yield f"max_run_duration_seconds is 1 to {MAX_RUN_SECONDS} (7 days)"
    upgrade = options.get("upgrade") or {}
    surge, unavailable = upgrade.get("max_surge"), upgrade.get("max_unavailable")
    if surge == 0 and unavailable == 0:
        yield "upgrade: max_surge and max_unavailable cannot both be 0"
    if (surge or 0) + (unavailable or 0) > MAX_UPGRADED_AT_ONCE:
        yield f"upgrade: max_surge and max_unavailable together are at most {MAX_UPGRADED_AT_ONCE}"
