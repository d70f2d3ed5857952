# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``container_image`` does: name the content, ask the registry for it, build and push what it lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, Protocol
from urllib.parse import urlsplit

from ansible_collections.inference.dra.plugins.module_utils._core.architectures import platform_problems
from ansible_collections.inference.dra.plugins.module_utils._core.dockerfiles import (
    DockerfileError,
    assemble,
    base_images,
)
from ansible_collections.inference.dra.plugins.module_utils._core.image_content import content_tag
from ansible_collections.inference.dra.plugins.module_utils._core.image_references import (
    InvalidReference,
    Reference,
    is_google,
    parse,
    parse_name,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, Deadline, SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.cloud_build import CloudBuild, Place
from ansible_collections.inference.dra.plugins.module_utils._ports.google import Google
from ansible_collections.inference.dra.plugins.module_utils._ports.image_append import (
    AppendEngine,
    BaseUnavailable,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.image_context import (
    Context,
    ContextUnreadable,
    read_context,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.image_engines import (
    BuildFailed,
    EngineMissing,
    LocalEngine,
    RunProgram,
    run_program,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.registry import (
    Http,
    Registry,
    RegistryError,
    direct,
)

from .google import google_failures
from .result import Module, ModuleFailure, run

TOKEN_USER = "oauth2accesstoken"  # noqa: S105 - the user whose password is a Google access token
ENGINE_ADVICE = (
    "install and start it where the module runs, or choose another engine: cloud_build takes no program "
    "here, append takes a Dockerfile without RUN"
)
PUSH_ADVICE = {
    "denied": "give username and password, or for Artifact Registry credentials with "
    "roles/artifactregistry.writer (auth_kind and what it needs, or `gcloud auth application-default login`)",
    "unreachable": "check the registry's name, and the network, proxy and certificates where the module runs",
    "missing": "create the repository first, for example with artifact_registry_repository",
    "refused": "see what the registry says",
}
PUSH_REASONS = {
    "denied": "PushDenied",
    "unreachable": "RegistryUnreachable",
    "missing": "RepositoryMissing",
    "refused": "RegistryRefused",
}
UNAVAILABLE = (
    "not found",
    "manifest unknown",
    "manifest for",
    "pull access denied",
    "failed to resolve",
    "no such host",
    "toomanyrequests",
    "i/o timeout",
    "connection refused",
    "tls handshake",
)


class Engine(Protocol):
    """What is needed of an engine."""

    def build_and_push(
        self, context: Context, image: Reference, build_args: Mapping[str, str], platform: str
    ) -> None: ...


class Outside:
    """What the module reaches: registries, Google and programs; tests put their own in its place."""

    def __init__(
        self,
        params: Mapping[str, Any],
        clock: Clock,
        connect: Callable[[str], Http] = direct,
        run_program: RunProgram = run_program,
    ) -> None:
        self.params = params
        self.clock = clock
        self.connect = connect
        self.run_program = run_program
        self.registry = Registry(self.login, connect, clock)
        self._google: Google | None = None

    def google(self) -> Google:
        """Return the project, that of the image's name where no other is given."""
        if self._google is None:
            name = self.params["name"].split("/")
            project = self.params.get("project") or (
                name[1] if is_google(name[0]) and len(name) > 1 else None
            )
            self._google = Google.connect({**self.params, "project": project}, self.clock)
        return self._google

    def login(self, host: str) -> tuple[str, str] | None:
        """Return user and password for a registry, ``None`` where none are known."""
        if self.params.get("username") and host == self.params["name"].partition("/")[0]:
            return self.params["username"], self.params.get("password") or ""
        if is_google(host):
            token = self.google().token()
            return (TOKEN_USER, token) if token else None
        return None

    def engine(self, image: Reference, deadline: Deadline, progress: Callable[[str], None]) -> Engine:
        """Return the engine that was asked for, and that works."""
        kind = self.params["engine"]
        if kind == "append":
            return AppendEngine(self.registry, progress)
        if kind == "cloud_build":
            place = Place(
                **{key: value for key, value in (self.params["cloud_build"] or {}).items() if value}
            )
            return CloudBuild(self.google(), place, deadline, progress, self.connect)
        local = LocalEngine(kind, deadline.remaining, self.login(image.host), self.run_program)
        local.require()
        return local


def run_container_image(module: Module) -> NoReturn:
    """Do the module's work and exit with its result or its one failure."""

    def work(module: Module) -> Mapping[str, Any]:
        outside = Outside(module.params, SystemClock())
        return container_image(module, outside, getattr(module, "log", lambda _text: None))

    run(module, work)


def container_image(module: Module, outside: Outside, progress: Callable[[str], None]) -> dict[str, Any]:
    """Return the result of the module ``container_image``."""
    params = module.params
    deadline = Deadline(outside.clock, params["timeout_seconds"])
    with failures(params["name"], params["engine"]):
        wanted = _wanted(params)
        found = outside.registry.digest(wanted.image)
        changed = not found
        if changed and not module.check_mode:
            engine = outside.engine(wanted.image, deadline, progress)
            try:
                engine.build_and_push(wanted.context, wanted.image, wanted.build_args, params["platform"])
            except BuildFailed as error:
                base = _base_at_fault(error.lines, wanted.bases)
                if base and not error.denied:
                    raise BaseUnavailable(base, str(error), error.lines) from error
                raise
            found = outside.registry.digest(wanted.image)
            if not found:
                raise RegistryError(
                    f"looking for {wanted.image} after the push", "it is not there", "refused"
                )
    before = {} if changed else {"reference": _pinned(wanted.image, found)}
    after = {"reference": _pinned(wanted.image, found)}
    return {
        "changed": changed,
        "name": wanted.image.name,
        "tag": wanted.image.tag,
        "digest": found,
        "reference": after["reference"],
        "bases": wanted.bases,
        "actions": [f"build {wanted.image} with {params['engine']} and push it"] if changed else [],
        "before": before,
        "after": after,
        "diff": {"before": before, "after": after},
        "notes": [
            f"base image {base} may be another one tomorrow, and the tag would not tell; name a version"
            for base in wanted.bases
            if not parse(base).is_pinned
        ],
        "waited_seconds": round(deadline.elapsed, 1),
    }


class Wanted:
    """An image as it is wanted: its content, and the name that follows from it."""

    def __init__(self, params: Mapping[str, Any], context: Context) -> None:
        name = parse_name(params["name"])
        self.context = context
        self.build_args = {key: str(value) for key, value in (params["build_args"] or {}).items()}
        self.bases = base_images(context.dockerfile, self.build_args)
        for base in self.bases:
            parse(base)
        tag = content_tag(
            context.entries, context.dockerfile, self.build_args, self.bases, params["platform"]
        )
        self.image = Reference(name.host, name.path, tag)


def _wanted(params: Mapping[str, Any]) -> Wanted:
    """Return what is wanted; everything that can be refused without a request is refused here."""
    parse_name(params["name"])
    problems = platform_problems(params["platform"], params["machine_types"] or ())
    if problems:
        raise ModuleFailure(
            f"Building {params['name']}: {'; '.join(problems)}; build it for the machines it runs on.",
            "PlatformMismatch",
        )
    wanted = Wanted(params, read_context(Path(params["context"]).expanduser(), params["dockerfile"]))
    if params["engine"] == "append":
        assemble(wanted.context.dockerfile, wanted.build_args, {}, wanted.context.paths)
    return wanted


def _pinned(image: Reference, digest: str) -> str:
    return f"{image.name}@{digest}" if digest else str(image)


@contextmanager
def failures(name: str, engine: str) -> Iterator[None]:
    """Turn every expected error into a ModuleFailure: attempted, on what, observed, what to do."""
    building = f"Building {name} with {engine}"
    try:
        with google_failures():
            yield
    except (InvalidReference, DockerfileError) as error:
        raise ModuleFailure(f"{building}: {error}.", "InvalidInput") from error
    except ContextUnreadable as error:
        raise ModuleFailure(
            f"{building}: {error}; give the directory with context and the file in it with dockerfile.",
            "ContextUnreadable",
        ) from error
    except EngineMissing as error:
        raise ModuleFailure(f"{building}: {error}; {ENGINE_ADVICE}.", "EngineMissing") from error
    except BaseUnavailable as error:
        raise ModuleFailure(
            f"{building}: {error}; check its name and tag, log in to its registry, or name a mirror of it.",
            "BaseUnavailable",
            output=error.lines,
        ) from error
    except BuildFailed as error:
        reason = "PushDenied" if error.denied else "BuildFailed"
        advice = PUSH_ADVICE["denied"] if error.denied else "output has more, a build by hand all of it"
        raise ModuleFailure(f"{building}: {error}; {advice}.", reason, output=error.lines) from error
    except RegistryError as error:
        raise ModuleFailure(
            f"{building}: {error}; {PUSH_ADVICE[error.kind]}.", PUSH_REASONS[error.kind]
        ) from error


def _base_at_fault(lines: Iterable[str], bases: Iterable[str]) -> str:
    """Return the base image that a program says it could not get, empty where it says no such thing."""
    for line in lines:
        if any(text in line.lower() for text in UNAVAILABLE):
            for base in map(parse, bases):
                hosts = (base.host, urlsplit(base.api).netloc)
                if base.path in line or any(f"//{host}/" in line for host in hosts):
                    return str(base)
    return ""
