# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine as GKE would register it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from ansible_collections.inference.dra.lab.google.catalogue import machine_type
from ansible_collections.inference.dra.lab.hardware import machines

ZONE = "us-central1-a"


@dataclass
class Pool:
    message: dict
    cluster: str = "gpu-cpu-fungibility"
    name: str = "gpu-pool"
    sizes: dict = field(default_factory=lambda: {ZONE: 1})
    revision: int = 1


def gpu_pool(driver="INSTALLATION_DISABLED", **config):
    accelerator = {
        "acceleratorType": "nvidia-l4",
        "acceleratorCount": "1",
        "gpuDriverInstallationConfig": {"gpuDriverVersion": driver},
    }
    return Pool({"config": {"machineType": "g2-standard-8", "accelerators": [accelerator], **config}})


def cpu_pool(**config):
    return Pool({"config": {"machineType": "n2-standard-16", **config}}, name="cpu-pool")


def node(pool):
    return machines.node_object(machines.machine(pool, ZONE, "node-1"))


def test_name_has_the_form_of_gke_and_is_not_taken():
    pool = gpu_pool()
    first = machines.new_name(pool, ZONE, set(), random.Random(1))
    assert first.startswith("gke-gpu-cpu-fungibility-gpu-pool-")
    digest, suffix = first.rsplit("-", 2)[1:]
    assert (len(digest), len(suffix)) == (8, 4)
    assert machines.new_name(pool, ZONE, {first}, random.Random(1)) != first


@pytest.mark.parametrize("cluster", ["c", "a-very-long-cluster-name-of-forty-letters"], ids=["short", "long"])
def test_name_fits_a_label(cluster):
    pool = Pool({}, cluster=cluster, name="a-pool-whose-name-takes-all-40-characters")
    assert len(machines.new_name(pool, ZONE, (), random.Random(0))) <= 63


def test_zones_of_one_pool_are_different_groups():
    assert machines.group_name(gpu_pool(), ZONE) != machines.group_name(gpu_pool(), "us-central1-b")


@pytest.mark.parametrize(
    ("pool", "wanted", "absent"),
    [
        pytest.param(
            gpu_pool(spot=True),
            {
                "cloud.google.com/gke-accelerator": "nvidia-l4",
                "cloud.google.com/gke-nodepool": "gpu-pool",
                "cloud.google.com/gke-provisioning": "spot",
                "cloud.google.com/gke-spot": "true",
                "node.kubernetes.io/instance-type": "g2-standard-8",
                "topology.kubernetes.io/region": "us-central1",
                "topology.kubernetes.io/zone": ZONE,
            },
            ["cloud.google.com/gke-gpu-driver-version"],
            id="spot-gpu-without-driver",
        ),
        pytest.param(
            gpu_pool(driver="LATEST"),
            {
                "cloud.google.com/gke-gpu-driver-version": "latest",
                "cloud.google.com/gke-provisioning": "standard",
            },
            ["cloud.google.com/gke-spot"],
            id="gpu-with-managed-driver",
        ),
        pytest.param(
            cpu_pool(labels={"team": "a", "cloud.google.com/gke-nodepool": "forged"}),
            {"team": "a", "cloud.google.com/gke-nodepool": "cpu-pool"},
            ["cloud.google.com/gke-accelerator"],
            id="own-labels-never-replace-gkes",
        ),
    ],
)
def test_labels(pool, wanted, absent):
    labels = node(pool)["metadata"]["labels"]
    assert {key: labels.get(key) for key in wanted} == wanted
    assert not [key for key in absent if key in labels]


@pytest.mark.parametrize(
    ("pool", "wanted"),
    [
        pytest.param(gpu_pool(), [("nvidia.com/gpu", "present", "NoSchedule")], id="gpu-taint"),
        pytest.param(
            gpu_pool(
                taints=[
                    {"key": "cloud.google.com/compute-class", "value": "c", "effect": "NO_SCHEDULE"},
                    {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
                ]
            ),
            [
                ("cloud.google.com/compute-class", "c", "NoSchedule"),
                ("nvidia.com/gpu", "present", "NoSchedule"),
            ],
            id="gpu-taint-once-beside-the-class",
        ),
        pytest.param(cpu_pool(spot=True), [], id="spot-has-no-taint"),
    ],
)
def test_taints(pool, wanted):
    found = [(taint["key"], taint["value"], taint["effect"]) for taint in node(pool)["spec"]["taints"]]
    assert sorted(found) == wanted


# GKE documentation, "Plan GKE Standard node sizes": worked numbers of its formula.
@pytest.mark.parametrize(
    ("name", "millicpu", "mib"),
    [
        ("n2-standard-2", 1930, 8192 - 1024 - 819.2 - 100),
        ("e2-standard-4", 3920, 16384 - 1024 - 819.2 - 819.2 - 100),
        ("n2-standard-16", 15890, 65536 - 1024 - 819.2 - 819.2 - 2949.12 - 100),
    ],
)
def test_allocatable(name, millicpu, mib):
    made_of = machine_type(name)
    assert machines.allocatable(made_of)["cpu"] == f"{millicpu}m"
    assert machines.allocatable_mib(made_of.memory_mib) == pytest.approx(mib)


def test_capacity_is_what_the_machine_type_says():
    assert node(cpu_pool())["status"]["capacity"]["cpu"] == "16"
    assert node(cpu_pool())["status"]["capacity"]["memory"] == f"{64 * 1024 * 1024}Ki"


def test_a_pool_that_has_not_changed_changes_nothing():
    made = machines.machine(gpu_pool(labels={"a": "1"}), ZONE, "n")
    assert machines.pool_change(machines.node_object(made), made) is None


def test_changed_labels_and_taints_replace_the_pools_and_leave_others():
    taint = {"key": "old", "value": "", "effect": "NO_SCHEDULE"}
    before = machines.node_object(
        machines.machine(cpu_pool(labels={"a": "1", "b": "1"}, taints=[taint]), ZONE, "n")
    )
    other = {"key": "DeletionCandidateOfClusterAutoscaler", "effect": "PreferNoSchedule"}
    before["spec"]["taints"].append(other)
    patch = machines.pool_change(before, machines.machine(cpu_pool(labels={"b": "2"}), ZONE, "n"))
    assert patch["metadata"]["labels"]["a"] is None
    assert patch["metadata"]["labels"]["b"] == "2"
    assert patch["spec"]["taints"] == [other]
