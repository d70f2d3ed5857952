# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""container_image against a real registry, the lab's; crane is the second opinion on what was pushed."""

from __future__ import annotations

import importlib
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.inference.dra.plugins.module_utils._glue import container_image as glue
from ansible_collections.inference.dra.plugins.module_utils._glue.result import ModuleFailure
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock
from ansible_collections.inference.dra.tests.integration.registries import running_registry

pytestmark = pytest.mark.lab

MODULE = importlib.import_module("ansible_collections.inference.dra.plugins.modules.container_image")
ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Bench:
    """The lab's registry at an address, and crane."""

    host: str
    program: Path

    def crane(self, *words: str) -> str:
        done = subprocess.run([self.program, *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def run(self, name: str, *, check_mode: bool = False, **options) -> dict:
        given = {"name": f"{self.host}/{name}", "engine": "append", **options}
        checked = ArgumentSpecValidator(MODULE.argument_spec()).validate(given)
        assert not checked.error_messages, checked.error_messages
        module = SimpleNamespace(params=checked.validated_parameters, check_mode=check_mode)
        return glue.container_image(module, glue.Outside(module.params, SystemClock()), lambda _text: None)


@pytest.fixture(scope="module")
def bench(lab_binaries, tmp_path_factory):
    with running_registry(lab_binaries["crane"], tmp_path_factory.mktemp("registry")) as host:
        yield Bench(host, lab_binaries["crane"])


@pytest.fixture
def context(tmp_path):
    (tmp_path / "Dockerfile").write_text('FROM scratch\nCOPY run /bin/run\nENTRYPOINT ["/bin/run"]\n')
    (tmp_path / "run").write_text("one\n")
    (tmp_path / "run").chmod(0o755)
    return tmp_path


def test_an_image_is_pushed_once(bench, context):
    planned = bench.run("team/once", context=str(context), check_mode=True)
    assert planned["changed"]
    assert planned["digest"] == ""
    first = bench.run("team/once", context=str(context))
    assert first["changed"]
    assert bench.crane("digest", f"{first['name']}:{first['tag']}") == first["digest"]
    bench.crane("validate", "--remote", first["reference"])
    again = bench.run("team/once", context=str(context))
    assert (again["changed"], again["reference"]) == (False, first["reference"])
    (context / "run").write_text("two\n")
    other = bench.run("team/once", context=str(context))
    assert other["changed"]
    assert sorted(bench.crane("ls", first["name"]).split()) == sorted([first["tag"], other["tag"]])


def test_an_image_on_a_base(bench, context):
    base = bench.run("team/base", context=str(context))
    (context / "More").write_text("ARG BASE\nFROM ${BASE}\nENV A=1\nCOPY run /srv/\n")
    arguments = {"BASE": base["reference"]}
    made = bench.run("other/more", context=str(context), dockerfile="More", build_args=arguments)
    bench.crane("validate", "--remote", made["reference"])
    config = json.loads(bench.crane("config", made["reference"]))
    assert config["config"] == {"Entrypoint": ["/bin/run"], "Env": ["A=1"]}
    assert (config["os"], config["architecture"]) == ("linux", "amd64")
    archive = context / "filesystem.tar"
    bench.crane("export", made["reference"], str(archive))
    listed = subprocess.run(["tar", "tvf", str(archive)], check=True, capture_output=True, text=True).stdout
    assert [line.split()[-1] for line in listed.splitlines()] == ["srv/run", "bin/run"]
    assert all(line.startswith("-rwxr-xr-x 0/0") for line in listed.splitlines())


@pytest.mark.parametrize("name", ["model-server", "image-configurator"])
def test_the_labs_own_images(bench, name):
    options = {"context": str(ROOT), "dockerfile": f"lab/images/{name}.Dockerfile"}
    made = bench.run(f"lab/{name}", **options)
    bench.crane("validate", "--remote", made["reference"])
    assert not bench.run(f"lab/{name}", **options)["changed"]


def test_a_base_that_the_registry_does_not_have(bench, context):
    (context / "Dockerfile").write_text(f"FROM {bench.host}/team/nothing:v1\n")
    with pytest.raises(ModuleFailure) as failed:
        bench.run("team/failed", context=str(context))
    assert failed.value.reason == "BaseUnavailable"


def test_a_registry_that_does_not_run(bench, context):
    with pytest.raises(ModuleFailure) as failed:
        Bench("127.0.0.1:1", bench.program).run("team/x", context=str(context))
    assert failed.value.reason == "RegistryUnreachable"
