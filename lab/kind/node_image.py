# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The image of a node: ``kindest/node`` where it can be pulled, otherwise built from packages and programs.

A built image holds what kind's own holds: Debian with systemd, containerd, kubelet and kubeadm, and in
containerd's store the images that kubeadm starts. Its tag is a digest of everything that went into it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, Deadline, SystemClock

from ..binaries import Binaries, Say, find_go, machine
from ..errors import LabError
from ..releases import KUBERNETES, Binary
from . import debian
from .docker import Docker
from .images import bases
from .releases import (
    BUILT_NODE_IMAGE,
    COREDNS,
    ETCD_TAG,
    KIND,
    NODE_IMAGE,
    node_catalogue,
    tool_catalogue,
)

FILES = Path(__file__).parent / "files"
REGISTRY = "registry.k8s.io"
CONTAINERD_SECONDS = 120.0
IN_USR_BIN = ("kubelet", "kubeadm", "kubectl")
IN_USR_LOCAL_BIN = ("containerd", "ctr", "containerd-shim-runc-v2", "crictl")
IMPORT = (
    *("ctr", "--namespace", "k8s.io", "images", "import"),
    *("--all-platforms", "--no-unpack", "--digests", "-"),
)
SANDBOX = re.compile(r'sandbox_image = "([^"]+)"')


@dataclass(frozen=True)
class NodeImage:
    """The image of the nodes.

    :param pulled: an image of the kind project, with its own network plugin; else it is built.
    """

    reference: str
    pulled: bool


def tools(binaries: Binaries) -> dict[str, Path]:
    """Return kind, kubectl and helm, getting what is missing."""
    return _programs(binaries, tool_catalogue(*machine()))


def ensure(docker: Docker, binaries: Binaries, home: Path, say: Say) -> NodeImage:
    """Return the node image, pulling or building what is missing; say which it is."""
    if binaries.mirror != "off" and docker.pull(NODE_IMAGE):
        say(f"node image: {NODE_IMAGE}")
        return NodeImage(NODE_IMAGE, pulled=True)
    reference = f"{BUILT_NODE_IMAGE}:v{KUBERNETES}-{_content(binaries)}"
    if not docker.has_image(reference):
        say(f"node image: {NODE_IMAGE} can't be pulled; building {reference}")
        debian.require_disk(home)
        with ThreadPoolExecutor(max_workers=1) as aside:
            # One waits for a Debian mirror, the other for the compiler.
            base = aside.submit(debian.debootstrapped, docker, debian.NODE_BASE, home, say)
            # The next to be asked for; what fails here fails again then, and is said then.
            aside.submit(bases, docker, home, say, pull=binaries.mirror != "off")
            programs = _programs(binaries, node_catalogue(*machine()))
            _build(docker, programs, base.result(), home, reference, say=say)
        debian.remove_older(docker, reference)
    say(f"node image: {reference}, built here")
    return NodeImage(reference, pulled=False)


def _programs(binaries: Binaries, catalogue: tuple[Binary, ...]) -> dict[str, Path]:
    wanted = Binaries(binaries.cache, binaries.directory, binaries.mirror, binaries.say)
    wanted.catalogue = catalogue
    return wanted.ensure()


def _content(binaries: Binaries) -> str:
    parts: list[str | bytes] = [debian.NODE_BASE.reference, KIND, COREDNS, ETCD_TAG]
    for program in node_catalogue(*machine()):
        path = binaries.find(program)
        changed = str(path.stat().st_size) if path and path != binaries.cached(program) else ""
        parts += [program.name, program.version, changed]
    return debian.digest([*parts, *debian.read_tree(FILES)])


def _build(
    docker: Docker, programs: Mapping[str, Path], base: str, home: Path, reference: str, *, say: Say
) -> None:
    kind_files = _kind_files(home)
    say("node image: Kubernetes, containerd and kind's files")
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        root = Path(scratch)
        _lay(root, programs, kind_files)
        stem = f"{BUILT_NODE_IMAGE}:unloaded"
        debian.build(docker, root, (FILES / "node.Dockerfile").read_text(), stem, DEBIAN=base)
    say("node image: the images that kubeadm starts")
    config = (kind_files / "etc/containerd/config.toml").read_text()
    inside = _component_images(docker, programs, sandbox_image(config), base)
    _preload(docker, stem, inside, reference)
    docker.run("image", "rm", "--force", *inside, stem)


def sandbox_image(containerd_config: str) -> str:
    """Return the pause image that kind's containerd configuration names."""
    found = SANDBOX.search(containerd_config)
    if found is None:
        raise LabError(
            f"kind {KIND}'s containerd configuration names no sandbox_image; its layout has changed."
        )
    return found[1]


def _kind_files(home: Path) -> Path:
    """Return kind's files for nodes (images/base/files), out of its Go module."""
    go = find_go()
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        (Path(scratch) / "go.mod").write_text("module inference.dra/lab/kind\n")
        done = subprocess.run(
            [go, "mod", "download", "-json", f"sigs.k8s.io/kind@v{KIND}"],
            check=False,
            cwd=scratch,
            env=os.environ | {"GOFLAGS": "-mod=mod", "GOWORK": "off"},
            capture_output=True,
            text=True,
        )
    found = re.search(r'"Dir": "([^"]+)"', done.stdout)
    if found is None:
        raise LabError(
            f"The source of kind {KIND} could not be had from the Go module proxy: {done.stdout.strip()} "
            "Check that GOPROXY can be reached."
        )
    return Path(found[1]) / "images/base/files"


def _lay(root: Path, programs: Mapping[str, Path], kind_files: Path) -> None:
    """Lay what is copied over the Debian: kind's files with their modes, programs, the start script."""
    for source in (path for path in kind_files.rglob("*") if path.is_file()):
        target = root / source.relative_to(kind_files)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o755 if "bin" in target.parent.name else 0o644)
    placed = [
        *((programs[name], f"usr/bin/{name}") for name in IN_USR_BIN),
        *((programs[name], f"usr/local/bin/{name}") for name in IN_USR_LOCAL_BIN),
        (FILES / "start-init", "usr/local/sbin/start-init"),
    ]
    for program, place in placed:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(program, root / place)
        (root / place).chmod(0o755)
    (root / "kind/version").write_text(f"v{KUBERNETES}")


def _component_images(docker: Docker, programs: Mapping[str, Path], pause: str, base: str) -> list[str]:
    """Make the images that kubeadm's manifests name; return their references."""
    made = {
        f"{REGISTRY}/{name}:v{KUBERNETES}": (name, ())
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    }
    made[f"{REGISTRY}/etcd:{ETCD_TAG}"] = ("etcd", ())
    made[f"{REGISTRY}/coredns/coredns:v{COREDNS}"] = ("coredns", ("/usr/local/bin/coredns",))  # type: ignore[assignment]
    for reference, (name, entrypoint) in made.items():
        debian.import_program(docker, programs[name], reference, entrypoint)
    proxy = f"{REGISTRY}/kube-proxy:v{KUBERNETES}"
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(programs["kube-proxy"], scratch)
        debian.build(docker, Path(scratch), (FILES / "kube-proxy.Dockerfile").read_text(), proxy, DEBIAN=base)
        dockerfile = (FILES / "pause.Dockerfile").read_text()
        debian.build(docker, Path(scratch), dockerfile, pause, DEBIAN=base)
    return [*made, proxy, pause]


def _preload(
    docker: Docker, stem: str, images: list[str], reference: str, clock: Clock | None = None
) -> None:
    """Put images into the containerd store inside the node image, as kind's own build does."""
    clock = clock or SystemClock()
    sleep = ("--entrypoint", "sleep", "--security-opt", "seccomp=unconfined", "--network", "none")
    container = docker.run("run", "--detach", *sleep, stem, "infinity")
    try:
        docker.run("exec", "--detach", container, "containerd")
        deadline = Deadline(clock, CONTAINERD_SECONDS)
        while not _containerd_answers(docker, container):
            if deadline.expired:
                raise LabError(f"containerd did not start inside {stem} within {CONTAINERD_SECONDS:.0f} s.")
            clock.sleep(0.2)
        load(docker, images, [container])
        docker.run("exec", container, "sh", "-c", "kill $(pidof containerd); sleep 1; rm -rf /run/containerd")
        entrypoint = 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/usr/local/sbin/start-init"]'
        docker.run("commit", "--change", entrypoint, "--change", "CMD []", container, reference)
    finally:
        docker.run("rm", "--force", container)


def _containerd_answers(docker: Docker, container: str) -> bool:
    try:
        docker.run("exec", container, "ctr", "version")
    except LabError:
        return False
    return True


def load(docker: Docker, images: Sequence[str], containers: Sequence[str]) -> None:
    """Copy images from Docker into the containerd of node containers, one stream for all of them."""
    with contextlib.ExitStack() as stack:
        pipes = [
            stack.enter_context(docker.feed("exec", "--interactive", name, *IMPORT)) for name in containers
        ]
        with docker.save(images) as archive:
            while chunk := archive.read(1 << 20):
                for pipe in pipes:
                    pipe.write(chunk)
