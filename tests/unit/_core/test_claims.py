# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims: one state each, conditions as the scheduler reads them, consumers by UID; field cases by number."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.claim_history import ClaimHistory
from ansible_collections.inference.dra.plugins.module_utils._core.claim_state import judge_claim
from ansible_collections.inference.dra.plugins.module_utils._core.claims import (
    Claim,
    ClaimTemplate,
    DeviceClass,
    Toleration,
)
from ansible_collections.inference.dra.plugins.module_utils._core.conditions import scheduler_view
from ansible_collections.inference.dra.plugins.module_utils._core.objects import MalformedObjects
from ansible_collections.inference.dra.plugins.module_utils._core.pods import Pod, PodIndex
from ansible_collections.inference.dra.plugins.module_utils._core.resource_pools import pools
from ansible_collections.inference.dra.plugins.module_utils._core.slices import DeviceTaint, ResourceSlice

from .dra_objects import (
    FAILED,
    GATE,
    GPU,
    NOW,
    UPDATED,
    ago,
    claim,
    consumer,
    device,
    devices,
    gate_result,
    owned_by,
    pod,
    resource_slice,
    result,
    status_of,
    template,
)

GATED = gate_result()
SECOND = gate_result("share-2")


def judge(published, pods=None, slices=None, **options):
    return judge_claim(
        Claim.from_api(published),
        now=options.pop("now", NOW),
        pods=None if pods is None else PodIndex(Pod.from_api(each) for each in pods),
        pools=None if slices is None else pools(ResourceSlice.from_api(each) for each in slices),
        **options,
    )


def reasons(report):
    return [each.reason for each in report.verdicts]


def the(report, reason):
    (found,) = [each for each in report.verdicts if each.reason == reason]
    return found


# Reading


def test_reads_requests_with_their_alternatives():
    read = Claim.from_api(claim())
    main, gate = read.devices.requests
    assert [each.name for each in main.alternatives] == ["device/gpu", "device/cpu"]
    assert (main.first_available, gate.first_available) == (True, False)
    assert str(main.alternatives[1].capacity["dra.cpu/cpu"]) == "12"
    assert (main.position("device/cpu"), main.position("device/tpu")) == (1, -1)
    assert [each.name for each in gate.alternatives] == ["image-config"]
    assert (gate.alternatives[0].count, gate.alternatives[0].allocation_mode) == (1, "ExactCount")
    assert read.devices.request("device/cpu") is main
    assert read.devices.request("nothing") is None


def test_reads_everything_an_exact_request_can_say():
    requests = [
        {
            "name": "r",
            "exactly": {
                "deviceClassName": "c",
                "selectors": [{"cel": {"expression": "true"}}, {"cel": {"expression": "false"}}],
                "allocationMode": "All",
                "adminAccess": True,
                "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute"}],
            },
        }
    ]
    (request,) = Claim.from_api(claim(requests=requests)).devices.requests
    (alternative,) = request.alternatives
    assert alternative.selectors == ("true", "false")
    assert (alternative.allocation_mode, alternative.admin_access) == ("All", True)
    assert alternative.tolerations == (Toleration("k", "Exists", "", "NoExecute"),)


def test_fields_of_a_newer_api_survive():
    published = claim(
        results=[result(powerCap="300W")],
        requests=[{"name": "r", "exactly": {"deviceClassName": "c", "prefer": "x"}}],
    )
    published["status"]["poolHints"] = ["p"]
    published["status"]["allocation"]["score"] = 7
    published["spec"]["devices"]["budget"] = 1
    read = Claim.from_api(published)
    assert read.allocation is not None
    assert read.unknown == {"poolHints": ["p"]}
    assert read.allocation.unknown == {"score": 7}
    assert read.allocation.devices[0].unknown == {"powerCap": "300W"}
    assert read.devices.unknown == {"budget": 1}
    assert read.devices.requests[0].alternatives[0].unknown == {"prefer": "x"}


def test_a_kind_of_request_that_is_not_known_has_no_alternative():
    (request,) = Claim.from_api(claim(requests=[{"name": "r", "anyOf": []}])).devices.requests
    assert (request.alternatives, request.unknown) == ((), {"anyOf": []})


def test_reads_templates_and_classes():
    read = ClaimTemplate.from_api(template())
    assert [each.name for each in read.devices.requests] == ["device", "image-config"]
    described = DeviceClass.from_api(
        {
            "kind": "DeviceClass",
            "metadata": {"name": GPU},
            "spec": {
                "selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}],
                "config": [{"opaque": {"driver": GPU, "parameters": {"a": 1}}}],
                "extendedResourceName": "nvidia.com/gpu",
            },
        }
    )
    assert described.selectors == ("device.driver == 'gpu.nvidia.com'",)
    assert (described.extended_resource_name, described.configs[0].parameters) == ("nvidia.com/gpu", {"a": 1})


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (["status", "allocation", "devices", "results"], "gpu-0", "status.allocation.devices.results"),
        (["status", "allocation", "devices", "results", 0, "driver"], "", "results[0].driver"),
        (["status", "allocation", "allocationTimestamp"], "yesterday", "allocationTimestamp"),
        (["status", "devices"], {"x": 1}, "status.devices"),
        (["status", "reservedFor"], [7], "status.reservedFor[0]"),
        (["spec", "devices", "requests"], [{"exactly": {}}], "spec.devices.requests[0].name"),
        (
            ["spec", "devices", "requests", 0, "firstAvailable", 1, "capacity", "requests"],
            {"c": "x"},
            "requests.c",
        ),
        (["metadata", "labels"], {"a": 1}, "metadata.labels"),
        (["metadata", "name"], "", "metadata.name"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_malformed_claims_are_named_with_the_field(path, value, named):
    published = copy.deepcopy(claim(results=[result()], statuses=[status_of(GATED)]))
    place = published
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(MalformedObjects, match="ResourceClaim") as error:
        Claim.from_api(published)
    assert named in str(error.value)


# States and conditions


@pytest.mark.parametrize(
    ("published", "state"),
    [
        (claim(), "pending"),
        (claim(results=[result()]), "ready"),
        (claim(results=[result(), GATED]), "allocated"),
        (claim(results=[result(), GATED], statuses=[status_of(GATED, image_updated="True")]), "ready"),
        (claim(results=[result(), GATED], statuses=[status_of(GATED, image_update_failed="True")]), "failed"),
        (claim(results=[result()], metadata={"deletionTimestamp": ago(5)}), "deleting"),
        (claim(metadata={"deletionTimestamp": ago(5)}), "deleting"),
    ],
    ids=["nothing", "no-conditions", "waiting", "all-true", "failed", "deleting", "deleting-unallocated"],
)
def test_every_claim_has_one_state(published, state):
    assert judge(published).state == state


@pytest.mark.parametrize(
    ("statuses", "state", "missing"),
    [
        ([], "allocated", [UPDATED]),
        ([status_of(GATED)], "allocated", [UPDATED]),
        ([status_of(GATED, image_updated="Unknown")], "allocated", [UPDATED]),
        ([status_of(GATED, image_updated="False")], "allocated", [UPDATED]),
        ([status_of(GATED, something_else="True")], "allocated", [UPDATED]),
        ([status_of(result(), image_updated="True")], "allocated", [UPDATED]),
        ([status_of({**GATED, "pool": "other"}, image_updated="True")], "allocated", [UPDATED]),
        ([status_of({**GATED, "driver": "other"}, image_updated="True")], "allocated", [UPDATED]),
        ([status_of(GATED, image_updated="True")], "ready", []),
    ],
    ids=[
        "C03-no-entry-is-not-ready",
        "C03-entry-without-conditions",
        "C03-unknown-is-not-true",
        "C03-false",
        "C03-another-condition",
        "C03-condition-on-another-device",
        "C03-same-device-in-another-pool",
        "C03-same-device-of-another-driver",
        "C03-true",
    ],
)
def test_what_is_required_stands_in_the_allocation(statuses, state, missing):
    report = judge(claim(results=[result(), GATED], statuses=statuses))
    gate = report.devices[1]
    assert (report.state, list(gate.missing)) == (state, missing)
    assert gate.required == (UPDATED,)
    assert report.state == ("ready" if report.scheduler.outcome == "ready" else "allocated")


@pytest.mark.parametrize(
    "now_on_slice", [[], ["d/a", "d/b"], None], ids=["C03-list-emptied", "C03-list-grown", "C03-slice-gone"]
)
def test_a_slice_edited_afterwards_changes_nothing_about_the_wait(now_on_slice):
    changed = resource_slice(
        driver=GATE,
        pool="all-nodes",
        node=None,
        allNodes=True,
        devices=[device("image-configurator", bindingConditions=now_on_slice)],
    )
    slices = [changed, resource_slice(devices=devices("gpu-0"))]
    report = judge(claim(results=[result(), GATED]), slices=slices)
    assert (report.state, report.devices[1].missing) == ("allocated", (UPDATED,))


def test_all_of_several_conditions_must_be_true():
    gated = gate_result(bindingConditions=[f"{GATE}/a", f"{GATE}/b"])
    report = judge(claim(results=[gated], statuses=[status_of(gated, b="True", a="False")]))
    assert (report.state, report.devices[0].met, report.devices[0].missing) == (
        "allocated",
        (f"{GATE}/b",),
        (f"{GATE}/a",),
    )


@pytest.mark.parametrize(
    ("revisions", "states", "was_ready"),
    [
        (["", "True", "gone", "True"], ["allocated", "ready", "allocated", "ready"], True),
        (["", "True", "gone"], ["allocated", "ready", "allocated"], True),
        (["", "gone"], ["allocated", "allocated"], False),
    ],
    ids=["C01-comes-goes-and-comes", "C01-still-gone", "C01-never-there"],
)
def test_a_condition_that_vanishes_is_missing_now_not_failed(revisions, states, was_ready):
    kinds = {
        "": [],
        "True": [status_of(GATED, image_updated="True")],
        "gone": [status_of(GATED, driver_data="True")],
    }
    history, seen = ClaimHistory(), []
    for revision in revisions:
        report = judge(claim(results=[GATED], statuses=kinds[revision]))
        history = history.observe(report)
        seen.append(report.state)
    assert (seen, history.was_ready, history.allocations_seen) == (states, was_ready, 1)
    assert all("Failed" not in reason for reason in reasons(report))


def test_c01_missing_now_says_so_when_the_pod_is_already_bound():
    published = claim(results=[GATED], statuses=[status_of(GATED)], consumers=[consumer()], allocated=5000)
    report = judge(published, pods=[pod(node="node-a", phase="Running")])
    found = the(report, "BindingConditionMissing")
    assert (report.state, found.status, report.seconds_left) == ("allocated", "note", None)
    assert found.observed.startswith("missing now")
    assert "already bound: pod-a on node-a" in found.observed


@pytest.mark.parametrize(
    ("allocated", "timeout", "left", "reason"),
    [
        (0, 600, 600, "BindingConditionMissing"),
        (10, 600, 590, "BindingConditionMissing"),
        (599, 600, 1, "BindingConditionMissing"),
        (601, 600, 0, "BindingTimeout"),
        (100000, 600, 0, "BindingTimeout"),
        (19, 20, 1, "BindingConditionMissing"),
        (21, 20, 0, "BindingTimeout"),
        (-5, 600, 605, "BindingConditionMissing"),
    ],
    ids=[
        "C02-just-allocated",
        "C02-ten-seconds",
        "C02-one-second-left",
        "C02-over",
        "C02-long-over",
        "C02-other-timeout-running",
        "C02-other-timeout-over",
        "C02-clock-behind-the-servers",
    ],
)
def test_the_wait_is_counted_from_the_allocation(allocated, timeout, left, reason):
    report = judge(claim(results=[GATED], allocated=allocated), binding_timeout=timeout)
    assert report.seconds_left == left
    assert reasons(report) == [reason]
    assert f"within {timeout} s" in the(report, reason).expected


def test_c02_less_than_a_second_left_is_not_over():
    report = judge(claim(results=[GATED], allocated=600), now=NOW - timedelta(milliseconds=400))
    assert (report.seconds_left, reasons(report)) == (1, ["BindingConditionMissing"])


@pytest.mark.parametrize(
    ("published", "left"),
    [
        (claim(results=[result()]), None),
        (claim(results=[GATED], statuses=[status_of(GATED, image_updated="True")]), None),
        (claim(results=[GATED], allocated=None), None),
        (claim(), None),
        (claim(results=[result(), GATED]), 599),
    ],
    ids=["no-conditions", "ready", "no-timestamp", "not-allocated", "waiting"],
)
def test_time_runs_only_for_a_claim_that_is_waited_for(published, left):
    assert judge(published).seconds_left == left


@pytest.mark.parametrize(
    ("looks", "seen"),
    [
        ([("gpu-0", 700), ("gpu-0", 700)], 1),
        ([("gpu-0", 700), None, ("gpu-1", 5)], 2),
        ([("gpu-0", 700), ("gpu-0", 50)], 2),
        ([("gpu-0", 700), None, ("gpu-0", 300), None, ("gpu-0", 5)], 3),
        ([None, None], 0),
    ],
    ids=[
        "C02-looked-at-twice",
        "C02-emptied-then-another-device",
        "C02-allocated-anew-between-two-looks",
        "C02-three-rounds",
        "C02-never-allocated",
    ],
)
def test_the_wait_survives_an_allocation_given_up_and_counts_the_next(looks, seen):
    history = ClaimHistory()
    for look in looks:
        results = [] if look is None else [result(look[0], bindingConditions=["d/c"])]
        history = history.observe(judge(claim(results=results, allocated=look[1] if look else None)))
    assert history.allocations_seen == seen
    assert history.was_ready is False


def test_c02_another_claim_of_the_same_name_starts_anew():
    first = judge(claim(results=[result()]))
    history = ClaimHistory().observe(first).observe(replace(first, uid="uid-of-the-next"))
    assert (history.uid, history.allocations_seen) == ("uid-of-the-next", 1)


def test_c02_readiness_belongs_to_one_allocation():
    ready = judge(claim(results=[GATED], statuses=[status_of(GATED, image_updated="True")], allocated=100))
    again = judge(claim(results=[GATED], allocated=5))
    history = ClaimHistory().observe(ready)
    assert history.was_ready
    assert not history.observe(again).was_ready


@pytest.mark.parametrize(
    ("conditions", "failures", "state"),
    [
        ({"image_update_failed": "True"}, [FAILED], "failed"),
        ({"image_update_failed": "True", "image_updated": "True"}, [FAILED], "failed"),
        ({"image_updated": "True", "image_update_failed": "False"}, [FAILED], "ready"),
        ({"image_updated": "True", "image_update_failed": "Unknown"}, [FAILED], "ready"),
        ({"image_updated": "True", "image_update_failed": "True"}, [], "ready"),
        ({"image_updated": "True", "other_failed": "True"}, [FAILED], "ready"),
    ],
    ids=[
        "C04-failed",
        "C04-failure-wins-over-true",
        "C04-failure-false",
        "C04-failure-unknown",
        "C04-only-the-results-own-list-counts",
        "C04-a-failure-of-another-type",
    ],
)
def test_failure_ends_the_wait_at_once(conditions, failures, state):
    gated = gate_result(bindingFailureConditions=failures)
    report = judge(claim(results=[gated], statuses=[status_of(gated, **conditions)]))
    assert report.state == state
    assert report.state == report.scheduler.outcome
    if state == "failed":
        found = the(report, "BindingConditionFailed")
        assert found.status == "error"
        for part in ("image-configurator", "ImageUpdateFailed", "message of image_update_failed"):
            assert part in found.observed


def test_a_result_without_binding_conditions_never_blocks_nor_fails():
    odd = gate_result(bindingConditions=[])
    report = judge(claim(results=[odd], statuses=[status_of(odd, image_update_failed="True")]))
    assert report.state == report.scheduler.outcome == "ready"


@pytest.mark.parametrize(
    ("rounds", "warned"), [(1, False), (2, False), (3, True), (5, True)], ids=lambda v: f"C04-{v}"
)
def test_a_claim_that_loops_on_one_device_says_so(rounds, warned):
    history = ClaimHistory()
    for i in range(rounds):
        history = history.observe(judge(claim(results=[result("gpu-1")], allocated=1000 - i * 100)))
    found = list(history.verdicts("ResourceClaim llm/claim-a"))
    assert [each.reason for each in found] == (["AllocationLoop"] if warned else [])
    if warned:
        assert f"{rounds} times" in found[0].observed
        assert "gpu-1" in found[0].observed


def test_c04_alternating_devices_are_no_loop_of_one():
    history = ClaimHistory()
    for i, name in enumerate(["gpu-1", "gpu-0", "gpu-1", "gpu-0"]):
        history = history.observe(judge(claim(results=[result(name)], allocated=1000 - i * 100)))
    assert (history.allocations_seen, list(history.verdicts("x"))) == (4, [])


@pytest.mark.parametrize(
    ("order", "outcome", "masked"),
    [
        (["pending", "failed"], "waiting", True),
        (["failed", "pending"], "failed", False),
        (["ready", "failed"], "failed", False),
        (["plain", "failed"], "failed", False),
        (["ready", "pending", "failed"], "waiting", True),
    ],
    ids=[
        "masked-by-an-earlier-device",
        "failed-first",
        "behind-a-ready-one",
        "behind-one-without-conditions",
        "masked-in-the-middle",
    ],
)
def test_a_failure_behind_a_device_that_is_not_ready_is_masked(order, outcome, masked):
    kinds = {"pending": {}, "failed": {"bad": "True"}, "ready": {"ok": "True"}}
    results, statuses = [], []
    for i, kind in enumerate(order):
        gated = (
            {}
            if kind == "plain"
            else {"bindingConditions": [f"{GPU}/ok"], "bindingFailureConditions": [f"{GPU}/bad"]}
        )
        results.append(result(f"gpu-{i}", **gated))
        if kind != "plain":
            statuses.append(status_of(results[-1], **kinds[kind]))
    report = judge(claim(results=results, statuses=statuses, allocated=10))
    assert (report.state, report.scheduler.outcome) == ("failed", outcome)
    assert ("BindingFailureMasked" in reasons(report)) is masked
    if masked:
        found = the(report, "BindingFailureMasked")
        assert f"gpu-{order.index('pending')}" in found.observed
        assert "590 s left" in found.observed


@pytest.mark.parametrize(
    ("published", "state", "outcome", "found"),
    [
        (claim(results=[GATED], statuses=[status_of(GATED, image_updated="True")]), "ready", "ready", []),
        (
            claim(
                results=[GATED], statuses=[status_of(GATED, image_updated="True", image_update_failed="True")]
            ),
            "failed",
            "failed",
            ["BindingConditionFailed"],
        ),
        (claim(), "pending", "waiting", ["ClaimPending"]),
        (claim(results=[GATED], allocated=21), "allocated", "waiting", ["BindingTimeout"]),
        (
            claim(
                results=[GATED],
                statuses=[status_of(GATED, image_update_failed="True")],
                consumers=[consumer("pod-a"), consumer("pod-b")],
            ),
            "failed",
            "failed",
            ["BindingConditionFailed", "GatedClaimShared"],
        ),
        (
            claim(
                results=[GATED],
                statuses=[status_of(GATED, image_updated="True")],
                consumers=[consumer("pod-a"), consumer("pod-late")],
            ),
            "ready",
            "ready",
            ["GatedClaimShared"],
        ),
        (
            claim(
                results=[result(bindingConditions=["d/c"]), GATED],
                statuses=[status_of(GATED, image_update_failed="True")],
                allocated=21,
            ),
            "failed",
            "waiting",
            ["BindingConditionFailed", "BindingFailureMasked"],
        ),
    ],
    ids=[
        "observed-7-success",
        "observed-7-failure-beside-success-reservation-emptied",
        "observed-7-allocation-given-up",
        "observed-7-timeout",
        "observed-7-two-pods-one-claim-failure",
        "observed-7-late-pod-on-a-claim-already-true",
        "observed-7-masked-until-the-timeout",
    ],
)
def test_what_was_observed_of_binding_conditions(published, state, outcome, found):
    report = judge(published, binding_timeout=20)
    assert (report.state, report.scheduler.outcome, reasons(report)) == (state, outcome, found)


@pytest.mark.parametrize(
    ("statuses", "state", "scheduler", "merged"),
    [
        ([("share-1", "True"), ("share-2", "True")], "ready", "ready", False),
        ([("share-1", "True"), ("share-2", "False")], "allocated", "ready", True),
        ([("share-1", "True")], "allocated", "ready", True),
        ([("share-2", "False"), ("share-1", "True")], "allocated", "waiting", False),
        ([("share-2", "True"), ("share-1", "True")], "ready", "ready", False),
        ([("share-9", "False"), ("share-1", "True"), ("share-2", "True")], "allocated", "waiting", True),
        ([], "allocated", "waiting", False),
    ],
    ids=[
        "C05-both-true",
        "C05-second-share-false",
        "C05-second-share-silent",
        "C05-first-entry-false",
        "C05-other-order",
        "C05-an-old-share-in-front",
        "C05-none",
    ],
)
def test_each_share_of_a_device_must_be_ready(statuses, state, scheduler, merged):
    entries = [status_of(gate_result(share), image_updated=value) for share, value in statuses]
    report = judge(claim(results=[GATED, SECOND], statuses=entries))
    assert (report.state, report.scheduler.outcome) == (state, scheduler)
    assert ("ShareStatusMerged" in reasons(report)) is merged


@pytest.mark.parametrize(
    ("results", "shares", "state"),
    [
        (["share-1"], [None], "ready"),
        (["share-1", "share-2"], [None], "allocated"),
        ([None], ["share-1"], "allocated"),
    ],
    ids=[
        "C05-one-share-entry-without-id",
        "C05-two-shares-entry-without-id",
        "C05-entry-of-a-share-nobody-has",
    ],
)
def test_entries_without_a_share_id(results, shares, state):
    entries = [status_of(gate_result(share), image_updated="True") for share in shares]
    assert judge(claim(results=[gate_result(share) for share in results], statuses=entries)).state == state


# Lifecycle and consumers


@pytest.mark.parametrize(
    "conditions",
    [{}, {"image_updated": "True"}, {"image_update_failed": "True"}],
    ids=["C08-waiting", "C08-all-true", "C08-failed"],
)
def test_a_deleted_claim_is_never_ready_and_says_who_holds_it(conditions):
    published = claim(
        results=[GATED],
        statuses=[status_of(GATED, **conditions)],
        consumers=[consumer("pod-a"), consumer("pod-b")],
        metadata={
            "deletionTimestamp": ago(40000),
            "finalizers": ["resource.kubernetes.io/delete-protection"],
        },
    )
    report = judge(published, pods=[pod("pod-a")])
    found = the(report, "ClaimDeleting")
    assert report.state == "deleting"
    assert "resource.kubernetes.io/delete-protection" in found.observed
    assert found.evidence == ("pods pod-a (uid-pod-a): live", "pods pod-b (uid-pod-b): gone")


@pytest.mark.parametrize(
    ("pods", "state", "consumers", "reason"),
    [
        ([pod("pod-a", node="node-a", phase="Running")], "ready", ["live"], None),
        ([pod("pod-a", uid="uid-of-the-next")], "unusable", ["replaced"], "ClaimReservedForGonePods"),
        ([], "unusable", ["gone"], "ClaimReservedForGonePods"),
        ([pod("pod-a", phase="Succeeded", node="n")], "ready", ["ended"], "ClaimHeldByEndedPods"),
        ([pod("pod-a", phase="Failed", node="n")], "ready", ["ended"], "ClaimHeldByEndedPods"),
        (None, "ready", ["unknown"], None),
    ],
    ids=[
        "C09-live",
        "C09-recreated-under-the-same-name",
        "C09-gone",
        "C09-succeeded-is-no-consumer",
        "C09-failed-is-no-consumer",
        "C09-pods-not-known",
    ],
)
def test_consumers_are_known_by_uid(pods, state, consumers, reason):
    report = judge(claim(results=[result()], consumers=[consumer()]), pods=pods)
    assert (report.state, [each.state for each in report.consumers]) == (state, consumers)
    assert reasons(report) == ([reason] if reason else [])


def test_c09_one_live_consumer_keeps_the_claim_usable():
    published = claim(results=[result()], consumers=[consumer("pod-a"), consumer("pod-b")])
    report = judge(published, pods=[pod("pod-b")])
    assert (report.state, the(report, "ClaimReservedForGonePods").status) == ("ready", "warning")


def test_c09_a_consumer_of_another_namespace_is_another_pod():
    report = judge(
        claim(results=[result()], consumers=[consumer("pod-a")]),
        pods=[pod("pod-a", namespace="other", uid="u2")],
    )
    assert [each.state for each in report.consumers] == ["gone"]


@pytest.mark.parametrize(
    ("node", "reserved", "state"),
    [
        ("node-a", "uid-pod-a", "ready"),
        ("node-a", "uid-former", "unusable"),
        ("", "uid-pod-b", "ready"),
    ],
    ids=["C09-bound-and-reserved", "C09-bound-without-reservation", "C09-not-yet-scheduled"],
)
def test_a_bound_pod_needs_its_own_reservation(node, reserved, state):
    waiting = pod("pod-a", node=node)
    report = judge(
        claim(results=[result()], consumers=[consumer("x", uid=reserved)]),
        pods=[waiting, pod("pod-b")]
        if reserved != "uid-former"
        else [waiting, pod("pod-f", uid="uid-former")],
        wanted_by=Pod.from_api(waiting),
    )
    assert report.state == state
    assert ("ClaimNotReserved" in reasons(report)) is (state == "unusable")


def test_c09_a_claim_made_for_the_former_pod_of_that_name():
    published = claim(results=[result()], owner=owned_by(uid="uid-of-the-former"), pod_claim="hardware")
    report = judge(published, wanted_by=Pod.from_api(pod("pod-a")))
    assert (report.state, reasons(report)) == ("unusable", ["ClaimOfOtherPod"])
    mine = claim(results=[result()], owner=owned_by("pod-a"), pod_claim="hardware")
    assert judge(mine, wanted_by=Pod.from_api(pod("pod-a"))).state == "ready"


def test_a_claim_of_a_pod_group_serves_its_pods():
    published = claim(
        results=[result()],
        owner=owned_by("group", kind="PodGroup"),
        consumers=[consumer("group", resource="podgroups")],
    )
    member = pod("pod-a", node="node-a")
    member["spec"]["schedulingGroup"] = {"podGroupName": "group"}
    report = judge(published, pods=[member], wanted_by=Pod.from_api(member))
    assert (report.state, reasons(report), report.consumers[0].state) == ("ready", [], "unknown")


@pytest.mark.parametrize(
    ("slices", "phase", "state", "status"),
    [
        ([resource_slice(devices=devices("gpu-0"))], "Pending", "ready", None),
        ([resource_slice(devices=devices("gpu-1"))], "Pending", "ready", "warning"),
        ([resource_slice(pool="node-b", devices=devices("gpu-0"))], "Pending", "unusable", "error"),
        ([resource_slice(driver="other", devices=devices("gpu-0"))], "Pending", "unusable", "error"),
        ([], "Pending", "unusable", "error"),
        ([], "Running", "ready", "warning"),
        (None, "Pending", "ready", None),
    ],
    ids=[
        "C10-published",
        "C10-device-withdrawn-pool-there",
        "C10-pool-gone",
        "C10-same-names-of-another-driver",
        "C10-no-slice-at-all",
        "C10-running-pods-keep-the-device",
        "C10-slices-not-known",
    ],
)
def test_an_allocated_device_that_no_slice_publishes(slices, phase, state, status):
    published = claim(results=[result()], consumers=[consumer()])
    report = judge(published, pods=[pod(phase=phase, node="node-a")], slices=slices)
    assert report.state == state
    assert [(v.status, v.reason) for v in report.verdicts] == (
        [(status, "AllocatedDeviceGone")] if status else []
    )


def test_c10_a_gone_device_and_a_missing_condition_are_two_findings():
    report = judge(claim(results=[result(), GATED]), slices=[resource_slice(devices=devices("gpu-0"))])
    assert set(reasons(report)) == {"AllocatedDeviceGone", "BindingConditionMissing"}


@pytest.mark.parametrize(
    ("statuses", "hinted"),
    [([], True), ([status_of(GATED)], False), ([status_of(GATED, image_updated="False")], False)],
    ids=["C13-nobody-wrote-anything", "C13-an-entry-without-conditions", "C13-a-condition-that-is-false"],
)
def test_after_the_timeout_without_any_entry_permissions_are_hinted_at(statuses, hinted):
    found = the(judge(claim(results=[GATED], statuses=statuses, allocated=700)), "BindingTimeout")
    assert found.status == "error"
    assert ("resourceclaims/driver" in found.advice) is hinted
    assert (
        "resourceclaims/driver"
        not in the(
            judge(claim(results=[GATED], statuses=statuses, allocated=5)), "BindingConditionMissing"
        ).advice
    )


@pytest.mark.parametrize(
    ("consumers", "results", "warned"),
    [
        (["pod-a"], [GATED], False),
        (["pod-a", "pod-b"], [GATED], True),
        (["pod-a", "pod-b"], [result()], False),
        (["pod-a", "ended"], [GATED], False),
    ],
    ids=["C14-one-consumer", "C14-two-consumers", "C14-shared-without-a-gate", "C14-one-has-ended"],
)
def test_a_gated_claim_with_several_consumers(consumers, results, warned):
    published = claim(
        results=results,
        statuses=[status_of(GATED, image_updated="True")],
        consumers=[consumer(name) for name in consumers],
    )
    pods = [pod(name, phase="Failed" if name == "ended" else "Pending") for name in consumers]
    report = judge(published, pods=pods)
    assert report.state == "ready"
    assert ("GatedClaimShared" in reasons(report)) is warned


@pytest.mark.parametrize(
    ("tolerations", "effect", "warned"),
    [
        ([], "NoSchedule", True),
        ([], "NoExecute", True),
        ([], "None", False),
        ([{"key": "k", "operator": "Exists", "effect": "NoExecute"}], "NoExecute", False),
        ([{"key": "k", "operator": "Exists"}], "NoExecute", True),
        ([{"key": "k", "operator": "Exists"}], "NoSchedule", False),
        ([{"operator": "Exists", "effect": "NoSchedule"}], "NoExecute", True),
    ],
    ids=[
        "C24-no-schedule",
        "C24-no-execute",
        "C24-effect-none",
        "C24-tolerated",
        "C24-evicted-though-tolerated",
        "C24-toleration-of-every-effect",
        "C24-other-effect-tolerated",
    ],
)
def test_a_device_tainted_after_its_allocation_is_reported(tolerations, effect, warned):
    tainted = resource_slice(devices=[device("gpu-0", taints=[{"key": "k", "effect": effect}])])
    report = judge(claim(results=[result(tolerations=tolerations)]), slices=[tainted])
    assert (report.state, "AllocatedDeviceTainted" in reasons(report)) == ("ready", warned)


@pytest.mark.parametrize(
    ("toleration", "taint", "tolerated"),
    [
        (Toleration("k", "Exists"), DeviceTaint("k", "v", "NoSchedule"), True),
        (Toleration("", "Exists"), DeviceTaint("k", "v", "NoSchedule"), True),
        (Toleration("k", "Equal", "v"), DeviceTaint("k", "v", "NoSchedule"), True),
        (Toleration("k", "", "v"), DeviceTaint("k", "v", "NoSchedule"), True),
        (Toleration("k", "Equal", "w"), DeviceTaint("k", "v", "NoSchedule"), False),
        (Toleration("l", "Exists"), DeviceTaint("k", "v", "NoSchedule"), False),
        (Toleration("k", "Exists", "", "NoExecute"), DeviceTaint("k", "v", "NoSchedule"), False),
        (Toleration("k", "Like", "v"), DeviceTaint("k", "v", "NoSchedule"), False),
    ],
)
def test_tolerations(toleration, taint, tolerated):
    assert toleration.tolerates(taint) is tolerated


@pytest.mark.parametrize(
    ("request_name", "chosen"),
    [
        ("device/gpu", ("device", "device/gpu", 0, 2)),
        ("device/cpu", ("device", "device/cpu", 1, 2)),
        ("device/tpu", ("device", "device/tpu", -1, 2)),
        ("image-config", ("image-config", "image-config", 0, 1)),
        ("stranger", ("stranger", "stranger", -1, 0)),
    ],
    ids=["C31-first", "C31-second", "C31-not-in-the-spec", "C31-exact-request", "C31-unknown-request"],
)
def test_the_chosen_alternative_is_read_from_the_result(request_name, chosen):
    assert judge(claim(results=[result(request=request_name)])).choices == (chosen,)


def test_several_devices_of_one_request_are_one_choice():
    report = judge(claim(results=[result("gpu-0"), result("gpu-1"), GATED]))
    assert [each.alternative for each in report.choices] == ["device/gpu", "image-config"]
    assert report.node == "node-a"


def test_c47_conditions_are_strings_and_capacities_quantities():
    gated = gate_result(consumedCapacity={"dra.cpu/cpu": "12000m"})
    entry = status_of(gated, image_updated="True")
    report = judge(claim(results=[gated], statuses=[entry]))
    assert report.summary()["devices"][0]["consumed_capacity"] == {"dra.cpu/cpu": "12"}
    entry["conditions"][0]["status"] = True
    with pytest.raises(MalformedObjects, match=r"conditions\[0\].status is True, expected a string"):
        judge(claim(results=[gated], statuses=[entry]))


# Results of modules


def test_the_summary_has_every_key_and_plain_values():
    published = claim(
        results=[result(adminAccess=True), GATED],
        statuses=[status_of(GATED, image_update_failed="True")],
        consumers=[consumer()],
        pod_claim="hardware",
    )
    summary = judge(published, pods=[pod()]).summary()
    assert json.loads(json.dumps(summary)) == summary
    assert summary.keys() == judge(claim()).summary().keys()
    assert summary["chosen"] == {"device": "gpu"}
    assert summary["devices"][1] == {
        "request": "image-config",
        "driver": GATE,
        "pool": "all-nodes",
        "device": "image-configurator",
        "share_id": "share-1",
        "consumed_capacity": {},
        "admin_access": False,
        "conditions": {
            "required": [UPDATED],
            "met": [],
            "missing": [UPDATED],
            "failed": [
                {"type": FAILED, "reason": "ImageUpdateFailed", "message": "message of image_update_failed"}
            ],
        },
    }
    assert summary["consumers"] == [
        {"resource": "pods", "name": "pod-a", "uid": "uid-pod-a", "state": "live"}
    ]
    assert (summary["state"], summary["allocated_at"]) == ("failed", "2026-09-01T11:59:59+00:00")


def test_thirty_replicas_fit_into_a_modules_result():
    reports = [
        judge(claim(f"claim-{i}", results=[result(), GATED], consumers=[consumer()])) for i in range(30)
    ]
    assert len(json.dumps([each.summary() for each in reports])) < 64_000


def test_judging_changes_nothing():
    published = claim(results=[result(), GATED], statuses=[status_of(GATED)], consumers=[consumer()])
    before = copy.deepcopy(published)
    judge(published, pods=[pod()], slices=[resource_slice()])
    assert published == before


def test_the_schedulers_view_of_a_claim_without_allocation():
    assert scheduler_view(Claim.from_api(claim())).outcome == "waiting"
