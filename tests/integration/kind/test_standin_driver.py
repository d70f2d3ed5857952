# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in driver on a real API server: what it publishes, what it prepares, how it fails on order."""

from __future__ import annotations

import json

import pytest

from ansible_collections.inference.dra.lab.standin_driver import protocol
from ansible_collections.inference.dra.lab.standin_driver.driver import Driver
from ansible_collections.inference.dra.lab.standin_driver.prepared import Prepared
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import CLAIMS, NODES, SLICES

pytestmark = pytest.mark.lab
FAULT = "lab.inference.dra/fault."


@pytest.fixture
def node(api, namespace):
    """A CPU node with one GPU, named after the test's namespace."""
    labels = {
        "node.kubernetes.io/instance-type": "n2-standard-16",
        "cloud.google.com/gke-accelerator": "nvidia-l4",
        "cloud.google.com/gke-accelerator-count": "1",
    }
    api.create(NODES, {"metadata": {"name": namespace, "labels": labels}})
    yield namespace
    api.delete(NODES, namespace)


@pytest.fixture
def driver(api, node, tmp_path):
    def make(name, **more):
        return Driver(name, node, api, Prepared(tmp_path / "cdi", name), SystemClock(), **more)

    return make


def published(api, name, node):
    return [*api.list(SLICES, field_selector=f"spec.driver={name},spec.nodeName={node}")]


def allocated_claim(api, namespace, node, name="c", *, driver="dra.cpu", device="cpudevnuma000", **result):
    """Make a claim as the scheduler leaves it."""
    request = {"name": "device", "exactly": {"deviceClassName": driver}}
    api.create(CLAIMS, {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}}, namespace)
    found = {"request": "device", "driver": driver, "pool": node, "device": device, **result}
    status = {"status": {"allocation": {"devices": {"results": [found]}}}}
    return api.merge_patch(CLAIMS, name, status, namespace, subresource="status")


def ask(driver, *claims):
    request = protocol.message(protocol.DRA, "NodePrepareResourcesRequest")(
        claims=[
            {
                "namespace": each["metadata"]["namespace"],
                "uid": each["metadata"]["uid"],
                "name": each["metadata"]["name"],
            }
            for each in claims
        ]
    )
    return driver.prepare(request, None).claims, request


def test_slices_have_the_shape_of_the_real_drivers_and_stay_as_they_are(api, driver, node):
    for name, device in (("gpu.nvidia.com", "gpu-0"), ("dra.cpu", "cpudevnuma000")):
        driver(name).publish()
        first = published(api, name, node)
        assert [each["spec"]["devices"][0]["name"] for each in first] == [device]
        driver(name).publish()
        again = published(api, name, node)
        assert [each["metadata"]["uid"] for each in again] == [each["metadata"]["uid"] for each in first]


def test_the_cpus_are_those_of_the_machine_type_whatever_the_node_has(api, driver, node):
    driver("dra.cpu").publish()
    device = published(api, "dra.cpu", node)[0]["spec"]["devices"][0]
    assert device["capacity"]["dra.cpu/cpu"]["value"] == "16"


def test_half_a_pool_is_published_on_order_and_the_whole_one_afterwards(api, driver, node):
    name = "dra.cpu"
    api.merge_patch(NODES, node, {"metadata": {"annotations": {f"{FAULT}{name}": "half-pool"}}})
    driver(name).publish()
    half = published(api, name, node)
    assert {each["spec"]["pool"]["resourceSliceCount"] for each in half} == {2}
    assert len(half) == 1
    api.merge_patch(NODES, node, {"metadata": {"annotations": {f"{FAULT}{name}": None}}})
    driver(name).publish()
    assert [each["spec"]["pool"]["resourceSliceCount"] for each in published(api, name, node)] == [1]


def test_a_driver_that_the_table_does_not_know_publishes_nothing(api, driver, node):
    driver("image-configurator.x-k8s.io").publish()
    assert published(api, "image-configurator.x-k8s.io", node) == []


def test_two_claims_get_cpus_of_their_own_and_a_repeated_request_the_same(
    api, driver, node, namespace, tmp_path
):
    one = allocated_claim(
        api,
        namespace,
        node,
        "one",
        consumedCapacity={"dra.cpu/cpu": "12"},
        shareID="8f3b4a3e-7c39-4f3c-8f61-0d7f1ad8a111",
    )
    two = allocated_claim(
        api,
        namespace,
        node,
        "two",
        consumedCapacity={"dra.cpu/cpu": "4"},
        shareID="8f3b4a3e-7c39-4f3c-8f61-0d7f1ad8a222",
    )
    answer, _request = ask(driver("dra.cpu"), one, two)
    assert [each.error for each in answer.values()] == ["", ""]
    given = answer[one["metadata"]["uid"]].devices[0]
    assert (given.request_names[0], given.device_name, given.share_id) == (
        "device",
        "cpudevnuma000",
        "8f3b4a3e-7c39-4f3c-8f61-0d7f1ad8a111",
    )
    environments = [json.loads(path.read_text()) for path in sorted((tmp_path / "cdi").glob("*.json"))]
    found = {each["devices"][0]["containerEdits"]["env"][0].partition("=")[2] for each in environments}
    assert found == {"0-11", "12-15"}
    ask(driver("dra.cpu"), one)
    assert len(list((tmp_path / "cdi").glob("*.json"))) == 2


def test_more_cpus_than_are_left_are_an_error_of_that_claim_alone(api, driver, node, namespace):
    one = allocated_claim(api, namespace, node, "one", consumedCapacity={"dra.cpu/cpu": "12"})
    two = allocated_claim(api, namespace, node, "two", consumedCapacity={"dra.cpu/cpu": "12"})
    answer, _request = ask(driver("dra.cpu"), one, two)
    assert answer[one["metadata"]["uid"]].error == ""
    assert "4 are free" in answer[two["metadata"]["uid"]].error


def test_released_cpus_are_free_again(api, driver, node, namespace, tmp_path):
    one = allocated_claim(api, namespace, node, consumedCapacity={"dra.cpu/cpu": "12"})
    _answer, request = ask(driver("dra.cpu"), one)
    driver("dra.cpu").unprepare(request, None)
    driver("dra.cpu").unprepare(request, None)
    assert list((tmp_path / "cdi").iterdir()) == []


def test_a_claim_made_anew_under_the_same_name_is_refused(api, driver, node, namespace):
    one = allocated_claim(api, namespace, node, consumedCapacity={"dra.cpu/cpu": "1"})
    one["metadata"]["uid"] = "another"
    answer, _request = ask(driver("dra.cpu"), one)
    assert "another claim now" in answer["another"].error


@pytest.mark.parametrize("fault", ["refuse", "crash"])
def test_faults_on_order(api, driver, node, namespace, fault):
    one = allocated_claim(api, namespace, node, consumedCapacity={"dra.cpu/cpu": "1"})
    api.merge_patch(NODES, node, {"metadata": {"annotations": {f"{FAULT}dra.cpu": fault}}})
    left = []
    answer, _request = ask(driver("dra.cpu", leave=left.append), one)
    if fault == "crash":
        assert left == [1]
    else:
        assert "refused, as ordered" in answer[one["metadata"]["uid"]].error


def test_the_gate_is_prepared_and_injects_nothing(api, driver, node, namespace):
    gate = "image-configurator.x-k8s.io"
    one = allocated_claim(api, namespace, "all-nodes", driver=gate, device="image-configurator")
    answer, _request = ask(driver(gate), one)
    device = answer[one["metadata"]["uid"]].devices[0]
    assert (device.pool_name, list(device.cdi_device_ids)) == ("all-nodes", [])
