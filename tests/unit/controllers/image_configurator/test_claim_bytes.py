# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Status entries go into a recorded protobuf claim, and every other byte stays."""

from __future__ import annotations

import json

import pytest

from ansible_collections.inference.dra.controllers.image_configurator.claim_bytes import (
    NotAClaim,
    claim_uid,
    still_allocates,
    with_devices,
)

# As Python's json.dumps sent them; every JSON answer of the server has lost the spaces.
SPACED = (
    b'{"apiVersion": "image-configurator.x-k8s.io/v1alpha1", "kind": "ImageConfig", "containerName": "vllm"'
)
CONDITION = {
    "type": "image-configurator.x-k8s.io/image-updated",
    "status": "True",
    "reason": "ImagePatched",
    "message": "vllm=" + "x" * 300,
    "lastTransitionTime": "2026-11-30T15:00:00Z",
}


@pytest.fixture
def data(recorded):
    return (recorded / "cpu-claim.protobuf").read_bytes()


@pytest.fixture
def entry(cpu):
    share = json.loads(json.dumps(cpu.gate_result))["shareID"]
    return {
        "driver": "image-configurator.x-k8s.io",
        "pool": "all-nodes",
        "device": "image-configurator",
        "shareID": share,
        "conditions": [CONDITION],
    }


def test_recorded_claim_is_the_one_of_the_pod(data, cpu, entry):
    assert claim_uid(data) == cpu.claim["metadata"]["uid"]
    assert still_allocates(data, [entry])
    assert not still_allocates(data, [{**entry, "shareID": "of-another-allocation"}])


def test_everything_else_stays(data, entry):
    after = with_devices(data, [entry])
    assert after.count(SPACED) == data.count(SPACED) == 3  # GPU and CPU in the spec, CPU in the allocation
    assert claim_uid(after) == claim_uid(data)
    assert b"Prepared" in after  # the reason in the entry of dra.cpu
    assert after.count(b"ImagePatched") == 1
    # 343 bytes of condition, its key, and length prefixes: nothing was dropped for it.
    assert len(after) > len(data) + len(CONDITION["message"])


def test_an_entry_with_the_same_key_is_replaced(data, entry):
    once = with_devices(data, [entry])
    assert with_devices(once, [entry]) == once
    other = {**entry, "conditions": [{**CONDITION, "reason": "Other"}]}
    assert b"ImagePatched" not in with_devices(once, [other])


def test_an_entry_that_differs_in_its_share_is_another(data, entry):
    both = with_devices(with_devices(data, [entry]), [{**entry, "shareID": "s2"}])
    assert both.count(b"ImagePatched") == 2


@pytest.mark.parametrize("data", [b"", b'{"kind": "ResourceClaim"}'], ids=["empty", "json"])
def test_other_answers_are_refused(data):
    with pytest.raises(NotAClaim):
        claim_uid(data)
