# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dockerfiles as far as they are needed here: their base images, and the ones that no engine is needed for.

Source: Docker's Dockerfile reference. A Dockerfile without ``RUN`` only adds files and settings to one base
image, which takes a registry and no build engine (``assemble``).
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .image_content import matches

SCRATCH = "scratch"
HEREDOC = re.compile(r"<<-?[\"']?(\w+)[\"']?")
VARIABLE = re.compile(r"\\(.)|\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})", re.DOTALL)
FLAG = re.compile(r"--([a-z-]+)=(\S+)\s*")
SHELL = ["/bin/sh", "-c"]


class DockerfileError(ValueError):
    """A Dockerfile that can't be used; the message names the line and what is needed."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line} of the Dockerfile: {problem}")


class Instruction(NamedTuple):
    """One instruction: its word in upper case, what follows it, and the line it begins on."""

    word: str
    text: str
    line: int


class File(NamedTuple):
    """A file of a layer: where it comes from in the context, and its mode (``None``: as in the context)."""

    source: str
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Assembly:
    """What a Dockerfile without ``RUN`` makes of its base: the configuration, and files by their path."""

    config: dict[str, Any]
    files: dict[str, File] = field(default_factory=dict)


def instructions(text: str) -> list[Instruction]:
    """Return the instructions; comments and the bodies of here-documents are left out."""
    found: list[Instruction] = []
    ends: list[str] = []
    pending, began = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if ends:
            ends = ends[1:] if line.strip() == ends[0] else ends
            continue
        if line.lstrip().startswith("#") or (not line.strip() and not pending):
            continue
        began = began if pending else number
        pending += line.rstrip()
        if pending.endswith("\\"):
            pending = pending[:-1] + " "
            continue
        word, _blank, rest = pending.strip().partition(" ")
        if word.upper() in ("RUN", "COPY", "ADD"):
            ends = HEREDOC.findall(rest)
        found.append(Instruction(word.upper(), rest.strip(), began))
        pending = ""
    if pending.strip():
        word, _blank, rest = pending.strip().partition(" ")
        found.append(Instruction(word.upper(), rest.strip(), began))
    return found


def substituted(text: str, values: Mapping[str, str]) -> str:
    """Return a text with ``$name``, ``${name}`` and ``${name:-default}`` replaced; unknown ones are empty."""

    def value(found: re.Match[str]) -> str:
        if found[1]:
            return found[1] if found[1] == "$" else found[0]
        return values.get(found[2] or found[3], "") or found[4] or ""

    return VARIABLE.sub(value, text)


def base_images(text: str, build_args: Mapping[str, str]) -> list[str]:
    """Return the images that ``FROM`` names, in order, without earlier stages and ``scratch``.

    :raises DockerfileError: for a ``FROM`` without an image, or none at all.
    """
    values: dict[str, str] = {}
    stages: set[str] = {SCRATCH}
    found: list[str] = []
    began = False
    for each in instructions(text):
        if each.word == "ARG" and not began:
            values |= _argument(each, build_args, {}, values)
        elif each.word == "FROM":
            began = True
            image, stage = _from(each, values)
            if image not in stages and image not in found:
                found.append(image)
            stages |= {stage} if stage else set()
    if not began:
        raise DockerfileError(1, "FROM is missing")
    return found


def assemble(
    text: str, build_args: Mapping[str, str], base: Mapping[str, Any], paths: Iterable[str]
) -> Assembly:
    """Return what the Dockerfile makes of its base image.

    :param base: the ``config`` of the base image (Env, Entrypoint, …); empty for ``scratch``.
    :param paths: the files of the build context.
    :raises DockerfileError: for an instruction that takes a build engine, and for a ``COPY`` of nothing.
    """
    return _Assembler(build_args, base, sorted(paths)).run(instructions(text))


class _Assembler:
    def __init__(self, build_args: Mapping[str, str], base: Mapping[str, Any], paths: list[str]) -> None:
        self._build_args = build_args
        self._config: dict[str, Any] = deepcopy(dict(base))
        self._environment = dict(entry.partition("=")[::2] for entry in self._config.get("Env") or ())
        self._paths = paths
        self._files: dict[str, File] = {}
        self._global: dict[str, str] = {}
        self._arguments: dict[str, str] = {}
        self._stages = 0
        self._has_command = False

    def run(self, steps: Iterable[Instruction]) -> Assembly:
        for each in steps:
            if each.word == "FROM":
                self._stages += 1
                if self._stages > 1:
                    raise DockerfileError(each.line, "a second stage takes a build engine")
            elif each.word == "ARG" and not self._stages:
                self._global |= _argument(each, self._build_args, {}, self._global)
            else:
                self._apply(each)
        if self._environment:
            self._config["Env"] = [f"{name}={value}" for name, value in self._environment.items()]
        return Assembly(self._config, self._files)

    @property
    def _values(self) -> dict[str, str]:
        return self._arguments | self._environment

    def _apply(self, each: Instruction) -> None:
        if each.word not in APPENDABLE:
            raise DockerfileError(
                each.line, f"{each.word} takes a build engine (docker, podman or cloud_build)"
            )
        getattr(self, f"_{each.word.lower()}")(each)

    def _arg(self, each: Instruction) -> None:
        self._arguments |= _argument(each, self._build_args, self._global, self._values)

    def _env(self, each: Instruction) -> None:
        self._environment |= _pairs(each, self._values)

    def _label(self, each: Instruction) -> None:
        self._config["Labels"] = (self._config.get("Labels") or {}) | _pairs(each, self._values)

    def _user(self, each: Instruction) -> None:
        self._config["User"] = substituted(each.text, self._values)

    def _stopsignal(self, each: Instruction) -> None:
        self._config["StopSignal"] = substituted(each.text, self._values)

    def _workdir(self, each: Instruction) -> None:
        self._config["WorkingDir"] = posixpath.normpath(
            posixpath.join(self._directory, substituted(each.text, self._values))
        )

    def _expose(self, each: Instruction) -> None:
        ports = substituted(each.text, self._values).split()
        named: dict[str, Any] = {port if "/" in port else f"{port}/tcp": {} for port in ports}
        self._config["ExposedPorts"] = (self._config.get("ExposedPorts") or {}) | named

    def _cmd(self, each: Instruction) -> None:
        self._has_command = True
        self._config["Cmd"] = _command(each)

    def _entrypoint(self, each: Instruction) -> None:
        self._config["Entrypoint"] = _command(each)
        if not self._has_command:
            self._config.pop("Cmd", None)  # the base's command belongs to the base's entry point

    @property
    def _directory(self) -> str:
        return str(self._config.get("WorkingDir") or "/")

    def _copy(self, each: Instruction) -> None:
        text, mode = each.text, None
        while flag := FLAG.match(text):
            if flag[1] != "chmod" or not re.fullmatch("[0-7]{3,4}", flag[2]):
                raise DockerfileError(each.line, f"COPY --{flag[1]}={flag[2]} takes a build engine")
            text, mode = text[flag.end() :], int(flag[2], 8)
        words = _exec_form(each, text) or shlex.split(text)
        *sources, target = (substituted(word, self._values) for word in words)
        if not sources or HEREDOC.search(text):
            raise DockerfileError(each.line, "COPY needs files of the context and a destination")
        into = target.endswith("/") or target == "." or len(sources) > 1
        destination = posixpath.normpath(posixpath.join(self._directory, target)).lstrip("/")
        copied = False
        for source in sources:
            found = self._copy_one(source, destination, File("", mode), into=into)
            if not found and not _is_pattern(source):
                raise DockerfileError(each.line, f"the build context has no {source}")
            copied = copied or found
        if not copied:
            raise DockerfileError(each.line, f"the build context has nothing like {' or '.join(sources)}")

    def _copy_one(self, source: str, destination: str, file: File, *, into: bool) -> bool:
        pattern = posixpath.normpath(source.lstrip("/") or ".")
        copied = False
        for path in self._paths:
            for place in _above(path):
                if not (pattern == "." or matches(pattern, place)):
                    continue
                if place == path and pattern != ".":
                    several = into or _is_pattern(pattern)
                    target = posixpath.join(destination, posixpath.basename(path)) if several else destination
                else:
                    inner = path if pattern == "." else posixpath.relpath(path, place)
                    target = posixpath.join(destination, inner)
                self._files[target.lstrip("/")] = file._replace(source=path)
                copied = True
                break
        return copied


APPENDABLE = frozenset(
    {"ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "LABEL", "STOPSIGNAL", "USER", "WORKDIR"}
)


def _is_pattern(source: str) -> bool:
    return any(mark in source for mark in "*?[")


def _above(path: str) -> list[str]:
    """Return the directories above a path, the outermost first, then the path itself."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _from(each: Instruction, values: Mapping[str, str]) -> tuple[str, str]:
    words = [word for word in each.text.split() if not word.startswith("--")]
    image = substituted(words[0], values) if words else ""
    if not image:
        raise DockerfileError(each.line, "FROM names no image; give the build argument that it is made of")
    named = [word.upper() for word in words[1:2]] == ["AS"]
    return image, "".join(words[2:3]) if named else ""


def _argument(
    each: Instruction, given: Mapping[str, str], inherited: Mapping[str, str], values: Mapping[str, str]
) -> dict[str, str]:
    """Return what ``ARG`` declares: what is given, else its default, else what stands before ``FROM``."""
    found = {}
    for word in shlex.split(each.text):
        name, equals, default = word.partition("=")
        found[name] = given.get(name, substituted(default, values) if equals else inherited.get(name, ""))
    return found


def _pairs(each: Instruction, values: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for word in shlex.split(each.text.replace("\\$", "\\\\$")):
        name, equals, value = word.partition("=")
        if not equals:
            raise DockerfileError(each.line, f"{each.word} needs name=value")
        found[name] = substituted(value, values)
    return found


def _exec_form(each: Instruction, text: str) -> list[str] | None:
    if not text.startswith("["):
        return None
    try:
        words = json.loads(text)
    except ValueError as error:
        raise DockerfileError(each.line, f"{each.word} is no JSON list: {error}") from error
    return [str(word) for word in words]


def _command(each: Instruction) -> list[str]:
    return _exec_form(each, each.text) or [*SHELL, each.text]
