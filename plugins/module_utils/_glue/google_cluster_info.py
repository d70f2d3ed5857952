# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``gke_cluster_info`` does: read one cluster, say how it is reached, and write it down if asked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._core import kubeconfig
from ansible_collections.inference.dra.plugins.module_utils._core.google_limits import location_problems
from ansible_collections.inference.dra.plugins.module_utils._core.node_pools import node_counts, read
from ansible_collections.inference.dra.plugins.module_utils._core.operations import health
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Clock
from ansible_collections.inference.dra.plugins.module_utils._ports.google import Google
from ansible_collections.inference.dra.plugins.module_utils._ports.google_run import Progress

from .google import failure, refuse_problems
from .result import Module

OWNER_ONLY = 0o600


def cluster_info(module: Module, google: Google, _clock: Clock, _progress: Progress) -> dict[str, Any]:
    """Return the result of the module ``gke_cluster_info``."""
    params = module.params
    name, location, path = params["name"], params["location"], params["path"]
    problems = location_problems(location)
    if params["user"] == "token" and not path and not params["return_token"]:
        problems.append("user token needs path or return_token: the token has to go somewhere")
    refuse_problems(f"Cluster {name}", problems)
    live = google.cluster(location, name)
    if live is None:
        if path:
            raise failure(
                f"write a kubeconfig for Cluster {name}: it does not exist in {location} of {google.project}",
                "not_found",
            )
        return {"exists": False, "cluster": {"name": name, "status": "ABSENT"}}
    result: dict[str, Any] = {"exists": True, "cluster": summary(live)}
    try:
        where = kubeconfig.connection(live, params["endpoint"])
    except kubeconfig.NoEndpoint as problem:
        if path:
            raise failure(
                f"write a kubeconfig: {problem}; wait until it is RUNNING", "not_found"
            ) from problem
        return {**result, "connection": None, "kubeconfig": None}
    context = kubeconfig.context_name(google.project, location, name)
    config = kubeconfig.kubeconfig(context, where, _user(params, google))
    shown = config if params["return_token"] else kubeconfig.without_token(config)
    result["connection"] = {"host": where.host, "ca_data": where.ca_data, "context": context}
    result["kubeconfig"] = shown
    if path:
        result["changed"] = write(Path(path), config, check_mode=module.check_mode)
        result["path"] = path
    return result


def summary(live: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a playbook may want to know of a cluster."""
    state = health(live)
    zones = len(live.get("locations", ())) or 1
    return {
        "name": live.get("name", ""),
        "status": state.status,
        "degraded": state.degraded,
        "version": live.get("currentMasterVersion", ""),
        "locations": live.get("locations", []),
        "labels": live.get("resourceLabels", {}),
        "node_pools": [_pool_summary(pool, zones) for pool in live.get("nodePools", ())],
    }


def _pool_summary(pool: Mapping[str, Any], zones: int) -> dict[str, Any]:
    state, options = health(pool), read(pool)
    sized = {**options, "initial_node_count": pool.get("initialNodeCount", 0)}
    return {
        "name": pool.get("name", ""),
        "status": state.status,
        "degraded": state.degraded,
        "error_kind": state.kind if state.degraded else "",
        "version": pool.get("version", ""),
        "machine_type": options["machine_type"],
        "spot": options["spot"],
        "nodes": node_counts(sized, len(options["locations"]) or zones).as_dict(),
    }


def _user(params: Mapping[str, Any], google: Google) -> dict[str, Any]:
    if params["user"] == "token":
        return {"token": google.token()}
    return kubeconfig.plugin_user(application_default=params["user"] == "application_default")


def write(path: Path, config: Mapping[str, Any], *, check_mode: bool) -> bool:
    """Put the entries into a kubeconfig file and return whether more than a token is new in it.

    Other entries of the file stay. The file is replaced at once and only its owner can read it.
    """
    import yaml  # noqa: PLC0415 - a module must start without it, to say that it is missing

    path = path.expanduser()
    existing = _existing(path)
    wanted = kubeconfig.merged(existing, config)
    private = path.exists() and path.stat().st_mode & 0o777 == OWNER_ONLY
    changed = kubeconfig.without_token(existing) != kubeconfig.without_token(wanted) or not private
    if not check_mode and (changed or existing != wanted):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".kubeconfig-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:  # mkstemp: owner only
            yaml.safe_dump(wanted, file, default_flow_style=False)
        Path(temporary).replace(path)
    return changed


def _existing(path: Path) -> dict[str, Any]:
    import yaml  # noqa: PLC0415 - as in write

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, yaml.YAMLError) as problem:
        raise failure(
            f"write kubeconfig {path}: what is there can't be read as a kubeconfig "
            f"({type(problem).__name__}); move it away or choose another path",
            "invalid",
        ) from problem
    if content is not None and not isinstance(content, dict):
        raise failure(f"write kubeconfig {path}: what is there is not a kubeconfig; move it away", "invalid")
    return content or {}
