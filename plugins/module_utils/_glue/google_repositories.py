# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``artifact_registry_repository`` does: look, plan, refuse or carry out, look again."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core.google_limits import repository_problems
from ansible_collections.inference.dra.plugins.module_utils._core.repositories import (
    deletion,
    plan,
    registry,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, Deadline
from ansible_collections.inference.dra.plugins.module_utils._ports.google import Google
from ansible_collections.inference.dra.plugins.module_utils._ports.google_apis import Registry
from ansible_collections.inference.dra.plugins.module_utils._ports.google_run import Progress, carry_out

from .google import change_result, failure, failure_sentence, refuse_problems
from .result import Module


def repository(module: Module, google: Google, clock: Clock, progress: Progress) -> dict[str, Any]:
    """Return the result of the module ``artifact_registry_repository``."""
    params = module.params
    name, location = params["name"], params["location"]
    deadline = Deadline(clock, params["timeout_seconds"])
    refuse_problems(f"Repository {name}", repository_problems(params, location))
    live = google.repository(location, name)
    if params["state"] == "absent":
        planned = deletion(name, live)
    else:
        planned = plan(params, live, {"labels": params["remove_labels"] or ()})
    planned.require_in_place()
    runs = None
    if not module.check_mode:
        runs = carry_out(Registry(google, location), [planned], deadline, progress)
        live = google.repository(location, name) if planned.changed else live
    result = change_result([planned], runs, deadline.elapsed)
    result["registry"] = registry(live or {}, google.project, location, name)
    failed = runs[0].failure if runs else None
    if failed:
        raise failure(failure_sentence(failed), failed.kind, **result)
    return {**result, "error_kind": ""}
