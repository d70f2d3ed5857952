# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's ComputeClass accepts and refuses what Google's does, on the same real API server."""

from __future__ import annotations

import copy

import pytest
import yaml

from ansible_collections.inference.dra.lab.autoscaler import crd
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    Kubernetes,
    KubernetesError,
    NotFound,
    Resource,
)

pytestmark = pytest.mark.lab
OURS = Resource("ours.example", "v1", "computeclasses", "ComputeClass", namespaced=False)
GOOGLES = Resource("googles.example", "v1", "computeclasses", "ComputeClass", namespaced=False)
POOLS = [{"nodepools": ["gpu-pool"]}, {"nodepools": ["cpu-pool"]}]
GB200 = {"gpu": {"type": "nvidia-gb200", "topology": "2x2"}}
PLACED = {"placement": {"policyName": "p"}}
RESERVED = {"name": "r"}


def spec(*priorities, **more):
    return {"priorities": list(priorities), "whenUnsatisfiable": "DoNotScaleUp", **more}


GOOD = {
    "the guide's": spec(*POOLS),
    "scale-up anyway": spec(*POOLS, whenUnsatisfiable="ScaleUpAnyway"),
    "the default of whenUnsatisfiable": {"priorities": POOLS},
    "no priority at all": spec(),
    "no list of priorities": {"whenUnsatisfiable": "DoNotScaleUp"},
    "an unknown field is dropped": spec(*POOLS, colour="red"),
    "machines by family": spec({"machineFamily": "n2", "minCores": 4, "minMemoryGb": 16, "spot": True}),
    "a machine with a gpu": spec({"machineType": "g2-standard-8", "gpu": {"type": "nvidia-l4", "count": 1}}),
    "driver not installed": spec({"gpu": {"type": "nvidia-l4", "driverVersion": "autoinstall-disabled"}}),
    "pools with a score": spec({"nodepools": ["a"], "priorityScore": 5}),
    "pools with a strategy": spec({"nodepools": ["a"], "allocationStrategy": "lowest-cost"}),
    "rdma with a profile": spec(
        {"machineType": "a3-ultragpu-8g", "gpuDirect": "rdma", "acceleratorNetworkProfile": "auto"}
    ),
    "a specific reservation": spec(
        {"machineFamily": "n2", "reservations": {"affinity": "Specific", "specific": [RESERVED]}}
    ),
    "flex start": spec(
        {"machineFamily": "n2", "flexStart": {"enabled": True}, "capacityCheckWaitTimeSeconds": 9}
    ),
    "gb200 with placement": spec(GB200 | PLACED),
    "consolidation": spec(*POOLS, autoscalingPolicy={"consolidationDelayMinutes": 1440}),
    "managed network driver": spec(*POOLS, nodePoolConfig={"dra": {"networking": {"enabled": True}}}),
    "tpu by claim": spec(*POOLS, nodePoolConfig={"tpu": {"driverMode": "DynamicResourceAllocation"}}),
    "autopilot": spec(
        {"podFamily": "general-purpose"},
        autopilot={"enabled": True},
        nodePoolAutoCreation={"enabled": True},
    ),
    "zones": spec({"machineFamily": "n2", "location": {"zones": ["a"], "locationPolicy": "ANY"}}),
    "drain": spec(*POOLS, nodePoolConfig={"nodeDrainConfig": {"graceTerminationDuration": "10s"}}),
    "disk": spec({"machineFamily": "n2", "storage": {"bootDiskType": "pd-ssd", "bootDiskSize": 50}}),
    "labels and taints": spec(
        {"machineFamily": "n2", "nodeLabels": {"a": "b"}, "taints": [{"key": "k", "effect": "NoSchedule"}]}
    ),
}
WRONG = {
    "autopilot beside the default of creation": spec({"machineFamily": "n2"}, autopilot={"enabled": True}),
    "whenUnsatisfiable": spec(*POOLS, whenUnsatisfiable="Maybe"),
    "the typo nodePool": spec({"nodePool": ["gpu-pool"]}),
    "an empty rule": spec({}),
    "pools and spot": spec({"nodepools": ["a"], "spot": True}),
    "family and type": spec({"machineFamily": "n2", "machineType": "n2-standard-4"}),
    "type and cores": spec({"machineType": "n2-standard-4", "minCores": 4}),
    "family ek": spec({"machineFamily": "ek"}),
    "type ek": spec({"machineType": "ek-standard-4"}),
    "flex start and spot": spec({"machineFamily": "n2", "flexStart": {"enabled": True}, "spot": True}),
    "waiting without flex start": spec({"machineFamily": "n2", "capacityCheckWaitTimeSeconds": 5}),
    "rdma without a profile": spec({"machineFamily": "a3", "gpuDirect": "rdma"}),
    "gpuDirect of another kind": spec({"machineFamily": "a3", "gpuDirect": "tcpx"}),
    "profile with capitals": spec({"machineFamily": "a3", "acceleratorNetworkProfile": "Auto"}),
    "score on one rule only": spec({"nodepools": ["a"], "priorityScore": 5}, {"nodepools": ["b"]}),
    "score too high": spec({"nodepools": ["a"], "priorityScore": 1001}),
    "reservation with another affinity": spec(
        {"machineFamily": "n2", "reservations": {"affinity": "None", "specific": [RESERVED]}}
    ),
    "specific without a reservation": spec({"machineFamily": "n2", "reservations": {"affinity": "Specific"}}),
    "topology without placement": spec(GB200),
    "topology of another gpu": spec({"gpu": {"type": "nvidia-l4", "topology": "2x2"}} | PLACED),
    "podFamily without autopilot": spec({"podFamily": "general-purpose"}),
    "pools with autopilot": spec(*POOLS, autopilot={"enabled": True}),
    "autopilot without creation": spec(
        {"machineFamily": "n2"}, autopilot={"enabled": True}, nodePoolAutoCreation={"enabled": False}
    ),
    "autopilot with ubuntu": spec(
        {"machineFamily": "n2"},
        autopilot={"enabled": True},
        nodePoolConfig={"imageType": "ubuntu_containerd"},
    ),
    "delay of nothing": spec(*POOLS, autoscalingPolicy={"consolidationDelayMinutes": 0}),
    "delay of more than a day": spec(*POOLS, autoscalingPolicy={"consolidationDelayMinutes": 1441}),
    "threshold above 100": spec(*POOLS, autoscalingPolicy={"consolidationThreshold": 101}),
    "driver version": spec({"gpu": {"type": "nvidia-l4", "driverVersion": "newest"}}),
    "count as text": spec({"gpu": {"type": "nvidia-l4", "count": "1"}}),
    "no zone in zones": spec({"machineFamily": "n2", "location": {"zones": []}}),
    "location policy": spec({"machineFamily": "n2", "location": {"locationPolicy": "SOME"}}),
    "pods per node": spec({"machineFamily": "n2", "maxPodsPerNode": 7}),
    "throughput without a group": spec(*POOLS, nodePoolConfig={"workloadType": "HIGH_THROUGHPUT"}),
    "confidential without machines": spec({"spot": True}, nodePoolConfig={"confidentialNodeType": "SEV"}),
    "custom image without a name": spec(*POOLS, nodePoolConfig={"imageType": "custom_containerd"}),
    "image name without custom": spec(
        *POOLS, nodePoolConfig={"customImageConfig": {"imageName": "i", "imageProjectId": "p"}}
    ),
    "duration without unit": spec(*POOLS, nodePoolConfig={"nodeDrainConfig": {"pdbTimeoutDuration": "10"}}),
    "taint without effect": spec({"machineFamily": "n2", "taints": [{"key": "k"}]}),
    "minimum without machines": spec({"machineFamily": "n2", "minimumCapacity": {"targetNodeCount": 1}}),
    "minimum of the class": spec({"machineFamily": "n2"}, minimumCapacity={"targetNodeCount": 1}),
    "iops without throughput": spec({"machineFamily": "n2", "storage": {"bootDiskProvisionedIops": 3000}}),
    "cpu platform": spec({"machineFamily": "n2", "minCpuPlatform": "Intel Pentium"}),
    "network switch as text": spec(*POOLS, nodePoolConfig={"dra": {"networking": {"enabled": "true"}}}),
}


@pytest.fixture(scope="module")
def both(control_plane, shared):
    """Both definitions on one API server, each under a group of its own."""
    api = Kubernetes.connect({"kubeconfig": str(control_plane.kubeconfig)})
    path = shared / "upstream" / "crds" / "computeclass" / "cloud.google.com_computeclasses.yaml"
    for resource, definition in ((OURS, crd.definition()), (GOOGLES, yaml.safe_load(path.read_text()))):
        body = copy.deepcopy(definition)
        body["metadata"] = {"name": f"computeclasses.{resource.group}"}
        body["spec"]["group"] = resource.group
        body["spec"]["names"].pop("shortNames", None)
        api.create(crd.DEFINITIONS, body)
        wait_served(api, resource)
    return api


def wait_served(api, resource):
    for seen in api.within(Deadline(SystemClock(), 20)).follow(
        crd.DEFINITIONS, field_selector=f"metadata.name=computeclasses.{resource.group}"
    ):
        objects = seen if isinstance(seen, list) else [seen.object]
        for each in objects:
            found = each.get("status", {}).get("conditions") or []
            conditions = {one["type"]: one["status"] for one in found}
            if conditions.get("Established") == "True" and answers(api, resource):
                return


def answers(api, resource):
    deadline = Deadline(SystemClock(), 10)
    while not deadline.expired:
        try:
            list(api.list(resource))
        except NotFound:
            continue
        return True
    return False


def accepted(api, resource, body):
    manifest = {
        "apiVersion": resource.api_version,
        "kind": "ComputeClass",
        "metadata": {"name": "c"},
        "spec": body,
    }
    try:
        api.create(resource, manifest, dry_run=True)
    except KubernetesError as error:
        assert error.status == 422, error
        return False
    return True


@pytest.mark.shared
@pytest.mark.parametrize("name", GOOD)
def test_good_manifests_are_accepted_by_both(both, name):
    assert (accepted(both, OURS, GOOD[name]), accepted(both, GOOGLES, GOOD[name])) == (True, True)


@pytest.mark.shared
@pytest.mark.parametrize("name", WRONG)
def test_wrong_manifests_are_refused_by_both(both, name):
    assert (accepted(both, OURS, WRONG[name]), accepted(both, GOOGLES, WRONG[name])) == (False, False)
