# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On which pools the drivers land: the upstream objects themselves, and the stand-ins, by real controllers.

One node per pool, with the labels and taints of the two guides' pools and what GKE adds to them.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from ansible_collections.inference.dra.lab.chart_registry import SOURCES
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    DAEMON_SETS,
    DEPLOYMENTS,
    NAMESPACES,
    NODES,
    PODS,
    Kubernetes,
)
from ansible_collections.inference.dra.tests.watched import seen

from .test_charts import RENDERINGS, template

pytestmark = [pytest.mark.lab, pytest.mark.shared]

GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
CLASS = "cloud.google.com/compute-class"
CLASS_TAINT = {"key": CLASS, "value": "fungible-gpu-cpu", "effect": "NoSchedule"}
ACCELERATOR = "cloud.google.com/gke-accelerator"
PRESENT = {"nvidia.com/gpu.present": "true", "gke-no-default-nvidia-gpu-device-plugin": "true"}
POOLS = {
    "default-pool": ({}, []),
    "gpu-pool": ({**PRESENT, CLASS: "fungible-gpu-cpu", ACCELERATOR: "nvidia-l4"}, [GPU_TAINT, CLASS_TAINT]),
    "cpu-pool": ({CLASS: "fungible-gpu-cpu", "cloud.google.com/gke-cpu-dra-driver": "true"}, [CLASS_TAINT]),
    "a3u": ({**PRESENT, ACCELERATOR: "nvidia-h200-141gb"}, [GPU_TAINT]),
    "a4x": (
        {
            ACCELERATOR: "nvidia-gb200",
            "kubernetes.io/arch": "arm64",
            "node.kubernetes.io/instance-type": "a4x-highgpu-4g",
        },
        [GPU_TAINT],
    ),
    "l4-managed": (
        {ACCELERATOR: "nvidia-l4", "cloud.google.com/gke-gpu-driver-version": "default"},
        [GPU_TAINT],
    ),
}
EVERYWHERE = set(POOLS)
INSTALLER = SOURCES.parent / "manifests" / "nvidia-driver-installer.yaml"
INSTALLERS = "upstream/manifests/container-engine-accelerators/nvidia-driver-installer/cos"
RDMA = "upstream/manifests/container-engine-accelerators/gpudirect-rdma"
TO_CPUS = {"nodeSelector": {"cloud.google.com/gke-cpu-dra-driver": "true"}}
TO_ALL = {"tolerations": [{"operator": "Exists"}]}


@dataclass(frozen=True)
class Landing:
    """What is applied, how it is patched, and the pools that its pods land on."""

    name: str
    file: str
    pools: set[str]
    namespace: str = "kube-system"
    patch: dict | None = None


def rendered(file: str) -> str:
    return f"upstream/rendered/{file}.yaml"


LANDINGS = (
    Landing("gpu-guide-a", rendered("nvidia-0.4.1-guide-a-corrected"), {"gpu-pool", "a3u"}),
    Landing("gpu-25.8-guide-b", rendered("nvidia-25.8.0-guide-b"), {"a3u"}, "nvidia-dra-driver-gpu"),
    Landing("gpu-0.4-guide-b", rendered("nvidia-0.4.1-guide-b"), {"a3u"}, "nvidia-dra-driver-gpu"),
    Landing("cpu", rendered("cpu-0.2.0-corrected"), EVERYWHERE),
    Landing("cpu-patched", rendered("cpu-0.2.0-corrected"), {"cpu-pool"}, patch=TO_CPUS),
    Landing("noop", rendered("noop-0.1.0"), {"default-pool"}),
    Landing("noop-patched", rendered("noop-0.1.0"), EVERYWHERE, patch=TO_ALL),
    Landing("installer", f"{INSTALLERS}/daemonset-preloaded.yaml", {"gpu-pool", "a3u", "a4x"}),
    Landing("installer-latest", f"{INSTALLERS}/daemonset-preloaded-latest.yaml", {"gpu-pool", "a3u", "a4x"}),
    Landing("installer-a4x", f"{INSTALLERS}/daemonset-preloaded-latest-a4x.yaml", {"a4x"}),
    Landing("rdma", f"{RDMA}/nccl-rdma-installer.yaml", {"a3u"}),
    Landing("rdma-a4x", f"{RDMA}/nccl-rdma-installer-a4x.yaml", {"a4x"}),
)
BY_FILE = {each.file: each for each in RENDERINGS}
OURS = tuple(each for each in LANDINGS if Path(each.file).stem in BY_FILE)


class Cluster:
    """A control plane with one node per pool."""

    def __init__(self, plane, kubectl) -> None:
        self.api = Kubernetes.connect({"kubeconfig": str(plane.kubeconfig)})
        self._command = [str(kubectl), "--kubeconfig", str(plane.kubeconfig)]
        for name, (labels, taints) in POOLS.items():
            node = {
                "metadata": {
                    "name": name,
                    "labels": labels,
                    "annotations": {"kwok.x-k8s.io/node": "fake"},
                },
                "spec": {"taints": taints},
                "status": {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}},
            }
            self.api.create(NODES, node)
        self.api.create(NAMESPACES, {"metadata": {"name": "nvidia-dra-driver-gpu"}})

    def kubectl(self, *words: str, given: str) -> None:
        done = subprocess.run(
            [*self._command, *words], input=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    def landed(self, text: str, landing: Landing) -> set[str]:
        """Apply objects, wait until the controllers are done, and return the nodes of the one DaemonSet."""
        (wanted,) = [each for each in yaml.safe_load_all(text) if each and each["kind"] == "DaemonSet"]
        name, namespace = wanted["metadata"]["name"], landing.namespace
        self.kubectl("apply", "--server-side", "-n", namespace, "-f", "-", given=text)
        try:
            if landing.patch:
                patch = {"spec": {"template": {"spec": landing.patch}}}
                self.api.merge_patch(DAEMON_SETS, name, patch, namespace)
            seen(self.api, DAEMON_SETS, lambda found: any(map(is_rolled_out, found)), name)
            return {pod["spec"].get("nodeName") for pod in self.pods(name, namespace)}
        finally:
            self.kubectl("delete", "-n", namespace, "-f", "-", "--ignore-not-found", given=text)
            seen(self.api, PODS, lambda pods: not pods, "no pod left")

    def pods(self, daemon_set: str, namespace: str) -> list[dict]:
        return [
            pod
            for pod in self.api.list(PODS, namespace)
            if pod["metadata"]["ownerReferences"][0]["name"] == daemon_set
            and "deletionTimestamp" not in pod["metadata"]
        ]


def is_rolled_out(found: dict) -> bool:
    """Return whether a DaemonSet has all the pods it wants, of its newest template and bound."""
    status = found["status"]
    wanted = status.get("desiredNumberScheduled")
    return (
        status.get("observedGeneration") == found["metadata"]["generation"]
        and status.get("currentNumberScheduled") == wanted == status.get("updatedNumberScheduled", 0)
        and status.get("numberReady", 0) == wanted
        and status.get("numberMisscheduled", 0) == 0
    )


@pytest.fixture(scope="module")
def cluster(make_control_plane, lab_binaries):
    return Cluster(make_control_plane(), lab_binaries["kubectl"])


@pytest.mark.parametrize("landing", LANDINGS, ids=lambda each: each.name)
def test_upstream_lands(shared, cluster, landing):
    assert cluster.landed((shared / landing.file).read_text(), landing) == landing.pools


@pytest.mark.parametrize("landing", OURS, ids=lambda each: each.name)
def test_stand_in_lands_as_upstream(cluster, lab_binaries, landing):
    rendering = BY_FILE[Path(landing.file).stem]
    assert cluster.landed(template(lab_binaries, rendering).stdout, landing) == landing.pools


def test_stand_in_of_the_installer_lands_as_upstream(cluster):
    text = INSTALLER.read_text()
    expected = next(each for each in LANDINGS if each.name == "installer")
    assert cluster.landed(text, expected) == expected.pools


@pytest.mark.parametrize("source", ["upstream", "stand-in"])
def test_the_gpu_drivers_controller_wants_an_untainted_node(shared, cluster, lab_binaries, source):
    """With compute domains on there is a Deployment, and only the default pool takes it."""
    rendering = BY_FILE["nvidia-0.4.1-guide-a-as-printed"]
    text = (shared / rendered(rendering.file)).read_text()
    if source == "stand-in":
        text = template(lab_binaries, rendering).stdout
    cluster.kubectl("apply", "--server-side", "-n", "kube-system", "-f", "-", given=text)
    try:
        seen(
            cluster.api,
            DEPLOYMENTS,
            lambda found: any(each["status"].get("readyReplicas") == 1 for each in found),
            "the controller",
        )
        pods = [pod for pod in cluster.api.list(PODS) if "-controller-" in pod["metadata"]["name"]]
        assert [pod["spec"]["nodeName"] for pod in pods] == ["default-pool"]
    finally:
        cluster.kubectl("delete", "-n", "kube-system", "-f", "-", given=text)
        seen(cluster.api, PODS, lambda pods: not pods, "no pod left")
