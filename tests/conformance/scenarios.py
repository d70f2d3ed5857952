# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random clusters in miniature: a few nodes, slices, classes, claims that exist, and pods to place.

A scenario is plain JSON with ``$S`` wherever a name must be its own, so that many scenarios share one
control plane without seeing each other, and a failing one can be printed and cut down.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

Scenario = dict[str, Any]

DOMAIN = "$S.example.com"
ROOT = "resource.kubernetes.io/pcieRoot"
MODELS = ("a", "b", "c")


class Generator:
    """Makes scenarios from one seed; the n-th of a seed is always the same."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def scenario(self, number: int) -> Scenario:
        return _Draw(random.Random(f"{self.seed}/{number}")).scenario()


class _Draw:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.chance = lambda probability: rng.random() < probability
        self.drivers = [f"d{index}.{DOMAIN}" for index in range(rng.choice((1, 1, 2, 2, 3)))]
        self.nodes = [f"$S-n{index}" for index in range(rng.choice((1, 1, 2, 3)))]
        self.shared = [driver for driver in self.drivers if self.chance(0.3)]
        self.slices: list[dict[str, Any]] = []
        self.published: list[tuple[str, str, dict[str, Any]]] = []
        self.alone = False

    def scenario(self) -> Scenario:
        for driver in self.drivers:
            if self.chance(0.2):
                self.cluster_pool(driver)
            else:
                for node in self.nodes:
                    if self.chance(0.9):
                        self.node_pool(driver, node)
        classes = self.classes()
        scenario = {
            "nodes": [{"name": name, "labels": {"zone": self.rng.choice("xy")}} for name in self.nodes],
            "slices": self.slices,
            "classes": classes,
            "held": self.held(),
            "pods": [
                [self.claim(classes) for _unused in range(self.rng.choice((1, 1, 1, 2)))]
                for _unused in range(self.rng.choice((1, 2, 2, 3, 4)))
            ],
        }
        return scenario | ({"alone": True} if self.alone else {})

    # -- slices ---------------------------------------------------------------------------------------

    def node_pool(self, driver: str, node: str) -> None:
        self.pool(driver, node, {"nodeName": node})

    def cluster_pool(self, driver: str) -> None:
        kind = self.rng.choice(("all", "selector", "device"))
        if kind == "all":
            # Every other scenario's nodes see it too, so it must at least be complete.
            self.pool(driver, "$S-all", {"allNodes": True}, sound=True)
        elif kind == "selector":
            self.pool(driver, "$S-zone", {"nodeSelector": self.node_selector()})
        else:
            self.pool(driver, "$S-each", {"perDeviceNodeSelection": True})

    def node_selector(self) -> dict[str, Any]:
        mine = {"key": "scenario", "operator": "In", "values": ["$S"]}
        zone = {"key": "zone", "operator": "In", "values": self.rng.choice((["x"], ["y"], ["x", "y"]))}
        return {"nodeSelectorTerms": [{"matchExpressions": [mine, zone] if self.chance(0.7) else [mine]}]}

    def pool(self, driver: str, name: str, selection: dict[str, Any], *, sound: bool = False) -> None:
        generation = self.rng.randint(1, 4)
        counted = driver not in self.shared and not sound and self.chance(0.2)
        parts = self.rng.choice((1, 1, 2, 2, 3))
        binding = self.chance(0.12)
        bodies = []
        total = 0
        for _part in range(parts):
            devices = []
            for _unused in range(self.rng.choice((0, 1, 2, 3, 4, 5))):
                devices.append(self.device(driver, f"dev{total}", counted=counted, binding=binding))
                total += 1
            if selection.get("perDeviceNodeSelection"):
                if not devices:
                    devices.append(self.device(driver, f"dev{total}", counted=counted, binding=binding))
                    total += 1
                self.place_each(devices)
            bodies.append(selection | {"devices": devices})
        if counted:
            counters = {f"c{i}": {"value": str(self.rng.choice((2, 4)))} for i in range(2)}
            bodies.append(selection | {"sharedCounters": [{"name": "set", "counters": counters}]})
        faults = ("few", "many", "twice", "older", "newer", "torn")
        fault = "" if sound else self.rng.choice(("",) * 16 + faults)
        if fault == "twice":
            two = [body for body in bodies if body.get("devices")]
            if len(two) > 1:
                two[1]["devices"][0]["name"] = two[0]["devices"][0]["name"]
        if counted and fault in {"few", "many", "torn", "newer"}:
            # A slice with counters belongs to every node of the cluster, so its incomplete pool stops "all"
            # requests of every other scenario.
            self.alone = True
        self.rng.shuffle(bodies)
        for body, count in zip(bodies, self.counts(len(bodies), fault), strict=True):
            self.publish(driver, name, generation, count, body)
        if fault == "older":
            old = self.device(driver, "old", counted=False, binding=False)
            self.publish(driver, name, generation - 1, 1, selection | {"devices": [_placed(old, selection)]})
        elif fault == "newer":
            new = self.device(driver, "new", counted=False, binding=False)
            count = self.rng.choice((1, 2))
            self.publish(
                driver, name, generation + 1, count, selection | {"devices": [_placed(new, selection)]}
            )

    def counts(self, number: int, fault: str) -> list[int]:
        """Return the number of slices that each slice states."""
        if fault == "few":
            return [number + 1] * number
        if fault == "many":
            return [max(number - 1, 1)] * number
        if fault == "torn":
            return [max(number + self.rng.choice((-1, 1)), 1), *[number] * (number - 1)]
        return [number] * number

    def place_each(self, devices: list[dict[str, Any]]) -> None:
        """Give each device a node selection of its own."""
        for device in devices:
            here = {"nodeName": self.rng.choice(self.nodes)}
            device.update(self.rng.choice((here, {"nodeSelector": self.node_selector()})))

    def publish(self, driver: str, pool: str, generation: int, count: int, body: dict[str, Any]) -> None:
        meta = {"name": pool, "generation": generation, "resourceSliceCount": count}
        self.slices.append({"driver": driver, "pool": meta, **body})
        for device in body.get("devices", ()):
            self.published.append((driver, pool, device))

    def device(self, driver: str, name: str, *, counted: bool, binding: bool) -> dict[str, Any]:
        attributes: dict[str, Any] = {"index": {"int": self.rng.randint(0, 3)}}
        if self.chance(0.95):
            attributes["model"] = {"string": self.rng.choice(MODELS)}
        if self.chance(0.6):
            attributes["ok"] = {"bool": self.chance(0.7)}
        if self.chance(0.5):
            attributes["version"] = {"version": f"1.{self.rng.randint(0, 2)}.0"}
        if self.chance(0.8):
            attributes[ROOT] = {"string": self.rng.choice(("r0", "r1"))}
        elif self.chance(0.2):
            attributes[ROOT] = {"int": 0}
        device: dict[str, Any] = {"name": name, "attributes": attributes}
        shared = driver in self.shared and self.chance(0.8)
        if shared or self.chance(0.3):
            device["capacity"] = self.capacity(shared=shared)
        if shared:
            device["allowMultipleAllocations"] = True
        if counted and self.chance(0.8):
            amounts = {
                f"c{i}": {"value": str(self.rng.choice((1, 2)))} for i in range(self.rng.choice((1, 2)))
            }
            device["consumesCounters"] = [{"counterSet": "set", "counters": amounts}]
        if self.chance(0.12):
            effect = self.rng.choice(("NoSchedule", "NoSchedule", "NoExecute", "None"))
            device["taints"] = [{"key": "t.example.com/k", "value": self.rng.choice("uv"), "effect": effect}]
        if binding and self.chance(0.7):
            device["bindingConditions"] = ["ready.example.com/yes"]
            device["bindingFailureConditions"] = ["ready.example.com/no"]
        return device

    def capacity(self, *, shared: bool) -> dict[str, Any]:
        size = self.rng.choice((8, 12, 16))
        capacity: dict[str, Any] = {"mem": {"value": str(size)}}
        if shared and self.chance(0.5):
            capacity["mem"]["requestPolicy"] = self.rng.choice(
                (
                    {"default": "2", "validValues": ["2", "4", "8"]},
                    {"default": "4", "validRange": {"min": "2", "max": "8", "step": "2"}},
                    {"default": "3", "validRange": {"min": "3"}},
                )
            )
        if self.chance(0.2):
            capacity["slots"] = {"value": str(self.rng.choice((1, 2)))}
        return capacity

    # -- classes --------------------------------------------------------------------------------------

    def classes(self) -> list[dict[str, Any]]:
        """One plain class per driver, and some that look at attributes (once in a while without has())."""
        classes = []
        for index, driver in enumerate(self.drivers):
            only = f'device.driver == "{driver}"'
            classes.append({"name": f"c{index}.{DOMAIN}", "selectors": [only]})
            if self.chance(0.5):
                guarded = self.chance(0.93)
                ok = f'device.attributes["{driver}"].ok'
                text = f"has({ok}) && {ok}" if guarded else ok
                classes.append(
                    {"name": f"ok{index}.{DOMAIN}", "selectors": [f"{only} && {text}"]}
                    if self.chance(0.5)
                    else {"name": f"ok{index}.{DOMAIN}", "selectors": [only, text]}
                )
        return classes

    # -- claims ---------------------------------------------------------------------------------------

    def claim(self, classes: list[dict[str, Any]]) -> dict[str, Any]:
        requests = [self.request(f"r{index}", classes) for index in range(self.rng.choice((1, 1, 2, 3)))]
        claim: dict[str, Any] = {"requests": requests}
        names = [request["name"] for request in requests]
        if self.chance(0.3):
            kind = self.rng.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
            attribute = self.rng.choice((ROOT, f"{self.drivers[0]}/model", f"{self.drivers[0]}/index"))
            constraint: dict[str, Any] = {kind: attribute}
            if self.chance(0.5):
                constraint["requests"] = self.rng.sample(names, self.rng.randint(1, len(names)))
            claim["constraints"] = [constraint]
        return claim

    def request(self, name: str, classes: list[dict[str, Any]]) -> dict[str, Any]:
        if self.chance(0.5):
            exactly = self.wish(classes)
            if self.chance(0.06):
                exactly["adminAccess"] = True
            return {"name": name, "exactly": exactly}
        length = self.rng.choice((1, 2, 2, 3, 3, 4, 8))
        return {
            "name": name,
            "firstAvailable": [{"name": f"s{index}", **self.wish(classes)} for index in range(length)],
        }

    def wish(self, classes: list[dict[str, Any]]) -> dict[str, Any]:
        device_class = self.rng.choice(classes)
        driver = self.drivers[int(device_class["name"].lstrip("cok").partition(".")[0])]
        wish: dict[str, Any] = {"deviceClassName": device_class["name"]}
        if self.chance(0.004):
            wish["deviceClassName"] = f"missing.{DOMAIN}"
        if self.chance(0.07):
            wish["allocationMode"] = "All"
        elif self.chance(0.35):
            wish["count"] = self.rng.choice((1, 1, 2, 2, 3, 4, 20))
        if self.chance(0.3):
            wish["selectors"] = [{"cel": {"expression": self.selector(driver)}}]
        if self.chance(0.6 if driver in self.shared else 0.05):
            wish["capacity"] = {"requests": self.amounts(driver)}
        if self.chance(0.15):
            wish["tolerations"] = [
                self.rng.choice(
                    (
                        {"operator": "Exists"},
                        {"key": "t.example.com/k", "operator": "Exists", "effect": "NoSchedule"},
                        {"key": "t.example.com/k", "operator": "Equal", "value": "u"},
                    )
                )
            ]
        return wish

    def amounts(self, driver: str) -> dict[str, str]:
        names = ["mem"] if self.chance(0.8) else ["mem", "slots"]
        return {
            (f"{driver}/{name}" if self.chance(0.05) else name): str(self.rng.choice((1, 2, 3, 5, 8, 12)))
            for name in names
        }

    def selector(self, driver: str) -> str:
        at = f'device.attributes["{driver}"]'
        size = f'device.capacity["{driver}"]'
        model = self.rng.choice(MODELS)
        return self.rng.choice(
            (
                f'has({at}.model) && {at}.model == "{model}"',
                f'has({at}.model) && {at}.model in ["a", "{model}"]',
                f'"model" in {at} && {at}.model != "{model}"',
                f"{at}.index > 0",
                f"{at}.index <= 1 || has({at}.ok)",
                f'has({at}.version) && {at}.version.isGreaterThan(semver("1.0.0"))',
                f'has({at}.version) && {at}.version.compareTo(semver("1.1.0")) >= 0',
                f'{at}.?model.orValue("none") == "{model}"',
                f'has({at}.model) && {at}.model.matches("^[ab]$")',
                f'has({size}.mem) && {size}.mem.compareTo(quantity("12")) >= 0',
                f'{at}.model == "{model}"',
                "device.allowMultipleAllocations",
                f'device.attributes["{ROOT.partition("/")[0]}"].?pcieRoot.hasValue()',
            )
        )

    # -- claims that exist already --------------------------------------------------------------------

    def held(self) -> list[dict[str, Any]]:
        """Allocations of the same shape as the scheduler writes, of devices or shares picked at random."""
        held = []
        for driver, pool, device in self.published:
            if not self.chance(0.2):
                continue
            result: dict[str, Any] = {
                "request": "r",
                "driver": driver,
                "pool": pool,
                "device": device["name"],
            }
            if device.get("allowMultipleAllocations"):
                result["shareID"] = f"00000000-0000-4000-8000-{self.rng.randrange(16**12):012x}"
                result["consumedCapacity"] = {
                    name: str(self.rng.choice((1, 2, 4))) for name in device.get("capacity", {})
                }
            held.append(result)
        return held


def _placed(device: dict[str, Any], selection: dict[str, Any]) -> dict[str, Any]:
    """Give the device a selection of its own where the slice leaves it to the devices."""
    mine = {"key": "scenario", "operator": "In", "values": ["$S"]}
    own = {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [mine]}]}}
    return device | (own if selection.get("perDeviceNodeSelection") else {})


def named(scenario: Scenario, name: str) -> Scenario:
    """Return the scenario with its own name in every place that needs one."""
    rendered: Scenario = json.loads(json.dumps(scenario).replace("$S", name))
    return rendered


def smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Yield the scenario with one part dropped, larger parts first; used to shrink a disagreement."""
    for path in _parts(scenario, ()):
        copy: Scenario = json.loads(json.dumps(scenario))
        place: Any = copy
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]
        if copy["nodes"] and copy["pods"] and all(copy["pods"]) and copy["classes"]:
            yield copy


OPTIONAL = {
    "allocationMode",
    "count",
    "selectors",
    "capacity",
    "tolerations",
    "adminAccess",
    "constraints",
    "attributes",
    "taints",
    "consumesCounters",
    "allowMultipleAllocations",
    "requestPolicy",
}


def _parts(value: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return the paths of what can be left out: list items, optional fields, single attributes."""
    found: list[tuple[Any, ...]] = []
    if isinstance(value, list):
        for index, item in enumerate(value):
            found.append((*path, index))
            found += _parts(item, (*path, index))
    elif isinstance(value, dict):
        for key, item in value.items():
            if (key in OPTIONAL and path[:1] != ("classes",)) or (
                path and path[-1] in {"attributes", "capacity", "counters"}
            ):
                found.append((*path, key))
            found += _parts(item, (*path, key))
    return sorted(found, key=len)
