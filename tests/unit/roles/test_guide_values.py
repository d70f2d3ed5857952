# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""inventories/gke has the names and values of the guide on workload fungibility between GPUs and CPUs.

The values here are the guide's, typed from its commands and manifests. Where the inventory differs, it does
so on purpose, and ``DIFFERENCES`` says why.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.inference.dra.plugins.module_utils._core.alternatives import plan

from .test_vllm import trusted

ROOT = Path(__file__).resolve().parents[3]
CLASS = "cloud.google.com/compute-class"
REGISTRY = "us-central1-docker.pkg.dev/my-project/dra-drivers"
POOL = {"class": "fungible-gpu-cpu", "spot": True, "zones": ["us-central1-a"], "least": 0, "most": 2}

GUIDE = {
    "cluster": "gpu-cpu-fungibility",
    "location": "us-central1",
    "cluster labels": {"created-by": "ai-on-gke", "guide": "gpu-cpu-fungibility"},
    "repository": "dra-drivers",
    "registry": REGISTRY,
    "pools": ["gpu-pool", "cpu-pool"],
    "gpu-pool": POOL
    | {
        "machine": "g2-standard-8",
        "accelerators": [("nvidia-l4", 1, "disabled")],
        "first": 1,
        "labels": {
            CLASS: "fungible-gpu-cpu",
            "gke-no-default-nvidia-gpu-device-plugin": "true",
            "nvidia.com/gpu.present": "true",
            "cloud.google.com/gke-nvidia-gpu-dra-driver": "true",
        },
        "taints": [(CLASS, "fungible-gpu-cpu", "NoSchedule")],
    },
    "cpu-pool": POOL
    | {
        "machine": "n2-standard-16",
        "accelerators": [],
        "first": 0,
        "labels": {CLASS: "fungible-gpu-cpu", "cloud.google.com/gke-cpu-dra-driver": "true"},
        "taints": [(CLASS, "fungible-gpu-cpu", "NoSchedule")],
    },
    "class": ("fungible-gpu-cpu", [["gpu-pool"], ["cpu-pool"]], "DoNotScaleUp"),
    "claim template": "gpu-or-cpu",
    "requests": [
        {
            "name": "device",
            "firstAvailable": [
                {"name": "gpu", "deviceClassName": "gpu.nvidia.com"},
                {
                    "name": "cpu",
                    "deviceClassName": "dra.cpu",
                    "capacity": {"requests": {"dra.cpu/cpu": "12"}},
                },
            ],
        },
        {"name": "image-config", "exactly": {"deviceClassName": "image-configurator.x-k8s.io"}},
    ],
    "images": {
        "device/gpu": ("vllm", f"{REGISTRY}/vllm-gemma4-gpu:latest"),
        "device/cpu": ("vllm", f"{REGISTRY}/vllm-gemma4-cpu:latest"),
    },
    "namespace": "default",
    "Secret": ("hf-secret", "hf_api_token"),
    "Deployment": ("vllm-fungible", 1, {"app": "vllm-fungible"}),
    "placeholder": "registry.k8s.io/pause:3.10",
    "node selector": {CLASS: "fungible-gpu-cpu"},
    "tolerations": [CLASS, "nvidia.com/gpu", "DeletionCandidateOfClusterAutoscaler"],
    "Service": ("vllm-service", {"app": "vllm-fungible"}, 8000),
    "replicas of the demonstration": [1, 2, 4],
}

DIFFERENCES = {
    # GKE's autoscaler foresees no dra.cpu slices on nodes that are not there: an empty pool may not grow.
    "cpu-pool": {"first": 1, "least": 1},
    # A template can't be changed, so its name says what is in it.
    "claim template": re.compile(r"gpu-or-cpu-[0-9a-f]{8}"),
    # The tag follows from the content, and the claim template has the digest.
    "images": {
        "device/gpu": ("vllm", f"{REGISTRY}/vllm-gemma4-gpu@sha256:{'1' * 64}"),
        "device/cpu": ("vllm", f"{REGISTRY}/vllm-gemma4-cpu@sha256:{'2' * 64}"),
    },
}


class Inventory:
    """inventories/gke once its images are built, with the role vllm."""

    def __init__(self) -> None:
        files = [ROOT / "roles/vllm" / part / "main.yml" for part in ("defaults", "vars")]
        files += sorted((ROOT / "inventories/gke/group_vars/all").glob("*.yml"))
        self.variables = {}
        for path in files:
            self.variables |= yaml.safe_load(path.read_text())
        built = {
            name: f"{REGISTRY}/vllm-gemma4-{name}@sha256:{digit * 64}"
            for name, digit in (("gpu", "1"), ("cpu", "2"))
        }
        self.variables |= {"inference_project": "my-project", "inference_image_references": built}
        settings = self("{{ inference_plan_settings }}")
        self.plan = plan(self("{{ inference_alternatives }}"), settings).as_dict()
        self.variables |= {"vllm_plan": self.plan}

    def __call__(self, text):
        return Templar(DataLoader(), trusted(self.variables)).template(trust_as_template(text))

    def rendered(self, name):
        found = self((ROOT / "roles/vllm/templates" / name).read_text())
        return yaml.safe_load(found) if isinstance(found, str) else found


def values(inventory):
    """Return what the inventory says under the names of the guide's table."""
    deployment, service = (inventory.rendered(f"{each}.yaml.j2") for each in ("deployment", "service"))
    template = inventory.rendered("claim-template.yaml.j2")
    compute_class = inventory.plan["compute_class"]
    pod = deployment["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    (token,) = container["env"]
    (port,) = service["spec"]["ports"]
    pools = {each["name"]: pool_values(each) for each in inventory.plan["node_pools"]}
    devices = template["spec"]["spec"]["devices"]
    return pools | {
        "cluster": inventory("{{ gke_cluster_name }}"),
        "location": inventory("{{ gke_cluster_location }}"),
        "cluster labels": inventory("{{ gke_cluster_labels }}"),
        "repository": inventory("{{ artifact_registry_name }}"),
        "registry": inventory("{{ container_images_registry }}"),
        "pools": [*pools],
        "class": (
            compute_class["metadata"]["name"],
            [each["nodepools"] for each in compute_class["spec"]["priorities"]],
            compute_class["spec"]["whenUnsatisfiable"],
        ),
        "claim template": template["metadata"]["name"],
        "requests": devices["requests"],
        "images": {name: image for each in devices["config"] for name, image in image_values(each)},
        "namespace": inventory("{{ vllm_namespace }}"),
        "Secret": (token["valueFrom"]["secretKeyRef"]["name"], token["valueFrom"]["secretKeyRef"]["key"]),
        "Deployment": (
            deployment["metadata"]["name"],
            deployment["spec"]["replicas"],
            deployment["spec"]["selector"]["matchLabels"],
        ),
        "placeholder": container["image"],
        "node selector": pod["spec"]["nodeSelector"],
        "tolerations": [each["key"] for each in pod["spec"]["tolerations"]],
        "Service": (service["metadata"]["name"], service["spec"]["selector"], port["port"]),
        "replicas of the demonstration": inventory("{{ scale_demo_steps }}"),
    }


def pool_values(pool):
    return {
        "class": pool["labels"][CLASS],
        "spot": pool["spot"],
        "zones": pool["locations"],
        "least": pool["autoscaling"]["min_node_count"],
        "most": pool["autoscaling"]["max_node_count"],
        "first": pool["initial_node_count"],
        "machine": pool["machine_type"],
        "accelerators": [
            (each["type"], each["count"], each["gpu_driver_version"]) for each in pool["accelerators"]
        ],
        "labels": pool["labels"],
        "taints": [(each["key"], each["value"], each["effect"]) for each in pool["taints"]],
    }


def image_values(config):
    parameters = config["opaque"]["parameters"]
    return [(name, (parameters["containerName"], parameters["image"])) for name in config["requests"]]


@pytest.fixture(scope="module")
def found():
    return values(Inventory())


@pytest.mark.parametrize("name", GUIDE)
def test_the_inventory_says_what_the_guide_says(name, found):
    wanted, difference = GUIDE[name], DIFFERENCES.get(name)
    if isinstance(difference, re.Pattern):
        assert difference.fullmatch(found[name])
    elif difference:
        assert found[name] == wanted | difference
    else:
        assert found[name] == wanted


def test_nothing_is_compared_that_the_guide_has_not(found):
    assert {*found} == {*GUIDE}
    assert {*DIFFERENCES} <= {*GUIDE}
