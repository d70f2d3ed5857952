# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A claim that we call ready is one whose pod the real scheduler binds, and no other is."""

from __future__ import annotations

import os
import random

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.claim_state import judge_claim
from ansible_collections.inference.dra.plugins.module_utils._core.claims import Claim
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    DEVICE_CLASSES,
    NODES,
    PODS,
    SLICES,
    DeadlineExceeded,
    Event,
)

PODS_JUDGED = int(os.environ.get("CONFORMANCE_READINESS", "30"))
SEED = int(os.environ.get("CONFORMANCE_SEED", "1"))
DRIVER = "readiness.example.com"
REQUIRED = ("example.com/one", "example.com/two")
FAILURE = "example.com/failed"
SECONDS = 120.0
TICK_SECONDS = 5.0  # of the scheduler, while it waits for binding conditions

pytestmark = pytest.mark.lab


@pytest.fixture
def rng():
    return random.Random(SEED)


def write_pod(api, namespace, name, rng):
    """A node with two devices of random conditions, a claim for both, and its pod."""
    devices = []
    for index in range(2):
        required = rng.sample(REQUIRED, rng.choice((0, 1, 1, 2)))
        conditions = (
            {"bindingConditions": required, "bindingFailureConditions": [FAILURE]} if required else {}
        )
        devices.append({"name": f"dev{index}", **conditions})
    size = {"cpu": "8", "memory": "8Gi", "pods": "10"}
    meta = {"name": name, "labels": {"readiness": name}}
    api.create(NODES, {"metadata": meta, "status": {"allocatable": size, "capacity": size}})
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "pool": pool, "nodeName": name, "devices": devices}
    api.create(SLICES, {"metadata": {"name": name}, "spec": spec})
    request = {"name": "both", "exactly": {"deviceClassName": DRIVER, "count": 2}}
    api.create(CLAIMS, {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}}, namespace)
    container = {"name": "main", "image": "none", "resources": {"claims": [{"name": "both"}]}}
    pod = {
        "nodeSelector": {"readiness": name},
        "tolerations": [{"operator": "Exists"}],
        "resourceClaims": [{"name": "both", "resourceClaimName": name}],
        "containers": [container],
    }
    api.create(PODS, {"metadata": {"name": name}, "spec": pod}, namespace)


def random_status(claim, rng):
    """Status entries as drivers leave them: absent, half done, failed, unknown, done."""
    entries = []
    for result in claim["status"]["allocation"]["devices"]["results"]:
        if rng.random() < 0.1:
            continue
        wanted = {kind: rng.choice(("True",) * 6 + ("False", "Unknown", None)) for kind in REQUIRED}
        wanted[FAILURE] = rng.choice((None,) * 8 + ("False", "True"))
        conditions = [
            {
                "type": kind,
                "status": status,
                "reason": "Random",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            for kind, status in wanted.items()
            if status
        ]
        entries.append(
            {key: result[key] for key in ("driver", "pool", "device")} | {"conditions": conditions}
        )
    return entries


def followed(api, resource, namespace, wanted):
    """Return the objects by name once ``wanted`` holds for what has been seen of them."""
    seen = {}
    for change in api.follow(resource, namespace):
        for each in [change.object] if isinstance(change, Event) else change:
            if each["metadata"].get("name"):  # a bookmark has none
                seen[each["metadata"]["name"]] = each
        if wanted(seen):
            return seen
    raise AssertionError("the watch ended")


def test_bound_is_ready_and_ready_is_bound(api, namespace, rng):
    api = api.within(Deadline(SystemClock(), SECONDS))
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    api.create(DEVICE_CLASSES, {"metadata": {"name": DRIVER}, "spec": {"selectors": [selector]}})
    names = [f"{namespace}-{index}" for index in range(PODS_JUDGED)]
    for name in names:
        write_pod(api, namespace, name, rng)
    claims = followed(
        api,
        CLAIMS,
        namespace,
        lambda seen: sum("allocation" in each.get("status", {}) for each in seen.values()) == len(names),
    )
    states = {}
    for name in names:
        devices = random_status(claims[name], rng)
        written = api.merge_patch(CLAIMS, name, {"status": {"devices": devices}}, namespace, "status")
        judged = Claim.from_api(written)
        states[name] = judge_claim(judged, now=judged.allocation.timestamp).state
    ready = {name for name, state in states.items() if state == "ready"}
    assert 0 < len(ready) < len(names)
    followed(api, PODS, namespace, lambda seen: ready <= bound(seen))
    # The scheduler looks every five seconds, counted per pod: whoever is bound by mistake is so by then.
    later = api.within(Deadline(SystemClock(), TICK_SECONDS + 1))
    with pytest.raises(DeadlineExceeded):
        followed(later, PODS, namespace, lambda seen: not bound(seen) <= ready)
    assert bound(followed(api, PODS, namespace, lambda seen: len(seen) == len(names))) == ready


def bound(pods):
    return {name for name, each in pods.items() if each["spec"].get("nodeName")}
