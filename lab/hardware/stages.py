# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kwok plays of the kubelets: nodes become Ready, pods start, complete and go.

Objects of kwok's ``Stage`` kind (kwok.x-k8s.io/v1alpha1). Pods that the lab plays itself, because
their start can fail or takes time (model servers, the GPU driver), are only prepared by kwok: they
get an address and wait in ContainerCreating until the lab decides. A node's address is kwok's own,
because the API server asks there for logs and port-forwards.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    Kubernetes,
    Resource,
)

STAGES = Resource("kwok.x-k8s.io", "v1alpha1", "stages", "Stage", namespaced=False)
MANAGER = "inference.dra-lab"

GPU_PLUGIN_IMAGE = "(^|/)(dra-driver-nvidia-gpu|k8s-dra-driver-gpu)([:@]|$)"
MODEL_SERVER_IMAGE = "vllm"


def played_by_lab(own_images: str) -> str:
    """Return the expression (jq, evaluated by kwok on the pod) that says who starts a pod's containers.

    It yields text because selectors compare text.
    """
    mine = [
        f'any(.spec.containers[]; .image | test("{MODEL_SERVER_IMAGE}"))',
        f'any(.spec.containers[]; (.name == "gpus") and (.image | test("{GPU_PLUGIN_IMAGE}")))',
    ]
    if own_images:
        mine.append(f'any(.spec.containers[], .spec.initContainers[]?; .image | startswith("{own_images}"))')
    return f'if {" or ".join(mine)} then "lab" else "kwok" end'


NOT_DELETED = {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"}


def stage(name: str, kind: str, expressions: list[dict[str, Any]], then: dict[str, Any]) -> Any:
    return {
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": expressions},
            "next": then,
        },
    }


def is_in(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def is_not_in(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "NotIn", "values": list(values)}


READY = '.status.conditions.[] | select( .type == "Ready" ) | .status'

NODE_READY = """
{{ $now := Now }}
conditions:
{{ range NodeConditions }}
- {type: {{ .type | Quote }}, status: {{ .status | Quote }}, reason: {{ .reason | Quote }},
   message: {{ .message | Quote }}, lastHeartbeatTime: {{ $now | Quote }},
   lastTransitionTime: {{ $now | Quote }}}
{{ end }}
addresses:
{{ with NodeIP }}
- {type: InternalIP, address: {{ . | Quote }}}
{{ end }}
{{ with NodeName }}
- {type: Hostname, address: {{ . | Quote }}}
{{ end }}
daemonEndpoints: {kubeletEndpoint: {Port: {{ NodePort }}}}
allocatable:
{{ with .status.allocatable }}
  {{ YAML . 1 }}
{{ else }}
  {cpu: 1k, memory: 1Ti, pods: 1M}
{{ end }}
capacity:
{{ with .status.capacity }}
  {{ YAML . 1 }}
{{ else }}
  {cpu: 1k, memory: 1Ti, pods: 1M}
{{ end }}
nodeInfo:
  architecture: {{ or .status.nodeInfo.architecture "amd64" }}
  bootID: {{ or .status.nodeInfo.bootID `""` }}
  containerRuntimeVersion: {{ or .status.nodeInfo.containerRuntimeVersion "kwok" }}
  kernelVersion: {{ or .status.nodeInfo.kernelVersion "kwok" }}
  kubeProxyVersion: {{ or .status.nodeInfo.kubeProxyVersion "kwok" }}
  kubeletVersion: {{ or .status.nodeInfo.kubeletVersion "kwok" }}
  machineID: {{ or .status.nodeInfo.machineID `""` }}
  operatingSystem: {{ or .status.nodeInfo.operatingSystem "linux" }}
  osImage: {{ or .status.nodeInfo.osImage `""` }}
  systemUUID: {{ or .status.nodeInfo.systemUUID `""` }}
phase: Running
"""

ADDRESSES = """
{{ with NodeIPsWith .spec.nodeName }}
hostIP: {{ index . 0 | Quote }}
hostIPs:
{{ range . }}
- ip: {{ . | Quote }}
{{ end }}
{{ end }}
{{ $name := or .metadata.name "" }}
{{ $space := or .metadata.namespace "" }}
{{ with PodIPsWith .spec.nodeName (or .spec.hostNetwork false) (or .metadata.uid "") $name $space }}
podIP: {{ index . 0 | Quote }}
podIPs:
{{ range . }}
- ip: {{ . | Quote }}
{{ end }}
{{ end }}
"""


def conditions(status: str) -> str:
    lines = [
        f'- {{type: {kind}, status: "{value}", lastTransitionTime: {{{{ $now | Quote }}}}}}'
        for kind, value in (
            ("PodReadyToStartContainers", "True"),
            ("Initialized", "True"),
            ("Ready", status),
            ("ContainersReady", status),
        )
    ]
    gates = (
        "{{ range .spec.readinessGates }}\n"
        '- {type: {{ .conditionType | Quote }}, status: "True", lastTransitionTime: {{ $now | Quote }}}\n'
        "{{ end }}"
    )
    return "\n".join(["conditions:", *lines, gates, ""])


def containers(field: str, of: str, state: str) -> str:
    ready = "true" if "running" in state else "false"
    return (
        f"{field}:\n{{{{ range .spec.{of} }}}}\n"
        "- name: {{ .name | Quote }}\n  image: {{ .image | Quote }}\n  restartCount: 0\n"
        f"  ready: {ready}\n  started: {ready}\n  state: {state}\n{{{{ end }}}}\n"
    )


RUNNING = "{running: {startedAt: {{ $now | Quote }}}}"
CREATING = "{waiting: {reason: ContainerCreating}}"
COMPLETED = (
    "{terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, "
    "finishedAt: {{ $now | Quote }}}}"
)
INIT_DONE = """initContainerStatuses:
{{ range .spec.initContainers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  restartCount: 0
  ready: true
{{ if eq .restartPolicy "Always" }}
  started: true
  state: {running: {startedAt: {{ $now | Quote }}}}
{{ else }}
  state:
    terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }},
      finishedAt: {{ $now | Quote }}}
{{ end }}
{{ end }}
"""
NOW = "{{ $now := Now }}\n"

POD_RUNS = (
    NOW
    + conditions("True")
    + containers("containerStatuses", "containers", RUNNING)
    + INIT_DONE
    + ADDRESSES
    + "phase: Running\nstartTime: {{ $now | Quote }}\n"
)
POD_PREPARED = (
    NOW
    + conditions("False")
    + containers("containerStatuses", "containers", CREATING)
    + containers("initContainerStatuses", "initContainers", "{waiting: {reason: PodInitializing}}")
    + ADDRESSES
    + "phase: Pending\nstartTime: {{ $now | Quote }}\n"
)
POD_COMPLETES = NOW + containers("containerStatuses", "containers", COMPLETED) + "phase: Succeeded\n"


def stages(*, lab_plays: bool, own_images: str = "") -> list[dict[str, Any]]:
    """Return the Stage objects.

    :param lab_plays: whether the lab's own process decides on model servers and GPU drivers; without
        it kwok starts every pod at once.
    :param own_images: what image references begin with that the lab's own process looks up first.
    """
    player = played_by_lab(own_images)
    pending = [NOT_DELETED, is_in(".status.phase", "Pending"), is_not_in(READY, "True")]
    by_kwok = [is_in(player, "kwok")] if lab_plays else []
    found = [
        stage("node-ready", "Node", [is_not_in(READY, "True")], {"statusTemplate": NODE_READY}),
        stage("pod-run", "Pod", [*pending, *by_kwok], {"statusTemplate": POD_RUNS}),
        stage(
            "pod-complete",
            "Pod",
            [
                NOT_DELETED,
                is_in(".status.phase", "Running"),
                is_in(".metadata.ownerReferences.[].kind", "Job"),
            ],
            {"statusTemplate": POD_COMPLETES},
        ),
        stage(
            "pod-delete",
            "Pod",
            [{"key": ".metadata.deletionTimestamp", "operator": "Exists"}],
            {"delete": True},
        ),
    ]
    if lab_plays:
        unprepared = {"key": ".status.startTime", "operator": "DoesNotExist"}
        by_lab = is_in(player, "lab")
        found.append(
            stage("pod-prepare", "Pod", [*pending, unprepared, by_lab], {"statusTemplate": POD_PREPARED})
        )
    return found


def install(api: Kubernetes, *, lab_plays: bool, own_images: str = "") -> None:
    """Write the Stage objects; kwok follows at once."""
    for each in stages(lab_plays=lab_plays, own_images=own_images):
        api.apply(STAGES, each, field_manager=MANAGER, force=True)
