# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where machines can be had: regions, zones, accelerators per zone, GKE versions per channel.

Regions, their zones and the accelerator families per zone follow Compute Engine's pages "GPU
locations" and "TPU regions and zones", with one addition that the lab makes on purpose: zones a, b
and c of us-central1 offer every accelerator, because commands of public guides name that region and
no zone, and at Google they depend on a reservation. us-central1-f offers little, so that "this zone
does not have it" can be seen there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .catalogue import MACHINE_TYPES, MachineType

REGIONS: Mapping[str, tuple[str, ...]] = {
    "us-central1": ("a", "b", "c", "f"),
    "us-east1": ("b", "c", "d"),
    "us-east4": ("a", "b", "c"),
    "us-east5": ("a", "b", "c"),
    "us-west1": ("a", "b", "c"),
    "us-west4": ("a", "b", "c"),
    "europe-west1": ("b", "c", "d"),
    "europe-west3": ("a", "b", "c"),
    "europe-west4": ("a", "b", "c"),
    "asia-east1": ("a", "b", "c"),
    "asia-northeast1": ("a", "b", "c"),
    "asia-southeast1": ("a", "b", "c"),
}

# GKE spreads a regional cluster over three zones unless told otherwise.
DEFAULT_ZONES = 3

GPU_MODELS: Mapping[str, tuple[str, int]] = {
    "nvidia-tesla-t4": ("NVIDIA T4", 4),
    "nvidia-l4": ("NVIDIA L4", 8),
    "nvidia-tesla-a100": ("NVIDIA A100 40GB", 16),
    "nvidia-a100-80gb": ("NVIDIA A100 80GB", 8),
    "nvidia-h100-80gb": ("NVIDIA H100 80GB", 8),
    "nvidia-h100-mega-80gb": ("NVIDIA H100 80GB MEGA", 8),
    "nvidia-h200-141gb": ("NVIDIA H200 141GB", 8),
    "nvidia-b200": ("NVIDIA B200 180GB", 8),
    "nvidia-gb200": ("NVIDIA GB200", 4),
    "nvidia-gb300": ("NVIDIA GB300", 4),
}
"""Description and most cards per machine, as ``acceleratorTypes`` reports them."""

TPU_MODELS: Mapping[str, tuple[str, int]] = {
    "ct5lp": ("TPU v5 Lite PodSlice", 8),
    "ct5p": ("TPU v5p", 4),
    "ct6e": ("TPU v6e Slice", 8),
    "tpu7x": ("TPU7x", 4),
}

MODELS: Mapping[str, tuple[str, int]] = {**GPU_MODELS, **TPU_MODELS}

# Accelerator types attached to N1 machines rather than built into a machine type.
ATTACHABLE = frozenset({"nvidia-tesla-t4"})

_EVERYTHING = tuple(MODELS)

OFFERED: Mapping[str, tuple[str, ...]] = {
    "us-central1-a": _EVERYTHING,
    "us-central1-b": _EVERYTHING,
    "us-central1-c": _EVERYTHING,
    "us-central1-f": ("nvidia-tesla-t4", "nvidia-tesla-a100"),
    "us-east1-b": ("nvidia-l4", "nvidia-tesla-a100"),
    "us-east1-c": ("nvidia-l4", "nvidia-tesla-t4", "ct5lp"),
    "us-east1-d": ("nvidia-l4", "nvidia-tesla-t4", "ct6e"),
    "us-east4-a": ("nvidia-l4", "nvidia-h100-80gb", "nvidia-h100-mega-80gb"),
    "us-east4-b": ("nvidia-h100-80gb", "nvidia-h100-mega-80gb", "nvidia-h200-141gb", "nvidia-b200"),
    "us-east4-c": ("nvidia-l4", "nvidia-a100-80gb"),
    "us-east5-a": ("nvidia-h100-80gb", "nvidia-h100-mega-80gb", "ct5p", "ct6e"),
    "us-east5-b": ("nvidia-a100-80gb", "ct6e"),
    "us-west1-a": ("nvidia-l4", "nvidia-tesla-t4", "nvidia-h100-80gb"),
    "us-west1-b": ("nvidia-l4", "nvidia-tesla-t4", "nvidia-tesla-a100"),
    "us-west1-c": ("nvidia-l4", "nvidia-h200-141gb", "ct5lp"),
    "us-west4-a": ("nvidia-l4", "nvidia-h100-80gb", "ct5lp"),
    "us-west4-b": ("nvidia-tesla-a100", "ct5lp"),
    "us-west4-c": ("nvidia-l4",),
    "europe-west1-b": ("nvidia-l4", "nvidia-tesla-t4", "nvidia-h100-80gb", "nvidia-h200-141gb"),
    "europe-west1-c": ("nvidia-l4", "nvidia-tesla-t4", "nvidia-h100-80gb"),
    "europe-west3-b": ("nvidia-l4", "nvidia-tesla-t4"),
    "europe-west4-a": ("nvidia-l4", "nvidia-tesla-t4", "nvidia-a100-80gb", "ct6e"),
    "europe-west4-b": ("nvidia-l4", "nvidia-tesla-a100", "nvidia-h100-80gb", "ct5lp", "ct5p"),
    "europe-west4-c": ("nvidia-l4", "nvidia-tesla-t4", "nvidia-h100-80gb"),
    "asia-east1-a": ("nvidia-l4", "nvidia-tesla-t4"),
    "asia-east1-c": ("nvidia-l4", "nvidia-tesla-t4"),
    "asia-northeast1-a": ("nvidia-l4", "nvidia-tesla-t4", "nvidia-tesla-a100"),
    "asia-northeast1-b": ("nvidia-l4", "nvidia-h100-80gb", "ct6e"),
    "asia-southeast1-b": ("nvidia-l4", "nvidia-tesla-t4", "nvidia-h100-80gb", "ct5lp"),
    "asia-southeast1-c": ("nvidia-l4", "nvidia-h100-80gb", "nvidia-a100-80gb"),
}

# 1.36.0-gke.100 is the version that the GPU/CPU fungibility guide asks for; 1.36.3 is what the lab's
# control plane really runs. The numbers behind "-gke." are the lab's own.
NEWEST_VERSION = "1.36.3-gke.1234000"
CHANNELS: Mapping[str, tuple[str, ...]] = {
    "RAPID": (NEWEST_VERSION, "1.36.0-gke.100", "1.35.6-gke.1091000"),
    "REGULAR": (NEWEST_VERSION, "1.36.0-gke.100", "1.35.6-gke.1091000", "1.34.9-gke.1050000"),
    "STABLE": ("1.35.6-gke.1091000", "1.34.9-gke.1050000"),
    "EXTENDED": (
        NEWEST_VERSION,
        "1.35.6-gke.1091000",
        "1.34.9-gke.1050000",
        "1.33.12-gke.1020000",
        "1.32.15-gke.1044000",
    ),
}
DEFAULT_CHANNEL = "REGULAR"


def zones(region: str) -> tuple[str, ...]:
    """Return the full zone names of a region, ``()`` for an unknown one."""
    return tuple(f"{region}-{letter}" for letter in REGIONS.get(region, ()))


def all_zones() -> Iterator[str]:
    for region in REGIONS:
        yield from zones(region)


def region_of(location: str) -> str:
    """Return the region a location (region or zone) lies in, ``""`` for an unknown one."""
    if location in REGIONS:
        return location
    region = location.rpartition("-")[0]
    return region if location in zones(region) else ""


def is_zone(location: str) -> bool:
    return bool(region_of(location)) and location not in REGIONS


def default_zones(location: str) -> list[str]:
    """Return the zones GKE uses for nodes of a cluster at ``location`` when none are named."""
    return [location] if is_zone(location) else list(zones(location)[:DEFAULT_ZONES])


def machine_types(zone: str) -> list[MachineType]:
    """Return what can be ordered in a zone: every CPU machine, and the accelerators it offers."""
    offered = OFFERED.get(zone, ())
    return [
        machine
        for machine in MACHINE_TYPES.values()
        if all(accelerator.type in offered for accelerator in machine.accelerators)
    ]


def versions() -> list[str]:
    """Return every version a control plane may have, newest first."""
    return sorted({v for offered in CHANNELS.values() for v in offered}, key=order, reverse=True)


def order(version: str) -> tuple[int, ...]:
    """Return a GKE version (``1.36.0-gke.100``) as numbers that sort."""
    core, _unused, patch = version.partition("-gke.")
    return (*map(int, core.split(".")), int(patch or 0))


def resolve_version(wanted: str, channel: str = "") -> str:
    """Return the full version for what a user may write: ``""``, ``-``, ``latest``, ``1.36``, full.

    ``""`` is returned where nothing fits. Source: ``Cluster.initial_cluster_version``.
    """
    offered = versions() if channel in ("", "UNSPECIFIED") else list(CHANNELS.get(channel, ()))
    if wanted in ("", "-"):
        return CHANNELS[channel if channel in CHANNELS else DEFAULT_CHANNEL][0]
    if wanted == "latest":
        return offered[0]
    for version in offered:
        if version == wanted or version.startswith((f"{wanted}.", f"{wanted}-gke.")):
            return version
    # A version of another channel may be named in full.
    return wanted if wanted in versions() else ""
