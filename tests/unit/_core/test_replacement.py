# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which replicas are replaced, in what order, and what their successors must get."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.replacement import (
    GATE,
    TEMPLATE_LABEL,
    accepted_of_held,
    is_prepared,
    made_template,
    obstacle,
    plan_replacements,
)
from ansible_collections.inference.dra.plugins.module_utils._core.rollouts import Deployment, ReplicaSet

from .service_scene import Scene

HELD = {"spec": {"schedulingGates": [{"name": GATE}]}}


def planned(scene, which, most=0, **options):
    """Return the plan as text: who, what it has, what it must get, what it is foreseen to get."""
    plan = plan_replacements(scene.service(**options), scene.cluster(), which, most)
    steps = [
        f"{step.pod.meta.name.removeprefix('vllm-abc-')} {step.alternative or '-'} -> "
        f"{'|'.join(step.accepted) or 'any'} ({step.foreseen or '-'})"
        for step in plan.steps
    ]
    return steps, plan.because


def scene_of(nodes, *replicas, **options):
    scene = Scene(**nodes, **options)
    for name, where, *ready in replicas:
        scene.replica(name, where, ready=not ready)
    return scene


RETURNS = {
    "nothing is free": ({"gpu": 1, "cpu": 1}, [("a", "gpu-1"), ("b", "cpu-1")], []),
    "C31-one GPU is free for two": (
        {"gpu": 1, "cpu": 2},
        [("a", "cpu-1"), ("b", "cpu-2")],
        ["a cpu -> gpu (gpu)"],
    ),
    "C31-two are free for two": (
        {"gpu": 2, "cpu": 2},
        [("a", "cpu-1"), ("b", "cpu-2")],
        ["a cpu -> gpu (gpu)", "b cpu -> gpu (gpu)"],
    ),
    "the last alternative first": (
        {"h100": 1, "gpu": 1, "cpu": 1},
        [("a", "gpu-1"), ("b", "cpu-1")],
        ["b cpu -> h100|gpu (h100)"],
    ),
    "what a step frees is there for the next": (
        {"h100": 2, "gpu": 1, "cpu": 1},
        [("a", "h100-1"), ("b", "gpu-1"), ("c", "cpu-1")],
        ["c cpu -> h100|gpu (h100)"],
    ),
    "all on the first": ({"gpu": 2, "cpu": 1}, [("a", "gpu-1")], []),
    "no devices yet": ({"gpu": 1, "cpu": 1}, [("a", "")], []),
}


@pytest.mark.parametrize(("nodes", "replicas", "steps"), RETURNS.values(), ids=RETURNS)
def test_replicas_return_while_something_earlier_is_free(nodes, replicas, steps):
    assert planned(scene_of(nodes, *replicas), "later_alternatives")[0] == steps


WHY = {
    "held": (
        {"gpu": 1, "cpu": 1},
        [("a", "gpu-1"), ("b", "cpu-1")],
        "no earlier alternative is free: gpu: DeviceInUse on gpu-1",
    ),
    "no node": (
        {"gpu": 0, "cpu": 1},
        [("b", "cpu-1")],
        "no earlier alternative is free: gpu: no node it may go to has its devices",
    ),
    "all on the first": ({"gpu": 1, "cpu": 1}, [("a", "gpu-1")], "no replica runs on a later alternative"),
    "no devices yet": ({"gpu": 1, "cpu": 1}, [("a", "")], "no replica has devices yet"),
    "no replicas": ({"gpu": 1, "cpu": 1}, [], "no replica has devices yet"),
}


@pytest.mark.parametrize(("nodes", "replicas", "because"), WHY.values(), ids=WHY)
def test_nothing_to_return_says_why(nodes, replicas, because):
    assert planned(scene_of(nodes, *replicas), "later_alternatives") == ([], because)


def test_a_maximum_says_how_many_more_would_follow():
    scene = scene_of({"gpu": 2, "cpu": 2}, ("a", "cpu-1"), ("b", "cpu-2"))
    steps, because = planned(scene, "later_alternatives", most=1)
    assert (len(steps), because) == (1, "1 more would follow, and 1 is the maximum")


def test_c34_a_node_that_is_to_be_deleted_is_no_place_to_return_to():
    scene = scene_of({"gpu": 1, "cpu": 1}, ("a", "cpu-1"))
    taint = {"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}
    scene.nodes[0]["spec"]["taints"] = [taint]
    assert planned(scene, "later_alternatives")[0] == []


def test_outdated_replicas_what_does_not_serve_first_then_the_last_alternative():
    scene = scene_of(
        {"gpu": 2, "cpu": 1}, ("a", "gpu-1"), ("b", "cpu-1"), ("c", "gpu-2", "starting"), ("d", "")
    )
    scene.change_template()
    assert planned(scene, "outdated")[0] == [
        "c gpu -> gpu (gpu)",
        "d - -> any (-)",
        "b cpu -> gpu|cpu (cpu)",
        "a gpu -> gpu (gpu)",
    ]


def test_an_unchanged_template_outdates_nothing_unless_it_is_about_to_change():
    scene = scene_of({"gpu": 1, "cpu": 1}, ("a", "gpu-1"))
    assert planned(scene, "outdated") == ([], "every replica is of the present template")
    assert planned(scene, "outdated", template_changes=True)[0] == ["a gpu -> gpu (gpu)"]


def test_what_was_replaced_already_is_not_replaced_again():
    scene = scene_of({"gpu": 2, "cpu": 1}, ("a", "gpu-1"))
    scene.change_template(gated=True)
    scene.replica("b", "gpu-2", labels={TEMPLATE_LABEL: scene.fingerprint()})
    assert planned(scene, "outdated")[0] == ["a gpu -> gpu (gpu)"]


def test_a_template_that_changes_once_more_outdates_what_the_former_one_made():
    scene = scene_of({"gpu": 2, "cpu": 1})
    scene.change_template(gated=True)
    scene.replica("b", "gpu-2", labels={TEMPLATE_LABEL: "of-the-former"})
    assert planned(scene, "outdated")[0] == ["b gpu -> gpu (gpu)"]


def test_a_successor_at_the_gate_is_no_outdated_replica():
    scene = scene_of({"gpu": 1, "cpu": 1})
    scene.change_template(gated=True)
    scene.replica("b", **HELD, labels={TEMPLATE_LABEL: scene.fingerprint()})
    assert planned(scene, "outdated")[0] == []
    assert [each.pod.meta.name for each in scene.service().held] == ["vllm-abc-b"]


def test_a_successor_without_a_known_predecessor_must_get_the_best_that_is_free():
    scene = scene_of({"gpu": 1, "cpu": 1}, ("a", "cpu-1"))
    scene.change_template(gated=True)
    scene.replica("b", **HELD, labels={TEMPLATE_LABEL: scene.fingerprint()})
    service = scene.service()
    assert accepted_of_held(service, scene.cluster(), service.held[0]) == ("gpu",)


LEAVING = {
    "it runs": ({}, []),
    "it is ending": ({"metadata": {"deletionTimestamp": "2026-09-01T11:59:00Z"}}, ["vllm-abc-a-device"]),
}


@pytest.mark.parametrize(("more", "leaving"), LEAVING.values(), ids=LEAVING)
def test_devices_are_not_free_before_the_claim_is_gone(more, leaving):
    scene = Scene(gpu=1, cpu=1)
    scene.replica("a", "gpu-1", **more)
    assert [claim.meta.name for claim in scene.service().leaving] == leaving


def test_devices_of_a_pod_that_is_gone_already_are_waited_for():
    scene = scene_of({"gpu": 1, "cpu": 1}, ("a", "gpu-1"))
    scene.pods.clear()
    assert [claim.meta.name for claim in scene.service().leaving] == ["vllm-abc-a-device"]


def of(*sets, paused=False, changed=False):
    scene = Scene(gpu=1, cpu=1)
    if changed:
        scene.change_template()
    scene.paused = paused
    found = [ReplicaSet.from_api(scene.replica_set(name, count)) for name, count in sets]
    return Deployment.from_api(scene.deployment()), found


OBSTACLES = {
    "none": (of(("abc", 2)), "outdated", None),
    "no replicas": (of(("abc", 0), changed=True), "outdated", None),
    "paused, unchanged": (of(("abc", 2), paused=True), "outdated", None),
    "paused, changed": (of(("abc", 2), paused=True, changed=True), "outdated", None),
    "changed, not paused": (of(("abc", 2), changed=True), "outdated", "NotPaused"),
    "an empty set of former days": (of(("abc", 2), ("old", 0)), "outdated", None),
    "two sets": (of(("abc", 2), ("old", 1)), "outdated", "RolloutUnderWay"),
    "return, paused, changed": (
        of(("abc", 2), paused=True, changed=True),
        "later_alternatives",
        "RolloutUnderWay",
    ),
    "return, paused, unchanged": (of(("abc", 2), paused=True), "later_alternatives", None),
}


@pytest.mark.parametrize(("found", "which", "reason"), OBSTACLES.values(), ids=OBSTACLES)
def test_what_forbids_an_ordered_replacement(found, which, reason):
    verdict = obstacle(*found, which)
    assert (verdict.reason if verdict else None) == reason
    assert verdict is None or verdict.advice


def test_the_template_that_makes_gated_pods_and_the_one_that_ends_it():
    scene = scene_of({"gpu": 1, "cpu": 1}, ("a", "gpu-1"))
    scene.change_template()
    service = scene.service()
    gated, last = (made_template(service, gated=gated) for gated in (True, False))
    assert gated["spec"]["schedulingGates"] == [{"name": GATE}]
    assert gated["metadata"]["labels"][TEMPLATE_LABEL] == scene.fingerprint()
    assert {**gated, "metadata": None, "spec": None} == {**last, "metadata": None, "spec": None}
    assert last["spec"] == scene.template["spec"]
    assert last["metadata"]["labels"] == {"app": "vllm", "pod-template-hash": "abc"}
    assert not is_prepared(service)
    scene.replica_set_template = gated
    assert is_prepared(scene.service())
    scene.replica_set_template = last
    assert not scene.service().differs
