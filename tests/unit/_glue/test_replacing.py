# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replacing replicas one by one: order, waiting, and every way in which it ends early.

The API is an in-memory one that does what the real controllers were seen to do: an evicted pod is followed
at once by another, its claim goes when it has ended, and a pod without a gate gets the first free device.
"""

from __future__ import annotations

import copy

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.replacement import TEMPLATE_LABEL
from ansible_collections.inference.dra.plugins.module_utils._glue.replacing import (
    Replacing,
    replace_replicas,
)
from ansible_collections.inference.dra.plugins.module_utils._glue.result import ModuleFailure
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import ManualClock
from ansible_collections.inference.dra.plugins.module_utils._ports.errors import error_of
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import Forbidden
from ansible_collections.inference.dra.tests.unit._core.dra_objects import NOW, ago
from ansible_collections.inference.dra.tests.unit._core.service_scene import Scene

BUDGET = "Cannot evict pod as it would violate the pod's disruption budget."


class Killed(BaseException):
    """The run ends here, as when its process is killed."""


class World:
    """The API over a scene.

    :param ends_after: seconds from a pod's eviction until it and its claim are gone.
    :param answers: what evictions are answered with, one after the other, before they succeed.
    :param places: where pods go in the place of the first free device; ``None`` leaves one pending.
    :param kill_at: the write that is the last one of this run.
    """

    def __init__(
        self, scene, clock, *, ends_after=3.0, answers=(), places=(), serves=True, refills=True, kill_at=0
    ) -> None:
        self.scene, self.clock = scene, clock
        self.ends_after, self.serves, self.refills = ends_after, serves, refills
        self.answers, self.places, self.kill_at = list(answers), list(places), kill_at
        self.writes: list[str] = []
        self.ends: dict[str, float] = {}
        self.made = 0

    # -- what the controllers do

    def advance(self) -> None:
        now = self.clock.monotonic()
        for name in [name for name, moment in self.ends.items() if moment <= now]:
            del self.ends[name]
            self.scene.pods = [each for each in self.scene.pods if each["metadata"]["name"] != name]
            self.scene.claims = [
                each for each in self.scene.claims if each["metadata"]["name"] != f"{name}-device"
            ]
        for pod in self.scene.pods:
            name = pod["metadata"]["name"]
            if not pod["spec"].get("schedulingGates") and not pod["spec"].get("nodeName"):
                self.schedule(name, pod)

    def schedule(self, name, pod) -> None:
        place = self.places.pop(0) if self.places else self.first_free()
        if not place:
            return
        claim = next(each for each in self.scene.claims if each["metadata"]["name"] == f"{name}-device")
        self.scene.allocate(claim, name, place)
        pod["spec"]["nodeName"] = place
        pod["status"]["phase"] = "Running"
        pod["status"]["conditions"] = [{"type": "Ready", "status": "True" if self.serves else "False"}]

    def first_free(self) -> str:
        taken = {
            result["pool"]
            for claim in self.scene.claims
            for result in claim["status"].get("allocation", {}).get("devices", {}).get("results", ())
        }
        names = [node["metadata"]["name"] for node in self.scene.nodes]
        return next((name for name in names if name not in taken), "")

    # -- what the API serves

    def list(self, resource, *_where):
        self.advance()
        return copy.deepcopy(self.scene.objects().get(resource.kind, []))

    def write(self, what) -> None:
        self.writes.append(what)

    def end_of_write(self) -> None:
        if self.kill_at and len(self.writes) >= self.kill_at:
            raise Killed

    def request(self, method, path, body, retried=()):
        assert (method, path.rpartition("/")[2], retried) == ("POST", "eviction", (503,))
        name = body["metadata"]["name"]
        if self.answers:
            status, message = self.answers.pop(0)
            raise error_of(f"POST {path}", status, {"reason": "Said", "message": message})
        pod = next(each for each in self.scene.pods if each["metadata"]["name"] == name)
        assert body["deleteOptions"]["preconditions"]["uid"] == pod["metadata"]["uid"]
        self.write(f"evict {name.removeprefix('vllm-abc-')}")
        pod["metadata"]["deletionTimestamp"] = ago(0)
        self.ends[name] = self.clock.monotonic() + self.ends_after
        if self.refills:
            self.made += 1
            template = self.scene.replica_set_template
            made = self.scene.replica(f"new{self.made}", labels=template["metadata"]["labels"], age=0)
            made["spec"] |= {k: v for k, v in template["spec"].items() if k == "schedulingGates"}
            self.scene.replicas -= 1
        self.end_of_write()
        return {}

    def json_patch(self, resource, name, operations, namespace):
        assert (resource.kind, name) == ("ReplicaSet", "vllm-abc")
        self.scene.replica_set_template = copy.deepcopy(operations[-1]["value"])
        gated = "schedulingGates" in self.scene.replica_set_template["spec"]
        self.write("gated template" if gated else "last template")
        self.end_of_write()

    def merge_patch(self, resource, name, patch, namespace):
        if resource.kind == "Deployment":
            assert patch == {"spec": {"paused": None}}
            self.scene.paused = False
            self.write("resume")
        else:
            # What all of this is for: the device is free before the scheduler sees the successor.
            assert not self.scene.service().leaving
            pod = next(each for each in self.scene.pods if each["metadata"]["name"] == name)
            pod["spec"]["schedulingGates"] = patch["spec"]["schedulingGates"]
            self.write(f"ungate {name.removeprefix('vllm-abc-')}")
        self.end_of_write()


def replacing(scene, which, *, check=False, most=0, seconds=60, changes=False, clock=None, **world):
    """Return a run that is not started yet, its world, and what it will say."""
    clock = clock or ManualClock(NOW)
    params = {
        "namespace": "llm",
        "deployment": "vllm",
        "which": which,
        "max_replacements": most,
        "timeout_seconds": seconds,
        "template_changes": changes,
    }
    said: list[str] = []
    api = World(scene, clock, **world)
    return Replacing(api, params, clock, said.append, check_mode=check), api, said


def outdated(*replicas, **nodes):
    scene = Scene(**(nodes or {"gpu": 2, "cpu": 2}))
    for name, where in replicas or (("a", "gpu-1"), ("b", "gpu-2"), ("c", "cpu-1")):
        scene.replica(name, where)
    scene.change_template()
    return scene


def on_cpu(free_gpus=1):
    scene = Scene(gpu=1 + free_gpus, cpu=2)
    for name, where in (("a", "gpu-1"), ("b", "cpu-1"), ("c", "cpu-2")):
        scene.replica(name, where)
    return scene


def where(scene):
    """Return the node of each pod, by the number of pods there."""
    return sorted(each["spec"].get("nodeName", "") for each in scene.pods)


def moves(result):
    return [(each["alternative"], each["successor_alternative"]) for each in result["actions"]]


ALL_WRITES = [
    "gated template",
    *("evict c", "ungate new1"),
    *("evict a", "ungate new2"),
    *("evict b", "ungate new3"),
    "last template",
    "resume",
]


@pytest.mark.parametrize("ends_after", [0.0, 3.0, 9.0], ids=lambda seconds: f"a pod takes {seconds:g} s")
def test_each_successor_has_the_device_of_its_predecessor(ends_after):
    scene = outdated()
    run, api, said = replacing(scene, "outdated", ends_after=ends_after)
    result = run.run()
    assert api.writes == ALL_WRITES
    assert moves(result) == [("cpu", "cpu"), ("gpu", "gpu"), ("gpu", "gpu")]
    assert where(scene)[-2:] == ["gpu-1", "gpu-2"]
    assert result["before"] == result["after"] == {"gpu": 2, "cpu": 1}
    assert result["changed"]
    assert result["planned"] == []
    assert result["because"] == "every replica is of the present template"
    assert not scene.service().differs
    assert said[-1].endswith("the Deployment is resumed")


def test_without_the_gate_the_successor_would_have_got_the_cpu():
    """Show that the world above does what the real scheduler does, so that the gate is what helps."""
    scene = outdated(("a", "gpu-1"), gpu=1, cpu=1)
    scene.template = copy.deepcopy(scene.replica_set_template)
    scene.template["metadata"]["labels"].pop("pod-template-hash")
    api = World(scene, ManualClock(NOW))
    name = "vllm-abc-a"
    preconditions = {"preconditions": {"uid": f"uid-{name}"}}
    api.request(
        "POST", "pods/eviction", {"metadata": {"name": name}, "deleteOptions": preconditions}, retried=(503,)
    )
    api.advance()
    assert where(scene) == ["cpu-1", "gpu-1"]


def test_a_second_run_writes_nothing():
    scene = outdated()
    replacing(scene, "outdated")[0].run()
    run, api, _said = replacing(scene, "outdated")
    assert not run.run()["changed"]
    assert api.writes == []


@pytest.mark.parametrize("write", range(1, len(ALL_WRITES) + 1), ids=lambda number: ALL_WRITES[number - 1])
def test_a_run_that_was_killed_after_any_write_converges_when_it_is_started_again(write):
    scene, clock = outdated(), ManualClock(NOW)
    run, api, _said = replacing(scene, "outdated", kill_at=write, clock=clock)
    with pytest.raises(Killed):
        run.run()
    ends = dict(api.ends)
    run, api, _said = replacing(scene, "outdated", clock=clock)
    api.ends, api.made = ends, 10
    result = run.run()
    assert where(scene)[-2:] == ["gpu-1", "gpu-2"]
    assert (len(scene.pods), result["after"]) == (3, {"gpu": 2, "cpu": 1})
    assert not scene.paused
    assert not scene.service().differs
    fresh = scene.fingerprint()
    assert all(each["metadata"]["labels"][TEMPLATE_LABEL] == fresh for each in scene.pods)


def test_replicas_return_while_something_earlier_is_free():
    scene = on_cpu(free_gpus=2)
    run, api, said = replacing(scene, "later_alternatives")
    result = run.run()
    assert api.writes == ["evict b", "evict c"]
    assert moves(result) == [("cpu", "gpu"), ("cpu", "gpu")]
    assert (result["before"], result["after"]) == ({"gpu": 1, "cpu": 2}, {"gpu": 3})
    assert [line.partition("] ")[2] for line in said[:3]] == [
        "vllm-abc-b (cpu) is evicted",
        "vllm-abc-new1 got gpu on gpu-2",
        "vllm-abc-new1 serves",
    ]


def test_a_maximum_ends_it():
    scene = on_cpu(free_gpus=2)
    run, api, _said = replacing(scene, "later_alternatives", most=1)
    result = run.run()
    assert api.writes == ["evict b"]
    assert [each["pod"] for each in result["planned"]] == ["vllm-abc-c"]


def test_a_maximum_leaves_the_deployment_paused_while_outdated_replicas_remain():
    scene = outdated()
    run, api, _said = replacing(scene, "outdated", most=1)
    run.run()
    assert api.writes == ALL_WRITES[:3]
    assert scene.paused


def test_nothing_free_does_nothing_and_says_why():
    run, api, _said = replacing(on_cpu(free_gpus=0), "later_alternatives")
    result = run.run()
    assert (api.writes, result["changed"], result["planned"]) == ([], False, [])
    assert result["because"] == "no earlier alternative is free: gpu: DeviceInUse on gpu-1"


CHECKS = {
    "outdated": (outdated, "outdated", {}, 3, {"gpu": 2, "cpu": 1}),
    "a template that is to change": (on_cpu, "outdated", {"changes": True}, 3, {"gpu": 1, "cpu": 2}),
    "return": (on_cpu, "later_alternatives", {}, 1, {"gpu": 2, "cpu": 1}),
    "return, nothing free": (lambda: on_cpu(0), "later_alternatives", {}, 0, {"gpu": 1, "cpu": 2}),
}


@pytest.mark.parametrize(("scene", "which", "options", "count", "after"), CHECKS.values(), ids=CHECKS)
def test_c49_check_mode_shows_the_plan_and_writes_nothing(scene, which, options, count, after):
    run, api, _said = replacing(scene(), which, check=True, **options)
    result = run.run()
    assert api.writes == []
    assert (len(result["planned"]), result["changed"], result["after"]) == (count, count > 0, after)


def test_check_mode_says_that_it_would_resume():
    scene = on_cpu()
    scene.paused = True
    assert replacing(scene, "outdated", check=True)[0].run()["changed"]
    run, api, _said = replacing(scene, "outdated")
    assert run.run()["changed"]
    assert api.writes == ["resume"]


def failure(scene, which, **options):
    run, api, said = replacing(scene, which, **options)
    with pytest.raises(ModuleFailure) as caught:
        run.run()
    return caught.value, api, said


def test_a_successor_on_a_later_alternative_stops_it_with_the_diagnosis():
    found, api, _said = failure(outdated(), "outdated", places=["cpu-2", "cpu-1"])
    assert found.reason == "LandedLater"
    assert "vllm-abc-new2 got cpu, and had to get gpu" in str(found)
    assert "gpu fits on gpu-1" in str(found)
    assert api.writes == ALL_WRITES[:5]
    assert found.facts["changed"]
    assert [each["successor"] for each in found.facts["actions"]] == ["vllm-abc-new1"]


def test_a_return_that_lands_on_the_cpu_again_stops_it():
    found, api, _said = failure(on_cpu(2), "later_alternatives", places=["cpu-1"])
    assert (found.reason, api.writes) == ("LandedLater", ["evict b"])


def test_a_disruption_budget_is_waited_for_and_told_once():
    scene = on_cpu()
    run, api, said = replacing(scene, "later_alternatives", answers=[(429, BUDGET)] * 3)
    assert len(run.run()["actions"]) == 1
    assert api.writes == ["evict b"]
    assert [BUDGET in line for line in said].count(True) == 1


def test_a_disruption_budget_that_never_allows_it_ends_at_the_deadline():
    found, api, _said = failure(on_cpu(), "later_alternatives", answers=[(429, BUDGET)] * 100, seconds=10)
    assert (found.reason, api.writes, found.facts["changed"]) == ("DisruptionRefused", [], False)
    assert "could not be evicted within 10 s" in str(found)
    assert BUDGET in str(found)


@pytest.mark.parametrize("status", [500, 502, 503, 504], ids=lambda status: f"C51-{status}")
def test_a_server_that_stumbles_is_asked_again(status):
    run, api, _said = replacing(on_cpu(), "later_alternatives", answers=[(status, "stumbled")])
    run.run()
    assert api.writes == ["evict b"]


def test_a_lack_of_rights_ends_it_at_once():
    run, api, _said = replacing(on_cpu(), "later_alternatives", answers=[(403, "may not")])
    with pytest.raises(Forbidden):
        run.run()
    assert api.writes == []


@pytest.mark.parametrize("status", [404, 409])
def test_a_replica_that_is_gone_already_needs_no_eviction(status):
    found, api, _said = failure(on_cpu(), "later_alternatives", answers=[(status, "gone")], seconds=5)
    # Nobody made a successor here either, which is what it then waits for.
    assert (found.reason, api.writes) == ("NotReplaced", [])
    assert "no successor was made after 5 s" in str(found)


def test_a_successor_that_is_never_made_ends_at_the_deadline():
    found, _api, _said = failure(on_cpu(), "later_alternatives", refills=False, seconds=5)
    assert found.reason == "NotReplaced"
    assert found.facts["waited_seconds"] == 5


def test_a_successor_that_does_not_serve_ends_at_the_deadline():
    found, api, _said = failure(on_cpu(2), "later_alternatives", serves=False, seconds=20)
    assert (found.reason, api.writes) == ("NotReplaced", ["evict b"])
    assert "vllm-abc-new1: it does not serve (vllm-abc-new1-device is ready) after 20 s" in str(found)


def test_a_successor_that_finds_nothing_is_explained():
    found, _api, _said = failure(on_cpu(), "later_alternatives", places=[None] * 100, seconds=5)
    assert "vllm-abc-new1-device is pending" in str(found)


def test_devices_that_never_become_free_end_it_at_the_deadline():
    found, api, _said = failure(outdated(), "outdated", ends_after=1000.0, seconds=10)
    assert (found.reason, api.writes) == ("NotReplaced", ALL_WRITES[:2])
    assert "the devices of vllm-abc-c-device are not free yet after 10 s" in str(found)


def test_a_condition_that_failed_is_not_waited_for():
    scene = on_cpu(2)
    allocate = scene.allocate

    def spoiled(body, *arguments):
        allocate(body, *arguments)
        condition = body["status"]["devices"][0]["conditions"][0]
        condition["type"] = condition["type"].replace("image-updated", "image-update-failed")

    scene.allocate = spoiled
    found, _api, _said = failure(scene, "later_alternatives")
    assert (found.reason, found.facts["waited_seconds"]) == ("NotReplaced", 0.0)
    assert "never serves" in str(found)


def test_a_successor_that_goes_again_ends_it():
    scene = on_cpu(2)
    run, api, _said = replacing(scene, "later_alternatives", serves=False)
    pause = run.pause

    def gone(*arguments):
        pause(*arguments)
        scene.pods = [each for each in scene.pods if "new" not in each["metadata"]["name"]]

    run.pause = gone
    with pytest.raises(ModuleFailure, match="it has gone before it served") as caught:
        run.run()
    assert caught.value.reason == "NotReplaced"
    assert api.writes == ["evict b"]


def test_what_forbids_it_is_told_before_any_write():
    scene = outdated()
    scene.paused = False
    found, api, _said = failure(scene, "outdated")
    assert (found.reason, api.writes) == ("NotPaused", [])
    assert [each["reason"] for each in found.facts["verdicts"]] == ["NotPaused"]


def test_no_such_deployment():
    run, _api, _said = replacing(on_cpu(), "outdated")
    run.name = "other"
    with pytest.raises(ModuleFailure, match="it does not exist") as caught:
        run.run()
    assert caught.value.reason == "DeploymentMissing"


@pytest.mark.parametrize("option", ["max_replacements", "timeout_seconds"])
def test_negative_numbers_are_refused(option):
    params = {"max_replacements": 0, "timeout_seconds": 1} | {option: -1}
    with pytest.raises(ModuleFailure, match=f"option {option} is -1") as caught:
        replace_replicas(params, ManualClock(NOW), print, check_mode=False)
    assert caught.value.reason == "InvalidInput"
