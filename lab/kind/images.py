# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The product's own images for a cluster: built from the collection's files, tagged by their content.

The base is the Python image of Docker Hub where it can be pulled. Otherwise it is a Debian, with the
packages of all Dockerfiles beside it where they are installed, so that the same Dockerfiles build without
a network.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..binaries import Say, machine
from ..errors import LabError
from . import debian
from .docker import Docker, last_line

COLLECTION = Path(__file__).parents[2]
PYTHON_IMAGE = f"docker.io/library/python:{debian.PYTHON_VERSION}-slim"
REQUIREMENTS = ("urllib3>=2,<3", "PyYAML>=6,<7", "grpcio", "protobuf")
OFFLINE_BASE = """\
ARG DEBIAN
FROM ${DEBIAN}
COPY . /wheels/
ENV PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels
"""


@dataclass(frozen=True)
class Image:
    """One image: its Dockerfile in the collection, and the arguments it is built with."""

    name: str
    dockerfile: str
    arguments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Bases:
    """A Python to run on, and one that packages can be installed on; the same where there is a network."""

    bare: str
    with_packages: str

    def arguments(self, dockerfile: str) -> dict[str, str]:
        """Return the build arguments; a Dockerfile of one stage runs where it installs."""
        if "ARG PACKAGES_BASE" in dockerfile:
            return {"BASE": self.bare, "PACKAGES_BASE": self.with_packages}
        return {"BASE": self.with_packages}


IMAGES = (
    Image("image-configurator", "controllers/image_configurator/Dockerfile"),
    Image("standin-driver", "lab/standin_driver/Dockerfile"),
    Image("model-server-gpu", "lab/model_server/Dockerfile", {"BUILD": "cuda"}),
    Image("model-server-cpu", "lab/model_server/Dockerfile", {"BUILD": "cpu"}),
)


def references() -> dict[str, str]:
    """Return the reference of every image by name, as it is or will be built."""
    found = {}
    for image in IMAGES:
        text = (COLLECTION / image.dockerfile).read_text()
        content = [part for path in copied(text) for part in _read(path)]
        tag = debian.digest([text, *map(str, image.arguments.items()), *content])
        found[image.name] = f"{debian.LOCAL}/{image.name}:{tag}"
    return found


def copied(dockerfile: str) -> list[Path]:
    """Return the files and directories of the collection that a Dockerfile copies."""
    found = []
    for line in dockerfile.replace("\\\n", " ").splitlines():
        words = line.split()
        if words[:1] == ["COPY"] and not words[1].startswith("--from"):
            found += [path for word in words[1:-1] for path in sorted(COLLECTION.glob(word))]
    return found


def _read(path: Path) -> list[bytes]:
    return debian.read_tree(path) if path.is_dir() else [path.name.encode(), path.read_bytes()]


def ensure(docker: Docker, home: Path, wanted: Mapping[str, str], say: Say, *, pull: bool = True) -> None:
    """Have every image under its reference in ``wanted``, building what is missing."""
    missing = [image for image in IMAGES if not docker.has_image(wanted[image.name])]
    if missing:
        found = bases(docker, home, say, pull=pull)
        for image in missing:
            _build(docker, image, found, wanted[image.name], say)


def _build(docker: Docker, image: Image, bases: Bases, reference: str, say: Say) -> None:
    say(f"image: building {reference}")
    text = (COLLECTION / image.dockerfile).read_text()
    with tempfile.TemporaryDirectory() as scratch:
        # Only what is copied: a checkout's environments would be gigabytes for the daemon.
        for source in copied(text):
            target = Path(scratch) / source.relative_to(COLLECTION)
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copyfile(source, target)
        given = {**bases.arguments(text), **image.arguments}
        debian.build(docker, Path(scratch), text, reference, **given)
    debian.remove_older(docker, reference)


def bases(docker: Docker, home: Path, say: Say, *, pull: bool) -> Bases:
    """Return what the images are built on, making it where it can't be pulled and is missing."""
    if pull and docker.pull(PYTHON_IMAGE):
        return Bases(PYTHON_IMAGE, PYTHON_IMAGE)
    bare = debian.PYTHON_BASE.reference
    reference = f"{debian.LOCAL}/python:{debian.digest([debian.PYTHON_BASE.reference, *REQUIREMENTS])}"
    if docker.has_image(reference) and docker.has_image(bare):
        return Bases(bare, reference)
    say(f"image: {PYTHON_IMAGE} can't be pulled; building {reference}")
    bare = debian.debootstrapped(docker, debian.PYTHON_BASE, home, say)
    with tempfile.TemporaryDirectory() as scratch:
        _download(Path(scratch))
        debian.build(docker, Path(scratch), OFFLINE_BASE, reference, DEBIAN=bare)
    return Bases(bare, reference)


def _download(directory: Path) -> None:
    """Get the wheels of all Dockerfiles, for the base's Python and not for the one that runs this."""
    arch = {"amd64": "x86_64", "arm64": "aarch64"}[machine()[1]]
    libraries = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
    flags = ["--only-binary=:all:", f"--python-version={debian.PYTHON_VERSION}"]
    flags += [f"--platform={library}_{arch}" for library in libraries]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(directory), *flags, *REQUIREMENTS],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise LabError(
            f"The Python packages of the images could not be downloaded: {last_line(done.stderr)} Check that "
            "pip can reach its index."
        )
