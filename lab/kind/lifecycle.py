# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role asks for: a cluster with its images, or none; in check mode only what would be done."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..binaries import Binaries, Say
from ..errors import LabError
from . import images
from .cluster import Clusters, home
from .docker import connect, find
from .workers import Worker, workers

Result = dict[str, Any]


class Lifecycle:
    """One named cluster.

    :param check: whether to say what would be done instead of doing it.
    """

    def __init__(self, say: Say, name: str, *, check: bool = False) -> None:
        self._say = say
        self._name = name
        self._check = check
        self._clusters = Clusters(home(), say)

    def present(self, plan: Mapping[str, Any], kubeconfig: str | None) -> Result:
        """Have the cluster, its workers as the plan's pools want them, and the product's images in it."""
        wanted, needed = workers(plan), images.references()
        ways: Result = {
            "kubeconfig": kubeconfig or str(self._clusters.kubeconfig(self._name)),
            "programs": str(self._clusters.programs(self._name)),
            "images": needed,
        }
        if self._check:
            actions = self._would(wanted, needed, kubeconfig)
            there = self._clusters.record(self._name) is not None
            ways["docker"] = self._docker()
            return {"changed": bool(actions), "actions": actions, "running": there, **ways}
        actions = self._clusters.up(self._name, wanted)
        ways["docker"] = self._docker()
        self._build(needed)
        loaded = self._clusters.load(self._name, list(needed.values()))
        actions += [f"loaded {reference}" for reference in loaded]
        if kubeconfig and self._write(Path(kubeconfig)):
            actions.append(f"wrote {kubeconfig}")
        return {"changed": bool(actions), "actions": actions, "running": True, **ways}

    def _docker(self) -> dict[str, str]:
        docker = find(home())
        return dict(docker.environment) if docker else {}

    def _build(self, needed: Mapping[str, str]) -> None:
        binaries = Binaries.from_environment(self._say)
        docker = connect(home(), self._say)
        images.ensure(docker, home(), needed, self._say, pull=binaries.mirror != "off")

    def _would(
        self, wanted: Sequence[Worker], needed: Mapping[str, str], kubeconfig: str | None
    ) -> list[str]:
        state = self._clusters.state(self._name, len(wanted))
        if state == "absent":
            return [f"create {self._name} with {len(wanted)} workers"]
        actions = self._clusters.differences(self._name, wanted) if state == "present" else [f"fail: {state}"]
        record = self._clusters.record(self._name)
        here = record.images if record else []
        actions += [f"load {each}" for each in needed.values() if each not in here]
        if kubeconfig and self._differs(Path(kubeconfig)):
            actions.append(f"write {kubeconfig}")
        return actions

    def _differs(self, path: Path) -> bool:
        source = self._clusters.kubeconfig(self._name)
        return not path.exists() or path.read_bytes() != source.read_bytes()

    def _write(self, path: Path) -> bool:
        if not self._differs(path):
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        shutil.copyfile(self._clusters.kubeconfig(self._name), path)
        return True

    def absent(self, kubeconfig: str | None) -> Result:
        """Have no cluster; the result says what is left of it, which is nothing."""
        there = self._clusters.record(self._name) is not None
        if self._check:
            actions = [f"remove {self._name}"] if there else []
            return {"changed": there, "actions": actions, "running": there, "left": []}
        actions = self._clusters.down(self._name)
        if there and kubeconfig:
            Path(kubeconfig).unlink(missing_ok=True)
        left = self._clusters.leftovers(self._name)
        if left:
            raise LabError(
                f"Removing the kind cluster {self._name} left {', '.join(left)}; run it again, "
                "and look at the Docker daemon's log if that does not help."
            )
        return {"changed": bool(actions), "actions": actions, "running": False, "left": left}
