# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One list in, everything else out: the two-alternative service, other lengths, and wrong lists."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest
import yaml

from ansible_collections.inference.dra.plugins.module_utils._core.alternatives import InputError, plan

REGISTRY = "us-central1-docker.pkg.dev/my-project/dra-drivers"

GPU = {
    "name": "gpu",
    "device_class": "gpu.nvidia.com",
    "node_pool": {
        "name": "gpu-pool",
        "machine_type": "g2-standard-8",
        "accelerator": "nvidia-l4",
        "spot": True,
        "min_nodes": 0,
        "max_nodes": 2,
        "initial_nodes": 1,
    },
    "image": {"name": "vllm-gemma4-gpu", "tag": "latest"},
    "usd_per_hour": {"value": 0.341, "as_of": "2026-08"},
}
CPU = {
    "name": "cpu",
    "device_class": "dra.cpu",
    "capacity": {"dra.cpu/cpu": "12"},
    "node_pool": {
        "name": "cpu-pool",
        "machine_type": "n2-standard-16",
        "spot": True,
        "min_nodes": 1,
        "max_nodes": 2,
        "initial_nodes": 1,
    },
    "image": {"name": "vllm-gemma4-cpu", "tag": "latest"},
    "usd_per_hour": {"value": "0.254", "as_of": "2026-08-21"},
}
SETTINGS = {"image_registry": REGISTRY, "zones": ["us-central1-a"]}


def changed(alternative, **fields):
    """Return a copy with dotted fields set (``node_pool__spot=False``) or, with ``...``, removed."""
    result = copy.deepcopy(alternative)
    for path, value in fields.items():
        *parents, last = path.split("__")
        place = result
        for parent in parents:
            place = place[parent]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    return result


def guide_documents():
    guide = Path(__file__).parents[3].parent / "shared/guides/guide-a-gpu-cpu-fungibility.txt"
    if not guide.exists():
        pytest.skip("the recorded guide does not lie beside the checkout")
    return guide.read_text(encoding="utf-8")


def manifest(text, start, end):
    found = re.search(rf"{start}.*?(?=\n\n{end})", text, re.DOTALL)
    return yaml.safe_load(found.group().replace("${REPO_URI}", REGISTRY))


@pytest.mark.shared
class TestTwoAlternativesEqualTheUpstreamGuide:
    def test_claim_template(self):
        wanted = manifest(
            guide_documents(),
            r"apiVersion: resource\.k8s\.io/v1\nkind: ResourceClaimTemplate",
            "Apply",
        )
        assert plan([GPU, CPU], SETTINGS).claim_template() == wanted

    def test_compute_class(self):
        wanted = manifest(guide_documents(), r"apiVersion: cloud\.google\.com/v1", "Apply")
        assert plan([GPU, CPU], SETTINGS).compute_class() == wanted

    def test_placement(self):
        text = guide_documents()
        found = re.search(r"      nodeSelector:\n.*?(?=      resourceClaims:)", text, re.DOTALL)
        pod = yaml.safe_load(found.group())
        placement = plan([GPU, CPU], SETTINGS).placement()
        assert placement["nodeSelector"] == pod["nodeSelector"]
        assert placement["tolerations"] == pod["tolerations"]

    @pytest.mark.parametrize("index", [0, 1], ids=["gpu-pool", "cpu-pool"])
    def test_node_pool(self, index):
        text = guide_documents()
        pool = plan([GPU, CPU], SETTINGS).node_pools()[index]
        command = re.search(rf"node-pools create {pool['name']}(.*?)\n\n", text, re.DOTALL).group()
        flags = dict(re.findall(r'--([a-z-]+)=?("[^"]*"|\S*)', command))
        known = {"${COMPUTE_CLASS}": "fungible-gpu-cpu", "${ZONE}": "us-central1-a", '"': ""}

        def flag(name):
            value = flags[name]
            for old, new in known.items():
                value = value.replace(old, new)
            return value

        assert pool["machine_type"] == flag("machine-type")
        assert pool["labels"] == dict(pair.split("=") for pair in flag("node-labels").split(","))
        assert [f"{t['key']}={t['value']}:{t['effect']}" for t in pool["taints"]] == [flag("node-taints")]
        assert pool["spot"] == ("spot" in flags)
        assert pool["locations"] == [flag("node-locations")]
        assert str(pool["autoscaling"]["max_node_count"]) == flag("max-nodes")
        accelerators = [
            f"type={a['type']},count={a['count']},gpu-driver-version={a['gpu_driver_version']}"
            for a in pool["accelerators"]
        ]
        assert accelerators == ([flag("accelerator")] if "accelerator" in flags else [])


def test_alternatives_with_digests_keep_the_order_everywhere():
    digest = f"{REGISTRY}/vllm@sha256:{'0' * 64}"
    h100 = changed(
        GPU,
        name="h100",
        selectors=["device.attributes['gpu.nvidia.com'].productName.contains('H100')"],
        node_pool__name="h100-pool",
        node_pool__accelerator="nvidia-h100-80gb",
        node_pool__machine_type="a3-highgpu-1g",
    )
    result = plan([h100, GPU, CPU], {**SETTINGS, "image_references": {"h100": digest}}).as_dict()
    request = result["claim_template"]["spec"]["spec"]["devices"]["requests"][0]
    assert [item["name"] for item in request["firstAvailable"]] == ["h100", "gpu", "cpu"]
    assert request["firstAvailable"][0]["selectors"] == [{"cel": {"expression": h100["selectors"][0]}}]
    assert result["compute_class"]["spec"]["priorities"] == [
        {"nodepools": ["h100-pool"]},
        {"nodepools": ["gpu-pool"]},
        {"nodepools": ["cpu-pool"]},
    ]
    terms = result["placement"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [(t["weight"], t["preference"]["matchExpressions"][0]["values"]) for t in terms] == [
        (100, ["h100-pool"]),
        (50, ["gpu-pool"]),
    ]
    assert [(i["alternative"], i["pinned"]) for i in result["images"]] == [
        ("h100", True),
        ("gpu", False),
        ("cpu", False),
    ]
    configs = result["claim_template"]["spec"]["spec"]["devices"]["config"]
    assert configs[0]["requests"] == ["device/h100"]
    assert configs[0]["opaque"]["parameters"]["image"] == digest
    assert result["device_classes"] == [
        {"name": "gpu.nvidia.com", "driver": "gpu.nvidia.com"},
        {"name": "dra.cpu", "driver": "dra.cpu"},
        {"name": "image-configurator.x-k8s.io", "driver": "image-configurator.x-k8s.io"},
    ]


def test_node_of_a_gpu_pool_carries_what_gke_adds():
    node = plan([GPU, CPU], SETTINGS).nodes()[0]
    assert {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"} in node["taints"]
    assert node["labels"]["cloud.google.com/gke-nodepool"] == "gpu-pool"
    assert node["labels"]["cloud.google.com/gke-accelerator"] == "nvidia-l4"


def test_expected_slices_count_devices_per_node_and_the_gate_once():
    four = changed(GPU, node_pool__accelerator={"type": "nvidia-l4", "count": 4})
    slices = plan([four, CPU], SETTINGS).slices()
    assert [(s["driver"], s["devices_min"], s["all_nodes"]) for s in slices] == [
        ("gpu.nvidia.com", 4, False),
        ("dra.cpu", 1, False),
        ("image-configurator.x-k8s.io", 1, True),
    ]
    assert slices[1]["node_selector"] == {"cloud.google.com/gke-nodepool": "cpu-pool"}
    assert slices[1]["capacity"] == {"dra.cpu/cpu": "12"}
    assert [each.get("cpu_manager_policy") for each in slices] == [None, "none", None]


@pytest.mark.parametrize("alternatives", [pytest.param([GPU, CPU], id="C34-two-alternatives")])
def test_only_the_soft_candidate_taint_is_tolerated_with_no_effect_given(alternatives):
    tolerations = plan(alternatives, SETTINGS).placement()["tolerations"]
    assert {"key": "DeletionCandidateOfClusterAutoscaler", "operator": "Exists"} in tolerations
    assert all(t.get("key") not in {"ToBeDeletedByClusterAutoscaler", None} for t in tolerations)


@pytest.mark.parametrize(
    ("count", "weights"),
    [
        pytest.param(1, [], id="one"),
        pytest.param(2, [100], id="two"),
        pytest.param(3, [100, 50], id="three"),
        pytest.param(8, [100, 86, 71, 57, 43, 29, 14], id="eight"),
    ],
)
def test_affinity_weights_fall_to_zero_for_the_last(count, weights):
    items = [changed(GPU, name=f"a{index}", node_pool__name=f"pool-{index}") for index in range(count)]
    placement = plan(items).placement()
    terms = placement.get(
        "affinity", {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    )
    assert [
        t["weight"] for t in terms["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    ] == weights


def test_nodes_that_exist_already_need_no_pool_and_no_class():
    gpu = changed(GPU, node_pool=..., node_selector={"accelerator": "l4"})
    cpu = changed(CPU, node_pool=...)
    result = plan([gpu, cpu], {"compute_class": ""}).as_dict()
    assert result["compute_class"] is None
    assert result["node_pools"] == []
    assert result["placement"]["nodeSelector"] == {}
    assert [t["key"] for t in result["placement"]["tolerations"]] == [
        "nvidia.com/gpu",
        "DeletionCandidateOfClusterAutoscaler",
    ]
    assert (
        len(
            result["placement"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
        )
        == 1
    )


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        pytest.param({"count": "2"}, 2, id="C47-count-as-text"),
        pytest.param({"node_pool__max_nodes": "4"}, 4, id="C47-size-as-text"),
        pytest.param({"node_pool__spot": "yes"}, True, id="C47-switch-as-text"),
    ],
)
def test_numbers_given_on_a_command_line_are_numbers(fields, value):
    accelerator = {"type": "nvidia-l4", "count": "2"}
    result = plan([changed(GPU, node_pool__accelerator=accelerator, **fields)], SETTINGS)
    pool = result.node_pools()[0]
    request = result.claim_template()["spec"]["spec"]["devices"]["requests"][0]["firstAvailable"][0]
    found = {
        "count": request.get("count"),
        "node_pool__max_nodes": pool["autoscaling"]["max_node_count"],
        "node_pool__spot": pool["spot"],
    }[next(iter(fields))]
    assert found == value
    assert type(found) is type(value)


def test_capacity_given_as_a_number_becomes_a_quantity():
    result = plan([changed(CPU, capacity={"dra.cpu/cpu": 12})], SETTINGS).claim_template()
    first = result["spec"]["spec"]["devices"]["requests"][0]["firstAvailable"][0]
    assert first["capacity"] == {"requests": {"dra.cpu/cpu": "12"}}


WRONG = [
    ("not-a-list", {"gpu": GPU}, None, "alternatives", ""),
    ("empty", [], None, "alternatives", ""),
    ("entry-is-text", ["gpu"], None, "alternatives[0]", ""),
    ("nine", [changed(CPU, name=f"a{i}", node_pool=...) for i in range(9)], None, "alternatives", ""),
    ("name-upper-case", [changed(GPU, name="GPU")], None, "alternatives[0] (GPU)", "name"),
    ("name-missing", [changed(GPU, name=...)], None, "alternatives[0]", "name"),
    ("name-twice", [GPU, changed(CPU, name="gpu")], None, "alternatives[1] (gpu)", "name"),
    (
        "pool-twice",
        [GPU, changed(CPU, node_pool__name="gpu-pool")],
        None,
        "alternatives[1] (cpu)",
        "node_pool.name",
    ),
    ("class-missing", [changed(GPU, device_class=...)], None, "alternatives[0] (gpu)", "device_class"),
    ("unknown-field", [changed(GPU, nodepool={})], None, "alternatives[0] (gpu)", "nodepool"),
    (
        "unknown-field-in-pool",
        [changed(GPU, node_pool__size=3)],
        None,
        "alternatives[0] (gpu)",
        "node_pool.size",
    ),
    ("count-zero", [changed(GPU, count=0)], None, "alternatives[0] (gpu)", "count"),
    ("count-is-true", [changed(GPU, count=True)], None, "alternatives[0] (gpu)", "count"),
    ("count-above-the-node", [changed(GPU, count=2)], None, "alternatives[0] (gpu)", "count"),
    (
        "capacity-zero",
        [changed(CPU, capacity={"dra.cpu/cpu": "0"})],
        None,
        "alternatives[0] (cpu)",
        "capacity.dra.cpu/cpu",
    ),
    (
        "capacity-no-quantity",
        [changed(CPU, capacity={"dra.cpu/cpu": "12 cores"})],
        None,
        "alternatives[0] (cpu)",
        "capacity.dra.cpu/cpu",
    ),
    (
        "capacity-name",
        [changed(CPU, capacity={"dra.cpu/": "12"})],
        None,
        "alternatives[0] (cpu)",
        "capacity.dra.cpu/",
    ),
    ("selector-empty", [changed(GPU, selectors=[" "])], None, "alternatives[0] (gpu)", "selectors[0]"),
    ("selector-no-list", [changed(GPU, selectors="true")], None, "alternatives[0] (gpu)", "selectors"),
    (
        "min-above-max",
        [changed(GPU, node_pool__min_nodes=3)],
        None,
        "alternatives[0] (gpu)",
        "node_pool.min_nodes",
    ),
    (
        "initial-below-min",
        [changed(CPU, node_pool__initial_nodes=0)],
        None,
        "alternatives[0] (cpu)",
        "node_pool.initial_nodes",
    ),
    (
        "label-not-text",
        [changed(GPU, node_pool__labels={"team": True})],
        None,
        "alternatives[0] (gpu)",
        "node_pool.labels.team",
    ),
    (
        "label-contradicts-class",
        [changed(GPU, node_pool__labels={"cloud.google.com/compute-class": "other"})],
        None,
        "alternatives[0] (gpu)",
        "node_pool.labels.cloud.google.com/compute-class",
    ),
    (
        "label-contradicts-driver",
        [changed(GPU, node_pool__labels={"nvidia.com/gpu.present": "false"})],
        None,
        "alternatives[0] (gpu)",
        "node_pool.labels.nvidia.com/gpu.present",
    ),
    (
        "taint-effect",
        [changed(GPU, node_pool__taints=[{"key": "a", "effect": "NO_SCHEDULE"}])],
        None,
        "alternatives[0] (gpu)",
        "node_pool.taints[0].effect",
    ),
    ("image-missing", [changed(GPU, image=...)], None, "alternatives[0] (gpu)", "image"),
    ("image-empty", [changed(GPU, image={})], None, "alternatives[0] (gpu)", "image.name"),
    (
        "image-twice",
        [changed(GPU, image__reference="docker.io/vllm/vllm-openai:v0.11.0")],
        None,
        "alternatives[0] (gpu)",
        "image.reference",
    ),
    (
        "image-platform",
        [changed(GPU, image={"name": "a", "platform": "linux/arm64"})],
        None,
        "alternatives[0] (gpu)",
        "image.platform",
    ),
    (
        "image-placeholder",
        [changed(GPU, image={"reference": "<registry>/vllm"})],
        None,
        "alternatives[0] (gpu)",
        "image.reference",
    ),
    (
        "price-without-date",
        [changed(GPU, usd_per_hour={"value": 1})],
        None,
        "alternatives[0] (gpu)",
        "usd_per_hour.as_of",
    ),
    (
        "price-text",
        [changed(GPU, usd_per_hour={"value": "cheap", "as_of": "2026-08"})],
        None,
        "alternatives[0] (gpu)",
        "usd_per_hour.value",
    ),
    (
        "driver-version",
        [changed(GPU, node_pool__accelerator={"type": "nvidia-l4", "gpu_driver_version": "none"})],
        None,
        "alternatives[0] (gpu)",
        "node_pool.accelerator.gpu_driver_version",
    ),
    ("setting-unknown", [GPU], {"claim_name": "x"}, "settings", "claim_name"),
    ("setting-unsatisfiable", [GPU], {"when_unsatisfiable": "Wait"}, "settings", "when_unsatisfiable"),
    (
        "setting-image-of-nobody",
        [GPU],
        {"image_references": {"tpu": "a/b:1"}},
        "settings",
        "image_references.tpu",
    ),
]


@pytest.mark.parametrize(
    ("alternatives", "settings", "entry", "field"),
    [case[1:] for case in WRONG],
    ids=[case[0] for case in WRONG],
)
def test_what_is_wrong_is_named_by_entry_and_field(alternatives, settings, entry, field):
    with pytest.raises(InputError) as caught:
        plan(alternatives, settings)
    assert (entry, field) in [(p.entry, p.field) for p in caught.value.problems]
    assert all(p.expected for p in caught.value.problems)


def test_all_problems_come_at_once_and_in_one_sentence_each():
    with pytest.raises(InputError) as caught:
        plan([changed(GPU, count=0, name="X"), changed(CPU, image=...)], {"zone": "a"})
    assert [(p.entry, p.field) for p in caught.value.problems] == [
        ("alternatives[0] (X)", "name"),
        ("alternatives[0] (X)", "count"),
        ("alternatives[1] (cpu)", "image"),
        ("settings", "zone"),
    ]
    assert "alternatives[0] (X).count: found 0; a whole number from 1 to 32 is needed" in str(caught.value)


def test_the_input_is_not_changed():
    before = copy.deepcopy([GPU, CPU])
    given = copy.deepcopy(before)
    plan(given, SETTINGS).as_dict()
    assert given == before
