# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded claims with their pods (Kubernetes 1.36.3), and ways to alter them."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

RECORDED = Path(__file__).parent / "recorded"
DRIVER = "image-configurator.x-k8s.io"


class Scene:
    """A recorded claim and its pod, to be altered."""

    def __init__(self, name):
        recorded = json.loads((RECORDED / f"{name}.json").read_text())
        self.claim, self.pod = recorded["claim"], recorded["pod"]

    @property
    def allocation(self):
        return self.claim["status"]["allocation"]

    @property
    def gate_result(self):
        return next(r for r in self.allocation["devices"]["results"] if r["driver"] == DRIVER)

    def configure(self, *configs, source="FromClaim"):
        """Replace the chosen configurations by (container, image) pairs or whole parameters."""
        self.allocation["devices"]["config"] = []
        return self.add(*configs, source=source)

    def add(self, *configs, source="FromClaim", requests=(), driver=DRIVER):
        for config in configs:
            parameters = config
            if isinstance(config, tuple):
                parameters = {
                    "apiVersion": f"{DRIVER}/v1alpha1",
                    "kind": "ImageConfig",
                    "containerName": config[0],
                    "image": config[1],
                }
            self.allocation["devices"]["config"].append(
                {
                    "source": source,
                    "requests": list(requests),
                    "opaque": {"driver": driver, "parameters": parameters},
                }
            )
        return self

    def answer(self, kind, status="True", share=None):
        """Give the claim a status entry with one condition."""
        entry = {field: self.gate_result[field] for field in ("driver", "pool", "device", "shareID")}
        if share is not None:
            entry["shareID"] = share
        entry["conditions"] = [{"type": f"{DRIVER}/{kind}", "status": status, "reason": "X", "message": ""}]
        self.claim["status"].setdefault("devices", []).append(entry)
        return self

    def another_pod(self, name="other"):
        """Return a second pod that uses the same claim."""
        pod = copy.deepcopy(self.pod)
        pod["metadata"] |= {"name": name, "uid": f"uid-of-{name}"}
        return pod


@pytest.fixture
def gpu():
    return Scene("gpu")


@pytest.fixture
def cpu():
    return Scene("cpu")


@pytest.fixture
def recorded():
    return RECORDED
