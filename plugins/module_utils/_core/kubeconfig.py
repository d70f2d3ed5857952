# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a GKE cluster is reached, and the kubeconfig that says so in gcloud's own naming."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .fields import take

Endpoint = Literal["auto", "ip", "dns"]
PLUGIN = "gke-gcloud-auth-plugin"
PLUGIN_HINT = f"kubectl needs {PLUGIN}; see https://cloud.google.com/kubernetes-engine/docs/how-to/"
NAMED_LISTS = ("clusters", "contexts", "users")


class NoEndpoint(ValueError):
    """The cluster has no endpoint of the wanted sort, at least not yet."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a control plane listens.

    :param host: ``https://`` address.
    :param ca_data: its certificate authority in base64; empty where the certificate is a public one.
    """

    host: str
    ca_data: str = ""


def connection(cluster: Mapping[str, Any], endpoint: Endpoint = "auto") -> Connection:
    """Return where the cluster is reached.

    :param cluster: the Cluster message of the API.
    :param endpoint: ``auto`` takes the IP endpoint unless it is switched off.
    :raises NoEndpoint: with what the cluster has instead.
    """
    address = cluster.get("endpoint", "")
    dns = take(cluster, "controlPlaneEndpointsConfig.dnsEndpointConfig.endpoint") or ""
    # Clusters that are older than the setting do not carry it; theirs is on.
    settings = take(cluster, "controlPlaneEndpointsConfig.ipEndpointsConfig")
    has_ip = bool(address) and (settings is None or bool(settings.get("enabled")))
    if has_ip and endpoint in ("auto", "ip"):
        ca_data = take(cluster, "masterAuth.clusterCaCertificate") or ""
        return Connection(f"https://{address}", ca_data)
    if dns and endpoint in ("auto", "dns"):
        return Connection(f"https://{dns}")  # its certificate is signed by a public authority
    present = ", ".join(name for name, there in (("ip", has_ip), ("dns", dns)) if there) or "none"
    raise NoEndpoint(
        f"Cluster {cluster.get('name', '')} is {cluster.get('status', 'in an unknown status')} and has "
        f"endpoints: {present}; {endpoint} was asked for"
    )


def context_name(project: str, location: str, cluster: str) -> str:
    """Return the name that gcloud gives to context, cluster and user."""
    return f"gke_{project}_{location}_{cluster}"


def plugin_user(*, application_default: bool) -> dict[str, Any]:
    """Return the user that asks GKE's plugin for a token at each use."""
    user: dict[str, Any] = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": PLUGIN,
        "installHint": PLUGIN_HINT,
        "provideClusterInfo": True,
    }
    if application_default:
        user["args"] = ["--use_application_default_credentials"]
    return {"exec": user}


def kubeconfig(name: str, where: Connection, user: Mapping[str, Any]) -> dict[str, Any]:
    """Return a kubeconfig with one context, which is the current one."""
    cluster = {"server": where.host}
    if where.ca_data:
        cluster["certificate-authority-data"] = where.ca_data
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "clusters": [{"name": name, "cluster": cluster}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "users": [{"name": name, "user": dict(user)}],
        "current-context": name,
    }


def merged(existing: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return an existing kubeconfig with the new entries in the place of those of the same name."""
    result = {**existing, **new}
    for key in NAMED_LISTS:
        names = {entry["name"] for entry in new[key]}
        kept = [entry for entry in existing.get(key) or () if entry.get("name") not in names]
        result[key] = [*kept, *new[key]]
    result["preferences"] = existing.get("preferences") or {}
    return result


def without_token(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the kubeconfig less every token, for results and comparisons."""
    users = [
        {**entry, "user": {key: value for key, value in entry["user"].items() if key != "token"}}
        for entry in config.get("users", ())
    ]
    return {**config, "users": users}
