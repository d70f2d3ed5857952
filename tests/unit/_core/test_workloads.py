# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From pods and Deployments to claims and images, and dumps as input; field cases by number."""

from __future__ import annotations

import copy
import random
import sys
from pathlib import Path

import pytest
import yaml

from ansible_collections.inference.dra.plugins.module_utils._core.claims import Claim, DeviceClass
from ansible_collections.inference.dra.plugins.module_utils._core.label_selectors import (
    LabelSelector,
    LabelSelectorError,
)
from ansible_collections.inference.dra.plugins.module_utils._core.nodes import Node
from ansible_collections.inference.dra.plugins.module_utils._core.objects import (
    MalformedObjects,
    View,
    parse_time,
    split,
)
from ansible_collections.inference.dra.plugins.module_utils._core.pods import Pod
from ansible_collections.inference.dra.plugins.module_utils._core.rollouts import (
    DaemonSet,
    Deployment,
    ReplicaSet,
    current_replica_set,
    workload_pods,
)
from ansible_collections.inference.dra.plugins.module_utils._core.slices import ResourceSlice
from ansible_collections.inference.dra.plugins.module_utils._core.workload_report import (
    Selection,
    SelectionError,
    Snapshot,
    judge,
)
from ansible_collections.inference.dra.plugins.module_utils._core.workloads import ClaimIndex, pod_claims

from .dra_objects import (
    GATE,
    GPU,
    NOW,
    UPDATED,
    ago,
    claim,
    consumer,
    devices,
    gate_result,
    owned_by,
    pod,
    resource_slice,
    result,
    template,
)
from .test_images import BOTH, gated_claim

TEMPLATES = frozenset({("llm", "gpu-or-cpu")})
NAMED = {"name": "shared", "resourceClaimName": "claim-a"}
MADE = {"name": "hardware", "resourceClaimTemplateName": "gpu-or-cpu"}


def links_of(published, *claims, templates=TEMPLATES):
    index = ClaimIndex(Claim.from_api(each) for each in claims)
    return pod_claims(Pod.from_api(published), index, templates)


def reasons(verdicts):
    return [each.reason for each in verdicts]


# From pod to claims


@pytest.mark.parametrize(
    ("published", "claims", "found"),
    [
        (pod(claims=[NAMED]), [claim()], [("shared", "named", "claim-a")]),
        (
            pod(claims=[NAMED], generated=[{"name": "hardware", "resourceClaimName": "other"}]),
            [claim(), claim("other")],
            [("shared", "named", "claim-a")],
        ),
        (
            pod(generated=[{"name": "hardware", "resourceClaimName": "claim-a"}]),
            [claim()],
            [("hardware", "generated", "claim-a")],
        ),
        (
            pod(),
            [claim(owner=owned_by(), pod_claim="hardware")],
            [("hardware", "generated", "claim-a")],
        ),
        (
            pod(generated=[{"name": "hardware", "resourceClaimName": "vanished"}]),
            [claim(owner=owned_by(), pod_claim="hardware")],
            [("hardware", "generated", "claim-a")],
        ),
        (
            pod(),
            [claim(owner=owned_by(uid="former"), pod_claim="hardware")],
            [("hardware", "generated", None)],
        ),
        (pod(), [claim(owner=owned_by(), pod_claim="other")], [("hardware", "generated", None)]),
        (pod(), [claim("pod-a-hardware")], [("hardware", "generated", None)]),
        (pod(generated=[{"name": "hardware"}]), [claim()], []),
        (
            pod(generated=[{"name": "other", "resourceClaimName": "claim-a"}]),
            [claim()],
            [("hardware", "generated", None)],
        ),
        (
            pod(
                claims=[MADE, {**MADE, "name": "second"}],
                generated=[{"name": "second", "resourceClaimName": "c2"}],
            ),
            [
                claim("c1", owner=owned_by(), pod_claim="hardware"),
                claim("c2", owner=owned_by(), pod_claim="second"),
            ],
            [("hardware", "generated", "c1"), ("second", "generated", "c2")],
        ),
        (
            pod(claims=[NAMED, MADE], generated=[{"name": "hardware", "resourceClaimName": "c2"}]),
            [claim(), claim("c2")],
            [("shared", "named", "claim-a"), ("hardware", "generated", "c2")],
        ),
        (pod(claims=[]), [claim()], []),
        (
            pod(
                claims=[],
                status={"extendedResourceClaimStatus": {"resourceClaimName": "pod-a-extended-resources-x"}},
            ),
            [claim("pod-a-extended-resources-x")],
            [("", "extended", "pod-a-extended-resources-x")],
        ),
        (pod(claims=[NAMED]), [claim(namespace="other")], [("shared", "named", None)]),
    ],
    ids=[
        "C06-named-claims-are-not-in-the-status",
        "C06-the-status-of-another-entry-does-not-count",
        "C06-generated-by-status",
        "C06-status-empty-owner-and-annotation-count",
        "C06-status-names-a-claim-that-is-gone",
        "C06-claim-of-a-former-pod-of-that-name",
        "C06-claim-for-another-entry",
        "C06-a-similar-name-proves-nothing",
        "C06-an-entry-without-a-name-means-none-needed",
        "C06-status-of-another-entry",
        "C06-two-templates-status-shows-one",
        "C06-named-and-generated",
        "C06-no-claims",
        "C06-extended-resource",
        "C06-same-name-in-another-namespace",
    ],
)
def test_the_claims_of_a_pod(published, claims, found):
    assert [(x.name, x.kind, x.claim and x.claim.meta.name) for x in links_of(published, *claims)] == found


@pytest.mark.parametrize("order", [1, -1], ids=["C06-old-first", "C06-new-first"])
def test_a_claim_being_deleted_is_not_taken_for_its_successor(order):
    claims = [
        claim("old", owner=owned_by(), pod_claim="hardware", metadata={"deletionTimestamp": ago(3)}),
        claim("new", owner=owned_by(), pod_claim="hardware"),
    ][::order]
    (link,) = links_of(pod(), *claims)
    assert link.claim_name == "new"


@pytest.mark.parametrize(
    ("published", "templates", "status", "reason", "said"),
    [
        (
            pod(),
            frozenset(),
            "error",
            "TemplateMissing",
            "ResourceClaimTemplate llm/gpu-or-cpu does not exist",
        ),
        (pod(), {("other", "gpu-or-cpu")}, "error", "TemplateMissing", "llm/gpu-or-cpu"),
        (pod(), TEMPLATES, "note", "ClaimNotGenerated", "no claim for spec.resourceClaims hardware yet"),
        (pod(), None, "note", "ClaimNotGenerated", "hardware"),
        (
            pod(generated=[{"name": "hardware", "resourceClaimName": "gone"}]),
            TEMPLATES,
            "note",
            "ClaimNotGenerated",
            "its status names gone, which does not exist",
        ),
        (
            pod(claims=[NAMED]),
            TEMPLATES,
            "error",
            "ClaimMissing",
            "spec.resourceClaims shared of Pod llm/pod-a",
        ),
        (pod(claims=[{"name": "odd"}]), TEMPLATES, "error", "ClaimMissing", "neither a claim nor a template"),
    ],
    ids=[
        "C07-template-gone",
        "C07-template-in-another-namespace",
        "C07-not-generated-yet",
        "C07-templates-not-known",
        "C07-generated-and-gone",
        "C07-named-claim-missing",
        "C07-neither-name-given",
    ],
)
def test_a_claim_that_is_not_there(published, templates, status, reason, said):
    (link,) = links_of(published, templates=templates)
    assert link.claim is None
    assert (link.verdict.status, link.verdict.reason) == (status, reason)
    assert said in link.verdict.observed


def test_c07_a_template_is_needed_only_while_generating():
    (link,) = links_of(pod(), claim(owner=owned_by(), pod_claim="hardware"), templates=frozenset())
    assert link.verdict is None


# Rollouts


def deployment(**fields):
    spec = {"replicas": fields.pop("wanted", 2), "selector": {"matchLabels": {"app": "vllm"}}}
    generation = fields.pop("generation", 3)
    spec["template"] = fields.pop("template", pod_template("v2"))
    return {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "vllm", "namespace": "llm", "uid": "uid-d", "generation": generation},
        "spec": spec,
        "status": {"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2,
                   "availableReplicas": 2, **fields},
    }  # fmt: skip


def pod_template(image):
    return {
        "metadata": {"labels": {"app": "vllm"}},
        "spec": {"containers": [{"name": "vllm", "image": image}]},
    }


def replica_set(name, image, revision, *, owner="uid-d", age=100):
    described = pod_template(image)
    described["metadata"]["labels"] = {"app": "vllm", "pod-template-hash": name}
    return {
        "kind": "ReplicaSet",
        "apiVersion": "apps/v1",
        "metadata": {
            "name": name,
            "namespace": "llm",
            "uid": f"uid-{name}",
            "creationTimestamp": ago(age),
            "annotations": {"deployment.kubernetes.io/revision": str(revision)},
            "ownerReferences": [owned_by("vllm", uid=owner, kind="Deployment")],
        },
        "spec": {"template": described},
    }


@pytest.mark.parametrize(
    ("wanted", "sets", "newest"),
    [
        (deployment(), [replica_set("old", "v1", 1), replica_set("new", "v2", 2)], "new"),
        (deployment(), [replica_set("new", "v2", 10), replica_set("old", "v1", 9)], "new"),
        (
            deployment(template=pod_template("v1")),
            [replica_set("a", "v1", 1), replica_set("b", "v2", 2)],
            "a",
        ),
        (deployment(), [replica_set("other", "v2", 5, owner="uid-x"), replica_set("new", "v2", 2)], "new"),
        (deployment(generation=4, template=pod_template("v3")), [replica_set("new", "v2", 2)], None),
        (
            deployment(template=pod_template("defaulted")),
            [replica_set("a", "v1", 9), replica_set("b", "v2", 10)],
            "b",
        ),
        (deployment(), [replica_set("b", "v2", 2, age=1), replica_set("a", "v2", 2, age=9)], "a"),
        (deployment(), [], None),
    ],
    ids=[
        "C37-template-equal",
        "C37-order-does-not-matter",
        "C37-rolled-back-to-the-first",
        "C37-set-of-another-deployment",
        "C52-not-yet-rolled-out",
        "C37-highest-revision-as-a-number",
        "C37-oldest-of-equals",
        "C37-none",
    ],
)
def test_the_current_replica_set(wanted, sets, newest):
    found = current_replica_set(Deployment.from_api(wanted), [ReplicaSet.from_api(each) for each in sets])
    assert (found.meta.name if found else None) == newest


@pytest.mark.parametrize(
    ("fields", "current"),
    [
        ({}, True),
        ({"phase": "Running", "node": "node-a"}, True),
        ({"phase": "Failed", "status": {"reason": "Terminated", "message": "node shutdown"}}, False),
        ({"phase": "Succeeded"}, False),
        ({"metadata": {"deletionTimestamp": ago(2)}}, False),
        ({"owner": owned_by("old", kind="ReplicaSet")}, False),
        ({"owner": None}, False),
    ],
    ids=[
        "C37-pending",
        "C37-running",
        "C37-failed-by-a-preempted-node",
        "C37-succeeded",
        "C37-terminating",
        "C37-of-the-old-replica-set",
        "C37-only-the-labels",
    ],
)
def test_only_live_pods_of_the_current_replica_set_are_judged(fields, current):
    each = Pod.from_api(
        pod(labels={"app": "vllm"}, **{"owner": owned_by("new", kind="ReplicaSet"), **fields})
    )
    stranger = Pod.from_api(pod("stranger"))
    sets = [ReplicaSet.from_api(x) for x in (replica_set("old", "v1", 1), replica_set("new", "v2", 2))]
    found = workload_pods(Deployment.from_api(deployment()), sets, [each, stranger])
    assert ([p.meta.name for p in found.current], [p.meta.name for p in found.left_over]) == (
        (["pod-a"], []) if current else ([], ["pod-a"])
    )


@pytest.mark.parametrize(
    ("fields", "state", "observed"),
    [
        ({}, "complete", "2 of 2 replicas are ready"),
        ({"observedGeneration": 2}, "progressing", "generation 2"),
        ({"readyReplicas": 1, "availableReplicas": 1}, "progressing", "1 of 2 replicas are ready"),
        ({"availableReplicas": 1}, "progressing", "1 of 2 replicas are available"),
        ({"updatedReplicas": 1}, "progressing", "1 of 2 replicas are updated"),
        (
            {"wanted": 0, "replicas": 0, "updatedReplicas": 0, "readyReplicas": 0, "availableReplicas": 0},
            "complete",
            "0 of 0",
        ),
        (
            {
                "conditions": [
                    {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
                ]
            },
            "failed",
            "deadline",
        ),
    ],
    ids=[
        "C52-complete",
        "C52-status-of-the-previous-generation",
        "C52-scaled-is-not-ready",
        "C52-not-available",
        "C52-not-updated",
        "C52-scaled-to-zero",
        "C52-deadline-exceeded",
    ],
)
def test_how_far_a_deployment_is(fields, state, observed):
    found = Deployment.from_api(deployment(**fields)).rollout()
    assert found.state == state
    assert observed in found.observed


def test_c52_old_replicas_beside_the_new_ones():
    assert Deployment.from_api(deployment(replicas=3)).rollout() == ("progressing", "1 old replicas remain")


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({}, "no_targets"),
        ({"desiredNumberScheduled": 0, "numberReady": 0}, "no_targets"),
        ({"desiredNumberScheduled": 1}, "progressing"),
        (
            {"desiredNumberScheduled": 1, "currentNumberScheduled": 1, "updatedNumberScheduled": 1},
            "progressing",
        ),
        (
            {
                "desiredNumberScheduled": 1,
                "currentNumberScheduled": 1,
                "updatedNumberScheduled": 1,
                "numberReady": 1,
            },
            "complete",
        ),
        (
            {
                "desiredNumberScheduled": 2,
                "currentNumberScheduled": 2,
                "updatedNumberScheduled": 1,
                "numberReady": 2,
            },
            "progressing",
        ),
    ],
    ids=[
        "C46-fields-missing",
        "C46-desired-zero",
        "C26-desired-one-current-zero",
        "C46-not-ready",
        "C46-ready",
        "C46-old-pod-still-there",
    ],
)
def test_a_daemon_set_with_nothing_to_do_is_neither_success_nor_failure(status, state):
    published = {"kind": "DaemonSet", "metadata": {"name": "driver", "generation": 1}}
    published["status"] = {"observedGeneration": 1, **status}
    assert DaemonSet.from_api(published).rollout().state == state
    stale = {**published, "status": {**status, "observedGeneration": 0}}
    assert DaemonSet.from_api(stale).rollout().state == "progressing"


LABELS = {"app": "vllm", "tier": "gpu", "n": "3"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("app=vllm", True),
        ("app==vllm", True),
        ("app = vllm , tier!=cpu", True),
        ("app!=vllm", False),
        ("tier in (cpu, gpu)", True),
        ("tier in (cpu)", False),
        ("tier notin (cpu)", True),
        ("rack notin (r1)", True),
        ("rack!=r1", True),
        ("app", True),
        ("rack", False),
        ("!rack", True),
        ("!app", False),
        ("n>2", True),
        ("n<3", False),
        ("app=vllm,tier in (cpu,gpu),!rack", True),
        ("app=vllm,tier in (cpu,tpu)", False),
        ("example.com/x=", False),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_label_selectors_as_text(text, matches):
    assert LabelSelector.parse(text).matches(LABELS) is matches


@pytest.mark.parametrize("text", ["app in", "app in (a", "=x", "a b", "app=a=b", ",", "app,,tier", "(a)"])
def test_label_selectors_that_are_not_understood(text):
    with pytest.raises(LabelSelectorError, match="is not understood"):
        LabelSelector.parse(text)


def test_label_selectors_as_mapping():
    selector = {
        "matchLabels": {"app": "vllm"},
        "matchExpressions": [{"key": "tier", "operator": "In", "values": ["gpu"]}],
    }
    read = LabelSelector.from_view(View(selector, "Deployment d", "spec.selector"))
    assert read.matches(LABELS)
    assert not read.matches({"app": "vllm"})
    assert LabelSelector.from_view(View({}, "Deployment d")).matches({})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"namespace": "llm", "names": ("a",), "deployment": "d"}, "names and deployment"),
        ({"namespace": "llm", "pods": ("a",), "label_selector": LabelSelector()}, "label_selector and pods"),
        ({"drivers": ("gpu.nvidia.com",), "label_selector": LabelSelector()}, "label_selector and drivers"),
        ({"names": ("a",)}, "needs a namespace"),
        ({"deployment": "d"}, "needs a namespace"),
    ],
    ids=[
        "two-ways",
        "two-other-ways",
        "drivers-and-labels",
        "names-without-namespace",
        "deployment-without-namespace",
    ],
)
def test_selections_that_contradict_themselves(options, said):
    with pytest.raises(SelectionError, match=said):
        Selection(**options)


def world():
    """Two replicas of a Deployment, one on a GPU, one not yet generated, with leftovers and strangers."""
    mine = {"labels": {"app": "vllm"}, "owner": owned_by("new", kind="ReplicaSet")}
    return [
        deployment(readyReplicas=1, availableReplicas=1),
        replica_set("old", "v1", 1),
        replica_set("new", "v2", 2),
        template(),
        resource_slice(devices=devices("gpu-0", "gpu-1")),
        resource_slice("gate", driver=GATE, pool="all-nodes", node=None, allNodes=True,
                       devices=devices("image-configurator")),
        pod("pod-a", node="node-a", phase="Running", image="img-gpu",
            generated=[{"name": "hardware", "resourceClaimName": "claim-a"}], **mine),
        pod("pod-b", **mine),
        pod("pod-f", phase="Failed", **mine),
        pod("stranger", namespace="other", claims=[NAMED]),
        gated_claim(configs=BOTH, owner=owned_by(), pod_claim="hardware", consumers=[consumer()]),
        claim("spare", metadata={"labels": {"tier": "gpu"}}),
        claim("foreign", namespace="other"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("selection", "states", "reasons_found"),
    [
        (
            Selection("llm", deployment="vllm"),
            {"claim-a": "ready", "hardware": "not_generated"},
            ["PodLeftOver", "RolloutIncomplete"],
        ),
        (Selection("llm", pods=("pod-a",)), {"claim-a": "ready"}, []),
        (Selection("llm", pods=("pod-a", "pod-x")), {"claim-a": "ready"}, ["PodMissing"]),
        (Selection("llm", names=("spare", "claim-x")), {"spare": "pending", "claim-x": "not_generated"}, []),
        (Selection("llm", names=("spare", "spare")), {"spare": "pending"}, []),
        (Selection("llm", label_selector=LabelSelector.parse("tier=gpu")), {"spare": "pending"}, []),
        (
            Selection("llm"),
            {"claim-a": "ready", "spare": "pending", "hardware": "not_generated"},
            [],
        ),
        (Selection("other"), {"foreign": "pending", "claim-a": "not_generated"}, []),
        (Selection("empty"), {}, []),
        (Selection("llm", deployment="nope"), {}, ["DeploymentMissing"]),
        (Selection("other", deployment="vllm"), {}, ["DeploymentMissing"]),
        (Selection("llm", label_selector=LabelSelector.parse("tier=none")), {}, []),
        (Selection(drivers=("other.example", "gpu.nvidia.com")), {"claim-a": "ready"}, []),
        (Selection("other", drivers=("gpu.nvidia.com",)), {}, []),
        (Selection(drivers=("other.example",)), {}, []),
    ],
    ids=[
        "deployment",
        "pod",
        "C45-a-pod-that-is-not-there",
        "C45-a-claim-that-is-not-there",
        "a-name-twice",
        "label",
        "namespace",
        "another-namespace",
        "C45-nothing-matches",
        "C45-no-such-deployment",
        "C45-deployment-in-another-namespace",
        "C45-no-claim-with-the-label",
        "holder-of-a-drivers-device-in-any-namespace",
        "no-holder-in-this-namespace",
        "no-holder-of-that-drivers-devices",
    ],
)
def test_selections(selection, states, reasons_found):
    report = judge(Snapshot.from_objects(split(world())), selection, now=NOW)
    assert {each.name: each.state for each in report.claims} == states
    assert len(report.claims) == len(states)
    assert reasons(report.verdicts) == reasons_found


def test_every_namespace_at_once():
    report = judge(Snapshot.from_objects(split(world())), Selection(), now=NOW)
    assert {(each.namespace, each.name) for each in report.claims} == {
        ("llm", "claim-a"),
        ("llm", "spare"),
        ("llm", "hardware"),
        ("other", "foreign"),
        ("other", "claim-a"),
    }


def test_a_deployments_report_says_what_each_pod_got():
    report = judge(Snapshot.from_objects(split(world())), Selection("llm", deployment="vllm"), now=NOW)
    got = {each.pod.meta.name: each for each in report.pods}
    assert list(got) == ["pod-a", "pod-b"]
    assert got["pod-a"].summary()["images"] == [
        {"container": "vllm", "expected": "img-gpu", "actual": "img-gpu", "switched": True}
    ]
    assert (got["pod-a"].claims, got["pod-b"].claims) == (("claim-a",), ())


def test_c14_the_second_pod_of_a_shared_gated_claim_keeps_its_placeholder():
    shared = gated_claim(configs=BOTH, consumers=[consumer("pod-1"), consumer("pod-2")])
    objects = [
        pod("pod-1", claims=[NAMED], node="node-a", phase="Running", image="img-gpu"),
        pod("pod-2", claims=[NAMED], node="node-a", phase="Running", image="pause"),
        shared,
    ]
    report = judge(Snapshot.from_objects(split(objects)), Selection("llm"), now=NOW)
    (only,) = report.claims
    assert (only.state, reasons(only.verdicts)) == ("ready", ["GatedClaimShared"])
    assert [reasons(each.verdicts) for each in report.pods] == [[], ["ImageNotSwitched"]]


@pytest.mark.parametrize(
    ("claims", "warned"),
    [
        ({"one": [result(), gate_result()]}, False),
        ({"gpu": [result()], "gate": [gate_result()]}, True),
        ({"gpu": [result()], "nic": [result("nic-0")]}, False),
        ({"gpu": [result(), gate_result()], "gate": [gate_result("share-2")]}, False),
        ({"gpu": [], "gate": [gate_result()]}, False),
    ],
    ids=[
        "observed-7-one-claim",
        "observed-7-gate-and-gpu-apart",
        "observed-7-no-gate",
        "observed-7-a-gate-in-each",
        "observed-7-not-allocated-yet",
    ],
)
def test_a_gate_in_a_claim_of_its_own_breaks_recovery(claims, warned):
    entries = [{"name": name, "resourceClaimName": name} for name in claims]
    objects = [pod(claims=entries), *(claim(name, results=results) for name, results in claims.items())]
    (only,) = judge(Snapshot.from_objects(split(objects)), Selection("llm"), now=NOW).pods
    assert ("GateInOtherClaim" in reasons(only.verdicts)) is warned


def test_c09_a_recreated_pod_finds_the_claim_of_its_namesake():
    objects = [
        pod("pod-a", uid="uid-second", generated=[{"name": "hardware", "resourceClaimName": "claim-a"}]),
        gated_claim(owner=owned_by("pod-a"), pod_claim="hardware", consumers=[consumer("pod-a")]),
    ]
    (only,) = judge(Snapshot.from_objects(split(objects)), Selection("llm", pods=("pod-a",)), now=NOW).claims
    assert only.state == "unusable"
    assert set(reasons(only.verdicts)) == {"ClaimOfOtherPod", "ClaimReservedForGonePods"}


def test_c02_the_timeout_is_the_schedulers_and_can_be_said():
    waiting = claim(results=[gate_result()], allocated=100)
    snapshot = Snapshot.from_objects(split([waiting]))
    for timeout, left in ((600, 500), (20, 0)):
        (only,) = judge(snapshot, Selection("llm"), now=NOW, binding_timeout=timeout).claims
        assert only.seconds_left == left
    assert UPDATED in only.devices[0].missing


def test_kinds_that_a_dump_does_not_have_are_not_judged():
    (only,) = judge(
        Snapshot.from_objects(split([gated_claim(consumers=[consumer()])])), Selection("llm"), now=NOW
    ).claims
    assert (only.state, only.verdicts, only.consumers[0].state) == ("ready", (), "unknown")


# Dumps


def kubectl_list(*items, kind="List", **fields):
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"resourceVersion": ""},
        "items": list(items),
        **fields,
    }


@pytest.mark.parametrize(
    "wrap",
    [
        lambda objects: objects,
        lambda objects: [kubectl_list(*objects)],
        lambda objects: [kubectl_list(*objects[:4]), kubectl_list(*objects[4:])],
        lambda objects: [kubectl_list(kubectl_list(*objects[:4]), *objects[4:])],
        lambda objects: [None, *objects, None],
        lambda objects: [*objects, *objects],
        iter,
    ],
    ids=["plain", "one-list", "two-lists", "list-in-list", "empty-documents", "everything-twice", "iterator"],
)
def test_a_dump_is_judged_like_the_objects_in_it(wrap):
    def summary(objects):
        report = judge(Snapshot.from_objects(split(objects)), Selection("llm", deployment="vllm"), now=NOW)
        return [each.summary() for each in report.claims], [each.summary() for each in report.pods]

    assert summary(wrap(world())) == summary(world())


@pytest.fixture(scope="module")
def recorded():
    """Two replicas on Kubernetes 1.36.3: one got the GPU and its image, the other waits on its CPUs."""
    path = Path(__file__).parents[1] / "fixtures" / "gpu_or_cpu_two_replicas.json"
    return split([yaml.safe_load(path.read_text(encoding="utf-8"))])


def test_a_recorded_cluster_is_judged_as_it_was(recorded):
    now = parse_time("2026-11-30T15:55:52Z")
    report = judge(Snapshot.from_objects(recorded), Selection("llm", deployment="vllm"), now=now)
    by_choice = {each.choices[0].alternative: each for each in report.claims}
    gpu, cpu = by_choice["device/gpu"], by_choice["device/cpu"]
    assert (gpu.state, gpu.node, gpu.seconds_left, gpu.verdicts) == ("ready", "gpu-pool-1", None, ())
    assert (cpu.state, cpu.node, cpu.seconds_left) == ("allocated", "cpu-pool-1", 590)
    assert reasons(cpu.verdicts) == ["BindingConditionMissing"]
    assert str(cpu.devices[0].device.consumed_capacity["dra.cpu/cpu"]) == "12"
    assert all(each.devices[1].device.share_id for each in report.claims)
    images = {each.pod.node_name: each.images[0] for each in report.pods}
    assert [images["gpu-pool-1"].is_switched, images[""].is_switched] == [True, False]
    assert images[""].expected == "registry.example/vllm-cpu:1"
    assert reasons(report.verdicts) == ["RolloutIncomplete"]


def test_a_recorded_cluster_is_read_without_a_remainder(recorded):
    slices = [ResourceSlice.from_api(each) for each in recorded["ResourceSlice"]]
    claims = [Claim.from_api(each) for each in recorded["ResourceClaim"]]
    assert not any(each.unknown for each in slices)
    assert not any(device.unknown for each in slices for device in each.devices)
    for each in claims:
        assert each.allocation is not None
        assert not each.unknown
        assert not each.allocation.unknown
        assert not any(device.unknown for device in each.allocation.devices)
    assert [Node.from_api(each).ready for each in recorded["Node"]] == [True, True]
    assert {DeviceClass.from_api(each).name for each in recorded["DeviceClass"]} == {GPU, "dra.cpu", GATE}


def test_items_of_a_typed_list_get_its_kind():
    bare = [{k: v for k, v in claim(name).items() if k not in ("kind", "apiVersion")} for name in ("a", "b")]
    found = split([kubectl_list(*bare, kind="ResourceClaimList", apiVersion="resource.k8s.io/v1")])
    assert [Claim.from_api(each).meta.name for each in found["ResourceClaim"]] == ["a", "b"]


def test_kinds_that_nobody_asked_for_are_kept():
    found = split([{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}])
    assert list(found) == ["Thing"]


def test_every_malformed_object_of_a_dump_is_named_at_once():
    objects = [
        pod(),
        "text",
        {"metadata": {"name": "no-kind"}},
        {"kind": "Pod", "apiVersion": "v1", "metadata": {}},
        {"kind": "Pod", "apiVersion": "v1"},
        kubectl_list({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": 7}}),
        {**claim("beta"), "apiVersion": "resource.k8s.io/v1beta1"},
    ]
    with pytest.raises(MalformedObjects) as error:
        split(objects)
    assert [each.partition(" is ")[0] for each in error.value.problems] == [
        "object[1]",
        "object[2]: kind",
        "object[3] (Pod): metadata.name",
        "object[4] (Pod): metadata.name",
        "object[5].items[0] (Pod): metadata.name",
        "ResourceClaim beta: apiVersion",
    ]
    assert "expected resource.k8s.io/v1 (Kubernetes 1.34" in error.value.problems[-1]


def test_c30_the_flat_request_of_an_older_api_is_no_alternative():
    old = claim(requests=[{"name": "gpu", "deviceClassName": GPU}])
    (request,) = Claim.from_api(old).devices.requests
    assert (request.alternatives, request.unknown) == ((), {"deviceClassName": GPU})


@pytest.mark.parametrize("seed", range(200))
def test_damaged_objects_never_cause_anything_but_the_one_error(seed):
    dice = random.Random(seed)
    objects = copy.deepcopy(world())
    for _unused in range(3):
        place = dice.choice(objects)
        while True:
            keys = list(place) if isinstance(place, dict) else range(len(place))
            if not keys:
                break
            key = dice.choice(list(keys))
            if isinstance(place[key], (dict, list)) and dice.random() < 0.8:
                place = place[key]
                continue
            place[key] = dice.choice([None, 5, "x", [], {}, [None], {"a": 1}, True, -1.5])
            break
    try:
        judge(Snapshot.from_objects(split(objects)), Selection("llm"), now=NOW)
        judge(Snapshot.from_objects(split(objects)), Selection("llm", deployment="vllm"), now=NOW)
    except MalformedObjects as error:
        assert error.problems


def test_a_thousand_pods_take_ten_times_the_steps_of_a_hundred():
    def cluster(count):
        objects = []
        for i in range(count):
            name = f"pod-{i}"
            objects.append(pod(name, generated=[{"name": "hardware", "resourceClaimName": f"c-{i}"}]))
            objects.append(
                gated_claim(
                    configs=BOTH, owner=owned_by(name), pod_claim="hardware", consumers=[consumer(name)]
                )
            )
            objects[-1]["metadata"]["name"] = f"c-{i}"
        return split(objects)

    def calls(count):
        objects, made = cluster(count), 0

        def note(_frame, event, _argument):
            nonlocal made
            made += event == "call"

        sys.setprofile(note)
        try:
            report = judge(Snapshot.from_objects(objects), Selection("llm"), now=NOW)
        finally:
            sys.setprofile(None)
        assert len(report.claims) == len(report.pods) == count
        return made

    assert calls(1000) < 11 * calls(100)
