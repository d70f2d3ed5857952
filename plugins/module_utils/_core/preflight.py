# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judgements on a plan before money is spent: contradictions in it, and what the project can give.

What was read from Google comes in as plain values; nothing here asks for anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .fields import Options, take
from .verdict import Verdict
from .versions import VersionNotOffered, newer, parts, resolve

COMPUTE_CLASS = "cloud.google.com/compute-class"
DEVICE_PLUGIN_OFF = "gke-no-default-nvidia-gpu-device-plugin"
GPU_DRIVER_LABEL = "cloud.google.com/gke-nvidia-gpu-dra-driver"
NEEDED_SERVICES = (
    "container.googleapis.com",
    "compute.googleapis.com",
    "artifactregistry.googleapis.com",
)


def service_verdicts(states: Mapping[str, str], project: str) -> list[Verdict]:
    """Return one verdict per API; ``states`` is Service Usage's ``state`` by service."""
    verdicts = []
    for service, state in states.items():
        subject = f"Service {project}/{service}"
        if state == "ENABLED":
            verdicts.append(Verdict("ok", "ApiEnabled", subject, observed="enabled"))
        elif state:
            verdicts.append(
                Verdict(
                    "error",
                    "ApiNotEnabled",
                    subject,
                    observed=state.lower(),
                    expected="enabled",
                    advice="enable it: preflight_services of the role preflight names what it may enable, "
                    "google.cloud.gcp_serviceusage_service and the console do it too",
                )
            )
    return verdicts


def version_verdict(
    wanted: str | None, minimum: str, channel: str, server: Mapping[str, Any], location: str
) -> Verdict:
    """Return whether a cluster of the wanted version can be had, and whether it is new enough."""
    subject = f"Location {location}"
    try:
        version = resolve(wanted or "-", channel, server, location)
    except VersionNotOffered as problem:
        return Verdict(
            "error",
            "VersionNotOffered",
            subject,
            observed=str(problem),
            advice="choose a version that is offered, or a shorter one such as 1.36",
        )
    if not version or parts(version)[: len(parts(minimum))] < parts(minimum):
        return Verdict(
            "error",
            "VersionTooOld",
            subject,
            observed=f"version {wanted or 'by default'} would be {version or 'unknown'}",
            expected=f"{minimum} or newer",
            advice="state a version, or another release channel",
        )
    return Verdict("ok", "VersionOffered", subject, observed=version, expected=f"{minimum} or newer")


def offer_verdicts(
    pools: Iterable[Options],
    zones: Iterable[str],
    machines: Mapping[str, Mapping[str, Any]],
    accelerators: Mapping[str, Mapping[str, int]],
) -> list[Verdict]:
    """Return whether each pool's zones offer its machine and accelerator.

    Offered is not available: no API tells in advance whether spot machines are there.

    :param zones: zones of the cluster, for pools that state none.
    :param machines: per zone, what Compute Engine says of the machine types that the plan names.
    :param accelerators: per zone, the largest number of cards per machine, by type.
    """
    verdicts = []
    cluster_zones = list(zones)
    for pool in pools:
        subject = f"NodePool {pool['name']}"
        places = pool.get("locations") or cluster_zones
        machine = pool.get("machine_type")
        without = [zone for zone in places if machine and machine not in machines.get(zone, {})]
        if without:
            others = [zone for zone in sorted(machines) if machine in machines[zone]]
            verdicts.append(
                Verdict(
                    "error",
                    "MachineTypeNotOffered",
                    subject,
                    observed=f"{machine} is not offered in {', '.join(without)}",
                    expected=f"zones such as {', '.join(others)}" if others else "another region",
                    advice="state locations that offer it, or another machine type",
                )
            )
        for accelerator in pool.get("accelerators") or ():
            verdicts += _accelerator_verdicts(subject, accelerator, places, accelerators)
    return verdicts


def _accelerator_verdicts(
    subject: str,
    accelerator: Mapping[str, Any],
    places: Iterable[str],
    accelerators: Mapping[str, Mapping[str, int]],
) -> Iterator[Verdict]:
    kind, count = accelerator["type"], accelerator.get("count") or 1
    without = [zone for zone in places if kind not in accelerators.get(zone, {})]
    too_many = [zone for zone in places if zone not in without and count > accelerators[zone][kind]]
    if without:
        others = [zone for zone in sorted(accelerators) if kind in accelerators[zone]]
        yield Verdict(
            "error",
            "AcceleratorNotOffered",
            subject,
            observed=f"{kind} is not offered in {', '.join(without)}",
            expected=f"zones such as {', '.join(others)}" if others else "another region",
            advice="state locations that offer it, or another accelerator",
        )
    if too_many:
        most = min(accelerators[zone][kind] for zone in too_many)
        yield Verdict(
            "error",
            "AcceleratorNotOffered",
            subject,
            observed=f"{count} {kind} per machine",
            expected=f"at most {most}",
            advice="lower the count",
        )


def cluster_verdicts(
    live: Mapping[str, Any] | None, name: str, pools: Iterable[Options], minimum: str
) -> list[Verdict]:
    """Return whether an existing cluster can take the plan; nothing where there is none yet."""
    if live is None:
        return []
    subject = f"Cluster {name}"
    verdicts = []
    if take(live, "autopilot.enabled"):
        verdicts.append(
            Verdict(
                "error",
                "ClusterIncompatible",
                subject,
                observed="it is an Autopilot cluster",
                expected="a Standard cluster",
                advice="use another cluster: Autopilot has no node pools of one's own, and no DRA for GPUs",
            )
        )
    version = live.get("currentMasterVersion", "")
    if version and not newer(version, minimum) and parts(version)[: len(parts(minimum))] < parts(minimum):
        verdicts.append(
            Verdict(
                "error",
                "VersionTooOld",
                subject,
                observed=f"version {version}",
                expected=f"{minimum} or newer",
                advice="upgrade the control plane, then the nodes",
            )
        )
    profiled = [pool["name"] for pool in pools if take(pool, "network.accelerator_profile")]
    if profiled and take(live, "networkConfig.datapathProvider") != "ADVANCED_DATAPATH":
        verdicts.append(
            Verdict(
                "error",
                "ClusterIncompatible",
                subject,
                observed="it has no Dataplane V2",
                expected=f"Dataplane V2, which the network profile of {', '.join(profiled)} needs",
                advice="create a cluster with dataplane_v2, or name the networks of the pool one by one",
            )
        )
    return verdicts or [Verdict("ok", "ClusterCompatible", subject, observed=f"version {version}")]


def new_cluster_verdicts(options: Options, pools: Iterable[Options]) -> list[Verdict]:
    """Return what a cluster that is still to be made lacks for its pools."""
    profiled = [pool["name"] for pool in pools if take(pool, "network.accelerator_profile")]
    if not profiled or options.get("dataplane_v2"):
        return []
    return [
        Verdict(
            "error",
            "ClusterIncompatible",
            f"Cluster {options.get('name') or ''}".strip(),
            observed="dataplane_v2 is not stated",
            expected=f"dataplane_v2, which the network profile of {', '.join(profiled)} needs",
            advice="state it: it is fixed at creation",
        )
    ]


def network_verdict(network: str, *, exists: bool) -> Verdict:
    """Return whether the cluster's network is there."""
    subject = f"Network {network}"
    if exists:
        return Verdict("ok", "NetworkFound", subject, observed="it exists")
    return Verdict(
        "error",
        "NetworkMissing",
        subject,
        observed="there is no such network",
        advice="create it, or state another one",
    )


def pool_contradictions(pools: Iterable[Options]) -> list[Verdict]:
    """Return where labels, taints and driver settings of a pool contradict each other."""
    verdicts = []
    for pool in pools:
        verdicts += [*_compute_class_contradictions(pool), *_driver_contradictions(pool)]
    return verdicts


def _compute_class_contradictions(pool: Options) -> Iterator[Verdict]:
    label = (pool.get("labels") or {}).get(COMPUTE_CLASS)
    taints = {taint.get("value", "") for taint in pool.get("taints") or () if taint["key"] == COMPUTE_CLASS}
    if (label is None and not taints) or taints == {label}:
        return
    yield Verdict(
        "error",
        "ComputeClassMismatch",
        f"NodePool {pool['name']}",
        observed=f"label {COMPUTE_CLASS}: {label or 'none'}; taint: {', '.join(sorted(taints)) or 'none'}",
        expected="label and taint of one value",
        advice="state both: a pool with only one of them is passed over by its compute class",
    )


def _driver_contradictions(pool: Options) -> Iterator[Verdict]:
    labels = pool.get("labels") or {}
    if labels.get(GPU_DRIVER_LABEL) != "true":
        return
    if labels.get(DEVICE_PLUGIN_OFF) != "true":
        yield Verdict(
            "error",
            "DevicePluginActive",
            f"NodePool {pool['name']}",
            observed=f"no label {DEVICE_PLUGIN_OFF}=true beside the DRA driver",
            expected=f"{DEVICE_PLUGIN_OFF}=true",
            advice="add it: else device plugin and DRA driver both give out the same GPUs",
        )
    for accelerator in pool.get("accelerators") or ():
        if accelerator.get("gpu_driver_version") != "disabled":
            yield Verdict(
                "warning",
                "DriverInstalledByGke",
                f"NodePool {pool['name']}",
                observed=f"gpu_driver_version {accelerator.get('gpu_driver_version') or 'not stated'}",
                expected="disabled",
                advice="GPU DRA on GKE expects the driver of the installer DaemonSet",
            )


def compute_class_verdicts(compute_class: Mapping[str, Any], pools: Iterable[Options]) -> list[Verdict]:
    """Return where a ComputeClass and the pools do not fit.

    :param compute_class: the ComputeClass object.
    """
    by_name = {pool["name"]: pool for pool in pools}
    name = take(compute_class, "metadata.name") or ""
    subject = f"ComputeClass {name}"
    verdicts: list[Verdict] = []
    for rule in take(compute_class, "spec.priorities") or ():
        for pool in rule.get("nodepools") or ():
            verdicts += _rule_verdicts(subject, name, pool, by_name)
    if not take(compute_class, "spec.whenUnsatisfiable"):
        verdicts.append(
            Verdict(
                "warning",
                "ComputeClassMismatch",
                subject,
                observed="whenUnsatisfiable is not stated, and its default differs between GKE versions",
                expected="DoNotScaleUp or ScaleUpAnyway",
                advice="state it",
            )
        )
    return verdicts


def _rule_verdicts(
    subject: str, name: str, pool_name: str, by_name: Mapping[str, Options]
) -> Iterator[Verdict]:
    pool = by_name.get(pool_name)
    if pool is None:
        yield Verdict(
            "error",
            "NodePoolUnknown",
            subject,
            observed=f"a rule names node pool {pool_name}, which the plan does not have",
            expected=", ".join(by_name),
            advice="correct the name, or add the pool",
        )
        return
    label = (pool.get("labels") or {}).get(COMPUTE_CLASS)
    if label != name:
        yield Verdict(
            "error",
            "ComputeClassMismatch",
            subject,
            observed=f"node pool {pool_name} has label {COMPUTE_CLASS}: {label or 'none'}",
            expected=f"{COMPUTE_CLASS}: {name}, as label and as taint",
            advice="state both on the pool",
        )
    if not take(pool, "autoscaling.enabled"):
        yield Verdict(
            "error",
            "ComputeClassMismatch",
            subject,
            observed=f"node pool {pool_name} has no autoscaling",
            expected="autoscaling",
            advice="state autoscaling: the class reports NodePoolNotExist for such a pool",
        )
