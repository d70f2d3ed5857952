# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a vLLM container does when it starts: which build it is, what it found, what it prints; all pure.

The words follow vLLM's own log; versions and line numbers are left out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .profiles import Model, Profile, cpu_profile, gpu_profile, model_of

DEFAULT_MODEL = "google/gemma-4-E2B-it"
"""The model of the guide, for images whose entry point is inside the image."""
DEFAULT_PORT = 8000
DEFAULT_CONTEXT = 8192
GPU_MEMORY_SHARE = 0.9  # vLLM's --gpu-memory-utilization
SAMPLE_OF_CACHE = 1.1  # weights plus the least cache that vLLM accepts (assumed)


@dataclass(frozen=True)
class Hardware:
    """What a pod got: GPUs of a kind, and CPUs."""

    accelerator: str = ""
    gpus: int = 0
    cpus: int = 0


@dataclass(frozen=True)
class Settings:
    """How the server was started."""

    model: str = DEFAULT_MODEL
    served_name: str = ""
    port: int = DEFAULT_PORT
    context: int = DEFAULT_CONTEXT
    memory_share: float = GPU_MEMORY_SHARE
    build: str = "cuda"

    @property
    def name(self) -> str:
        return self.served_name or self.model


@dataclass(frozen=True)
class Plan:
    """What becomes of a container: a profile to serve with, or the words it dies with."""

    settings: Settings
    model: Model
    profile: Profile
    dies_with: str = ""


def is_model_server(container: Mapping[str, Any]) -> bool:
    """Return whether a container runs vLLM, by its image's name."""
    return "vllm" in str(container.get("image", ""))


def build_of(image: str) -> str:
    """Return the platform that an image was built for: cpu where its name says so, else cuda."""
    path = image.partition("@")[0]
    words = re.split(r"[-_./:]", path.rpartition("/")[2])
    return "cpu" if "cpu" in words else "cuda"


def settings_of(container: Mapping[str, Any], entrypoint: Sequence[str] = ()) -> Settings:
    """Return how the container starts vLLM.

    :param entrypoint: the image's own, used where the pod names no command.
    """
    words = [*(container.get("command") or entrypoint), *(container.get("args") or ())]
    flat = [part for word in words for part in (split(word) if " " in word else [word])]
    options = dict(_options(flat))
    served = flat[flat.index("serve") + 1] if "serve" in flat[:-1] else ""
    ports = [each["containerPort"] for each in container.get("ports") or () if "containerPort" in each]
    return Settings(
        model=options.get("model") or served or DEFAULT_MODEL,
        served_name=options.get("served-model-name", ""),
        port=int(options.get("port") or (ports[0] if ports else DEFAULT_PORT)),
        context=int(options.get("max-model-len") or DEFAULT_CONTEXT),
        memory_share=float(options.get("gpu-memory-utilization") or GPU_MEMORY_SHARE),
        build=build_of(container["image"]),
    )


def split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for index, word in enumerate(words):
        if not word.startswith("--"):
            continue
        name, equals, value = word[2:].partition("=")
        following = words[index + 1] if index + 1 < len(words) else ""
        yield name, value if equals or following.startswith("--") else following


def plan(settings: Settings, hardware: Hardware) -> Plan:
    """Return whether and how this build serves on this hardware.

    A CUDA build without a GPU ends at once. A CPU build beside a GPU does not notice it: it serves,
    slowly, on the CPUs, as vLLM does.
    """
    model = model_of(settings.model)
    if settings.build == "cpu":
        return Plan(settings, model, cpu_profile(hardware.cpus))
    profile = gpu_profile(hardware.accelerator, max(1, hardware.gpus))
    if not hardware.gpus:
        return Plan(settings, model, profile, "RuntimeError: Failed to infer device type")
    if model.gigabytes * SAMPLE_OF_CACHE > profile.memory_gigabytes * settings.memory_share:
        words = "torch.OutOfMemoryError: CUDA out of memory."
        return Plan(settings, model, profile, words)
    return Plan(settings, model, profile)


def lines(found: Plan) -> list[str]:
    """Return what the container prints while it starts, or dies."""
    settings, profile = found.settings, found.profile
    platform = "No platform detected, vLLM is running on UnspecifiedPlatform"
    if not found.dies_with.startswith("RuntimeError"):
        platform = f"Automatically detected platform {settings.build}."
    begin = [
        f"INFO [__init__.py] {platform}",
        f"INFO [api_server.py] args: model={settings.model}, max_model_len={settings.context}",
    ]
    if found.dies_with:
        return [*begin, "Traceback (most recent call last):", '  File "<frozen runpy>"', found.dies_with]
    if settings.build == "cpu":
        details = [
            f"INFO [cpu_worker.py] auto thread-binding: {profile.name}",
            "INFO [cpu_model_runner.py] Warming up model for the compilation...",
            "INFO [cpu_model_runner.py] Warming up done.",
        ]
    else:
        details = [
            f"INFO [gpu_worker.py] device: {profile.name}",
            f"INFO [gpu_model_runner.py] Model loading took {found.model.gigabytes:.2f} GiB",
            "INFO [gpu_model_runner.py] Graph capturing finished",
        ]
    return [
        *begin,
        f"INFO [model.py] Using max model len {settings.context}",
        f"INFO [loader.py] Loading weights of {settings.model}",
        *details,
        f"INFO [api_server.py] Starting vLLM API server on http://0.0.0.0:{settings.port}",
        "INFO:     Started server process [1]",
        "INFO:     Application startup complete.",
    ]
