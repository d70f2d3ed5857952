# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Kubernetes control plane on loopback: etcd, API server, controllers, scheduler, kwok.

kwokctl makes the certificates, the kubeconfig and the components' command lines, and starts them
once. From then on the lab keeps the processes itself: kwokctl takes a killed component for running
while its parent has not collected it, so its ``start`` waits for ever where ours repairs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import yaml

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import (
    Clock,
    Deadline,
    SystemClock,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.connection import ConnectionFailed
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    SERVICE_ACCOUNTS,
    Kubernetes,
    KubernetesError,
)

from .errors import LabError
from .hardware import stages
from .processes import Processes, Program
from .state import is_free

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok-controller")
READY_SECONDS = 60.0
ANSWER_SECONDS = 1.0
POLL_SECONDS = 0.1
CLUSTER = "lab"
PORT_FLAGS = {
    "apiserver": "--kube-apiserver-port",
    "etcd": "--etcd-port",
    "scheduler": "--kube-scheduler-port",
    "controller_manager": "--kube-controller-manager-port",
    "kwok": "--controller-port",
}
# kwok reads these as objects from the API, so that port-forward and logs follow the pods there are.
KWOK_CRDS = ("ClusterLogs", "Logs", "ClusterPortForward", "PortForward", "Stage")


class ControlPlane:
    """One control plane below ``directory``; binds to loopback only, needs neither root nor Docker.

    :param ports: by role, see ``lab.state.PORT_ROLES``.
    :param binaries: path of every program by name.
    :param scheduler_config: a KubeSchedulerConfiguration to run the scheduler with, for tests that
        need another ``bindingTimeout`` than Kubernetes' ten minutes.
    :param admin_token: a bearer token that makes its holder cluster admin, as a Google access token
        of the project's owner does on GKE. Empty: certificates only.
    :param feature_gates: gates of all components that are to differ from Kubernetes' defaults.
    """

    def __init__(
        self,
        directory: Path,
        ports: Mapping[str, int],
        binaries: Mapping[str, Path],
        scheduler_config: Mapping[str, object] | None = None,
        *,
        admin_token: str = "",
        feature_gates: Mapping[str, bool] | None = None,
    ) -> None:
        self.directory = directory
        self.ports = ports
        self.binaries = binaries
        self.scheduler_config = scheduler_config
        self.admin_token = admin_token
        self.feature_gates = feature_gates or {}
        self.processes = Processes(directory)
        self.kubeconfig = directory / "kubeconfig"

    @property
    def _workdir(self) -> Path:
        return self.directory / "kwok"

    @property
    def _cluster(self) -> Path:
        return self._workdir / "clusters" / CLUSTER

    @property
    def _configuration(self) -> Path:
        return self._cluster / "kwok.yaml"

    def up(self) -> None:
        """Start what is not running, make what does not exist; return when the API answers."""
        fresh = not (self._configuration.exists() and self.kubeconfig.exists())
        if fresh:
            self._create()
        clock = SystemClock()
        deadline = Deadline(clock, READY_SECONDS)
        while True:
            for program in self.programs():
                self.processes.start(program)
            if self._answers(clock):
                break
            if deadline.expired:
                raise LabError(
                    f"The control plane did not answer within {READY_SECONDS:.0f} s; its logs are in "
                    f"{self.processes.logs}. `dra-lab down` and `dra-lab up` start afresh."
                )
            clock.sleep(POLL_SECONDS)
        if fresh:
            # kwok knows no stage of its own once it takes them from the API.
            stages.install(self._api(clock), lab_plays=False)

    def restart(self, name: str, after_seconds: float) -> None:
        """End a component and have it, and all others, running again after so many seconds.

        kwok 0.8.0 does not learn of new PortForward objects once the API server was away, so it is
        begun anew with it.
        """
        self.processes.stop([name])
        SystemClock().sleep(after_seconds)
        # With the configuration there, this starts what is missing and nothing else.
        self.up()
        if name == "kube-apiserver":
            self.processes.stop(["kwok-controller"])
            self.up()

    def _api(self, clock: Clock) -> Kubernetes:
        return Kubernetes.connect({"kubeconfig": str(self.kubeconfig)}, clock)

    def _answers(self, clock: Clock) -> bool:
        """Return whether pods can be created: the API serves and the controllers made an account."""
        try:
            self._api(clock).within(Deadline(clock, ANSWER_SECONDS)).get(
                SERVICE_ACCOUNTS, "default", "default"
            )
        except (KubernetesError, ConnectionFailed):
            return False
        return True

    def programs(self) -> list[Program]:
        """Return the components with the command lines that kwokctl chose for them."""
        documents = yaml.safe_load_all(self._configuration.read_text())
        components = next(body["components"] for body in documents if body and "components" in body)
        return [
            Program(
                name=component["name"],
                argv=[component["binary"], *component["args"]],
                environment={entry["name"]: entry["value"] for entry in component.get("envs", [])},
            )
            for component in components
        ]

    def down(self) -> None:
        """End the components and remove every file of theirs; nothing to do where there is none."""
        # The API server before etcd: the other way round it spends its grace on etcd's absence.
        names = [name for name in self.processes.names() if name != "etcd"]
        self.processes.stop([name for name in names if name.startswith(("kube-", "kwok-"))])
        self.processes.stop(["etcd"])
        shutil.rmtree(self._workdir, ignore_errors=True)
        self.kubeconfig.unlink(missing_ok=True)

    def _create(self) -> None:
        self.down()
        busy = [f"{role} {port}" for role, port in self.ports.items() if not is_free(port)]
        if busy:
            raise LabError(
                f"Ports of the lab are in use by something else: {', '.join(busy)}. "
                "`dra-lab down` gives them back, `dra-lab up` then chooses others."
            )
        self._workdir.mkdir(parents=True)
        path = self._workdir / "path"
        path.mkdir()
        (path / "kubectl").symlink_to(self.binaries["kubectl"])
        command = [str(self.binaries["kwokctl"]), "create", "cluster", "--name", CLUSTER]
        command += ["--runtime", "binary", "--kubeconfig", str(self.kubeconfig)]
        command += ["--config", str(self._write_kwok_options())]
        for component in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"):
            command += [f"--{component}-binary", str(self.binaries[component])]
        command += ["--kwok-controller-binary", str(self.binaries["kwok"])]
        for role, flag in PORT_FLAGS.items():
            command += [flag, str(self.ports[role])]
        if self.scheduler_config:
            config = self._workdir / "scheduler.yaml"
            config.write_text(yaml.safe_dump(dict(self.scheduler_config)))
            command += ["--kube-scheduler-config", str(config)]
        environment = os.environ | {
            "KWOK_WORKDIR": str(self._workdir),
            "PATH": f"{path}{os.pathsep}{os.environ['PATH']}",
        }
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        self._adopt()
        if done.returncode != 0:
            last = "\n".join(done.stderr.strip().splitlines()[-3:])
            self.down()
            raise LabError(f"kwokctl could not create the control plane:\n{last}")

    def _write_kwok_options(self) -> Path:
        # There is one of each, and one that can't renew its lease while the API server restarts would end.
        patches = [
            {
                "name": name,
                "extraArgs": [
                    {"key": "leader-elect", "value": "false"},
                    # Twenty requests a second, their default, would be all that a thousand nodes wait for.
                    {"key": "kube-api-qps", "value": "1000"},
                    {"key": "kube-api-burst", "value": "2000"},
                ],
            }
            for name in ("kube-controller-manager", "kube-scheduler")
        ]
        if self.admin_token:
            tokens = self._workdir / "tokens.csv"
            tokens.touch(mode=0o600)
            tokens.write_text(f'{self.admin_token},owner,owner,"system:masters"\n')
            argument = {"key": "token-auth-file", "value": str(tokens)}
            patches.append({"name": "kube-apiserver", "extraArgs": [argument]})
        options: dict[str, object] = {
            "kind": "KwokctlConfiguration",
            "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
            "options": {
                # By default kwokctl listens on all addresses, etcd without authentication included.
                "bindAddress": "127.0.0.1",
                "etcdPeerPort": self.ports["etcd_peer"],
                "enableCRDs": list(KWOK_CRDS),
                "kubeFeatureGates": ",".join(
                    f"{name}={str(on).lower()}" for name, on in self.feature_gates.items()
                ),
            },
            "componentsPatches": patches,
        }
        path = self._workdir / "kwokctl.yaml"
        path.write_text(yaml.safe_dump(options))
        return path

    def _adopt(self) -> None:
        """Take over the processes that kwokctl has started."""
        for path in (self._cluster / "pids").glob("*.pid"):
            self.processes.adopt(path.stem, int(path.read_text()))
