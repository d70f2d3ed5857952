# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One kind cluster's life: made or found, brought into shape, and gone without a trace.

What a cluster is made of is written down below the cache, so that a cluster of the same name that
somebody else made is never touched.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, Deadline, SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.connection import ConnectionFailed
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    NODES,
    Kubernetes,
    KubernetesError,
)

from ..autoscaler import crd
from ..binaries import Binaries, Say, cache_home
from ..errors import LabError
from . import host, network, node_image
from .docker import Daemon, Docker, connect, find, last_line, obstacle
from .workers import Worker, is_ready, kind_configuration, node_names, node_patch

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?")
KIND_LABEL = "io.x-k8s.kind.cluster"
KIND_NETWORK = "kind"
KIND_OLDEST = (0, 27)
"""The first kind whose node images have the containerd 2 that kubelet 1.36 needs."""
READY_SECONDS = 300.0


def home() -> Path:
    """Return the directory with Docker's data, the images' parts and the clusters' records."""
    return cache_home() / "kind"


@dataclass
class Record:
    """What was made: the containers by name, the labels each worker got, whether the network is ours."""

    containers: dict[str, str] = field(default_factory=dict)
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    images: list[str] = field(default_factory=list)
    made_network: bool = False


class Clusters:
    """The kind clusters of this machine that were made here."""

    def __init__(self, directory: Path, say: Say, clock: Clock | None = None) -> None:
        self.directory = directory
        self.say = say
        self.clock = clock or SystemClock()
        self._records = directory / "clusters"

    def obstacle(self) -> str:
        """Return why no cluster can be made on this machine, empty where one can.

        Whether a private daemon can run, only starting it tells; it is ended at once.
        """
        reason = obstacle(self.directory)
        if reason or find(self.directory):
            return reason
        try:
            with self.docker():
                return ""
        except LabError as error:
            return str(error)

    # Looking

    def kubeconfig(self, name: str) -> Path:
        return self._records / name / "kubeconfig"

    def programs(self, name: str) -> Path:
        """Return the directory with kubectl, helm and kind, for PATH."""
        return self._records / name / "bin"

    def record(self, name: str) -> Record | None:
        try:
            return Record(**json.loads((self._records / name / "cluster.json").read_text()))
        except FileNotFoundError:
            return None

    def names(self) -> list[str]:
        return sorted(path.parent.name for path in self._records.glob("*/cluster.json"))

    def state(self, name: str, count: int) -> str:
        """Return ``absent``, ``present`` or, for a cluster that is ours but not as wanted, why.

        :raises LabError: where a cluster of that name was made by somebody else.
        """
        require_name(name)
        docker = find(self.directory)
        there = containers(docker, name) if docker else {}
        record = self.record(name)
        if there and (record is None or not set(there.items()) <= set(record.containers.items())):
            raise LabError(
                f"A kind cluster named {name} exists that was not made here. Choose another name, or remove "
                f"it with `kind delete cluster --name {name}`."
            )
        if record is None:
            return "absent"
        stopped = [each for each in record.containers if each not in running(docker, name)]
        if stopped:
            return f"{', '.join(sorted(stopped))} is not running"
        workers = len(record.containers) - 1
        return "present" if workers == count else f"it has {workers} workers instead of {count}"

    # Changing

    def up(self, name: str, wanted: Sequence[Worker]) -> list[str]:
        """Have the cluster with these workers; return what was done, nothing where nothing was to do."""
        with self._lock():
            state = self.state(name, len(wanted))
            done = []
            if state not in ("absent", "present"):
                raise LabError(
                    f"The kind cluster {name} can't be changed into what is wanted: {state}. Nodes of kind "
                    "can't be added or repaired one by one; remove the cluster (state absent) and begin anew."
                )
            if state == "absent":
                others = [self._required(other).containers for other in self.names()]
                host.require_inotify(len(wanted) + 1 + sum(map(len, others)))
                host.remember(self.directory / "host.json")
                try:
                    self._create(name, len(wanted))
                except BaseException:
                    self._forget(name)
                    raise
                done.append(f"created {name} with {len(wanted)} workers")
            return done + self._shape(name, wanted)

    def _create(self, name: str, count: int) -> None:
        binaries = Binaries.from_environment(self.say)
        docker = connect(self.directory, self.say)
        tools = node_image.tools(binaries)
        require_kind(tools["kind"])
        image = node_image.ensure(docker, binaries, self.directory, self.say)
        directory = self._records / name
        directory.mkdir(parents=True, exist_ok=True)
        record = Record(made_network=KIND_NETWORK not in networks(docker))
        self._write(name, record)
        lay_programs(self.programs(name), tools)
        configuration = directory / "kind.yaml"
        configuration.write_text(kind_configuration(name, count, default_network=image.pulled))
        self.say(f"kind: creating {name} with {count} workers")
        flags = ["--name", name, "--image", image.reference, "--config", str(configuration)]
        flags += ["--kubeconfig", str(self.kubeconfig(name))]
        run_kind(tools["kind"], docker, "create", "cluster", *flags)
        record.containers = containers(docker, name)
        self._write(name, record)
        self._wait_ready(name, docker, own_network=not image.pulled)
        crd.install(self.api(name))

    def _wait_ready(self, name: str, docker: Docker, *, own_network: bool) -> None:
        """Wait until every node is Ready, connecting the nodes as soon as all have a pod range."""
        record = self.record(name)
        count = len(record.containers) if record else 0
        deadline = Deadline(self.clock, READY_SECONDS)
        api, connected = self.api(name), not own_network
        while True:
            nodes = [*api.list(NODES)]
            found = network.addresses(nodes)
            if not connected and len(found) == count:
                network.connect(docker, found)
                connected = True
            waiting = [node["metadata"]["name"] for node in nodes if not is_ready(node)]
            if len(nodes) == count and not waiting:
                return
            if deadline.expired:
                raise LabError(
                    f"Of the nodes of kind cluster {name}, {', '.join(waiting) or 'some'} did not become "
                    f"Ready within {READY_SECONDS:.0f} s; see `docker exec NODE journalctl -u kubelet`."
                )
            self.clock.sleep(0.3)

    def _shape(self, name: str, wanted: Sequence[Worker]) -> list[str]:
        """Label and taint the workers; return the nodes that had to be changed."""
        api = self.api(name)
        patches = self._patches(name, wanted)
        for node_name, patch in patches.items():
            api.merge_patch(NODES, node_name, patch)
        record = self._required(name)
        labels = {
            node_name: dict(worker.labels)
            for node_name, worker in zip(node_names(name, len(wanted)), wanted, strict=True)
        }
        if labels != record.labels:
            record.labels = labels
            self._write(name, record)
        return [f"{node_name} got its pool's labels and taints" for node_name in patches]

    def differences(self, name: str, wanted: Sequence[Worker]) -> list[str]:
        """Return the workers whose labels or taints would be changed."""
        return [f"change labels or taints of {node_name}" for node_name in self._patches(name, wanted)]

    def _patches(self, name: str, wanted: Sequence[Worker]) -> dict[str, dict[str, Any]]:
        record, api = self._required(name), self.api(name)
        patches = {
            node_name: node_patch(api.get(NODES, node_name), worker, record.labels.get(node_name, {}))
            for node_name, worker in zip(node_names(name, len(wanted)), wanted, strict=True)
        }
        return {node_name: patch for node_name, patch in patches.items() if patch}

    def _required(self, name: str) -> Record:
        record = self.record(name)
        if record is None:
            raise LabError(f"There is no kind cluster {name} that was made here; make it first.")
        return record

    def load(self, name: str, images: Sequence[str]) -> list[str]:
        """Have images of Docker in every node; return those that were not there yet."""
        record, docker = self._required(name), find(self.directory)
        if docker is None:
            raise LabError(
                f"Images can't be loaded into the kind cluster {name}: its Docker does not answer."
            )
        new = [image for image in images if image not in record.images]
        if new:
            self.say(f"kind: loading {', '.join(new)} into {len(record.containers)} nodes")
            node_image.load(docker, new, sorted(record.containers))
            record.images += new
            self._write(name, record)
        return new

    def down(self, name: str) -> list[str]:
        """Remove the cluster and everything that was only there for it; return what was done."""
        with self._lock():
            if self.record(name) is not None:
                return self._forget(name)
            self.state(name, 0)  # refuses somebody else's
            # A private daemon without a cluster is what an interrupted run left.
            return [] if self.names() else self._leave(find(self.directory), made_network=False)

    @contextlib.contextmanager
    def docker(self) -> Iterator[Docker]:
        """Give a Docker for images alone; what that needed on the machine is undone afterwards."""
        with self._lock():
            host.remember(self.directory / "host.json")
            try:
                yield connect(self.directory, self.say)
            finally:
                if not self.names():
                    self._leave(find(self.directory), made_network=False)

    def _forget(self, name: str) -> list[str]:
        docker, record, done = find(self.directory), self.record(name), []
        if record and docker is None:
            # The private daemon was killed, or the machine restarted: only a daemon removes its containers.
            docker = connect(self.directory, self.say)
        if docker and record:
            there = containers(docker, name)
            ours = sorted(each for each in there if not record.containers or each in record.containers)
            if ours:
                docker.run("rm", "--force", "--volumes", *ours)
                done += [f"removed {each}" for each in ours]
        shutil.rmtree(self._records / name, ignore_errors=True)
        if not self.names():
            done += self._leave(docker, made_network=record is not None and record.made_network)
        return done

    def _leave(self, docker: Docker | None, *, made_network: bool) -> list[str]:
        """Undo what the first cluster needed, now that the last one is gone."""
        done = []
        if docker and made_network and KIND_NETWORK in networks(docker):
            docker.run("network", "rm", KIND_NETWORK)
            done.append(f"removed network {KIND_NETWORK}")
        daemon = Daemon(self.directory, self.clock)
        ours = daemon.running
        if daemon.stop():
            done.append("stopped the private dockerd")
        return done + host.put_back(self.directory / "host.json", daemon_was_ours=ours)

    def leftovers(self, name: str) -> list[str]:
        """Return what is still there of a cluster: containers, its record, a private daemon without use."""
        docker = find(self.directory)
        left = sorted(containers(docker, name)) if docker else []
        if self.record(name) is not None:
            left.append(str(self._records / name))
        if not self.names() and Daemon(self.directory).running:
            left.append("private dockerd")
        return left

    def api(self, name: str) -> Kubernetes:
        return Kubernetes.connect({"kubeconfig": str(self.kubeconfig(name))}, self.clock)

    def reachable(self, name: str) -> bool:
        try:
            return bool([*self.api(name).within(Deadline(self.clock, 5)).list(NODES)])
        except (KubernetesError, ConnectionFailed):
            return False

    def _write(self, name: str, record: Record) -> None:
        path = self._records / name / "cluster.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(vars(record)))

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / "lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def lay_programs(directory: Path, programs: Mapping[str, Path]) -> None:
    directory.mkdir(exist_ok=True)
    for name, program in programs.items():
        link = directory / name
        link.unlink(missing_ok=True)
        link.symlink_to(program)


def require_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise LabError(
            f"{name!r} can't be the name of a kind cluster: it takes up to 32 lower-case letters, digits and "
            "dashes."
        )


def require_kind(program: Path) -> None:
    """Refuse a kind whose node images are too old for the Kubernetes of this collection."""
    done = subprocess.run([str(program), "version", "--quiet"], check=False, capture_output=True, text=True)
    found = re.search(r"(\d+)\.(\d+)", done.stdout)
    if found is None or (int(found[1]), int(found[2])) < KIND_OLDEST:
        wanted = ".".join(map(str, KIND_OLDEST))
        raise LabError(
            f"{program} is kind {done.stdout.strip() or 'of unknown version'}; {wanted} or newer is needed. "
            "Update it, or take it out of DRA_LAB_BIN."
        )


def run_kind(program: Path, docker: Docker, *arguments: str) -> None:
    environment: Mapping[str, str] = {"KIND_EXPERIMENTAL_PROVIDER": "docker", **docker.environment}
    done = subprocess.run(
        [str(program), *arguments],
        check=False,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise LabError(f"`kind {' '.join(arguments[:2])}` failed: {said_by_kind(done.stderr)}")


def said_by_kind(text: str) -> str:
    """Return kind's error, and the last line of the program inside a node that it is about."""
    found = re.search(r"^ERROR: (.*)", text, re.MULTILINE)
    last = last_line(text)
    return f"{found[1]}: {last}" if found and found[1] not in last else last


def containers(docker: Docker | None, name: str) -> dict[str, str]:
    """Return the ids of a cluster's containers by name."""
    return _listed(docker, name, "--all")


def running(docker: Docker | None, name: str) -> dict[str, str]:
    return _listed(docker, name)


def _listed(docker: Docker | None, name: str, *flags: str) -> dict[str, str]:
    if docker is None:
        return {}
    shape = ("--no-trunc", "--filter", f"label={KIND_LABEL}={name}", "--format", "{{.Names}} {{.ID}}")
    lines = docker.run("ps", *flags, *shape).splitlines()
    return dict(line.split() for line in lines)


def networks(docker: Docker) -> list[str]:
    return docker.run("network", "ls", "--format", "{{.Name}}").split()
