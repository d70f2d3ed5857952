# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast hardware serves a model, from its data sheet and two rules of thumb; all pure.

Decoding is bound by memory: a token needs the weights read once. Prefill is bound by arithmetic: two
operations per parameter and token. Bandwidths, operations and memory are the vendors' numbers (NVIDIA
data sheets; dense BF16); what a real engine reaches of them, and everything about CPUs, is assumed.
Ratios between kinds of hardware are plausible, no number is a measurement.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

REACHED_BANDWIDTH, REACHED_OPERATIONS = 0.6, 0.4
BYTES_PER_PARAMETER = 2  # BF16
FASTEST_TOKEN_SECONDS = 0.004  # scheduling and kernel launches (assumed)
FIXED_FIRST_TOKEN_SECONDS = 0.02
GIGA = 1e9


@dataclass(frozen=True)
class Profile:
    """One kind of hardware.

    :param gigabytes_per_second: memory bandwidth of all of it.
    :param teraflops: dense BF16 operations.
    :param memory_gigabytes: where weights and cache have to fit; 0 where the lab does not check.
    :param crowding: by how much one more request at the same time slows each.
    :param start_seconds: from the start of the process to the weights (assumed).
    :param warm_seconds: compiling and capturing graphs after the weights (assumed).
    :param load_gigabytes_per_second: from disk or bucket into this memory (assumed).
    """

    name: str
    gigabytes_per_second: float
    teraflops: float
    memory_gigabytes: float = 0.0
    crowding: float = 0.02
    start_seconds: float = 30.0
    warm_seconds: float = 45.0
    load_gigabytes_per_second: float = 2.0

    def token_seconds(self, model: Model, at_once: int = 1) -> float:
        """Return the time of one token of one request while so many are served at once."""
        alone = model.gigabytes / (REACHED_BANDWIDTH * self.gigabytes_per_second)
        return max(FASTEST_TOKEN_SECONDS, alone) * (1 + self.crowding * (at_once - 1))

    def first_token_seconds(self, model: Model, prompt_tokens: int) -> float:
        """Return the time until the first token of a prompt."""
        operations = 2 * model.parameters * prompt_tokens
        prefill = operations / (REACHED_OPERATIONS * self.teraflops * 1e12)
        return FIXED_FIRST_TOKEN_SECONDS + prefill + self.token_seconds(model)

    def load_seconds(self, model: Model) -> float:
        """Return the time from the start of the container until it answers."""
        return self.start_seconds + model.gigabytes / self.load_gigabytes_per_second + self.warm_seconds


@dataclass(frozen=True)
class Model:
    """A model by its name and the parameters that a token needs."""

    name: str
    parameters: float

    @property
    def gigabytes(self) -> float:
        return self.parameters * BYTES_PER_PARAMETER / GIGA


def model_of(name: str) -> Model:
    """Return a model whose size stands in its name: ``…-8B``; of ``…-30B-A3B`` the active part."""
    sizes = re.findall(r"(?<![a-z0-9])([aAeE]?)(\d+(?:\.\d+)?)[bB](?![a-z])", name)
    active = [float(size) for mark, size in sizes if mark]
    whole = [float(size) for mark, size in sizes if not mark]
    billions = (active or whole or [2.0])[0]
    return Model(name, billions * GIGA)


GPUS: Mapping[str, Profile] = {
    "nvidia-l4": Profile("NVIDIA L4", 300, 121, 24),
    "nvidia-tesla-a100": Profile("NVIDIA A100 40GB", 1555, 312, 40),
    "nvidia-a100-80gb": Profile("NVIDIA A100 80GB", 2039, 312, 80),
    "nvidia-h100-80gb": Profile("NVIDIA H100", 3350, 989, 80),
    "nvidia-h100-mega-80gb": Profile("NVIDIA H100", 3350, 989, 80),
    "nvidia-h200-141gb": Profile("NVIDIA H200", 4800, 989, 141),
    "nvidia-b200": Profile("NVIDIA B200", 8000, 2250, 180),
    "nvidia-gb200": Profile("NVIDIA GB200", 8000, 2500, 186),
    "nvidia-gb300": Profile("NVIDIA GB300", 8000, 2500, 279),
}
BANDWIDTH_PER_CPU, TERAFLOPS_PER_CPU = 5.0, 0.08


def gpu_profile(accelerator: str, count: int) -> Profile:
    """Return the profile of so many GPUs of one kind working on one model."""
    one = GPUS.get(accelerator, GPUS["nvidia-l4"])
    if count == 1:
        return one
    return Profile(
        f"{count} x {one.name}",
        one.gigabytes_per_second * count,
        one.teraflops * count,
        one.memory_gigabytes * count,
    )


def cpu_profile(cpus: int) -> Profile:
    """Return the profile of so many vCPUs of a server processor."""
    return Profile(
        f"{cpus} vCPUs",
        BANDWIDTH_PER_CPU * max(1, cpus),
        TERAFLOPS_PER_CPU * max(1, cpus),
        crowding=0.5,
        warm_seconds=10.0,
        load_gigabytes_per_second=1.0,
    )
