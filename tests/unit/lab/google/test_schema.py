# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests held against Google's discovery documents, and enums as numbers."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.lab.google import enums
from ansible_collections.inference.dra.lab.google.errors import ApiError
from ansible_collections.inference.dra.lab.google.schema import Schemas, documents

CREATE_CLUSTER = "container.projects.locations.clusters.create"
CREATE_POOL = "container.projects.locations.clusters.nodePools.create"

if documents() is None:
    pytest.skip("google-api-python-client is not installed", allow_module_level=True)

SCHEMAS = Schemas(documents())


def check(body, method=CREATE_CLUSTER, api="container.v1", **query):
    return SCHEMAS.check(api, method, query, body)


REFUSED = {
    "unknown-field": (
        {"cluster": {"nodePools": [{"config": {"workloadMetaConfig": {}}}]}},
        (
            'Invalid JSON payload received. Unknown name "workloadMetaConfig" at '
            "'cluster.node_pools[0].config': Cannot find field."
        ),
    ),
    "unknown-field-at-the-top": (
        {"nodePool": {}},
        'Invalid JSON payload received. Unknown name "nodePool": Cannot find field.',
    ),
    "wrong-enum": (
        {"cluster": {"releaseChannel": {"channel": "FAST"}}},
        (
            "Invalid value at 'cluster.release_channel.channel' "
            '(type.googleapis.com/google.container.v1.ReleaseChannel.Channel), "FAST"'
        ),
    ),
    "number-for-bool": (
        {"cluster": {"shieldedNodes": {"enabled": 1}}},
        "Invalid value at 'cluster.shielded_nodes.enabled' (TYPE_BOOL), 1",
    ),
    "text-for-number": (
        {"cluster": {"initialNodeCount": "many"}},
        "Invalid value at 'cluster.initial_node_count' (TYPE_INT32), \"many\"",
    ),
    "number-for-text": (
        {"cluster": {"name": 5}},
        "Invalid value at 'cluster.name' (TYPE_STRING), 5",
    ),
    "text-for-list": (
        {"cluster": {"locations": "us-central1-a"}},
        (
            "Invalid value at 'cluster.locations' (type.googleapis.com/"
            'google.container.v1.Cluster.locations), "us-central1-a"'
        ),
    ),
    "text-for-message": (
        {"cluster": "demo"},
        "Invalid value at 'cluster' (type.googleapis.com/google.container.v1.Cluster), \"demo\"",
    ),
    "label-that-is-no-text": (
        {"cluster": {"resourceLabels": {"a": 1}}},
        "Invalid value at 'cluster.resource_labels[a]' (TYPE_STRING), 1",
    ),
}


@pytest.mark.parametrize(("body", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_as_google_refuses_it(body, message):
    with pytest.raises(ApiError) as refusal:
        check(body)
    error = refusal.value.body["error"]
    assert (error["code"], error["status"], error["message"]) == (400, "INVALID_ARGUMENT", message)
    assert error["details"][0]["@type"] == "type.googleapis.com/google.rpc.BadRequest"


ACCEPTED = {
    "int64-as-text": {"nodePool": {"config": {"accelerators": [{"acceleratorCount": "1"}]}}},
    "int64-as-number": {"nodePool": {"config": {"accelerators": [{"acceleratorCount": 1}]}}},
    "network-profile": {"nodePool": {"networkConfig": {"acceleratorNetworkProfile": "auto"}}},
    "any-label": {"nodePool": {"config": {"labels": {"cloud.google.com/x": "y"}}}},
}


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepted(body):
    assert check(body, CREATE_POOL) == body


@pytest.mark.parametrize("count", ["2", "2.0", 2])
def test_int32_may_be_text(count):
    assert check({"nodePool": {"initialNodeCount": count}}, CREATE_POOL) == {
        "nodePool": {"initialNodeCount": 2}
    }


def test_protocol_spelling_is_taken_and_null_is_nothing():
    body = {"node_pool": {"initial_node_count": 1, "config": None}}
    assert check(body, CREATE_POOL) == {"nodePool": {"initialNodeCount": 1}}


def test_unknown_query_parameter():
    with pytest.raises(ApiError, match=r"Cannot bind query parameter\. Field 'colour'"):
        check({}, colour="red")
    check({}, **{"$alt": "json;enum-encoding=int", "alt": "json", "prettyPrint": "false"})


def test_beta_schema():
    assert check({"cluster": {"clusterTelemetry": {}}}, api="container.v1beta1")
    with pytest.raises(ApiError, match="clusterTelemetry"):
        check({"cluster": {"clusterTelemetry": {}}})


def test_without_the_documents_nothing_is_checked_and_that_is_said():
    schemas = Schemas(None)
    assert schemas.check("container.v1", CREATE_CLUSTER, {}, {"x": 1}) == {"x": 1}
    assert "google-api-python-client is not installed" in schemas.note
    assert SCHEMAS.note == ""


def test_enum_numbers_both_ways():
    pytest.importorskip("google.cloud.container_v1")
    message = enums.descriptor("container.v1", "CreateNodePoolRequest")
    names = {
        "nodePool": {
            "config": {
                "taints": [{"key": "a", "effect": "NO_SCHEDULE"}],
                "labels": {"k": "v"},
                "accelerators": [{"gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"}}],
            },
            "initialNodeCount": 1,
        }
    }
    numbers = enums.to_numbers(names, message)
    config = numbers["nodePool"]["config"]
    assert config["taints"][0] == {"key": "a", "effect": 1}
    assert config["accelerators"][0]["gpuDriverInstallationConfig"] == {"gpuDriverVersion": 3}
    assert enums.to_names(numbers, message) == names


def test_number_that_is_no_member_stays_and_is_refused_later():
    pytest.importorskip("google.cloud.container_v1")
    message = enums.descriptor("container.v1", "CreateClusterRequest")
    body = enums.to_names({"cluster": {"releaseChannel": {"channel": 99}}}, message)
    with pytest.raises(ApiError, match="channel"):
        check(body)


def test_no_descriptor_without_the_client():
    assert enums.descriptor("container.v1", "NoSuchMessage") is None
    assert enums.to_names({"a": 1}, None) == {"a": 1}
