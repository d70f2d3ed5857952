# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who calls Google and where: google.cloud's options, loopback only without TLS, no secret in a message."""

from __future__ import annotations

import json

import pytest
from google.auth.credentials import AnonymousCredentials

from ansible_collections.inference.dra.plugins.module_utils._ports.google import Google, NeedsNewerClient
from ansible_collections.inference.dra.plugins.module_utils._ports.google_access import (
    InvalidAccess,
    access,
    checked_endpoint,
)

BROKEN_KEY = json.dumps({"private_key": "SECRET"})
LAB = "http://127.0.0.1:8080"


@pytest.mark.parametrize("endpoint", ["", LAB, "http://localhost:1", "http://[::1]:1", "https://example.com"])
def test_addresses_that_are_accepted(endpoint):
    assert checked_endpoint(f"{endpoint}/" if endpoint else "") == endpoint


@pytest.mark.parametrize(
    "endpoint", ["http://example.com", "http://10.0.0.1", "ftp://127.0.0.1", "127.0.0.1:80", "http://"]
)
def test_addresses_that_would_leak_a_token(endpoint):
    with pytest.raises(InvalidAccess, match="loopback only"):
        checked_endpoint(endpoint)


def test_the_lab_needs_no_credentials():
    where = access({"project": "p", "api_endpoint": LAB})
    assert isinstance(where.credentials, AnonymousCredentials)
    assert where.base("compute") == LAB
    assert access({"project": "p", "access_token": "t"}).base("compute") == "https://compute.googleapis.com"


def test_a_token_is_used_and_never_shown():
    where = access({"project": "p", "access_token": "ya29.secret"})
    assert where.credentials.token == "ya29.secret"
    assert "secret" not in repr(where)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"auth_kind": "accesstoken"}, "needs access_token"),
        ({"auth_kind": "serviceaccount"}, "needs service_account_file"),
        ({"auth_kind": "serviceaccount", "service_account_file": "/none"}, "/none is not a readable"),
        (
            {
                "auth_kind": "serviceaccount",
                "service_account_contents": json.dumps({"private_key": "SECRET"}),
            },
            "not a readable service account key",
        ),
        ({"api_endpoint": LAB}, "no Google Cloud project"),
    ],
    ids=["no-token", "no-key", "no-file", "broken-key", "no-project"],
)
def test_what_cannot_work_is_said_without_the_secret(options, problem):
    with pytest.raises(InvalidAccess, match=problem) as refused:
        access({**({} if "api_endpoint" in options else {"project": "p"}), **options})
    assert "SECRET" not in str(refused.value)


def test_a_field_that_the_client_does_not_know_names_the_release():
    google = Google(access({"project": "p", "api_endpoint": LAB}))
    body = {"nodePool": {"networkConfig": {"acceleratorNetworkProfileX": "auto"}}}
    with pytest.raises(NeedsNewerClient, match="acceleratorNetworkProfileX needs google-cloud-container"):
        google.start("create_node_pool", "projects/p/locations/l/clusters/c", body)
    known = NeedsNewerClient("acceleratorNetworkProfile", "2.64.0")
    assert "network.accelerator_profile needs google-cloud-container >= 2.65.0; 2.64.0" in str(known)
