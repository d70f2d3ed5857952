# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the real gcloud made is no difference to our modules, and what they made is the same to gcloud."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from ansible_collections.inference.dra.lab.google.environment import environment

pytestmark = pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed here")

CLASS = "cloud.google.com/compute-class"
GUIDE_A_CLUSTER = {
    "version": "1.36",
    "labels": {"created-by": "ai-on-gke"},
    "default_pool": {"initial_node_count": 1},
}
CLUSTER_FLAGS = "--cluster-version=1.36 --num-nodes=1 --labels=created-by=ai-on-gke"
POOLS = {
    "gpu-pool": (
        {
            "machine_type": "g2-standard-8",
            "accelerators": [{"type": "nvidia-l4", "count": 1, "gpu_driver_version": "disabled"}],
            "spot": True,
            "locations": ["us-central1-a"],
            "initial_node_count": 1,
            "autoscaling": {"min_node_count": 0, "max_node_count": 2},
            "labels": {CLASS: "fungible", "cloud.google.com/gke-nvidia-gpu-dra-driver": "true"},
            "taints": [{"key": CLASS, "value": "fungible"}],
        },
        (
            "--node-locations=us-central1-a --machine-type=g2-standard-8 "
            "--accelerator=type=nvidia-l4,count=1,gpu-driver-version=disabled --num-nodes=1 "
            "--enable-autoscaling --min-nodes=0 --max-nodes=2 "
            f"--node-labels={CLASS}=fungible,cloud.google.com/gke-nvidia-gpu-dra-driver=true "
            f"--node-taints={CLASS}=fungible:NoSchedule --spot"
        ),
    ),
    "cpu-pool": (
        {
            "machine_type": "n2-standard-16",
            "spot": True,
            "initial_node_count": 1,
            "autoscaling": {"total_min_node_count": 0, "total_max_node_count": 6, "location_policy": "any"},
        },
        (
            "--machine-type=n2-standard-16 --num-nodes=1 --enable-autoscaling --total-min-nodes=0 "
            "--total-max-nodes=6 --location-policy=ANY --spot"
        ),
    ),
}
# What differs between any two objects, whoever made them.
OWN = ("selfLink", "etag", "instanceGroupUrls", "name", "id", "createTime", "endpoint", "labelFingerprint")


@pytest.fixture
def gcloud(lab, tmp_path):
    """Return a function that runs one gcloud line against the lab; a change is not waited for."""
    (tmp_path / "token").write_text("any")
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "CLOUDSDK_CONFIG": str(tmp_path / "config"),
        **environment(lab.endpoint, "test-project", str(tmp_path / "token")),
    }

    def run(line: str, *, change: bool = False) -> dict:
        suffix = "--async" if change else "--format=json"
        done = subprocess.run(
            ["gcloud", "container", *line.split(), "--location=us-central1", suffix],
            check=False,
            env=variables,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        for _step in range(60 if change else 0):
            lab.clock.sleep(60)
        return {} if change else json.loads(done.stdout)

    return run


def comparable(message: dict) -> dict:
    """Return the message less identities; names of the cluster within values are made equal."""
    kept = {key: value for key, value in message.items() if key not in OWN}
    kept["networkConfig"] = {**kept["networkConfig"], "podRange": "one per cluster"}
    text = json.dumps(kept, sort_keys=True)
    return json.loads(text.replace("theirs", "NAME").replace("ours", "NAME"))


def test_pools_and_cluster_are_the_same_either_way(lab, gcloud):
    gcloud(f"clusters create theirs {CLUSTER_FLAGS}", change=True)
    for name, (_options, flags) in POOLS.items():
        gcloud(f"node-pools create {name} --cluster=theirs {flags}", change=True)
    wanted = [{"name": name, **options} for name, (options, _flags) in POOLS.items()]

    before = lab.writes
    adopted = lab.run("gke_cluster", name="theirs", **GUIDE_A_CLUSTER)
    assert (adopted["failed"], adopted["changed"]) == (False, False), adopted
    adopted = lab.run("gke_node_pool", cluster="theirs", node_pools=wanted)
    assert (adopted["failed"], adopted["changed"]) == (False, False), adopted
    assert lab.writes == before

    made = lab.run("gke_cluster", name="ours", **GUIDE_A_CLUSTER)
    assert not made["failed"], made
    made = lab.run("gke_node_pool", cluster="ours", node_pools=wanted)
    assert not made["failed"], made
    for name in POOLS:
        theirs = comparable(gcloud(f"node-pools describe {name} --cluster=theirs"))
        ours = comparable(gcloud(f"node-pools describe {name} --cluster=ours"))
        assert ours == theirs
