# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What containers of a claim get, which devices are the driver's, which faults are ordered."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.lab.standin_driver.claims import (
    Allocated,
    CannotPrepare,
    allocated,
    cdi_spec,
    choose_cpus,
    cpu_edits,
    cpu_list,
    gpu_edits,
)
from ansible_collections.inference.dra.lab.standin_driver.driver import cpus_of_machine, holds
from ansible_collections.inference.dra.lab.standin_driver.faults import Fault, fault_of
from ansible_collections.inference.dra.lab.standin_driver.prepared import Prepared, cpus_of_list

GATE = "image-configurator.x-k8s.io"


def claim(*results):
    return {"status": {"allocation": {"devices": {"results": list(results)}}}}


GPU = {"driver": "gpu.nvidia.com", "request": "device/gpu", "pool": "n1", "device": "gpu-0"}
CPU = {
    "driver": "dra.cpu",
    "request": "device/cpu",
    "pool": "n1",
    "device": "cpudevnuma000",
    "shareID": "s-1",
    "consumedCapacity": {"dra.cpu/cpu": "12"},
}
GATING = {"driver": GATE, "request": "image-config", "pool": "all-nodes", "device": "image-configurator"}


@pytest.mark.parametrize(
    ("driver", "pool", "found"),
    [
        pytest.param("gpu.nvidia.com", "n1", [Allocated("device/gpu", "n1", "gpu-0")], id="gpu"),
        pytest.param(
            "dra.cpu", "n1", [Allocated("device/cpu", "n1", "cpudevnuma000", "s-1", 12)], id="cpu-share"
        ),
        pytest.param(GATE, "", [Allocated("image-config", "all-nodes", "image-configurator")], id="gate"),
        pytest.param("dra.net", "n1", [], id="nothing-of-this-driver"),
    ],
)
def test_a_driver_prepares_its_own_devices_only(driver, pool, found):
    assert allocated(claim(GPU, CPU, GATING), driver, pool) == found


def test_a_device_of_another_node_is_refused():
    with pytest.raises(CannotPrepare, match="is in pool n1, not in n2"):
        allocated(claim(GPU), "gpu.nvidia.com", "n2")


def test_a_claim_without_allocation_has_nothing_to_prepare():
    assert allocated({"status": {}}, "gpu.nvidia.com", "n1") == []


def test_a_gpu_container_sees_device_nodes_as_the_real_driver_makes_them():
    node = {"metadata": {"labels": {"cloud.google.com/gke-accelerator": "nvidia-l4"}}}
    found = gpu_edits([Allocated("r", "n1", "gpu-3"), Allocated("r", "n1", "gpu-1")], node)
    assert [(each["path"], each["minor"]) for each in found["deviceNodes"]] == [
        ("/dev/nvidiactl", 255),
        ("/dev/nvidia1", 1),
        ("/dev/nvidia3", 3),
    ]
    assert {each["major"] for each in found["deviceNodes"]} == {195}
    assert "NVIDIA_VISIBLE_DEVICES=void" in found["env"]
    assert "STANDIN_ACCELERATOR=nvidia-l4" in found["env"]


def test_a_cpu_container_learns_its_cpus_from_the_variable_of_the_real_driver():
    assert cpu_edits("1234-uid", [0, 1, 2, 8]) == {"env": ["DRA_CPUSET_1234-uid=0-2,8"]}


def test_the_cdi_specification_names_the_claim():
    spec = cdi_spec("dra.cpu", "1234-uid", {"env": ["A=b"]})
    assert spec["kind"] == "k8s.dra.cpu/claim"
    assert spec["devices"] == [{"name": "1234-uid", "containerEdits": {"env": ["A=b"]}}]


@pytest.mark.parametrize(
    ("cpus", "text"), [([], ""), ([5], "5"), ([3, 1, 2], "1-3"), ([0, 1, 4, 6, 7], "0-1,4,6-7")]
)
def test_cpu_lists(cpus, text):
    assert cpu_list(cpus) == text
    assert cpus_of_list(text) == set(cpus)


def test_claims_on_one_node_get_different_cpus():
    assert choose_cpus(range(16), {0, 1, 2}, 4) == [3, 4, 5, 6]


def test_more_cpus_than_are_free_are_refused():
    with pytest.raises(CannotPrepare, match="12 CPUs were allocated, 4 are free"):
        choose_cpus(range(16), range(12), 12)


def test_what_is_prepared_is_remembered_on_disk_alone(tmp_path):
    first, again = Prepared(tmp_path / "cdi", "dra.cpu"), Prepared(tmp_path / "cdi", "dra.cpu")
    first.write("a", cdi_spec("dra.cpu", "a", cpu_edits("a", range(12))))
    assert again.has("a")
    assert again.taken_cpus() == set(range(12))
    assert again.device_id("a") == "k8s.dra.cpu/claim=a"
    again.remove("a")
    again.remove("a")
    assert first.taken_cpus() == set()


def test_drivers_on_one_node_do_not_mix_what_they_prepared(tmp_path):
    Prepared(tmp_path, "dra.cpu").write("a", cdi_spec("dra.cpu", "a", cpu_edits("a", [1])))
    assert not Prepared(tmp_path, "gpu.nvidia.com").has("a")


@pytest.mark.parametrize(
    ("annotation", "fault"),
    [
        (None, Fault()),
        ("", Fault()),
        ("refuse", Fault(refuse=True)),
        ("crash", Fault(crash=True)),
        ("half-pool", Fault(half_pool=True)),
        ("delay=2.5", Fault(delay_seconds=2.5)),
        ("delay=soon", Fault()),
        ("delay=3,refuse", Fault(refuse=True, delay_seconds=3.0)),
        ("nonsense", Fault()),
    ],
)
def test_faults_are_ordered_by_an_annotation(annotation, fault):
    annotations = {} if annotation is None else {"lab.inference.dra/fault.dra.cpu": annotation}
    node = {"metadata": {"annotations": annotations}}
    assert fault_of(node, "dra.cpu") == fault
    assert fault_of(node, "gpu.nvidia.com") == Fault()


@pytest.mark.parametrize(
    ("labels", "cpus"),
    [
        ({"node.kubernetes.io/instance-type": "n2-standard-16"}, 16),
        ({}, 2),
        ({"node.kubernetes.io/instance-type": "x"}, 2),
    ],
)
def test_a_node_has_the_cpus_of_the_machine_it_claims_to_be(labels, cpus):
    node = {"metadata": {"labels": labels}, "status": {"capacity": {"cpu": "2"}}}
    assert cpus_of_machine(node) == cpus


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        ({"a": 1}, {"a": 1, "defaulted": 2}, True),
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 2, "d": 3}]}}, True),
        ({"a": [1, 2]}, {"a": [1]}, False),
        ({"a": 1}, {}, False),
        ({"a": "1"}, {"a": 1}, False),
    ],
)
def test_a_slice_is_the_wanted_one_whatever_the_api_server_added(wanted, found, same):
    assert holds(wanted, found) is same
