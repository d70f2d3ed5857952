# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way to the API against a real API server: pages, watches, apply, preconditions."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._ports.clock import Deadline, SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIM_TEMPLATES,
    CLAIMS,
    PODS,
    SERVICE_ACCOUNTS,
    Conflict,
    NotFound,
)
from ansible_collections.inference.dra.plugins.module_utils._ports.watching import Watching
from ansible_collections.inference.dra.tests.watched import until

pytestmark = pytest.mark.lab

REQUEST = {"name": "gpu", "exactly": {"deviceClassName": "none.example.com"}}
PATIENCE = 30.0


def claim(name: str) -> dict:
    return {"metadata": {"name": name}, "spec": {"devices": {"requests": [REQUEST]}}}


@pytest.fixture
def within(api):
    return api.within(Deadline(SystemClock(), PATIENCE))


def names(watching: Watching) -> set[str]:
    return {each["metadata"]["name"] for each in watching.objects().get("ResourceClaim", ())}


def test_objects_stay_current(api, within, namespace):
    api.create(CLAIMS, claim("a"), namespace)
    watching = Watching(within, (CLAIMS, PODS, CLAIM_TEMPLATES), namespace)
    until(watching, lambda: watching.is_complete)
    assert names(watching) == {"a"}
    api.create(CLAIMS, claim("b"), namespace)
    until(watching, lambda: names(watching) == {"a", "b"})
    api.delete(CLAIMS, "a", namespace)
    until(watching, lambda: names(watching) == {"b"})
    assert (watching.polled, watching.forbidden, watching.failures) == (set(), set(), {})


def test_list_in_pages_holds_every_object_once(api, within, namespace):
    made = [f"claim-{number}" for number in range(7)]
    for name in made:
        api.create(CLAIMS, claim(name), namespace)
    listing = within.list(CLAIMS, namespace)
    listing._query["limit"] = "3"
    assert [each["metadata"]["name"] for each in listing] == made
    later = api.create(CLAIMS, claim("later"), namespace)
    news = next(within.watch(CLAIMS, listing.resource_version, namespace))
    assert (news.type, news.object["metadata"]["uid"]) == ("ADDED", later["metadata"]["uid"])


def test_apply_owns_its_fields_and_leaves_others_alone(api, namespace):
    template = {"metadata": {"name": "a", "labels": {"mine": "1"}}, "spec": {"spec": claim("a")["spec"]}}
    api.apply(CLAIM_TEMPLATES, template, namespace)
    api.merge_patch(CLAIM_TEMPLATES, "a", {"metadata": {"labels": {"theirs": "2"}}}, namespace)
    again = api.apply(CLAIM_TEMPLATES, template, namespace)
    assert again["metadata"]["labels"] == {"mine": "1", "theirs": "2"}
    unchanged = api.apply(CLAIM_TEMPLATES, template, namespace)
    assert unchanged["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]


def test_dry_run_writes_nothing(api, namespace):
    api.create(CLAIMS, claim("a"), namespace, dry_run=True)
    with pytest.raises(NotFound, match="resourceclaims/a"):
        api.get(CLAIMS, "a", namespace)


def test_delete_spares_a_successor_of_the_same_name(api, namespace):
    api.create(CLAIMS, claim("a"), namespace)
    with pytest.raises(Conflict):
        api.delete(CLAIMS, "a", namespace, uid="00000000-0000-0000-0000-000000000000")
    assert api.get(CLAIMS, "a", namespace)


def test_field_selector_is_the_servers(api, namespace):
    (found,) = api.list(SERVICE_ACCOUNTS, namespace, field_selector="metadata.name=default")
    assert found["kind"] == "ServiceAccount"
