# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options and results that the Google modules share, and their errors as one kind of failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from ansible.module_utils.basic import env_fallback

from ansible_collections.inference.dra.plugins.module_utils._core.change import (
    InvalidOptions,
    NeedsRecreation,
    Plan,
)
from ansible_collections.inference.dra.plugins.module_utils._core.operations import ADVICE
from ansible_collections.inference.dra.plugins.module_utils._core.versions import VersionNotOffered
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock, SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.google import (
    Google,
    GoogleError,
    NeedsNewerClient,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.google_access import (
    InvalidAccess,
    LibraryMissing,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.google_run import (
    Failure,
    Progress,
    Run,
)

from .result import Module, ModuleFailure, run

FAILURE_REASONS: Mapping[str, str] = {
    "stockout": "StockOut",
    "quota": "QuotaExceeded",
    "conflict": "Conflict",
    "version": "VersionNotOffered",
    "permission": "PermissionDenied",
    "not_enabled": "ApiNotEnabled",
    "not_found": "NotFound",
    "invalid": "InvalidInput",
    "unavailable": "ServiceUnavailable",
    "timeout": "Timeout",
    "other": "OperationFailed",
}


def google_spec() -> dict[str, Any]:
    """Return the authentication options of google.cloud, by its names and variables, and the address."""
    return {
        "project": _from_environment("GCP_PROJECT"),
        "auth_kind": _from_environment(
            "GCP_AUTH_KIND",
            choices=["accesstoken", "application", "machineaccount", "serviceaccount"],
        ),
        "service_account_file": _from_environment("GCP_SERVICE_ACCOUNT_FILE", type="path"),
        "service_account_contents": _from_environment(
            "GCP_SERVICE_ACCOUNT_CONTENTS", type="jsonarg", no_log=True
        ),
        "service_account_email": _from_environment("GCP_SERVICE_ACCOUNT_EMAIL"),
        "access_token": _from_environment("GCP_ACCESS_TOKEN", no_log=True),
        "scopes": _from_environment("GCP_SCOPES", type="list", elements="str"),
        "api_endpoint": _from_environment("GKE_API_ENDPOINT"),
    }


def _from_environment(variable: str, **option: Any) -> dict[str, Any]:
    return {"type": "str", "fallback": (env_fallback, [variable]), **option}


@contextmanager
def google_failures() -> Iterator[None]:
    """Turn every expected error of the Google side into a ModuleFailure with its ``error_kind``."""
    try:
        yield
    except GoogleError as error:
        raise failure(str(error), error.kind) from error
    except VersionNotOffered as error:
        raise failure(str(error), "version", offered=list(error.offered)) from error
    except NeedsRecreation as error:
        changes = [change.option for change in error.changes]
        raise ModuleFailure(
            str(error), "NeedsRecreation", error_kind="invalid", recreation=changes
        ) from error
    except (InvalidOptions, InvalidAccess) as error:
        raise failure(str(error), "invalid") from error
    except NeedsNewerClient as error:
        raise ModuleFailure(str(error), "ClientTooOld", error_kind="invalid") from error
    except LibraryMissing as error:
        raise ModuleFailure(
            f"{error}; install it where the module runs: pip install {error.package}",
            "LibraryMissing",
            error_kind="other",
        ) from error


def failure(message: str, kind: str, **facts: Any) -> ModuleFailure:
    """Return the failure of a kind, with the stable reason that belongs to it."""
    return ModuleFailure(message, FAILURE_REASONS[kind], error_kind=kind, **facts)


def refuse_problems(subject: str, problems: Iterable[str]) -> None:
    """Raise InvalidOptions if there is any problem."""
    listed = tuple(problems)
    if listed:
        raise InvalidOptions(subject, listed)


def change_result(plans: Iterable[Plan], runs: Iterable[Run] | None, waited_seconds: float) -> dict[str, Any]:
    """Return the part of a result that all state modules have.

    :param runs: what was carried out; ``None`` in check mode, where the plan is the result.
    """
    plans, runs = list(plans), None if runs is None else list(runs)
    steps = (
        [step for plan in plans for step in plan.steps]
        if runs is None
        else [step for run in runs for step in run.begun]
    )
    started = any(run.operations for run in runs or ())
    before = {plan.subject: dict(plan.before) for plan in plans if plan.changed}
    after = {plan.subject: dict(plan.after) for plan in plans if plan.changed}
    return {
        "changed": bool(steps) or started,
        "before": before,
        "after": after,
        "diff": {"before": before, "after": after},
        "actions": [step.sentence() for step in steps],
        "operations": [name for run in runs or () for name in run.operations],
        "waited_seconds": round(waited_seconds, 1),
        "notes": [note for plan in plans for note in plan.notes],
    }


def still_differs(planned: Plan) -> list[str]:
    """Return one note per option that a plan, made after all its changes, would change again."""
    changes = [*planned.recreation, *(change for step in planned.steps for change in step.changes)]
    return [
        f"{planned.subject}: {change.option} was set and reads back as {change.before}" for change in changes
    ]


def failure_sentence(found: Failure) -> str:
    """Return what was attempted, what was observed, and what to do."""
    where = f" (operation {found.operation})" if found.operation else ""
    return f"{found.step}: {found.message}{where} ({found.kind}); {ADVICE[found.kind]}"


Work = Callable[[Module, Any, Clock, Progress], Mapping[str, Any]]


def run_google(module: Module, work: Work, clock: Clock | None = None) -> NoReturn:
    """Do a Google module's work and exit with its result or its one failure."""
    time = clock or SystemClock()

    def with_google(module: Module) -> Mapping[str, Any]:
        with google_failures():
            log = getattr(module, "log", lambda _text: None)
            offline = module.params.get("offline")
            google = None if offline else Google.connect(module.params, time)
            return work(module, google, time, log)

    run(module, with_google)
