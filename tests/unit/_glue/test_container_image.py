# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""container_image with registries, programs and Google in memory: what it does, and every way it fails."""

from __future__ import annotations

import importlib
import json
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.inference.dra.plugins.module_utils._core import oci
from ansible_collections.inference.dra.plugins.module_utils._glue import container_image as glue
from ansible_collections.inference.dra.plugins.module_utils._glue.result import ModuleFailure
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import ManualClock
from ansible_collections.inference.dra.plugins.module_utils._ports.google_access import Access
from ansible_collections.inference.dra.plugins.module_utils._ports.image_engines import (
    Ended,
    EngineMissing,
    with_login,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.transport import Answer

from .registries import STORAGE, Registries

MODULE = importlib.import_module("ansible_collections.inference.dra.plugins.modules.container_image")
NAME = "r.example/team/server"
PKG = "us-central1-docker.pkg.dev/my-project/images/server"
SECRET = "correct-horse"
LOGIN = {"username": "me", "password": SECRET}


class Programs:
    """docker and podman: what they are told, and what they say."""

    def __init__(self, world: Registries) -> None:
        self.world = world
        self.commands: list[list[str]] = []
        self.endings: dict[str, Ended] = {}
        self.context: dict[str, str] = {}
        self.configuration: dict[str, Any] = {}
        self.missing = False

    def __call__(self, command, environment, seconds) -> Ended:
        assert seconds > 0
        if self.missing:
            raise EngineMissing(f"there is no `{command[0]}` on PATH")
        self.commands.append(list(command))
        if "DOCKER_CONFIG" in environment:
            path = Path(environment["DOCKER_CONFIG"]) / "config.json"
            assert path.stat().st_mode & 0o777 == 0o600
            assert environment["REGISTRY_AUTH_FILE"] == str(path)
            self.configuration = json.loads(path.read_text())
        if command[1] == "build":
            root = Path(command[-1])
            self.context = {
                str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()
            }
        ended = self.endings.get(command[1], Ended(0, ""))
        if command[1] == "push" and ended.status == 0:
            name, _colon, tag = command[2].rpartition(":")
            self.world.add_image(name, tag, {}, [b"layer"])
        return ended


class Bench:
    """One world with a build context; ``run`` is the module in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.world = Registries()
        self.programs = Programs(self.world)
        self.clock = ManualClock(datetime(2026, 8, 1, tzinfo=timezone.utc))
        self.progress: list[str] = []
        self.google = SimpleNamespace(
            project="my-project", access=Access("my-project"), token=lambda: "ya29.x"
        )
        self.write("Dockerfile", 'ARG BASE=scratch\nFROM ${BASE}\nCOPY app /app\nENTRYPOINT ["/app/run"]\n')
        self.write("app/run", "#!/bin/sh\n").chmod(0o755)
        self.write("app/data", "1")

    def write(self, path: str, text: str) -> Path:
        place = self.directory / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    def run(self, *, check_mode: bool = False, **options: Any) -> dict[str, Any]:
        given = {"name": NAME, "engine": "append", "context": str(self.directory), **options}
        checked = ArgumentSpecValidator(MODULE.argument_spec()).validate(given)
        assert not checked.error_messages, checked.error_messages
        module = SimpleNamespace(params=checked.validated_parameters, check_mode=check_mode)
        outside = glue.Outside(module.params, self.clock, self.world.connect, self.programs)
        outside.google = lambda: self.google
        return glue.container_image(module, outside, self.progress.append)

    def fails(self, reason: str, **options: Any) -> ModuleFailure:
        with pytest.raises(ModuleFailure) as failed:
            self.run(**options)
        assert failed.value.reason == reason, failed.value
        assert SECRET not in str(failed.value) + str(failed.value.facts)
        return failed.value


@pytest.fixture
def bench(tmp_path) -> Bench:
    return Bench(tmp_path)


# Without a build engine


def test_an_image_out_of_nothing(bench):
    planned = bench.run(check_mode=True)
    assert (planned["changed"], planned["digest"], bench.world.writes) == (True, "", [])
    assert planned["reference"] == f"{NAME}:{planned['tag']}"
    first = bench.run()
    assert first["changed"]
    assert first["tag"] == planned["tag"]
    assert first["reference"] == f"{NAME}@{first['digest']}"
    assert first["actions"] == [f"build {NAME}:{first['tag']} with append and push it"]
    manifest, config = bench.world.image(NAME, first["tag"])
    assert oci.digest(oci.encoded(manifest)) == first["digest"]
    assert (config["os"], config["architecture"]) == ("linux", "amd64")
    assert config["config"] == {"Entrypoint": ["/app/run"]}
    assert len(manifest["layers"]) == len(config["rootfs"]["diff_ids"]) == 1


def test_a_second_run_changes_and_sends_nothing(bench):
    first = bench.run()
    bench.world.asked.clear()
    second = bench.run()
    assert (second["changed"], second["actions"], bench.world.writes) == (False, [], [])
    assert second["reference"] == first["reference"]
    assert second["before"] == second["after"] == {"reference": first["reference"]}


def test_the_same_content_has_the_same_digest_anywhere(bench, tmp_path_factory):
    other = Bench(tmp_path_factory.mktemp("other"))
    assert bench.run()["digest"] == other.run()["digest"]


def test_what_is_ignored_changes_nothing(bench):
    bench.write(".dockerignore", "*.log\n")
    first = bench.run()
    bench.write("noise.log", "x")
    assert not bench.run()["changed"]
    bench.write("app/data", "2")
    assert bench.run()["tag"] != first["tag"]


def test_the_ignore_file_beside_the_dockerfile_comes_first(bench):
    bench.write(".dockerignore", "app/data\n")
    bench.write("other/Dockerfile", "FROM scratch\nCOPY app /app\n")
    bench.write("other/Dockerfile.dockerignore", "*\n!app/run\n")
    first = bench.run(dockerfile="other/Dockerfile")
    bench.write("app/data", "2")
    assert bench.run(dockerfile="other/Dockerfile")["tag"] == first["tag"]


def base_image(bench, **options) -> None:
    bench.world.add_image(
        "docker.io/team/base", "v1", {"Env": ["PATH=/bin"], "Cmd": ["x"]}, [b"one"], **options
    )


def test_an_image_on_a_base_of_another_registry(bench):
    base_image(bench)
    bench.world.users["registry-1.docker.io"] = {}  # it wants a token, which the storage must not see
    bench.world.redirects = True
    result = bench.run(build_args={"BASE": "team/base:v1"})
    manifest, config = bench.world.image(NAME, result["tag"])
    assert result["bases"] == ["team/base:v1"]
    assert result["notes"] == []
    assert bench.world.blobs[NAME, oci.digest(b"one")] == b"one"
    assert [layer["mediaType"] for layer in manifest["layers"]] == [oci.LAYER, oci.LAYER]
    assert len(config["rootfs"]["diff_ids"]) == 2
    assert config["config"] == {"Env": ["PATH=/bin"], "Entrypoint": ["/app/run"]}
    assert {each.host for each in bench.world.asked} >= {"registry-1.docker.io", STORAGE, "r.example"}
    assert "copied" in bench.progress[0]


def test_layers_of_a_base_in_the_same_registry_are_not_sent(bench):
    bench.world.add_image("r.example/team/base", "v1", {}, [b"one"])
    bench.run(build_args={"BASE": "r.example/team/base:v1"})
    assert any("mount=" in each and "from=team%2Fbase" in each for each in bench.world.writes)
    assert bench.world.blobs[NAME, oci.digest(b"one")] == b"one"


def test_the_platform_is_chosen_from_an_index(bench):
    digest = bench.world.add_image("docker.io/team/base", "arm", {"User": "arm"}, [b"arm"], "linux/arm64")
    index = {
        "mediaType": oci.INDEXES[0],
        "manifests": [{"digest": digest, "platform": {"os": "linux", "architecture": "arm64"}}],
    }
    bench.world.add_manifest("docker.io/team/base", "v1", index)
    arguments = {"build_args": {"BASE": "team/base:v1"}, "machine_types": ["c4a-standard-8"]}
    result = bench.run(platform="linux/arm64", **arguments)
    assert bench.world.image(NAME, result["tag"])[1]["config"]["User"] == "arm"
    failed = bench.fails("BaseUnavailable", build_args={"BASE": "team/base:v1"})
    assert "it is not made for linux/amd64" in str(failed)


def test_a_base_for_another_architecture(bench):
    base_image(bench, platform="linux/arm64")
    failed = bench.fails("BaseUnavailable", build_args={"BASE": "team/base:v1"})
    assert "made for linux/arm64, not for linux/amd64" in str(failed)


def test_a_moving_base_is_noted(bench):
    bench.world.add_image("docker.io/team/base", "latest", {}, [b"one"])
    assert "team/base may be another one tomorrow" in bench.run(build_args={"BASE": "team/base"})["notes"][0]


def test_a_base_that_is_not_there(bench):
    failed = bench.fails("BaseUnavailable", build_args={"BASE": "team/nothing:v1"})
    assert "the base image team/nothing:v1 can't be had" in str(failed)
    assert "404" in str(failed)
    bench.world.silent.add("registry-1.docker.io")
    failed = bench.fails("BaseUnavailable", build_args={"BASE": "team/nothing:v1"})
    assert "no answer from registry-1.docker.io" in str(failed)
    assert bench.world.writes == []


def test_run_takes_an_engine_also_in_check_mode(bench):
    bench.write("Dockerfile", "FROM scratch\nRUN make\n")
    failed = bench.fails("InvalidInput", check_mode=True)
    assert "line 2 of the Dockerfile: RUN takes a build engine" in str(failed)
    assert bench.world.asked == []


# Registries


def test_a_registry_that_asks_for_a_token(bench):
    bench.world.users["r.example"] = {"me": SECRET}
    assert bench.run(**LOGIN)["changed"]
    assert not bench.run(**LOGIN)["changed"]
    spoken = [each for each in bench.world.asked if each.host == "auth.example"]
    assert spoken
    assert all(SECRET not in each.path for each in bench.world.asked)
    assert all(each.authorization.startswith("Basic ") for each in spoken)


def test_a_registry_that_takes_user_and_password(bench):
    bench.world.users["r.example"] = {"me": SECRET}
    bench.world.scheme = "Basic"
    assert bench.run(**LOGIN)["changed"]


def test_artifact_registry_gets_googles_token(bench):
    bench.world.users["us-central1-docker.pkg.dev"] = {glue.TOKEN_USER: "ya29.x"}
    assert bench.run(name=PKG)["changed"]


def test_a_base_does_not_get_the_password_of_the_target(bench):
    bench.world.users = {"r.example": {"me": SECRET}, "registry-1.docker.io": {"other": "x"}}
    base_image(bench)
    assert bench.run(build_args={"BASE": "team/base:v1"}, **LOGIN)["changed"]
    scopes = [
        each for each in bench.world.asked if each.host == "auth.example" and "team%2Fbase" in each.path
    ]
    assert {each.authorization for each in scopes} == {""}


def refusing(key: str, status: int, data: bytes = b"", **headers: str):
    answer = Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, data)
    return lambda world: world.refusals.update({key: answer})


NO_RIGHT = b'{"errors": [{"code": "DENIED", "message": "no right"}]}'
NO_NAME = b'{"errors": [{"code": "NAME_UNKNOWN"}]}'
REFUSALS = {
    "push-denied": (refusing("POST blobs", 403, NO_RIGHT), "PushDenied", "403 DENIED: no right"),
    "look-denied": (refusing("HEAD manifests", 403), "PushDenied", "looking for"),
    "wrong-login": (lambda world: world.users.update({"r.example": {"you": "y"}}), "PushDenied", "401"),
    "silent": (lambda world: world.silent.add("r.example"), "RegistryUnreachable", "from r.example"),
    "no-repository": (refusing("POST blobs", 404, NO_NAME), "RepositoryMissing", "NAME_UNKNOWN"),
    "broken": (refusing("PUT manifests", 500, b"broken"), "RegistryRefused", "500 broken"),
    "token-server-without-tls": (
        refusing("HEAD manifests", 401, WWW_Authenticate='Bearer realm="http://evil.example/t"'),
        "RegistryRefused",
        "http://evil.example, which has no TLS",
    ),
    "unknown-scheme": (
        refusing("HEAD manifests", 401, WWW_Authenticate="Negotiate"),
        "PushDenied",
        "none are known",
    ),
}


@pytest.mark.parametrize(("arrange", "reason", "said"), REFUSALS.values(), ids=REFUSALS)
def test_a_registry_that_refuses(bench, arrange, reason, said):
    arrange(bench.world)
    failed = bench.fails(reason, **LOGIN)
    assert f"Building {NAME} with append: " in str(failed)
    assert said in str(failed)
    assert str(failed).count(";") >= 1, "it says what to do"


# Docker and Podman


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_a_build_with_a_program(bench, engine):
    bench.write(".dockerignore", "app/data\n")
    result = bench.run(engine=engine, build_args={"BASE": "b:1", "A": "x y"}, **LOGIN)
    version, build, push = bench.programs.commands
    image = f"{NAME}:{result['tag']}"
    assert version == [engine, "version"]
    assert build[:6] == [engine, "build", "--platform", "linux/amd64", "--tag", image]
    assert build[8:12] == ["--build-arg", "A=x y", "--build-arg", "BASE=b:1"]
    assert push == [engine, "push", image]
    assert set(bench.programs.context) == {"Dockerfile", ".dockerignore", "app/run"}
    assert SECRET not in str(bench.programs.commands)
    assert result["changed"]
    assert result["digest"]
    bench.programs.commands.clear()
    assert not bench.run(engine=engine, build_args={"BASE": "b:1", "A": "x y"}, **LOGIN)["changed"]
    assert bench.programs.commands == [], "an image that is there takes no program"


def test_check_mode_starts_no_program(bench):
    assert bench.run(engine="docker", check_mode=True)["changed"]
    assert bench.programs.commands == []


def test_a_login_does_not_replace_the_others():
    own = {"auths": {"a.io": {}, "r.io": {"auth": "old"}}, "credsStore": "desktop", "currentContext": "far"}
    made = with_login(own, "r.io", ("me", "x"))
    assert made == {
        "auths": {"a.io": {}, "r.io": {"auth": "bWU6eA=="}},
        "credHelpers": {"a.io": "desktop"},
        "currentContext": "far",
    }


def test_docker_hub_has_another_name_in_configurations():
    assert list(with_login({}, "docker.io", ("me", "x"))["auths"]) == ["https://index.docker.io/v1/"]


def test_without_credentials_the_users_own_configuration_counts(bench):
    bench.run(engine="docker")
    assert bench.programs.configuration == {}


def test_no_engine(bench):
    bench.programs.missing = True
    failed = bench.fails("EngineMissing", engine="podman")
    assert "there is no `podman` on PATH; install and start it" in str(failed)
    bench.programs.missing = False
    bench.programs.endings["version"] = Ended(1, "Cannot connect to the Docker daemon")
    assert "Cannot connect" in str(bench.fails("EngineMissing", engine="docker"))


SAID = {
    "step": ("build", f"step 1\nmake: *** [all] Error 2 {SECRET}", "BuildFailed"),
    "file": (
        "build",
        "Step 1 : FROM team/b:1\nCOPY failed: no source files were found: x: not found",
        "BuildFailed",
    ),
    "base": ("build", "manifest for team/b:1 not found: manifest unknown", "BaseUnavailable"),
    "base-buildkit": (
        "build",
        "ERROR: failed to solve: docker.io/team/b:1: failed to resolve",
        "BaseUnavailable",
    ),
    "base-private": ("build", "pull access denied for team/b, repository does not exist", "BaseUnavailable"),
    "hub": ("build", 'Get "https://registry-1.docker.io/v2/": dial tcp: no such host', "BaseUnavailable"),
    "push-denied": ("push", "denied: permission is missing", "PushDenied"),
    "push": ("push", "no space left on device", "BuildFailed"),
}


@pytest.mark.parametrize(("program", "said", "reason"), SAID.values(), ids=SAID)
def test_a_program_that_fails(bench, program, said, reason):
    said = "\n".join(f"line {number}" for number in range(40)) + f"\n{said}"
    bench.programs.endings[program] = Ended(1, said)
    failed = bench.fails(reason, engine="docker", build_args={"BASE": "team/b:1"}, **LOGIN)
    assert f"{program}ing {NAME}:" in str(failed)
    assert len(failed.facts["output"]) == 15
    assert failed.facts["output"][-1] == said.splitlines()[-1].replace(SECRET, "********")
    assert str(failed).count("|") == 2, "the message has the last lines only"


def test_a_push_that_did_not_arrive(bench):
    bench.programs.world = Registries()
    assert "it is not there" in str(bench.fails("RegistryRefused", engine="docker"))


# Before any request


BAD_INPUT = {
    "tag": ({"name": f"{NAME}:v1"}, "InvalidInput", "leave it out"),
    "no-registry": ({"name": "server"}, "InvalidInput", "names no registry"),
    "base": ({"build_args": {"BASE": "Not A Name"}}, "InvalidInput", "no image reference"),
    "platform": ({"machine_types": ["c4a-standard-8"]}, "PlatformMismatch", "c4a-standard-8 are arm64"),
    "no-platform": ({"platform": "windows/amd64"}, "PlatformMismatch", "linux/amd64 or linux/arm64"),
    "no-dockerfile": ({"dockerfile": "Other"}, "ContextUnreadable", "Other: No such file"),
    "no-context": ({"context": "/nowhere"}, "ContextUnreadable", "reading the build context /nowhere"),
}


@pytest.mark.parametrize(("options", "reason", "said"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_refused_before_any_request(bench, options, reason, said):
    assert said in str(bench.fails(reason, **options))
    assert bench.world.asked == bench.programs.commands == []


def test_a_run_that_was_cut_off_goes_on_where_it_was(bench):
    bench.world.refusals["PUT manifests"] = Answer(500, {}, b"cut")
    bench.fails("RegistryRefused")
    bench.world.refusals.clear()
    bench.world.asked.clear()
    assert bench.run()["changed"]
    assert [each.split("/v2/")[0] for each in bench.world.writes] == ["PUT "], "the blobs are there"


def test_a_read_is_asked_again_and_a_change_is_not(bench):
    bench.world.refusals["HEAD manifests"] = Answer(503, {}, b"later")
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        bench.world.refusals.pop("HEAD manifests", None)

    bench.clock.sleep = sleep
    assert bench.run()["changed"]
    assert pauses == [0.5]
    bench.write("app/data", "2")
    bench.world.refusals["POST blobs"] = Answer(503, {}, b"later")
    bench.fails("RegistryRefused")
    assert pauses == [0.5]
