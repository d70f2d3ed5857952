# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dockerfiles: their base images, and what those without RUN add to one."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.dockerfiles import (
    DockerfileError,
    File,
    assemble,
    base_images,
    instructions,
)

PATHS = ["app/main.py", "app/lib/a.py", "start", "stop", "x.conf"]
TWO_STAGES = """\
# syntax=docker/dockerfile:1
ARG BASE=docker.io/library/python:3.13-alpine
FROM --platform=$BUILDPLATFORM ${BASE} AS packages
RUN pip install x \\
    # a comment between
    y
FROM ${BASE}
COPY --from=packages /x /x
"""


def test_instructions_are_joined_and_comments_left_out():
    found = [(each.word, each.text, each.line) for each in instructions(TWO_STAGES)]
    assert found == [
        ("ARG", "BASE=docker.io/library/python:3.13-alpine", 2),
        ("FROM", "--platform=$BUILDPLATFORM ${BASE} AS packages", 3),
        ("RUN", "pip install x      y", 4),
        ("FROM", "${BASE}", 7),
        ("COPY", "--from=packages /x /x", 8),
    ]


def test_the_body_of_a_here_document_is_no_instruction():
    assert base_images("FROM a\nRUN <<EOF\nFROM b\nEOF\nUSER 1\n", {}) == ["a"]


@pytest.mark.parametrize(
    ("text", "arguments", "bases"),
    [
        pytest.param(TWO_STAGES, {}, ["docker.io/library/python:3.13-alpine"], id="default"),
        pytest.param(TWO_STAGES, {"BASE": "other:1"}, ["other:1"], id="given"),
        pytest.param("FROM a AS one\nFROM one\nFROM b\n", {}, ["a", "b"], id="stages-are-no-bases"),
        pytest.param("FROM scratch\n", {}, [], id="nothing"),
        pytest.param("ARG A=a:1\nARG B=${A}\nFROM $B\nFROM $A\n", {}, ["a:1"], id="default-of-another"),
        pytest.param("ARG A=a:1\nARG B=${A}\nFROM $B\n", {"A": "b:1"}, ["b:1"], id="default-of-a-given-one"),
        pytest.param("ARG T\nFROM a:${T:-v1}\n", {}, ["a:v1"], id="default-in-place"),
    ],
)
def test_base_images(text, arguments, bases):
    assert base_images(text, arguments) == bases


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("RUN x\n", "FROM is missing", id="no-from"),
        pytest.param(
            "ARG BASE\nFROM ${BASE}\n", "line 2 of the Dockerfile: FROM names no image", id="no-value"
        ),
    ],
)
def test_no_base(text, problem):
    with pytest.raises(DockerfileError, match=problem):
        base_images(text, {})


def test_settings_are_added_to_those_of_the_base():
    base = {
        "Env": ["PATH=/bin", "A=old"],
        "Cmd": ["serve"],
        "User": "root",
        "Labels": {"a": "1"},
        "WorkingDir": "/w",
    }
    text = """\
ARG BASE
ARG MODEL=small
FROM ${BASE}
ARG MODEL
ARG EMPTY
ENV A=new MODEL=$MODEL \\
    QUOTED="two words" LITERAL=\\$HOME PATH=/opt:${PATH}
LABEL b=${A}
WORKDIR sub
EXPOSE 8000 9000/udp
USER 65532:65532
STOPSIGNAL SIGINT
ENTRYPOINT ["/start", "$MODEL"]
"""
    made = assemble(text, {"BASE": "b", "MODEL": "large"}, base, [])
    assert made.files == {}
    assert made.config == {
        "Env": ["PATH=/opt:/bin", "A=new", "MODEL=large", "QUOTED=two words", "LITERAL=$HOME"],
        "Labels": {"a": "1", "b": "new"},
        "WorkingDir": "/w/sub",
        "ExposedPorts": {"8000/tcp": {}, "9000/udp": {}},
        "User": "65532:65532",
        "StopSignal": "SIGINT",
        "Entrypoint": ["/start", "$MODEL"],
    }
    assert base["Cmd"] == ["serve"], "the base is left as it was"


def test_commands():
    assert assemble('FROM a\nENTRYPOINT run me\nCMD ["x"]\n', {}, {}, []).config == {
        "Entrypoint": ["/bin/sh", "-c", "run me"],
        "Cmd": ["x"],
    }
    assert assemble("FROM a\nCMD x\n", {}, {"Entrypoint": ["/e"]}, []).config["Entrypoint"] == ["/e"]


@pytest.mark.parametrize(
    ("line", "files"),
    [
        pytest.param("COPY start /usr/bin/start", {"usr/bin/start": "start"}, id="file-to-file"),
        pytest.param("COPY start /usr/bin/", {"usr/bin/start": "start"}, id="file-into-directory"),
        pytest.param("COPY start .", {"w/start": "start"}, id="into-the-working-directory"),
        pytest.param(
            "COPY start x.conf etc/", {"w/etc/start": "start", "w/etc/x.conf": "x.conf"}, id="several"
        ),
        pytest.param('COPY ["x.conf", "/a b"]', {"a b": "x.conf"}, id="json"),
        pytest.param(
            "COPY app /app", {"app/main.py": "app/main.py", "app/lib/a.py": "app/lib/a.py"}, id="directory"
        ),
        pytest.param("COPY app/lib app/lib", {"w/app/lib/a.py": "app/lib/a.py"}, id="inner-directory"),
        pytest.param("COPY st* /", {"start": "start", "stop": "stop"}, id="pattern"),
        pytest.param("COPY app/*.py app/", {"w/app/main.py": "app/main.py"}, id="pattern-in-directory"),
        pytest.param("COPY no* start /", {"start": "start"}, id="pattern-of-nothing"),
        pytest.param("COPY ./app/. /", {"main.py": "app/main.py", "lib/a.py": "app/lib/a.py"}, id="dot"),
        pytest.param("COPY . /", {path: path for path in PATHS}, id="all"),
    ],
)
def test_copy(line, files):
    made = assemble(f"FROM a\nWORKDIR /w\n{line}\n", {}, {}, PATHS)
    assert {path: each.source for path, each in made.files.items()} == files


def test_copy_with_a_mode():
    assert assemble("FROM a\nCOPY --chmod=755 x.conf /x\n", {}, {}, PATHS).files == {
        "x": File("x.conf", 0o755)
    }


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        pytest.param("RUN x", "line 2 of the Dockerfile: RUN takes a build engine", id="run"),
        pytest.param("ADD x /x", "ADD takes a build engine", id="add"),
        pytest.param("COPY --from=other a b", "--from=other takes a build engine", id="other-stage"),
        pytest.param("COPY --chown=1 a b", "--chown=1 takes a build engine", id="owner"),
        pytest.param("COPY nowhere /x", "the build context has no nowhere", id="missing"),
        pytest.param("COPY no* /x/", "the build context has nothing like no*", id="pattern"),
        pytest.param("COPY start", "needs files of the context and a destination", id="no-destination"),
        pytest.param("FROM b", "a second stage takes a build engine", id="stages"),
        pytest.param("CMD [x", "CMD is no JSON list", id="json"),
        pytest.param("ENV old value", "ENV needs name=value", id="old-env"),
    ],
)
def test_what_takes_a_build_engine(line, problem):
    with pytest.raises(DockerfileError, match=problem):
        assemble(f"FROM a\n{line}\n", {}, {}, PATHS)
