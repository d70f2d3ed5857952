# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the fungibility tutorial (GKE, GPU and CPU) has one type and apply, with what is corrected in it."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import yaml

from ansible_collections.inference.dra.controllers.image_configurator.manifests import render
from ansible_collections.inference.dra.lab import lifecycle
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import PODS, Kubernetes

COMMAND_SECONDS = 180

INSTALLER = Path(lifecycle.__file__).parent / "manifests" / "nvidia-driver-installer.yaml"
GATE = "image-configurator.x-k8s.io"
VARIABLES = """
PROJECT_ID=$(gcloud config get project)
PROJECT_NUMBER=$(gcloud projects describe ${PROJECT_ID} --format="value(projectNumber)")
CLUSTER_NAME=gpu-cpu-fungibility
LOCATION=us-central1
ZONE=us-central1-a
HF_TOKEN=hf_none
CLUSTER_VERSION="1.36.0-gke.100"
NAMESPACE=default
COMPUTE_CLASS=fungible-gpu-cpu
""".split("\n")


@dataclass(frozen=True)
class Step:
    """One thing to type.

    :param instead: what of the tutorial's line is corrected or replaced, and why; empty where nothing is.
    """

    name: str
    line: str
    instead: str = ""


CLOUD = (
    Step(
        "cluster",
        "gcloud container clusters create $CLUSTER_NAME --location=$LOCATION"
        " --cluster-version=$CLUSTER_VERSION --project=$PROJECT_ID --num-nodes=1"
        " --labels=created-by=ai-on-gke,guide=gpu-cpu-fungibility",
    ),
    Step(
        "gpu-pool",
        "gcloud container node-pools create gpu-pool --cluster=${CLUSTER_NAME} --location=${LOCATION}"
        ' --node-locations=${ZONE} --machine-type="g2-standard-8"'
        ' --accelerator="type=nvidia-l4,count=1,gpu-driver-version=disabled" --num-nodes=1'
        " --enable-autoscaling --min-nodes=0 --max-nodes=2"
        " --node-labels=cloud.google.com/compute-class=${COMPUTE_CLASS},"
        "gke-no-default-nvidia-gpu-device-plugin=true,nvidia.com/gpu.present=true,"
        "cloud.google.com/gke-nvidia-gpu-dra-driver=true"
        " --node-taints=cloud.google.com/compute-class=${COMPUTE_CLASS}:NoSchedule --spot",
    ),
    Step(
        "cpu-pool",
        "gcloud container node-pools create cpu-pool --cluster=${CLUSTER_NAME} --location=${LOCATION}"
        ' --node-locations=${ZONE} --machine-type="n2-standard-16" --num-nodes=0'
        " --enable-autoscaling --min-nodes=0 --max-nodes=2"
        " --node-labels=cloud.google.com/compute-class=${COMPUTE_CLASS},"
        "cloud.google.com/gke-cpu-dra-driver=true"
        " --node-taints=cloud.google.com/compute-class=${COMPUTE_CLASS}:NoSchedule --spot",
    ),
    Step(
        "repository",
        "gcloud artifacts repositories create dra-drivers --repository-format=docker --location=$LOCATION"
        ' --project=$PROJECT_ID --description="DRA Drivers Repository"',
    ),
    Step("docker-login", "gcloud auth configure-docker ${LOCATION}-docker.pkg.dev"),
    Step(
        "repository-address",
        "remember REPO_URI=$(gcloud artifacts repositories describe dra-drivers --location=$LOCATION"
        ' --format="value(registryUri)")',
        "the lab's registry has another host than LOCATION-docker.pkg.dev, so the address is asked for",
    ),
    Step(
        "credentials",
        "gcloud container clusters get-credentials ${CLUSTER_NAME} --location=${LOCATION}",
    ),
    Step(
        "secret",
        "kubectl create secret generic hf-secret --from-literal=hf_api_token=${HF_TOKEN}"
        " --namespace=${NAMESPACE}",
    ),
)
BUILT = ("dra-driver-noop", "image-configurator", "vllm-gemma4-gpu", "vllm-gemma4-cpu")
CHARTS = "oci://${DRA_LAB_REGISTRY}/charts"
DRIVERS = (
    Step(
        "kernel-driver",
        f"kubectl apply -f {INSTALLER}",
        "the installer from the branch master is pinned to nothing: the lab's own stand-in of it",
    ),
    Step(
        "gpu-driver",
        f"helm install dra-driver-nvidia-gpu {CHARTS}/dra-driver-nvidia-gpu --version 0.5.0 --plain-http"
        " --namespace=kube-system --set 'kubeletPlugin.tolerations[0].operator=Exists'"
        " --set nvidiaDriverRoot=/home/kubernetes/bin/nvidia --set gpuResourcesEnabledOverride=true"
        " --set image.tag=v0.5.0 --set resources.computeDomains.enabled=false",
        "the chart by its version, not the head of a clone beside a pinned image; compute domains off, "
        "or their container ends in a crash loop on an L4",
    ),
    Step(
        "cpu-driver",
        f"helm install dra-driver-cpu {CHARTS}/dra-driver-cpu --version 0.2.0 --plain-http"
        " --namespace=kube-system --set healthzPort=8085 --set 'tolerations[0].operator=Exists'"
        " --set image.repository=registry.k8s.io/dra-driver-cpu/dra-driver-cpu --set image.tag=v0.2.0",
        "the chart's default image lies in a staging registry that forgets it after 90 days",
    ),
    Step(
        "cpu-driver-selector",
        "kubectl patch ds -n kube-system dra-driver-cpu -p"
        ' \'{"spec":{"template":{"spec":{"nodeSelector":{"cloud.google.com/gke-cpu-dra-driver":"true"}}}}}\'',
    ),
    *(
        Step(
            f"image-{name}",
            "crane append --insecure --oci-empty-base --new_layer layer.tar"
            f" --new_tag ${{REPO_URI}}/{name}:latest",
            "docker build and docker push need a container runtime: an image of one file, pushed by crane",
        )
        for name in BUILT
    ),
    Step(
        "noop-driver",
        f"helm install dra-driver-noop {CHARTS}/dra-driver-noop --version 0.1.0 --plain-http"
        " --namespace=kube-system --set driverNames=image-configurator.x-k8s.io"
        ' --set image.repository="${REPO_URI}/dra-driver-noop" --set image.tag=latest',
        "the folder in the tutorial has no Chart.yaml: the chart lies one deeper",
    ),
    Step(
        "noop-driver-tolerations",
        "kubectl patch ds -n kube-system dra-driver-noop -p"
        ' \'{"spec":{"template":{"spec":{"tolerations":[{"operator":"Exists"}]}}}}\'',
    ),
    Step(
        "image-configurator",
        "envsubst < image-configurator.yaml | kubectl apply -f -",
        "upstream publishes no image, lacks the right to patch claims on 1.36 and never writes the failure "
        "condition: this collection's controller, as its role installs it",
    ),
    Step(
        "configurator-ready",
        "kubectl rollout status -n kube-system deployment/image-configurator --timeout=120s",
        "the tutorial looks once; nothing says that it is early",
    ),
    Step(
        "pods-of-drivers",
        "kubectl get pods -A | grep -E"
        " 'dra-driver-nvidia-gpu|dra-driver-cpu|image-configurator|dra-driver-noop'",
        "the pattern nvidia-dra-driver matches no pod of this chart",
    ),
    Step("slices", "kubectl get resourceslices -o yaml"),
)
WORKLOAD = (
    Step("compute-class", "kubectl apply -f compute-class.yaml"),
    Step("claim-template", "envsubst < claim-template.yaml | kubectl apply --namespace=${NAMESPACE} -f -"),
    Step(
        "deployment",
        "kubectl apply -f deployment.yaml --namespace=${NAMESPACE}",
        "the command and arguments that stand below the Service belong to neither object and make the "
        "Service unreadable: left out, the images have entry points",
    ),
)


def image_config(alternative: str, image: str) -> dict:
    parameters = {"apiVersion": f"{GATE}/v1alpha1", "kind": "ImageConfig", "containerName": "vllm"}
    return {
        "requests": [f"device/{alternative}"],
        "opaque": {"driver": GATE, "parameters": {**parameters, "image": f"${{REPO_URI}}/{image}:latest"}},
    }


FUNGIBLE = {
    "apiVersion": "cloud.google.com/v1",
    "kind": "ComputeClass",
    "metadata": {"name": "fungible-gpu-cpu"},
    "spec": {
        "priorities": [{"nodepools": ["gpu-pool"]}, {"nodepools": ["cpu-pool"]}],
        "whenUnsatisfiable": "DoNotScaleUp",
    },
}
CLAIM_TEMPLATE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "gpu-or-cpu"},
    "spec": {
        "spec": {
            "devices": {
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
                    {"name": "image-config", "exactly": {"deviceClassName": GATE}},
                ],
                "config": [image_config("gpu", "vllm-gemma4-gpu"), image_config("cpu", "vllm-gemma4-cpu")],
            }
        }
    },
}
CONTAINER = {
    "name": "vllm",
    "image": "registry.k8s.io/pause:3.10",
    "imagePullPolicy": "Always",
    "env": [
        {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf-secret", "key": "hf_api_token"}}}
    ],
    "ports": [{"containerPort": 8000}],
    "resources": {"claims": [{"name": "device"}]},
    "readinessProbe": {"tcpSocket": {"port": 8000}, "initialDelaySeconds": 15, "periodSeconds": 10},
    "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}],
}
APP = {"app": "vllm-fungible"}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "vllm-fungible", "labels": APP},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": APP},
        "template": {
            "metadata": {"labels": APP},
            "spec": {
                "nodeSelector": {"cloud.google.com/compute-class": "fungible-gpu-cpu"},
                "tolerations": [
                    {"key": "cloud.google.com/compute-class", "operator": "Exists"},
                    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
                    {"key": "DeletionCandidateOfClusterAutoscaler", "operator": "Exists"},
                ],
                "resourceClaims": [{"name": "device", "resourceClaimTemplateName": "gpu-or-cpu"}],
                "containers": [CONTAINER],
                "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory"}}],
            },
        },
    },
}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "vllm-service"},
    "spec": {"selector": APP, "ports": [{"port": 8000, "targetPort": 8000}]},
}


class Shell:
    """A shell that remembers its variables from one line to the next, and what the lab's cluster holds."""

    def __init__(self, lab, home: Path) -> None:
        self.lab, self.home = lab, home
        self.environment = {
            "HOME": str(home),
            "TERM": "dumb",
            **lifecycle.environment(lab),
            "PATH": f"{lab.directory / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "CLOUDSDK_CONFIG": str(home / "gcloud"),
            "KUBECONFIG": str(home / "kubeconfig"),
        }
        self.api = Kubernetes.connect({"kubeconfig": str(lab.kubeconfig)})

    def type(self, line: str) -> str:
        """Run a line, which has to succeed, and return its output."""
        if line.startswith("remember "):
            self.remember(line.removeprefix("remember "))
            return ""
        done = self.run(line)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )

    def remember(self, assignment: str) -> None:
        name, _unused, value = assignment.partition("=")
        self.environment[name] = self.type(f"echo {value}").strip()

    def replicas(self) -> list[dict]:
        return list(self.api.list(PODS, "default", label_selector="app=vllm-fungible"))

    def post(self, target: str, body: dict) -> dict:
        """Send a chat completion to a pod or service through a port-forward and return the answer."""
        command = ["kubectl", "port-forward", target, ":8000"]
        with subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as forward:
            line = forward.stdout.readline()
            try:
                assert line.startswith("Forwarding from 127.0.0.1:"), line
                port = line.split(":")[1].split()[0]
                url = f"http://127.0.0.1:{port}/v1/chat/completions"
                header = "-H 'Content-Type: application/json'"
                return json.loads(self.type(f"curl -sf --max-time 60 {url} {header} -d '{json.dumps(body)}'"))
            finally:
                forward.terminate()


def lay_out(home: Path) -> None:
    """Write the manifests that are applied, and a layer for the images that are pushed."""
    write(home, "compute-class", FUNGIBLE)
    write(home, "claim-template", CLAIM_TEMPLATE)
    write(home, "deployment", DEPLOYMENT, SERVICE)
    image = "${REPO_URI}/image-configurator:latest"
    templates = ("rbac", "availability", "deployment", "device-class", "admission")
    parts = [render(f"{name}.yaml.j2", image_configurator_image=image) for name in templates]
    write(home, "image-configurator", *(each for part in parts for each in part))
    (home / "content").write_text("nothing\n")
    with tarfile.open(home / "layer.tar", "w") as layer:
        layer.add(home / "content", "content")


def write(home: Path, name: str, *objects: dict) -> None:
    (home / f"{name}.yaml").write_text(yaml.safe_dump_all(objects, sort_keys=False))
