# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""APIs that are not enabled: which ones preflight has enabled, and how a run ends where that fails.

google.cloud's module knows Google's own address only, so nothing here lets it ask anybody.
"""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.tests.integration.lab.labs import dra_lab

pytestmark = pytest.mark.lab

CONTAINER = "container.googleapis.com"
SERVICES = [CONTAINER, "compute.googleapis.com", "artifactregistry.googleapis.com"]
MISSING = f"Service lab-project/{CONTAINER}"
ENABLING = "Have an API enabled"


@pytest.fixture
def disabled(bench):
    """Have the lab's Google without one API."""
    words = ("fault", "--name", bench.lab.name)
    assert dra_lab(*words, "set", "service-disabled", f"service={CONTAINER}").returncode == 0
    yield bench
    assert dra_lab(*words, "clear", "service-disabled").returncode == 0


def asked(bench, **variables):
    """Run preflight and return how it ended, with its words on one line."""
    ended = bench.play("site.yml", "--tags", "preflight", **variables)
    return ended, " ".join(ended.output.split())


def test_check_mode_names_the_one_that_is_missing_and_enables_nothing(disabled):
    ended, said = asked(disabled, check=True, preflight_services=SERVICES)
    assert (ended.status, ended.changed) == (2, 0), ended.output
    assert f"skipping: [localhost] => (item={CONTAINER})" in said
    assert said.count("(item=") == 1 + said.count("=> (item=lab)") + said.count("=> (item=preflight)")
    assert MISSING in said


def test_a_caller_who_cannot_enable_it_reads_what_is_missing(disabled):
    """Credentials that are none: google.cloud's module refuses them before it asks anybody."""
    ended, said = asked(disabled, preflight_services=SERVICES, preflight_auth_kind="serviceaccount")
    assert (ended.status, ended.failed) == (2, 1), ended.output
    assert "...ignoring" in said
    assert said.index("...ignoring") < said.index(MISSING)
    assert "preflight_services of the role preflight" in said


def test_where_nothing_may_be_enabled_it_ends_at_once(disabled):
    ended, said = asked(disabled)
    assert (ended.status, ended.failed) == (2, 1), ended.output
    assert MISSING in said
    assert ENABLING not in said


def test_a_caller_who_may_not_read_which_are_enabled_goes_on(bench):
    words = ("fault", "--name", bench.lab.name)
    assert dra_lab(*words, "set", "permission-denied", "permission=serviceusage.services.get").returncode == 0
    ended, said = asked(bench, preflight_services=SERVICES)
    assert dra_lab(*words, "clear", "permission-denied").returncode == 0
    assert ended.status == 0, ended.output
    assert "the enabled APIs" in said
    assert ENABLING not in said
