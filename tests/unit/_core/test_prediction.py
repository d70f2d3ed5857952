# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a number of replicas will have, and whether what is there is what was predicted and planned."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.prediction import (
    from_dict,
    plan_nodes,
    predict,
)
from ansible_collections.inference.dra.plugins.module_utils._core.rollouts import Deployment, ReplicaSet
from ansible_collections.inference.dra.plugins.module_utils._core.service_check import (
    check_prediction,
    check_replicas,
)
from ansible_collections.inference.dra.plugins.module_utils._core.service_report import replicas, scale_ups

from .dra_objects import ago
from .service_scene import Scene


def scene_of(nodes, *replicas, **options):
    scene = Scene(**nodes, **options)
    for name, where in replicas:
        scene.replica(name, where)
    return scene


def predicted(scene, count):
    return predict(scene.service(), scene.cluster(), scene.plan, count)


def bounds(prediction):
    names = sorted({*prediction.least, *prediction.most, *prediction.expected})
    return {
        name: (prediction.least.get(name, 0), prediction.expected.get(name, 0), prediction.most.get(name, 0))
        for name in names
    }


ON_GPU, ON_CPU = ("a", "gpu-1"), ("b", "cpu-1")
PREDICTIONS = {
    "nothing yet": ({"gpu": 1, "cpu": 1}, [], 0, {}),
    "the first takes the first alternative": ({"gpu": 1, "cpu": 1}, [], 1, {"gpu": (1, 1, 1)}),
    "who has devices keeps them": ({"gpu": 1, "cpu": 1}, [ON_CPU], 1, {"cpu": (1, 1, 1)}),
    "C31-the next takes what is free": (
        {"gpu": 1, "cpu": 1},
        [ON_GPU],
        2,
        {"gpu": (1, 1, 1), "cpu": (1, 1, 1)},
    ),
    "a free one of a later alternative before a pool grows": (
        {"gpu": 1, "cpu": 2},
        [ON_GPU],
        3,
        {"gpu": (1, 1, 1), "cpu": (2, 2, 2)},
    ),
    "what must grow is certain where all of it must": (
        {"gpu": 1, "cpu": 1},
        [ON_GPU, ON_CPU],
        4,
        {"gpu": (2, 2, 2), "cpu": (2, 2, 2)},
    ),
    "C42-one more may come from either pool": (
        {"gpu": 1, "cpu": 1},
        [ON_GPU, ON_CPU],
        3,
        {"gpu": (1, 2, 2), "cpu": (1, 1, 2)},
    ),
    "three kinds": (
        {"h100": 1, "gpu": 1, "cpu": 1},
        [],
        3,
        {"h100": (1, 1, 1), "gpu": (1, 1, 1), "cpu": (1, 1, 1)},
    ),
    "more than all pools can be": (
        {"gpu": 1, "cpu": 1},
        [ON_GPU, ON_CPU],
        6,
        {"gpu": (2, 2, 2), "cpu": (2, 2, 2), "": (0, 2, 2)},
    ),
    "fewer": ({"gpu": 1, "cpu": 1}, [ON_GPU, ON_CPU], 1, {"gpu": (0, 1, 1), "cpu": (0, 0, 1)}),
}


@pytest.mark.parametrize(("nodes", "present", "count", "expected"), PREDICTIONS.values(), ids=PREDICTIONS)
def test_what_replicas_will_have(nodes, present, count, expected):
    prediction = predicted(scene_of(nodes, *present), count)
    assert bounds(prediction) == expected
    apart = any(least != most for least, _expected, most in expected.values())
    assert bool(prediction.reasons) == apart
    assert sum(prediction.expected.values()) == count


def test_without_an_autoscaler_nothing_grows():
    scene = scene_of({"gpu": 1, "cpu": 1}, ON_GPU, ON_CPU, compute_class="")
    assert bounds(predicted(scene, 3)) == {"gpu": (1, 1, 1), "cpu": (1, 1, 1), "": (0, 1, 1)}


def test_c32_a_node_that_does_not_publish_yet_will_do_so():
    scene = scene_of({"gpu": 1, "cpu": 2}, ON_GPU, ON_CPU, ("c", "cpu-2"))
    scene.add_node("gpu", 2, publishes=False)
    prediction = predicted(scene, 4)
    assert bounds(prediction) == {"gpu": (2, 2, 2), "cpu": (2, 2, 2)}
    assert prediction.node_pools == {"gpu-pool": 2, "cpu-pool": 2}


def test_growth_is_told_as_nodes():
    prediction = predicted(scene_of({"gpu": 1, "cpu": 1}, ON_GPU, ON_CPU), 4)
    assert prediction.node_pools == prediction.largest == {"gpu-pool": 2, "cpu-pool": 2}
    assert prediction.grows


def test_selectors_that_cannot_be_judged_make_everything_possible():
    scene = scene_of({"gpu": 1, "cpu": 1})
    odd = [{"cel": {"expression": 'device.driver.split(".")[0] == "gpu"'}}]
    devices = scene.plan["claim_template"]["spec"]["spec"]["devices"]
    devices["requests"][0]["firstAvailable"][0]["selectors"] = odd
    prediction = predicted(scene, 2)
    assert (dict(prediction.least), dict(prediction.most)) == ({}, {"gpu": 2, "cpu": 2})
    assert "cannot be judged" in prediction.reasons[0]


def test_a_prediction_survives_its_way_through_a_record():
    prediction = predicted(scene_of({"gpu": 1, "cpu": 1}, ON_GPU), 3)
    assert from_dict(prediction.as_dict()) == prediction


# -- holding a service to it


def found(scene):
    sets = [ReplicaSet.from_api(scene.replica_set())]
    return replicas(scene.cluster(), Deployment.from_api(scene.deployment()), sets)


def held_to(scene, prediction):
    """Return the verdict on the numbers, as status and reason, and what it says."""
    nodes = plan_nodes(scene.cluster().nodes, scene.plan)
    verdict, *_others = check_prediction(prediction, found(scene), nodes, "Deployment llm/vllm")
    return verdict


def test_numbers_as_predicted():
    scene = scene_of({"gpu": 1, "cpu": 1})
    prediction = predicted(scene, 2)
    scene.replica(*ON_GPU)
    scene.replica(*ON_CPU)
    verdict = held_to(scene, prediction)
    assert (verdict.status, verdict.reason, verdict.observed) == (
        "ok",
        "AlternativesAsPredicted",
        "1 on gpu, 1 on cpu",
    )


def test_c31_a_replica_on_a_later_alternative_than_predicted_is_an_error_with_its_diagnosis():
    scene = scene_of({"gpu": 1, "cpu": 1})
    prediction = predicted(scene, 1)
    scene.replica(*ON_CPU)
    verdict = held_to(scene, prediction)
    assert (verdict.status, verdict.reason) == ("error", "AlternativesDiffer")
    assert (verdict.observed, verdict.expected) == ("1 on cpu", "1 on gpu")
    assert any("gpu fits on gpu-1" in each for each in verdict.evidence)


def test_within_its_bounds_a_difference_is_a_note_with_the_reason():
    scene = scene_of({"gpu": 1, "cpu": 1}, ON_GPU, ON_CPU)
    prediction = predicted(scene, 3)
    scene.add_node("cpu", 2)
    scene.replica("c", "cpu-2")
    verdict = held_to(scene, prediction)
    assert (verdict.status, verdict.reason) == ("note", "AlternativesAsPredicted")
    assert "stock or quota" in verdict.evidence[0]


def test_c37_nodes_that_went_meanwhile_make_it_a_warning_that_names_them():
    scene = scene_of({"gpu": 1, "cpu": 1})
    prediction = predicted(scene, 1)
    scene.remove_node("gpu-1")
    scene.replica(*ON_CPU)
    verdict = held_to(scene, prediction)
    assert (verdict.status, verdict.observed) == ("warning", "1 on cpu (node gpu-1 went)")


def test_nodes_that_came_unpredicted_make_it_a_warning_that_names_them():
    scene = scene_of({"gpu": 1, "cpu": 1}, ON_GPU)
    prediction = predicted(scene, 2)
    scene.add_node("gpu", 2)
    scene.replica("c", "gpu-2")
    verdict = held_to(scene, prediction)
    assert (verdict.status, verdict.observed) == ("warning", "2 on gpu (node gpu-2 came)")


def test_c43_a_pool_larger_than_it_may_be():
    scene = scene_of({"gpu": 1, "cpu": 1}, largest=1)
    prediction = predicted(scene, 0)
    scene.add_node("gpu", 2)
    nodes = scene.cluster().nodes
    _numbers, *others = check_prediction(prediction, [], nodes, "Deployment llm/vllm")
    assert [(each.reason, each.subject) for each in others] == [("PoolSizeUnexpected", "NodePool gpu-pool")]


def on_pools(scene, prediction):
    """Return what is said about pools: status, reason, pool and what was observed."""
    nodes = plan_nodes(scene.cluster().nodes, scene.plan)
    _numbers, *others = check_prediction(prediction, found(scene), nodes, "Deployment llm/vllm")
    of_pools = (each for each in others if each.subject.startswith("NodePool "))
    return [(each.status, each.reason, each.subject.split()[-1], each.observed) for each in of_pools]


def taken_back(scene):
    scene.remove_node("cpu-2")


def replaced_under_its_name(scene):
    scene.nodes[-1]["metadata"]["uid"] = "uid-of-its-successor"


@pytest.mark.parametrize(
    "change", [taken_back, replaced_under_its_name], ids=lambda change: f"C37-{change.__name__}"
)
def test_a_node_that_went_is_named_also_where_the_numbers_are_as_predicted(change):
    scene = scene_of({"gpu": 1, "cpu": 2})
    prediction = from_dict(predicted(scene, 1).as_dict())
    scene.replica(*ON_GPU)

    def gone():
        nodes = plan_nodes(scene.cluster().nodes, scene.plan)
        numbers, *others = check_prediction(prediction, found(scene), nodes, "Deployment llm/vllm")
        assert (numbers.status, numbers.reason) == ("ok", "AlternativesAsPredicted")
        return [(each.status, each.subject) for each in others if each.reason == "NodeGone"]

    assert gone() == []
    change(scene)
    assert gone() == [("warning", "Node cpu-2")]


def grow(scene, name, where, *, said=True):
    """Have a replica on a node of its own that the autoscaler made, and its event."""
    scene.add_node(*where.rsplit("-", 1))
    pod = scene.replica(name, where)
    if said:
        scene.events.append(
            {
                "metadata": {"name": f"{name}-grew", "namespace": "llm"},
                "involvedObject": {"kind": "Pod", "uid": pod["metadata"]["uid"]},
                "reason": "TriggeredScaleUp",
                "message": "pod triggered scale-up",
                "lastTimestamp": ago(50),
            }
        )


def grown(**options):
    """Four replicas, of which two got new nodes as predicted, or not quite."""
    scene = scene_of({"gpu": 1, "cpu": 1}, ON_GPU, ON_CPU)
    prediction = predicted(scene, 4)
    grow(scene, "c", "gpu-2", **options)
    grow(scene, "d", "cpu-2")
    return scene, prediction


def test_pools_that_grew_as_predicted_give_no_word():
    scene, prediction = grown()
    assert on_pools(scene, prediction) == []
    said = [f"vllm-abc-{name}: pod triggered scale-up" for name in ("c", "d")]
    assert scale_ups(found(scene)) == said


def test_a_pool_that_grew_without_the_autoscalers_word_is_a_note_because_events_are_lossy():
    assert on_pools(*grown(said=False)) == [
        (
            "note",
            "ScaleUpUnrecorded",
            "gpu-pool",
            "new nodes with vllm-abc-c, which no TriggeredScaleUp event is about",
        )
    ]


def test_one_event_is_enough_for_the_replicas_of_a_pool():
    """The pod that a node was made for may land elsewhere, and another on the node."""
    scene = scene_of({"gpu": 1, "cpu": 1}, ON_GPU, ON_CPU, largest=3)
    prediction = predicted(scene, 4)
    grow(scene, "c", "gpu-2")
    grow(scene, "d", "gpu-3", said=False)
    assert prediction.expected == {"gpu": 3, "cpu": 1}
    assert on_pools(scene, prediction) == []


def test_one_node_more_than_predicted_is_a_warning_that_names_it():
    scene = scene_of({"gpu": 1, "cpu": 1})
    prediction = predicted(scene, 1)
    scene.replica(*ON_GPU)
    scene.add_node("gpu", 2)
    assert on_pools(scene, prediction) == [
        ("warning", "PoolSizeUnexpected", "gpu-pool", "2 ready nodes (gpu-2 without a replica)")
    ]


def is_not_ready(node):
    node["status"]["conditions"][0]["status"] = "False"


def share_a_node(scene):
    """Have the second new replica on the first one's node, which the plan says holds one."""
    scene.remove_node("gpu-2")
    scene.pods[2]["spec"]["nodeName"] = "gpu-1"


FEWER = {
    "C37-a node that went": (
        lambda scene: scene.remove_node("cpu-2"),
        ("warning", "cpu-pool", "1 ready nodes (node cpu-2 went)"),
    ),
    "a node that is not ready yet": (
        lambda scene: is_not_ready(scene.nodes[2]),
        ("warning", "cpu-pool", "1 ready nodes (node cpu-2 is not ready)"),
    ),
}


@pytest.mark.parametrize(("change", "expected"), FEWER.values(), ids=FEWER)
def test_fewer_nodes_than_predicted_are_a_warning_where_each_is_accounted_for(change, expected):
    scene = scene_of({"gpu": 1, "cpu": 2})
    prediction = predicted(scene, 1)
    scene.replica(*ON_GPU)
    change(scene)
    ((status, reason, pool, observed),) = on_pools(scene, prediction)
    assert (status, pool, observed) == expected
    assert reason == "PoolSizeUnexpected"


def test_fewer_nodes_than_predicted_are_an_error_where_nothing_accounts_for_it():
    scene, prediction = grown()
    share_a_node(scene)
    assert on_pools(scene, prediction) == [("error", "PoolSizeUnexpected", "gpu-pool", "1 ready nodes")]


def test_a_node_that_was_replaced_under_its_name_accounts_for_no_other():
    scene, prediction = grown()
    share_a_node(scene)
    scene.nodes[0]["metadata"]["uid"] = "uid-of-its-successor"
    assert on_pools(scene, prediction) == [("error", "PoolSizeUnexpected", "gpu-pool", "1 ready nodes")]


def test_fewer_nodes_of_a_pool_that_was_empty_are_a_warning_because_what_a_node_holds_was_assumed():
    scene = scene_of({"gpu": 0, "cpu": 1}, ON_CPU)
    prediction = predicted(scene, 3)
    assert prediction.node_pools["gpu-pool"] == 2
    grow(scene, "c", "gpu-1")
    scene.replica("d", "gpu-1")
    ((status, _reason, _pool, observed),) = on_pools(scene, prediction)
    assert (status, "was assumed" in observed) == ("warning", True)


def test_sizes_are_not_judged_where_the_alternatives_are_others_than_expected():
    scene = scene_of({"gpu": 1, "cpu": 1}, ON_GPU, ON_CPU)
    prediction = predicted(scene, 3)
    grow(scene, "c", "cpu-2")
    assert prediction.node_pools == {"gpu-pool": 2, "cpu-pool": 1}
    assert on_pools(scene, prediction) == []


def test_without_node_pools_nothing_is_said_about_them():
    scene = scene_of({"gpu": 1, "cpu": 1}, compute_class="")
    for node in scene.nodes:
        del node["metadata"]["labels"]["cloud.google.com/gke-nodepool"]
    prediction = predicted(scene, 1)
    assert prediction.node_pools == {"gpu-pool": 0, "cpu-pool": 0}
    scene.replica(*ON_GPU)
    assert on_pools(scene, prediction) == []


def spoil_image(scene):
    scene.pods[0]["spec"]["containers"][0]["image"] = "example.com/vllm-cpu:1"


def spoil_node(scene):
    scene.nodes[0]["metadata"]["labels"]["cloud.google.com/gke-nodepool"] = "other"


def spoil_driver(scene):
    scene.claims[0]["status"]["allocation"]["devices"]["results"][0]["driver"] = "other.example.com"


def spoil_count(scene):
    results = scene.claims[0]["status"]["allocation"]["devices"]["results"]
    results.append({**results[0], "device": "dev-1"})


def spoil_readiness(scene):
    scene.pods[0]["status"]["conditions"][1]["status"] = "False"


def spoil_order(scene):
    scene.claims[0]["status"]["allocation"]["allocationTimestamp"] = ago(10)


def spoil_time(scene):
    del scene.claims[0]["status"]["allocation"]["allocationTimestamp"]


SPOILED = {
    "right": (lambda _scene: None, set()),
    "image of another alternative": (spoil_image, {"ImageDiffers"}),
    "node of another pool": (spoil_node, {"NodeOfOtherAlternative"}),
    "device of another driver": (spoil_driver, {"DevicesDiffer"}),
    "a device too many": (spoil_count, {"DevicesDiffer"}),
    "C52-not ready": (spoil_readiness, {"ReplicaNotReady"}),
    "allocated after it was bound": (spoil_order, {"TimeLineBroken"}),
    "no time of a step": (spoil_time, {"TimeLineBroken"}),
}


@pytest.mark.parametrize(("spoil", "reasons"), SPOILED.values(), ids=SPOILED)
def test_a_replica_is_what_the_plan_says(spoil, reasons):
    scene = scene_of({"gpu": 1, "cpu": 1}, ON_GPU)
    spoil(scene)
    verdicts = list(check_replicas(found(scene), scene.plan))
    assert {each.reason for each in verdicts} >= reasons
    assert bool(verdicts) == bool(reasons)
    assert all(each.status == "error" for each in verdicts)


def test_tag_and_digest_of_the_image_are_the_claims_to_say():
    scene = scene_of({"gpu": 1, "cpu": 1}, ON_GPU)
    scene.pods[0]["spec"]["containers"][0]["image"] = f"example.com/vllm-gpu@sha256:{'0' * 64}"
    assert list(check_replicas(found(scene), scene.plan)) == []
