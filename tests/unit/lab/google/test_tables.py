# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables: machine types, places, quota metrics, faults."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.lab.errors import LabError
from ansible_collections.inference.dra.lab.faults import Faults
from ansible_collections.inference.dra.lab.google import catalogue, places, quota
from ansible_collections.inference.dra.lab.google.faults import KINDS, STOCKOUT_PATIENCE_SECONDS

MACHINES = {
    "g2-standard-8": (8, 32, "nvidia-l4", 1, "amd64"),
    "g2-standard-48": (48, 192, "nvidia-l4", 4, "amd64"),
    "n2-standard-16": (16, 64, "", 0, "amd64"),
    "e2-medium": (2, 4, "", 0, "amd64"),
    "a3-highgpu-8g": (208, 1872, "nvidia-h100-80gb", 8, "amd64"),
    "a3-ultragpu-8g": (224, 2952, "nvidia-h200-141gb", 8, "amd64"),
    "a4x-highgpu-4g": (140, 884, "nvidia-gb200", 4, "arm64"),
    "ct6e-standard-4t": (180, 720, "ct6e", 4, "amd64"),
    "c4a-standard-16": (16, 64, "", 0, "arm64"),
    "n1-standard-4": (4, 15, "", 0, "amd64"),
}


@pytest.mark.parametrize(("name", "expected"), MACHINES.items(), ids=MACHINES.keys())
def test_machine_type(name, expected):
    machine = catalogue.machine_type(name)
    built_in = machine.accelerators[0] if machine.accelerators else catalogue.Accelerator("", 0)
    gib = machine.memory_mib // 1024
    assert (machine.cpus, gib, built_in.type, built_in.count, machine.architecture) == expected


def test_unknown_machine_type():
    with pytest.raises(catalogue.UnknownMachineType, match="g9-standard-8"):
        catalogue.machine_type("g9-standard-8")


def test_tables_fit_together():
    zones = set(places.all_zones())
    assert set(places.OFFERED) <= zones
    assert {name for names in places.OFFERED.values() for name in names} <= set(places.MODELS)
    built_in = {a.type for m in catalogue.MACHINE_TYPES.values() for a in m.accelerators}
    assert built_in <= set(places.MODELS)
    for machine in catalogue.MACHINE_TYPES.values():
        for accelerator in machine.accelerators:
            assert accelerator.count <= places.MODELS[accelerator.type][1]


@pytest.mark.parametrize(
    ("location", "region", "zone"),
    [
        ("us-central1", "us-central1", False),
        ("us-central1-f", "us-central1", True),
        ("us-central1-z", "", False),
        ("mars1", "", False),
    ],
)
def test_places(location, region, zone):
    assert places.region_of(location) == region
    assert places.is_zone(location) is zone


USAGE = {
    "spot-l4": ("g2-standard-8", True, {"PREEMPTIBLE_NVIDIA_L4_GPUS": 1, "GPUS_ALL_REGIONS": 1}),
    "l4": ("g2-standard-48", False, {"NVIDIA_L4_GPUS": 4, "GPUS_ALL_REGIONS": 4}),
    "n2": ("n2-standard-16", False, {"N2_CPUS": 16}),
    "spot-n2": ("n2-standard-16", True, {"PREEMPTIBLE_CPUS": 16}),
    "e2": ("e2-medium", False, {"CPUS": 2}),
    "h200-has-no-metric": ("a3-ultragpu-8g", True, {"GPUS_ALL_REGIONS": 8}),
    "tpu": ("ct6e-standard-4t", False, {}),
}


@pytest.mark.parametrize(("name", "spot", "expected"), USAGE.values(), ids=USAGE.keys())
def test_quota_usage_of_a_node(name, spot, expected):
    machine = catalogue.machine_type(name)
    usage = dict(quota.node_usage(machine, (), spot=spot, disk_gb=100))
    for always in ("IN_USE_ADDRESSES", "SSD_TOTAL_GB", "CPUS_ALL_REGIONS"):
        del usage[always]
    assert usage == expected


def known(*kept):
    faults = Faults(kept)
    faults.offer(*KINDS)
    return faults


def test_faults_are_listed_counted_and_cleared():
    faults = known()
    first = faults.set("stockout", pool="gpu-pool", remaining=1)
    second = faults.set("http-error", code="429", method="container.")
    assert faults.list() == [
        {
            "id": first,
            "kind": "stockout",
            "parameters": {"pool": "gpu-pool", "after": STOCKOUT_PATIENCE_SECONDS},
            "remaining": 1,
            "hits": 0,
        },
        {
            "id": second,
            "kind": "http-error",
            "parameters": {"code": 429, "message": "", "method": "container."},
            "remaining": None,
            "hits": 0,
        },
    ]
    assert faults.take("stockout", pool="cpu-pool") is None
    assert faults.take("stockout", pool="gpu-pool").id == first
    assert faults.take("stockout", pool="gpu-pool") is None
    assert faults.peek("http-error", method="container.projects.locations.clusters.get")
    assert faults.peek("http-error", method="compute.regions.get") is None
    assert faults.clear("http-error") == 1
    assert faults.clear("none") == 0
    assert faults.clear() == 1


def test_faults_restore_without_reusing_ids():
    faults = known()
    first = faults.set("stockout")
    again = known(*faults.list())
    assert again.list() == faults.list()
    assert again.set("stockout") != first


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        pytest.param("meteor", {}, "choose one of http-error, http-slow", id="kind"),
        pytest.param("stockout", {"colour": "red"}, "it takes cluster, pool", id="parameter"),
        pytest.param("http-error", {"code": "many"}, "code is 'many', expected int", id="type"),
    ],
)
def test_wrong_faults_say_what_is_right(kind, parameters, message):
    with pytest.raises(LabError, match=message):
        known().set(kind, **parameters)
