# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is kept of claims and pods, and which claims a change concerns."""

from __future__ import annotations

import copy
from datetime import datetime, timezone

import pytest

from ansible_collections.inference.dra.controllers.image_configurator.cache import (
    Cache,
    claim_keys,
    trim_claim,
    trim_pod,
)
from ansible_collections.inference.dra.controllers.image_configurator.contract import Gate
from ansible_collections.inference.dra.controllers.image_configurator.decision import decide
from ansible_collections.inference.dra.controllers.image_configurator.metrics import Metrics
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import ManualClock

NOW = datetime(2026, 11, 30, tzinfo=timezone.utc)


@pytest.fixture
def clock():
    return ManualClock(NOW)


@pytest.fixture
def cache(clock):
    return Cache(Gate(), clock, Metrics())


def key(obj):
    return obj["metadata"]["namespace"], obj["metadata"]["name"]


@pytest.mark.parametrize("name", ["gpu", "cpu"])
def test_trimmed_objects_lead_to_the_same_decision(request, name):
    scene = request.getfixturevalue(name)
    whole = decide(scene.claim, [scene.pod], NOW)
    assert decide(trim_claim(scene.claim, Gate()), [trim_pod(scene.pod)], NOW) == whole


def test_claims_without_the_gating_device_are_not_kept(cache, gpu):
    results = gpu.allocation["devices"]["results"]
    results[:] = [r for r in results if r["driver"] == "gpu.nvidia.com"]
    assert cache.put_claim(gpu.claim) == []
    assert cache.size() == (0, 0)


def test_claim_is_dropped_when_its_allocation_is_taken_away(cache, gpu):
    cache.put_claim(gpu.claim)
    after = copy.deepcopy(gpu.claim)
    del after["status"]["allocation"]
    after["metadata"]["resourceVersion"] = str(int(after["metadata"]["resourceVersion"]) + 1)
    cache.put_claim(after)
    assert cache.claim(key(gpu.claim)) is None


def test_pod_and_claim_find_each_other_in_either_order(cache, gpu):
    assert cache.put_pod(gpu.pod) == []
    assert cache.put_claim(gpu.claim) == [key(gpu.claim)]
    assert cache.put_pod(gpu.pod) == [key(gpu.claim)]
    assert [pod["metadata"]["name"] for pod in cache.users(key(gpu.claim))] == ["gpu"]


@pytest.mark.parametrize(
    "leave",
    [
        pytest.param(lambda cache, pod: cache.drop_pod(pod), id="deleted"),
        pytest.param(lambda cache, pod: cache.replace_pods([]), id="missing-in-a-list"),
        pytest.param(
            lambda cache, pod: cache.put_pod({**pod, "spec": {**pod["spec"], "nodeName": "n"}}), id="bound"
        ),
    ],
)
def test_pods_that_leave(cache, gpu, leave):
    cache.put_claim(gpu.claim)
    cache.put_pod(gpu.pod)
    leave(cache, gpu.pod)
    assert cache.users(key(gpu.claim)) == []
    assert cache.size() == (1, 0)


def test_late_events_do_not_undo_what_is_known(cache, gpu):
    newer = copy.deepcopy(gpu.pod)
    newer["metadata"]["resourceVersion"] = "1000000"
    newer["spec"]["containers"][0]["image"] = "new"
    cache.put_claim(gpu.claim)
    cache.put_pod(newer)
    assert cache.put_pod(gpu.pod) == []
    (known,) = cache.users(key(gpu.claim))
    assert known["spec"]["containers"][0]["image"] == "new"


def test_a_new_object_of_the_same_name_counts_whatever_its_version(cache, gpu):
    cache.put_claim(gpu.claim)
    newer = copy.deepcopy(gpu.claim)
    newer["metadata"] |= {"resourceVersion": "1", "uid": "another"}
    assert cache.put_claim(newer) == [key(gpu.claim)]


def test_seen_is_the_time_of_the_allocation(cache, clock, gpu):
    cache.put_claim(gpu.claim)
    clock.sleep(5.0)
    cache.put_claim(gpu.claim)
    assert cache.claim(key(gpu.claim))["seen"] == 0.0
    later = copy.deepcopy(gpu.claim)
    later["status"]["allocation"]["devices"]["results"][-1]["shareID"] = "of-the-next-allocation"
    cache.put_claim(later)
    assert cache.claim(key(gpu.claim))["seen"] == 5.0


def test_claims_by_name_and_from_templates():
    pod = {
        "metadata": {"namespace": "ns", "name": "p"},
        "spec": {
            "resourceClaims": [{"name": "a", "resourceClaimName": "named"}, {"name": "b"}, {"name": "c"}]
        },
        "status": {"resourceClaimStatuses": [{"name": "b", "resourceClaimName": "p-b-x1"}, {"name": "c"}]},
    }
    assert claim_keys(pod) == [("ns", "named"), ("ns", "p-b-x1")]
