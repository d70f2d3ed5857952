# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions are numbers, met by prefix, and resolved against what is offered."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.versions import (
    VersionNotOffered,
    fits,
    newer,
    parts,
    resolve,
    version_to_compare,
)

SERVER = {
    "defaultClusterVersion": "1.35.2-gke.1",
    "validMasterVersions": ["1.36.0-gke.99", "1.36.0-gke.1000", "1.35.2-gke.1", "1.9.7-gke.6"],
    "channels": [
        {"channel": "RAPID", "defaultVersion": "1.36.0-gke.99", "validVersions": ["1.36.0-gke.99"]},
        {"channel": "STABLE", "defaultVersion": "1.35.2-gke.1", "validVersions": ["1.35.2-gke.1"]},
    ],
}


@pytest.mark.parametrize(
    ("version", "wanted", "result"),
    [
        ("1.36.0-gke.100", "1.36", True),
        ("1.36.0-gke.100", "1.36.0", True),
        ("1.36.0-gke.100", "1.36.0-gke.100", True),
        ("1.36.0-gke.1000", "1.36.0-gke.100", False),
        ("1.3.0-gke.1", "1.36", False),
        ("1.36.0-gke.100", "1.3", False),
    ],
)
def test_prefix_by_number_not_by_text(version, wanted, result):
    assert fits(version, wanted) is result


@pytest.mark.parametrize(
    ("version", "wanted", "result"),
    [
        ("1.36.0-gke.1000", "1.36.0-gke.999", True),
        ("1.10.0-gke.1", "1.9", True),
        ("1.36.9-gke.1", "1.36", False),
        ("1.35.0-gke.1", "1.36", False),
    ],
)
def test_newer(version, wanted, result):
    assert newer(version, wanted) is result


@pytest.mark.parametrize(
    ("wanted", "channel", "version"),
    [
        pytest.param("1.36", "", "1.36.0-gke.1000", id="newest-by-number"),
        pytest.param("1.36", "rapid", "1.36.0-gke.99", id="of-the-channel"),
        pytest.param("1.36.0-gke.99", "", "1.36.0-gke.99", id="exact"),
        pytest.param("latest", "stable", "1.35.2-gke.1", id="latest"),
        pytest.param("-", "", "1.35.2-gke.1", id="default"),
        pytest.param("-", "rapid", "1.36.0-gke.99", id="default-of-the-channel"),
    ],
)
def test_resolve(wanted, channel, version):
    assert resolve(wanted, channel, SERVER, "us-central1") == version


def test_what_is_not_offered_names_its_neighbours():
    with pytest.raises(VersionNotOffered) as refused:
        resolve("1.36.0-gke.100", "", SERVER, "us-central1")
    assert refused.value.offered == ("1.36.0-gke.1000", "1.36.0-gke.99")
    with pytest.raises(VersionNotOffered, match=r"channel stable.*1\.35\.2-gke\.1"):
        resolve("1.36", "stable", SERVER, "us-central1")


@pytest.mark.parametrize("text", ["v1.36", "1", "1.36.x", "1.36.0-eks.1", ""])
def test_what_is_no_version(text):
    with pytest.raises(ValueError, match="not a GKE version"):
        parts(text)


def test_gke_moves_forward_by_itself():
    assert version_to_compare("1.36", "1.36.4-gke.1", "x") == ("1.36", ())
    same, notes = version_to_compare("1.36.0-gke.100", "1.37.1-gke.2", "Cluster demo")
    assert same == "1.36.0-gke.100"
    assert "Cluster demo runs 1.37.1-gke.2" in notes[0]
    assert version_to_compare("1.37", "1.36.4-gke.1", "x") == ("1.36.4-gke.1", ())
