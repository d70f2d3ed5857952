# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether kubelets leave a driver's devices alone.

A kubelet with the CPU manager policy ``static`` pins containers itself; where the CPU driver does so too,
containers run on other CPUs than their claims hold (kubernetes-sigs/dra-driver-cpu#134, #140).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .abridged import abridged
from .verdict import Verdict

POLICIES = ("none", "static")


def cpu_manager_policy(configz: Mapping[str, Any]) -> str:
    """Return the policy in a kubelet's answer to ``/configz``; empty where it does not say.

    Shape: ``{"kubeletconfig": KubeletConfiguration}`` with all defaults filled in (kubelet.config.k8s.io).
    """
    return str((configz.get("kubeletconfig") or {}).get("cpuManagerPolicy") or "")


def kubelet_verdicts(driver: str, wanted: str, policies: Mapping[str, str]) -> Iterator[Verdict]:
    """Yield what is wrong with the CPU manager policy of a driver's nodes.

    :param policies: policy by name of the node; empty where the kubelet could not be asked.
    """
    for other in sorted({*policies.values()} - {wanted, ""}):
        yield Verdict(
            "error",
            "CpuManagerDiffers",
            f"Driver {driver}",
            observed=f"cpuManagerPolicy is {other} on {_names(policies, other)}",
            expected=f"cpuManagerPolicy {wanted}",
            advice="set it in the node pool's kubelet configuration and make the nodes anew; until then look "
            "at the CPUs a container may use in its own /sys/fs/cgroup/cpuset.cpus.effective",
        )
    if "" in policies.values():
        yield Verdict(
            "note",
            "CannotJudge",
            f"Driver {driver}",
            observed=f"the kubelet's settings could not be read on {_names(policies, '')}",
            expected=f"cpuManagerPolicy {wanted}",
            advice="allow get on nodes/proxy to have them judged",
        )


def _names(policies: Mapping[str, str], policy: str) -> str:
    return abridged(sorted(name for name, found in policies.items() if found == policy), "nodes")
