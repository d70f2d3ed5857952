# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was left when a dump was taken: it shows what it holds, and proves nothing about the rest."""

from __future__ import annotations

import pytest

from .in_process import NOW, recorded, run_module

PLAN = {
    "slices": [{"driver": "gpu.nvidia.com"}, {"driver": "dra.cpu"}],
    "device_classes": [{"name": "gpu.nvidia.com"}, {"name": "dra.cpu"}],
    "nodes": [{"alternative": "gpu", "node_pool": "gpu-pool"}],
    "prices": {"gpu": {"usd_per_hour": 0.341}},
}


def look(*objects, **options):
    return run_module(
        "inference_leftovers_info", plan=PLAN, objects=list(objects), now=NOW, namespace="llm", **options
    )


def kinds(result):
    return {each["kind"] for each in result["leftovers"]}


def test_a_dump_shows_what_was_left():
    result = look(recorded(), deployment="vllm")
    assert {"ResourceClaim", "ResourceSlice", "DeviceClass", "Deployment"} <= kinds(result)
    assert not result["clean"]


def test_an_empty_dump_proves_nothing():
    result = look()
    assert (result["leftovers"], result["clean"], result["worst"]) == ([], False, "warning")
    assert [each["reason"] for each in result["verdicts"]] == ["NotReadable"]


def test_slices_of_other_drivers_are_not_ours():
    (a_slice, *_others) = [each for each in recorded()["items"] if each["kind"] == "ResourceSlice"]
    a_slice["spec"]["driver"] = "another.example.com"
    assert kinds(look(a_slice)) == set()


RELEASES = {
    "ours": ({"owner": "helm", "name": "dra-driver-cpu"}, {"Release"}),
    "another": ({"owner": "helm", "name": "prometheus"}, set()),
    "no release": ({"name": "dra-driver-cpu"}, set()),
}


@pytest.mark.parametrize(("labels", "found"), RELEASES.values(), ids=RELEASES)
def test_a_release_is_known_by_its_labels(labels, found):
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "sh.helm.release.v1.x", "namespace": "kube-system", "labels": labels},
    }
    assert kinds(look(secret, releases=["dra-driver-cpu"])) == found


def test_how_long_an_object_is_on_its_way_out():
    claim = next(each for each in recorded()["items"] if each["kind"] == "ResourceClaim")
    claim["metadata"] |= {"deletionTimestamp": "2026-11-30T15:59:00Z", "finalizers": ["a.example/b"]}
    (left,) = look(claim)["leftovers"]
    assert left["detail"] == "being deleted for 60 s, held by a.example/b"
