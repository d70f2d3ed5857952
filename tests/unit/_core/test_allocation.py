# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether claims fit on a node, with which devices, and why not; field cases by number."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.allocation import (
    best_nodes,
    normalized_scores,
    what_if,
)
from ansible_collections.inference.dra.plugins.module_utils._core.claims import Claim, DeviceClass
from ansible_collections.inference.dra.plugins.module_utils._core.fits import Fit, Refusal
from ansible_collections.inference.dra.plugins.module_utils._core.holdings import (
    double_allocations,
    holdings,
)
from ansible_collections.inference.dra.plugins.module_utils._core.inventory import Inventory, Place
from ansible_collections.inference.dra.plugins.module_utils._core.slices import ResourceSlice

from .dra_objects import GATE, GPU, claim, device, devices, image_config, resource_slice, result

CPU = "dra.cpu"
NIC = "dra.net"
ROOT = "resource.kubernetes.io/pcieRoot"
NODE = Place("node-a", {"zone": "a"})


def device_class(name, *selectors, config=()):
    selectors = selectors or (f'device.driver == "{name}"',)
    spec = {"selectors": [{"cel": {"expression": text}} for text in selectors], "config": list(config)}
    return {"metadata": {"name": name}, "spec": spec}


CLASSES = [device_class(name) for name in (GPU, CPU, NIC, GATE)]
CPUS = resource_slice(
    "cpu",
    driver=CPU,
    devices=[
        device("cpudevnuma000", allowMultipleAllocations=True, capacity={"dra.cpu/cpu": {"value": "16"}})
    ],
)
GATES = resource_slice(
    "gate",
    driver=GATE,
    pool="all-nodes",
    node=None,
    allNodes=True,
    devices=[device("image-configurator", allowMultipleAllocations=True, bindingConditions=["ready"])],
)


def inventory(slices, *, claims=(), classes=CLASSES):
    return Inventory.of(
        [ResourceSlice.from_api(each) for each in slices],
        [DeviceClass.from_api(each) for each in classes],
        holdings(Claim.from_api(each) for each in claims),
    )


def wish(*requests, constraints=(), config=()):
    body = claim(requests=requests)
    body["spec"]["devices"] |= {"constraints": list(constraints), "config": list(config)}
    return Claim.from_api(body).devices


def exactly(name="device", device_class=GPU, **fields):
    return {"name": name, "exactly": {"deviceClassName": device_class, **fields}}


def first(*alternatives, name="device"):
    return {
        "name": name,
        "firstAvailable": [
            {"name": sub, "deviceClassName": cls, **fields} for sub, cls, fields in alternatives
        ],
    }


GPU_OR_CPU = first(("gpu", GPU, {}), ("cpu", CPU, {"capacity": {"requests": {"dra.cpu/cpu": "12"}}}))


def holds(name, *results):
    return claim(name, results=results)


def ask(slices, *claims_, held=(), classes=CLASSES, place=NODE, **options):
    return what_if(claims_, place, inventory(slices, claims=held, classes=classes), **options)


def given(fit):
    assert isinstance(fit, Fit), fit
    return [(each.request, each.device.device) for one in fit.claims for each in one.devices]


def refused(answer):
    assert isinstance(answer, Refusal), answer
    return answer.reason, answer.scope


class TestOrder:
    def test_first_alternative_where_it_is_free(self):
        fit = ask([resource_slice(devices=devices("gpu-0")), CPUS], wish(GPU_OR_CPU))
        assert given(fit) == [("device/gpu", "gpu-0")]
        assert fit.claims[0].alternatives == {"device": 0}

    def test_next_alternative_where_the_first_is_held(self):
        slices = [resource_slice(devices=devices("gpu-0")), CPUS]
        fit = ask(slices, wish(GPU_OR_CPU), held=[holds("other", result("gpu-0"))])
        assert given(fit) == [("device/cpu", "cpudevnuma000")]
        assert {key: str(value) for key, value in fit.claims[0].devices[0].consumed.items()} == {
            "dra.cpu/cpu": "12"
        }

    def test_an_alternative_is_given_up_for_a_later_request(self):
        """The GPU that the first request could have is the only one that the second can have."""
        second = exactly("second", selectors=[{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}])
        fit = ask([resource_slice(devices=devices("gpu-0")), CPUS], wish(GPU_OR_CPU, second))
        assert given(fit) == [("device/cpu", "cpudevnuma000"), ("second", "gpu-0")]

    def test_devices_are_exchanged_between_requests(self):
        attributes = [{"big": {"bool": True}}, {"big": {"bool": False}}]
        gpus = [device(f"gpu-{i}", attributes=each) for i, each in enumerate(attributes)]
        any_gpu = exactly("any")
        big = exactly("big", selectors=[{"cel": {"expression": f'device.attributes["{GPU}"].big'}}])
        assert given(ask([resource_slice(devices=gpus)], wish(any_gpu, big))) == [
            ("any", "gpu-1"),
            ("big", "gpu-0"),
        ]

    def test_slices_by_name_devices_as_published(self):
        slices = [
            resource_slice("b", count=2, devices=devices("gpu-0")),
            resource_slice("a", count=2, devices=devices("gpu-9", "gpu-1")),
        ]
        assert given(ask(slices, wish(exactly(count=3)))) == [
            ("device", "gpu-9"),
            ("device", "gpu-1"),
            ("device", "gpu-0"),
        ]

    def test_pools_with_binding_conditions_come_last(self):
        slices = [
            resource_slice("a", pool="a", devices=[device("gated", bindingConditions=["ready"])]),
            resource_slice("z", pool="z", devices=devices("plain")),
        ]
        assert given(ask(slices, wish(exactly()))) == [("device", "plain")]

    def test_eight_alternatives_are_tried_to_the_last(self):
        nothing = [(f"s{i}", GPU, {}) for i in range(7)]
        fit = ask([CPUS], wish(first(*nothing, ("last", CPU, {}))))
        assert fit.claims[0].alternatives == {"device": 7}
        assert fit.score == 1

    def test_two_claims_of_a_pod_do_not_share_a_device(self):
        fit = ask([resource_slice(devices=devices("gpu-0", "gpu-1"))], wish(exactly()), wish(exactly()))
        assert given(fit) == [("device", "gpu-0"), ("device", "gpu-1")]


class TestConfiguration:
    def test_only_that_of_the_chosen_alternative_is_taken_over(self):
        config = [image_config("gpu:1", "device/gpu"), image_config("cpu:1", "device/cpu")]
        for each in config:
            del each["source"]
        fit = ask([CPUS], wish(GPU_OR_CPU, config=config))
        assert [each.parameters["image"] for each in fit.claims[0].configs] == ["cpu:1"]

    def test_a_class_brings_its_own_for_the_requests_that_chose_it(self):
        opaque = {"opaque": {"driver": GPU, "parameters": {"a": 1}}}
        classes = [device_class(GPU, config=[opaque]), device_class(CPU)]
        slices = [resource_slice(devices=devices("gpu-0", "gpu-1"))]
        fit = ask(slices, wish(GPU_OR_CPU, exactly("more")), classes=classes)
        assert [(each.source, each.requests) for each in fit.claims[0].configs] == [
            ("FromClass", ("device/gpu", "more"))
        ]


class TestPools:
    @pytest.mark.parametrize(
        ("slices", "reason"),
        [
            pytest.param(
                [resource_slice(count=2, devices=devices("gpu-0"))], "PoolIncomplete", id="C16-too-few"
            ),
            pytest.param(
                [
                    resource_slice("a", generation=2, count=2, devices=devices("gpu-0")),
                    resource_slice("b", generation=1, devices=devices("gpu-1")),
                ],
                "PoolIncomplete",
                id="C16-half-new-generation",
            ),
            pytest.param(
                [resource_slice(name, devices=devices(f"gpu-{name}")) for name in "ab"],
                "PoolIncomplete",
                id="C17-too-many",
            ),
            pytest.param(
                [resource_slice(count=0, devices=devices("gpu-0"))], "PoolIncomplete", id="C17-zero"
            ),
            pytest.param(
                [resource_slice(name, count=2, devices=devices("gpu-0")) for name in "ab"],
                "PoolInvalid",
                id="C17-name-twice",
            ),
            pytest.param([resource_slice(devices=[])], "PoolEmpty", id="C20-slice-without-devices"),
            pytest.param([], "DriverSlicesMissing", id="C20-no-slice"),
            pytest.param(
                [resource_slice(node="node-b", devices=devices("gpu-0"))],
                "DriverSlicesMissing",
                id="C21-other-node",
            ),
        ],
    )
    def test_nothing_is_allocated(self, slices, reason):
        assert refused(ask([*slices, GATES], wish(exactly()))) == (reason, "node")

    @pytest.mark.parametrize(
        "selection",
        [
            pytest.param({"allNodes": True}, id="C25-all-nodes"),
            pytest.param(
                {
                    "nodeSelector": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                        ]
                    }
                },
                id="C25-node-selector",
            ),
        ],
    )
    def test_slices_without_a_node_name(self, selection):
        slices = [resource_slice(node=None, devices=devices("gpu-0"), **selection)]
        assert given(ask(slices, wish(exactly()))) == [("device", "gpu-0")]
        elsewhere = ask(slices, wish(exactly()), place=Place("node-b", {}))
        assert isinstance(elsewhere, Fit) == ("allNodes" in selection)

    @pytest.mark.parametrize("place", [pytest.param(NODE, id="C25-per-device")])
    def test_per_device_selection(self, place):
        mixed = [device("there", nodeName="node-b"), device("here", nodeName="node-a")]
        slices = [resource_slice(node=None, perDeviceNodeSelection=True, devices=mixed)]
        assert given(ask(slices, wish(exactly()), place=place)) == [("device", "here")]

    @pytest.mark.parametrize("driver", [pytest.param(CPU, id="C19-equal-names-under-two-drivers")])
    def test_identity_has_the_driver_in_it(self, driver):
        slices = [
            resource_slice("a", devices=devices("dev-0")),
            resource_slice("b", driver=driver, devices=devices("dev-0")),
        ]
        held = [holds("other", {**result("dev-0"), "driver": driver})]
        assert given(ask(slices, wish(exactly()), held=held)) == [("device", "dev-0")]

    def test_a_node_imagined_from_a_template(self):
        """No node, no claim, only what its driver would publish."""
        imagined = Place("imagined", {"cloud.google.com/gke-nodepool": "cpu-pool"})
        slices = [CPUS | {"spec": CPUS["spec"] | {"nodeName": "imagined"}}]
        assert ask(slices, wish(GPU_OR_CPU), place=imagined).claims[0].alternatives == {"device": 1}


class TestCapacity:
    @pytest.mark.parametrize(
        ("taken", "wanted", "fits"),
        [
            ([], "12", True),
            ([], "16", True),
            ([], "17", False),
            (["4"], "12", True),
            (["4", "1"], "12", False),
            (["12"], "4", True),
            (["12"], None, False),
            ([], None, True),
        ],
        ids=["alone", "all", "too-much", "beside", "no-room", "rest", "all-beside", "all-unnamed"],
    )
    def test_shares_of_one_device(self, taken, wanted, fits):
        held = [
            holds(
                f"share-{index}",
                {
                    **result("cpudevnuma000"),
                    "driver": CPU,
                    "shareID": f"id-{index}",
                    "consumedCapacity": {"dra.cpu/cpu": amount},
                },
            )
            for index, amount in enumerate(taken)
        ]
        fields = {"capacity": {"requests": {"dra.cpu/cpu": wanted}}} if wanted else {}
        answer = ask([CPUS], wish(exactly(device_class=CPU, **fields)), held=held)
        assert isinstance(answer, Fit) == fits
        if not fits:
            assert answer.reason == ("DeviceInUse" if taken else "CapacityTooSmall")

    @pytest.mark.parametrize(
        ("policy", "wanted", "consumed"),
        [
            ({"default": "2", "validValues": ["2", "4", "8"]}, "3", "4"),
            ({"default": "2", "validValues": ["2", "4", "8"]}, None, "2"),
            ({"default": "2", "validValues": ["2", "4", "8"]}, "9", None),
            ({"default": "4", "validRange": {"min": "2", "step": "2"}}, "3", "4"),
            ({"default": "4", "validRange": {"min": "2", "step": "2"}}, "1", "2"),
            ({"default": "4", "validRange": {"min": "2", "max": "8"}}, "9", None),
            ({"default": "4", "validRange": {"min": "2"}}, None, "4"),
        ],
        ids=["up-to-value", "default", "no-value", "up-to-step", "up-to-min", "above-max", "range-default"],
    )
    def test_request_policies(self, policy, wanted, consumed):
        shared = device(
            "d", allowMultipleAllocations=True, capacity={"mem": {"value": "16", "requestPolicy": policy}}
        )
        fields = {"capacity": {"requests": {"mem": wanted}}} if wanted else {}
        answer = ask([resource_slice(devices=[shared])], wish(exactly(**fields)))
        if consumed is None:
            assert refused(answer) == ("CapacityTooSmall", "node")
        else:
            assert str(next(iter(answer.claims[0].devices[0].consumed.values()))) == consumed

    @pytest.mark.parametrize("size", [pytest.param("8", id="C27-groups-of-eight-for-twelve")])
    def test_one_request_never_spans_two_devices(self, size):
        groups = [
            device(f"numa{i}", allowMultipleAllocations=True, capacity={"dra.cpu/cpu": {"value": size}})
            for i in range(2)
        ]
        answer = ask([resource_slice(driver=CPU, devices=groups)], wish(GPU_OR_CPU))
        assert refused(answer) == ("CapacityTooSmall", "node")

    @pytest.mark.parametrize("amount", [pytest.param("12", id="C05-two-shares-of-one-device")])
    def test_one_device_serves_two_requests_of_a_claim(self, amount):
        half = {"capacity": {"requests": {"dra.cpu/cpu": "8"}}}
        fit = ask([CPUS], wish(exactly("a", CPU, **half), exactly("b", CPU, **half)))
        assert given(fit) == [("a", "cpudevnuma000"), ("b", "cpudevnuma000")]
        more = {"capacity": {"requests": {"dra.cpu/cpu": amount}}}
        assert isinstance(ask([CPUS], wish(exactly("a", CPU, **half), exactly("b", CPU, **more))), Refusal)

    @pytest.mark.parametrize("name", ["cpu", "dra.cpu/cpu"], ids=["short", "full"])
    def test_a_request_must_spell_the_name_as_published(self, name):
        shared = device("d", allowMultipleAllocations=True, capacity={name: {"value": "16"}})
        asked = wish(exactly(device_class=CPU, capacity={"requests": {"dra.cpu/cpu": "1"}}))
        answer = ask([resource_slice(driver=CPU, devices=[shared])], asked)
        assert isinstance(answer, Fit) == (name == "dra.cpu/cpu")
        if isinstance(answer, Refusal):
            assert "publishes no capacity dra.cpu/cpu (names published: cpu)" in answer.text

    def test_count_takes_different_devices_even_where_one_has_room(self):
        small = {"capacity": {"requests": {"dra.cpu/cpu": "1"}}, "count": 2}
        assert refused(ask([CPUS], wish(exactly(device_class=CPU, **small)))) == ("CapacityExhausted", "node")


class TestTaints:
    @pytest.mark.parametrize(
        ("effect", "tolerations", "fits"),
        [
            pytest.param("NoSchedule", [], False, id="C24-no-schedule"),
            pytest.param("NoExecute", [], False, id="C24-no-execute"),
            pytest.param("None", [], True, id="C24-none"),
            pytest.param("NoSchedule", [{"operator": "Exists"}], True, id="C24-tolerated"),
            pytest.param(
                "NoSchedule", [{"key": "k", "operator": "Equal", "value": "w"}], False, id="other-value"
            ),
            pytest.param("NoSchedule", [{"key": "other", "operator": "Exists"}], False, id="other-key"),
            pytest.param(
                "NoExecute", [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}], False, id="effect"
            ),
        ],
    )
    def test_tainted_devices(self, effect, tolerations, fits):
        tainted = device(taints=[{"key": "k", "value": "v", "effect": effect}])
        fields = {"tolerations": tolerations} if tolerations else {}
        answer = ask([resource_slice(devices=[tainted])], wish(exactly(**fields)))
        assert isinstance(answer, Fit) == fits
        if not fits:
            assert refused(answer) == ("DeviceTainted", "node")


class TestConstraints:
    @staticmethod
    def pair(*, roots, attribute=ROOT):
        slices = []
        for driver, values in zip((GPU, NIC), roots, strict=True):
            published = [
                device(f"{driver[:3]}-{i}", attributes={} if value is None else {attribute: value})
                for i, value in enumerate(values)
            ]
            slices.append(resource_slice(driver, driver=driver, devices=published))
        return slices

    PAIR = wish(exactly("gpu", GPU), exactly("nic", NIC), constraints=[{"matchAttribute": ROOT}])

    def test_the_partner_with_the_same_value_is_found(self):
        a, b = {"string": "a"}, {"string": "b"}
        assert given(ask(self.pair(roots=[[a, b], [b, b]]), self.PAIR)) == [
            ("gpu", "gpu-1"),
            ("nic", "dra-0"),
        ]

    @pytest.mark.parametrize(
        ("roots", "reason"),
        [
            ([[{"string": "a"}], [{"string": "b"}]], "NoCommonValue"),
            ([[{"string": "a"}], [{"int": 1}]], "AttributeTypeDiffers"),
            ([[None], [{"string": "a"}]], "AttributeMissing"),
            ([[{"string": "1.0.0"}], [{"version": "1.0.0"}]], "AttributeTypeDiffers"),
            ([[{"int": 1}], [{"bool": True}]], "AttributeTypeDiffers"),
        ],
        ids=["no-common-value", "int-and-string", "missing", "string-and-version", "int-and-bool"],
    )
    def test_why_no_pair_is_possible(self, roots, reason):
        assert refused(ask(self.pair(roots=roots), self.PAIR)) == (reason, "node")

    def test_distinct_values(self):
        a, b = {"string": "a"}, {"string": "b"}
        apart = wish(exactly("one"), exactly("two"), constraints=[{"distinctAttribute": ROOT}])
        same = [device("g0", attributes={ROOT: a}), device("g1", attributes={ROOT: a})]
        other = [*same, device("g2", attributes={ROOT: b})]
        assert isinstance(ask([resource_slice(devices=same)], apart), Refusal)
        assert given(ask([resource_slice(devices=other)], apart)) == [("one", "g0"), ("two", "g2")]

    def test_a_constraint_on_one_alternative_leaves_the_other_alone(self):
        constraint = {"matchAttribute": ROOT, "requests": ["device/gpu"]}
        slices = [resource_slice(devices=devices("gpu-0")), CPUS]
        fit = ask(slices, wish(GPU_OR_CPU, constraints=[constraint]))
        assert fit.claims[0].alternatives == {"device": 1}


class TestCounters:
    @staticmethod
    def partitions(*draws):
        counters = resource_slice(
            "counters",
            count=2,
            devices=[],
            sharedCounters=[{"name": "gpu", "counters": {"mem": {"value": "8"}}}],
        )
        del counters["spec"]["devices"]
        parts = [
            device(
                f"p{i}", consumesCounters=[{"counterSet": "gpu", "counters": {"mem": {"value": str(draw)}}}]
            )
            for i, draw in enumerate(draws)
        ]
        return [counters, resource_slice("parts", count=2, devices=parts)]

    def test_partitions_share_what_there_is(self):
        slices = self.partitions(8, 4, 4)
        assert given(ask(slices, wish(exactly(count=2)))) == [("device", "p1"), ("device", "p2")]
        assert refused(ask(slices, wish(exactly(count=3)))) == ("CountersExhausted", "node")

    def test_what_claims_hold_is_drawn_already(self):
        slices = self.partitions(8, 4, 4)
        fit = ask(slices, wish(exactly()), held=[holds("other", result("p1"))])
        assert given(fit) == [("device", "p2")]


class TestAllDevices:
    ALL = wish(exactly(allocationMode="All"))

    def test_every_device_of_the_class(self):
        slices = [resource_slice(devices=devices("gpu-0", "gpu-1")), CPUS]
        assert given(ask(slices, self.ALL)) == [("device", "gpu-0"), ("device", "gpu-1")]

    def test_one_device_in_use_refuses_all(self):
        slices = [resource_slice(devices=devices("gpu-0", "gpu-1"))]
        answer = ask(slices, self.ALL, held=[holds("other", result("gpu-1"))])
        assert refused(answer) == ("DeviceInUse", "node")

    def test_no_device_is_not_all_devices(self):
        assert refused(ask([CPUS], self.ALL)) == ("DriverSlicesMissing", "node")

    def test_any_incomplete_pool_of_the_node_stops_the_pod_everywhere(self):
        other = resource_slice("nic", driver=NIC, count=2, devices=devices("nic-0"))
        answer = ask([resource_slice(devices=devices("gpu-0")), other], self.ALL)
        assert refused(answer) == ("PoolIncomplete", "pod")
        assert "dra.net/node-a is currently being updated" in answer.text

    def test_a_constraint_that_forbids_it_stops_the_pod_everywhere(self):
        mixed = [
            device("a", attributes={ROOT: {"string": "a"}}),
            device("b", attributes={ROOT: {"string": "b"}}),
        ]
        both = wish(exactly(allocationMode="All"), constraints=[{"matchAttribute": ROOT}])
        assert refused(ask([resource_slice(devices=mixed)], both)) == ("ConstraintUnsatisfiable", "pod")


class TestAdminAccess:
    def test_devices_in_use_are_given_too(self):
        slices = [resource_slice(devices=devices("gpu-0"))]
        fit = ask(slices, wish(exactly(adminAccess=True)), held=[holds("other", result("gpu-0"))])
        assert given(fit) == [("device", "gpu-0")]
        assert fit.claims[0].devices[0].admin_access

    def test_they_are_not_held(self):
        held = [holds("admin", result("gpu-0", adminAccess=True))]
        assert isinstance(ask([resource_slice(devices=devices("gpu-0"))], wish(exactly()), held=held), Fit)


class TestStops:
    @pytest.mark.parametrize("place", [pytest.param(NODE, id="C22-attribute-that-one-device-lacks")])
    def test_a_selector_that_fails_stops_the_pod_everywhere(self, place):
        broken = device_class(NIC, 'device.driver == "dra.net"', 'device.attributes["dra.net"].rdma')
        nics = resource_slice(driver=NIC, devices=devices("nic-0"))
        answer = ask([nics], wish(exactly(device_class=NIC)), classes=[broken], place=place)
        assert refused(answer) == ("SelectorError", "pod")
        assert "class dra.net: selector #1: CEL runtime error: no such key: rdma" in answer.text

    def test_a_device_in_use_is_not_looked_at_and_cannot_fail(self):
        broken = device_class(GPU, f'device.driver == "{GPU}"', f'device.attributes["{GPU}"].ok')
        slices = [resource_slice(devices=[device("bad"), device("good", attributes={"ok": {"bool": True}})])]
        held = [holds("other", result("bad"))]
        assert given(ask(slices, wish(exactly()), classes=[broken], held=held)) == [("device", "good")]

    def test_a_missing_class_of_a_later_alternative_stops_the_pod(self):
        answer = ask([resource_slice(devices=devices("gpu-0"))], wish(GPU_OR_CPU), classes=CLASSES[:1])
        assert refused(answer) == ("DeviceClassMissing", "pod")
        assert answer.text == "request device/cpu: device class dra.cpu does not exist"

    def test_too_many_devices(self):
        assert refused(ask([], wish(exactly(count=33)))) == ("TooManyDevices", "pod")

    def test_a_request_of_an_unknown_kind(self):
        assert refused(ask([], wish({"name": "device", "exactlyTwo": {}}))) == ("RequestUnsupported", "pod")

    def test_an_undecidable_selector_says_nothing_about_the_scheduler(self):
        odd = exactly(selectors=[{"cel": {"expression": 'device.driver.split(".")[0] == "gpu"'}}])
        answer = ask([resource_slice(devices=devices("gpu-0"))], wish(odd))
        assert refused(answer) == ("CannotJudge", "unknown")

    def test_a_search_without_end_is_given_up(self):
        roots = [device(f"gpu-{i}", attributes={ROOT: {"string": f"r{i // 2}"}}) for i in range(16)]
        pairs = [
            wish(exactly("a"), exactly("b"), constraints=[{"matchAttribute": ROOT}]) for _unused in range(8)
        ]
        held = [holds("other", result("gpu-0"))]
        answer = ask([resource_slice(devices=roots)], *pairs, held=held, max_steps=2000)
        assert refused(answer) == ("SearchTooLong", "unknown")


class TestShortfalls:
    def test_each_alternative_has_its_own(self):
        slices = [resource_slice(devices=devices("gpu-0"))]
        answer = ask(slices, wish(GPU_OR_CPU), held=[holds("other", result("gpu-0"))])
        assert [(each.alternative, each.reason) for each in answer.shortfalls] == [
            ("device/gpu", "DeviceInUse"),
            ("device/cpu", "DriverSlicesMissing"),
        ]
        assert "held by ResourceClaim llm/other" in answer.shortfalls[0].text
        assert answer.reason == "DeviceInUse"

    def test_a_class_that_selects_none_of_the_drivers_devices(self):
        picky = device_class(GPU, f'device.driver == "{GPU}" && has(device.attributes["{GPU}"].x)')
        answer = ask([resource_slice(devices=devices("gpu-0"))], wish(exactly()), classes=[picky])
        assert refused(answer) == ("ClassMatchesNothing", "node")

    def test_a_selector_that_selects_none_of_the_class(self):
        odd = exactly(selectors=[{"cel": {"expression": f'has(device.attributes["{GPU}"].x)'}}])
        answer = ask([resource_slice(devices=devices("gpu-0"))], wish(odd))
        assert refused(answer) == ("SelectorMatchesNothing", "node")

    def test_a_taint_is_named_before_use_where_it_alone_decides(self):
        gpus = [device("gpu-0"), device("gpu-1", taints=[{"key": "k", "effect": "NoSchedule"}])]
        answer = ask([resource_slice(devices=gpus)], wish(exactly()), held=[holds("other", result("gpu-0"))])
        assert answer.reason == "DeviceTainted"


class TestScores:
    @pytest.mark.parametrize(
        ("scores", "normalized"),
        [
            ({"a": 8, "b": 7, "c": 6}, {"a": 200, "b": 174, "c": 150}),
            ({"a": 0, "b": 0}, {"a": 0, "b": 0}),
            ({"a": 7}, {"a": 200}),
            ({}, {}),
        ],
        ids=["three-alternatives", "no-alternatives", "only-the-second", "none"],
    )
    def test_as_observed(self, scores, normalized):
        assert normalized_scores(scores) == normalized

    @pytest.mark.parametrize("request_", [pytest.param(GPU_OR_CPU, id="C31-first-choice-scores-higher")])
    def test_the_node_with_the_earlier_alternative_scores_higher(self, request_):
        gpu = ask([resource_slice(devices=devices("gpu-0"))], wish(request_))
        cpu = ask([CPUS], wish(request_))
        assert (gpu.score, cpu.score) == (8, 7)
        neither = ask([], wish(request_))
        assert best_nodes({"c": cpu, "n": neither, "g": gpu}) == ["g"]
        assert best_nodes({"c": cpu, "n": neither, "d": cpu}) == ["c", "d"]
        assert best_nodes({"n": neither}) == []


class TestDoubleAllocation:
    SLICE = resource_slice(devices=devices("gpu-0", "gpu-1"))

    def verdicts(self, *claims_, slices=(SLICE, CPUS)):
        published = {
            each.device_id(one): one for each in map(ResourceSlice.from_api, slices) for one in each.devices
        }
        return double_allocations(holdings(Claim.from_api(each) for each in claims_), published)

    @staticmethod
    def share(name, amount):
        return holds(
            name,
            {
                **result("cpudevnuma000"),
                "driver": CPU,
                "shareID": f"id-{name}",
                "consumedCapacity": {"dra.cpu/cpu": amount},
            },
        )

    @pytest.mark.parametrize(
        ("claims_", "device_", "evidence"),
        [
            pytest.param(
                [
                    holds("one", result("gpu-0")),
                    holds("two", result("gpu-0")),
                    holds("three", result("gpu-1")),
                ],
                "gpu.nvidia.com/node-a/gpu-0",
                ("ResourceClaim llm/one", "ResourceClaim llm/two"),
                id="C12-one-device-two-claims",
            ),
            pytest.param(
                [holds("one", result("gone")), holds("two", result("gone"))],
                "gpu.nvidia.com/node-a/gone",
                ("ResourceClaim llm/one", "ResourceClaim llm/two"),
                id="C12-device-no-longer-published",
            ),
        ],
    )
    def test_found(self, claims_, device_, evidence):
        (verdict,) = self.verdicts(*claims_)
        assert (verdict.reason, verdict.subject, verdict.evidence) == (
            "DoubleAllocated",
            f"Device {device_}",
            evidence,
        )

    @pytest.mark.parametrize("amounts", [pytest.param(("12", "8"), id="C12-shares-exceed-the-device")])
    def test_shares_that_exceed_the_device(self, amounts):
        (verdict,) = self.verdicts(self.share("one", amounts[0]), self.share("two", amounts[1]))
        assert verdict.observed == "20 of dra.cpu/cpu given, 16 published"

    @pytest.mark.parametrize(
        "claims_",
        [
            pytest.param(
                [holds("one", result("gpu-0")), holds("admin", result("gpu-0", adminAccess=True))],
                id="C12-admin-access-is-none",
            ),
            pytest.param(
                [holds("one", result("gpu-0")), holds("two", result("gpu-1"))], id="different-devices"
            ),
        ],
    )
    def test_not_found(self, claims_):
        assert self.verdicts(*claims_) == []

    @pytest.mark.parametrize("amounts", [pytest.param(("12", "4"), id="C12-shares-that-fit")])
    def test_shares_that_fit(self, amounts):
        assert self.verdicts(self.share("one", amounts[0]), self.share("two", amounts[1])) == []
