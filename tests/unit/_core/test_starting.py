# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a pod that has its devices does not start or does not go, and what its driver's DaemonSet has to do."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.allocation import what_if
from ansible_collections.inference.dra.plugins.module_utils._core.cluster import Cluster
from ansible_collections.inference.dra.plugins.module_utils._core.inventory import Place
from ansible_collections.inference.dra.plugins.module_utils._core.objects import split

from .dra_objects import NOW, ago, device, gate_result, image_config, owned_by, pod, resource_slice, result
from .test_diagnosis import (
    CLASSES,
    FUNGIBLE,
    GATES,
    NIC,
    NO_EVENT,
    ROOT,
    allocated,
    cluster,
    event,
    gpus,
    holds,
    node,
    only,
    reasons,
    waiting,
)


def container(reason="", message="", *, ended=None, restarts=0):
    """The status of a pod's container, waiting for a reason or ended."""
    state = {"waiting": {"reason": reason, "message": message}} if reason else {"running": {}}
    if ended and not reason:
        state = {"terminated": ended}
    last = {"terminated": ended} if ended and reason else {}
    return {
        "name": "vllm",
        "image": "r.example/vllm:1",
        "state": state,
        "lastState": last,
        "restartCount": restarts,
    }


KILLED = {"exitCode": 137, "reason": "OOMKilled"}
CRASHED = {"exitCode": 1, "reason": "Error"}
FORMAT = {"exitCode": 1, "reason": "Error", "message": "exec /usr/bin/python3: exec format error"}
NO_PLATFORM = "no match for platform in manifest: not found"
CONTAINERS = {
    "image-not-found": (container("ErrImagePull", "r.example/vllm:1: not found"), "ImagePullFailed", "push"),
    "image-back-off": (
        container("ImagePullBackOff", "Back-off pulling image"),
        "ImagePullFailed",
        "registry",
    ),
    "image-no-right": (container("ErrImagePull", "403 Forbidden"), "ImagePullFailed", "Artifact Registry"),
    "image-name": (container("InvalidImageName", "couldn't parse"), "ImagePullFailed", "reference"),
    "C57-no-image-for-the-platform": (
        container("ErrImagePull", NO_PLATFORM),
        "ImagePlatformDiffers",
        "platform",
    ),
    "C57-built-on-an-arm-laptop": (
        container("CrashLoopBackOff", "back-off 40s", ended=FORMAT, restarts=3),
        "ImagePlatformDiffers",
        "platform",
    ),
    "crash-loop": (
        container("CrashLoopBackOff", "back-off 40s", ended=CRASHED, restarts=3),
        "ContainerCrashing",
        "log",
    ),
    "C56-out-of-memory": (container("CrashLoopBackOff", ended=KILLED), "ContainerCrashing", "memory"),
    "between-two-starts": (container(ended=CRASHED), "ContainerCrashing", "log"),
    "no-config": (
        container("CreateContainerConfigError", "secret not found"),
        "ContainerNotCreated",
        "Secret",
    ),
    "no-device": (
        container("CreateContainerError", "unresolvable CDI devices"),
        "ContainerNotCreated",
        "CDI",
    ),
    "creating": (container("ContainerCreating"), "", ""),
    "initializing": (container("PodInitializing"), "", ""),
    "runs": (container(), "", ""),
    "done": (container(ended={"exitCode": 0, "reason": "Completed"}), "", ""),
}


class TestContainers:
    """Claim ready and pod running are two answers."""

    @pytest.mark.parametrize(("status", "reason", "advice"), CONTAINERS.values(), ids=CONTAINERS)
    @pytest.mark.parametrize("key", ["containerStatuses", "initContainerStatuses"])
    def test_what_keeps_a_container_from_running(self, key, status, reason, advice):
        objects = allocated(result(), node="node-a", phase="Running")
        objects[0]["status"][key] = [status]
        found = only(cluster(objects, gpus(), node(labels={"kubernetes.io/arch": "arm64"}))).verdicts
        assert [each.reason for each in found] == ([reason] if reason else [])
        assert all(advice in each.advice and "r.example/vllm:1" in each.observed for each in found)
        if reason == "ImagePlatformDiffers":
            assert found[0].expected == "an image for arm64"

    def test_the_kubelets_event_says_more_than_the_back_off(self):
        objects = allocated(result(), node="node-a")
        objects[0]["status"]["containerStatuses"] = [container("ImagePullBackOff", "Back-off pulling image")]
        said = event("Failed", "Failed to pull image: 403 Forbidden")
        (verdict,) = only(cluster(objects, said, gpus(), node())).verdicts
        assert "Artifact Registry" in verdict.advice
        assert verdict.evidence[0].startswith("Event Failed")


WRONG_CONFIGS = {
    "unknown-container": (
        image_config("img", "device/gpu", container="server"),
        "ImageConfigContainerMissing",
    ),
    "bad-image": (image_config("a b", "device/gpu"), "ImageConfigInvalid"),
}


class TestWrongImageConfig:
    """The configurator refuses it, at ever longer intervals; between them only a condition is missing."""

    @pytest.mark.parametrize(("config", "reason"), WRONG_CONFIGS.values(), ids=WRONG_CONFIGS)
    def test_the_cause_comes_before_the_missing_condition(self, config, reason):
        objects = allocated(result(), gate_result())
        objects[1]["status"]["allocation"]["devices"]["config"] = [config]
        found = reasons(only(cluster(objects, gpus(), node())))
        assert found[0] == reason
        assert "BindingConditionMissing" in found

    @pytest.mark.parametrize(("config", "reason"), WRONG_CONFIGS.values(), ids=WRONG_CONFIGS)
    def test_it_is_named_before_anything_is_allocated(self, config, reason):
        objects = waiting(**FUNGIBLE)
        objects[1]["spec"]["devices"]["config"] = [config]
        assert reason in reasons(only(cluster(objects, gpus(), node())))


DRIVER_LABEL = {"nvidia.com/gpu.present": "true"}
PLUGINS = "/var/lib/kubelet/plugins"
HELM = {"meta.helm.sh/release-name": "dra-driver", "meta.helm.sh/release-namespace": "drivers"}


def daemon_set(
    name="plugin",
    *,
    annotations: dict | None = None,
    desired=1,
    current=1,
    selector=None,
    path="/var/lib/kubelet/plugins",
):
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": name,
            "namespace": "drivers",
            "uid": f"uid-{name}",
            "annotations": HELM if annotations is None else annotations,
        },
        "spec": {
            "template": {
                "spec": {
                    "nodeSelector": selector or {},
                    "volumes": [{"name": "plugins", "hostPath": {"path": path}}],
                }
            }
        },
        "status": {"desiredNumberScheduled": desired, "currentNumberScheduled": current},
    }


def driver_pod(state=None, *, node="node-a", of="plugin"):
    ready = [{"type": "Ready", "status": "False" if state else "True"}]
    statuses = [{"name": "driver", "state": state, "ready": False}] if state else []
    return pod(
        f"plugin-{node}",
        namespace="drivers",
        node=node,
        phase="Running",
        claims=(),
        owner=owned_by(of, kind="DaemonSet"),
        status={"conditions": ready, "initContainerStatuses": statuses},
    )


WAITS = {"waiting": {"reason": "PodInitializing"}}
LINKS = {
    "C26-label-missing": ([daemon_set(selector=DRIVER_LABEL, desired=0, current=0)], "NodeSelectorMismatch"),
    "C26-no-pod": ([daemon_set(current=0)], "DriverPodMissing"),
    "C26-init-state": ([daemon_set(), driver_pod(WAITS)], "DriverPodNotReady"),
    "C26-ready-without-slice": ([daemon_set(), driver_pod()], "DriverSlicesMissing"),
    "another-release": ([daemon_set(annotations={}, current=0)], "DriverSlicesMissing"),
    "pods-not-given": ([daemon_set(current=3)], "DriverSlicesMissing"),
    "one-of-two-is-no-plugin": (
        [daemon_set(), driver_pod(), daemon_set("exporter", current=0, path="/var/log")],
        "DriverSlicesMissing",
    ),
}


class TestDaemonSets:
    """The driver of a class is found by its name, or by the Helm release that brought both."""

    @pytest.mark.parametrize(("objects", "reason"), LINKS.values(), ids=LINKS)
    def test_first_broken_link(self, objects, reason):
        found = only(self.of_release(*objects)).verdicts
        assert found[0].reason == reason
        if reason != "DriverSlicesMissing":
            assert (
                "node-a: DaemonSet drivers/plugin" in found[0].observed
                or "plugin-node-a" in found[0].observed
            )
            assert found[1].reason == "DriverSlicesMissing"

    def test_a_node_of_another_kind_needs_no_driver(self):
        """The driver has a node of its own, where it is ready and publishes nothing."""
        plugin = daemon_set(selector=DRIVER_LABEL)
        own = node("node-b", labels=DRIVER_LABEL)
        found = reasons(only(self.of_release(plugin, driver_pod(node="node-b"), own)))
        assert found[0] == "DriverSlicesMissing"
        assert "NodeSelectorMismatch" not in found

    def test_a_driver_that_somebody_named(self):
        named = {NIC: ("drivers", "dranet")}
        (first, *_rest) = only(self.of_release(daemon_set(), named=named)).verdicts
        assert (first.reason, first.observed) == (
            "DriverMissing",
            "nic: node-a: DaemonSet drivers/dranet does not exist",
        )

    @staticmethod
    def of_release(*objects, named=None):
        (nic_class,) = [each for each in CLASSES if each["metadata"]["name"] == "mrdma.google.com"]
        brought = copy.deepcopy(nic_class)
        brought["metadata"]["annotations"] = HELM
        others = [each for each in CLASSES if each is not nic_class]
        everything = [*others, brought, NO_EVENT, GATES, gpus(), node(), *waiting(), *objects]
        return Cluster.from_objects(split(everything), NOW, named)


DELETIONS = {
    "C15-claim-never-prepared": (75, ["PodDeletionOverdue", "PreparationFailed"]),
    "C15-a-moment-over": (5, ["PreparationFailed"]),
    "C15-grace-period-runs": (-20, ["PreparationFailed"]),
}


@pytest.mark.parametrize(("seconds", "found"), DELETIONS.values(), ids=DELETIONS)
def test_a_pod_that_never_started_and_does_not_go(seconds, found):
    objects = allocated(result(), node="node-a", metadata={"deletionTimestamp": ago(seconds)})
    failed = event("FailedPrepareDynamicResources", "claim is not created yet")
    verdicts = only(cluster(objects, failed, gpus(), node())).verdicts
    assert [each.reason for each in verdicts] == found
    if "PodDeletionOverdue" in found:
        assert verdicts[0].subject == "Pod llm/pod-a"
        assert verdicts[0].evidence[-1] == "Node node-a"
        assert "75 s ago" in verdicts[0].observed


ROOT_PAIRS = {
    "observed-1-two-pairs-below-each-root": ([0, 0, 1, 1], [0, 0, 1, 1], 4),
    "observed-1-a-root-for-each-pair": ([0, 1, 2, 3], [0, 1, 2, 3], 4),
    "observed-1-a-nic-of-one-root-is-lost": ([0, 0, 1, 1], [0, 1, 1], 3),
    "observed-1-all-nics-below-one-root": ([0, 0, 1, 1], [0, 0, 0, 0], 2),
}


@pytest.mark.parametrize(("gpu_roots", "nic_roots", "pairs"), ROOT_PAIRS.values(), ids=ROOT_PAIRS)
def test_a_node_takes_as_many_pairs_as_its_roots_have(gpu_roots, nic_roots, pairs):
    """The sum over roots of the lesser of free GPUs and free NICs."""
    published = [
        resource_slice(
            "g", devices=[device(f"gpu-{i}", attributes=rooted(root)) for i, root in enumerate(gpu_roots)]
        ),
        resource_slice(
            "n",
            driver=NIC,
            devices=[
                device(f"nic-{i}", attributes=rooted(root) | {"rdma": {"bool": True}})
                for i, root in enumerate(nic_roots)
            ],
        ),
    ]
    held = []
    for taken in range(pairs + 1):
        snapshot = cluster(waiting(), node(), *published, *held)
        found = only(snapshot)
        assert (reasons(found)[0] == "FitsNow") is (taken < pairs)
        if taken == pairs:
            break
        wanted = [each.devices for each in snapshot.claims if each.allocation is None]
        (given,) = what_if(wanted, Place("node-a", {}), snapshot.inventory).claims
        results = [{"request": each.request, **each.device._asdict()} for each in given.devices]
        held.append(holds(f"pair-{taken}", *results))


def rooted(root):
    return {ROOT: {"string": f"root-{root}"}}
