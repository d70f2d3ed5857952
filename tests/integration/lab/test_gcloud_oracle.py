# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real gcloud against the simulated Google: it must be content with every answer.

gcloud polls every five seconds; operations here end before its first poll, so that this takes
about a second for each of its lines.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest
import yaml

from ansible_collections.inference.dra.lab.google.cloud import Cloud, ControlPlane
from ansible_collections.inference.dra.lab.google.environment import environment
from ansible_collections.inference.dra.lab.google.server import GoogleServer, fulfil
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock

pytestmark = pytest.mark.skipif(
    shutil.which("gcloud") is None, reason="gcloud is not installed on this machine"
)

PROJECT = "lab-project"
ENDPOINT = "127.0.0.1:6443"


class Machines:
    """Stand-in machines: ready as soon as they are wanted."""

    def __init__(self, cloud) -> None:
        self.cloud, self.working = cloud, False

    def changed(self, _change) -> None:
        if not self.working:
            self.working = True
            fulfil(self.cloud)
            self.working = False


@pytest.fixture(scope="module")
def cloud():
    """A cloud a million times as fast as Google."""
    plane = ControlPlane(ENDPOINT, "Y2E=")
    return Cloud(SystemClock(), speed=1e6, project=PROJECT, control_plane=plane)


@pytest.fixture(scope="module")
def gcloud(cloud, tmp_path_factory):
    """Run one gcloud line; returns (exit code, stdout, stderr)."""
    home = tmp_path_factory.mktemp("gcloud")
    (home / "token").write_text("any")
    server = GoogleServer(cloud).start()
    cloud.listeners.append(Machines(cloud).changed)
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "CLOUDSDK_CONFIG": str(home / "config"),
        "KUBECONFIG": str(home / "kubeconfig"),
        **environment(server.endpoint, PROJECT, str(home / "token")),
    }

    def run(line):
        done = subprocess.run(
            ["bash", "-c", line],
            check=False,
            env=variables,
            cwd=home,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode, done.stdout, done.stderr

    run.home = home
    yield run
    server.stop()


def content(gcloud, line):
    """Run a line that has to succeed; return its output."""
    code, out, err = gcloud(line)
    assert code == 0, f"{line}\n{err}"
    return out


def described(gcloud, line):
    return json.loads(content(gcloud, f"{line} --format=json"))


GUIDE_A = """
gcloud container clusters create demo --location=us-central1 --cluster-version=1.36.0-gke.100
 --project=lab-project --num-nodes=1 --labels=created-by=ai-on-gke,guide=gpu-cpu-fungibility

gcloud container node-pools create gpu-pool --cluster=demo --location=us-central1
 --node-locations=us-central1-a --machine-type="g2-standard-8"
 --accelerator="type=nvidia-l4,count=1,gpu-driver-version=disabled" --num-nodes=1
 --enable-autoscaling --min-nodes=0 --max-nodes=2
 --node-labels=cloud.google.com/compute-class=fungible,gke-no-default-nvidia-gpu-device-plugin=true,nvidia.com/gpu.present=true,cloud.google.com/gke-nvidia-gpu-dra-driver=true
 --node-taints=cloud.google.com/compute-class=fungible:NoSchedule --spot

gcloud container node-pools create cpu-pool --cluster=demo --location=us-central1
 --node-locations=us-central1-a --machine-type="n2-standard-16" --num-nodes=0
 --enable-autoscaling --min-nodes=0 --max-nodes=2
 --node-labels=cloud.google.com/compute-class=fungible,cloud.google.com/gke-cpu-dra-driver=true
 --node-taints=cloud.google.com/compute-class=fungible:NoSchedule --spot

gcloud artifacts repositories create dra-drivers --repository-format=docker
 --location=us-central1 --project=lab-project --description="DRA Drivers Repository"

gcloud auth configure-docker us-central1-docker.pkg.dev
""".strip().split("\n\n")


def test_guide_a(gcloud):
    assert content(gcloud, "gcloud config get project").strip() == PROJECT
    number = content(gcloud, f'gcloud projects describe {PROJECT} --format="value(projectNumber)"')
    assert number.strip() == "123456789012"
    for line in GUIDE_A:
        content(gcloud, line.replace("\n", ""))

    cluster = described(gcloud, "gcloud container clusters describe demo --location=us-central1")
    assert cluster["status"] == "RUNNING"
    assert cluster["currentMasterVersion"] == "1.36.0-gke.100"
    assert cluster["resourceLabels"]["guide"] == "gpu-cpu-fungibility"
    pools = described(gcloud, "gcloud container node-pools list --cluster=demo --location=us-central1")
    assert {pool["name"]: pool["status"] for pool in pools} == {
        "default-pool": "RUNNING",
        "gpu-pool": "RUNNING",
        "cpu-pool": "RUNNING",
    }
    listed = content(gcloud, "gcloud container clusters list --format='value(name,status)'")
    assert listed.split() == ["demo", "RUNNING"]
    repository = "gcloud artifacts repositories describe dra-drivers --location=us-central1"
    assert described(gcloud, repository)["format"] == "DOCKER"

    content(gcloud, "gcloud container clusters get-credentials demo --location=us-central1")
    kubeconfig = yaml.safe_load((gcloud.home / "kubeconfig").read_text())
    assert kubeconfig["current-context"] == f"gke_{PROJECT}_us-central1_demo"
    assert kubeconfig["clusters"][0]["cluster"] == {
        "server": f"https://{ENDPOINT}",
        "certificate-authority-data": "Y2E=",
    }


def test_changes_and_reads(gcloud):
    where = "--cluster=demo --location=us-central1"
    content(gcloud, f"gcloud container node-pools update gpu-pool {where} --node-labels=k=v")
    content(
        gcloud,
        f"gcloud container node-pools update gpu-pool {where} --enable-autoscaling --max-nodes=3",
    )
    content(
        gcloud,
        "gcloud container clusters resize demo --node-pool=cpu-pool --num-nodes=1 --location=us-central1",
    )
    content(
        gcloud,
        "gcloud container clusters update demo --location=us-central1 --update-labels=env=test",
    )
    pool = described(gcloud, f"gcloud container node-pools describe gpu-pool {where}")
    assert pool["config"]["labels"] == {"k": "v"}
    assert pool["autoscaling"]["maxNodeCount"] == 3
    region = described(gcloud, "gcloud compute regions describe us-central1")
    usage = {quota["metric"]: quota["usage"] for quota in region["quotas"]}
    assert usage["PREEMPTIBLE_NVIDIA_L4_GPUS"] == 1.0
    types = described(gcloud, "gcloud compute accelerator-types list --filter='zone:us-central1-f'")
    assert {item["name"] for item in types} == {"nvidia-tesla-t4", "nvidia-tesla-a100"}
    machine = "gcloud compute machine-types describe g2-standard-8 --zone=us-central1-a"
    assert described(gcloud, machine)["guestCpus"] == 8
    config = described(gcloud, "gcloud container get-server-config --location=us-central1")
    assert "1.36.0-gke.100" in config["validMasterVersions"]
    types = content(gcloud, "gcloud container operations list --location=us-central1 --format='value(TYPE)'")
    assert set(types.split()) >= {"CREATE_CLUSTER", "CREATE_NODE_POOL", "SET_NODE_POOL_SIZE"}


def test_failures_are_failures_to_gcloud(gcloud, cloud):
    create = "gcloud container node-pools create p --cluster=demo --location=us-central1"
    code, _unused, err = gcloud(f"{create} --machine-type=g9-standard-8")
    assert code == 1
    assert 'Invalid machine type "g9-standard-8" in zone "us-central1-a": GCE_NOT_FOUND' in err
    code, _unused, err = gcloud("gcloud container clusters delete none --location=us-central1")
    assert code == 1
    assert "code=404" in err
    fault = cloud.faults.set("stockout", pool="p")
    code, _unused, err = gcloud(f"{create} --num-nodes=1 --spot")
    assert code == 1
    assert "[GCE_STOCKOUT]" in err
    cloud.faults.clear(fault)


def test_everything_is_gone_in_the_end(gcloud):
    content(gcloud, "gcloud artifacts repositories delete dra-drivers --location=us-central1")
    content(gcloud, "gcloud container clusters delete demo --location=us-central1")
    assert content(gcloud, "gcloud container clusters list") == ""
    assert content(gcloud, "gcloud artifacts repositories list --format='value(name)'") == ""
