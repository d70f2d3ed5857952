# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every verb the role grants is needed: without it something the controller does is refused."""

from __future__ import annotations

import copy
import itertools

import pytest

from ansible_collections.inference.dra.controllers.image_configurator.announcer import Announcer
from ansible_collections.inference.dra.controllers.image_configurator.cache import Cache
from ansible_collections.inference.dra.controllers.image_configurator.gating_slice import publish, unpublish
from ansible_collections.inference.dra.controllers.image_configurator.leader import Elector
from ansible_collections.inference.dra.controllers.image_configurator.manifests import render
from ansible_collections.inference.dra.controllers.image_configurator.metrics import Metrics
from ansible_collections.inference.dra.controllers.image_configurator.worker import Worker
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    EVENTS,
    LEASES,
    PODS,
    SLICES,
    Forbidden,
    Kubernetes,
    KubernetesError,
)

pytestmark = pytest.mark.lab
WHO = "system:serviceaccount:kube-system:image-configurator"
GRANTS = [
    (role["kind"], place, resource, verb)
    for role in render("rbac.yaml.j2")
    if role["kind"] in ("ClusterRole", "Role")
    for place, rule in enumerate(role["rules"])
    for resource in rule["resources"]
    for verb in rule["verbs"]
]
SHORT = 2.0


def without(role, place, resource, verb):
    """Return the role with one verb of one rule removed."""
    less = copy.deepcopy(role)
    rule = less["rules"][place]
    assert resource in rule["resources"]
    rule["verbs"].remove(verb)
    if not rule["verbs"]:
        less["rules"].pop(place)
    return less


def allowed(api, group, resource, verb, name=""):
    """Return what the authorizer says now; it learns of a changed role a moment later."""
    plural, _unused, subresource = resource.partition("/")
    attributes = {
        "group": group,
        "resource": plural,
        "subresource": subresource,
        "verb": verb,
        "name": name,
        "namespace": "kube-system",
    }
    body = {"spec": {"user": WHO, "resourceAttributes": attributes}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return api.request("POST", path, body)["status"]["allowed"]


@pytest.fixture
def limited(plane):
    """Return the API as the controller's ServiceAccount sees it, giving up after two seconds."""
    auth = {"kubeconfig": str(plane.kubeconfig), "impersonate_user": WHO}
    return Kubernetes.connect(auth)


def first(changes):
    """Take one change of a watch."""
    next(iter(changes))


def everything(limited, admin, workload, kit):
    """Do all that the controller ever does; raise at the first refusal."""
    clock, metrics = SystemClock(), Metrics()
    short = limited.within(Deadline(clock, SHORT))
    elector = Elector(short, clock, identity="tester", namespace="kube-system", name=kit.GATE.driver)
    for _unused in range(2):  # the first creates the lease where it is not there, the second renews it
        assert elector.step(), "lease"
    elector.release()
    lease = admin.get(LEASES, kit.GATE.driver, "kube-system")
    assert not lease["spec"].get("holderIdentity"), "lease"
    publish(short, kit.GATE)
    key = (workload.namespace, workload.allocated()["metadata"]["name"])
    cache = Cache(kit.GATE, clock, metrics)
    first(short.follow(SLICES, field_selector=f"spec.driver={kit.GATE.driver}"))
    for resource, selector, take in ((CLAIMS, "", cache.replace_claims), (PODS, "spec.nodeName=", None)):
        changes = short.follow(resource, field_selector=selector)
        listed = next(changes)
        if take:  # the pods are not taken over, so that the worker has to look its pod up
            take(listed)
    # A watch that starts at version 0 begins with what there is.
    first(short.watch(SLICES, "0"))
    first(short.watch(CLAIMS, "0"))
    first(short.watch(PODS, "0"))
    announcer = Announcer(short, clock, kit.GATE)
    worker = Worker(short, cache, clock, kit.GATE, announcer=announcer, metrics=metrics)
    assert worker.handle(key) is None
    announcer.flush()
    assert [e for e in admin.list(EVENTS, key[0]) if e["reason"] == "ImagePatched"], "event"
    unpublish(short, kit.GATE)


@pytest.fixture
def scene(api, workload, kit):
    """A pod whose claim is allocated and waits; no lease, so that it has to be created."""
    publish(api, kit.GATE)
    workload.template(gpu_first=False)
    workload.pod()
    workload.allocated()
    unpublish(api, kit.GATE)
    for lease in [o for o in api.list(LEASES, "kube-system") if o["metadata"]["name"] == kit.GATE.driver]:
        api.delete(LEASES, lease["metadata"]["name"], "kube-system")
    return workload


def test_the_shipped_rights_are_enough(scene, api, limited, kit):
    everything(limited, api, scene, kit)


@pytest.mark.parametrize("grant", GRANTS, ids=lambda grant: f"{grant[2]}-{grant[3]}")
def test_no_verb_is_superfluous(scene, api, limited, kit, grant):
    kind, *what = grant
    role = next(o for o in render("rbac.yaml.j2") if o["kind"] == kind)
    rule = role["rules"][what[0]]
    name = (rule.get("resourceNames") or [""])[0]
    asked = (rule["apiGroups"][0], what[1], what[2], name)
    kit.install(api, [without(role, *what)])
    try:
        wait_until(lambda: not allowed(api, *asked))
        with pytest.raises((KubernetesError, AssertionError)) as refused:
            everything(limited, api, scene, kit)
        if isinstance(refused.value, KubernetesError) and not isinstance(refused.value, Forbidden):
            # A missing right for one driver's entries is reported by validation, as 422.
            assert f"cannot {what[2]}" in refused.value.message
    finally:
        kit.install(api, [role])
        wait_until(lambda: allowed(api, *asked))


def wait_until(holds):
    """Ask until the answer is yes; each question is a request, so this does not spin."""
    assert any(holds() for _unused in itertools.repeat(None, 2000))


def test_other_drivers_entries_are_out_of_reach(api):
    assert allowed(
        api,
        "resource.k8s.io",
        "resourceclaims/driver",
        "arbitrary-node:update",
        "image-configurator.x-k8s.io",
    )
    for driver in ("gpu.nvidia.com", "dra.cpu", ""):
        assert not allowed(api, "resource.k8s.io", "resourceclaims/driver", "arbitrary-node:update", driver)
    for verb in ("update", "patch"):
        assert not allowed(api, "resource.k8s.io", "resourceclaims/binding", verb)
        assert not allowed(api, "", "secrets", "get")
