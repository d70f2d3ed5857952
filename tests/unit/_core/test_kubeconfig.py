# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubeconfigs: gcloud's names, the right endpoint, other entries kept."""

from __future__ import annotations

import json

import pytest
import yaml

from ansible_collections.inference.dra.plugins.module_utils._core.kubeconfig import (
    NoEndpoint,
    connection,
    context_name,
    kubeconfig,
    merged,
    plugin_user,
    without_token,
)

DNS = "gke-0123456789-123456789012.us-central1.gke.goog"
IP = {
    "name": "demo",
    "status": "RUNNING",
    "endpoint": "203.0.113.10",
    "masterAuth": {"clusterCaCertificate": "ZmFrZS1jYQ=="},
}
BOTH = {
    **IP,
    "controlPlaneEndpointsConfig": {
        "dnsEndpointConfig": {"endpoint": DNS},
        "ipEndpointsConfig": {"enabled": True},
    },
}
DNS_ONLY = {
    **BOTH,
    "controlPlaneEndpointsConfig": {**BOTH["controlPlaneEndpointsConfig"], "ipEndpointsConfig": {}},
}


@pytest.mark.parametrize(
    ("cluster", "endpoint", "host", "has_ca"),
    [
        pytest.param(IP, "auto", "https://203.0.113.10", True, id="older-cluster"),
        pytest.param(BOTH, "auto", "https://203.0.113.10", True, id="both"),
        pytest.param(BOTH, "dns", f"https://{DNS}", False, id="dns"),
        pytest.param(DNS_ONLY, "auto", f"https://{DNS}", False, id="ip-off"),
    ],
)
def test_endpoint(cluster, endpoint, host, has_ca):
    where = connection(cluster, endpoint)
    assert (where.host, bool(where.ca_data)) == (host, has_ca)


@pytest.mark.parametrize(
    ("cluster", "endpoint", "present"),
    [
        pytest.param({"name": "demo", "status": "PROVISIONING"}, "auto", "none", id="not-yet"),
        pytest.param(DNS_ONLY, "ip", "dns", id="ip-off"),
        pytest.param(IP, "dns", "ip", id="no-dns"),
    ],
)
def test_no_such_endpoint(cluster, endpoint, present):
    with pytest.raises(NoEndpoint, match=f"has endpoints: {present}; {endpoint} was asked for"):
        connection(cluster, endpoint)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("case", "cluster", "endpoint", "location"),
    [
        ("a-get-credentials", IP, "auto", "us-central1"),
        ("x-get-credentials-dns", BOTH, "dns", "us-central1"),
        ("x-get-credentials-zonal", IP, "auto", "us-central1-a"),
    ],
)
def test_equals_what_gcloud_writes(shared, case, cluster, endpoint, location):
    recorded = json.loads((shared / "golden" / "gcloud" / f"{case}.json").read_text())["files"]
    theirs = yaml.safe_load(recorded[".kube/config"])
    name = context_name("test-project", location, "demo")
    ours = kubeconfig(name, connection(cluster, endpoint), plugin_user(application_default=False))
    for config in (ours, theirs):
        config["users"][0]["user"]["exec"].pop("installHint")  # each says it in its own words
    assert ours == theirs


def test_application_default_credentials_are_an_argument():
    assert plugin_user(application_default=True)["exec"]["args"] == ["--use_application_default_credentials"]


def test_other_entries_stay_and_tokens_can_be_left_out():
    old = kubeconfig("old", connection(IP), {"token": "SECRET"})
    new = kubeconfig("new", connection(BOTH), {"token": "SECRET"})
    both = merged(old, new)
    assert [entry["name"] for entry in both["users"]] == ["old", "new"]
    assert both["current-context"] == "new"
    again = merged(both, new)
    assert again == both
    assert "SECRET" not in str(without_token(both))
    assert merged({}, new)["clusters"] == new["clusters"]
