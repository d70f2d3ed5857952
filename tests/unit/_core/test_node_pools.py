# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node pools: in place or recreate, nothing unnamed is lost, server defaults are no drift."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.inference.dra.plugins.module_utils._core import node_pools
from ansible_collections.inference.dra.plugins.module_utils._core.change import NeedsRecreation

from .gke_model import GPU_TAINT, apply, created_pool

GPU_POOL = {
    "name": "gpu-pool",
    "machine_type": "g2-standard-8",
    "accelerators": [{"type": "nvidia-l4", "count": 1, "gpu_driver_version": "disabled"}],
    "spot": True,
    "initial_node_count": 1,
    "autoscaling": {"enabled": True, "min_node_count": 0, "max_node_count": 2},
    "locations": ["us-central1-a"],
    "labels": {"team": "ml", "nvidia.com/gpu.present": "true"},
    "taints": [{"key": "class", "value": "fungible", "effect": "NoSchedule"}],
}


def live(**changes) -> dict:
    return created_pool(node_pools.message({**GPU_POOL, **changes}))


def plan(wanted: dict, pool: dict | None, removals=None, **options) -> node_pools.Plan:
    return node_pools.plan("demo", {"name": "gpu-pool", **wanted}, pool, removals, **options)


def after(the_plan, pool):
    for step in the_plan.steps:
        pool = apply(step, pool)
    return pool


@pytest.mark.parametrize(
    ("wanted", "calls"),
    [
        pytest.param({"labels": {"a": "b"}}, ["update_node_pool"], id="C38-labels"),
        pytest.param(
            {"taints": [{"key": "k", "value": "v", "effect": "NoExecute"}]},
            ["update_node_pool"],
            id="C38-taints",
        ),
        pytest.param({"tags": ["web"]}, ["update_node_pool"], id="C38-tags"),
        pytest.param(
            {"labels": {"a": "b"}, "tags": ["web"]},
            ["update_node_pool", "update_node_pool"],
            id="C38-two-concerns-are-two-calls",
        ),
        pytest.param(
            {"autoscaling": {"max_node_count": 3}},
            ["set_node_pool_autoscaling"],
            id="C38-autoscaling",
        ),
        pytest.param(
            {"management": {"auto_repair": False}}, ["set_node_pool_management"], id="C38-management"
        ),
        pytest.param(
            {"accelerators": [{"gpu_driver_version": "latest"}]},
            ["update_node_pool"],
            id="C38-driver",
        ),
        pytest.param({"locations": ["us-central1-a", "us-central1-b"]}, ["update_node_pool"], id="C38-zones"),
        pytest.param(
            {"initial_node_count": 3, "autoscaling": {"enabled": False}},
            ["set_node_pool_autoscaling", "set_node_pool_size"],
            id="C43-size-once-the-autoscaler-is-off",
        ),
    ],
)
def test_in_place(wanted, calls):
    found = plan(wanted, live())
    assert [step.call for step in found.steps] == calls
    assert found.recreation == ()
    assert not plan(wanted, after(found, live())).changed


@pytest.mark.parametrize(
    ("wanted", "option"),
    [
        pytest.param({"spot": False}, "spot", id="C38-spot"),
        pytest.param(
            {"accelerators": [{"type": "nvidia-l4", "count": 2}]}, "accelerators.0.count", id="C38-count"
        ),
        pytest.param({"accelerators": [{"type": "nvidia-tesla-t4"}]}, "accelerators.0.type", id="C38-type"),
        pytest.param({"placement": {"type": "compact"}}, "placement.type", id="C38-placement"),
        pytest.param(
            {"network": {"accelerator_profile": "auto"}}, "network.accelerator_profile", id="C38-profile"
        ),
        pytest.param({"reservation": {"affinity": "none"}}, "reservation.affinity", id="C38-reservation"),
    ],
)
def test_only_by_recreation(wanted, option):
    found = plan(wanted, live())
    assert [change.option for change in found.recreation] == [option]
    with pytest.raises(NeedsRecreation, match=f"(?s)gpu-pool.*{option}.*capacity may not come back"):
        found.require_in_place()


def test_recreation_carries_over_what_nobody_named():
    pool = live(tags=["web"], management={"auto_repair": False, "auto_upgrade": True})
    found = plan({"spot": False, "labels": {"new": "label"}}, pool, recreate=True)
    assert [step.call for step in found.steps] == ["delete_node_pool", "create_node_pool"]
    body = found.steps[1].request["nodePool"]
    assert GPU_TAINT not in body["config"]["taints"]  # GKE adds its own; named twice it is refused
    new = after(found, pool)
    assert new["config"]["labels"] == {**pool["config"]["labels"], "new": "label"}
    assert new["config"]["tags"] == ["web"]
    assert new["management"] == {"autoUpgrade": True}
    assert new["locations"] == ["us-central1-a"]
    assert "spot" not in new["config"]


@pytest.mark.parametrize(
    ("option", "path"),
    [
        pytest.param("labels", "labels", id="C39-labels"),
        pytest.param("resource_labels", "resourceLabels", id="C39-resource-labels"),
    ],
)
def test_a_map_is_merged_and_the_diff_shows_both_sides(option, path):
    pool = live(labels={"old": "1"}, resource_labels={"old": "1"})
    found = plan({option: {"new": "2"}}, pool)
    [step] = found.steps
    assert step.request[path]["labels"] == {"old": "1", "new": "2"}
    assert found.before[option] == {"old": "1"}
    assert found.after[option] == {"old": "1", "new": "2"}


def test_removing_is_a_wish_of_its_own():
    pool = live(labels={"old": "1", "other": "2"})
    found = plan({"labels": {"new": "3"}}, pool, {"labels": ["old"]})
    assert after(found, pool)["config"]["labels"] == {"other": "2", "new": "3"}
    assert not plan({}, live(), {"labels": ["not-there"]}).changed


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(GPU_POOL, id="C40-the-pool-as-created"),
        pytest.param({"accelerators": [{"type": "nvidia-l4", "count": 1}]}, id="C40-count-as-text"),
        pytest.param({"taints": [dict(GPU_POOL["taints"][0])]}, id="C40-gpu-taint-and-NO_SCHEDULE"),
        pytest.param({"initial_node_count": 9}, id="C43-initial-count-only-at-creation"),
        pytest.param({"version": "1.36"}, id="version-by-prefix"),
        pytest.param({"version": "1.35.9"}, id="version-newer-than-wanted"),
        pytest.param({"labels": {}}, id="empty-map"),
        pytest.param({"locations": []}, id="empty-list-of-zones"),
    ],
)
def test_no_drift(wanted):
    assert not plan(wanted, live()).changed


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [
        pytest.param({"initial_node_count": 3}, 3, id="C43-grow"),
        pytest.param({"initial_node_count": 0}, 0, id="C43-shrink-to-nothing"),
        pytest.param({"initial_node_count": 1}, None, id="C43-as-it-is"),
        pytest.param({}, None, id="C43-not-stated"),
        pytest.param(
            {"initial_node_count": 3, "autoscaling": {"enabled": True}}, None, id="C43-to-autoscaling"
        ),
    ],
)
def test_a_pool_without_autoscaling_is_resized(wanted, sent):
    steps = plan(wanted, live(autoscaling=None)).steps
    sizes = [step.request["nodeCount"] for step in steps if step.call == "set_node_pool_size"]
    assert sizes == ([] if sent is None else [sent])


@pytest.mark.parametrize("count", [0, 3])
def test_recreation_keeps_the_size(count):
    pool = live(autoscaling=None, initial_node_count=count)
    new = after(plan({"spot": False}, pool, recreate=True), pool)
    assert new.get("initialNodeCount", 0) == count


def test_the_gpu_taint_survives_a_replacement_of_the_taints():
    wanted = {"taints": [{"key": "new", "value": "1", "effect": "NoExecute"}]}
    new = after(plan(wanted, live()), live())
    assert GPU_TAINT in new["config"]["taints"]
    assert len(new["config"]["taints"]) == 3


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [
        pytest.param(
            {"total_min_node_count": 0, "total_max_node_count": 6},
            {
                "enabled": True,
                "totalMaxNodeCount": 6,
                "maxNodeCount": 0,
                "locationPolicy": "ANY",
            },
            id="C43-total-ends-per-zone",
        ),
        pytest.param(
            {"max_node_count": 5},
            {"enabled": True, "maxNodeCount": 5, "locationPolicy": "ANY"},
            id="C43-the-rest-is-kept",
        ),
        pytest.param({"enabled": False}, {"enabled": False}, id="off-carries-no-limits"),
    ],
)
def test_autoscaling_request(wanted, sent):
    [step] = plan({"autoscaling": wanted}, live()).steps
    assert step.request == {"autoscaling": sent}


@pytest.mark.parametrize(
    ("options", "zones", "counts"),
    [
        pytest.param(
            {
                "initial_node_count": 1,
                "autoscaling": {"enabled": True, "min_node_count": 0, "max_node_count": 2},
            },
            1,
            (0, 1, 2),
            id="guide-a-one-zone",
        ),
        pytest.param(
            {
                "initial_node_count": 1,
                "autoscaling": {"enabled": True, "min_node_count": 0, "max_node_count": 2},
            },
            3,
            (0, 3, 6),
            id="C43-three-zones",
        ),
        pytest.param(
            {
                "initial_node_count": 0,
                "autoscaling": {"enabled": True, "total_min_node_count": 1, "total_max_node_count": 4},
            },
            3,
            (1, 0, 4),
            id="C43-in-total",
        ),
        pytest.param({"initial_node_count": 2}, 3, (6, 6, 6), id="fixed-size"),
        pytest.param({}, 2, (2, 2, 2), id="nothing-said"),
    ],
)
def test_effective_total(options, zones, counts):
    assert tuple(node_pools.node_counts(options, zones).as_dict().values()) == counts


def test_version_upgrade_is_a_step_and_a_newer_pool_is_a_note():
    [step] = plan({"version": "1.37.1-gke.5"}, live()).steps
    assert step.request == {"nodeVersion": "1.37.1-gke.5"}
    assert "replaced" in step.sentence()
    noted = plan({"version": "1.35"}, live())
    assert "left as it is" in noted.notes[0]


def test_deleting_what_is_not_there_is_no_step():
    assert not node_pools.deletion("demo", "gpu-pool", None).changed
    assert node_pools.deletion("demo", "gpu-pool", live()).steps[0].call == "delete_node_pool"


KEYS = st.sampled_from(["a", "b", "c", "example.com/d"])
VALUES = st.sampled_from(["", "1", "2"])
MAPS = st.dictionaries(KEYS, VALUES, max_size=3)
TAINTS = st.lists(
    st.fixed_dictionaries(
        {"key": KEYS, "value": VALUES, "effect": st.sampled_from(["NoSchedule", "NoExecute"])}
    ),
    max_size=3,
    unique_by=lambda taint: (taint["key"], taint["effect"]),
)
SMALL = st.integers(0, 3)
AUTOSCALING = st.one_of(
    st.fixed_dictionaries({"enabled": st.just(False)}),
    st.fixed_dictionaries(
        {"enabled": st.just(True), "max_node_count": st.integers(1, 4)},
        optional={
            "min_node_count": st.integers(0, 1),
            "location_policy": st.sampled_from(["any", "balanced"]),
        },
    ),
    st.fixed_dictionaries(
        {"enabled": st.just(True), "total_max_node_count": st.integers(1, 4)},
        optional={"total_min_node_count": st.integers(0, 1)},
    ),
)
ACCELERATORS = st.fixed_dictionaries(
    {"type": st.sampled_from(["nvidia-l4", "nvidia-tesla-t4"]), "count": st.integers(1, 2)},
    optional={"gpu_driver_version": st.sampled_from(["disabled", "default", "latest"])},
).map(lambda entry: [entry])
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "machine_type": st.sampled_from(["g2-standard-8", "n2-standard-16"]),
        "disk_type": st.sampled_from(["pd-ssd", "pd-balanced"]),
        "disk_size_gb": st.sampled_from([100, 200]),
        "image_type": st.sampled_from(["cos_containerd", "ubuntu_containerd"]),
        "spot": st.booleans(),
        "version": st.sampled_from(["1.35.3-gke.1", "1.36.0-gke.100", "1.36.1-gke.2"]),
        "initial_node_count": SMALL,
        "labels": MAPS,
        "resource_labels": MAPS,
        "taints": TAINTS,
        "tags": st.lists(st.sampled_from(["web", "db"]), unique=True),
        "autoscaling": AUTOSCALING,
        "accelerators": ACCELERATORS,
        "locations": st.lists(st.sampled_from(["z-a", "z-b"]), min_size=1, unique=True),
        "management": st.fixed_dictionaries(
            {}, optional={"auto_repair": st.booleans(), "auto_upgrade": st.booleans()}
        ),
        "upgrade": st.fixed_dictionaries({}, optional={"max_surge": SMALL, "max_unavailable": SMALL}),
        "workload_metadata": st.sampled_from(["gke_metadata", "gce_metadata"]),
        "gvnic": st.booleans(),
        "queued_provisioning": st.booleans(),
        "max_run_duration_seconds": st.sampled_from([600, 3600]),
        "network": st.fixed_dictionaries({}, optional={"accelerator_profile": st.just("auto")}),
        "placement": st.fixed_dictionaries({}, optional={"type": st.just("compact")}),
    },
)
REMOVALS = st.fixed_dictionaries(
    {}, optional={"labels": st.lists(KEYS), "taints": st.lists(KEYS), "resource_labels": st.lists(KEYS)}
)


@settings(max_examples=200, deadline=None, database=None)
@given(OPTIONS, st.none() | OPTIONS, REMOVALS)
def test_after_applying_a_plan_nothing_is_left_and_nothing_unnamed_is_lost(wanted, existing, removals):
    for option in ("labels", "resource_labels"):
        removals[option] = [key for key in removals.get(option, ()) if key not in wanted.get(option, {})]
    named = {taint["key"] for taint in wanted.get("taints", ())}
    removals["taints"] = [key for key in removals.get("taints", ()) if key not in named]
    pool = None if existing is None else created_pool(node_pools.message({"name": "gpu-pool", **existing}))
    found = plan(wanted, pool, removals, recreate=True)
    new = after(found, pool)
    second = plan(wanted, new, removals, recreate=True)
    assert second.steps == ()
    assert second.recreation == ()
    if pool is None:
        return
    for option, path in (("labels", "labels"), ("resource_labels", "resourceLabels")):
        for key, value in pool["config"].get(path, {}).items():
            if key.startswith("goog-gke") or key in removals[option]:
                continue
            assert new["config"][path][key] == wanted.get(option, {}).get(key, value)
    kept = {(taint["key"], taint["effect"]) for taint in new["config"].get("taints", ())}
    for taint in pool["config"].get("taints", ()):
        assert taint["key"] in removals["taints"] or (taint["key"], taint["effect"]) in kept
    assert bool(found.steps) == bool(found.before or found.after)


@settings(max_examples=100, deadline=None, database=None)
@given(OPTIONS)
def test_what_was_just_created_is_no_drift_and_reads_back_as_stated(options):
    pool = after(plan(options, None), None)
    assert not plan(options, pool).changed
    read = node_pools.read(pool)
    for option in ("spot", "machine_type", "locations", "gvnic"):
        if option in options:
            wanted = sorted(options[option]) if option == "locations" else options[option]
            assert read[option] == wanted
