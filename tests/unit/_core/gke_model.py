# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small model of how GKE answers plans: replacements replace, defaults are filled in, one concern each.

Written from the API reference and recorded answers, not from our planner: it is the oracle of the
property tests.
"""

from __future__ import annotations

from copy import deepcopy

GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
# What UpdateNodePool may carry, and where it ends up in the NodePool.
IN_CONFIG = ("machineType", "diskType", "diskSizeGb", "imageType", "flexStart", "maxRunDuration")
IN_CONFIG_AS_MESSAGE = ("workloadMetadataConfig", "gvnic", "accelerators")
IN_POOL = ("locations", "upgradeSettings", "queuedProvisioning")
WRAPPED = {"labels": "labels", "taints": "taints", "tags": "tags", "resourceLabels": "labels"}
ONE_REQUEST = ({"machineType", "diskType", "diskSizeGb"},)


def created_pool(message: dict) -> dict:
    """Return the pool as GKE shows it after its creation from the message."""
    pool = deepcopy(message)
    config = pool.setdefault("config", {})
    config.setdefault("machineType", "e2-medium")
    config.setdefault("diskType", "pd-balanced")
    config.setdefault("diskSizeGb", 100)
    config.setdefault("imageType", "COS_CONTAINERD")
    config.setdefault("serviceAccount", "default")
    config.setdefault("oauthScopes", ["https://www.googleapis.com/auth/logging.write"])
    model = "spot" if config.get("spot") else "on-demand"
    config.setdefault("resourceLabels", {})["goog-gke-node-pool-provisioning-model"] = model
    for accelerator in config.get("accelerators", ()):
        accelerator["acceleratorCount"] = str(accelerator["acceleratorCount"])
        driver = accelerator.setdefault("gpuDriverInstallationConfig", {})
        driver.setdefault("gpuDriverVersion", "DEFAULT")
        taints = config.setdefault("taints", [])
        if GPU_TAINT not in taints:
            taints.append(GPU_TAINT)
    pool.setdefault("management", {"autoRepair": True, "autoUpgrade": True})
    pool.setdefault("upgradeSettings", {"maxSurge": 1})
    pool["upgradeSettings"].setdefault("strategy", "SURGE")
    pool.setdefault("locations", ["us-central1-a", "us-central1-b", "us-central1-c"])
    pool.setdefault("maxPodsConstraint", {"maxPodsPerNode": "110"})
    if pool.get("autoscaling"):
        pool["autoscaling"].setdefault("locationPolicy", "ANY" if config.get("spot") else "BALANCED")
    pool["version"] = pool.get("version") or "1.36.0-gke.100"
    if (pool.get("networkConfig") or {}).get("acceleratorNetworkProfile"):
        pool["networkConfig"]["additionalNodeNetworkConfigs"] = [
            {"network": "gke-profile", "subnetwork": "gke-profile-0"}
        ]
    return without_zeros(pool)


def apply(step, pool: dict | None) -> dict | None:
    """Return the pool after one step; raises where GKE would refuse the request."""
    if step.call == "create_node_pool":
        assert pool is None, "ALREADY_EXISTS"
        return created_pool(step.request["nodePool"])
    assert pool is not None, "NOT_FOUND"
    pool = deepcopy(pool)
    if step.call == "delete_node_pool":
        return None
    if step.call == "set_node_pool_autoscaling":
        pool["autoscaling"] = deepcopy(step.request["autoscaling"])
    elif step.call == "set_node_pool_management":
        pool["management"] = deepcopy(step.request["management"])
    elif step.call == "set_node_pool_size":
        assert not (pool.get("autoscaling") or {}).get("enabled"), "FAILED_PRECONDITION"
        pool["initialNodeCount"] = step.request["nodeCount"]
    else:
        assert step.call == "update_node_pool"
        update(pool, step.request)
    return without_zeros(pool)


def update(pool: dict, request: dict) -> None:
    assert len(request) == 1 or set(request) <= ONE_REQUEST[0], f"two concerns: {sorted(request)}"
    for key, value in deepcopy(dict(request)).items():
        config = pool["config"]
        if key in WRAPPED:
            managed = {}
            if key == "resourceLabels":
                managed = {k: v for k, v in config.get(key, {}).items() if k.startswith("goog-gke")}
            inner = value.get(WRAPPED[key])
            config[key] = {**inner, **managed} if isinstance(inner, dict) else inner or []
        elif key in IN_CONFIG or key in IN_CONFIG_AS_MESSAGE:
            if key == "accelerators":
                keys = ("acceleratorType", "acceleratorCount", "gpuSharingConfig")
                old, new = config[key][0], value[0]
                assert [old.get(k) for k in keys] == [new.get(k) for k in keys], "not in place"
            config[key] = value
        elif key == "nodeVersion":
            pool["version"] = value
        else:
            assert key in IN_POOL, f"UpdateNodePool has no {key}"
            pool[key] = value


def without_zeros(value):
    """Return the message as proto3 JSON shows it: zero, false and empty are absent."""
    if isinstance(value, dict):
        maps = ("labels", "resourceLabels")
        kept = {key: item if key in maps else without_zeros(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in (0, False, "", None, [])}
    if isinstance(value, list):
        return [without_zeros(item) for item in value]
    return value
