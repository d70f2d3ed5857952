# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a verification reads of a live cluster, and what it says where it may not read something."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from ansible_collections.inference.dra.plugins.module_utils._glue.result import ModuleFailure
from ansible_collections.inference.dra.plugins.module_utils._glue.slices import verify_slices, verify_spec
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import ManualClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import KubernetesError
from ansible_collections.inference.dra.tests.unit._core.dra_objects import GPU, devices, resource_slice
from ansible_collections.inference.dra.tests.unit._ports.api_server import Answer, ApiServer, status
from ansible_collections.inference.dra.tests.unit.modules.in_process import run_module

NODE = {"metadata": {"name": "node-a", "labels": {"pool": "gpu"}}}
WANTED = {"driver": GPU, "node_selector": {"pool": "gpu"}}
WITH_ALL = {**WANTED, "device_class": GPU, "daemon_set": "kube-system/driver", "deployment": "system/gate"}
CLASS = {"metadata": {"name": GPU}}
GATE = {"metadata": {"name": "gate", "namespace": "system"}, "status": {"availableReplicas": 1}}


def listed(*items: dict) -> Answer:
    return Answer(body={"metadata": {"resourceVersion": "1"}, "items": [*items]})


class Kinds(ApiServer):
    """One answer for each kind; kinds without one have no objects."""

    def __init__(self) -> None:
        self.kinds = {
            "nodes": listed(NODE),
            "resourceslices": listed(resource_slice(devices=devices("gpu-0"))),
            "deviceclasses": listed(CLASS),
            "deployments": listed(GATE),
        }
        self.configz: dict[str, Answer] = {}
        super().__init__()

    def next(self, asked):
        self.asked.append(asked)
        if asked.path.endswith("/proxy/configz"):
            return self.configz[asked.path.split("/")[4]]
        return self.kinds.get(asked.path.rsplit("/", 1)[-1], listed())


@pytest.fixture
def server():
    server = Kinds()
    yield server
    server.end()


@pytest.fixture
def verify(server):
    def run(*expectations, **options):
        return run_module(
            "resource_slice_verify",
            host=server.url,
            api_key="x",
            expectations=[*expectations],
            **options,
        )

    return run


def test_cluster_is_read_once_for_all_expectations(verify, server):
    result = verify(WITH_ALL, WITH_ALL)
    assert not result["failed"], result["msg"]
    paths = [each.path for each in server.asked]
    assert len(paths) == len(set(paths))
    assert "/apis/apps/v1/namespaces/kube-system/daemonsets" in paths
    assert "/api/v1/namespaces/kube-system/pods" in paths
    assert all(each.method == "GET" for each in server.asked)


def test_only_what_is_needed_is_read(verify, server):
    verify(WANTED)
    assert {each.path.rsplit("/", 1)[-1] for each in server.asked} == {
        "resourceslices",
        "nodes",
        "resourceclaims",
    }


NOT_ALLOWED = {
    "nodes": ["ObjectsMissing"],
    "resourceclaims": ["DevicesPublished"],
    "deviceclasses": ["DevicesPublished"],
    "daemonsets": ["DevicesPublished"],
    "pods": ["DevicesPublished"],
    "deployments": ["DevicesPublished"],
}


@pytest.mark.parametrize(("kind", "reasons"), NOT_ALLOWED.items(), ids=NOT_ALLOWED)
def test_nothing_is_said_about_what_may_not_be_read(verify, server, kind, reasons):
    server.kinds[kind] = status(403, "Forbidden")
    result = verify(WITH_ALL)
    assert result["forbidden"] == [kind]
    assert [each["reason"] for each in result["verdicts"]] == reasons


def test_slices_are_indispensable(verify, server):
    server.kinds["resourceslices"] = status(403, "Forbidden", "no slices for you")
    result = verify(WANTED)
    assert (result["failed"], result["reason"], result["status"]) == (True, "Forbidden", 403)
    assert "no slices for you" in result["msg"]


def test_cluster_without_the_api_says_what_it_serves(verify, server):
    server.kinds["resourceslices"] = status(404, "NotFound")
    server.kinds["resource.k8s.io"] = Answer(body={"versions": [{"version": "v1beta1"}]})
    result = verify(WANTED)
    assert (result["failed"], result["reason"]) == (True, "ApiNotServed")
    assert "in versions: v1beta1; v1 is needed" in result["msg"]


ABSENT = {
    "deviceclasses": "DeviceClassMissing",
    "deployments": "GateWithoutController",
    "resourceslices": "DriverMissing",
}


@pytest.mark.parametrize(("kind", "reason"), ABSENT.items(), ids=ABSENT)
def test_what_a_cluster_does_not_have_is_missing(verify, server, kind, reason):
    server.kinds[kind] = listed()
    result = verify(WITH_ALL)
    assert result["failed"]
    assert [each["reason"] for each in result["verdicts"] if each["status"] == "error"] == [reason]


def configz(policy: str) -> Answer:
    return Answer(body={"kubeletconfig": {"cpuManagerPolicy": policy}})


KUBELETS = {
    "C27-none": ([configz("none")], []),
    "C27-static": ([configz("static")], [("error", "CpuManagerDiffers")]),
    "C27-may-not-ask": ([status(403, "Forbidden")], [("note", "CannotJudge")]),
    "C27-no-kubelet": ([status(404, "NotFound")], [("note", "CannotJudge")]),
    "C27-says-nothing": ([Answer(body={})], [("note", "CannotJudge")]),
    "C27-two-nodes": (
        [configz("static"), status(404, "NotFound")],
        [("error", "CpuManagerDiffers"), ("note", "CannotJudge")],
    ),
}


@pytest.mark.parametrize(("answers", "found"), KUBELETS.values(), ids=KUBELETS)
def test_kubelets_that_pin_containers_themselves(verify, server, answers, found):
    names = [f"node-{number}" for number in range(len(answers))]
    nodes = [{"metadata": {"name": name, "labels": {"pool": "gpu"}}} for name in names]
    other = {"metadata": {"name": "other", "labels": {}}}
    server.kinds["nodes"] = listed(*nodes, other)
    server.configz = dict(zip(names, answers, strict=True))
    result = verify({**WANTED, "cpu_manager_policy": "none", "devices_min": 0})
    kubelets = [each for each in result["verdicts"] if each["expected"] == "cpuManagerPolicy none"]
    assert [(each["status"], each["reason"]) for each in kubelets] == found
    assert result["failed"] is (("error", "CpuManagerDiffers") in found)
    assert [each.path for each in server.asked if "proxy" in each.path] == [
        f"/api/v1/nodes/{name}/proxy/configz" for name in names
    ]


def test_a_kubelet_that_does_not_answer_holds_nothing_up(verify, server):
    server.configz = {"node-a": status(503, "ServiceUnavailable")}
    result = verify({**WANTED, "cpu_manager_policy": "none"})
    assert not result["failed"]
    assert "could not be read on node-a" in str(result["verdicts"])
    assert [each.path for each in server.asked].count("/api/v1/nodes/node-a/proxy/configz") == 1


# Waiting


class Cluster(ManualClock):
    """A clock on whose every pause the cluster becomes as the next entry says."""

    def __init__(self, server: Kinds, *looks: dict[str, Answer]) -> None:
        super().__init__(datetime(2026, 12, 1, tzinfo=UTC))
        self._server, self._looks = server, [*looks]
        self.lines: list[str] = []
        self.sleep(0)

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self._looks:
            self._server.kinds |= self._looks.pop(0)

    def verify(self, wait_seconds: int, *, check_mode: bool = False, **options):
        """Return the result of a verification on this clock."""
        spec = verify_spec()
        wanted = {name: each.get("default") for name, each in spec["expectations"]["options"].items()}
        params = {name: each.get("default") for name, each in spec.items()}
        params |= {"host": self._server.url, "api_key": "x", "wait_seconds": wait_seconds}
        params |= {"expectations": [wanted | WANTED], **options}
        module = SimpleNamespace(params=params, check_mode=check_mode)
        return verify_slices(module, self, self.lines.append)


def test_devices_that_come_later_are_waited_for_and_each_change_is_said_once(server):
    """A quarter of a second later nothing is new, then there is another node, then all slices."""
    both = listed(NODE, {"metadata": {"name": "node-b", "labels": {"pool": "gpu"}}})
    slices = [
        resource_slice(name, pool=name, node=name, devices=devices("gpu-0")) for name in ("node-a", "node-b")
    ]
    cluster = Cluster(
        server,
        {"resourceslices": listed()},
        {},
        {"nodes": both},
        {"resourceslices": listed(*slices)},
    )
    assert cluster.verify(600)["waited_seconds"] == 0.25 + 0.5 + 1
    assert [line.partition("] ")[0] for line in cluster.lines] == ["[   0.0 of 600 s", "[   0.8 of 600 s"]
    first, second = cluster.lines
    assert "Node node-a" in first
    assert "Node node-b" not in first
    assert "Node node-a" in second
    assert "Node node-b" in second


def test_what_does_not_come_fails_as_without_a_wait_when_the_time_is_up(server):
    cluster = Cluster(server, {"resourceslices": listed()})
    with pytest.raises(ModuleFailure, match="Verifying resource slices: ") as failure:
        cluster.verify(10)
    assert failure.value.reason == "SlicesNotAsExpected"
    assert failure.value.facts["waited_seconds"] == 10
    assert len(cluster.lines) == 1


RECORDED = [{"apiVersion": "v1", "kind": "Node", **NODE}, resource_slice()]
ONCE = {
    "C49-check-mode": {"check_mode": True},
    "dump": {"objects": RECORDED},
    "nothing-to-wait-for": {"fail_on": "never"},
}


@pytest.mark.parametrize("options", ONCE.values(), ids=ONCE)
def test_looks_once(server, options):
    cluster = Cluster(server, {"resourceslices": listed()})
    try:
        waited = cluster.verify(600, **options)["waited_seconds"]
    except ModuleFailure as failure:
        waited = failure.facts["waited_seconds"]
    assert (waited, cluster.lines) == (0, [])


AWAY = {"a-long-wait": (600, True), "no-wait": (0, False)}


@pytest.mark.parametrize(("seconds", "comes"), AWAY.values(), ids=AWAY)
def test_an_api_server_that_is_away_for_a_minute_is_waited_for(server, seconds, comes):
    cluster = Cluster(server, *[{"nodes": status(503, "ServiceUnavailable")}] * 30, {"nodes": listed(NODE)})
    if comes:
        assert cluster.verify(seconds)["waited_seconds"] > 60
    else:
        with pytest.raises(KubernetesError):
            cluster.verify(seconds)
