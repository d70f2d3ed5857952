# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Topology spread constraints that must hold keep a pod off nodes, and off nodes that are only imagined."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.lab.autoscaler.spreading import (
    NO_LABEL,
    TOO_UNEVEN,
    Location,
    Resident,
    spread_refusal,
)
from ansible_collections.inference.dra.plugins.module_utils._core.pods import Pod

ZONE = "topology.kubernetes.io/zone"
OURS, OTHER = Resident("d", {"app": "vllm"}), Resident("e", {"app": "vllm"})


def pod(labels=None, **constraint):
    full = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "vllm"}},
        **constraint,
    }
    meta = {"name": "p", "namespace": "d", "labels": {"app": "vllm"} if labels is None else labels}
    return Pod.from_api({"metadata": meta, "spec": {"topologySpreadConstraints": [full]}})


def zones(**residents):
    return [Location({ZONE: name}, found) for name, found in residents.items()]


@pytest.mark.parametrize(
    ("wanted", "here", "places", "reason"),
    [
        pytest.param(pod(), "a", zones(a=[], b=[]), "", id="nobody-anywhere"),
        pytest.param(pod(), "a", zones(a=[OURS], b=[]), TOO_UNEVEN, id="one-here-none-there"),
        pytest.param(pod(), "b", zones(a=[OURS], b=[]), "", id="the-emptier-zone"),
        pytest.param(pod(maxSkew=2), "a", zones(a=[OURS], b=[]), "", id="more-skew-allowed"),
        pytest.param(pod(), "a", zones(a=[OTHER], b=[]), "", id="another-namespace-does-not-count"),
        pytest.param(pod(labels={}), "a", zones(a=[OURS], b=[]), "", id="a-pod-that-does-not-count-itself"),
        pytest.param(pod(), "a", zones(a=[OURS]), "", id="one-zone-is-even"),
        pytest.param(pod(minDomains=2), "a", zones(a=[OURS]), TOO_UNEVEN, id="too-few-zones"),
        pytest.param(pod(topologyKey="rack"), "a", zones(a=[]), NO_LABEL, id="no-such-label"),
        pytest.param(
            pod(whenUnsatisfiable="ScheduleAnyway"), "a", zones(a=[OURS], b=[]), "", id="only-preferred"
        ),
    ],
)
def test_a_pod_is_kept_off_a_zone(wanted, here, places, reason):
    assert spread_refusal(wanted, {ZONE: here}, places) == reason
