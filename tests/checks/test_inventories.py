# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each inventory says everything that it has to, and what is printed as one is one.

Ansible itself reads an inventory, given what nobody can know before, and lets the role preflight judge it.
There is no cluster.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
from pathlib import Path

import pytest
import snapshot
import yaml

from ansible_collections.inference.dra.plugins.module_utils._core.alternatives import plan
from ansible_collections.inference.dra.plugins.module_utils._core.image_references import parse

ROOT = Path(__file__).resolve().parents[2]
INVENTORIES = sorted(path.parent.name for path in ROOT.glob("inventories/*/hosts.yml"))
REGISTRY = "registry.example/images"
DIGEST = "sha256:" + "1" * 64
BUILT = ("vllm-gemma4-gpu", "vllm-gemma4-cpu", "image-configurator", "dra-driver-noop")
KIND = ("model-server-gpu", "model-server-cpu", "image-configurator", "standin-driver")
GIVEN = {
    "gke": {"inference_project": "acme-inference"},
    "gke_three": {"inference_project": "acme-inference"},
    "existing": {"dra_drivers_noop_chart": "oci://registry.example/charts/dra-driver-noop"},
    "kind": {
        "kind_cluster_connection": {
            "programs": "/nowhere",
            "images": {name: f"{REGISTRY}/{name}:1" for name in KIND},
        }
    },
}
PLAY = """
- hosts: inference
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: inference.dra.preflight}
    - ansible.builtin.copy:
        content: "{{ dict(names | zip(query('ansible.builtin.vars', *names))) | to_json }}"
        dest: "{{ inference_output }}/said.json"
        mode: "0600"
"""


def names_in(inventory: str) -> list[str]:
    """Return the variables that an inventory's files set."""
    files = (ROOT / "inventories" / inventory / "group_vars").glob("**/*.yml")
    return sorted({name for file in files for name in yaml.safe_load(file.read_text())})


def given(inventory: str, output: Path) -> dict:
    """Return what a user, an earlier run, or the environment's own role would have said."""
    images = [
        {
            "name": f"{REGISTRY}/{name}",
            "tag": "1",
            "digest": DIGEST,
            "reference": f"{REGISTRY}/{name}@{DIGEST}",
        }
        for name in BUILT
    ]
    (output / "images.json").write_text(json.dumps(images))
    (output / "google-token").write_text("a-token\n")
    lab = {"project": "lab-project", "registry": "127.0.0.1:1", "google_endpoint": "http://127.0.0.1:1"}
    return {
        "names": names_in(inventory),
        "inference_output": str(output),
        "inference_image_registry": REGISTRY,
        "preflight_cluster": "",  # Google is not asked
        "lab_connection": {**lab, "directory": str(output), "sources": str(ROOT)},
        **GIVEN.get(inventory, {}),
    }


def played(inventory: str, playbook: str, variables: dict, output: Path, **more: str):
    """Return how a playbook ended; the kubeconfig is the file of that name in the output folder."""
    (output / "given.json").write_text(json.dumps(variables))
    return subprocess.run(
        ["ansible-playbook", "-i", f"inventories/{inventory}", playbook, "-e", f"@{output / 'given.json'}"],
        cwd=ROOT,
        env=snapshot.tool_environment() | {"KUBECONFIG": str(output / "kubeconfig"), **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module", params=INVENTORIES)
def said(request, tmp_path_factory) -> dict:
    """What one inventory says, all templates evaluated."""
    output = tmp_path_factory.mktemp(request.param)
    (output / "play.yml").write_text(PLAY)
    done = played(
        request.param, str(output / "play.yml"), given(request.param, output), output, KUBECONFIG=""
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((output / "said.json").read_text())
    return {"inventory": request.param, **found}


def test_every_image_is_one_that_stays(said):
    references = {each["alternative"]: each["reference"] for each in said["inference_plan"]["images"]}
    references["image_configurator_image"] = said["image_configurator_image"]
    noop = said.get("dra_drivers_noop_image", {"repository": ""})
    if noop["repository"]:
        references["dra_drivers_noop_image"] = f"{noop['repository']}:{noop['tag']}"
    assert {name: text for name, text in references.items() if not parse(text).is_pinned} == {}


def test_only_simulated_kubelets_can_do_without_the_no_op_driver(said):
    image = said.get("dra_drivers_noop_image", {}).get("repository")
    chart = said.get("dra_drivers_charts", {}).get("noop", {}).get("ref") or said.get(
        "dra_drivers_noop_chart"
    )
    assert bool(image and chart) is (said["inventory"] != "lab")


def test_each_alternative_says_which_nodes_are_its_own(said):
    slices = [each for each in said["inference_plan"]["slices"] if each["alternative"]]
    assert [each["alternative"] for each in slices if not each["node_selector"]] == []


def test_the_kubeconfig_is_a_path_that_can_be_looked_for(said):
    """Ansible's test ``exists`` takes a tilde for a name."""
    assert Path(said["inference_kubeconfig"]).is_absolute()


def test_node_pools_are_planned_only_where_something_makes_them(said):
    makes_pools = {"node_pools", "kind_cluster"} & {*said["inference_environment"]}
    assert bool(said["inference_plan"]["node_pools"]) is bool(makes_pools)


def test_the_preflight_comes_before_anything_is_written(said):
    assert said["inference_environment"][0] in ("preflight", "lab")
    assert "preflight" in said["inference_environment"]


@pytest.mark.parametrize("inventory", ["existing", "kind"])
def test_where_no_google_is_asked_mistakes_are_refused_before_any_write(inventory, tmp_path):
    """The address that the kubeconfig names is asked nothing, and there is no trace of a cluster's making."""
    chart = {"name": "dra-driver-nvidia-gpu", "version": "0.5.0", "values": {"image": {"tag": "0.5.0"}}}
    wrong = {"inference_token": "HUGGING_FACE_TOKEN", "dra_drivers_charts": {"gpu.nvidia.com": chart}}
    cache = tmp_path / "cache"
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        cluster = {"name": "c", "cluster": {"server": address}}
        context = {"name": "c", "context": {"cluster": "c", "user": "nobody"}}
        config = {"clusters": [cluster], "contexts": [context], "current-context": "c", "users": []}
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
        usual = given(inventory, tmp_path) if inventory == "existing" else {"inference_output": str(tmp_path)}
        done = played(inventory, "site.yml", usual | wrong, tmp_path, DRA_LAB_CACHE=str(cache))
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()
    said = " ".join(done.stdout.split())
    assert "inference_token: found the placeholder 'HUGGING_FACE_TOKEN'" in said
    assert "image of the chart for gpu.nvidia.com: found the tag '0.5.0'; 'v0.5.0' is meant" in said
    assert re.search(r"localhost .* changed=0 .* failed=1 ", said)
    assert not cache.exists()


def samples() -> dict[str, list[dict]]:
    """Return the lists of alternatives that the documentation prints, by where they are."""
    found = {}
    for file in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]:
        for match in re.finditer(r"```ya?ml\n(.*?)```", file.read_text(), re.DOTALL):
            if "inference_alternatives:" in match[1]:
                line = file.read_text()[: match.start()].count("\n") + 1
                said = yaml.safe_load(match[1])["inference_alternatives"]
                found[f"{file.relative_to(ROOT)}:{line}"] = said
    return found


def test_the_readme_has_a_sample():
    assert any(where.startswith("README.md:") for where in samples())


@pytest.mark.parametrize("alternatives", samples().values(), ids=samples())
def test_a_printed_list_of_alternatives_makes_a_plan(alternatives):
    assert len(plan(alternatives).as_dict()["alternatives"]) == len(alternatives)
