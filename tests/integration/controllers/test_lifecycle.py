# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restarts at every step, replicas whose leader is killed, lost leadership, removal."""

from __future__ import annotations

import os
import threading
import time

import pytest

from ansible_collections.inference.dra.controllers.image_configurator.__main__ import main
from ansible_collections.inference.dra.controllers.image_configurator.announcer import Announcer
from ansible_collections.inference.dra.controllers.image_configurator.cache import Cache
from ansible_collections.inference.dra.controllers.image_configurator.leader import Elector, LeaseTimes
from ansible_collections.inference.dra.controllers.image_configurator.metrics import Metrics
from ansible_collections.inference.dra.controllers.image_configurator.replica import Replica
from ansible_collections.inference.dra.controllers.image_configurator.worker import Worker
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    CLAIMS,
    DEVICE_CLASSES,
    EVENTS,
    LEASES,
    PODS,
    SLICES,
    Kubernetes,
)

pytestmark = pytest.mark.lab
DRIVER = "image-configurator.x-k8s.io"
long = pytest.mark.skipif(
    "INFERENCE_DRA_LONG_TESTS" not in os.environ, reason="takes two minutes; set INFERENCE_DRA_LONG_TESTS"
)


class Killed(BaseException):
    """Ends a worker where a signal would: nothing catches it."""


def worker(api, kit, fault=lambda point: None):
    """Return a worker that knows what a controller knows right after its start."""
    clock, metrics = SystemClock(), Metrics()
    cache = Cache(kit.GATE, clock, metrics)
    cache.replace_claims(api.list(CLAIMS))
    cache.replace_pods(api.list(PODS, field_selector="spec.nodeName="))
    announcer = AtOnce(api, clock, kit.GATE)
    return Worker(api, cache, clock, kit.GATE, announcer=announcer, metrics=metrics, fault=fault)


class AtOnce(Announcer):
    """Writes events in the worker's own thread, so that a test sees them when the worker is done."""

    def tell(self, *what):
        super().tell(*what)
        self.flush()


POINTS = ["before image patch", "before event", "before condition", "after condition"]


@pytest.mark.parametrize("config", ["right", "wrong"])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.usefixtures("gate_open")
def test_restart_completes_the_job(workload, restricted, kit, point, config):
    api = workload.api
    limited = Kubernetes.connect({"kubeconfig": str(restricted)})
    workload.template(kit.GUIDE if config == "right" else [], gpu_first=False)
    workload.pod()
    key = (workload.namespace, workload.allocated()["metadata"]["name"])

    def die(at):
        if at == point:
            raise Killed

    reached = config == "right" or point != "before image patch"
    if reached:
        with pytest.raises(Killed):
            worker(limited, kit, die).handle(key)
    assert worker(limited, kit).handle(key) is None

    wrong, reason = "image-update-failed", "ImageConfigNotFound"
    expected = {"right": ("image-updated", "ImagePatched"), "wrong": (wrong, reason)}[config]
    found = kit.conditions(api.get(CLAIMS, key[1], key[0]))
    assert found[expected[0]] == ("True", expected[1])
    assert len(kit.of({e["metadata"]["name"]: e for e in api.list(EVENTS, key[0])}, expected[1])) == 1
    image = kit.image(api.get(PODS, "p", key[0]))
    assert image == (kit.IMAGES["cpu"] if config == "right" else kit.PLACEHOLDER)


def test_the_next_allocation_is_answered_anew(gate_open, workload, api, kit):
    """The scheduler takes a refused allocation back; the class is corrected; the claim is served."""
    workload.template([], gpu_first=False)
    workload.pod()
    claim = workload.allocated()
    key = (workload.namespace, claim["metadata"]["name"])
    first = claim["status"]["allocation"]["devices"]["results"][-1]["shareID"]
    assert worker(api, kit).handle(key) is None
    correction = {"spec": {"config": [kit.image_config("vllm", "fixed:1")]}}
    api.merge_patch(DEVICE_CLASSES, "dra.cpu", correction)

    def again(known):
        allocation = known[key[1]]["status"].get("allocation")
        return allocation and allocation["devices"]["results"][-1]["shareID"] != first

    try:
        workload.claims(again)
    finally:
        api.merge_patch(DEVICE_CLASSES, "dra.cpu", {"spec": {"config": None}})
    assert worker(api, kit).handle(key) is None
    pods = workload.pods(lambda known: "nodeName" in known["p"]["spec"])
    assert kit.image(pods["p"]) == "fixed:1"


def test_an_answer_to_an_earlier_allocation_is_not_written(gate_open, workload, api, kit):
    workload.template([], gpu_first=False)
    workload.pod()
    claim = workload.allocated()
    key = (workload.namespace, claim["metadata"]["name"])
    late = worker(api, kit)
    worker(api, kit).handle(key)
    share = claim["status"]["allocation"]["devices"]["results"][-1]["shareID"]

    def again(known):
        allocation = known[key[1]]["status"].get("allocation")
        return allocation and allocation["devices"]["results"][-1]["shareID"] != share

    workload.claims(again)
    assert late.handle(key) is not None
    assert not kit.conditions(api.get(CLAIMS, key[1], key[0]))


class Watcher:
    """Keeps every image that each pod ever had while it could still start, and the one it started with."""

    def __init__(self, api, namespace, kit):
        self.images, self.started = {}, {}
        self._changed = threading.Condition()
        threading.Thread(target=self._watch, args=(api, namespace, kit), daemon=True).start()

    def until_started(self, number):
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.started) == number, 30)

    def _watch(self, api, namespace, kit):
        for pod in kit.changes(api, PODS, namespace):
            name = pod["metadata"]["name"]
            history = self.images.setdefault(name, [])
            if history[-1:] != [kit.image(pod)]:
                history.append(kit.image(pod))
            if pod["spec"].get("nodeName"):
                with self._changed:
                    self.started.setdefault(name, kit.image(pod))
                    self._changed.notify_all()


@pytest.mark.parametrize(
    ("pods", "kills"),
    [
        pytest.param(30, 3, id="short"),
        pytest.param(200, 20, id="long", marks=long),
    ],
)
def test_leader_is_killed_again_and_again(start, workload, kit, pods, kills):
    """Two replicas; whichever leads is killed while pods arrive and is started again."""
    seen = Watcher(workload.api, workload.namespace, kit)
    workload.template()
    replicas = [start(), start()]
    for round_ in range(kills):
        leader = next_leader(replicas)
        for number in range(round_ * pods // kills, (round_ + 1) * pods // kills):
            workload.pod(f"p{number}")
        leader.kill()
        replicas.remove(leader)
        replicas.append(start())
    done = workload.pods(
        lambda known: len(known) == pods and all("nodeName" in pod["spec"] for pod in known.values()), 120
    )
    seen.until_started(pods)
    for name, pod in done.items():
        right = kit.IMAGES[pod["spec"]["nodeName"]]
        assert seen.images[name] == [kit.PLACEHOLDER, right], name
        assert seen.started[name] == right, name


def next_leader(replicas):
    """Return the replica that leads, waiting for the killed one's lease to expire."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        for replica in replicas:
            if replica.leads.wait(0.02) and replica.process.poll() is None:
                return replica
    raise AssertionError("nobody leads")


def test_a_stopped_leader_hands_over_at_once(start):
    times = ("--lease-seconds=60", "--renew-seconds=40", "--retry-seconds=0.2")
    # Where another test's leader was killed, its short lease has to expire first.
    first = start(*times)
    assert first.leads.wait(20)
    second = start(*times)
    first.stop()
    assert second.leads.wait(5)
    second.stop()


def test_lost_leadership_ends_the_work_and_a_new_term_starts_afresh(workload, api, kit):
    """Another candidate takes the lease mid-way; the replica stands by, then leads again."""
    clock = SystemClock()
    times = LeaseTimes(lease_seconds=60, renew_seconds=40.0, retry_seconds=0.1)
    elector = Elector(api, clock, identity="one", namespace=workload.namespace, name="lease", times=times)
    rival = Elector(api, clock, identity="two", namespace=workload.namespace, name="lease", times=times)
    replica = Replica(api, clock, kit.GATE, elector)
    replica.turn()
    assert gauge(replica, "leader") == "1"
    lease = elector._limited().get(LEASES, "lease", workload.namespace)
    rival._replace(lease, rival._spec(lease["spec"]))
    replica.turn()
    assert gauge(replica, "leader") == "0"
    rival.release()
    replica.turn()
    assert gauge(replica, "leader") == "1"
    workload.template(gpu_first=False)
    workload.pod()
    pods = workload.pods(lambda known: "nodeName" in known["p"]["spec"])
    assert kit.image(pods["p"]) == kit.IMAGES["cpu"]
    replica._term.stop()


def gauge(replica, name):
    text = replica.pages()["/metrics"]()[1]
    return next(
        line.split()[1] for line in text.splitlines() if line.startswith(f"image_configurator_{name} ")
    )


def test_a_lease_is_taken_over_only_when_it_has_expired(workload, api, manual):
    """Expiry counts from when the lease was last seen to change, on this machine's clock."""
    times = LeaseTimes(lease_seconds=15, renew_seconds=10.0, retry_seconds=2.0)
    names = {"namespace": workload.namespace, "name": "lease", "times": times}
    first = Elector(api, manual, identity="first", **names)
    second = Elector(api, manual, identity="second", **names)
    assert first.step()
    assert not second.step()
    manual.sleep(14.0)
    assert not second.step()
    assert not first.leads  # not renewed for longer than renew_seconds
    assert first.step()  # renewed: the second has to wait anew
    manual.sleep(2.0)
    assert not second.step()
    manual.sleep(15.0)
    assert second.step()
    assert not first.step()


def test_uninstall_leaves_no_slice(api, gate_open, restricted):
    assert main(["uninstall", "--kubeconfig", str(restricted)]) == 0
    assert not [s for s in api.list(SLICES) if s["spec"]["driver"] == DRIVER]


def test_unreachable_server_is_an_exit_code_with_a_sentence(tmp_path, capsys):
    assert main(["uninstall", "--kubeconfig", str(tmp_path / "none")]) == 1
    assert "kubeconfig" in capsys.readouterr().err
