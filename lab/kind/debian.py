# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images made from Debian packages and single programs, where no registry can be reached.

Two root file systems come from debootstrap, once, and are imported as images: the base of the node
image, and the base of the product's Python images. Both are tagged by what went into them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..binaries import Say
from ..errors import LabError
from .docker import Docker, last_line
from .releases import DEBIAN

LOCAL = "inference-dra.local"
DISK_BYTES = 8 * 1024**3
# Documentation, translations and package lists: half the size of a minimal system.
NOT_IMPORTED = (
    *("usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale"),
    *("var/cache/apt", "var/lib/apt/lists", "var/log"),
)
NODE_PACKAGES = (
    *("systemd", "dbus", "kmod", "mount", "util-linux", "procps", "hostname"),
    *("iproute2", "iptables", "nftables", "conntrack", "ethtool", "socat", "curl", "ca-certificates"),
    *("runc", "containernetworking-plugins", "libseccomp2", "jq", "pigz", "busybox-static"),
)
PYTHON_PACKAGES = ("python3", "python3-pip", "python-is-python3", "ca-certificates")
PYTHON_VERSION = "3.11"  # bookworm's


@dataclass(frozen=True)
class RootFileSystem:
    """A minimal Debian with packages, and the image made of it."""

    name: str
    packages: tuple[str, ...]

    @property
    def reference(self) -> str:
        return f"{LOCAL}/{self.name}:{digest([DEBIAN, *self.packages])}"


NODE_BASE = RootFileSystem("debian-node", NODE_PACKAGES)
PYTHON_BASE = RootFileSystem("debian-python", PYTHON_PACKAGES)


def digest(parts: Iterable[str | bytes]) -> str:
    """Return twelve characters that stand for the parts; they become an image's tag."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode() if isinstance(part, str) else part)
        found.update(b"\0")
    return found.hexdigest()[:12]


def debootstrapped(docker: Docker, wanted: RootFileSystem, home: Path, say: Say) -> str:
    """Return the reference of the imported file system, making it where it is missing."""
    if docker.has_image(wanted.reference):
        return wanted.reference
    program = shutil.which("debootstrap", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None or os.geteuid() != 0:
        raise LabError(
            "No image registry can be reached, so the images are made from Debian packages, which needs root "
            f"and debootstrap; {'it is not installed' if os.geteuid() == 0 else 'this is not root'}. Install "
            "it (Debian: debootstrap), run as root, or let Docker reach a registry."
        )
    require_disk(home)
    say(f"{wanted.name}: Debian {DEBIAN} with {len(wanted.packages)} packages")
    # Not below the cache: a home directory may be mounted nodev or noexec.
    with tempfile.TemporaryDirectory(prefix="inference-dra-debian-") as scratch:
        root = Path(scratch) / "root"
        done = subprocess.run(
            [program, "--variant=minbase", f"--include={','.join(wanted.packages)}", DEBIAN, str(root)],
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise LabError(
                f"debootstrap of Debian {DEBIAN} failed: {last_line(done.stderr or done.stdout)} "
                "Check that a Debian mirror can be reached."
            )
        import_tree(docker, root, wanted.reference)
    return wanted.reference


def require_disk(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(home).free
    if free < DISK_BYTES:
        raise LabError(
            f"The images of a kind cluster need {DISK_BYTES >> 30} GiB below {home}, {free >> 30} GiB "
            "are free. Free some space or set DRA_LAB_CACHE to another disk."
        )


def import_tree(docker: Docker, root: Path, reference: str) -> None:
    """Import a directory as an image of one layer."""
    for name in NOT_IMPORTED:
        shutil.rmtree(root / name, ignore_errors=True)
        (root / name).mkdir(parents=True)
    with (
        docker.feed("import", "-", reference) as pipe,
        tarfile.open(fileobj=pipe, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        archive.add(root, arcname=".")


def import_program(docker: Docker, program: Path, reference: str, entrypoint: Sequence[str] = ()) -> None:
    """Make an image of one static program in /usr/local/bin."""
    changes = ["ENV PATH=/usr/local/bin"]
    if entrypoint:
        quoted = ", ".join(f'"{word}"' for word in entrypoint)
        changes.append(f"ENTRYPOINT [{quoted}]")
    flags = [word for change in changes for word in ("--change", change)]
    with (
        docker.feed("import", *flags, "-", reference) as pipe,
        tarfile.open(fileobj=pipe, mode="w|") as archive,
    ):
        entry = archive.gettarinfo(str(program), arcname=f"usr/local/bin/{program.name}")
        entry.mode, entry.uid, entry.gid, entry.uname, entry.gname = 0o755, 0, 0, "", ""
        with program.open("rb") as content:
            archive.addfile(entry, content)


def build(docker: Docker, context: Path, dockerfile: str, reference: str, **arguments: str) -> None:
    """Run ``docker build`` of a Dockerfile's text on a context directory."""
    flags = [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]
    with tempfile.NamedTemporaryFile("w", suffix=".Dockerfile") as file:
        file.write(dockerfile)
        file.flush()
        docker.run("build", "--quiet", *flags, "--tag", reference, "--file", file.name, str(context))


def read_tree(root: Path) -> list[bytes]:
    """Return names and contents of all files below a directory, in order, for ``digest``."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return [part for path in files for part in (str(path.relative_to(root)).encode(), path.read_bytes())]


def remove_older(docker: Docker, reference: str) -> None:
    """Remove what was built of the same image before, as far as no container uses it."""
    repository = reference.rpartition(":")[0]
    listed = docker.run("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", repository)
    for other in listed.splitlines():
        if other != reference:
            docker.run("image", "rm", "--force", other)
