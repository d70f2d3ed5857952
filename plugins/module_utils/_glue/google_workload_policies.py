# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``gke_workload_policy`` does: look, plan, refuse or carry out."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.google_limits import (
    workload_policy_problems,
)
from ansible_collections.inference.dra.plugins.module_utils._core.workload_policies import deletion, plan
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, Deadline
from ansible_collections.inference.dra.plugins.module_utils._ports.google import Google
from ansible_collections.inference.dra.plugins.module_utils._ports.google_apis import Policies
from ansible_collections.inference.dra.plugins.module_utils._ports.google_run import Progress, carry_out

from .google import change_result, failure, failure_sentence, refuse_problems
from .result import Module


def workload_policy(module: Module, google: Google, clock: Clock, progress: Progress) -> dict[str, Any]:
    """Return the result of the module ``gke_workload_policy``."""
    params = module.params
    name = params["name"]
    deadline = Deadline(clock, params["timeout_seconds"])
    refuse_problems(f"WorkloadPolicy {name}", workload_policy_problems(params, params["location"]))
    policies = Policies(google, params["location"])
    live = policies.policy(name)
    planned = deletion(name, live) if params["state"] == "absent" else plan(params, live)
    planned.require_in_place()
    runs = None if module.check_mode else carry_out(policies, [planned], deadline, progress)
    result = change_result([planned], runs, deadline.elapsed)
    failed = runs[0].failure if runs else None
    if failed:
        raise failure(failure_sentence(failed), failed.kind, **result)
    return {**result, "error_kind": ""}
