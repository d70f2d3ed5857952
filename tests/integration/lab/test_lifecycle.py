# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labs by name: two at once, any process killed and repaired, gone without a trace."""

from __future__ import annotations

import json
import signal
import urllib.request

import pytest

from ansible_collections.inference.dra.lab import emptying, lifecycle
from ansible_collections.inference.dra.lab.processes import Processes, start_time
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    DEPLOYMENTS,
    DEVICE_CLASSES,
    NAMESPACES,
    NODES,
    PODS,
    SECRETS,
    SLICES,
    Kubernetes,
    NotFound,
    Resource,
)
from ansible_collections.inference.dra.tests.watched import seen

from .labs import answered, dra_lab, running_lab

pytestmark = pytest.mark.lab
CRDS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
PRIORITIES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
POOL = "cloud.google.com/gke-nodepool"


def google(lab, method, path, body=None):
    url = f"{lab.url('google')}/v1/projects/{lab.project}/locations/us-central1{path}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def api(lab):
    return Kubernetes.connect({"kubeconfig": str(lab.kubeconfig)})


def pids(lab):
    return {part.name: part.pid for part in lifecycle.parts(lab)}


def cluster_with_nodes(lab):
    """Make a cluster, and see its three nodes."""
    body = {"name": "demo", "nodePools": [{"name": "default-pool", "initialNodeCount": 1}]}
    google(lab, "POST", "/clusters", {"cluster": body})
    seen(api(lab), NODES, lambda nodes: len(nodes) == 3, "three nodes")
    answered(lambda: google(lab, "GET", "/clusters/demo")["status"], lambda status: status == "RUNNING")


@pytest.fixture(scope="module")
def lab(lab_binaries):
    with running_lab("lifecycle", "--speed", "200") as found:
        cluster_with_nodes(found)
        yield found


def test_two_labs_at_once(lab):
    before = pids(lab)
    with running_lab("second", "--speed", "200") as second:
        assert not {*lab.ports.values()} & {*second.ports.values()}
        assert google(second, "GET", "/clusters") == {}
        assert list(api(second).list(NODES)) == []
        cluster_with_nodes(second)
        names = [{node["metadata"]["name"] for node in api(each).list(NODES)} for each in (lab, second)]
        assert [len(found) for found in names] == [3, 3]
        directory, others = second.directory, pids(second)
        assert all(others.values())
    assert not directory.exists()
    assert [start_time(pid) for pid in others.values()] == [""] * len(others)
    assert pids(lab) == before
    assert google(lab, "GET", "/clusters/demo")["status"] == "RUNNING"


def test_up_again_starts_nothing(lab):
    before = pids(lab)
    done = dra_lab("up", "--name", lab.name, "--speed", "7")
    assert done.returncode == 0, done.stderr
    assert pids(lab) == before
    assert json.loads(dra_lab("status", "--name", lab.name, "--json").stdout)["speed"] == 200


@pytest.mark.parametrize("part", lifecycle.PARTS)
def test_up_repairs_what_was_killed(lab, part):
    before = pids(lab)
    processes = Processes(lab.directory)
    processes.signal(part, signal.SIGKILL)
    answered(lambda: processes.alive(part), lambda alive: not alive)
    assert dra_lab("status", "--name", lab.name).returncode == 3

    done = dra_lab("up", "--name", lab.name)

    assert done.returncode == 0, done.stderr
    after = pids(lab)
    assert after.pop(part) not in (None, before.pop(part))
    assert after == before
    # Every part of the chain has to do something for this: Google, the machines, kwok, the API server.
    name = f"after-{part.removeprefix('kube-')[:20]}"
    pool = {"name": name, "initialNodeCount": 1, "locations": ["us-central1-a"]}
    google(lab, "POST", "/clusters/demo/nodePools", {"nodePool": pool})
    seen(api(lab), NODES, lambda nodes: name in [ready_pool(node) for node in nodes], f"a node of {name}")
    assert google(lab, "GET", "/clusters/demo")["name"] == "demo"


def ready_pool(node):
    conditions = {each["type"]: each["status"] for each in node.get("status", {}).get("conditions", ())}
    return node["metadata"]["labels"].get(POOL) if conditions.get("Ready") == "True" else None


@pytest.mark.parametrize(
    "words", [("status",), ("env",), ("logs", "daemon"), ("fault", "list")], ids=lambda words: words[0]
)
def test_a_lab_that_is_not_there_is_named_with_the_way_to_it(words):
    done = dra_lab(words[0], "--name", "nobody-made-it", *words[1:])
    assert done.returncode == 1
    assert done.stderr == (
        "dra-lab: There is no lab 'nobody-made-it' on this machine; "
        "`dra-lab up --name nobody-made-it` makes it.\n"
    )


@pytest.mark.parametrize("name", [pytest.param("nobody-made-it", id="C54-create-never-ran")])
def test_down_of_nothing_is_no_failure(name):
    done = dra_lab("down", "--name", name)
    assert (done.returncode, done.stdout) == (0, f"lab {name} is not there: nothing to do\n")


def everything(lab):
    """Return the names of all objects in Kubernetes that a user or Google could have made."""
    kube = api(lab)
    return {
        emptying.key_of(kind, each)
        for kind in emptying.kinds(kube)
        for each in kube.list(kind)
        if kind.plural not in ("events", "leases", "apiservices")
    }


def deployment(name):
    labels = {"app": name}
    pod = {"containers": [{"name": "main", "image": "pause"}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


def definition():
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    return {"metadata": {"name": "widgets.example.com"}, "spec": spec}


def furnish(kube):
    """Put into Kubernetes what users do, also an object that waits for a controller that is not there."""
    kube.create(NAMESPACES, {"metadata": {"name": "mine"}})
    for namespace in ("mine", "default", "kube-system"):
        kube.create(DEPLOYMENTS, deployment("web"), namespace)
        kube.create(SECRETS, {"metadata": {"name": "token"}}, namespace)
    kube.create(PRIORITIES, {"metadata": {"name": "mine"}, "value": 5})
    selectors = [{"cel": {"expression": "device.driver == 'mine'"}}]
    kube.create(DEVICE_CLASSES, {"metadata": {"name": "mine"}, "spec": {"selectors": selectors}})
    pool = {"name": "mine", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "example.com", "pool": pool, "allNodes": True, "devices": [{"name": "one"}]}
    kube.create(SLICES, {"metadata": {"name": "mine"}, "spec": spec})
    kube.create(CRDS, definition())
    meta = {"name": "held", "finalizers": ["example.com/nobody"]}
    held = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta}
    answered(lambda: created(kube, held), bool)
    seen(kube, PODS, lambda pods: len(pods) == 6, "the pods of three deployments")


def created(kube, widget):
    try:
        return kube.create(WIDGETS, widget, "default")
    except NotFound:
        return None


def deleted(lab, name):
    google(lab, "DELETE", f"/clusters/{name}")
    answered(
        lambda: [each["name"] for each in google(lab, "GET", "/clusters").get("clusters", [])],
        lambda names: name not in names,
    )


def test_the_last_cluster_takes_what_lived_in_it(lab_binaries):
    with running_lab("last", "--speed", "200") as lab:
        before = everything(lab)
        for round_ in ("first", "second"):
            cluster_with_nodes(lab)
            furnish(api(lab))
            if round_ == "first":
                body = {"name": "other", "nodePools": [{"name": "p", "initialNodeCount": 1}]}
                google(lab, "POST", "/clusters", {"cluster": body})
                seen(api(lab), NODES, lambda nodes: len(nodes) == 6, "six nodes")
                answered(lambda: google(lab, "GET", "/clusters/other")["status"], lambda s: s == "RUNNING")
                deleted(lab, "other")
                assert api(lab).get(WIDGETS, "held", "default")
                assert len(list(api(lab).list(NODES))) == 3
            deleted(lab, "demo")
            assert everything(lab) - before == set()
            assert before - everything(lab) == set()
