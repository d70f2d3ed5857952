# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The contexts that the role container_images builds: the right files, all arguments, and what they start."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.inference.dra.plugins.module_utils._core.dockerfiles import (
    assemble,
    base_images,
    instructions,
)
from ansible_collections.inference.dra.plugins.module_utils._core.image_references import parse
from ansible_collections.inference.dra.plugins.module_utils._ports.image_context import Context, read_context

ROOT = Path(__file__).resolve().parents[3]
ROLE = ROOT / "roles" / "container_images"
BASE_CONFIG = {"Env": ["PATH=/usr/bin", "LD_LIBRARY_PATH=/usr/local/cuda/lib64"], "Cmd": ["x"]}
CPUS = next(
    line.split()[1]
    for line in Path("/proc/self/status").read_text().splitlines()
    if line.startswith("Cpus_allowed_list:")
)


def trusted(value):
    if isinstance(value, dict):
        return {name: trusted(each) for name, each in value.items()}
    return trust_as_template(value) if isinstance(value, str) else value


def variables(**given):
    """Return the role's variables as a user gets them."""
    found = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text()) | {"role_path": str(ROLE), **given}
    templar = Templar(DataLoader(), trusted(found))
    return {
        name: templar.template(trusted(found[name]))
        for name in ("container_images_recipes", "container_images_others")
    }


def recipe(name, **given):
    found = variables(**given)
    return (found["container_images_recipes"] | found["container_images_others"])[name]


def context(of) -> Context:
    return read_context(Path(of["context"]), of.get("dockerfile", "Dockerfile"))


def arguments(of):
    return {name: str(value) for name, value in of["build_args"].items()}


def made(name, **given):
    of = recipe(name, **given)
    read = context(of)
    return assemble(read.dockerfile, arguments(of), BASE_CONFIG, read.paths)


@pytest.mark.parametrize("name", ["gpu.nvidia.com", "dra.cpu", "image-configurator"])
def test_every_argument_is_declared_and_every_declared_one_is_given(name):
    of = recipe(name)
    declared = [
        word.partition("=")[::2]
        for each in instructions(context(of).dockerfile)
        if each.word == "ARG"
        for word in each.text.split()
    ]
    assert set(of["build_args"]) <= {word for word, _default in declared}
    assert {word for word, default in declared if not default} <= set(of["build_args"])


@pytest.mark.parametrize("name", ["gpu.nvidia.com", "dra.cpu", "image-configurator"])
def test_the_bases_are_pinned(name):
    of = recipe(name)
    bases = base_images(context(of).dockerfile, arguments(of))
    assert bases
    assert all(parse(base).is_pinned for base in bases)


@pytest.mark.parametrize("name", ["gpu.nvidia.com", "dra.cpu"])
def test_a_model_servers_context_is_one_file_and_takes_no_engine(name):
    read = context(recipe(name))
    assert read.paths == ["Dockerfile", "serve"]
    assert set(made(name).files) == {"usr/local/bin/serve-model"}


def test_another_model_is_another_setting():
    environment = dict(
        entry.split("=", 1) for entry in made("gpu.nvidia.com", container_images_model="a/b").config["Env"]
    )
    assert environment == {
        "PATH": "/usr/bin",
        "LD_LIBRARY_PATH": "/usr/local/nvidia/lib64:/usr/local/cuda/lib64",
        "MODEL": "a/b",
        "MAX_MODEL_LEN": "8192",
        "GPU_MEMORY_UTILIZATION": "0.85",
        "PORT": "8000",
    }


def started(name, directory, *more, **environment):
    """Return the words and settings that an image's entry point gives to Python."""
    config = made(name).config
    fake = directory / "python3"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\nenv | grep -E "^(OMP|VLLM)" | sort\n')
    fake.chmod(0o755)
    settings = dict(entry.split("=", 1) for entry in config["Env"]) | environment
    settings["PATH"] = f"{directory}{os.pathsep}{os.environ['PATH']}"
    shell, script = config["Entrypoint"]
    assert script == "/usr/local/bin/serve-model"
    source = ROLE / "files" / {"gpu.nvidia.com": "vllm-gpu", "dra.cpu": "vllm-cpu"}[name] / "serve"
    command = [shell, str(source), *more]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=settings)
    return done.stdout.splitlines()


SERVER = "vllm.entrypoints.openai.api_server"
COMMON = ["-m", SERVER, "--host=0.0.0.0", "--port=8000", "--model=google/gemma-4-E2B-it"]


def test_what_a_gpu_image_starts(tmp_path):
    assert started("gpu.nvidia.com", tmp_path, "--seed=1") == [
        *COMMON,
        *("--max-model-len=8192", "--gpu-memory-utilization=0.85", "--seed=1"),
    ]


@pytest.fixture
def cpus(request):
    """Leave this process only so many of its CPUs, as a claim does; return those in the kernel's words."""
    before = os.sched_getaffinity(0)
    left = sorted(before, reverse=True)[: request.param]  # never the first: an id is not a count
    os.sched_setaffinity(0, left)
    yield CPUS if len(left) == len(before) else ",".join(map(str, sorted(left)))
    os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    "cpus", [pytest.param(1, id="C55-one-cpu"), pytest.param(None, id="C55-all")], indirect=True
)
def test_what_a_cpu_image_starts_is_bound_to_the_cpus_it_may_use(cpus, tmp_path):
    allowed = len(os.sched_getaffinity(0))
    assert started("dra.cpu", tmp_path) == [
        *COMMON,
        *("--max-model-len=8192", "--enforce-eager"),
        f"OMP_NUM_THREADS={allowed}",
        "VLLM_CPU_KVCACHE_SPACE=4",
        f"VLLM_CPU_OMP_THREADS_BIND={cpus}",
    ]


def test_a_cpu_binding_of_the_users_own_counts(tmp_path):
    said = started("dra.cpu", tmp_path, VLLM_CPU_OMP_THREADS_BIND="0-3", OMP_NUM_THREADS="4")
    assert said[-3:] == ["OMP_NUM_THREADS=4", "VLLM_CPU_KVCACHE_SPACE=4", "VLLM_CPU_OMP_THREADS_BIND=0-3"]


def test_the_configurators_context_is_what_its_dockerfile_copies():
    read = context(recipe("image-configurator"))
    assert "controllers/image_configurator/__main__.py" in read.paths
    assert "plugins/module_utils/_ports/kubernetes.py" in read.paths
    outside = [
        path
        for path in read.paths
        if not path.startswith(("controllers/", "plugins/module_utils/_ports/"))
        and path not in ("galaxy.yml", "MANIFEST.json", "LICENSE")
    ]
    assert outside == []


PAIRS = {
    "model-server": ("lab/images/model-server.Dockerfile", "lab/model_server/Dockerfile"),
    "image-configurator": (
        "lab/images/image-configurator.Dockerfile",
        "controllers/image_configurator/Dockerfile",
    ),
}


@pytest.mark.parametrize(("light", "full"), PAIRS.values(), ids=PAIRS)
def test_the_labs_images_hold_the_same_program_on_nothing(light, full):
    """They differ in what takes an engine, the Python and its packages, and in nothing else."""
    needs_an_engine = ("RUN", "LABEL")

    def kept(path):
        """Return the last stage without what takes an engine."""
        stage = []
        for each in instructions((ROOT / path).read_text()):
            if each.word == "FROM":
                stage.clear()
            elif each.word not in needs_an_engine and not each.text.startswith(("--from=", "VERSION=")):
                stage.append((each.word, each.text))
        return stage

    assert kept(light) == kept(full)
    read = read_context(ROOT, light)
    assert base_images(read.dockerfile, {}) == []
    files = assemble(read.dockerfile, {}, {}, read.paths).files
    assert {each.source for each in files.values()} == set(read.paths)
    assert not [path for path in files if "__pycache__" in path]
