# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a service runs on in a terminal: one line per replica, then the nodes, then what is not ready."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.service_lines import service_lines

STEPS = ("created", "allocated", "image_switched", "bound", "ready")
DIGEST = "sha256:" + "0123456789abcdef" * 4
GPU_IMAGE = f"us-central1-docker.pkg.dev/p/dra-drivers/vllm-gemma4-gpu@{DIGEST}"
ERROR = {"status": "error", "reason": "NodePoolsExhausted", "subject": "Pod llm/a"}
NOTE = {"status": "note", "reason": "DeviceInUse", "subject": "Pod llm/a"}


def replica(steps: int, *verdicts: dict, **more: str) -> dict:
    """A replica that has taken so many steps of the way to being ready."""
    phases = {step: "2026-08-01T12:00:00+00:00" if n < steps else None for n, step in enumerate(STEPS)}
    found = {"pod": "vllm-abc-1", "alternative": "gpu", "node": "n-1", "image": GPU_IMAGE}
    return found | {"phases": phases, "verdicts": list(verdicts)} | more


def service(*replicas: dict, wanted: int = 1, **pools: int) -> dict:
    return {"replicas": list(replicas), "wanted_replicas": wanted, "node_pools": pools}


@pytest.mark.parametrize(
    ("one", "state"),
    [
        (replica(5), "ready"),
        (replica(5, NOTE), "ready"),
        (replica(4), "bound, not ready"),
        (replica(3), "waits to be bound"),
        (replica(2), "waits for its image"),
        (replica(1), "waits for devices"),
        (replica(1, NOTE, ERROR), "waits for devices: NodePoolsExhausted"),
    ],
    ids=["ready", "ready-on-a-later-one", "bound", "switched", "allocated", "created", "C33-something-wrong"],
)
def test_how_far_a_replica_is(one, state):
    line = service_lines(service(one))[1]
    assert line.split("  ")[-1].strip() == state


def test_columns_are_below_each_other_and_images_short():
    late = replica(1, pod="vllm-abc-longer", alternative="", node="", image="registry.k8s.io/pause:3.10")
    head, first, second, nodes, missing = service_lines(
        service(replica(5), late, wanted=3, **{"gpu-pool": 1, "cpu-pool": 2})
    )
    assert first.split() == ["vllm-abc-1", "gpu", "n-1", "vllm-gemma4-gpu@sha256:0123456789ab", "ready"]
    assert second.split()[:4] == ["vllm-abc-longer", "-", "-", "pause:3.10"]
    for title, cell in (("alternative", "gpu"), ("node", "n-1"), ("state", "ready")):
        assert head.index(title) == first.index(f"  {cell}") + 2
    assert nodes == "nodes: cpu-pool 2, gpu-pool 1"
    # The third has no pod at all, as where a quota refuses it.
    assert missing == "2 of 3 replicas not ready yet: the playbook diagnose says why"


def test_nothing_more_is_said_where_all_is_well():
    assert service_lines(service(replica(5)))[1:] == [service_lines(service(replica(5)))[-1]]


def test_before_there_is_any_replica():
    assert service_lines(service(wanted=1)) == [
        "no replica of the current specification",
        "1 of 1 replicas not ready yet: the playbook diagnose says why",
    ]
    assert service_lines(service(wanted=0)) == ["no replica of the current specification"]
