# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in charts render what the upstream charts of the same name render, for the same values."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass

import pytest
import yaml

from ansible_collections.inference.dra.lab.chart_registry import SOURCES

pytestmark = [pytest.mark.lab, pytest.mark.shared]

GPU = "dra-driver-nvidia-gpu"
GUIDE_A = [
    "kubeletPlugin.tolerations[0].operator=Exists",
    "nvidiaDriverRoot=/home/kubernetes/bin/nvidia",
    "gpuResourcesEnabledOverride=true",
]
GUIDE_B = [
    "nvidiaDriverRoot=/home/kubernetes/bin/nvidia/",
    "gpuResourcesEnabledOverride=true",
    "resources.computeDomains.enabled=false",
    "kubeletPlugin.priorityClassName=",
    "controller.priorityClassName=",
    "kubeletPlugin.tolerations[0].key=nvidia.com/gpu",
    "kubeletPlugin.tolerations[0].operator=Exists",
    "kubeletPlugin.tolerations[0].effect=NoSchedule",
]
CPU = ["healthzPort=8085", "tolerations[0].operator=Exists"]
INDIVIDUAL = ["args.cpuDeviceMode=individual", "args.reservedCPUs=0-1"]
RELEASED = ["image.repository=registry.k8s.io/dra-driver-cpu/dra-driver-cpu", "image.tag=v0.2.0"]
NOOP = [
    "driverNames=image-configurator.x-k8s.io",
    "image.repository=registry.example.com/dra-driver-noop",
    "image.tag=1",
]


@dataclass(frozen=True)
class Rendering:
    """One recorded rendering: its file, the chart, the namespace and the values."""

    file: str
    chart: str
    values: list[str]
    namespace: str = "kube-system"


RENDERINGS = (
    Rendering("cpu-0.2.0-as-printed", "dra-driver-cpu", CPU),
    Rendering("cpu-0.2.0-corrected", "dra-driver-cpu", [*CPU, *RELEASED]),
    Rendering("cpu-0.2.0-individual", "dra-driver-cpu", INDIVIDUAL),
    Rendering("noop-0.1.0", "dra-driver-noop", NOOP),
    Rendering("nvidia-0.4.1-guide-a-as-printed", GPU, [*GUIDE_A, "image.tag=v0.5.0"]),
    Rendering(
        "nvidia-0.4.1-guide-a-corrected",
        GPU,
        [*GUIDE_A, "image.tag=v0.4.1", "resources.computeDomains.enabled=false"],
    ),
    Rendering("nvidia-0.4.1-guide-b", GPU, [*GUIDE_B, "image.tag=v0.4.1"], "nvidia-dra-driver-gpu"),
)
# What of an object decides where its pods land, what they may do and what can be allocated.
OF_A_POD = (
    "affinity", "hostNetwork", "nodeSelector", "priorityClassName", "serviceAccountName", "tolerations",
)  # fmt: skip
OF_A_CONTAINER = ("name", "image", "imagePullPolicy")
# Upstream's keys that the stand-ins take and do nothing about: nothing of them shows on a lab.
UNUSED = {
    "dra-driver-cpu": {"nameOverride", "fullnameOverride"},
    "dra-driver-noop": set(),
    GPU: {
        "altProcDevices", "fullnameOverride", "imagePullSecrets", "nameOverride", "namespaceOverride",
        "nvidiaCDIHookPath", "resourceApiVersion", "selectorLabelsOverride", "serviceAccount", "webhook",
        "controller.containers", "controller.leaderElection", "controller.metrics",
        "controller.networkPolicy", "controller.podAnnotations", "controller.podSecurityContext",
        "kubeletPlugin.containers", "kubeletPlugin.kubeletPluginsDirectoryPath",
        "kubeletPlugin.kubeletRegistrarDirectoryPath", "kubeletPlugin.metrics",
        "kubeletPlugin.networkPolicy", "kubeletPlugin.podSecurityContext",
    },
}  # fmt: skip
VALUES = {"dra-driver-cpu": "0.2.0", "dra-driver-noop": "0.1.0", GPU: "0.4.1"}


def helm(lab_binaries, *words):
    return subprocess.run([str(lab_binaries["helm"]), *words], capture_output=True, text=True, check=False)


def template(lab_binaries, rendering, *more):
    words = ["template", rendering.chart, str(SOURCES / rendering.chart), "--kube-version", "1.36.3"]
    words += ["--namespace", rendering.namespace, "--include-crds"]
    for value in rendering.values:
        words += ["--set", value]
    return helm(lab_binaries, *words, *more)


def facts(text: str) -> dict[tuple[str, str, str], dict]:
    """Return what counts of each object, by kind, namespace and name."""
    objects = [each for each in yaml.safe_load_all(text) if each]
    return {
        (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): fact(each)
        for each in objects
    }


def fact(obj: dict) -> dict:
    found = {"labels": obj["metadata"].get("labels", {})}
    if obj["kind"] in ("DaemonSet", "Deployment"):
        spec = obj["spec"]
        pod = spec["template"]["spec"]
        found |= {name: spec.get(name) for name in ("selector", "updateStrategy", "replicas")}
        found["pod labels"] = spec["template"]["metadata"]["labels"]
        found |= {name: pod.get(name) for name in OF_A_POD}
        for field in ("initContainers", "containers"):
            found[field] = [{name: each.get(name) for name in OF_A_CONTAINER} for each in pod.get(field, ())]
        found["arguments"] = [each.get("args") for each in pod["containers"] if each["name"] == "dracpu"]
    elif obj["kind"] == "DeviceClass":
        selectors = [" ".join(each["cel"]["expression"].split()) for each in obj["spec"]["selectors"]]
        found |= {"spec": {**obj["spec"], "selectors": selectors}}
    elif obj["kind"].endswith("Binding") and "roleRef" in obj:
        found |= {"roleRef": obj["roleRef"], "subjects": obj["subjects"]}
    elif obj["kind"] in ("Role", "ClusterRole"):
        found["rules"] = sorted(
            str({name: sorted(values) for name, values in rule.items()}) for rule in obj["rules"]
        )
    elif obj["kind"] == "CustomResourceDefinition":
        spec = obj["spec"]
        found |= {"group": spec["group"], "names": spec["names"], "scope": spec["scope"]}
    return found


def without_version(text: str) -> str:
    """Blank the GPU chart's own version: the stand-in is called as the release that no copy exists of."""
    text = re.sub(r"dra-driver-nvidia-gpu-0\.[45]\.[01]\b", "dra-driver-nvidia-gpu-X", text)
    return re.sub(r'(app.kubernetes.io/version: )"0\.[45]\.[01]"', r'\1"X"', text)


@pytest.mark.parametrize("rendering", RENDERINGS, ids=lambda each: each.file)
def test_rendered_as_upstream(shared, lab_binaries, rendering):
    theirs = facts(without_version((shared / "upstream/rendered" / f"{rendering.file}.yaml").read_text()))
    done = template(lab_binaries, rendering)
    assert done.returncode == 0, done.stderr
    ours = facts(without_version(done.stdout))
    if not any(kind == "CustomResourceDefinition" for kind, *_unused in theirs):
        ours = {key: found for key, found in ours.items() if key[0] != "CustomResourceDefinition"}
    assert sorted(ours) == sorted(theirs)
    for key, found in theirs.items():
        assert ours[key] == found, key


def keys(values: dict, unused: set[str], head: str = "") -> set[str]:
    """Return the dotted keys of values; what lies below a key that is not used is left out."""
    found = set()
    for name, value in values.items():
        key = head + name
        if key in unused:
            continue
        deeper = isinstance(value, dict) and value
        found |= keys(value, unused, f"{key}.") if deeper else {key}
    return found


@pytest.mark.parametrize("chart", sorted(VALUES))
def test_values_have_the_same_keys_and_defaults(shared, chart):
    file = shared / "upstream/values" / f"{chart}-{VALUES[chart]}.yaml"
    theirs = yaml.safe_load(file.read_text())
    ours = yaml.safe_load((SOURCES / chart / "values.yaml").read_text())
    unused = UNUSED[chart]
    assert keys(ours, unused) == keys(theirs, unused)
    for key in keys(theirs, unused):
        assert at(ours, key) == at(theirs, key), key


def at(values: dict, key: str):
    for name in key.split("."):
        values = values[name]
    return values


@pytest.mark.parametrize(
    ("chart", "namespace", "values", "words"),
    [
        pytest.param(GPU, "kube-system", [], "gpuResourcesEnabledOverride", id="device-plugin"),
        pytest.param(GPU, "default", ["gpuResourcesEnabledOverride=true"], "default", id="default-namespace"),
        pytest.param(
            "dra-driver-cpu", "kube-system", ["args.reservedCPUs=0"], "got number, want string", id="number"
        ),
        pytest.param(
            "dra-driver-cpu", "kube-system", ["args.foo=1"], "additional properties 'foo'", id="unknown"
        ),
    ],
)
def test_refuses_what_upstream_refuses(lab_binaries, chart, namespace, values, words):
    done = template(lab_binaries, Rendering("", chart, values, namespace))
    assert done.returncode != 0
    assert words in done.stderr


def test_takes_silently_what_upstream_does_nothing_about(lab_binaries):
    """The CPU driver's chart has neither node selector nor affinity, and does not say so."""
    plain = template(lab_binaries, Rendering("", "dra-driver-cpu", CPU))
    chosen = template(lab_binaries, Rendering("", "dra-driver-cpu", [*CPU, "nodeSelector.a=b"]))
    assert chosen.returncode == 0
    assert chosen.stdout == plain.stdout
